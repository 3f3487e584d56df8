/**
 * `npm run crash-sweep`: ends real servers at every boundary of every scenario and while they take up what the last one
 * left, and compares what came of it with runs that were left in peace.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { InvalidRequest } from '@autonomous/shared';
import { dayOf, DAYS, shareOfDay } from '../../../tools/day-share.ts';
import { createBubblewrapProvider } from '../src/sandboxes/bubblewrap/bubblewrap.ts';
import { reportOn } from './report.ts';
import type { Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';
import { listBoundaries, sweep } from './sweep.ts';

const USAGE = `Usage: npm run crash-sweep [-- OPTION ...]
  --points N          points to play (default 520; "all": every boundary of every scenario)
  --day DATE          a seventh of the scenarios with a seventh of the points: all scenarios on seven days in a row
  --seed S            what the draw of points begins with (default: today's date)
  --scenario NAME     only this scenario; may be given several times
  --only ID           only this point, such as plain:merge.push.after; may be given several times
  --list              prints the boundaries of the scenarios and plays none
  --workers N         points at the same time (default: two more than there are cores, as a point mostly waits)
  --minutes N         no point is begun later than this (default 45)`;

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!isUsageFault(error)) throw error;
  process.stderr.write(`${error.message}\n${USAGE}\n`);
  process.exitCode = 64;
}

async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      points: { type: 'string', default: '520' },
      day: { type: 'string' },
      seed: { type: 'string' },
      scenario: { type: 'string', multiple: true, default: SCENARIOS.map(({ name }) => name) },
      only: { type: 'string', multiple: true },
      workers: { type: 'string', default: String(availableParallelism() + 2) },
      minutes: { type: 'string', default: '45' },
      list: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    say(USAGE);
    return 0;
  }
  const share = values.day === undefined ? undefined : dayOf(values.day);
  const seed = values.seed ?? (share ? `week ${share.week}` : new Date().toISOString().slice(0, 10));
  const all = await playable(values.scenario);
  // Each scenario is first played undisturbed, twice: a day plays few of them often and not all of them once.
  const ofDay = values.day === undefined ? null : shareOfDay(values.scenario, values.day);
  const scenarios = all.filter(({ name }) => ofDay?.includes(name) ?? true);
  if (values.list) {
    for (const scenario of scenarios)
      for (const boundary of await listBoundaries(scenario)) say(`${scenario.name}:${boundary}`);
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  say(
    `crash-sweep: seed ${seed}${share ? `, share ${share.day + 1} of ${DAYS}` : ''}, scenarios ${scenarios.map(({ name }) => name).join(', ')}`,
  );
  const result = await sweep({
    scenarios,
    points: values.points === 'all' ? 'all' : Math.ceil(whole(values.points) / (share ? DAYS : 1)),
    ...(values.only ? { only: values.only } : {}),
    seed,
    workers: whole(values.workers),
    minutes: whole(values.minutes),
    say,
    signal: interrupted.signal,
  });
  const { lines, ok } = reportOn(result);
  for (const line of lines) say(line);
  return ok ? 0 : 1;
}

/** Those of these names that this machine can play. */
async function playable(names: readonly string[]): Promise<readonly Scenario[]> {
  const unknown = names.filter((name) => SCENARIOS.every((scenario) => scenario.name !== name));
  if (unknown.length > 0) throw new InvalidRequest(`There is no scenario '${unknown.join("', '")}'.`);
  const wanted = SCENARIOS.filter(({ name }) => names.includes(name));
  const sandbox = await createBubblewrapProvider().availability();
  if (sandbox.ok) return wanted;
  say(`Scenarios in a sandbox are left out: ${sandbox.reason}. ${sandbox.remedy}`);
  return wanted.filter(({ sandboxed }) => sandboxed !== true);
}

function whole(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidRequest(`'${text}' is no whole number.`);
  return Number(text);
}

function isUsageFault(error: unknown): error is Error {
  if (error instanceof InvalidRequest) return true;
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
