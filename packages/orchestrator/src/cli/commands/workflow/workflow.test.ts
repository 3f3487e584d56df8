/** The commands `workflow new`, `check` and `test`, each in a process of its own, without a server. */
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { makePlace, type Place } from '../../program.fixture.ts';

const EXAMPLES = fileURLToPath(new URL('../../../../../../examples', import.meta.url));
const HEAD = `
  import { activity, defineWorkflow, ONE_TRY } from '@autonomous/orchestrator/workflow';
  import { fromCallback, setup } from 'xstate';
  import { z } from 'zod';
  const states = {
    on: { RUN_CANCELLED: '.ended' },
    initial: 'a',
    states: { a: { meta: { status: 'running', stage: 'a' }, invoke: { id: 'w', src: 'work' } }, ended: { type: 'final', meta: { status: 'cancelled' } } },
  };
  const machine = setup({ actors: { work: activity() } }).createMachine(states);
  const define = (change = {}) =>
    defineWorkflow({ name: 'own', version: 1, description: '', machine, signals: { RUN_CANCELLED: z.object({ by: z.string() }) }, ...change });
  const work = { retry: ONE_TRY, perform: async () => null };
`;

let place: Place;
beforeAll(() => {
  place = makePlace();
  return () => place.remove();
});

const workflow = (...args: readonly string[]) => place.command(['workflow', ...args]);
const write = (file: string, text: string) => writeFileSync(join(place.folder, file), `${HEAD}${text}`);

it('writes a workflow that passes its check and its test as it is, and says how to go on', async () => {
  const { stdout, exitCode } = await workflow('new', 'in-turn');
  expect([exitCode, stdout.split('\n')]).toEqual([
    0,
    [
      `Written to ${join(place.folder, 'in-turn')}: workflow.ts, workflow.test.ts, package.json, tsconfig.json, README.md`,
      'autonomous workflow check ./in-turn/workflow.ts',
      'AUTONOMOUS_WORKFLOWS=./in-turn/workflow.ts npm start',
      expect.stringContaining('autonomous run --workflow in-turn --project PROJECT --input '),
      '',
    ],
  ]);
  const text = readFileSync(join(place.folder, 'in-turn/workflow.ts'), 'utf8');
  expect(text.split('\n').length).toBeLessThanOrEqual(60);
  const readme = readFileSync(join(place.folder, 'in-turn/README.md'), 'utf8');
  for (const line of stdout.trim().split('\n').slice(1)) expect(readme).toContain(`\n${line}\n`);

  const checked = await workflow('check', 'in-turn/workflow.ts');
  expect(checked).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^in-turn version 1; \d+ states; gates pause, result; signals APPROVAL_GRANTED, .*; activities check, .*; child runs of build\n$/,
    ),
    stderr: '',
  });
  const passed = await workflow('test', 'in-turn/workflow.test.ts');
  expect(passed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/pass 3\n/) });
  // No database is made, and nothing else of a server.
  expect(existsSync(place.data)).toBe(false);
});

it('runs the tests of the examples', async () => {
  const files = globSync('*/*.test.ts', { cwd: EXAMPLES }).map((file) => join(EXAMPLES, file));
  expect(await workflow('test', ...files)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/pass 5\n/) });
});

it('ends with 1 when a test of a workflow fails', async () => {
  writeFileSync(
    join(place.folder, 'red.test.ts'),
    "import { test } from 'node:test'; test('red', () => { throw new Error('red'); });",
  );
  expect(await workflow('test', 'red.test.ts')).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('red') });
});

it.each([
  ['a name that no workflow can have', ['My flow'], 64, /^Workflow name 'My flow' is invalid: /],
  ['the name of a shipped workflow', ['build'], 64, /^The workflow 'build' is built in; choose another name\./],
  [
    'a folder with files',
    ['own', '--out', 'full'],
    1,
    /^The folder .*full is not empty: it has kept\. Nothing was written/,
  ],
  ['a file in place of a folder', ['own', '--out', 'full/kept'], 1, /^.*full\/kept is a file\. Name another folder/],
])('refuses %s, and writes nothing', async (_, args, exitCode, words) => {
  mkdirSync(join(place.folder, 'full'), { recursive: true });
  writeFileSync(join(place.folder, 'full/kept'), '');
  expect(await workflow('new', ...args)).toEqual({ exitCode, stdout: '', stderr: expect.stringMatching(words) });
  expect(readdirSync(join(place.folder, 'full'))).toEqual(['kept']);
  expect(existsSync(join(place.folder, args[0] ?? ''))).toBe(false);
});

it('names the faults of machines, values and activities of all files at once', async () => {
  write(
    'machine.ts',
    `export const workflows = [
      { definition: define({ name: 'bad', version: 1.5, machine: setup({ actors: { tick: fromCallback(() => {}) } }).createMachine(states) }), activities: {} },
      { definition: define({ name: 'stages' }), stages: [], activities: { work } },
      { definition: define({ name: 'function' }), activities: (tools) => ({ other: { ...work, of: tools.repository } }) },
    ];`,
  );
  write('throws.ts', "throw new Error('no licence');");
  const { exitCode, stderr, stdout } = await workflow('check', './machine.ts', './throws.ts', './none.ts');
  expect([exitCode, stdout]).toEqual([1, '']);
  const lines = stderr.trim().split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^\.\/machine\.ts cannot be loaded: Workflow 'bad' cannot be made durable: its version is 1\.5.*; actor 'tick' /,
      ),
      expect.stringMatching(
        /^\.\/machine\.ts \(2\.\): workflow 'stages' has states of the stage 'a', which 'stages' does not declare/,
      ),
      expect.stringMatching(/^\.\/machine\.ts \(3\.\): workflow 'function' declares the activity 'work', which/),
      './throws.ts cannot be loaded: no licence.',
      expect.stringMatching(/^\.\/none\.ts cannot be loaded: there is no file /),
    ]),
  );
  const { faults, workflows } = JSON.parse((await workflow('check', '--json', './machine.ts')).stdout) as {
    readonly faults: readonly string[];
    readonly workflows: readonly unknown[];
  };
  expect([workflows, faults]).toEqual([[], lines.filter((line) => line.startsWith('./machine.ts'))]);
});

it('refuses files of the data folder, which a server refuses', async () => {
  mkdirSync(place.data, { recursive: true });
  writeFileSync(join(place.data, 'own.ts'), HEAD);
  expect(await workflow('check', join(place.data, 'own.ts'))).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('is in the data folder'),
  });
});

it('gives the parts of a workflow as JSON, and draws its machine', async () => {
  write('good.ts', 'export default { definition: define(), activities: { work } };');
  const { workflows, faults } = JSON.parse((await workflow('check', '--json', './good.ts')).stdout) as {
    readonly faults: readonly string[];
    readonly workflows: readonly { readonly mermaid: string }[];
  };
  expect([workflows, faults]).toEqual([
    [
      {
        name: 'own',
        file: './good.ts',
        versions: [1],
        states: ['(machine).a', '(machine).ended'],
        gates: [],
        signals: ['RUN_CANCELLED'],
        activities: ['work'],
        childRuns: [],
        mermaid: expect.stringContaining('stateDiagram-v2\n'),
      },
    ],
    [],
  ]);
  const { stdout } = await workflow('check', '--mermaid', './good.ts');
  expect(stdout).toBe(`%% own\n${workflows[0]?.mermaid}\n`);
});
