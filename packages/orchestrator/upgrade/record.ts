/**
 * `npm run upgrade:record`: plays the scenarios of the crash sweep, kills a server at each state that no earlier one was killed in,
 * and keeps what it leaves under today's date. The oldest days beyond three are removed.
 */
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LedgerLine } from '../crash/ledger.ts';
import { makePlace, makeRemote } from '../crash/place.ts';
import { play } from '../crash/play.ts';
import type { Scenario } from '../crash/scenario.ts';
import { FILES, SCENARIOS } from '../crash/scenarios.ts';
import { keep, type KeptWorld, listKeptWorlds, openFolder, removeDay } from './kept-worlds.ts';

const DAYS_KEPT = 3;

const date = new Date().toISOString().slice(0, 10);
const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-upgrade-record-'));
try {
  await removeDay(date);
  const known = new Set<string>();
  for (const scenario of SCENARIOS.filter(isWithoutOthers)) await recordScenario(scenario, known);
  const days = [...new Set((await listKeptWorlds()).map((world) => world.date))];
  for (const day of days.slice(0, -DAYS_KEPT)) await removeDay(day);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** A forge and a web keep their own state, which no archive has. */
function isWithoutOthers({ forge, web }: Scenario): boolean {
  return forge === undefined && web === undefined;
}

async function recordScenario(scenario: Scenario, known: Set<string>): Promise<void> {
  const template = path.join(folder, `${scenario.name}.git`);
  const compileCache = path.join(folder, 'compiled');
  await mkdir(compileCache, { recursive: true });
  await makeRemote(template, { ...FILES, ...scenario.files });
  const common = { scenario, compileCache };
  const ledger = await play(
    { ...common, kills: [], makePlace: () => makePlace(template) },
    async ({ lives }) => lives[0]?.ledger ?? [],
  );
  let number = 0;
  for (const { state, kill } of placesToKill(scenario, ledger)) {
    if (known.has(state)) continue;
    known.add(state);
    number += 1;
    const world: KeptWorld = { date, scenario: scenario.name, number };
    const place = await openFolder(world);
    await cp(template, place.remote, { recursive: true });
    const move = { name: 'keep', about: '', after: /^/, make: () => keep(world, place) };
    // It is played to its end: a world that its own program cannot finish shows nothing about a later one.
    await play({ ...common, kills: [kill], move, makePlace: async () => place }, async () => undefined);
    process.stdout.write(`${scenario.name}-${number}: ${state}, killed at ${kill}\n`);
  }
}

interface PlaceToKill {
  /** Workflow and state of the machine. */
  readonly state: string;
  readonly kill: string;
}

/** Where a state was entered, once all runs of the scenario are there: the first of each but the last, in which the run ends. */
function placesToKill({ own, runs, children = [] }: Scenario, ledger: readonly LedgerLine[]): readonly PlaceToKill[] {
  const there = new Set<string>();
  const places: PlaceToKill[] = [];
  let entered: string | null = null;
  for (const line of ledger) {
    if ('entered' in line) {
      const [, label = '', state = ''] = /^(?:([a-z0-9-]+)\/)?(.*)$/s.exec(line.entered) ?? [];
      there.add(label);
      // Children are builds, but for those of the sweep's own workflows.
      entered = `${children.some((child) => child.label === label) ? 'build' : (own?.workflow ?? 'build')} ${state}`;
    } else if ('passed' in line && entered !== null) {
      if (there.size >= runs.length) places.push({ state: entered, kill: line.passed });
      entered = null;
    } else if ('passed' in line && line.passed.endsWith('.model.after')) {
      places.push({ state: line.passed.replace(/^[a-z0-9-]+\//, ''), kill: line.passed });
    }
  }
  return places.filter(({ state }) => !/"(?:completed|failed|cancelled)"$/.test(state));
}
