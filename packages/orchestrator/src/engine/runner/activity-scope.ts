/** Says on whose behalf code runs: the activity is known to everything that its implementation calls, however far away. */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface ActivityScope {
  readonly runId: string;
  readonly activity: string;
  readonly key: string;
}

const scopes = new AsyncLocalStorage<ActivityScope>();

export function withinActivity<T>(scope: ActivityScope, work: () => T): T {
  return scopes.run(scope, work);
}

/** The property of `process` by which the watchdog's thread asks a blocked one for its activity. */
export const CURRENT_ACTIVITY = 'autonomous.activity';

/** Lets a debugger ask for the activity of the code that it has stopped. */
export function exposeActivity(): void {
  Object.defineProperty(process, Symbol.for(CURRENT_ACTIVITY), {
    configurable: true,
    value: () => scopes.getStore() ?? null,
  });
}
