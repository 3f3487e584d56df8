/** The engine as a library: durable statecharts over a store, without a server. */
import { InvalidRequest } from '@autonomous/shared';
import { type Logger, pino } from 'pino';
import type { EventStore } from '../event-store/event-store.ts';
import { type ActivityRegistry, lookupIn, type RetryPolicy } from '../core/activity.ts';
import { isWorkflow, sourcesOf, type WorkflowDefinition } from '../core/definition.ts';
import { createRegistry } from '../core/registry.ts';
import { type Clock, systemClock } from './clock.ts';
import { Engine } from './engine.ts';

export interface EngineSetup {
  /** Where everything is kept, such as `openSqliteEventStore({ file })`. The caller closes it after `stop`. */
  readonly store: EventStore;
  /** All versions of all workflows that runs of this store may be bound to. */
  readonly definitions: readonly WorkflowDefinition[];
  /** Activities by the names that the machines' `setup({ actors })` gives them. */
  readonly activities: ActivityRegistry;
  /** Default: warnings and errors as JSON lines on stderr. */
  readonly log?: Logger;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Runs of one user that may have an activity open at the same time; others wait in a queue. Child runs are no activities here. Default: no limit. */
  readonly maxConcurrentRunsPerUser?: number;
  /**
   * Activities of one run that are performed at the same time, from 1, where neither the run nor its workflow says
   * otherwise. One that waits for its back-off does not count. Default 4.
   */
  readonly maxConcurrency?: number;
  /** From 0 to 1: spreads retries. Default: `Math.random`. */
  readonly random?: () => number;
  /** Applied to every payload before it is stored: takes known secrets out. Default: leaves it. */
  readonly scrub?: <Value>(value: Value) => Value;
}

/**
 * An engine that has not been started yet: subscribe, then `start` takes up what an earlier process left.
 * @throws {InvalidRequest} naming each activity that a machine invokes and nobody carries out
 */
export function createEngine({
  store,
  definitions,
  activities,
  log = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true })),
  clock = systemClock,
  maxConcurrentRunsPerUser = Infinity,
  maxConcurrency,
  random = Math.random,
  scrub = (value) => value,
}: EngineSetup): Engine {
  for (const { name, version } of definitions.filter((definition) => !isWorkflow(definition as unknown))) {
    throw new InvalidRequest(
      `Workflow '${name}' version ${version} was not made by defineWorkflow, which finds what cannot be made durable: pass it through defineWorkflow, a copy with changes too.`,
    );
  }
  for (const [name, { retry, perform }] of Object.entries(activities)) {
    if (typeof perform === 'function' && isRetryPolicy(retry)) continue;
    throw new InvalidRequest(
      `Activity '${name}' needs \`perform\` and a \`retry\` policy with attempts, firstDelayMs and maxDelayMs, such as ONE_TRY.`,
    );
  }
  if (maxConcurrency !== undefined && !(Number.isSafeInteger(maxConcurrency) && maxConcurrency > 0))
    throw new InvalidRequest(`maxConcurrency is ${maxConcurrency}; give a whole number from 1.`);
  const missing = definitions.flatMap((definition) =>
    sourcesOf(definition)
      .filter((src) => activities[src] === undefined)
      .map((src) => `'${src}' of workflow '${definition.name}'`),
  );
  if (missing.length > 0) {
    throw new InvalidRequest(
      `No activity is given for ${missing.join(', ')}: add it to \`activities\` under this name.`,
    );
  }
  const workflows = createRegistry(definitions);
  return new Engine({
    store,
    workflows,
    findActivity: lookupIn(activities),
    log,
    clock,
    maxConcurrentRunsPerUser,
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    random,
    scrub,
  });
}

function isRetryPolicy(policy: RetryPolicy | undefined): boolean {
  const { attempts = 0, firstDelayMs = -1, maxDelayMs = -1, factor = 1, jitter = 0 } = policy ?? {};
  return (
    Number.isInteger(attempts) &&
    attempts >= 1 &&
    [firstDelayMs, maxDelayMs, factor, jitter].every((value) => Number.isFinite(value) && value >= 0)
  );
}
