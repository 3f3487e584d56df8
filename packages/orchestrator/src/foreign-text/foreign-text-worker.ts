/** The worker thread in which text of strangers is read. */
import { parentPort } from 'node:worker_threads';
import { serveReaderTasks } from './foreign-text-port.ts';
import { FOREIGN_TEXT_TASKS } from './foreign-text-tasks.ts';

serveReaderTasks(parentPort, FOREIGN_TEXT_TASKS);
