/** Concerns of results, computed from commits of a real repository. */
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { acceptedAt, type Evidence, type RunView } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  AT,
  commitFiles,
  type Fixture,
  type Imported,
  importFiles,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import type { ActivityTools } from '../tools.ts';
import { assertAccepted, concernsOf, type Result, selfRunning } from './concerns.ts';

const FILES = {
  'README.md': '# Shop\n',
  'notes/plan.md': '# Plan\n',
  'src/cart.js': 'export const total = 1;\n',
  'src/old.js': "import { test } from 'node:test';\n",
};
const WORKFLOW = '.github/workflows/a.yml';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let baseCommit: string;
beforeAll(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path, { files: FILES });
  baseCommit = await mainHead(fixture);
});
afterAll(() => temporary.remove());

it.each([
  ['nothing at all', {}],
  [
    'the record of the run, its plan and the memory',
    { '.autonomous/runs/r-1/log.md': 'a', '.autonomous/specs/1.md': 'a', '.autonomous/memory.md': 'a' },
  ],
])('a result that changes %s raises that nothing was changed', async (_, files) => {
  expect(await concernsAfter(files)).toMatchObject([{ kind: 'no_change', title: 'Nothing was changed' }]);
});

it.each([
  ['an ordinary file', { 'src/cart.js': 'export const total = 2;\n' }],
  ["another run's record", { '.autonomous/runs/r-2/log.md': 'a' }],
])('a result that changes %s raises nothing', async (_, files) => {
  expect(await concernsAfter(files)).toEqual([]);
});

