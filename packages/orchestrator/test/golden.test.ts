/** Released versions of workflows: what was once recorded follows for ever, and their sources change only knowingly. */
import { globSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { setup } from 'xstate';
import { describe, expect, it } from 'vitest';
import { markMachine } from '../golden/coverage.ts';
import { differenceIn, hasSameView, stepsOf } from '../golden/history.ts';
import { hashOfCode, pinnedNow, type Released, released } from '../golden/released.ts';
import { readHistories, readVersions } from '../golden/store.ts';
import { advance, isFinal, statusOf } from '../src/core/advance.ts';
import { isWorkflow, type WorkflowDefinition } from '../src/core/definition.ts';

const WAY_OUT = `
Either every run goes the same way as before: then 'npm run golden:accept' says so and pins the new sources
(-- --data FOLDER has it replay the runs of a stopped server too).
Or runs in flight would go another way: then raise the version, in a file of its own, and keep the old file as it was.
Nobody has run this version yet? Then 'npm run golden:record -- --rewrite' records it anew. See golden/README.md.`;

/** States, transitions and signals that no history can show, with the reason. */
const CANNOT_HAPPEN: Readonly<Record<string, string>> = {
  'transition of build.active.publishing.checkingSupport on always (1 of 3)':
    'the result gate has asked for the same support before; it stands there so that no other way leads past it',
};

const pinned = Object.entries(readVersions()).flatMap(([name, versions]) =>
  Object.entries(versions).map(([version, pin]) => ({ name, version: Number(version), pin })),
);
const newest = released.filter(({ definition }) => isNewest(definition));

describe.each(released)('$definition.name version $definition.version', ({ definition, files }) => {
  const histories = readHistories(definition);

  it('takes every golden history to the same events, activities, timers and state, from every snapshot', () => {
    expect(histories.length, 'there are no golden histories; npm run golden:record makes them').toBeGreaterThan(0);
    const differences = histories.flatMap(({ file, history }) => {
      const difference = differenceIn(definition, history);
      return difference ? [`${file}: event ${difference.sequence}: ${difference.message}`] : [];
    });
    expect(differences, `Recorded runs go another way now.${WAY_OUT}`).toEqual([]);
  });

  it('shows every golden history as it was shown', () => {
    const changed = histories.filter(({ history }) => !hasSameView(definition, history)).map(({ file }) => file);
    expect(changed, `The read model of recorded runs is another one.${WAY_OUT}`).toEqual([]);
  });

  it('is made of the sources that are pinned', () => {
    const pin = pinned.find(({ name, version }) => name === definition.name && version === definition.version)?.pin;
    expect(pin, "this version is not pinned; 'npm run golden:record' records and pins it").toBeDefined();
    const now = pinnedNow({ files });
    const changed = Object.entries({ ...pin?.sources, ...now.sources }).filter(
      ([file]) => pin?.sources[file] !== now.sources[file],
    );
    expect(
      changed.map(([file]) => file),
      `Sources of ${definition.name} ${definition.version} changed.${WAY_OUT}`,
    ).toEqual([]);
    expect(now.fingerprint).toBe(pin?.fingerprint);
  });

  it('is made of no source that belongs to another workflow', () => {
    const folder = 'orchestrator/src/workflows/';
    const shared = `${folder}parts/`;
    const [own = ''] = files.map((file) => file.slice(folder.length).split('/')[0]);
    const foreign = Object.keys(pinnedNow({ files }).sources).filter(
      (file) => file.startsWith(folder) && !file.startsWith(shared) && !file.startsWith(`${folder}${own}/`),
    );
    expect(foreign, 'a change of that workflow would change this one').toEqual([]);
  });
});

describe.each(newest)('the histories of $definition.name', ({ definition }) => {
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

describe.each(released.filter(({ definition }) => !isNewest(definition)))(
  'a run of $definition.name version $definition.version',
  ({ definition }) => {
    it('can be converted to each newer version at every step of its way', () => {
      const newer = released
        .map(({ definition: other }) => other)
        .filter(({ name, version }) => name === definition.name && version > definition.version);
      const refused = readHistories(definition).flatMap(({ file, history }) =>
        stepsOf(definition, history)
          .filter(({ state }) => !isFinal(statusOf(state)) && state.snapshot !== null)
          .flatMap(({ state, events }) =>
            newer.flatMap((to) => {
              const { fingerprint, version } = to;
              const payload = { from: definition.version, to: version, fingerprint, by: 'a', how: 'converted' };
              const taken = advance(to, state, {
                type: 'RUN_MIGRATED',
                payload,
                timestamp: events[0]?.timestamp ?? '',
              });
              const where = `${file}, event ${events.at(-1)?.sequence}, to ${version}`;
              if (!taken.ok) return [`${where}: ${taken.reason}`];
              // Open activities stay open, and no others begin.
              return isDeepStrictEqual(taken.state.activities, state.activities) ? [] : [`${where}: other activities`];
            }),
          ),
      );
      expect(refused).toEqual([]);
    });
  },
);

describe('a workflow that is shipped', () => {
  it('has golden histories and is pinned', async () => {
    const folder = new URL('../src/workflows/', import.meta.url);
    const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !/\.(?:test|fixture)\.ts$/.test(file));
    const modules = await Promise.all(
      files.map((file) => import(new URL(file, folder).href) as Promise<Readonly<Record<string, unknown>>>),
    );
    const shipped = modules.flatMap((module) => Object.values(module).filter(isWorkflow));
    expect(shipped.length).toBeGreaterThan(0);
    const unlisted = shipped.filter((definition) => released.every((other) => other.definition !== definition));
    expect(
      unlisted.map(({ name, version }) => `${name} ${version}`),
      'Add it to golden/released.ts and run npm run golden:record.',
    ).toEqual([]);
  });
});

describe('a released version', () => {
  it('stays for ever', () => {
    const gone = pinned.filter(
      ({ name, version }) =>
        !released.some(({ definition }) => definition.name === name && definition.version === version),
    );
    expect(
      gone.map(({ name, version }) => `${name} ${version}`),
      'Runs are bound to their version: put its file back, and its line in golden/released.ts.',
    ).toEqual([]);
  });

  it('is noticed when it decides otherwise', () => {
    const [{ definition }] = released as readonly [Released];
    const { machine } = definition;
    const suspicious: WorkflowDefinition = {
      ...definition,
      machine: machine.provide({ guards: { planIsTrusted: () => true } }),
    };
    const differences = readHistories(definition).flatMap(({ history }) => differenceIn(suspicious, history) ?? []);
    expect(differences.length).toBeGreaterThan(10);
    expect(differences[0]?.message).toContain('ACTIVITY_COMPLETED: it emits');
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

function isNewest({ name, version }: WorkflowDefinition): boolean {
  return released.every(({ definition }) => definition.name !== name || definition.version <= version);
}
