/** What an activity is to the engine: work that happens outside, at least once, and is recognised when it repeats. */
import type { JsonValue, Progress } from '@autonomous/shared';

export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

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
  /** Aborted when the run left the state, was cancelled, or the server stops. */
  readonly signal: AbortSignal;
  readonly progress: (progress: Pick<Progress, 'kind' | 'text' | 'role' | 'model' | 'scripted' | 'data'>) => void;
}

export interface Activity<Input = never, Output = JsonValue> {
  readonly retry: RetryPolicy;
  /**
   * Does the outside already have this effect? Asked before each `perform`.
   * @returns the outcome that `perform` would have given; `undefined` when it has to be performed
   */
  readonly find?: (input: Input, context: ActivityContext) => Promise<Output | undefined>;
  /** @throws {RetryableFailure | NeedsHuman | TerminalFailure} anything else is a bug and pauses the run */
  readonly perform: (input: Input, context: ActivityContext) => Promise<Output>;
}

/** Activities by the name that a machine's `src` gives. */
export type ActivityRegistry = Readonly<Record<string, Activity<never, JsonValue>>>;

/** For calls of agents, which try each step of theirs three times by themselves. */
export const ONE_TRY: RetryPolicy = { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 };

/** Three tries with exponential back-off: what git and a remote get. */
export const THREE_TRIES: RetryPolicy = { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 30_000 };
