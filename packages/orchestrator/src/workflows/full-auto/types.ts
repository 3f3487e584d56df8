/** The data of a run: its input, its context, and what its activities take and give. All plain JSON. */
import type { RunConfig } from '@autonomous/shared';
import { z } from 'zod';
import type { CommitOwnedInput, OwnedCommitted } from '../../activities/git/commit-owned-files.ts';
import type { Cost, Note, ProjectCommand, RunHeader } from '../../activities/types.ts';
import type { Attempts, Waiting } from '../parts/attempts.ts';
import type { CallingContext } from '../parts/costs.ts';
import type {
  CheckedRunActivities,
  CheckedRunContext,
  ChildMergeActivities,
  ProjectRunInput,
} from '../parts/project-run.ts';
import { researchFields } from '../parts/topics/research-fields.ts';
import type { Rested, WatchInput } from '../parts/watch-children.ts';
import type { Feature } from './features.ts';
import type { Iteration } from './files.ts';
import type { Proved, ProveInput } from './proof.ts';

export const fullAutoInputSchema = z.strictObject({
  topic: researchFields.topic.meta({
    title: 'Topic',
    description: 'A short name. Plan, feature list and progress go to docs/research-<topic>/.',
  }),
  plan: z.string().trim().min(1).max(1_000).optional().meta({
    title: 'Existing plan',
    description:
      'Path of a plan in JSON, or of the folder docs/research-<topic> with one. Empty: the topic is researched and planned first.',
    repositoryFile: 'application/json',
  }),
  maxAttempts: z.number().int().min(1).max(10).default(3).meta({
    title: 'Attempts at a feature',
    description: 'Then it is skipped, and what depends on it is given up.',
  }),
  maxIterations: z.number().int().min(1).max(100).default(100).meta({
    title: 'Iterations',
    description: 'Attempts at features, at most.',
  }),
});
export type FullAutoInputValues = z.infer<typeof fullAutoInputSchema>;

/** The run's configuration with everything that this workflow asks of it. */
export type FullAutoConfig = RunConfig & {
  readonly trustMode: Readonly<Record<'implementation', 'auto' | 'manual'>>;
  readonly modelRouting: Readonly<Record<'feature-lister', string>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'validation', number>>;
};

export type FullAutoRunInput = ProjectRunInput<FullAutoConfig>;

/** One attempt at a feature: a child run. */
export type FeatureAttempt = Waiting & {
  readonly feature: string;
  /** Counts all attempts of the run, from 1. */
  readonly iteration: number;
  /** Words for the gate at which it waits. Absent: it has not waited. */
  readonly waitsFor?: string;
  /** Its result waits for a person; features that do not need it go on meanwhile. */
  readonly isAside?: true;
};

export interface FullAutoContext
  extends CheckedRunContext<FullAutoConfig, FullAutoInputValues>, CallingContext, Attempts<FeatureAttempt> {
  /** The child run that researched and planned, and the path of its plan. `null`: there is none, or not yet. */
  readonly research: { readonly childId: string; readonly plan: string } | null;
  /** Path of the plan; empty before it is known. */
  readonly plan: string;
  /** In the order of the plan; empty before they are listed. */
  readonly features: readonly Feature[];
  /** What was wrong with the last list; empty for one that was taken. */
  readonly faults: readonly string[];
  /** Attempts at features that were begun. */
  readonly iterations: number;
  readonly iterationLimit: number;
  /** Attempts at a feature that came to nothing since a person last decided, and the last error, by feature. */
  readonly tried: Readonly<Record<string, { readonly attempts: number; readonly hint: string }>>;
  /** Reasons, by feature. */
  readonly skipped: Readonly<Record<string, string>>;
  readonly log: readonly Iteration[];
  /** Words of the person who accepted the result that is judged although its checks failed; `null`: its checks are green, or it is not judged yet. */
  readonly accepted: string | null;
  /** Nothing more is begun. */
  readonly isOver: boolean;
}

/** Output of a run of `research-and-plan`, as far as it is read here. */
export type PlannedOutput = {
  /** Path of the plan as JSON. */
  readonly planData: string;
  /** Blockers that were open when a person took the plan. */
  readonly openBlockers: readonly { readonly id: string; readonly text: string }[];
};

export type ListInput = RunHeader & {
  readonly config: FullAutoConfig;
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  readonly call: number;
  readonly plan: string;
  /** Test command of the project; `null` or empty: it names none. */
  readonly test: ProjectCommand | null;
};

export type WriteInput = CommitOwnedInput & {
  readonly topic: string;
  readonly plan: string;
  readonly features: readonly Feature[];
  readonly skipped: Readonly<Record<string, string>>;
  readonly log: readonly Iteration[];
  /** Attempts that wait for a person, with the words for their gates. */
  readonly waiting: readonly { readonly iteration: number; readonly feature: string; readonly why: string }[];
  readonly isOver: boolean;
  readonly setup: ProjectCommand | null;
};

export type FullAutoActivities = CheckedRunActivities<FullAutoConfig> &
  ChildMergeActivities & {
    readPlan: {
      input: RunHeader & { readonly head: string; readonly plan: string };
      /** `fault`: why there is no plan; `null`: there is one. */
      output: { readonly path: string; readonly fault: string | null; readonly codeTree: string };
    };
    listFeatures: {
      input: ListInput;
      output: {
        readonly features: readonly Omit<Feature, 'passes'>[];
        /** Empty for a list that can be carried out. */
        readonly faults: readonly string[];
        /** Command that checks the features of a project that names none; `null` for one that does. */
        readonly testCommand: string | null;
        readonly cost: Cost;
      };
    };
    writeFiles: { input: WriteInput; output: OwnedCommitted };
    watchFeature: { input: WatchInput; output: Rested };
    proveFeature: { input: ProveInput; output: Proved };
  };
