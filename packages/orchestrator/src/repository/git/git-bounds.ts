/**
 * Binds git to the activity that it works for: a command that is under way when its activity is cancelled, or the server
 * stops, ends with it. The binding follows the calls by itself, so that no method of the repository has to pass a signal on.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const bounds = new AsyncLocalStorage<AbortSignal>();

/** Every git command that `work` asks for is ended when the signal is aborted. */
export function withinGitBounds<T>(signal: AbortSignal, work: () => T): T {
  return bounds.run(signal, work);
}

/** For work whose outcome others wait for as well: no single activity ends it. */
export function beyondGitBounds<T>(work: () => T): T {
  return bounds.exit(work);
}

export function gitBounds(): AbortSignal | undefined {
  return bounds.getStore();
}
