/**
 * Answers of a server while it reads files that strangers made to be slow, beside those of an idle server on the same machine at the same
 * time: real servers, real git, and files at their largest, in many, and of characters that cost most.
 *
 * A server that ends, and a run that finds no fault with its files, fail the benchmark.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Client, createClient } from '@autonomous/shared/client';
import { type ServerProcess, startServerProcess } from '../test/fixtures/server-process.fixture.ts';
import type { BenchResult } from './bench.ts';
import { readNumbers } from './contest/options.ts';
import { percentile, ratio, rounded } from './contest/statistics.ts';

export const name = 'foreign-text';
export const description = 'answers of a server that reads files made to be slow, beside those of an idle one';

const SCRIPT = fileURLToPath(new URL('../demo/login.script.yaml', import.meta.url));
const PROBE_MS = 10;
const PATIENCE_MS = 300_000;
const BACKLOG = '| ID | Title | Status | Spec |\n|---|---|---|---|\n| A-1 | First | queued | features/none.md |\n';

type Files = Readonly<Record<string, string>>;

interface Case {
  readonly name: string;
  readonly files: Files;
  /** Folders of 1,000 files more. */
  readonly folders?: number;
  /** Has the server read them. */
  readonly drive: (client: Client, projectId: string) => Promise<unknown>;
}

const many = (count: number, pathOf: (index: number) => string, text: string): Files =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [pathOf(index), text]));
const spec = (index: number): string => `ai/features/x-${index}.md`;
const line = {
  run: '1',
  runner: 'node:test',
  event: 'test',
  name: 'adds 1 and 2',
  file: 'a.test.js',
  outcome: 'failed',
};
const test = `yes '${JSON.stringify(line)}'`;
const oneLine = String.raw`yes '{"' | tr -d '\n'`;
const CASES: readonly Case[] = [
  // Controls: the same work on an ordinary project.
  { name: 'control: an ordinary plan', files: {}, drive: faulty('phased-plan', { planPath: 'none.md' }) },
  { name: 'control: an ordinary check', files: {}, drive: checked('echo fine') },
  {
    name: '60 specs of 500 kB',
    files: { 'ai/backlog.md': BACKLOG, ...many(60, spec, '\r'.repeat(500_000)) },
    drive: faulty('backlog'),
  },
  {
    name: '1,000 specs of 5 kB',
    files: { 'ai/backlog.md': BACKLOG, ...many(1_000, spec, '\r'.repeat(5_000)) },
    drive: faulty('backlog'),
  },
  { name: 'backlog of 5 MB', files: { 'ai/backlog.md': '\r'.repeat(5_000_000) }, drive: faulty('backlog') },
  { name: 'backlog of 1 MB', files: { 'ai/backlog.md': '\r'.repeat(1_000_000) }, drive: faulty('backlog') },
  {
    name: 'plan of 500 kB',
    files: { 'plan.md': '\r'.repeat(500_000) },
    drive: faulty('phased-plan', { planPath: 'plan.md' }),
  },
  {
    name: 'roadmap of 1,000 items',
    files: { 'roadmap/roadmap.json': roadmap() },
    drive: (client, id) => client.getRoadmap(id),
  },
  { name: 'tree of 300,000 files', files: {}, folders: 300, drive: faulty('phased-plan', { planPath: 'none.md' }) },
  { name: 'checks of 300,000 files', files: {}, folders: 300, drive: checked('echo fine') },
  { name: 'test report of 8 MB', files: {}, drive: checked(`${test} | head -c 8000000 > "$AUTONOMOUS_TEST_REPORT"`) },
  {
    name: 'test report of one line',
    files: {},
    drive: checked(`${oneLine} | head -c 8000000 > "$AUTONOMOUS_TEST_REPORT"`),
  },
  {
    name: 'output of 200 MB',
    files: {},
    drive: checked('yes "Of $(date) and an ordinary line of a log" | head -c 200000000'),
  },
  { name: 'output of one line of 200 MB', files: {}, drive: checked(`${oneLine} | head -c 200000000`) },
];

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { rounds } = readNumbers(args, { rounds: 3 });
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-bench-'));
  const [busy, idle] = await Promise.all(['busy', 'idle'].map((each) => serverIn(path.join(folder, each))));
  if (busy === undefined || idle === undefined) throw new Error('Two servers are compared');
  try {
    const client = createClient({ baseUrl: busy.url, token: busy.token });
    const rows: (readonly [string, number, number, number])[] = [];
    for (const [index, each] of CASES.entries()) {
      const repository = await repositoryOf(path.join(folder, `project-${index}`), each);
      const { id } = await client.createProject({ name: `case-${index}`, repository });
      const times = { busy: [] as number[], idle: [] as number[] };
      const driven = Array.from({ length: rounds }).reduce<Promise<unknown>>(
        (before) => before.then(() => each.drive(client, id)),
        Promise.resolve(),
      );
      await Promise.all([probe(busy, times.busy, driven), probe(idle, times.idle, driven), driven]);
      const [p99, besides] = [percentile(times.busy, 99) ?? 0, percentile(times.idle, 99) ?? 0];
      rows.push([each.name, rounded(p99), rounded(besides), rounded(ratio(p99, besides) ?? 0)]);
    }
    return {
      table: { columns: ['files', 'p99 ms', 'idle p99 ms', 'ratio'], rows },
      figures: Object.fromEntries(rows.map(([file, p99Ms, idleP99Ms, times]) => [file, { p99Ms, idleP99Ms, times }])),
    };
  } finally {
    await Promise.all([busy.end('SIGTERM'), idle.end('SIGTERM')]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function serverIn(folder: string): Promise<ServerProcess> {
  await mkdir(folder, { recursive: true });
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, LOG_LEVEL: 'warn', AUTONOMOUS_SCRIPT: SCRIPT };
  return startServerProcess({ dataFolder: path.join(folder, 'data'), port: '0', env });
}

/** @returns path of the repository */
async function repositoryOf(folder: string, { files, folders = 0 }: Case): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
  const git = (...args: readonly string[]) =>
    promisify(execFile)('git', ['-C', folder, '-c', 'user.name=Bench', '-c', 'user.email=bench@example.org', ...args]);
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', '--all');
  await git('commit', '--quiet', '--allow-empty', '--message=Files');
  if (folders > 0) await addFolders(folder, folders);
  return folder;
}

