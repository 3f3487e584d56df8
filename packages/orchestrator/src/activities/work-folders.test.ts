/** Folders that a hostile command has left behind, by a real sandbox where there is one. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { mainHead, openFixture } from '../repository/git-fixture.fixture.ts';
import { createBubblewrapProvider } from '../sandboxes/bubblewrap/bubblewrap.ts';
import { TEST_LIMITS } from '../sandboxes/sandbox.contract.ts';
import type { ActivityTools } from './tools.ts';
import { longNames, nestDeeply } from './deep-folders.fixture.ts';
import { DependencyCache } from './install/dependency-cache.ts';
import { closeFolder, installedInto, openFolder, removeAbandonedFolders, runFolder } from './work-folders.ts';

const provider = createBubblewrapProvider();
const bubblewrap = await provider.availability();

describe('the work folders of runs', () => {
  let base: string;
  let said: unknown[];
  const log = { warn: (...what: unknown[]) => void said.push(what) };
  beforeEach(async () => {
    base = await mkdtemp(path.join(tmpdir(), 'work-folders-'));
    said = [];
  });
  // Node itself removes nothing that lies too deep.
  afterEach(() => void execFileSync('rm', ['-rf', '--', base]));

  it.skipIf(!bubblewrap.ok)('are closed, however deep a command in a sandbox has nested folders', async () => {
    const folder = path.join(base, 'r-1', 'implementation');
    await mkdir(folder, { recursive: true });
    const sandbox = await provider.open({ key: 'r-1/7', folder, readOnly: [], network: 'none', limits: TEST_LIMITS });
    const command = `bash -c 'n=$(printf %0250d 0); for i in {1..20}; do mkdir $n && cd $n || exit; done'`;
    expect(await sandbox.run({ command, timeoutMs: 20_000 })).toMatchObject({ exitCode: 0 });
    await sandbox.dispose();
    await closeFolder(folder);
    expect(await readdir(path.join(base, 'r-1'))).toEqual([]);
  });

  it('that are abandoned are removed, however deep', async () => {
    for (const run of ['r-1', 'r-2', 'r-3']) await mkdir(path.join(base, run));
    nestDeeply(path.join(base, 'r-2'));
    await removeAbandonedFolders(base, new Set(['r-3']), log);
    expect(await readdir(base)).toEqual(['r-3']);
    expect(said).toEqual([]);
  });

  it('that cannot be removed keep no server from starting, nor others from being removed', async () => {
    const work = path.join(base, ...longNames(base, 3_900));
    await mkdir(work, { recursive: true });
    // Its path is longer than any may be: nobody can name it from outside.
    const left = 'x'.repeat(240);
    execFileSync('mkdir', ['a', left, 'z'], { cwd: work });
    await removeAbandonedFolders(work, new Set(), log);
    expect(await readdir(work)).toEqual([left]);
    expect(said).toEqual([[expect.objectContaining({ runId: left }), expect.any(String)]]);
  });
});

describe.skipIf(!bubblewrap.ok)('a work folder with what an install step left', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(path.join(tmpdir(), 'work-folders-'));
  });
  afterEach(() => void execFileSync('rm', ['-rf', '--', base]));

  /** @returns opens the folder of a run, as often as it is called */
  const opening = async (command: string) => {
    const fixture = await openFixture(base);
    const treeish = await mainHead(fixture);
    const tools = {
      repository: fixture.repository,
      sandboxes: provider,
      dependencies: new DependencyCache({ folder: path.join(base, 'dependencies'), maxBytes: 1e9 }),
      workFolder: path.join(base, 'work'),
      limits: TEST_LIMITS,
      egress: () => Promise.resolve([]),
      scrub: (text: string) => text,
      view: () => Promise.resolve({ baseCommit: treeish, config: { commands: {} } }),
      // The other ports have no part in it.
    } as never as ActivityTools;
    const { signal } = new AbortController();
    const request = { project: fixture.project, runId: 'r-1', treeish, excludePaths: [], signal, progress: () => {} };
    const setup = { command, source: 'package.json' };
    const open = () => openFolder(tools, { ...request, name: 'implementation', setup });
    return { open, folder: path.join(runFolder(tools, 'r-1'), 'implementation') };
  };

  it.each([
    ['few folders with long names', '250', '20'],
    ['thousands of folders', '1', '2200'],
  ])('is not opened where that cannot be copied: %s', async (_what, length, depth) => {
    // In a shell, a change of folder takes longer the deeper it is.
    const nest = `for (let at = 0; at < ${depth}; at += 1) { fs.mkdirSync(name); process.chdir(name); }`;
    const script = `const fs = require('node:fs'); const name = '0'.repeat(${length}); ${nest} fs.writeFileSync('file', '')`;
    const { open, folder } = await opening(`mkdir deep && cd deep && node -e "${script}"`);
    const failure = {
      name: 'NeedsHuman',
      reason: 'setup_failed',
      message: expect.stringMatching(/^What the install step left cannot be copied.* too long: .*deep\/0.*retry\.$/),
    };
    await expect(open()).rejects.toMatchObject(failure);
    const said = await open().then(String, String);
    expect(said.length).toBeLessThan(800);
    expect(said).not.toContain(base);
    expect(await readdir(path.dirname(folder))).toEqual([]);
    expect(await installedInto(folder)).toBeNull();
  });

  it('is not opened where no process can copy that, and is when one can again', async () => {
    const { open, folder } = await opening('echo x > made');
    await open();
    const without = path.join(base, 'bin');
    await mkdir(without);
    const names = (await readdir('/usr/bin')).filter((name) => name !== 'cp');
    await Promise.all(names.map((name) => symlink(path.join('/usr/bin', name), path.join(without, name))));
    vi.stubEnv('PATH', without);
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(open()).rejects.toMatchObject({
      name: 'NeedsHuman',
      reason: 'setup_failed',
      message: expect.stringMatching(/cp cannot be started \(spawn cp ENOENT\)\. Check whether cp is installed/),
    });
    vi.unstubAllEnvs();
    expect(await readdir(path.dirname(folder))).toEqual([]);
    await open();
    expect(await readdir(folder)).toContain('made');
  });
});
