/**
 * Runs as a process for one test file of XState: loads it, runs its tests without their assertions, and compares each machine
 * that they start. Arguments: checkout, SCXML framework or '', file, folder for databases, index of the first test, words.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createMachine } from 'xstate';
import { compared, type Operation, type Verdict } from './compare.ts';
import { type Build, converted } from './convert.ts';
import { type HarvestMessage, SCXML, unfinished } from './messages.ts';
import { installStandIns, type Recording } from './stand-ins.ts';

/** Limit of one test. Milliseconds. */
const TEST_MS = 60;
/** Limit of one comparison. Milliseconds. */
const CASE_MS = 30_000;
/** Machines that are compared per test, and operations per machine. */
const MOST_MACHINES = 3;
const MOST_OPERATIONS = 14;
/** Operations after those of the test: activities complete and time passes. */
const LAST: readonly Operation[] = [
  { kind: 'complete', output: 1 },
  { kind: 'advance', ms: 10 },
  { kind: 'complete', output: 2 },
  { kind: 'advance', ms: 1_000 },
  { kind: 'advance', ms: 5_000 },
];

// Tests may throw after their end.
process.on('uncaughtException', () => undefined);
process.on('unhandledRejection', () => undefined);
await harvest(process.argv.slice(2));
process.exit(0);

async function harvest(args: readonly string[]): Promise<void> {
  const [checkout = '', framework = '', file = '', folder = '', first = '0', words = ''] = args;
  const tell = (message: HarvestMessage): void => void process.send?.(message);
  const collected = installStandIns(checkout, framework === '' ? null : framework);
  for (const method of ['log', 'warn', 'error'] as const) console[method] = () => undefined;
  try {
    await import(pathToFileURL(path.join(checkout, 'packages/core/test', file)).href);
  } catch (error) {
    process.stderr.write(`cannot be loaded: ${messageOf(error)}`);
    process.exit(1);
  }
  const seen = new WeakSet<object>();
  for (const [index, { name, run }] of collected.tests.entries()) {
    if (index < Number(first) || !name.includes(words)) continue;
    const test = `${file} > ${name}`;
    tell({ kind: 'running', index, test });
    const recordings: Recording[] = [];
    collected.recordings = recordings;
    await withinTime(TEST_MS, async () => run()).catch(() => undefined);
    collected.recordings = [];
    for (const recording of recordings.slice(0, MOST_MACHINES)) {
      if (seen.has(recording.machine) && recording.operations.length === 0) continue;
      seen.add(recording.machine);
      tell({ kind: 'comparing', index, test });
      tell({ kind: 'compared', test, verdict: await verdictOf(recording, file === SCXML, folder) });
    }
  }
}

async function verdictOf(
  { machine, input, operations: recorded }: Recording,
  isScxml: boolean,
  folder: string,
): Promise<Verdict> {
  let build: Build;
  try {
    // XState checks a configuration when it creates the machine.
    createMachine(machine.config as never);
    build = converted(machine, isScxml);
  } catch (error) {
    return { kind: 'not comparable', why: messageOf(error) };
  }
  const operations = [...recorded.slice(0, MOST_OPERATIONS), ...LAST];
  const given = { build, operations, folder, ...(input === undefined ? {} : { input }) };
  try {
    const verdict = await withinTime(CASE_MS, () => compared(given));
    return verdict ?? unfinished(`the comparison took more than ${CASE_MS / 1_000} s`);
  } catch (error) {
    return unfinished(`the comparison failed: ${messageOf(error)}`);
  }
}

/** @returns `null` when `work` takes longer than `ms` milliseconds */
async function withinTime<Result>(ms: number, work: () => Promise<Result>): Promise<Result | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const limit = setTimeout(() => resolve(null), ms);
  try {
    return await Promise.race([work(), promise]);
  } finally {
    clearTimeout(limit);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
