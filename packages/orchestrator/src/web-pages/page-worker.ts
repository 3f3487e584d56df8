/** The worker thread in which pages of strangers are read. */
import { parentPort } from 'node:worker_threads';
import { serveReaderTasks } from '../foreign-text/foreign-text-port.ts';
import { PAGE_TASKS } from './page-tasks.ts';

serveReaderTasks(parentPort, PAGE_TASKS);
