/** Tasks of the worker that reads pages. Each takes and gives plain data. */
import { readHtmlPage } from './html-text.ts';
import { readPdf } from './pdf-text.ts';
import { robotsAllow } from './robots-rules.ts';

export const PAGE_TASKS = { readHtmlPage, readPdf, robotsAllow };
export type PageTasks = typeof PAGE_TASKS;