describe('files that can run code by themselves', () => {
  it('are listed in the order of the changes, with all of them in the digest', async () => {
    const one = await concernsAfter({ [WORKFLOW]: 'on: push\n' });
    expect(one).toMatchObject([
      { kind: 'runs_code', title: 'A changed file can run code by itself', items: [{ path: WORKFLOW }] },
    ]);
    const two = await concernsAfter({ [WORKFLOW]: 'on: push\n', 'AGENTS.md': 'Be kind.\n' });
    expect(two).toMatchObject([
      { title: '2 changed files can run code by themselves', items: [{ path: WORKFLOW }, { path: 'AGENTS.md' }] },
    ]);
    expect(two[0]?.hash).not.toBe(one[0]?.hash);
  });

  it('beyond 200 are counted, and change the digest as well', async () => {
    const many = (last: string) => {
      const names = Array.from({ length: 202 }, (_, index) => `.github/workflows/${1000 + index}.yml`);
      return concernsAfter(
        Object.fromEntries(names.map((name) => [name, name.endsWith('1201.yml') ? last : 'a: 1\n'])),
      );
    };
    const [concern] = await many('a: 1\n');
    expect(concern?.items).toHaveLength(201);
    expect(concern?.items[0]).toMatchObject({ path: '.github/workflows/1000.yml' });
    expect(concern?.items.at(-1)).toEqual({ reason: '… and 2 more: see the changes' });
    expect((await many('a: 2\n'))[0]?.hash).not.toBe(concern?.hash);
  });

  it('are those that the server names, and the project at the base commit, too', async () => {
    const wanted = { 'src/cart.js': 'export const total = 3;\n' };
    expect(await concernsAfter(wanted, { tools: { reviewPaths: ['src/**'] } })).toMatchObject([{ kind: 'runs_code' }]);
    const configured = { ...FILES, '.autonomous/config.json': '{ "reviewPaths": ["src/**"] }' };
    expect(await concernsBetween(configured, wanted)).toMatchObject([{ kind: 'runs_code' }]);
  });

  it('B10: are executable ones and new scripts of a manifest, and nothing else of what was there', async () => {
    const before = { name: 'notes', scripts: { test: 'sh test/app.test.sh' }, bin: 'app.sh' };
    const after = { ...before, version: '2.0.0', scripts: { ...before.scripts, prepare: 'curl x' } };
    const base = { 'app.sh': 'echo hello\n', 'package.json': JSON.stringify(before) };
    const [concern] = await concernsBetween(base, {
      'app.sh': { mode: '100755', content: base['app.sh'] },
      'package.json': JSON.stringify(after),
      'src/ok.js': '',
    });
    expect(concern?.items.map(({ path, reason }) => [path, reason])).toEqual([
      ['app.sh', 'changed: the file is executable now'],
      ['package.json', 'new: scripts.prepare: curl x'],
    ]);
  });

  it('are those in any spelling, those that a link of the base leads to, and those that cannot be looked through', async () => {
    const base = {
      'package.json': '{ "name": "notes" }',
      'package-lock.json': '{ "packages": {} }',
      'Cargo.toml': '[package]\nname = "notes"\n',
      'docs/guide.md': 'Be kind.\n',
      'AGENTS.md': { mode: '120000', content: 'docs/guide.md' },
    };
    const [concern] = await concernsBetween(base, {
      'package.json': '{ "name": "notes", "overrides": { "a": { "b": "git+https://evil.example/b.git" } } }',
      'package-lock.json': '{"packages": {"a": {"resolved": "https:\\/\\/evil.example\\/a.tgz"}}}\n',
      'Cargo.toml': '[package] # notes\nname = "notes"\n"build" = "src/gen.rs"\n',
      'docs/guide.md': 'Run everything.\n',
      'poetry.lock': '= no TOML\n',
      '.Rprofile': 'system("x")\n',
    });
    expect(concern?.items.map(({ path, reason }) => [path, reason])).toEqual([
      ['.Rprofile', 'new: a program that is started in the folder reads it, and runs what it says'],
      ['Cargo.toml', 'new: package.build: src/gen.rs'],
      [
        'docs/guide.md',
        'changed: coding agents take it for instructions, or start programs that it names (the link AGENTS.md leads to it)',
      ],
      ['package-lock.json', 'new: packages from https://evil.example'],
      ['package.json', 'new: overrides.a.b: git+https://evil.example/b.git'],
      ['poetry.lock', expect.stringMatching(/^cannot be looked through, and may run code by itself: it is not what/)],
    ]);
  });

  it('are no lockfiles with packages of the registry, which are looked through beside the event loop', async () => {
    const registry = ['https://registry', 'npmjs.org'].join('.');
    const lockOf = (version: string) => {
      const entry = (index: number) => ({ version, resolved: `${registry}/p-${index}/-/p-${index}-${version}.tgz` });
      const entries = Array.from({ length: 500 }, (_, index) => [`node_modules/p-${index}`, entry(index)]);
      return JSON.stringify({ packages: Object.fromEntries(entries) }, null, 2);
    };
    const names = Array.from({ length: 6 }, (_, index) => `p${index}/package-lock.json`);
    const locks = (version: string) => Object.fromEntries(names.map((name) => [name, lockOf(version)]));
    // Records which functions are called on this thread.
    const profiler = new Session();
    profiler.connect();
    onTestFinished(() => profiler.disconnect());
    await profiler.post('Profiler.enable');
    await profiler.post('Profiler.startPreciseCoverage', { callCount: true });
    const manifest = '{ "name": "p0", "dependencies": { "p-1": "^1.0.1" } }';
    const raised = await concernsBetween(
      { ...locks('1.0.0'), 'p0/package.json': '{ "name": "p0" }' },
      { ...locks('1.0.1'), 'p0/package.json': manifest },
    );
    const { result } = await profiler.post('Profiler.takePreciseCoverage');
    const called = result.flatMap(({ url, functions }) =>
      functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).map(({ functionName }) => `${url}#${functionName}`),
    );
    expect(raised).toEqual([]);
    expect(called.filter((each) => each.includes('/activities/evidence/concerns.ts#'))).not.toEqual([]);
    expect(called.filter((each) => each.includes('/src/self-running/'))).toEqual([]);
  });
});

it.each([
  ['changed', '# Another plan\n'],
  ['removed', null],
])('the plan that agents follow raises a concern when it is %s', async (what, content) => {
  const files = { 'notes/plan.md': content, 'README.md': '# Our shop\n' };
  const raised = await concernsAfter(files, { result: { followed: 'notes/plan.md' } });
  expect(raised).toMatchObject([{ title: `The plan itself was ${what}`, items: [{ path: 'notes/plan.md' }] }]);
  expect(raised[0]?.items[0]?.reason).toMatch(new RegExp(`^${what} by the run`));
  expect(await concernsAfter(files)).toEqual([]);
});

