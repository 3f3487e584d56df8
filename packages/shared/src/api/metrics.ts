/** Metrics of runs over a period: how many completed, how long they took and waited, and what they cost. */
import type { PauseReason, Stage } from '../run.ts';

export const METRICS_BUCKETS = ['day', 'week'] as const;
export type MetricsBucket = (typeof METRICS_BUCKETS)[number];

/** The longest range that is asked for at once, in days. */
export const MAX_METRICS_DAYS = 400;

export interface MetricsQuery {
  /** Absent: runs of all projects, and of none. */
  readonly projectId?: string | undefined;
  /** Name of a workflow. Absent: runs of all workflows. */
  readonly workflow?: string | undefined;
  /** First day, `YYYY-MM-DD` in the time zone. Absent: so that there are 30 days. */
  readonly from?: string | undefined;
  /** Last day, itself included. Absent: today. */
  readonly to?: string | undefined;
  /** Weeks begin on Monday; those at the ends of the range may be shorter. Default `day`. */
  readonly bucket?: MetricsBucket | undefined;
  /** By whose clock a day begins, such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string | undefined;
}

/** Of durations in milliseconds: the middle one, and the one that nine of ten do not exceed (nearest rank). */
export interface DurationFigures {
  readonly count: number;
  readonly medianMs: number;
  readonly p90Ms: number;
  readonly totalMs: number;
}

/** Cost and tokens of model calls. */
export interface SpendingFigures {
  /** US dollars, by list prices; calls of models without a known price count as nothing. */
  readonly costUsd: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly calls: number;
  /** Of the calls: those whose price is not known. */
  readonly unpricedCalls: number;
}

export interface StageSpending extends SpendingFigures {
  readonly stage: Stage | null;
}

export interface ModelSpending extends SpendingFigures {
  /** `provider:model` */
  readonly model: string;
}

/** Waiting times at gates of one kind, from opening to closing, whatever closed them. */
export interface GateWaiting extends DurationFigures {
  readonly gate: string;
  /** Why it paused, for gate `pause`. */
  readonly reason?: PauseReason;
}

/** Child runs, attempts of their parents among them. An attempt that came to nothing is in `failed`. */
export interface ChildRunFigures {
  readonly started: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** Figures for one interval. Events that a fork inherited count only for its source. */
export interface MetricsFigures {
  /** Runs that were created, without child runs. The same holds for the next six. */
  readonly started: number;
  /** Runs that ended, by how. */
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Cancelled too, but variants of an exploration of which another one went on: neither a success nor a failure. */
  readonly closed: number;
  /** `completed` of `completed`, `failed` and `cancelled`; `null` when none of them ended. */
  readonly successRate: number | null;
  /** From the launch to the end, waiting included, of the runs that completed; `null` when none did. */
  readonly timeToCompletion: DurationFigures | null;
  /** Total spending per ended run and of all runs below it, over their whole lives; `null` when none ended. */
  readonly costPerRun: { readonly runs: number; readonly meanUsd: number; readonly medianUsd: number } | null;
  readonly childRuns: ChildRunFigures;
  /** Spending in this interval, of ended and open runs, child runs among them. */
  readonly spending: SpendingFigures;
  /** The same, the dearest first. */
  readonly stages: readonly StageSpending[];
  readonly models: readonly ModelSpending[];
  /** By gate, the longest in all first; each counts when it closed. */
  readonly waiting: readonly GateWaiting[];
}

export interface MetricsPart extends MetricsFigures {
  /** First and last day of it. */
  readonly from: string;
  readonly to: string;
}

/** Figures of the runs of one workflow, over the whole range. */
export interface WorkflowFigures extends MetricsFigures {
  /** Name of the workflow; `GET /api/workflows` has its title. */
  readonly workflow: string;
}

export interface Metrics {
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
  readonly bucket: MetricsBucket;
  readonly total: MetricsFigures;
  /** The whole range, oldest first, also where nothing happened. */
  readonly parts: readonly MetricsPart[];
  /** By workflow, that with the most runs started first; without workflows of which nothing happened in the range. */
  readonly workflows: readonly WorkflowFigures[];
  /** As it is now, whatever the range. */
  readonly now: {
    readonly openRuns: number;
    /** Runs that stand at a gate, by gate; since when the longest of them does. */
    readonly waiting: readonly {
      readonly gate: string;
      readonly reason?: PauseReason;
      readonly runs: number;
      readonly since: string;
    }[];
  };
}
