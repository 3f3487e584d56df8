/**
 * Measures what a large project costs: a checkout, taking back an agent's two changes, and one check of the project, each beside
 * git's own work on the same tree in the same run: `git worktree add`, `git status`, and the bare command in a work tree.
 *
 * checkoutVsWorktree: checkout over `git worktree add` · importMs: taking two changes back · cycleVsWorktree: checkout and
 * import over `git worktree add` and `git status` · checkVsBare: checkout, command in a sandbox and removal, over the same with
 * `git worktree` and a bare shell.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { InvalidRequest } from '@autonomous/shared';
import { createGitRepository } from '../src/repository/git-repository.ts';
import { createBubblewrapProvider } from '../src/sandboxes/bubblewrap/bubblewrap.ts';
import type { BenchResult } from './bench.ts';

export const name = 'checkout';
export const description = 'checkout, import and one check of 60,000 files, beside git worktree and a bare command';

const MB = 1024 * 1024;
const LIMITS = { memoryBytes: 4_096 * MB, fileBytes: 1_024 * MB, processes: 512, cpuSeconds: 3_600 };
const PEOPLE = ['-c', 'user.name=Person', '-c', 'user.email=person@example.test'];
/** Stands for a project's tests. */
const COMMAND = 'test -f p0/m0/d0/f0.js';

/**
 * @param options `--files N` (default 60000) and `--rounds N` (default 1), measured in turns
 * @throws {InvalidRequest} for other options
 */
export async function run(options: readonly string[]): Promise<BenchResult> {
  const { files, rounds } = readOptions(options);
  const root = await mkdtemp(path.join(tmpdir(), 'bench-checkout-'));
  const samples = new Map<string, number[]>();
  const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const from = performance.now();
    await work();
    samples.set(what, [...(samples.get(what) ?? []), performance.now() - from]);
  };
  try {
    const seed = await makeProject(path.join(root, 'seed'), files);
    const repository = createGitRepository({
      folder: path.join(root, 'mirrors'),
      author: { name: 'Bench', email: 'bench@example.test' },
    });
    const project = { id: 'bench', repository: seed, baseBranch: 'main' };
    await timed('fetch', () => repository.fetch(project));
    const head = (await repository.remoteHead(project, 'main')) ?? '';
    const base = await repository.treeOf(project, head);
    const provider = createBubblewrapProvider();
    const available = await provider.availability();
    for (let round = 0; round < rounds; round += 1) {
      const bare = path.join(root, `bare-${round}`);
      const work = path.join(root, `work-${round}`);
      await timed('git worktree add', () => git(seed, 'worktree', 'add', '--quiet', '--detach', bare, 'main'));
      await timed('checkout', () => repository.checkout(project, base, work, []));
      await Promise.all([bare, work].map(change));
      await timed('git status', () => git(bare, 'status', '--porcelain'));
      await timed('import', async () => {
        const { files: changed } = await repository.importFolder(project, {
          folder: work,
          baseTree: base,
          excludePaths: [],
        });
        if (changed.length !== 2) throw new Error(`The import found ${changed.length} changes instead of 2`);
      });
      await timed('bare command', () => promisify(execFile)('/bin/sh', ['-c', COMMAND], { cwd: bare }));
      if (available.ok) {
        await timed('command in a sandbox', async () => {
          const spec = { key: 'bench', folder: work, readOnly: [], network: 'none', limits: LIMITS } as const;
          const sandbox = await provider.open(spec);
          const { exitCode, stderr } = await sandbox.run({ command: COMMAND, timeoutMs: 600_000 });
          await sandbox.dispose();
          if (exitCode !== 0) throw new Error(`The command ended with ${exitCode}: ${stderr}`);
        });
      }
      await timed('git worktree remove', () => git(seed, 'worktree', 'remove', '--force', bare));
      await timed('removal', () => rm(work, { recursive: true, force: true }));
    }
    const notes = available.ok ? [] : [`No check is measured: ${available.reason}. ${available.remedy}`];
    return { ...result(files, samples), notes };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

function readOptions(options: readonly string[]): { readonly files: number; readonly rounds: number } {
  try {
    const { values } = parseArgs({
      args: [...options],
      options: { files: { type: 'string', default: '60000' }, rounds: { type: 'string', default: '1' } },
    });
    const [files, rounds] = [Number(values.files), Number(values.rounds)];
    const isCount = (value: number, most: number): boolean => Number.isInteger(value) && value > 0 && value <= most;
    if (isCount(files, 200_000) && isCount(rounds, 100)) return { files, rounds };
  } catch {
    // Said below.
  }
  throw new InvalidRequest(
    'Usage: npm run bench -- checkout [--files N] [--rounds N], with up to 200000 files and 100 rounds',
  );
}

/** Folders ten files wide and sizes as in real trees: most of a few kilobytes, some of a few hundred. */
async function makeProject(folder: string, files: number): Promise<string> {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < files; index += 1) {
    const inside = path.join(
      folder,
      `p${index % 40}`,
      `m${Math.floor(index / 40) % 30}`,
      `d${Math.floor(index / 1_200) % 5}`,
    );
    mkdirSync(inside, { recursive: true });
    const bytes = Math.round(Math.exp(7 + 2.2 * Math.sin(index) * Math.cos(index * 7)) * (index % 997 === 0 ? 30 : 1));
    const line = `export const value${index} = ${index};\n`;
    writeFileSync(path.join(inside, `f${index}.js`), line.repeat(Math.ceil(bytes / line.length)));
  }
  await git(folder, 'init', '--quiet', '--initial-branch=main');
  await git(folder, 'add', '--all');
  await git(folder, ...PEOPLE, 'commit', '--quiet', '--message', 'Everything');
  // As a clone has them: git reads single objects far slower.
  await git(folder, 'repack', '-a', '-d', '--quiet');
  return folder;
}

async function change(folder: string): Promise<void> {
  await appendFile(path.join(folder, 'p0/m0/d0/f0.js'), '// changed\n');
  await appendFile(path.join(folder, 'p1/new.js'), '// new\n');
}

async function git(cwd: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)('git', args, { cwd, maxBuffer: 64 * MB });
}

function result(files: number, samples: ReadonlyMap<string, readonly number[]>): Omit<BenchResult, 'notes'> {
  const median = (what: string): number => {
    const sorted = (samples.get(what) ?? []).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  };
  const sum = (...parts: readonly string[]): number => parts.reduce((total, part) => total + median(part), 0);
  const ratio = (ours: number, theirs: number): number => Math.round((ours / theirs) * 100) / 100;
  const hasCheck = samples.has('command in a sandbox');
  return {
    table: {
      columns: ['what', 'median ms'],
      rows: [...samples.keys()].map((what) => [what, Math.round(median(what))]),
    },
    figures: {
      files,
      checkoutMs: Math.round(median('checkout')),
      worktreeMs: Math.round(median('git worktree add')),
      checkoutVsWorktree: ratio(median('checkout'), median('git worktree add')),
      importMs: Math.round(median('import')),
      statusMs: Math.round(median('git status')),
      cycleVsWorktree: ratio(sum('checkout', 'import'), sum('git worktree add', 'git status')),
      checkVsBare: hasCheck
        ? ratio(
            sum('checkout', 'command in a sandbox', 'removal'),
            sum('git worktree add', 'bare command', 'git worktree remove'),
          )
        : null,
    },
  };
}
