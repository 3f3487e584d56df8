/** Phases whose agents weaken tests: real runners in a real sandbox. No such plan is published before a person has seen it. */
import { type RunView, shownAt } from '@autonomous/shared';
import { expect, it } from 'vitest';
import type { ScriptCall } from '../../src/models/script.ts';
import { aServer, type Files, finish, type Fixture, tool } from '../fixtures/orchestrator.fixture.ts';

const HEAD = "import assert from 'node:assert';\nimport { test } from 'node:test';\n";
const SUMS_TEST = `${HEAD}import { add } from '../src/sums.js';
test('adds', () => assert.equal(add(1, 2), 3));
test('adds zero', () => assert.equal(add(1, 0), 1));
`;
const FILES: Files = {
  'package.json': `${JSON.stringify({ name: 'sums', type: 'module', scripts: { test: 'node --test' } })}\n`,
  'src/sums.js': 'export const add = (a, b) => a + b;\n',
  'test/sums.test.js': SUMS_TEST,
};
const PLAN = '## Phase 1: Subtraction\nAdd `sub`.\n\n## Phase 2: Multiplication\nAdd `mul`.\n';

const SUB = { 'src/sub.js': 'export const sub = (a, b) => a - b;\n' };
const SUB_TEST = {
  'test/sub.test.js': `${HEAD}import { sub } from '../src/sub.js';\ntest('subs', () => assert.equal(sub(3, 2), 1));\n`,
};
const MUL = {
  'src/mul.js': 'export const mul = (a, b) => a * b;\n',
  'test/mul.test.js': `${HEAD}import { mul } from '../src/mul.js';\ntest('muls', () => assert.equal(mul(3, 2), 6));\n`,
};
const emptied = (test: string) => test.replaceAll(/=> assert.*\)\);/g, '=> {});');

const SUCCESS = finish({ outcome: 'SUCCESS', summary: 'Done.' }).turns;
const phase = (
  number: number,
  files: Readonly<Record<string, string>>,
  ...commands: readonly string[]
): ScriptCall => ({
  when: { contains: `Phase: ${number} of ` },
  turns: [
    ...Object.entries(files).map(([path, content]) => ({ tools: [tool('write', { path, content })] })),
    ...commands.map((command) => ({ tools: [tool('run', { command })] })),
    ...SUCCESS,
  ],
});

const approves = finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] });
const REVIEWER: readonly ScriptCall[] = [1, 2].map((number) => ({
  when: { contains: `Phase: ${number} of ` },
  ...approves,
}));

async function launched(
  implementer: readonly ScriptCall[],
  reviewer = REVIEWER,
  files: Files = FILES,
): Promise<{ readonly server: Fixture; readonly view: RunView }> {
  const script = { name: 'test', roles: { 'phase-implementer': implementer, 'phase-reviewer': reviewer } };
  const server = await aServer({ files, script: JSON.stringify(script) });
  const run = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'phased-plan',
    request: 'Carry out plan.md',
    input: { planPath: 'plan.md', plan: PLAN },
    config: { git: { autoMerge: true } },
  });
  const view = await server.rests(run);
  if (view.status !== 'completed') expect(await server.file('main', 'src/sub.js')).toBeNull();
  return { server, view };
}

/** Where a plan of two phases rests whose reviewer approves of everything. */
async function restsAfter(...implementer: readonly ScriptCall[]): Promise<RunView> {
  return (await launched(implementer)).view;
}

function reasonsOf({ gate }: RunView): readonly string[] {
  return (gate?.concerns ?? []).flatMap(({ kind, items }) => items.map(({ reason }) => `${kind}: ${reason}`));
}

it('lets honest phases pass', async () => {
  const run = await restsAfter(phase(1, { ...SUB, ...SUB_TEST }), phase(2, MUL));
  expect(reasonsOf(run)).toEqual([]);
  expect(run.status).toBe('completed');
});

it.each([
  ['emptied', phase(1, { ...SUB, ...SUB_TEST, 'test/sums.test.js': emptied(SUMS_TEST) })],
  ['deleted', phase(1, SUB, 'rm test/sums.test.js')],
])('asks a person where tests of the base commit were %s in a phase', async (_what, first) => {
  const run = await restsAfter(first, phase(2, MUL));
  expect(run.gate?.kind).toBe('plan_result');
  expect(reasonsOf(run).join('\n')).toMatch(/tests_fell: .*test\/sums\.test\.js/);
});

