/** The worker thread in which text of strangers is read: a task and its input in, what it gives out. */
import { parentPort } from 'node:worker_threads';
import { FOREIGN_TEXT_TASKS, type ForeignTextTasks } from './foreign-text-tasks.ts';

export interface ReaderRequest {
  readonly id: number;
  readonly task: keyof ForeignTextTasks;
  readonly input: readonly unknown[];
}

export type ReaderReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'read'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'threw'; readonly id: number; readonly message: string };

const port = parentPort;
if (port === null) throw new Error('foreign-text-worker is started as a worker thread by foreign-text.ts');

port.on('message', async ({ id, task, input }: ReaderRequest) => {
  try {
    // The caller's types bind the input to its task.
    const carryOut = FOREIGN_TEXT_TASKS[task] as (...input: readonly unknown[]) => unknown;
    send({ kind: 'read', id, value: await carryOut(...input) });
  } catch (error) {
    send({ kind: 'threw', id, message: error instanceof Error ? error.message : String(error) });
  }
});
send({ kind: 'ready' });

function send(reply: ReaderReply): void {
  port?.postMessage(reply);
}