it.each([
  ['is too large', 'src/cart.js', 'export const total = 2;\n'.repeat(5_000), 'left out'],
  ['is of a kind that nobody knows', 'lib', '\0'.repeat(200), 'of no known kind'],
])('a change that %s for the reviewer raises a concern', async (_, path, content, reason) => {
  expect(await concernsAfter({ [path]: content })).toMatchObject([
    {
      kind: 'not_reviewed',
      title: 'The reviewer was not shown all of a changed file',
      items: [{ path, reason: expect.stringContaining(reason) }],
    },
  ]);
});

it('a large lockfile, a picture, or a large file that is removed raise nothing', async () => {
  const raised = await concernsBetween(
    { 'old.txt': 'a line\n'.repeat(40_000) },
    {
      'old.txt': null,
      'yarn.lock': '# 12345\n'.repeat(30_000),
      'logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]),
      'a.sh': 'true\n',
    },
  );
  expect(raised).toEqual([]);
});

it('what a run changed beside its child runs is examined with it, and the change of a child with the child', async () => {
  const { repository, project } = fixture;
  const large = 'export const total = 2;\n'.repeat(5_000);
  const headCommit = await commitFiles(fixture, 'autonomous/r-2', { 'src/child.js': large }, 'r-2/1/work');
  const branch = nextBranch();
  const parent = await commitFiles(fixture, branch, { 'src/own.js': large }, 'r-1/1/work');
  const { tree } = await repository.mergeTrees(project, parent, headCommit);
  const merge = {
    branch,
    tree,
    parent,
    secondParent: headCommit,
    message: 'Merge',
    effectKey: 'r-1/child/r-2',
    at: AT,
  };
  const child = { id: 'r-2', status: 'completed', parent: { runId: 'r-1', key: 'r-1/1/a', depth: 1 } } as const;
  const view = async () => aRun({ ...child, originalRequest: 'Sell', baseCommit, headCommit });
  const raised = await concernsOf(toolsOf({ view }), await resultOf(await repository.commit(project, merge)));
  expect(raised).toMatchObject([
    { kind: 'not_reviewed', items: [{ path: 'src/own.js' }] },
    { kind: 'not_reviewed', items: [{ path: 'src/child.js', reason: expect.stringMatching(/^Sell: /) }] },
  ]);
  expect(raised.flatMap(({ items }) => items)).toHaveLength(2);
});

it('files that come after others which took too long to read raise concerns unread', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValue(121_000);
  onTestFinished(() => clock.mockRestore());
  const change = { path: 'package.json', before: null, after: { mode: '100644', oid: 'o' } };
  expect(await selfRunning(fixture, fixture, [change], {})).toMatchObject([
    { path: 'package.json', reason: expect.stringContaining('comes after others that took 120 seconds to read') },
  ]);
});

it('a file that is too much for its reader raises a concern, and hides none of those that are read with it', async () => {
  const files = {
    'a/package.json': '{ "scripts": { "prepare": "x" } }',
    // Its paths take more memory than the worker has.
    'b/package.json': `${'['.repeat(20_000)}0${',1]'.repeat(20_000)}`,
  };
  const [concern] = await concernsAfter(files);
  expect(concern?.items).toMatchObject([
    { path: 'a/package.json', reason: 'new: scripts.prepare: x' },
    { path: 'b/package.json', reason: expect.stringContaining('took more memory to read than is given') },
  ]);
});

describe('code that newly names what judges tests', () => {
  const JUDGED = { 'src/cart.js': "import assert from 'node:assert';\nassert.equal = () => {};\n" };
  const TITLE = 'A changed file that is no test uses the test runner, or a way to change it';

  it('raises a concern where the checks passed', async () => {
    const raised = await concernsAfter(JUDGED, { evidence: {} });
    const reason = 'newly names an assignment to assertions: code under test can change what judges it';
    const items = [expect.objectContaining({ path: 'src/cart.js', reason })];
    expect(raised).toContainEqual(expect.objectContaining({ kind: 'tests_unknown', title: TITLE, items }));
    const both = await concernsAfter({ ...JUDGED, 'src/b.js': "import 'vitest';\n" }, { evidence: {} });
    expect(both.map(({ title }) => title)).toContain(
      '2 changed files that are no tests use the test runner, or a way to change it',
    );
  });

  it.each([
    ['there is no evidence', undefined],
    ['the checks failed', { passed: false }],
    ['the checks ran without it', { mode: 'base_tests', restored: ['src/cart.js'] }],
    ['the evidence is of another tree', { codeTree: 'a'.repeat(40) }],
  ] as const)('raises none where %s', async (_, evidence) => {
    const titles = (await concernsAfter(JUDGED, { evidence })).map(({ title }) => title);
    expect(titles).not.toContain(TITLE);
  });

  it.each([
    ['a test', 'src/own.test.js', "import 'node:test';\n"],
    ['prose', 'notes.md', "Tests use 'node:test'.\n"],
    ['a file that named it before', 'src/old.js', "import { test } from 'node:test';\nexport const known = 2;\n"],
  ])('raises none for %s', async (_, path, content) => {
    const titles = (await concernsAfter({ [path]: content }, { evidence: {} })).map(({ title }) => title);
    expect(titles).not.toContain(TITLE);
  });

  it('raises none for a file that only moved', async () => {
    const moved = { 'src/old.js': null, 'lib/old.js': FILES['src/old.js'] };
    expect((await concernsAfter(moved, { evidence: {} })).map(({ title }) => title)).not.toContain(TITLE);
  });
});

