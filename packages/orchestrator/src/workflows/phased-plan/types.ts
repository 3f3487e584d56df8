/** The data of a plan's run: its input, its context, and what its activities take and give. All plain JSON. */
import type { RunConfig } from '@autonomous/shared';
import { z } from 'zod';
import type { AnswerInput } from '../../activities/pull-request/answer-reviewers.ts';
import type { ClosedPullRequest, ClosePullRequestInput } from '../../activities/pull-request/close-pull-request.ts';
import type { Followed, FollowInput } from '../../activities/pull-request/follow-pull-request.ts';
import type { MergedPullRequest, MergePullRequestInput } from '../../activities/pull-request/merge-pull-request.ts';
import type { RecordRunInput } from '../../activities/git/record-run.ts';
import type { Checked, CheckInput, ProjectCommand, Recorded, RunHeader } from '../../activities/types.ts';
import type { CheckCommands } from '../../project-analysis/check-commands.ts';
import type { Attempts, Waiting } from '../parts/attempts.ts';
import type { FailedAttempt } from '../parts/child-merge.ts';
import type {
  CheckedRunActivities,
  CheckedRunContext,
  ChildMergeActivities,
  ProjectRunInput,
} from '../parts/project-run.ts';
import type { FollowingContext } from '../parts/pull-request.ts';
import { MAX_PLAN_CHARACTERS, type PlanPhase } from './plan-file.ts';

const command = z
  .string()
  .trim()
  .min(1)
  .max(4_000)
  .refine((text) => !text.includes('\0'), {
    error: 'The command holds a NUL character, which no shell takes. Remove it.',
  });

export const planInputSchema = z.strictObject({
  planPath: z.string().trim().min(1).max(1_000).meta({
    title: 'Path of the plan',
    description: 'In the repository, such as plans/feature.md. Where the text is given below, it only names the plan.',
    repositoryFile: 'text/markdown',
  }),
  plan: z
    .string()
    .max(MAX_PLAN_CHARACTERS, {
      error: `The plan has more than ${MAX_PLAN_CHARACTERS} characters. Split it into several plans.`,
    })
    .meta({
      title: 'Text of the plan',
      description:
        "Markdown with a heading such as '## Phase 1: …' for each phase. A text for which the request gets too large is committed and named by its path.",
    })
    .optional(),
  maxRetries: z.number().int().min(0).max(20).default(3).meta({
    title: 'Retries a phase',
    description: 'After a failed verification or review, both together. Then a person is asked.',
  }),
  maxIterations: z.number().int().min(1).max(1_000).default(50).meta({
    title: 'Iterations',
    description:
      'Calls of agents that write code, in all phases together. A phase may use what is left when it starts.',
  }),
  commits: z.enum(['phase', 'squash']).default('phase').meta({
    title: 'Commits',
    description: 'One commit for each phase, or one for all of them at the end.',
  }),
  test: command.optional().meta({ title: 'Test command', description: "Found in the project's files when empty." }),
  lint: command.optional().meta({ title: 'Lint command', description: "Found in the project's files when empty." }),
});
export type PlanInputValues = z.infer<typeof planInputSchema>;

/** The run's configuration with everything that this workflow asks of it: its stages and trust modes are set. */
export type PlanConfig = RunConfig & {
  readonly trustMode: Readonly<Record<'implementation', 'auto' | 'manual'>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'implementation' | 'validation', number>>;
};

export type PlanRunInput = ProjectRunInput<PlanConfig>;

/** An attempt at a phase, which is a child run. */
export interface PhaseAttempt extends Waiting {
  readonly phase: number;
  /** How often the phase was started, with this time: it tells a child from its predecessors. */
  readonly start: number;
  /** Head of its result. Absent: it has none yet. */
  readonly commit?: string;
  /** First line of the agent's own summary, at most 300 characters. Absent: as `commit`. */
  readonly summary?: string;
  /** Calls of agents that wrote code. Absent: as `commit`. */
  readonly iterations?: number;
}

export interface PlanContext
  extends CheckedRunContext<PlanConfig, PlanInputValues>, Attempts<PhaseAttempt>, Pick<FollowingContext, 'following'> {
  readonly setupDone: boolean;
  /** As `test`. */
  readonly lint: ProjectCommand | null;
  /** A person's answer to the question for the commands. */
  readonly answered: string | null;
  readonly clarificationCount: number;
  /** Title of the plan; `null` where it has none. */
  readonly title: string | null;
  /** Path of the plan at the base commit; `null` where the base has another text there, or none. */
  readonly planFile: string | null;
  readonly phases: readonly PlanPhase[];
  /** How often each phase was started, by number. */
  readonly starts: Readonly<Record<string, number>>;
  /** Hints for the next child run of a phase, by number. */
  readonly hints: Readonly<Record<string, string>>;
  /** Files with conflict markers that a phase resolves, by number. Absent: there are none. */
  readonly conflicts?: Readonly<Record<string, readonly string[]>>;
  /** Number of the phase in which is done what reviewers of the pull request ask. Absent: there is none. */
  readonly askedPhase?: number;
  /** Phases whose last child run could not be used, by number, until a person has them tried again. */
  readonly stopped: Readonly<Record<string, FailedAttempt>>;
  /** Numbers of the phases that are merged, in the order of their merges. */
  readonly mergedPhases: readonly number[];
  /** Calls of agents that wrote code, in all phases that have ended. */
  readonly iterations: number;
  readonly iterationLimit: number;
}

/** Result of reading a plan. With `faults` it cannot be carried out. */
export interface PlanRead {
  readonly title: string | null;
  readonly phases: readonly PlanPhase[];
  readonly planFile: string | null;
  readonly faults: readonly string[];
}

export type PlanActivities = Omit<CheckedRunActivities<PlanConfig>, 'check' | 'recordRun'> &
  ChildMergeActivities & {
    readPlan: {
      input: RunHeader & { readonly baseCommit: string; readonly planPath: string; readonly plan: string | null };
      output: PlanRead;
    };
    findCommands: { input: RunHeader & { readonly baseCommit: string }; output: CheckCommands };
    check: { input: CheckInput & { readonly lint: ProjectCommand | null }; output: Checked };
    recordRun: {
      input: RecordRunInput & {
        /** Text of the plan, where the base does not have it. */
        readonly plan: string | null;
        readonly answered: string | null;
      };
      output: Recorded;
    };
    followPullRequest: { input: FollowInput; output: Followed };
    mergePullRequest: { input: MergePullRequestInput; output: MergedPullRequest };
    closePullRequest: { input: ClosePullRequestInput; output: ClosedPullRequest };
    answerReviewers: { input: AnswerInput; output: { readonly answered: number } };
  };
