/**
 * Reduces a run of the demo to terms that are the same for every run with the same course, and finds where a text is
 * stored.
 */
import { isOfTheBaseline } from './baseline-events.fixture.ts';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import Database from 'better-sqlite3';
import type { DemoServer } from './demo-server.fixture.ts';

export type RunOutcome = Awaited<ReturnType<typeof outcomeOf>>;

/** Without ids, times, tokens and names of models. */
export async function outcomeOf(server: DemoServer, run: RunView) {
  const git = (...args: string[]) => inRepository(server.place.remote, args).toString('utf8').trimEnd();
  const subjects = (branch: string) => git('log', '--format=%s', branch).replaceAll(run.id, 'RUN').split('\n');
  const transcript = await server.client.getTranscript(run.id);
  return {
    status: run.status,
    merged: run.merged?.baseBranch,
    stages: run.stages.map(({ stage }) => stage),
    events: server.events
      // How often a model is asked is a matter of the provider's faults.
      .filter(({ workflowRunId, type }) => workflowRunId === run.id && !type.startsWith('CALL_'))
      .filter((event) => !isOfTheBaseline(event))
      .map(({ type }) => type),
    gates: run.gates.map(({ kind, decision, notes }) => ({ kind, decision, notes })),
    questions: run.clarifications.map(
      ({ id: _id, workflowRunId: _run, createdAt: _at, answeredAt: _then, ...rest }) => rest,
    ),
    decisions: run.decisions,
    fixAttempts: run.fixAttempts,
    notices: run.notices,
    artifacts: run.artifacts.map(({ type, version, filesChanged }) => ({ type, version, filesChanged })),
    evidence: run.evidence.map(({ mode, passed, commands, sandbox, restored }) => ({
      mode,
      passed,
      commands: commands.map(({ command, exitCode }) => ({ command, exitCode })),
      sandbox,
      restored,
    })),
    /** What the agents did, call by call. */
    toolCalls: transcript
      .filter(({ kind }) => kind === 'tool_call' || kind === 'tool_result')
      // Output of commands holds times.
      .map(({ kind, role, text, data }) => ({ kind, role, data, text: data?.['tool'] === 'run' ? '' : text })),
    /** Mode, id and path of each file on the base branch, without the orchestrator's own. */
    files: git('ls-tree', '-r', 'main')
      .split('\n')
      .filter((line) => !line.includes('\t.autonomous/')),
    plan: git('show', 'main:.autonomous/specs/001-login-flow-with-oauth.md').replace(/^---\n[\s\S]*?\n---\n/, ''),
    commits: { main: subjects('main'), branch: subjects(run.branch) },
  };
}

export function remoteFile(server: DemoServer, branch: string, file: string): string {
  return inRepository(server.place.remote, ['show', `${branch}:${file}`]).toString('utf8');
}

/**
 * Everything that the server keeps, tells or has pushed: its files as they are, the values in its database, every object
 * of its git repositories and of the remote, its log, its events.
 */
export function readKept(server: DemoServer): { placesWith(text: string): readonly string[] } {
  const { data, remote, folder } = server.place;
  const files = [...filesBelow(data), ...filesBelow(remote)];
  const repositories = files.filter((file) => path.basename(file) === 'HEAD').map(path.dirname);
  const kept: (readonly [place: string, content: Buffer])[] = [
    ...files.map((file) => [path.relative(folder, file), readFileSync(file)] as const),
    ...files.filter(isDatabase).map((file) => [path.relative(folder, file), valuesOf(file)] as const),
    ...repositories
      .filter((repository) => existsSync(path.join(repository, 'objects')))
      .map((repository) => [`${path.relative(folder, repository)}: object`, objectsOf(repository)] as const),
    ['log', Buffer.from(server.log.join(''))],
    ['events', Buffer.from(JSON.stringify(server.events))],
  ];
  return {
    placesWith: (text) =>
      [...new Set(kept.filter(([, content]) => content.includes(text)).map(([place]) => place))].toSorted(),
  };
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** Content of all objects, those that no ref leads to included: commits with their messages, trees, files. */
function objectsOf(repository: string): Buffer {
  return inRepository(repository, ['cat-file', '--batch-all-objects', '--batch', '--unordered']);
}

function inRepository(repository: string, args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: repository, maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'pipe'] });
}

function isDatabase(file: string): boolean {
  return readFileSync(file).subarray(0, 15).equals(Buffer.from('SQLite format 3'));
}

/** All values of all tables: in the file itself a long one lies in pieces. */
function valuesOf(file: string): Buffer {
  const database = new Database(file, { readonly: true });
  try {
    const tables = database.prepare<[], { name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
    const values = tables.flatMap(({ name }) =>
      database.prepare<[], Record<string, unknown>>(`SELECT * FROM "${name}"`).all().flatMap(Object.values),
    );
    return Buffer.concat(values.map((value) => (Buffer.isBuffer(value) ? value : Buffer.from(`${String(value)}\n`))));
  } finally {
    database.close();
  }
}
