/** Measures one thing of one contender, in a process of its own: `contender-process.ts ORDER`, as `orders.ts` has it. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { endWithParent, report as send } from './child.ts';
import { type Contender, type OpenContender, workload } from './contender.ts';
import { drive, ids, settleMemory } from './load.ts';
import { type Order, readOrder, type Report } from './orders.ts';
import { bytesBelow, pssMb, rssMb } from './processes.ts';
import { lateStepMs, median, percentile } from './statistics.ts';

/** Until compilers have settled, as in a server that has been up for a while; the same for all. */
const WARM_UP = { runs: 3_000, seconds: 4, steps: 10 };
/** Runs that are created at the same time on the way to many waiting ones. */
const CREATED_AT_ONCE = 100;
/** Restate stands still for minutes after a restart when a thousand people approve in the same instant. */
const APPROVED_AT_ONCE = 100;
/** Short runs are measured several times, by their number of steps, unless that takes too long. */
const REPETITIONS: readonly (readonly [upToSteps: number, repetitions: number])[] = [
  [10, 60],
  [100, 10],
  [1_000, 3],
];
const REPEATING_S = 4;

type OrderOf<Part extends Order['part']> = Extract<Order, { part: Part }>;

endWithParent();
try {
  await carryOut(readOrder(process.argv[2]));
} catch (error) {
  await report({ part: 'failed', message: error instanceof Error ? error.message : String(error) });
  process.exit(1);
}

async function carryOut(order: Order): Promise<void> {
  const adapter = (await import(pathToFileURL(path.join(import.meta.dirname, order.adapter)).href)) as {
    readonly open: OpenContender;
  };
  const open = () =>
    adapter.open({ folder: order.folder, settings: order.settings, resumed: order.part === 'restart' });
  switch (order.part) {
    case 'throughput':
      await measureThroughput(await open(), order);
      break;
    case 'waiting':
      await measureWaiting(await open(), order);
      return; // It stays until it is killed.
    case 'restart':
      await measureRestart(open, order);
      break;
    case 'growth':
      await measureGrowth(await open(), order);
      break;
    default:
      order satisfies never;
  }
  process.exit();
}

async function measureThroughput(contender: Contender, order: OrderOf<'throughput'>): Promise<void> {
  const { bytesOnDisk = () => bytesBelow(order.folder) } = contender;
  const bytesBefore = await bytesOnDisk?.();
  const approvedAt = new Map<string, number>();
  const oneRun = async (id: string): Promise<void> => {
    await contender.start(id);
    approvedAt.set(id, performance.now());
    await contender.approve(id);
  };
  const warmUp = ids('warm-up', Math.min(WARM_UP.runs, order.runs));
  const warmedUp = await drive(warmUp, order.concurrency, WARM_UP.seconds, oneRun);
  const measured = ids('run', order.runs);
  const from = performance.now();
  const done = await drive(measured, order.concurrency, order.seconds, oneRun);
  const seconds = (performance.now() - from) / 1_000;
  const latencies = measured.flatMap((id) => {
    const approved = approvedAt.get(id);
    const implemented = workload.implementedAt.get(id);
    return approved === undefined || implemented === undefined ? [] : [implemented - approved];
  });
  // Where no checkpoint can be asked for, closing is one.
  if (contender.bytesOnDisk === undefined) await contender.close();
  const bytesAfter = await bytesOnDisk?.();
  await report({
    part: 'throughput',
    concurrency: order.concurrency,
    runsPerS: done / seconds,
    approveP50Ms: percentile(latencies, 50),
    approveP99Ms: percentile(latencies, 99),
    bytesPerRun:
      bytesBefore === undefined || bytesAfter === undefined ? null : (bytesAfter - bytesBefore) / (warmedUp + done),
  });
  if (contender.bytesOnDisk !== undefined) await contender.close();
}

async function measureWaiting(contender: Contender, order: OrderOf<'waiting'>): Promise<void> {
  let waiting = 0;
  for (const count of order.counts) {
    await drive(ids('waiting', count).slice(waiting), CREATED_AT_ONCE, Infinity, (id) => contender.start(id));
    waiting = count;
    await settleMemory();
    const processes = contender.processes?.() ?? [];
    await report({
      part: 'waiting',
      waiting,
      rssMb: rssMb(),
      enginePssMb: processes.length === 0 ? null : pssMb(processes),
    });
  }
}

async function measureRestart(open: () => Promise<Contender>, order: OrderOf<'restart'>): Promise<void> {
  const from = performance.now();
  const contender = await open();
  await drive(ids('waiting', order.runs), APPROVED_AT_ONCE, Infinity, (id) => contender.approve(id));
  await report({ part: 'restart', seconds: (performance.now() - from) / 1_000 });
  await contender.close();
}

async function measureGrowth(contender: Contender, order: OrderOf<'growth'>): Promise<void> {
  await drive(ids('warm-up', WARM_UP.runs), 1, WARM_UP.seconds, (id) => contender.grow(id, WARM_UP.steps));
  let last = { steps: 0, stepMs: 0 };
  for (const steps of order.steps) {
    // No engine's steps become cheaper, so that this much is certain beforehand.
    if ((steps - last.steps) * last.stepMs > order.seconds * 1_000) {
      await report({ part: 'failed', message: `${steps} steps would take longer than ${order.seconds} s` });
      break;
    }
    const repetitions = REPETITIONS.find(([upToSteps]) => steps <= upToSteps)?.[1] ?? 1;
    const samples: number[] = [];
    await drive(ids(`growth-${steps}`, repetitions), 1, REPEATING_S, async (id) => {
      workload.grownAt.length = 0;
      await contender.grow(id, steps);
      samples.push(lateStepMs(workload.grownAt) ?? Number.NaN);
    });
    last = { steps, stepMs: median(samples) ?? 0 };
    await report({ part: 'growth', ...last });
  }
  await contender.close();
}

function report(message: Report): Promise<void> {
  return send(message);
}
