/** Makes one check of the store or of git in this thread, with the sources that a bug was planted in. */
import { parentPort, workerData } from 'node:worker_threads';
import { plantSource, type Replacement } from './planted-source.ts';
import type { GitCheck } from './git-checks.ts';
import type { StoreCheck } from './store-checks.ts';

const { check, source } = workerData as {
  readonly check: StoreCheck | GitCheck;
  readonly source: readonly Replacement[];
};
plantSource(source);
// Only now: what is loaded before a bug is planted does not have it.
const { STORE_CHECKS } = await import('./store-checks.ts');
const { GIT_CHECKS } = await import('./git-checks.ts');
parentPort?.postMessage(await { ...STORE_CHECKS, ...GIT_CHECKS }[check]());
