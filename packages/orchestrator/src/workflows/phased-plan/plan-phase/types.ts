/** The data of a phase's run: its input, its context, and what its activities take and give. All plain JSON. */
import type { RunConfig, RunConfigRequest, RunStart } from '@autonomous/shared';
import { z } from 'zod';
import type {
  Checked,
  CheckInput,
  Checkpoint,
  CommittedCode,
  Cost,
  Note,
  ProjectCommand,
  Published,
  RunHeader,
} from '../../../activities/types.ts';
import type { CheckpointInput, CommitCodeInput, SetUpInput } from '../../../activities/git/code-commits.ts';
import type { CheckCommands } from '../../../project-analysis/check-commands.ts';
import type { Prepared, PrepareInput } from '../../../activities/prepare.ts';
import type { Pause } from '../../parts/pausing.ts';
import type { Attempt } from '../escalation.ts';
import { MAX_PLAN_CHARACTERS } from '../plan-file.ts';

const command = z.strictObject({ command: z.string().max(4_000), source: z.string().max(1_000) });

export const phaseInputSchema = z.strictObject({
  /** Path of the plan as the person named it. */
  planPath: z.string().min(1).max(1_000),
  /** Path of the whole plan at the run's base commit; `null` where it is not there. */
  planFile: z.string().max(1_000).nullable().default(null),
  number: z.number().int().min(0).max(9_999),
  /** Number of phases of the plan. */
  total: z.number().int().min(1).max(1_000),
  title: z.string().max(1_000).default(''),
  /** Its section of the plan, as Markdown. */
  text: z.string().max(MAX_PLAN_CHARACTERS),
  criteria: z.array(z.string().max(MAX_PLAN_CHARACTERS)).max(200).default([]),
  /** Files with conflict markers of git, none of which may be left. Absent: there are none. */
  conflicts: z.array(z.string()).max(100_000).optional(),
  /** Retries after a failed verification or review, both together. */
  maxRetries: z.number().int().min(0).max(20).default(3),
  /** Calls of agents that write code, at most. */
  maxIterations: z.number().int().min(1).max(1_000).default(50),
  /** Absent: found in the project. An empty command: there is none. */
  test: command.optional(),
  lint: command.optional(),
});
export type PhaseInputValues = z.infer<typeof phaseInputSchema>;

/** The run's configuration with everything that this workflow asks of it: its roles and stages are set. */
export type PhaseConfig = RunConfig & {
  readonly modelRouting: Readonly<Record<'phase-implementer' | 'phase-reviewer', string>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'implementation' | 'validation', number>>;
};

export interface PhaseRunInput extends Omit<RunStart, 'config'> {
  readonly config: PhaseConfig;
  readonly runId: string;
  readonly startedAt: string;
}

/** A call of the implementer or the fixer. */
export type Attempted = {
  /** SUCCESS and FIXED. */
  readonly isDone: boolean;
  readonly summary: string;
  readonly tree: string;
  readonly refused: readonly string[];
  readonly cost: Cost;
};

export interface PhaseReviewed {
  readonly isApproved: boolean;
  readonly summary: string;
  /** Numbered; empty when it is approved. */
  readonly blockers: string;
  readonly cost: Cost;
}

/** A person's fix from the run's branch on the remote; `commit` is `null` where there is none. */
export type HandFix = { readonly commit: null } | CommittedCode;

export interface PhaseContext extends RunHeader {
  readonly input: PhaseInputValues;
  readonly config: PhaseConfig;
  readonly requestedConfig: RunConfigRequest;
  readonly baseCommit: string;
  /** Head of the run's branch in the mirror; empty before it exists. */
  readonly head: string;
  readonly excludePaths: readonly string[];
  readonly setup: ProjectCommand | null;
  readonly setupDone: boolean;
  /** `null` before it is known; an empty command means that the project has none. The same holds for `lint`. */
  readonly test: ProjectCommand | null;
  readonly lint: ProjectCommand | null;
  /** Finished calls by role, which tell a call from its predecessors. */
  readonly calls: { readonly [Role in 'phase-implementer' | 'phase-fixer' | 'phase-reviewer']: number };
  /** Notes for the calls of every role from now on: messages of people. */
  readonly notes: readonly Note[];
  /** A person's guidance, for the next attempt alone. */
  readonly guidance: string | null;
  /** Issues for the next fixer. */
  readonly issues: string;
  /** Action of the next attempt. */
  readonly next: Attempt['action'];
  /** Summary that the latest agent that wrote code gave of its work. */
  readonly summary: string;
  /** Since the phase began or a person last decided. */
  readonly attempts: readonly Attempt[];
  /** Calls of agents that wrote code. */
  readonly iterations: number;
  readonly iterationLimit: number;
  readonly attempted: Attempted | null;
  readonly codeTree: string | null;
  /** Number of commits of attempts. */
  readonly codeVersion: number;
  readonly checked: Checked | null;
  readonly lastError: string | null;
  /** False where the branch of a blocked phase could not be pushed. */
  readonly isShared: boolean;
  /** Set while the push of a blocked phase's branch is refused, so that nobody can fix it by hand there. */
  readonly isRefused?: true | undefined;
  readonly committed: CommittedCode | null;
  readonly paused: Pause | null;
  readonly resumedByItself?: number | undefined;
  /** Number of questions to people. */
  readonly clarificationCount: number;
}

export type PhaseAgentInput = RunHeader & {
  readonly input: PhaseInputValues;
  readonly config: PhaseConfig;
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  readonly call: number;
  readonly commands: readonly string[];
};

/** With `refusal`, a sentence for a person, the branch could not be pushed. */
export type SharedBranch = Published & { readonly refusal?: string };

export type PhaseActivities = {
  prepare: { input: PrepareInput; output: Prepared<PhaseConfig> };
  findCommands: { input: RunHeader & { readonly baseCommit: string }; output: CheckCommands };
  setUp: { input: SetUpInput; output: { ran: boolean } };
  attempt: {
    input: PhaseAgentInput & {
      readonly setup: ProjectCommand | null;
      /** Issues for the fixer; `null` calls the implementer. */
      readonly issues: string | null;
    };
    output: Attempted;
  };
  commitCode: { input: CommitCodeInput; output: CommittedCode };
  check: { input: CheckInput & { readonly lint: ProjectCommand | null }; output: Checked };
  review: { input: PhaseAgentInput & { readonly checked: Checked | null }; output: PhaseReviewed };
  commitPhase: { input: Omit<CommitCodeInput, 'tree'>; output: CommittedCode };
  checkpoint: { input: CheckpointInput; output: Checkpoint };
  shareBranch: { input: RunHeader & { readonly commit: string }; output: SharedBranch };
  takeHandFix: {
    input: RunHeader & { readonly head: string; readonly baseCommit: string; readonly message: string };
    output: HandFix;
  };
};

/** Output of a phase's run. */
export type PhaseOutput = {
  readonly phase: number;
  readonly iterations: number;
  readonly message: string;
  /** First line of the agent's own summary, at most 300 characters. */
  readonly summary: string;
};
