/** Folders that a hostile command has left behind, by a real sandbox where there is one. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBubblewrapProvider } from '../sandboxes/bubblewrap.ts';
import { TEST_LIMITS } from '../sandboxes/sandbox.contract.ts';
import { longNames, nestDeeply } from './deep-folders.fixture.ts';
import { closeFolder, removeAbandonedFolders } from './work-folders.ts';

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
