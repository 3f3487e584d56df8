/** The data of the run of a roadmap's item: its input, its context, and what its activities take and give. All plain JSON. */
import type { CommandEvidence, RunConfig } from '@autonomous/shared';
import { z } from 'zod';
import type { CommitOwnedInput, OwnedCommitted } from '../../activities/git/commit-owned-files.ts';
import type { ChildIntegrated } from '../../activities/git/merge-child.ts';
import type { Cost, Note, ProjectCommand, Published, RunHeader } from '../../activities/types.ts';
import type { EndedAttempt, Waiting } from '../parts/attempts.ts';
import type { Rested, WatchInput } from '../parts/watch-children.ts';
import type { CallingContext } from '../parts/costs.ts';
import type {
  CheckedRunActivities,
  CheckedRunContext,
  ChildMergeActivities,
  ProjectRunInput,
} from '../parts/project-run.ts';
import { ROADMAP_PATH, type RoadmapItem, type WORK_PHASES } from './roadmap-file.ts';

/** Phases at whose end a person approves: all of them, those of the three named transitions, or the release alone. */
export const APPROVALS = ['all', 'named', 'release'] as const;

export const itemInputSchema = z.strictObject({
  item: z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
      error: "The id of an item has 1 to 100 letters (a-z), digits, '.', '_' and '-'.",
    })
    .meta({ title: 'Item', description: 'Id of the item in the roadmap.' }),
  roadmap: z.string().trim().min(1).max(1_000).default(ROADMAP_PATH).meta({
    title: 'Path of the roadmap',
    description: 'A JSON file of the repository.',
    repositoryFile: 'application/json',
  }),
  approvals: z.enum(APPROVALS).default('named').meta({
    title: 'Approvals',
    description:
      'all: after each phase. named: after ideation, after specification and before the result is released. release: only before a release.',
  }),
  maxAttempts: z.number().int().min(1).max(20).default(3).meta({
    title: 'Attempts a phase',
    description: 'After so many failures of a phase a person is asked.',
  }),
  maxPhaseIterations: z.number().int().min(1).max(200).default(20).meta({
    title: 'Iterations a phase',
    description: 'Calls of agents and child runs in one phase. Then a person is asked.',
  }),
  maxIterations: z.number().int().min(1).max(1_000).default(100).meta({
    title: 'Iterations',
    description: 'Calls of agents and child runs in all phases together. Then a person is asked.',
  }),
});
export type ItemInputValues = z.infer<typeof itemInputSchema>;

/** The run's configuration with everything that this workflow asks of it. */
export type ItemConfig = RunConfig & {
  readonly trustMode: Readonly<Record<'implementation', 'auto' | 'manual'>>;
  readonly modelRouting: Readonly<Record<'ideator' | 'specifier' | 'decomposer' | 'item-reviewer', string>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'validation' | 'releasing', number>>;
};

export type ItemRunInput = ProjectRunInput<ItemConfig>;

export type WorkPhase = (typeof WORK_PHASES)[number];

/** Phases whose result is a document. */
export const DOCUMENT_PHASES = ['ideating', 'specifying', 'decomposing'] as const;
export type DocumentPhase = (typeof DOCUMENT_PHASES)[number];

export type ItemDocument = {
  readonly path: string;
  readonly artifactHash: string;
  readonly commit: string;
  /** Text as the agent wrote it, for later prompts: at most 60,000 characters. */
  readonly text: string;
  readonly scripted: boolean;
};

export type ItemTask = {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Ids of tasks. */
  readonly dependsOn: readonly string[];
  /** It mends a result that failed or was sent back: it does not count among the tasks of the roadmap. */
  readonly isFix?: true;
};

export const BUG_SIZES = ['trivial', 'small', 'medium', 'large'] as const;

/** A bug that an agent found. */
export type Finding = {
  readonly title: string;
  readonly description: string;
  /** trivial: under 5 minutes of a person, small: under 30, medium: under 2 hours, large: more. */
  readonly size: (typeof BUG_SIZES)[number];
  /** The item cannot be finished before. */
  readonly blocks: boolean;
  /** Id of the new item that it becomes. */
  readonly id: string;
};

/** What is known of the item from the roadmap when the run starts. */
export type KnownItem = {
  readonly id: string;
  readonly title: string;
  readonly type: RoadmapItem['type'];
  /** The item as the roadmap has it, without `workflowState`, as JSON: at most 20,000 characters. */
  readonly text: string;
  /** Folder of its documents below `specs/`. */
  readonly slug: string;
  /** Sums of earlier runs. */
  readonly before: ItemMetrics;
  /** Ideation and specification that the base has of an earlier run. */
  readonly documents: Readonly<Partial<Record<DocumentPhase, ItemDocument>>>;
};

export type ItemMetrics = {
  readonly costUsd: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
};

/** An attempt at a task: a child run. */
export type TaskAttempt = Waiting & {
  readonly task: string;
  /** Counts all child runs of this run, from 1. */
  readonly number: number;
};

