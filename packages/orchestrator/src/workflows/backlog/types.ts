/** The data of a backlog's run: its input, its context, and what its activities take and give. All plain JSON. */
import type { AllowedFiles, RunConfig } from '@autonomous/shared';
import { z } from 'zod';
import type { CommitOwnedInput, OwnedCommitted } from '../../activities/git/commit-owned-files.ts';
import type { ProjectCommand, RunHeader } from '../../activities/types.ts';
import type { Attempts, Waiting } from '../parts/attempts.ts';
import type { Rested, WatchInput } from '../parts/watch-children.ts';
import type {
  CheckedRunActivities,
  CheckedRunContext,
  ChildMergeActivities,
  ProjectRunInput,
} from '../parts/project-run.ts';
import type { ItemStatus } from './backlog-table.ts';
import type { Need } from './environment.ts';
import type { Attempt as ItemAttempt } from './next-item.ts';

const file = z.string().trim().min(1).max(1_000);
/** A folder as people write it, without slashes at its end. */
export const folderOf = (path: string): string => path.replace(/\/{1,100}$/, '');

/** Where the table is that nobody names. */
export const DEFAULT_BACKLOG = 'ai/backlog.md';

export const backlogInputSchema = z.strictObject({
  file: file.default(DEFAULT_BACKLOG).meta({
    title: 'Path of the backlog',
    description: 'A Markdown file with a table of items. Empty: as the project configures it, else ai/backlog.md.',
    repositoryFile: 'text/markdown',
  }),
  // Forms give a longer text several lines.
  specs: file.max(500).default('ai/features').meta({
    title: 'Folder of the specifications',
    description: 'A file for each item. Empty: as the project configures it, else ai/features.',
  }),
  item: z.string().trim().min(1).max(100).optional().meta({
    title: 'Item',
    description: 'Id of the only item to work on. Empty: all that are queued, one after the other.',
  }),
  maxIterations: z.number().int().min(1).max(200).default(20).meta({
    title: 'Iterations',
    description: 'Attempts at items, at most. Then a person is asked.',
  }),
  keepGoing: z.boolean().default(false).meta({
    title: 'Keep going',
    description: 'Go on with items that do not depend on a blocked one.',
  }),
  parallel: z.number().int().min(1).max(8).default(1).meta({
    title: 'Items at the same time',
    description: 'Only items that do not depend on each other.',
  }),
});
export type BacklogInputValues = z.infer<typeof backlogInputSchema>;

/** The run's configuration with everything that this workflow asks of it. */
export type BacklogConfig = RunConfig & {
  readonly trustMode: Readonly<Record<'implementation', 'auto' | 'manual'>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'validation', number>>;
};

export type BacklogRunInput = ProjectRunInput<BacklogConfig>;

/** Characters of a specification that the request for an item has. */
export const MAX_TOLD_SPEC = 40_000;

/** An item that was chosen, with what its specification says. */
export type ChosenItem = {
  readonly id: string;
  readonly title: string;
  /** `null`: it has no specification. */
  readonly specPath: string | null;
  /** Files that its run may change, and those it may add. Absent: no limit. */
  readonly allowedFiles?: AllowedFiles;
  /** Needs of the specification's environment block, such as `docker: true`. */
  readonly environment: readonly string[];
  /** Programs that the block asks for. Absent: none. */
  readonly needs?: readonly Need[];
  /** Text of the specification, at most {@link MAX_TOLD_SPEC} characters. Absent: there is none. */
  readonly text?: string;
};

/** One attempt at an item: a child run. */
export type Attempt = Omit<ChosenItem, 'text'> &
  Waiting & {
    /** Counts all attempts of the run, from 1. */
    readonly iteration: number;
  };

/** An attempt that is being begun. */
export type Starting = Attempt & Pick<ChosenItem, 'text'>;

/** Earlier attempts at an item since a person last decided. */
export type History = {
  readonly attempts: readonly ItemAttempt[];
  /** For the next attempt, which starts with a fresh context. */
  readonly handOver: string;
};

export type Outcome = {
  readonly status: 'done' | 'blocked' | 'skipped';
  /** Empty for an item that is done. */
  readonly reason: string;
  /** Absent: it has no specification. */
  readonly specPath?: string;
  /** The last attempt. Absent: this run made none. */
  readonly iteration?: number;
};

