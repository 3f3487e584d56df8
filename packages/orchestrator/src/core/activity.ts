/** Activity: work that happens outside the machine, is performed at least once, and recognises its own repetition. */
import {
  type BoundedSpending,
  type JsonValue,
  PAUSE_REASONS,
  type PauseReason,
  type Progress,
  type RunView,
  type RunFamily,
  type TreeShare,
  type SpendingFact,
} from '@autonomous/shared';

/** Retry policy of an activity: number of attempts, delays between them, and time limits of an attempt. */
export interface RetryPolicy {
  /** Total number of attempts, including the first. Attempts that a crash cut off do not count. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** Factor by which each delay is longer than the previous one. Default 2. */
  readonly factor?: number;
  /** Random share of a delay, from 0 to 1. Default 0.5. */
  readonly jitter?: number;
  /** Failures with these reasons are final, even if the activity throws them as retryable. Default: none. */
  readonly final?: readonly PauseReason[];
  /** Time limit of an attempt: a longer one is aborted and counts as failed. Default: the engine sets no limit. */
  readonly timeoutMs?: number;
  /** Longest time without `ActivityContext.heartbeat`: then the attempt is aborted and counts as failed. Default: no limit. */
  readonly heartbeatMs?: number;
}

/** The part of sums that is only reserved for calls of other runs, at the most that they can come to. */
interface UnderWay {
  readonly underWay: TreeShare;
}

/** Spending that a run looks at before it spends. */
export interface FamilyNow extends RunFamily, UnderWay {
  /** The run and the runs above it that have budgets, the nearest first, each with all child runs below it. */
  readonly bounds: readonly (BoundedSpending & UnderWay)[];
}

/**
 * Computes the spending fact of a model call.
 * @param run its current view
 * @param family spending of all runs of its family, and of the runs whose budgets limit it
 * @returns the fact to write, `later` to be called again when spending of the family has changed, or `null` to write nothing
 */
export type SpendingWriter = (run: RunView, family: FamilyNow) => SpendingFact | 'later' | null;

export interface ActivityContext {
  /** `<run>/<sequence of the input that started it>/<id>`: the same in all attempts and after restarts. */
  readonly key: string;
  readonly runId: string;
  /** XState id of the activity. */
  readonly activity: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Time of the event that started the activity: the same in all attempts. ISO 8601. */
  readonly startedAt: string;
  /** Aborted when the run leaves the state or is cancelled, the attempt exceeds its time limit, or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Reports that the attempt is alive, and its progress.
   * @param details stored for the next attempt, also after a crash; the newest replaces older ones
   * @returns whether they are stored. An effect that must not be repeated waits for it; others need not. Never rejects
   */
  readonly heartbeat: (details?: JsonValue) => Promise<boolean>;
  /** Details of the last `heartbeat` of an earlier attempt; `null` if there were none. */
  readonly lastHeartbeat: JsonValue;
  /**
   * Writes a reservation or settlement of a model call to the run's log at once.
   * @param write computes the fact from the run's current view, which includes all earlier facts. Its errors are rethrown,
   *   and nothing is written then
   * @returns when the fact is on disk, or when there is none to write
   * @throws {Conflict} when the activity is no longer open (reservations only) or the run has ended
   */
  readonly spend: (write: SpendingWriter) => Promise<void>;
  /** A `pulse` names the step that begins, or how far the step with this name is (`bytes`, `files`); it is passed on every two seconds. */
  readonly progress: (
    progress: Pick<Progress, 'kind' | 'text' | 'role' | 'model' | 'scripted' | 'data' | 'bytes' | 'files'>,
  ) => void;
}

export interface Activity<Input = never, Output = JsonValue> {
  readonly retry: RetryPolicy;
  /**
   * How long activities that begin after it wait for it to end once its signal is aborted, in milliseconds. For work that
   * shares a folder with its successor. Default 1000; after 30,000 the engine waits no longer for any activity.
   */
  readonly graceMs?: number;
  /**
   * Only waits for something that goes on by itself. Its attempts are not booked, so that no crash of the server counts against
   * its run. Default: it works.
   */
  readonly onlyWaits?: true;
  /**
   * Checks whether the effect already exists outside. Called before each `perform`.
   * @returns the outcome that `perform` would have returned; `undefined` if the effect does not exist yet
   */
  readonly find?: (input: Input, context: ActivityContext) => Promise<Output | undefined>;
  /**
   * Makes the effect and returns its outcome.
   * @throws {RetryableFailure | NeedsHuman | TerminalFailure} any other error is retried by the policy, and reported with its
   *   class, code and causes
   */
  readonly perform: (input: Input, context: ActivityContext) => Promise<Output>;
}

/** Activities by name, as a machine's `src` refers to them. */
export type ActivityRegistry = Readonly<Record<string, Activity<never, JsonValue>>>;

/**
 * Finds the activity that a machine's `src` names.
 * @param workflow name of the run's workflow: two workflows may have activities of the same name
 */
export type ActivityLookup = (workflow: string, name: string) => Activity<never, JsonValue> | undefined;

/** Makes a lookup that uses one registry for all workflows. */
export function lookupIn(activities: ActivityRegistry): ActivityLookup {
  return (_workflow, name) => (Object.hasOwn(activities, name) ? activities[name] : undefined);
}

/** Policy without retries: for agent calls, which retry each of their steps by themselves. */
export const ONE_TRY: RetryPolicy = { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 };

/** Policy of three attempts with exponential back-off: for git and remotes. */
export const THREE_TRIES: RetryPolicy = { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 30_000 };

/**
 * The same for a forge: its adapter waits for short limits by itself, and a longer one pauses the run, which holds no run slot
 * then.
 */
export const FORGE_TRIES: RetryPolicy = { ...THREE_TRIES, final: ['rate_limited'] };

/**
 * Policy for agents and install steps: only a lost sandbox is retried, from the last commit. They retry other failures
 * by themselves.
 */
export const ONE_TRY_A_SANDBOX: RetryPolicy = {
  ...THREE_TRIES,
  final: PAUSE_REASONS.filter((reason) => reason !== 'sandbox_unavailable'),
};
