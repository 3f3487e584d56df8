/** Golden histories: what was recorded follows again, and of released versions for ever; their sources change only knowingly. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { setup } from 'xstate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { changesBetween } from '../golden/changes.ts';
import { markMachine } from '../golden/coverage.ts';
import { folderOf } from '../golden/folders.ts';
import { differenceIn, differencesOf, hasSameView } from '../golden/history.ts';
import { changedPins, hashOfCode, pinRelease, pinsNow, readPins, sourcesOf } from '../golden/pins.ts';
import { isNewest, isReleased, readReleased, shipped } from '../golden/shipped.ts';
import { readHistories } from '../golden/store.ts';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import { plantedPartBugs } from '../simulation/planted-bugs.ts';

const WAY_OUT = `
If the change is intended and the version is not in golden/released.json, 'npm run golden:record' records the histories again and
prints what changed. A released version must not change, since runs of users replay it: raise 'newest' in the index.ts of its
workflow. See golden/README.md.`;

/** States, transitions and signals that no history can show, with the reason. */
const CANNOT_HAPPEN: Readonly<Record<string, string>> = {
  'transition of build.active.publishing.checkingSupport on always (1 of 3)':
    'the result gate has asked for the same support before; it stands there so that no other way leads past it',
};

const released = readReleased();

describe.each(shipped)('$name version $version', (definition) => {
  const histories = readHistories(definition);

  it('takes every golden history to the same events, activities, timers and state, from every snapshot', () => {
    expect(histories.length, 'there are no golden histories; npm run golden:record makes them').toBeGreaterThan(0);
    expect(differencesOf(definition, histories), `Recorded runs go another way now.${WAY_OUT}`).toEqual([]);
  });

  it('shows every golden history as it was shown', () => {
    const changed = histories.filter(({ history }) => !hasSameView(definition, history)).map(({ file }) => file);
    expect(changed, `The view of these histories changed. If that is intended, run 'npm run golden:record'.`).toEqual(
      [],
    );
  });

  it('is made of no source that belongs to another workflow', () => {
    const folder = 'orchestrator/src/workflows/';
    const [own = ''] = path
      .relative(path.join(import.meta.dirname, '../src/workflows'), folderOf(definition.name))
      .split(path.sep);
    const foreign = Object.keys(sourcesOf(definition.name)).filter(
      (file) => file.startsWith(folder) && ![own, 'parts'].some((each) => file.startsWith(`${folder}${each}/`)),
    );
    expect(foreign, 'a change of that workflow would change this one').toEqual([]);
  });
});

describe.each(shipped.filter(isNewest))('the histories of $name', (definition) => {
  it('go through every state, every transition and every signal', () => {
    const histories = readHistories(definition).map(({ history }) => history);
    const { missing } = markMachine(definition.machine);
    for (const history of histories) differenceIn(definition, history);
    const sent = new Set(histories.flatMap(({ steps }) => steps.map((step) => step.in[0])));
    const unsent = Object.keys(definition.signals).filter((type) => !sent.has(type));
    expect(
      [...missing(), ...unsent.map((type) => `signal ${type}`)].filter((name) => !(name in CANNOT_HAPPEN)),
      'No golden history shows these: add a scenario to golden/scenarios.fixture.ts in the folder of the workflow and run npm run golden:record.',
    ).toEqual([]);
    const ofThis = Object.keys(CANNOT_HAPPEN).filter((name) => name.includes(` ${definition.name}.`));
    expect(ofThis.filter((name) => !missing().includes(name))).toEqual([]);
  });
});

describe('the golden histories', () => {
  it.each(plantedPartBugs)('notice a bug in the shared part $name: $what', async ({ source }) => {
    const worker = new Worker(new URL('../golden/replay-thread.ts', import.meta.url), { workerData: source });
    const differences = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    expect(differences).not.toEqual([]);
  });

  it('notice a version that decides otherwise, and say what changed', () => {
    const definition = shipped.find(({ name }) => name === 'build') as WorkflowDefinition;
    const machine = definition.machine.provide({ guards: { planIsTrusted: () => true } });
    const differences = differencesOf({ ...definition, machine }, readHistories(definition));
    expect(differences.length).toBeGreaterThan(10);
    expect(differences[0]).toContain('ACTIVITY_COMPLETED: it emits');
  });

  it('are compared by state, status, events and activities', () => {
    const [one] = readHistories({ name: 'build', version: 3 });
    if (one === undefined) throw new Error('build 3 has no history');
    expect(changesBetween(one.history, one.history)).toEqual([]);
    const cut = { ...one.history, steps: one.history.steps.slice(0, -1) };
    const changes = changesBetween(one.history, cut);
    expect(changes[0]).toMatch(/^state: step \d+: \{"active":.+ → nothing$/);
    expect(changes.map((change) => change.split(':')[0])).toEqual([
      'state',
      'status',
      'events',
      'activities',
      'timers',
    ]);
  });
});

describe('a released version', () => {
  it('stays for ever', () => {
    const gone = Object.entries(released).flatMap(([name, versions]) =>
      versions.filter((version) => shipped.every((each) => each.name !== name || each.version !== version)),
    );
    expect(gone, "Users have runs of it: set 'oldest' in the index.ts of its workflow back.").toEqual([]);
  });

  it('is made of the sources that are pinned', () => {
    const changed = changedPins(readPins(), pinsNow(released));
    expect(
      changed,
      `Sources of released versions changed. 'npm run golden:record' replays their histories, and pins the sources where each goes the same way.`,
    ).toEqual([]);
  });

  it('is named and pinned by a release, and a change of its sources is noticed', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'released-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    cpSync(path.join(import.meta.dirname, '../golden/released.json'), path.join(folder, 'released.json'));
    const named = pinRelease(folder);
    expect(shipped.filter((definition) => isReleased(definition, named))).toEqual(shipped.filter(isNewest));
    expect(readReleased(folder)).toEqual(named);
    const pins = readPins(folder);
    expect(Object.keys(pins)).toEqual(
      expect.arrayContaining([
        'orchestrator/src/core/advance.ts',
        'orchestrator/src/workflows/build/index.ts',
        'orchestrator/src/workflows/build/machine.ts',
        'orchestrator/src/workflows/build/roles/planner.ts',
        'orchestrator/src/workflows/parts/pausing.ts',
        'orchestrator/src/workflows/phased-plan/plan-phase/machine.ts',
        'shared/src/fold.ts',
      ]),
    );
    expect(changedPins(pins, pinsNow(named))).toEqual([]);
    expect(changedPins({ ...pins, 'orchestrator/src/core/advance.ts': 'another' }, pins)).toEqual([
      'orchestrator/src/core/advance.ts',
    ]);
  });

  it('does not change with the layout, the types and the comments of its source', () => {
    const code = hashOfCode('/** Adds. */\nexport const add = (a: number, b: number): number => a + b;\n');
    expect(hashOfCode('export const add = (a, b) =>\n  // together\n  a + b;\n')).toBe(code);
    expect(hashOfCode('export const add = (a: number, b: number): number => a - b;\n')).not.toBe(code);
  });
});

describe('the marks on a machine', () => {
  it('tell what was not gone through', () => {
    const machine = setup({}).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { on: { GO: [{ guard: () => false, target: 'b' }, { target: 'c' }] } }, b: {}, c: {} },
    });
    const { missing } = markMachine(machine as never);
    expect(missing()).toEqual([
      'state m',
      'state m.a',
      'state m.b',
      'state m.c',
      'transition of m.a on GO (1 of 2)',
      'transition of m.a on GO (2 of 2)',
    ]);
  });
});