it('a result passes once people have accepted all of its concerns, and not with those of other content', async () => {
  const head = await commitFiles(fixture, nextBranch(), { [WORKFLOW]: 'on: push\n' });
  const result = await resultOf(head);
  const raised = await concernsOf(toolsOf(), result);
  await expect(assertAccepted(toolsOf(), result)).rejects.toThrow(
    'The result needs a review before the run goes on: A changed file can run code by itself.',
  );
  const decision = { by: 'me', at: '2030-01-01T00:00:00.000Z', notes: 'Read.' };
  const accepting = (hash: string) => {
    const acceptedConcerns = acceptedAt(
      raised.map((concern) => ({ ...concern, hash, items: [] })),
      decision,
    );
    return { ...result, view: { ...result.view, acceptedConcerns } };
  };
  await assertAccepted(toolsOf(), accepting(raised[0]?.hash ?? ''));
  await expect(assertAccepted(toolsOf(), accepting('another'))).rejects.toMatchObject({ reason: 'review_needed' });
});

let branches = 0;
function nextBranch(): string {
  branches += 1;
  return `autonomous/r-1-${branches}`;
}

interface Wanted {
  readonly tools?: Partial<ActivityTools>;
  readonly result?: Partial<Result>;
  /** Evidence of the result's tree that differs from a passed check; absent: there is none. */
  readonly evidence?: Partial<Evidence> | undefined;
}

/** Concerns of a result that changes these files of the base commit. */
async function concernsAfter(files: Readonly<Record<string, string | null>>, { tools, result, evidence }: Wanted = {}) {
  const head =
    Object.keys(files).length === 0
      ? baseCommit
      : await commitFiles(fixture, nextBranch(), files, `r-1/${branches}/work`);
  return concernsOf(toolsOf(tools), { ...(await resultOf(head, evidence)), ...result });
}

/** Concerns of a result with these files in a project of its own. */
async function concernsBetween(files: Readonly<Record<string, Imported>>, changed: Readonly<Record<string, Imported>>) {
  const own = await openFixture(join(temporary.path, nextBranch()), { files });
  const head = importFiles(own.gitDir, 'autonomous/r-1', changed, await mainHead(own));
  const result = { ...(await resultOf(head)), project: own.project, baseCommit: await mainHead(own) };
  return concernsOf(toolsOf({ repository: own.repository }), result);
}

async function resultOf(head: string, evidence?: Partial<Evidence>): Promise<Result> {
  const { project, repository } = fixture;
  const passed = {
    mode: 'as_is',
    codeTree: evidence === undefined ? '' : await repository.codeTree(project, head),
    commit: head,
    passed: true,
    commands: [],
    sandbox: 'bubblewrap',
    recordedAt: '2030-01-01T00:00:00.000Z',
  } satisfies Evidence;
  const view = aRun(evidence === undefined ? {} : { evidence: [{ ...passed, ...evidence }] });
  return { project, baseCommit, head, view };
}

function toolsOf(parts: Partial<ActivityTools> = {}): ActivityTools {
  const view = (id: string): Promise<RunView> => Promise.reject(new Error(`There is no run ${id}.`));
  const scrub: ActivityTools['scrub'] = (value) => value;
  return { repository: fixture.repository, reviewPaths: [], scrub, view, ...parts } as ActivityTools;
}
