/**
 * Fifty runs at once on one project, each of which merges its change: real git, agents and checks in sandboxes, a scripted model,
 * the server in a process of its own. Beside it, git alone merges as many branches of the same kind one after the other, with
 * the same test command before each push: the least that a merge into a base that moves costs on this machine.
 *
 * A change that is missing on the base in the end, or a run that is not completed, fails the benchmark.
 *
 * Options: --runs N
 */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { FINAL_STATUSES } from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { type DemoPlace, makePlace, removePlace } from '../demo/place.ts';
import { decide } from '../test/fixtures/demo-server.fixture.ts';
import { startServerProcess } from '../test/fixtures/server-process.fixture.ts';
import type { BenchResult } from './bench.ts';
import { readNumbers } from './contest/options.ts';
import { describeProbe, probeMachine } from './contest/processes.ts';
import { rounded } from './contest/statistics.ts';

export const name = 'merges';
export const description = 'fifty runs at once that merge into one branch, beside git alone';

const LOOK_MS = 500;
/** A run waits for all that merge before it. */
const STALLED_MS = 600_000;
const TEST = 'npm test';

const execute = promisify(execFile);

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { runs } = readNumbers(args, { runs: 50 });
  const changes = Array.from({ length: runs }, (_, index) => `change-${String(index + 1).padStart(3, '0')}`);
  const place = await makePlace(null, null);
  try {
    const probe = probeMachine(place.folder);
    const gitS = await mergeByGit(place, changes);
    const ownS = await mergeByRuns(place, changes);
    const perMinute = (seconds: number) => rounded((60 * runs) / seconds);
    return {
      table: {
        columns: ['runs', 'merges a minute', 'git alone', 'times as long'],
        rows: [[runs, perMinute(ownS), perMinute(gitS), rounded(ownS / gitS)]],
      },
      notes: [
        'From the first request to the last merge, with planning, implementation and the checks of each run.',
        describeProbe([probe]),
      ],
      figures: {
        runs,
        mergesPerMinute: perMinute(ownS),
        gitMergesPerMinute: perMinute(gitS),
        timesAsLong: rounded(ownS / gitS),
      },
    };
  } finally {
    await removePlace(place, false);
  }
}

/** @returns seconds */
async function mergeByGit(place: DemoPlace, changes: readonly string[]): Promise<number> {
  const [remote, clone] = [path.join(place.folder, 'alone.git'), path.join(place.folder, 'alone')];
  await git(place.folder, 'clone', '--quiet', '--bare', place.remote, remote);
  await git(place.folder, 'clone', '--quiet', remote, clone);
  for (const change of changes) {
    await git(clone, 'checkout', '--quiet', '-b', change, 'origin/main');
    await writeFile(path.join(clone, `${change}.txt`), `${change}\n`);
    await git(clone, 'add', '--all');
    await git(clone, 'commit', '--quiet', '--message', change);
    await git(clone, 'push', '--quiet', 'origin', change);
  }
  await git(clone, 'checkout', '--quiet', 'main');
  const from = performance.now();
  for (const change of changes) {
    await git(clone, 'fetch', '--quiet', 'origin');
    await git(clone, 'merge', '--quiet', '--squash', `origin/${change}`);
    await execute('npm', ['test'], { cwd: clone });
    await git(clone, 'commit', '--quiet', '--message', change);
    await git(clone, 'push', '--quiet', 'origin', 'main');
  }
  const seconds = (performance.now() - from) / 1_000;
  await assertMerged(remote, changes);
  return seconds;
}

/** @returns seconds */
async function mergeByRuns(place: DemoPlace, changes: readonly string[]): Promise<number> {
  await mkdir(place.data, { recursive: true });
  const script = path.join(place.folder, 'merges.script.json');
  await writeFile(script, JSON.stringify(scriptOf(changes)));
  const { PATH = '', HOME = '' } = process.env;
  const server = await startServerProcess({
    dataFolder: place.data,
    port: '0',
    env: {
      PATH,
      HOME,
      AUTONOMOUS_SCRIPT: script,
      MAX_CONCURRENT_RUNS_PER_USER: String(changes.length),
      LOG_LEVEL: 'warn',
    },
  });
  try {
    const client = createClient({ baseUrl: server.url, token: server.token });
    const { id } = await client.createProject({ name: 'notes', repository: place.remote });
    const from = performance.now();
    await Promise.all(changes.map((change) => merge(client, id, change)));
    const seconds = (performance.now() - from) / 1_000;
    await assertMerged(place.remote, changes);
    return seconds;
  } finally {
    await server.end('SIGTERM');
  }
}

async function merge(client: Client, projectId: string, change: string): Promise<void> {
  const { id } = await client.launchRun({
    projectId,
    request: `Add ${change}.`,
    config: { trustMode: { planning: 'auto' }, git: { autoMerge: true }, commands: { test: TEST } },
  });
  let sequence = 0;
  let movedAt = performance.now();
  while (true) {
    const view = await client.getRun(id);
    if (view.status === 'completed') {
      if (view.merged === undefined) throw new Error(`The run of ${change} is completed and not merged`);
      return;
    }
    if (FINAL_STATUSES.has(view.status) || view.status === 'paused')
      throw new Error(`The run of ${change} is ${view.status}: ${view.gate?.summary ?? 'without a reason'}`);
    if (view.gate) await decide(client, view.gate);
    if (view.lastSequence > sequence) movedAt = performance.now();
    else if (performance.now() - movedAt > STALLED_MS)
      throw new Error(`The run of ${change} has come no further than ${view.currentStage ?? view.status}`);
    sequence = view.lastSequence;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** Each run finds its calls by its request, which stands in all its prompts. */
function scriptOf(changes: readonly string[]) {
  const call = (change: string, ...tools: readonly object[]) => ({
    when: { contains: `BEGIN request =====\nAdd ${change}.` },
    turns: tools.map((tool) => ({ tools: [tool] })),
  });
  const plan = (change: string) => `# Add ${change}\n\n\`\`\`mermaid\nflowchart LR\n  a --> b\n\`\`\`\n\nOne file.\n`;
  const passed = { verdict: 'pass', severity: 'minor', summary: 'It is there.', feedback: '' };
  return {
    name: 'merges',
    description: 'Each run adds a file of its own.',
    roles: {
      planner: changes.map((change) =>
        call(change, { name: 'finish', input: { title: `Add ${change}`, plan: plan(change) } }),
      ),
      implementer: changes.map((change) =>
        call(
          change,
          { name: 'write', input: { path: `${change}.txt`, content: `${change}\n` } },
          { name: 'finish', input: { summary: `Added ${change}.` } },
        ),
      ),
      validator: changes.map((change) => call(change, { name: 'finish', input: passed })),
    },
  };
}

/** @throws {Error} when the base lacks one of the changes */
async function assertMerged(remote: string, changes: readonly string[]): Promise<void> {
  const files = new Set((await git(remote, 'ls-tree', '-r', '--name-only', 'main')).split('\n'));
  const missing = changes.filter((change) => !files.has(`${change}.txt`));
  if (missing.length > 0) throw new Error(`main lacks ${missing.join(', ')}`);
}

async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const who = ['user.name=Bench', 'user.email=bench@example.test', 'core.hooksPath=/dev/null', 'commit.gpgSign=false'];
  const { stdout } = await execute('git', [...who.flatMap((each) => ['-c', each]), ...args], { cwd: folder });
  return stdout;
}
