/** Evidence of commits: the test command in a real sandbox, on checkouts of a real repository. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import type { CommandRequest, Sandbox, SandboxSpec } from '../../sandboxes/sandbox.ts';
import { startReporting } from './test-reporting.ts';
import { baselineOf } from './baseline.ts';
import { bubblewrap, type CheckedProject, openCheckedProject } from './checked-project.fixture.ts';

const testOf = (name: string, ...tests: readonly string[]): string =>
  `import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { ${name} } from '../src/${name}.js';\n${tests.join('\n')}\n`;
const ADDS = "test('adds', () => assert.equal(add(1, 2), 3));";
const FILES = {
  'package.json': '{ "type": "module", "scripts": { "test": "node --test" } }\n',
  'src/add.js': 'export const add = (a, b) => a + b;\n',
  'test/add.test.js': testOf('add', ADDS, "test('adds nothing', () => assert.equal(add(1, 0), 1));"),
};
const SUB = {
  'src/sub.js': 'export const sub = (a, b) => a - b;\n',
  'test/sub.test.js': testOf('sub', "test('subtracts', () => assert.equal(sub(3, 1), 2));"),
};

describe.skipIf(!bubblewrap.ok)('a check', () => {
  let temporary: ReturnType<typeof temporaryFolder>;
  let shop: CheckedProject;
  beforeAll(async () => {
    temporary = temporaryFolder();
    shop = await openCheckedProject(temporary.path, FILES);
  });
  afterAll(() => temporary.remove());

  it('counts the tests of an honest result, and those of the base commit without the ones that are new', async () => {
    const count = { runner: 'node:test', failed: 0, skipped: 0, finished: true };
    const asIs = await shop.checked('r-1', 'as_is', SUB);
    expect(asIs).toMatchObject({ passed: true, restored: [], sandbox: 'bubblewrap' });
    expect(asIs.tests).toEqual({ ...count, executed: 3 });
    expect(asIs).not.toHaveProperty('changedTests');
    const withBase = await shop.checked('r-1', 'base_tests', SUB);
    expect(withBase).toMatchObject({ passed: true, restored: ['test/sub.test.js'], tests: { ...count, executed: 2 } });
    expect(withBase.baseline).toMatchObject({ passed: true, tests: { ...count, executed: 2 } });
    expect(withBase).not.toHaveProperty('doubtful');
  });

  it('tells of tests that are gone, that assert less, and that were written while they ran', async () => {
    const rewriting = `import { appendFileSync } from 'node:fs';\nappendFileSync('test/add.test.js', '\\n');\n`;
    const asIs = await shop.checked('r-2', 'as_is', {
      'src/add.js': rewriting + FILES['src/add.js'],
      'test/add.test.js': testOf('add', ADDS),
    });
    expect(asIs).toMatchObject({
      passed: true,
      tests: { executed: 1, notRun: ['test/add.test.js: adds nothing'], rewritten: ['test/add.test.js'] },
      changedTests: [{ path: 'test/add.test.js', linesRemoved: 1, assertionsBefore: 2, assertions: 1 }],
    });
  });

  it('counts the tests that fail anew, and names first those that passed on the base commit', async () => {
    const fails = Array.from({ length: 25 }, (_, index) => `test('  a  ${index}', () => assert.ok(add(1, 2) < 0));`);
    const asIs = await shop.checked('r-5', 'as_is', {
      'src/add.js': 'export const add = (a, b) => a * b;\n',
      'test/a.test.js': testOf('add', ...fails),
    });
    expect(asIs.tests).toMatchObject({ failed: 27, failedAnewCount: 27 });
    expect(asIs.tests?.failedAnew).toHaveLength(20);
    expect(asIs.tests?.failedAnew?.slice(0, 3)).toEqual([
      'test/add.test.js: adds',
      'test/add.test.js: adds nothing',
      expect.stringMatching(/^test\/a\.test\.js: a \d+$/),
    ]);
  });

  it('puts back what decides about the tests, leaves the product, and says what may be missing', async () => {
    const files = {
      'package.json': FILES['package.json'].replace('node --test', 'true'),
      'requirements.txt': 'requests==2.0.0\n',
      'src/add.js': "console.log('Could not find Chrome');\nexport const add = (a, b) => a - b;\n",
    };
    expect(await shop.checked('r-3', 'as_is', files)).toMatchObject({
      passed: true,
      newDependencies: [{ name: 'requests', version: '==2.0.0', file: 'requirements.txt' }],
    });
    const withBase = await shop.checked('r-3', 'base_tests', files);
    expect(withBase).toMatchObject({ passed: false, restored: ['package.json'], tests: { executed: 2, failed: 1 } });
    expect(withBase).not.toHaveProperty('failsAsBefore');
    expect(shop.notes).toEqual([expect.stringMatching(/^A browser of the tests needs its install script/)]);
  });

  it('is not made again for code that passed it, in whichever run', async () => {
    expect(await shop.checked('r-4', 'as_is', SUB)).toMatchObject({
      passed: true,
      reusedFrom: 'r-1',
      tests: { executed: 3 },
    });
  });

  it('has no baseline where the install step fails on the base commit, which names the program that is missing', async () => {
    const setup = { command: 'no-such-program', source: 'configuration' };
    const { tools, fixture, context, input } = shop;
    const request = { ...input('r-5'), setup };
    expect((await baselineOf(tools, context('r-5'), fixture.project, request)).baseline).toMatchObject({
      passed: false,
      missingTool: 'no-such-program',
      failure: expect.stringContaining('failed with exit code 127'),
    });
  });

  it('keeps no baseline of a run that was cancelled before its report was read', async () => {
    const { tools, fixture, context, input } = shop;
    const cancelled = new AbortController();
    const open = async (spec: SandboxSpec) => {
      const sandbox = await tools.sandboxes.open(spec);
      const run = sandbox.run.bind(sandbox);
      let commands = 0;
      // As a cancellation does between the command and its report.
      const cancelBetween = async (request: CommandRequest) => {
        commands += 1;
        if (commands === 2) {
          cancelled.abort(new Error('cancelled'));
          for (const name of await readdir(spec.home ?? '')) await rm(join(spec.home ?? '', name), { recursive: true });
        }
        return run(request);
      };
      return Object.assign(sandbox, { run: cancelBetween });
    };
    const sandboxes = { ...tools.sandboxes, open };
    const request = { ...input('r-6'), test: { command: 'npm test -- ', source: 'configuration' } };
    await expect(
      baselineOf({ ...tools, sandboxes }, { ...context('r-6'), signal: cancelled.signal }, fixture.project, request),
    ).rejects.toThrow('cancelled');
    expect((await baselineOf(tools, context('r-7'), fixture.project, request)).baseline.tests).toMatchObject({
      executed: 2,
    });
  });

  it('is retried where the sandbox ends the reading of its report', async () => {
    const ended = { exitCode: null, stdout: '', stderr: '[ended by the sandbox: out of memory]\n' };
    await expect(
      startReporting(shop.tools.sandboxes).read({ run: async () => ended } as unknown as Sandbox),
    ).rejects.toThrow('could not be read: [ended by the sandbox: out of memory]');
  });
});