/** Adds folders of 1,000 files each, in the repository alone: all have the same tree. */
async function addFolders(folder: string, folders: number): Promise<void> {
  const git = (input: string, ...args: readonly string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=Bench', '-c', 'user.email=bench@example.org', ...args], {
      input,
      encoding: 'utf8',
    }).trim();
  const blob = git('One.\n', 'hash-object', '-w', '--stdin');
  const entries = (count: number, entry: string, name: string) =>
    Array.from({ length: count }, (_, index) => `${entry}\t${name}-${index}`).join('\n');
  const tree = git(`${entries(1_000, `100644 blob ${blob}`, 'file')}\n`, 'mktree');
  const root = git(`${entries(folders, `040000 tree ${tree}`, 'a-folder-of-the-project')}\n`, 'mktree');
  git('', 'reset', '--quiet', '--soft', git('', 'commit-tree', '-m', 'Folders', '-p', 'HEAD', root));
}

/** Milliseconds of each answer until the work is done. */
async function probe({ url }: ServerProcess, times: number[], work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  const end = (): void => done.abort();
  void work.then(end, end);
  while (!done.signal.aborted) {
    const began = performance.now();
    const answer = await fetch(`${url}/healthz`);
    await answer.text();
    times.push(performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
  }
}

/** A run that fails or stops at a gate, as its files cannot be used. */
function faulty(workflow: string, input: Readonly<Record<string, string>> = {}): Case['drive'] {
  return async (client, projectId) => {
    const { id } = await client.launchRun({ projectId, workflow, request: 'Work', input });
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const { gate, status } = await client.getRun(id);
      if (status === 'failed') return;
      if (gate !== null) break;
      if (status === 'completed' || performance.now() > until) throw new Error(`Run ${id} of ${workflow} is ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await client.cancelRun(id, 'It has read its files');
  };
}

/** A run whose checks run this command: they run on the base commit. */
function checked(command: string): Case['drive'] {
  return async (client, projectId) => {
    const config = { commands: { setup: null, test: `${command}; : ${performance.now()}` } };
    const { id } = await client.launchRun({ projectId, request: 'Create login flow with OAuth', config });
    const until = performance.now() + PATIENCE_MS;
    while ((await client.getRun(id)).baseline === undefined) {
      if (performance.now() > until) throw new Error(`The checks of run ${id} came to no end on its base commit`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await client.cancelRun(id, 'What its checks gave was read');
  };
}

function roadmap(): string {
  const ids = Array.from({ length: 1_000 }, (_, index) => `item-${index}`);
  const items = ids.map((id, index) => ({
    id,
    title: id,
    type: 'feature',
    moscow: 'must-have',
    status: 'not-started',
    health: 'on-track',
    timeHorizon: 'now',
    dependencies: ids.slice(Math.max(0, index - 100), index),
  }));
  return JSON.stringify({ items });
}
