/** A project's roadmap as clients show it: its items, the choice of the next one with reasons, and the runs that work on items. */
import type { RunStatus } from '../run.ts';

export const ROADMAP_ITEM_TYPES = ['feature', 'bugfix', 'technical-debt', 'research', 'epic'] as const;
/** Highest priority first. */
export const ROADMAP_MOSCOW = ['must-have', 'should-have', 'could-have', 'wont-have'] as const;
export type RoadmapMoscow = (typeof ROADMAP_MOSCOW)[number];
/** Nearest first. */
export const ROADMAP_HORIZONS = ['now', 'next', 'later'] as const;
export type RoadmapHorizon = (typeof ROADMAP_HORIZONS)[number];
export const ROADMAP_HEALTHS = ['on-track', 'at-risk', 'off-track', 'blocked'] as const;
export type RoadmapHealth = (typeof ROADMAP_HEALTHS)[number];
export const ROADMAP_STATUSES = ['not-started', 'in-progress', 'completed', 'on-hold'] as const;
/** Phases of the work on an item, in their order. */
export const ROADMAP_PHASES = [
  'not-started',
  'ideating',
  'specifying',
  'decomposing',
  'implementing',
  'testing',
  'committing',
  'releasing',
  'completed',
] as const;
export type RoadmapPhase = (typeof ROADMAP_PHASES)[number];

/** How far the work on an item has come. What is absent is not known. */
export interface RoadmapWorkflowState {
  readonly phase?: RoadmapPhase | undefined;
  readonly specSlug?: string | undefined;
  readonly tasksTotal?: number | undefined;
  readonly tasksCompleted?: number | undefined;
  /** ISO 8601 time. */
  readonly lastSession?: string | undefined;
  /** Of the current phase. */
  readonly attempts?: number | undefined;
  readonly blockers?: readonly string[] | undefined;
  readonly metrics?:
    | {
        readonly costUsd?: number | undefined;
        readonly inputTokens?: number | undefined;
        readonly outputTokens?: number | undefined;
      }
    | undefined;
}

export interface RoadmapBoardItem {
  readonly id: string;
  readonly title: string;
  /** At most 600 characters; one that is longer ends with `…`. Absent: the file has none. */
  readonly description?: string | undefined;
  readonly type: (typeof ROADMAP_ITEM_TYPES)[number];
  readonly moscow: RoadmapMoscow;
  readonly timeHorizon: RoadmapHorizon;
  readonly health: RoadmapHealth;
  readonly status: (typeof ROADMAP_STATUSES)[number];
  /** Ids of items that have to be completed before. */
  readonly dependencies: readonly string[];
  /** Absent: nobody has worked on it. */
  readonly workflowState?: RoadmapWorkflowState | undefined;
  /** Can a run be started for it now? A `wont-have` counts as named. False where it waits, is held or is completed. */
  readonly canStart: boolean;
}

/** An item with the reason of its place, in whole sentences. */
export interface RoadmapReason {
  readonly id: string;
  readonly title: string;
  readonly rationale: string;
}

/** The choice of the next item, as `autonomous roadmap next --json` gives it. */
export interface RoadmapChoice {
  /** `null`: none can be started. */
  readonly selected: RoadmapReason | null;
  /** Highest rank first, as are the lists below. */
  readonly inProgress: readonly RoadmapReason[];
  readonly eligible: readonly RoadmapReason[];
  /** Items that cannot be started, completed ones among them. */
  readonly others: readonly RoadmapReason[];
  /** Ids in order; the last item depends on the first. */
  readonly circles: readonly (readonly string[])[];
  readonly unknownDependencies: readonly { readonly item: string; readonly dependency: string }[];
  /** Items to start first because one that ranks higher, `unblocks`, waits for them. */
  readonly pullIns: readonly (RoadmapReason & { readonly unblocks: string })[];
}

export interface RoadmapFileFault {
  /** From 1; `null`: the message has the place, or the fault is of the whole file. */
  readonly line: number | null;
  /** Names the item, the field, the value and what is allowed. */
  readonly message: string;
}

export type RoadmapContent =
  /** The base branch does not have the file. */
  | { readonly kind: 'absent' }
  /** The file cannot be read as a roadmap: at most 50 faults. */
  | { readonly kind: 'faulty'; readonly faults: readonly RoadmapFileFault[]; readonly total: number }
  | {
      readonly kind: 'items';
      /** In the order of the file. */
      readonly items: readonly RoadmapBoardItem[];
      readonly choice: RoadmapChoice;
    };

/** A run that is not over and works on an item. */
export interface RoadmapRun {
  readonly item: string;
  readonly runId: string;
  readonly status: RunStatus;
}

export interface ProjectRoadmap {
  readonly projectId: string;
  /** Of the file in the repository. */
  readonly path: string;
  /** The project's base branch. */
  readonly branch: string;
  /** The commit that was read. */
  readonly commit: string;
  /** Why the remote could not be asked: the content is that of the last fetch. `null`: it was asked. */
  readonly notFetched: string | null;
  /** Name of the workflow that works on an item. The server may not have it. */
  readonly workflow: string;
  readonly content: RoadmapContent;
  /** The newest live run of each item. */
  readonly runs: readonly RoadmapRun[];
}