export interface BacklogContext extends CheckedRunContext<BacklogConfig, BacklogInputValues>, Attempts<Attempt> {
  /** An item is merged. Absent: none is. */
  readonly isChanged?: true;
  /** Blocked items that become queued again, since a person wants them tried once more. Absent: none. */
  readonly again?: readonly string[];
  /** Attempts that were begun. */
  readonly iterations: number;
  readonly iterationLimit: number;
  /** The attempt that is being begun. */
  readonly starting: Starting | null;
  /** Item for which the table was read again, since its status could not be set. Absent: none. */
  readonly reread?: string | undefined;
  /** Where the statuses are committed to, once that is known. Absent: it is not. */
  readonly ownedTo?: 'base' | 'branch';
  /** Status that is being written of an item, and its reason. */
  readonly setting: NewStatus | null;
  /** By item. */
  readonly histories: Readonly<Record<string, History>>;
  /** By item. */
  readonly outcomes: Readonly<Record<string, Outcome>>;
  /** Why no further item is begun; `null` while one may be. */
  readonly stopped: Stop | null;
  /** Items of the table, and those of them that are done. */
  readonly counts: { readonly total: number; readonly done: number };
}

export type Stop = { readonly kind: 'done' } | { readonly kind: 'blocked' } | { readonly kind: 'iterations' };

/** Why there is no next item. */
export type NoItem =
  | { readonly kind: 'done' }
  | { readonly kind: 'iterations' }
  /** An item that is blocked stops the loop. `item` names it to people. */
  | { readonly kind: 'blocked'; readonly id: string; readonly item: string }
  /** The files cannot be used. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

export type Choice = {
  /** Tree of the code at the head of the run's branch. */
  readonly codeTree: string;
  readonly counts: BacklogContext['counts'];
  /** Ids of items that wait for a blocked one. */
  readonly skipped: readonly string[];
  readonly item: ChosenItem | null;
  /** `null` where there is an item. */
  readonly end: NoItem | null;
};

export type ChooseInput = RunHeader & {
  readonly head: string;
  readonly baseBranch: string;
  readonly file: string;
  readonly specs: string;
  readonly item: string | null;
  readonly keepGoing: boolean;
  readonly iterations: number;
  readonly maxIterations: number;
  /** Ids of items at which this run has begun an attempt. */
  readonly begun: readonly string[];
  /** Ids of items with an attempt under way. */
  readonly underWay: readonly string[];
  /** Ids of items whose result is merged into the run's branch: they are done as soon as it is published. */
  readonly merged: readonly string[];
};

/** A status that the table gets. */
export type NewStatus = {
  readonly item: string;
  readonly specPath: string | null;
  readonly status: ItemStatus;
  readonly reason: string;
  /** Absent: the status follows from no attempt. */
  readonly iteration?: number;
  /** Statuses that the table may have before. Another one is of a person. */
  readonly expected: readonly ItemStatus[];
};

export type SetStatusInput = CommitOwnedInput & {
  readonly file: string;
  readonly statuses: readonly NewStatus[];
  /** The run's first commit, which brings the template of the progress log where it is absent. Default: false */
  readonly isFirst?: true;
};

export type BacklogActivities = CheckedRunActivities<BacklogConfig> &
  ChildMergeActivities & {
    chooseItem: { input: ChooseInput; output: Choice };
    checkEnvironment: {
      input: RunHeader & {
        readonly head: string;
        readonly setup: ProjectCommand | null;
        readonly excludePaths: readonly string[];
        readonly item: string;
        readonly specPath: string;
        readonly needs: readonly Need[];
      };
      /** `reason`: why the item cannot be begun; `null`: nothing is missing. */
      output: { readonly reason: string | null };
    };
    setStatus: { input: SetStatusInput; output: OwnedCommitted };
    readAgain: {
      input: RunHeader & Pick<ChooseInput, 'head' | 'baseBranch' | 'file' | 'merged'>;
      /** `counts` is `null` where the table cannot be read. */
      output: { readonly faults: readonly string[]; readonly counts: BacklogContext['counts'] | null };
    };
    watchItems: { input: WatchInput; output: Rested };
  };
