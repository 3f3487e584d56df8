/** The data of a run: its context, and what its activities take and give. All plain JSON. */
import type {
  Baseline,
  BaselineInput,
  BudgetedContext,
  CallingContext,
  Checked,
  CheckInput,
  ChildIntegrated,
  ChildMerged,
  Cost,
  MergeChildInput,
  Merged,
  MergeInput,
  NotedContext,
  PausableContext,
  Prepared,
  PrepareInput,
  ProjectCommand,
  Published,
  PublishingContext,
  RunConfig,
  RunHeader,
  RunStart,
  TimedContext,
  TrustLevel,
} from '@autonomous/orchestrator/workflow';
import type { Split } from './surveyor.ts';

/** The settings of a run: those that this workflow declares are always there. */
export type Config = RunConfig & {
  readonly modelRouting: Readonly<Record<'surveyor', string>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'survey' | 'building', number>>;
  readonly trustMode: Readonly<Record<'split', TrustLevel>>;
};

export interface Input extends Omit<RunStart, 'config'> {
  readonly config: Config;
  readonly runId: string;
  readonly startedAt: string;
}

/** The split as a document on the run's branch. */
export interface SplitDocument {
  readonly path: string;
  readonly hash: string;
  readonly commit: string;
}

export interface Context
  extends
    RunHeader,
    NotedContext,
    PausableContext,
    CallingContext,
    Omit<BudgetedContext, 'config'>,
    Omit<TimedContext, 'config'>,
    Omit<PublishingContext, 'config'> {
  readonly config: Config;
  readonly requestedConfig: Input['requestedConfig'];
  readonly excludePaths: readonly string[];
  readonly setup: ProjectCommand | null;
  readonly test: ProjectCommand | null;
  readonly split: Split | null;
  /** True where a scripted model made the split. */
  readonly scripted: boolean;
  readonly document: SplitDocument | null;
  readonly documentVersion: number;
  /** Number of changes that are merged into the run's branch. */
  readonly done: number;
  /** The child run of the change that is being merged; empty before it has ended. */
  readonly childId: string;
  /** The merge of that child, to which the branch is not moved yet. */
  readonly integrated: ChildIntegrated | null;
}

export type SurveyInput = RunHeader &
  Pick<Context, 'config' | 'head' | 'baseCommit' | 'excludePaths' | 'notes'> & { readonly call: number };

export interface Activities {
  readonly prepare: { readonly input: PrepareInput; readonly output: Prepared<Config> };
  readonly baseline: { readonly input: BaselineInput; readonly output: Baseline | null };
  readonly survey: { readonly input: SurveyInput; readonly output: { readonly split: Split; readonly cost: Cost } };
  readonly writeSplit: {
    readonly input: RunHeader & { readonly head: string; readonly split: Split };
    readonly output: SplitDocument;
  };
  readonly integrateChild: { readonly input: MergeChildInput; readonly output: ChildIntegrated };
  readonly check: { readonly input: CheckInput; readonly output: Checked };
  readonly mergeChild: { readonly input: MergeChildInput; readonly output: ChildMerged };
  readonly pushBranch: { readonly input: RunHeader & { readonly commit: string }; readonly output: Published };
  readonly merge: { readonly input: MergeInput; readonly output: Merged };
}
