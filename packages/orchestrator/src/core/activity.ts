/** What an activity is to the engine: work that happens outside, at least once, and is recognised when it repeats. */
import {
  type JsonValue,
  PAUSE_REASONS,
  type PauseReason,
  type Progress,
  type RunView,
  type RunFamily,
  type TreeShare,
  type SpendingFact,
} from '@autonomous/shared';

/** When and how often an activity that failed is tried again, and how long an attempt may take. */
export interface RetryPolicy {
  /** Attempts in all, the first included. Those that a crash cut off do not count. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** By how much each delay is longer than the one before. Default 2. */
  readonly factor?: number;
  /** Which share of a delay is random, from 0 to 1. Default 0.5. */
  readonly jitter?: number;
  /** Failures of these reasons are final even where the activity holds them for retryable. */
  readonly final?: readonly PauseReason[];
  /** An attempt that takes longer is aborted and counts as failed. Default: no limit of the engine's own. */
  readonly timeoutMs?: number;
  /** An attempt that is silent for longer (see `ActivityContext.heartbeat`) is aborted and counts as failed. Default: it may be. */
  readonly heartbeatMs?: number;
}

/**
 * What is to be written of a call to a model.
 * @param run as it is at that moment
 * @param tree what all runs of its tree have spent, and what of it is no more than booked for calls of the others
 * @returns `later`: to be asked again when something of the tree has moved
 */
export type SpendingWriter = (
  run: RunView,
  tree: RunFamily & { readonly underWay: TreeShare },
) => SpendingFact | 'later';

export interface ActivityContext {
  /** `<run>/<sequence of the input that started it>/<id>`: the same over all attempts and restarts. */
  readonly key: string;
  readonly runId: string;
  /** XState id of the activity. */
  readonly activity: string;
  /** From 1. */
  readonly attempt: number;
  /** Time of the event that started it: the same over all attempts. ISO 8601. */
  readonly startedAt: string;
  /** Aborted when the run left the state, was cancelled, the attempt took too long, or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Says that the attempt is alive, and how far it came.
   * @param details kept for the next attempt, after a crash too; the newest win
   */
  readonly heartbeat: (details?: JsonValue) => void;
  /** What an earlier attempt last said by `heartbeat`; `null` when nothing. */
  readonly lastHeartbeat: JsonValue;
  /**
   * Writes what a call to a model is going to cost, or has cost, into the run's log at once.
   * @param write gives the fact, told of the run as it is at that moment, all earlier facts included; what it throws is
   *   thrown, and nothing is written
   * @returns when it is on disk
   * @throws {Conflict} when the activity is no longer open (a booking) or the run has ended
   */
  readonly spend: (write: SpendingWriter) => Promise<void>;
  readonly progress: (progress: Pick<Progress, 'kind' | 'text' | 'role' | 'model' | 'scripted' | 'data'>) => void;
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
   * Does the outside already have this effect? Asked before each `perform`.
   * @returns the outcome that `perform` would have given; `undefined` when it has to be performed
   */
  readonly find?: (input: Input, context: ActivityContext) => Promise<Output | undefined>;
  /**
   * @throws {RetryableFailure | NeedsHuman | TerminalFailure} anything else is tried again as the policy says, and reported
   *   with its class, code and causes
   */
  readonly perform: (input: Input, context: ActivityContext) => Promise<Output>;
}

/** Activities by the name that a machine's `src` gives. */
export type ActivityRegistry = Readonly<Record<string, Activity<never, JsonValue>>>;

/**
 * Finds the activity that a machine's `src` names.
 * @param workflow name of the run's workflow: two workflows may have activities of the same name
 */
export type ActivityLookup = (workflow: string, name: string) => Activity<never, JsonValue> | undefined;

/** A lookup in one registry, whatever the workflow. */
export function lookupIn(activities: ActivityRegistry): ActivityLookup {
  return (_workflow, name) => (Object.hasOwn(activities, name) ? activities[name] : undefined);
}

/** For calls of agents, which try each step of theirs three times by themselves. */
export const ONE_TRY: RetryPolicy = { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 };

/** Three tries with exponential back-off: what git and a remote get. */
export const THREE_TRIES: RetryPolicy = { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 30_000 };

/**
 * For agents and install steps: what fails in them they have tried themselves. A sandbox that was lost is the fault of neither,
 * and the work begins anew from the last commit.
 */
export const ONE_TRY_A_SANDBOX: RetryPolicy = {
  ...THREE_TRIES,
  final: PAUSE_REASONS.filter((reason) => reason !== 'sandbox_unavailable'),
};
