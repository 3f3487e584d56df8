/** One thread of the simulation: runs the chunks of schedules that it is given until it is given none. */
import { parentPort, workerData } from 'node:worker_threads';
import { plantSource } from './planted-source.ts';
import { plantedBugs } from './planted-bugs.ts';
import type { ChunkOrder, ChunkResult } from './simulate.ts';

const { bug: bugName } = workerData as { readonly bug: string | null };
const bug = plantedBugs.find(({ name }) => name === bugName);
if (bugName !== null && bug === undefined) throw new Error(`There is no planted bug '${bugName}'.`);
if (bug?.source) plantSource(bug.source);
// Only now: what is loaded before a bug is planted does not have it.
const { runChunk } = await import('./chunk.ts');

parentPort?.on('message', (order: ChunkOrder | null) => {
  if (order === null) parentPort?.close();
  else
    void runChunk(order, bug?.plants).then((result: ChunkResult) => {
      parentPort?.postMessage(result);
    });
});
