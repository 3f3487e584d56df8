/** Projects whose checks were red before the run. Real runners in a real sandbox. */
import { expect, it } from 'vitest';
import { aScript, aServer, type Files, projectConfig, writes } from '../fixtures/orchestrator.fixture.ts';

const manifest = (test: string) => `${JSON.stringify({ name: 'sums', type: 'module', scripts: { test } }, null, 2)}\n`;
const HEAD = "import assert from 'node:assert';\nimport { test } from 'node:test';\n";
const SUMS_TEST = `${HEAD}import { add } from '../src/sums.js';
test('adds', () => assert.equal(add(1, 2), 3));
test('adds zero', () => assert.equal(add(1, 0), 1));
`;
const NODE: Files = {
  'package.json': manifest('node --test'),
  'src/sums.js': 'export const add = (a, b) => a + b;\n',
  'test/sums.test.js': SUMS_TEST,
};
const ADDS_SUB = writes({
  'src/sub.js': 'export const sub = (a, b) => a - b;\n',
  'test/sub.test.js': `${HEAD}import { sub } from '../src/sub.js';\ntest('subs', () => assert.equal(sub(3, 2), 1));\n`,
});
const AUTO = {
  trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' },
  maxFixAttempts: 3,
  git: { autoMerge: true },
} as const;

it('asks a person at once where the same test failed before the run', async () => {
  const files = { ...NODE, 'test/old.test.js': `${HEAD}test('never worked', () => assert.equal(1, 2));\n` };
  const server = await aServer({ files, script: aScript({ implementer: [ADDS_SUB] }) });
  const { gate, fixAttempts, baseline } = await server.rests(await server.launch('Add sub', AUTO));
  expect(gate?.kind).toBe('fix');
  expect(gate?.summary).toMatch(
    /^The checks failed before the run already \(1 failed: test\/old\.test\.js: never worked\) and fail in the same way now: /,
  );
  expect(fixAttempts).toBe(0);
  expect(baseline?.tests).toMatchObject({ executed: 3, failed: 1, failedNames: ['test/old.test.js: never worked'] });
});

it('asks at once where a program is missing, and tells of links that no sandbox has', async () => {
  const files: Files = {
    ...NODE,
    Makefile: '.PHONY: test\ntest:\n\tno-such-tool --check\n\tnode --test\n',
    lib: { symlink: 'src' },
    out: { symlink: '/usr/share' },
    '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { setup: null, test: 'make test' } } }),
  };
  const server = await aServer({ files, script: aScript({ implementer: [ADDS_SUB] }) });
  const { gate, fixAttempts, notices } = await server.rests(await server.launch('Add sub', AUTO));
  expect(gate?.summary).toContain('before the run already (the program no-such-tool is missing) and fail in the same');
  expect(fixAttempts).toBe(0);
  expect(notices).toContain('not in the sandbox: 1 symbolic link: out (its target is an absolute path)');
});

it('lets the agent fix what it broke in a project whose checks failed before', async () => {
  const files = { ...NODE, 'test/old.test.js': `${HEAD}test('never worked', () => assert.equal(1, 2));\n` };
  const breaks = ['-', '*'].map((by) => writes({ 'src/sums.js': `export const add = (a, b) => a ${by} b;\n` }));
  const server = await aServer({ files, script: aScript({ implementer: breaks }) });
  const view = await server.rests(await server.launch('Add sub', { ...AUTO, maxFixAttempts: 1 }));
  expect(view.fixAttempts).toBe(1);
  expect(view.gate?.summary).toMatch(/^The project's checks failed: /);
  expect(view.gate?.details['feedback']).toContain('On the base commit the checks failed already (exit code 1)');
  // The tests that the run broke are named apart from the one that failed before.
  const { failedNames, failedAnew } = view.evidence.at(-1)?.tests ?? {};
  expect(failedNames).toContain('test/old.test.js: never worked');
  expect(failedAnew).toEqual(['test/sums.test.js: adds', 'test/sums.test.js: adds zero']);
});
