/** Replays the golden histories of full-auto, which has every shared part, in this thread, with the sources that a bug was planted in. */
import { parentPort, workerData } from 'node:worker_threads';
import { plantSource, type Replacement } from '../simulation/planted-source.ts';

plantSource(workerData as readonly Replacement[]);
// Only now: what is loaded before a bug is planted does not have it.
const { fullAuto } = await import('../src/workflows/full-auto/index.ts');
const { newestOf } = await import('../src/workflows/workflow.ts');
const { differencesOf } = await import('./history.ts');
const { readHistories } = await import('./store.ts');
const definition = newestOf(fullAuto);
parentPort?.postMessage(differencesOf(definition, readHistories(definition)));
