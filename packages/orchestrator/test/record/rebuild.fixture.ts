/** Rebuilds of databases in tests: the command as people call it, what is stored afterwards, and copies of a remote that somebody changed. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { type RunView, shownAt, type WorkflowEvent } from '@autonomous/shared';
import { expect, onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/sqlite-event-store.ts';
import {
  aScript,
  type Fixture,
  type FixtureOptions,
  git,
  type StartedServer,
  startServer,
} from '../fixtures/orchestrator.fixture.ts';

export type Stored = Readonly<
  Record<
    string,
    { readonly view: RunView; readonly events: readonly WorkflowEvent[]; readonly chain: readonly unknown[] }
  >
>;

/** Everything that the log of a database has, by run. */
export async function storedIn(dataFolder: string): Promise<Stored> {
  const store = openSqliteEventStore({ file: path.join(dataFolder, 'orchestrator.db') });
  try {
    const all: Record<string, Stored[string]> = {};
    for (const { id } of (await store.listRuns({ limit: 200 })).items) {
      const view = await store.loadView(id);
      if (view === null) throw new Error(`run ${id} has no view`);
      expect(await store.verifyRun(id)).toBeNull();
      const events = (await store.readRun(id, 0)).map((event) => ({ ...event, position: 0 }));
      all[id] = { view, events, chain: await store.readSteps(id) };
    }
    return all;
  } finally {
    await store.close();
  }
}

export async function aFolder(server: Fixture): Promise<string> {
  return mkdtemp(path.join(server.folder, 'rebuilt-'));
}

export async function aClone(server: Fixture, ...args: readonly string[]): Promise<string> {
  const clone = path.join(await aFolder(server), 'clone');
  await git('clone', '--quiet', ...args, server.remote, clone);
  return clone;
}

export interface Rebuilt {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Files of the scripted agents and variables that a rebuild and the server after it get. */
export type Surroundings = Pick<FixtureOptions, 'script' | 'env'>;

/** @param args such as `['--from', clone]` */
export async function rebuiltBy(
  folder: string,
  args: readonly string[],
  { script = aScript(), env = {} }: Surroundings = {},
): Promise<Rebuilt> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = { out: '', err: '' };
  stdout.on('data', (data) => (said.out += String(data)));
  stderr.on('data', (data) => (said.err += String(data)));
  const scriptFile = path.join(folder, 'script.yaml');
  await writeFile(scriptFile, script);
  const code = await runCli(['rebuild', ...args, '--data', path.join(folder, 'data')], {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: { LOG_LEVEL: 'silent', AUTONOMOUS_SCRIPT: scriptFile, ...env },
    cwd: folder,
    program: 'autonomous',
  });
  return { code, ...said };
}

export async function startedOn(folder: string, surroundings: Surroundings = {}): Promise<StartedServer> {
  const server = await startServer(folder, surroundings);
  onTestFinished(() => server.stop());
  return server;
}

export async function until({ client, logged }: StartedServer, runId: string, isThere: (view: RunView) => boolean) {
  let view: RunView | undefined;
  try {
    await expect.poll(async () => isThere((view = await client.getRun(runId))), { timeout: 120_000 }).toBe(true);
  } catch (error) {
    throw new Error(`It is ${view?.status} at ${JSON.stringify(view?.gate)}; ${JSON.stringify(logged)}`, {
      cause: error,
    });
  }
}

/** Accepts what stands in the way of a run. */
export async function accept(server: StartedServer, runId: string, reason: string): Promise<void> {
  const { gate } = await server.client.getRun(runId);
  await server.client.decideOpenGate(runId, { decision: 'accept', reason, ...(gate && shownAt(gate)) });
}

export async function approve(server: StartedServer, runId: string): Promise<void> {
  const { gate } = await server.client.getRun(runId);
  await server.client.decideOpenGate(runId, { decision: 'approve', ...(gate && shownAt(gate)) });
}

/** Lets a rebuilt run go on, to the gate at which it was. */
export async function retry(server: StartedServer, runId: string, kind = 'plan'): Promise<void> {
  await server.client.decideOpenGate(runId, { decision: 'retry' });
  await until(server, runId, ({ gate }) => gate?.kind === kind);
}

/** A bare copy of the remote in which somebody changed files in the record. @param changes by run and file */
export function aChangedCopy(
  server: Fixture,
  changes: Readonly<Record<string, Readonly<Record<string, (text: string) => string>>>>,
): Promise<string> {
  return aForgedCopy(server, async (folder) => {
    for (const [runId, change] of Object.entries(changes))
      for (const [name, changed] of Object.entries(change)) {
        const file = path.join(folder, `runs/${runId}/${name}`);
        await writeFile(file, changed(await readFile(file, 'utf8')));
      }
  });
}

/** A bare copy of the remote whose record somebody changed. @param forge gets the folder `.autonomous` of the record */
export async function aForgedCopy(server: Fixture, forge: (folder: string) => Promise<void>): Promise<string> {
  const folder = await aFolder(server);
  const [copy, work] = [path.join(folder, 'copy.git'), path.join(folder, 'work')];
  await git('clone', '--quiet', '--bare', server.remote, copy);
  await git('clone', '--quiet', '--branch', 'autonomous/record', copy, work);
  await forge(path.join(work, '.autonomous'));
  await git('-C', work, 'add', '--all');
  await git('-C', work, 'commit', '--quiet', '--amend', '--message', 'Rewritten');
  await git('-C', work, 'push', '--quiet', '--force', 'origin', 'autonomous/record');
  return copy;
}
