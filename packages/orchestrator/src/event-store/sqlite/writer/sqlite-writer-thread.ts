/**
 * The thread of the writer: batches come in, outcomes go out. What arrives while a batch is being written goes into the
 * next one together.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { configure, connect } from '../sqlite-connection.ts';
import { SqliteWriter } from './sqlite-writer.ts';
import type { Write, WriterOptions, WriterReply, WriterRequest } from './writes.ts';

/** Bounds how long a write waits for the others of its commit. */
const MAX_WRITES_PER_COMMIT = 512;

export interface WriterThreadData extends WriterOptions {
  readonly file: string;
  readonly maxBytes: number | undefined;
}

if (parentPort === null) throw new Error('this file is started as a worker thread by the event store');
serve(parentPort, workerData as WriterThreadData); // Given by the one who starts it, in writer-queue.ts.

function serve(port: MessagePort, { file, maxBytes, ...options }: WriterThreadData): void {
  const connection = connect(file);
  configure(connection, maxBytes);
  const writer = new SqliteWriter(connection, options);
  const answer = (reply: WriterReply) => port.postMessage(reply);

  port.on('message', (first: WriterRequest) => {
    let request: WriterRequest | undefined = first;
    while (request !== undefined) {
      if (request.kind === 'close') {
        connection.close();
        answer({ kind: 'closed' });
        port.close();
        return;
      }
      let writes: readonly Write[] = request.writes;
      request = nextRequest(port);
      if (request?.kind === 'write') {
        const gathered = [...writes];
        while (request?.kind === 'write' && gathered.length < MAX_WRITES_PER_COMMIT) {
          gathered.push(...request.writes);
          request = nextRequest(port);
        }
        writes = gathered;
      }
      answer({ kind: 'written', outcomes: writer.write(writes), statistics: writer.statistics() });
    }
  });
}

function nextRequest(port: MessagePort): WriterRequest | undefined {
  // Nothing but requests comes over this port.
  return receiveMessageOnPort(port)?.message as WriterRequest | undefined;
}
