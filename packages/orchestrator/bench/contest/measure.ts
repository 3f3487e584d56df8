/** Lets one process carry an order out. */
import path from 'node:path';
import { runChild } from './child.ts';
import type { Order, Report } from './orders.ts';

const PROGRAM = path.join(import.meta.dirname, 'contender-process.ts');

/**
 * One that makes runs wait is killed as soon as they do, with all that it started.
 * @param silenceS a process that reports nothing for so long is killed, too
 * @returns what it reported, in which failures are
 */
export async function measure(order: Order, silenceS: number): Promise<readonly Report[]> {
  const reports: Report[] = [];
  const failed = (message: string): Report => ({ part: 'failed', message: `${order.part}: ${message}` });
  const failure = await runChild<Report>(PROGRAM, order, {
    silenceS,
    onMessage: (report, kill) => {
      reports.push(report.part === 'failed' ? failed(report.message) : report);
      if (order.part === 'waiting' && reports.length === order.counts.length) kill();
    },
  });
  // What it said itself is better than how it ended.
  if (failure !== undefined && !reports.some(({ part }) => part === 'failed')) reports.push(failed(failure));
  return reports;
}