export interface ItemContext extends CheckedRunContext<ItemConfig, ItemInputValues>, CallingContext {
  /** `null` before the roadmap was read. */
  readonly item: KnownItem | null;
  /** The phase that is under way, or the next one while its state is written. */
  readonly phase: WorkPhase;
  /** Why the run went back to this phase, or tries it again; empty otherwise. */
  readonly reason: string;
  /** Failures of this phase since it began or a person decided. */
  readonly attempts: number;
  /** What holds the work up; a person is asked then. */
  readonly blockers: readonly string[];
  /** Calls of agents and child runs that were begun, by phase. */
  readonly iterations: Readonly<Record<string, number>>;
  /** Iterations that a phase may have, and all of them together: more after a person had it tried again. */
  readonly limits: { readonly phase: Readonly<Record<string, number>>; readonly all: number };
  /** Corrections of the result since a person decided. */
  readonly corrections: number;
  readonly documents: Readonly<Partial<Record<DocumentPhase, ItemDocument>>>;
  readonly versions: Readonly<Record<DocumentPhase, number>>;
  /** The document that an agent wrote and that is not committed yet. */
  readonly draft: DocumentDraft | null;
  readonly tasks: readonly ItemTask[];
  /** Ids of tasks that are merged. */
  readonly done: readonly string[];
  /** Number of child runs that were begun. */
  readonly children: number;
  /** Hints for the next child run of a task. */
  readonly hint: string;
  readonly open: TaskAttempt | null;
  readonly ended: EndedAttempt<TaskAttempt> | null;
  readonly integrated: ChildIntegrated | null;
  /** Where the state is committed to, once that is known. Absent: it is not. */
  readonly ownedTo?: 'base' | 'branch';
  /** Branch with the item's last state, for whose merge the base waits. Empty: its result is another one since. Absent: there was none. */
  readonly marked?: string;
  /** Bugs that become items of their own when a person has seen them. */
  readonly findings: readonly Finding[];
  /** Bugs whose items are being written. */
  readonly adding: readonly Finding[];
  /** The next test takes in the base first, where a bug that held the item up was mended. Absent: it does not. */
  readonly takesBase?: boolean;
  /** Tree of code that was looked through for bugs. */
  readonly reviewedTree: string | null;
  /** Whether the published result is to be released; `null` before that is decided. */
  readonly releases: boolean | null;
  readonly released: boolean;
}

export type DocumentDraft = {
  readonly phase: DocumentPhase;
  readonly text: string;
  readonly tasks?: readonly ItemTask[];
  readonly model: string;
  readonly scripted: boolean;
};

/** Result of reading the roadmap. */
export type ItemRead =
  | { readonly kind: 'item'; readonly item: KnownItem }
  /** There is no such item, or it is done: the run ends. */
  | { readonly kind: 'ends'; readonly message: string }
  /** The roadmap cannot be used as it is. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

export type ReadItemInput = RunHeader & {
  readonly baseBranch: string;
  readonly roadmap: string;
  readonly item: string;
};

/** Change of an item in the roadmap. */
export type StateChange = {
  readonly phase: WorkPhase;
  readonly slug: string;
  readonly tasksTotal: number;
  readonly tasksCompleted: number;
  readonly attempts: number;
  readonly blockers: readonly string[];
  /** Sums of earlier runs, to which this run's are added. */
  readonly before: ItemMetrics;
  /** New items. Those that block become dependencies of the item. */
  readonly adding: readonly Finding[];
  /** The run takes the item up. */
  readonly begins?: true;
  /** The next state comes with the run's branch: what speaks against it has to be asked now. */
  readonly isLast?: true;
};

export type SetStateInput = CommitOwnedInput & {
  readonly roadmap: string;
  readonly item: string;
  readonly change: StateChange;
};

export type ShareResultInput = RunHeader & {
  readonly commit: string;
  readonly baseCommit: string;
  readonly beside?: true;
};

type AgentInput = RunHeader & {
  readonly config: ItemConfig;
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  readonly call: number;
  readonly item: KnownItem;
  /** Texts of the documents before this one, by phase. */
  readonly documents: Readonly<Partial<Record<DocumentPhase, string>>>;
};

export type WriteDocumentInput = AgentInput & {
  readonly phase: DocumentPhase;
  /** Text of this document's last version, which was sent back; `null`: there is none. */
  readonly before: string | null;
};

export type ReviewInput = AgentInput;

export type CommitDocumentInput = RunHeader & {
  readonly head: string;
  readonly item: KnownItem;
  readonly draft: DocumentDraft;
};

/** The document with the state of the work, `04-implementation.md`. */
export type CommitProgressInput = RunHeader & {
  readonly head: string;
  readonly item: KnownItem;
  readonly tasks: readonly ItemTask[];
  readonly done: readonly string[];
  readonly findings: readonly Finding[];
};

export type CommandInput = RunHeader & {
  readonly name: 'browserCheck' | 'performanceCheck' | 'docsCheck';
  readonly commit: string;
  readonly setup: ProjectCommand | null;
  readonly excludePaths: readonly string[];
  readonly command: string;
  readonly timeoutMinutes: number;
};

export type ReleaseInput = Omit<CommandInput, 'name'> & { readonly config: ItemConfig };

export type ItemActivities = CheckedRunActivities<ItemConfig> &
  ChildMergeActivities & {
    readItem: { input: ReadItemInput; output: ItemRead };
    setState: { input: SetStateInput; output: OwnedCommitted };
    writeDocument: { input: WriteDocumentInput; output: { readonly draft: DocumentDraft; readonly cost: Cost } };
    commitDocument: { input: CommitDocumentInput; output: ItemDocument };
    commitProgress: { input: CommitProgressInput; output: { readonly commit: string } };
    watchTask: { input: WatchInput; output: Rested };
    runCommand: { input: CommandInput; output: { readonly command: CommandEvidence } };
    review: {
      input: ReviewInput;
      output: { readonly findings: readonly Finding[]; readonly summary: string; readonly cost: Cost };
    };
    shareResult: { input: ShareResultInput; output: Published };
    release: {
      input: ReleaseInput;
      output: {
        readonly command: CommandEvidence;
        /** The command was not run: an earlier attempt may have run it, and how far that came is not known. Absent: it ended. */
        readonly isCutOff?: true;
      };
    };
  };
