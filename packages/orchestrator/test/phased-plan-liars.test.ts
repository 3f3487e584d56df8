/** Phases whose agents weaken tests: real runners in a real sandbox. No such plan is published before a person has seen it. */
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import type { ScriptCall } from '../src/models/script.ts';
import { aServer, type Files, finish, tool } from './orchestrator.fixture.ts';

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

/** Where a plan of two phases rests whose reviewer approves of everything. */
async function restsAfter(...implementer: readonly ScriptCall[]): Promise<RunView> {
  const approves = finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] });
  const reviewer = [1, 2].map((number) => ({ when: { contains: `Phase: ${number} of ` }, ...approves }));
  const script = { name: 'test', roles: { 'phase-implementer': implementer, 'phase-reviewer': reviewer } };
  const server = await aServer({ files: FILES, script: JSON.stringify(script) });
  const run = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'phased-plan',
    request: 'Carry out plan.md',
    input: { planPath: 'plan.md', plan: PLAN },
    config: { git: { autoMerge: true } },
  });
  const view = await server.rests(run);
  if (view.status !== 'completed') expect(await server.file('main', 'src/sub.js')).toBeNull();
  return view;
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
