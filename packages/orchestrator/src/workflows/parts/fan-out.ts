/**
 * Many activities or child runs of one kind from one state, a bounded number of them at once. The machine keeps the fan-out in its
 * context, spawns what `startable` names and tells it of each end; all of it is pure, so that it replays.
 *
 *     entry: enqueueActions(({ context, enqueue }) => {
 *       for (const id of startable(context.phases))
 *         enqueue.spawnChild('phase', { id, input: { request: context.requests[id] } });
 *       enqueue.assign({ phases: started(context.phases, startable(context.phases)) });
 *     }),
 *     on: {
 *       'xstate.done.actor.*': { target: 'phases', reenter: true, actions: assign({ phases: ({ context, event }) =>
 *         succeeded(context.phases, event.actorId, event.output) }) },
 *       'xstate.error.actor.*': { … failed(context.phases, event.actorId, event.error) },
 *     },
 *     always: [{ guard: ({ context }) => verdictOf(context.phases) === 'succeeded', target: 'merging' }, …]
 *
 * Spawned actors outlive their state: on a verdict that comes early, stop those that `running` names with `stopChild`.
 */
import type { JsonValue } from '@autonomous/shared';

/**
 * When a fan-out has failed: with its first failure, never (all outcomes are collected), or as soon as fewer than so many can
 * succeed.
 */
export type FailurePolicy = 'fail-fast' | 'collect' | { readonly atLeast: number };

export type FanOutcome =
  | { readonly ok: true; readonly output: JsonValue }
  | { readonly ok: false; readonly error: JsonValue };

/** Plain JSON, for a machine's context. */
export interface FanOut {
  /** In the order in which they start; each is also the id of its actor. */
  readonly ids: readonly string[];
  /** How many run at once at most, from 1. */
  readonly atOnce: number;
  readonly policy: FailurePolicy;
  readonly running: readonly string[];
  /** By id. */
  readonly outcomes: Readonly<Record<string, FanOutcome>>;
}

export function fanOut(ids: readonly string[], atOnce: number, policy: FailurePolicy = 'fail-fast'): FanOut {
  return { ids, atOnce: Math.max(1, Math.floor(atOnce)), policy, running: [], outcomes: {} };
}

/** Ids that may start now; none once there is a verdict. */
export function startable(fan: FanOut): readonly string[] {
  if (verdictOf(fan) !== 'running') return [];
  const waiting = fan.ids.filter((id) => !fan.running.includes(id) && !Object.hasOwn(fan.outcomes, id));
  return waiting.slice(0, Math.max(0, fan.atOnce - fan.running.length));
}

export function started(fan: FanOut, ids: readonly string[]): FanOut {
  return { ...fan, running: [...fan.running, ...ids.filter((id) => !fan.running.includes(id))] };
}

/** After one has succeeded. An id that is not running changes nothing. */
export function succeeded(fan: FanOut, id: string, output: JsonValue): FanOut {
  return ended(fan, id, { ok: true, output });
}

/** After one has failed. An id that is not running changes nothing. */
export function failed(fan: FanOut, id: string, error: JsonValue): FanOut {
  return ended(fan, id, { ok: false, error });
}

function ended(fan: FanOut, id: string, outcome: FanOutcome): FanOut {
  if (!fan.running.includes(id)) return fan;
  const running = fan.running.filter((each) => each !== id);
  return { ...fan, running, outcomes: { ...fan.outcomes, [id]: outcome } };
}

/** `running` until all have ended, or until the policy decides earlier. */
export function verdictOf({ ids, policy, outcomes }: FanOut): 'running' | 'succeeded' | 'failed' {
  const all = ids.flatMap((id) => (Object.hasOwn(outcomes, id) ? [outcomes[id]] : []));
  const failures = all.filter((outcome) => outcome?.ok === false).length;
  const isOver = all.length === ids.length;
  if (policy === 'collect') return isOver ? 'succeeded' : 'running';
  const needed = policy === 'fail-fast' ? ids.length : policy.atLeast;
  if (ids.length - failures < needed) return 'failed';
  return isOver ? 'succeeded' : 'running';
}
