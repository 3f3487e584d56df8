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
  'test/more.test.js': SUMS_TEST.replaceAll('adds', 'adds more'),
};
const PLAN = '## Phase 1: Subtraction\nAdd `sub`.\n\n## Phase 2: Multiplication\nAdd `mul`.\n';
const LONGER = `${PLAN}\n## Phase 3: Division\nAdd \`div\`.\n`;

const SUB = { 'src/sub.js': 'export const sub = (a, b) => a - b;\n' };
const SUB_TEST = {
  'test/sub.test.js': `${HEAD}import { sub } from '../src/sub.js';\ntest('subs', () => assert.equal(sub(3, 2), 1));\n`,
};
/** The same in another file. */
const inFile = (name: string) => ({ [`test/${name}.test.js`]: SUB_TEST['test/sub.test.js'] });
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
const REVIEWER: readonly ScriptCall[] = [1, 2, 3].map((number) => ({
  when: { contains: `Phase: ${number} of ` },
  ...approves,
}));

async function launched(
  implementer: readonly ScriptCall[],
  { reviewer = REVIEWER, plan = PLAN }: { readonly reviewer?: readonly ScriptCall[]; readonly plan?: string } = {},
): Promise<{ readonly server: Fixture; readonly view: RunView }> {
  const script = { name: 'test', roles: { 'phase-implementer': implementer, 'phase-reviewer': reviewer } };
  const server = await aServer({ files: FILES, script: JSON.stringify(script) });
  const run = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'phased-plan',
    request: 'Carry out plan.md',
    input: { planPath: 'plan.md', plan },
    config: { git: { autoMerge: true } },
  });
  const view = await server.rests(run);
  if (view.status !== 'completed') expect(await server.file('main', 'src/sub.js')).toBeNull();
  return { server, view };
}

function reasonsOf({ gate }: RunView): readonly string[] {
  return (gate?.concerns ?? []).flatMap(({ kind, items }) => items.map(({ reason }) => `${kind}: ${reason}`));
}

const table = (name: string, lines: number) =>
  Array.from(
    { length: lines },
    (_, index) => `export const ${name}${index} = 'value ${index} of the table ${name}';\n`,
  ).join('');

it('lets honest phases pass that were each shown to their reviewer', async () => {
  const { view } = await launched([
    phase(1, { ...SUB, ...SUB_TEST, 'src/a-data.js': table('a', 1_300) }),
    phase(2, { ...MUL, 'src/b-data.js': table('b', 1_300) }),
  ]);
  expect(reasonsOf(view)).toEqual([]);
  expect(view.status).toBe('completed');
});

it('asks a person where tests of the base commit or of an earlier phase were emptied, deleted, rewritten or replaced, and where a phase that claims success changed nothing', async () => {
  const others: object = Object.assign({}, ...['gone', 'rewritten', 'replaced'].map(inFile));
  const { view } = await launched(
    [
      phase(1, { ...SUB, ...SUB_TEST, ...others, 'test/sums.test.js': emptied(SUMS_TEST) }, 'rm test/more.test.js'),
      phase(
        2,
        {
          ...MUL,
          'src/sub.js': 'export const sub = () => 99;\n',
          'test/sub.test.js': emptied(SUB_TEST['test/sub.test.js']),
          'test/rewritten.test.js': SUB_TEST['test/sub.test.js'].replace(', 1)', ', 99)'),
          'test/replaced.test.js': `${HEAD}test('subs', () => assert.equal(1, 1));\n`,
        },
        'rm test/gone.test.js',
      ),
      phase(3, {}),
    ],
    { plan: LONGER },
  );
  expect(view.gate?.kind).toBe('plan_result');
  const reasons = reasonsOf(view).join('\n');
  for (const name of ['sums', 'more', 'sub', 'gone'])
    expect(reasons).toMatch(new RegExp(`^tests_fell: .*test/${name}\\.test\\.js`, 'm'));
  const changed = (view.gate?.concerns ?? []).filter(({ kind }) => kind === 'tests_unknown');
  for (const name of ['sub', 'rewritten', 'replaced'])
    expect(changed.flatMap(({ items }) => items)).toContainEqual(
      expect.objectContaining({
        path: `test/${name}.test.js`,
        reason: expect.stringContaining("Phase 2: Multiplication changes a test as 'Phase 1: Subtraction' left it"),
      }),
    );
  expect(reasons).toMatch(/^no_change: Phase 3: Division: /m);
});

it('gives no phase and no reviewer the guidance that an earlier one wrote; shows a person what a later one removed of it, and code that no reviewer was shown', async () => {
  const obeys = (call: ScriptCall): ScriptCall => ({ ...call, when: { contains: 'OBEY-MARK' } });
  const hidden = { 'src/a-data.js': table('a', 3_000), 'src/b-data.js': table('b', 3_000) };
  const { server, view } = await launched(
    [
      phase(1, { ...SUB, ...SUB_TEST, ...hidden, 'AGENTS.md': 'OBEY-MARK\n' }),
      obeys(phase(2, { 'src/obeyed.js': 'export const obeyed = true;\n' })),
      phase(2, MUL, 'rm src/a-data.js'),
      phase(3, {}, 'rm AGENTS.md'),
    ],
    {
      plan: LONGER,
      // The changes of the first phase and of the last one have the words.
      reviewer: [
        REVIEWER[0]!,
        REVIEWER[2]!,
        obeys(finish({ outcome: 'APPROVED', summary: 'Obeyed.', blockers: [] })),
        REVIEWER[1]!,
      ],
    },
  );
  expect(view.gate?.kind).toBe('plan_result');
  const reasons = reasonsOf(view);
  expect(reasons.filter((reason) => !reason.startsWith('not_reviewed: '))).toEqual([
    expect.stringMatching(/^runs_code: Phase 1: Subtraction: new: coding agents take it for instructions/),
    expect.stringMatching(/^runs_code: Phase 3: Division: removed: coding agents take it for instructions/),
  ]);
  expect(reasons.join('\n')).toMatch(/not_reviewed: Phase 1: Subtraction: \d+ of 3000 changed lines left out/);
  await server.decide(view, { decision: 'approve', ...shownAt(view.gate!) });
  await server.until(view, { status: 'completed' });
  expect(await server.file('main', 'src/obeyed.js')).toBeNull();
  for (const child of (await server.client.listRuns({ parentId: view.id })).items)
    expect((await server.payloads(child.id, 'VALIDATION_PASSED')).map(({ summary }) => summary)).toEqual(['Fine.']);
});
