/** The worker's side of `foreign-text-reader.ts`: a task and its input in, what it gives out. */
import type { MessagePort } from 'node:worker_threads';
import { NeedsHuman } from '@autonomous/shared';
import type { ReaderReply, ReaderRequest, ReaderTasks } from './foreign-text-reader.ts';

/**
 * Carries out tasks for as long as the worker lives. Called once, in a file that is started as a worker thread.
 * @param port the worker's `parentPort`
 */
export function serveReaderTasks(port: MessagePort | null, tasks: ReaderTasks): void {
  if (port === null) throw new Error('Tasks of a reader are carried out in a worker thread that a reader started.');
  const send = (reply: ReaderReply): void => port.postMessage(reply);
  port.on('message', async ({ id, task, input }: ReaderRequest) => {
    try {
      // The caller's types bind the input to its task.
      const carryOut = tasks[task] as (...input: readonly unknown[]) => unknown;
      send({ kind: 'read', id, value: await carryOut(...input) });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      send({ kind: 'threw', id, message, ...(error instanceof NeedsHuman ? { reason: error.reason } : {}) });
    }
  });
  send({ kind: 'ready' });
}