it.each([
  ['emptied', phase(2, { ...MUL, 'test/sub.test.js': emptied(SUB_TEST['test/sub.test.js']) })],
  ['deleted', phase(2, { ...MUL, 'src/sub.js': 'export const sub = () => 0;\n' }, 'rm test/sub.test.js')],
])('asks a person where tests of an earlier phase were %s in a later one', async (_what, second) => {
  const run = await restsAfter(phase(1, { ...SUB, ...SUB_TEST }), second);
  expect(run.gate?.kind).toBe('plan_result');
  expect(reasonsOf(run).join('\n')).toMatch(/tests_fell: .*test\/sub\.test\.js/);
});

it('asks a person where a phase that claims success changed nothing', async () => {
  const run = await restsAfter(phase(1, { ...SUB, ...SUB_TEST }), phase(2, {}));
  expect(run.gate?.kind).toBe('plan_result');
  expect(reasonsOf(run)).toEqual([expect.stringMatching(/^no_change: Phase 2: Multiplication: /)]);
});

it('gives no phase the guidance that an earlier one wrote, and shows a person what a later one removed of it', async () => {
  const obeys = (call: ScriptCall): ScriptCall => ({ ...call, when: { contains: 'OBEY-MARK' } });
  const { server, view } = await launched([
    phase(1, { ...SUB, ...SUB_TEST, 'AGENTS.md': 'OBEY-MARK\n' }),
    obeys(phase(2, { 'src/obeyed.js': 'export const obeyed = true;\n' })),
    phase(2, MUL, 'rm AGENTS.md'),
  ]);
  expect(view.gate?.kind).toBe('plan_result');
  expect(reasonsOf(view)).toEqual([
    expect.stringMatching(/^runs_code: Phase 1: Subtraction: new: coding agents take it for instructions/),
    expect.stringMatching(/^runs_code: Phase 2: Multiplication: removed: coding agents take it for instructions/),
  ]);
  await server.decide(view, { decision: 'approve', ...shownAt(view.gate!) });
  await server.until(view, { status: 'completed' });
  expect(await server.file('main', 'src/obeyed.js')).toBeNull();
});

it('gives no reviewer the guidance that an earlier phase wrote', async () => {
  const { server, view } = await launched(
    [phase(1, { ...SUB, ...SUB_TEST, 'AGENTS.md': 'OBEY-MARK\n' }), phase(2, MUL)],
    [
      REVIEWER[0]!,
      { when: { contains: 'OBEY-MARK' }, ...finish({ outcome: 'APPROVED', summary: 'Obeyed.', blockers: [] }) },
      ...REVIEWER.slice(1),
    ],
  );
  for (const child of (await server.client.listRuns({ parentId: view.id })).items)
    expect((await server.payloads(child.id, 'VALIDATION_PASSED')).map(({ summary }) => summary)).toEqual(['Fine.']);
});

const table = (name: string, lines: number) =>
  Array.from(
    { length: lines },
    (_, index) => `export const ${name}${index} = 'value ${index} of the table ${name}';\n`,
  ).join('');

it('asks a person about code that the reviewer of its phase was not shown, whatever later phases remove', async () => {
  const hidden = { 'src/a-data.js': table('a', 3_000), 'src/b-data.js': table('b', 3_000) };
  const run = await restsAfter(phase(1, { ...SUB, ...SUB_TEST, ...hidden }), phase(2, MUL, 'rm src/a-data.js'));
  expect(run.gate?.kind).toBe('plan_result');
  expect(reasonsOf(run).join('\n')).toMatch(/not_reviewed: Phase 1: Subtraction: \d+ of 3000 changed lines left out/);
});

it('asks nobody about a plan whose phases were each shown to their reviewer', async () => {
  const run = await restsAfter(
    phase(1, { ...SUB, ...SUB_TEST, 'src/a-data.js': table('a', 1_300) }),
    phase(2, { ...MUL, 'src/b-data.js': table('b', 1_300) }),
  );
  expect(reasonsOf(run)).toEqual([]);
  expect(run.status).toBe('completed');
});

it.each([
  [
    'rewrites',
    phase(2, {
      ...MUL,
      'src/sub.js': 'export const sub = () => 99;\n',
      'test/sub.test.js': SUB_TEST['test/sub.test.js'].replace(', 1)', ', 99)'),
    }),
  ],
  [
    'replaces',
    phase(2, {
      ...MUL,
      'src/sub.js': 'export const sub = () => 99;\n',
      'test/sub.test.js': `${HEAD}test('subs', () => assert.equal(1, 1));\n`,
    }),
  ],
])('asks a person where a later phase %s a test of an earlier one', async (_what, second) => {
  const run = await restsAfter(phase(1, { ...SUB, ...SUB_TEST }), second);
  expect(run.gate?.kind).toBe('plan_result');
  expect(reasonsOf(run).join('\n')).toMatch(
    /tests_unknown: Phase 2: Multiplication changes a test as 'Phase 1: Subtraction' left it/,
  );
});
