/** Evidence of commits: the test command in a real sandbox, on checkouts of a real repository. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityContext } from '../../core/activity.ts';
import {
  commitFiles,
  type Fixture,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import { createBubblewrapProvider } from '../../sandboxes/bubblewrap/bubblewrap.ts';
import { TEST_LIMITS } from '../../sandboxes/sandbox.contract.ts';
import type { ActivityTools } from '../tools.ts';
import type { CheckInput } from '../types.ts';
import { DependencyCache } from '../install/dependency-cache.ts';
import { BaselineCache } from './baseline-cache.ts';
import { baselineOf } from './baseline.ts';
import { check } from './check.ts';
import { CheckedTrees } from './checked-trees.ts';

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
const provider = createBubblewrapProvider();
const bubblewrap = await provider.availability();

describe.skipIf(!bubblewrap.ok)('a check', () => {
  let temporary: ReturnType<typeof temporaryFolder>;
  let fixture: Fixture;
  let tools: ActivityTools;
  const notes: string[] = [];
  beforeAll(async () => {
    temporary = temporaryFolder();
    fixture = await openFixture(temporary.path, { files: FILES });
    const { repository, project } = fixture;
    tools = {
      repository,
      sandboxes: provider,
      limits: TEST_LIMITS,
      setupTimeoutMs: 10_000,
      dependencies: new DependencyCache({ folder: join(temporary.path, 'dependencies'), maxBytes: 1e9 }),
      workFolder: join(temporary.path, 'work'),
      baselines: new BaselineCache(join(temporary.path, 'baselines')),
      checkedTrees: new CheckedTrees(join(temporary.path, 'checked')),
      egress: async () => [],
      scrub: (text: string) => text,
      view: async () => ({ config: { commands: {} } }),
      project: async () => project,
      // The other ports have no part in it.
    } as unknown as ActivityTools;
  });
  afterAll(() => temporary.remove());

  /** Evidence of a commit with these files, by the run of that number. */
  const checked = async (run: number, mode: CheckInput['mode'], files: Readonly<Record<string, string>>) => {
    const commit = await commitFiles(fixture, `autonomous/r-${run}`, files);
    const input = { ...inputOf(run, await mainHead(fixture)), mode, commit } as unknown as CheckInput;
    return check(tools).perform(input, contextOf(input.runId));
  };
  const inputOf = (run: number, baseCommit: string) => ({
    runId: `r-${run}`,
    projectId: 'p-1',
    baseCommit,
    test: { command: 'npm test', source: 'package.json' },
    setup: null,
    excludePaths: [],
    timeoutMinutes: 1,
  });
  const contextOf = (runId: string): ActivityContext => {
    const progress = ({ kind, text }: { readonly kind: string; readonly text: string }) =>
      kind === 'note' && notes.push(text);
    const context = { key: `${runId}/1/check`, runId, signal: new AbortController().signal, progress };
    return context as unknown as ActivityContext; // Nothing else is asked for.
  };

  it('counts the tests of an honest result, and those of the base commit without the ones that are new', async () => {
    const count = { runner: 'node:test', failed: 0, skipped: 0, finished: true };
    const asIs = await checked(1, 'as_is', SUB);
    expect(asIs).toMatchObject({ passed: true, restored: [], sandbox: 'bubblewrap' });
    expect(asIs.tests).toEqual({ ...count, executed: 3 });
    expect(asIs).not.toHaveProperty('changedTests');
    const withBase = await checked(1, 'base_tests', SUB);
    expect(withBase).toMatchObject({ passed: true, restored: ['test/sub.test.js'], tests: { ...count, executed: 2 } });
    expect(withBase.baseline).toMatchObject({ passed: true, tests: { ...count, executed: 2 } });
    expect(withBase).not.toHaveProperty('doubtful');
  });

  it('tells of tests that are gone, that assert less, and that were written while they ran', async () => {
    const rewriting = `import { appendFileSync } from 'node:fs';\nappendFileSync('test/add.test.js', '\\n');\n`;
    const asIs = await checked(2, 'as_is', {
      'src/add.js': rewriting + FILES['src/add.js'],
      'test/add.test.js': testOf('add', ADDS),
    });
    expect(asIs).toMatchObject({
      passed: true,
      tests: { executed: 1, notRun: ['test/add.test.js: adds nothing'], rewritten: ['test/add.test.js'] },
      changedTests: [{ path: 'test/add.test.js', linesRemoved: 1, assertionsBefore: 2, assertions: 1 }],
    });
  });

  it('puts back what decides about the tests, leaves the product, and says what may be missing', async () => {
    const files = {
      'package.json': FILES['package.json'].replace('node --test', 'true'),
      'requirements.txt': 'requests==2.0.0\n',
      'src/add.js': "console.log('Could not find Chrome');\nexport const add = (a, b) => a - b;\n",
    };
    expect(await checked(3, 'as_is', files)).toMatchObject({
      passed: true,
      newDependencies: [{ name: 'requests', version: '==2.0.0', file: 'requirements.txt' }],
    });
    const withBase = await checked(3, 'base_tests', files);
    expect(withBase).toMatchObject({ passed: false, restored: ['package.json'], tests: { executed: 2, failed: 1 } });
    expect(withBase).not.toHaveProperty('failsAsBefore');
    expect(notes).toEqual([expect.stringMatching(/^A browser of the tests needs its install script/)]);
  });

  it('is not made again for code that passed it, in whichever run', async () => {
    expect(await checked(4, 'as_is', SUB)).toMatchObject({ passed: true, reusedFrom: 'r-1', tests: { executed: 3 } });
  });

  it('has no baseline where the install step fails on the base commit, which names the program that is missing', async () => {
    const setup = { command: 'no-such-program', source: 'configuration' };
    const input = { ...inputOf(5, await mainHead(fixture)), setup } as unknown as CheckInput;
    expect((await baselineOf(tools, contextOf('r-5'), fixture.project, input)).baseline).toMatchObject({
      passed: false,
      missingTool: 'no-such-program',
      failure: expect.stringContaining('failed with exit code 127'),
    });
  });
});
