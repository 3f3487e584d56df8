/** The command `simulate`: seeded schedules of the engine with faults, and the replay of one. */
import { parseArgs } from 'node:util';
import { plantedBugs } from './planted-bugs.ts';
import { plantSource } from './planted-source.ts';
import type { ScheduleResult } from './schedule.ts';
import { type Simulation, simulate } from './simulate.ts';
import { INVARIANTS } from './invariants.ts';

const USAGE = `Usage: simulate [--schedules N] [--seed S] [--threads N] [--trace] [--bug NAME]
  --schedules  how many (default 1000); the seed of each is one more than that of the one before
  --seed       of the first (default: a random one, which is printed)
  --threads    default: one for each core
  --trace      shows all that happens, on one thread
  --bug        plants a bug: ${plantedBugs.map(({ name }) => name).join(', ')}`;

process.exitCode = await main();

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
    return 64;
  }
  const { traces, bug, ...wanted } = options;
  if (traces) return trace(wanted.seed, wanted.schedules, bug);
  say(`seed ${wanted.seed}`);
  const simulation = await simulate({ ...wanted, ...(bug === undefined ? {} : { bug }) });
  for (const result of simulation.violations.slice(0, 20)) show(result, bug);
  summarise(simulation);
  return simulation.violations.length === 0 ? 0 : 1;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      schedules: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      threads: { type: 'string' },
      trace: { type: 'boolean', default: false },
      bug: { type: 'string' },
    },
  });
  const { threads, bug } = values;
  if (bug !== undefined && !plantedBugs.some(({ name }) => name === bug)) throw new Error(`There is no bug '${bug}'.`);
  return {
    schedules: positive('schedules', values.schedules),
    seed: positive('seed', values.seed),
    traces: values.trace,
    ...(threads === undefined ? {} : { threads: positive('threads', threads) }),
    ...(bug === undefined ? {} : { bug }),
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} is '${text}'; it takes a whole number from 1.`);
}

async function trace(seed: number, schedules: number, bugName: string | undefined): Promise<number> {
  const bug = plantedBugs.find(({ name }) => name === bugName);
  if (bug?.source) plantSource(bug.source);
  // Only now: what is loaded before a bug is planted does not have it.
  const { traceSchedule } = await import('./chunk.ts');
  let violations = 0;
  for (let index = 0; index < schedules; index += 1) {
    const result = await traceSchedule(seed + index, bug?.plants);
    for (const line of result.trace) say(line);
    if (result.violation === null) continue;
    violations += 1;
    show(result, bugName);
  }
  return violations === 0 ? 0 : 1;
}

function show({ seed, violation }: ScheduleResult, bug: string | undefined): void {
  if (violation === null) return;
  say(`\nseed ${seed}: ${INVARIANTS[violation.invariant]}`);
  say(`  ${violation.invariant}: ${violation.message}`);
  say(`  npm run simulate -- --schedules 1 --seed ${seed} --trace${bug === undefined ? '' : ` --bug ${bug}`}`);
}

/** The last line has all figures. */
function summarise({ schedules, crashes, events, faults, violations, seconds }: Simulation): void {
  const fired = Object.entries(faults).map(([fault, count]) => `${fault} ${count}`);
  say('');
  for (const line of fired) say(`  ${line}`);
  const total = Object.values(faults).reduce((sum, count) => sum + count, 0);
  say(
    `${schedules} schedules, ${events} events, ${crashes} crashes, ${total} faults (${fired.join('; ')}), ${violations.length} violations, ${seconds.toFixed(1)} seconds`,
  );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
