/**
 * A whole server on a free port, with a project in real git and a script instead of a model. Tests drive it through the HTTP
 * client and follow its feed; they wait for events, never for time.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  bindingOf,
  foldRun,
  type GateDecision,
  type Progress,
  type Project,
  type RunConfigRequest,
  type RunStatus,
  type RunView,
  type WorkflowEvent,
  type WorkflowEventType,
} from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type RunningOrchestrator, startOrchestrator } from '../src/compose.ts';
import { readServerConfig } from '../src/config.ts';
import type { Script, ScriptCall } from '../src/models/script.ts';
import type { SandboxProvider } from '../src/sandboxes/sandbox.ts';
import { countedTest } from './counted-test.fixture.ts';

const run = promisify(execFile);

/** Longest wait for a run to get somewhere; the test has long failed by then. */
const PATIENCE_MS = 120_000 * Number(process.env['AUTONOMOUS_TEST_DELAY'] ?? 1);

type File = string | { readonly content: string; readonly executable: true } | { readonly symlink: string };
export type Files = Readonly<Record<string, File>>;

export interface FixtureOptions {
  /** The project's first commit; a shell script as its test when absent. */
  readonly files?: Files;
  /** Text of the script that all models play. */
  readonly script?: string;
  /** Environment variables of the server. */
  readonly env?: Readonly<Record<string, string>>;
  readonly sandboxes?: SandboxProvider;
  /** Longest wait for a run of many agents to get somewhere, in milliseconds. Default: a minute. */
  readonly patienceMs?: number;
}

/** A small project without any dependency, whose test is a shell script. */
export const FILES: Files = {
  'README.md': '# Notes\n',
  'app.sh': 'echo hello\n',
  'test/app.test.sh': countedTest('sh app.sh | grep -q hello'),
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test: 'sh test/app.test.sh' } } }),
};

export function projectConfig(config: object): string {
  return `${JSON.stringify(config, null, 2)}\n`;
}

// ---- scripts

type Tool = NonNullable<ScriptCall['turns'][number]['tools']>[number];

/** A script from calls by role; roles that are left out get one that just works. */
export function aScript(roles: Script['roles'] = {}): string {
  return JSON.stringify({
    name: 'test',
    roles: {
      planner: [aPlan(), aPlan()],
      implementer: [writes({ 'feature.sh': 'echo feature\n' })],
      validator: [passes(), passes(), passes()],
      ...roles,
    },
  });
}

export function aPlan(
  change: { readonly title?: string; readonly plan?: string; readonly [key: string]: unknown } = {},
): ScriptCall {
  const plan = '# Plan\n\n```mermaid\nflowchart TD\n  a["Start"] --> b["Feature"]\n```\n';
  return finish({ title: 'Feature', plan, ...change });
}

/** The implementer writes files and finishes. */
export function writes(files: Readonly<Record<string, string>>, result: object = {}): ScriptCall {
  const tools = Object.entries(files).map(([file, content]) => tool('write', { path: file, content }));
  return { turns: [{ tools }, ...finish({ summary: 'Wrote it.', ...result }).turns] };
}

/** The implementer runs commands one after the other and finishes. */
export function runs(...commands: readonly string[]): ScriptCall {
  return {
    turns: [
      ...commands.map((command) => ({ tools: [tool('run', { command })] })),
      ...finish({ summary: 'Ran it.' }).turns,
    ],
  };
}

export function asks(question: object, before: readonly Tool[] = []): ScriptCall {
  return { turns: [{ tools: [...before, tool('ask', { context: 'It matters.', ...question })] }] };
}

export function passes(change: object = {}): ScriptCall {
  return finish({ verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '', ...change });
}

export function finish(result: object): ScriptCall {
  return { turns: [{ tools: [tool('finish', result as Tool['input'])] }] };
}

export function tool(name: Tool['name'], input: Tool['input']): Tool {
  return { name, input };
}

/** The same call, played only where the prompt contains a text. */
export function when(contains: string, call: ScriptCall): ScriptCall {
  return { when: { contains }, ...call };
}

// ---- the server and its project

export interface Fixture {
  readonly client: Client;
  readonly orchestrator: RunningOrchestrator;
  readonly project: Project;
  /** Folder of this test. */
  readonly folder: string;
  readonly dataFolder: string;
  /** Bare repository that is the project's remote. */
  readonly remote: string;
  /** Lines of the server's log from level `warn` on. */
  readonly logged: readonly Record<string, unknown>[];
  /** Starts a run; plans need no approval unless the config says so. */
  launch(request?: string, config?: RunConfigRequest): Promise<RunView>;
  /**
   * Resolves when the run rests: at a gate of this kind, or with this status.
   * Rejects as soon as it rests anywhere else.
   */
  until(run: RunView | string, where: { readonly gate: string } | { readonly status: RunStatus }): Promise<RunView>;
  /** Resolves when the run rests, wherever that is: at a gate, paused, or at its end. */
  rests(run: RunView | string): Promise<RunView>;
  /** Resolves with the first event of this type that the feed brings after what the caller has seen. */
  event<Type extends WorkflowEventType>(runId: string, type: Type): Promise<WorkflowEvent<Type>>;
  /** Resolves when an agent or a check says a line that contains this text. */
  said(runId: string, text: string): Promise<void>;
  /** Decides the run's open gate. */
  decide(run: RunView | string, decision: GateDecision): Promise<RunView>;
  /** Approves a result as its gate shows it. Resolves with the run at that gate. */
  approveResult(run: RunView | string): Promise<RunView>;
  /** All events of a run as the API has them. */
  events(runId: string): Promise<readonly WorkflowEvent[]>;
  payloads<Type extends WorkflowEventType>(runId: string, type: Type): Promise<WorkflowEvent<Type>['payload'][]>;
  /** Git in the remote. */
  git(...args: readonly string[]): Promise<string>;
  /** Git in the server's mirror. */
  mirror(...args: readonly string[]): Promise<string>;
  /** A file of the remote; `null` when there is none. */
  file(treeish: string, path: string): Promise<string | null>;
  /** Commits files onto a branch of the remote, as a colleague would. */
  commit(files: Files, branch?: string): Promise<string>;
  /** Runs that have work folders, or what is in those of one run. */
  workFolders(runId?: string): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts a server with a project; both are gone when the test has finished. */
export async function aServer(options: FixtureOptions = {}): Promise<Fixture> {
  const folder = await mkdtemp(path.join(tmpdir(), 'orchestrator-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const remote = path.join(folder, 'remote.git');
  await makeRemote(remote, options.files ?? FILES);
  const started = await startServer(folder, options);
  onTestFinished(started.stop);
  const { client } = started;
  const project = await client.createProject({ name: 'notes', repository: remote });
  const feed = new FollowedFeed(client, started.logged, options.patienceMs ?? PATIENCE_MS);
  const close = async (): Promise<void> => {
    await feed.close();
    await started.stop();
  };
  onTestFinished(close);
  const mirrorOf = path.join(started.dataFolder, 'mirrors', `${project.id}.git`);
  const inRemote = (...args: readonly string[]) => git('--git-dir', remote, ...args);

  return {
    ...started,
    client,
    project,
    folder,
    remote,
    async launch(request = 'Add the feature', config = {}) {
      const trusted: RunConfigRequest = { trustMode: { planning: 'auto' }, ...config };
      return feed.saw(await client.launchRun({ projectId: project.id, request, config: trusted }));
    },
    until: (target, where) => feed.until(idOf(target), where),
    rests: (target) => feed.rests(idOf(target)),
    event: (runId, type) => feed.event(runId, type),
    said: (runId, text) => feed.said(runId, text),
    async decide(target, decision) {
      const [gate] = await client.listGates(idOf(target));
      const shown = gate === undefined ? {} : bindingOf(decision.decision, gate);
      return feed.saw(await client.decideOpenGate(idOf(target), { ...shown, ...decision }));
    },
    async approveResult(target) {
      const view = await feed.until(idOf(target), { gate: 'implementation' });
      const shown = view.gate === null ? {} : bindingOf('approve', view.gate);
      feed.saw(await client.decideOpenGate(view.id, { decision: 'approve', ...shown }));
      return view;
    },
    events: (runId) => client.listEvents(runId, 0, 1_000),
    async payloads<Type extends WorkflowEventType>(runId: string, type: Type) {
      const events = (await client.listEvents(runId, 0, 1_000)).filter((event) => event.type === type);
      return (events as WorkflowEvent<Type>[]).map((event) => event.payload);
    },
    git: inRemote,
    mirror: (...args) => git('--git-dir', mirrorOf, ...args),
    file: (treeish, file) => inRemote('show', `${treeish}:${file}`).catch(() => null),
    async commit(files, branch = 'main') {
      const clone = await mkdtemp(path.join(folder, 'clone-'));
      await git('clone', '--quiet', '--branch', branch, remote, clone);
      await writeTree(clone, files);
      await commitAll(clone, 'A colleague was here');
      await git('-C', clone, 'push', '--quiet', 'origin', branch);
      return (await git('-C', clone, 'rev-parse', 'HEAD')).trim();
    },
    workFolders: (runId = '') => readdir(path.join(started.dataFolder, 'work', runId)).catch(() => []),
    close,
  };
}

export interface StartedServer {
  readonly client: Client;
  readonly orchestrator: RunningOrchestrator;
  readonly dataFolder: string;
  readonly logged: readonly Record<string, unknown>[];
  stop(): Promise<void>;
}

/** A server without a project, on the data in `folder`. */
export async function startServer(folder: string, options: Omit<FixtureOptions, 'files'> = {}): Promise<StartedServer> {
  const dataFolder = path.join(folder, 'data');
  const scriptFile = path.join(folder, 'script.yaml');
  await writeFile(scriptFile, options.script ?? aScript());
  const logged: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const orchestrator = await startOrchestrator({
    config: readServerConfig({
      AUTONOMOUS_DATA: dataFolder,
      AUTONOMOUS_SCRIPT: scriptFile,
      ORCHESTRATOR_PORT: '0',
      // Tests that need registries say so.
      ...(options.env?.['EGRESS_ALLOW'] === undefined ? { ALLOW_SETUP_NETWORK: 'false' } : {}),
      ...options.env,
    }),
    log,
    ...(options.sandboxes ? { sandboxes: options.sandboxes } : {}),
  });
  const client = createClient({ baseUrl: orchestrator.server.url, token: orchestrator.token });
  return { client, orchestrator, dataFolder, logged, stop: () => orchestrator.stop() };
}

/** A bare repository with one commit of these files on `main`. */
export async function makeRemote(remote: string, files: Files): Promise<void> {
  const work = `${remote}.work`;
  await git('init', '--quiet', '--initial-branch=main', work);
  await writeTree(work, files);
  await commitAll(work, 'Start');
  await git('clone', '--quiet', '--bare', work, remote);
  await rm(work, { recursive: true });
}

export async function git(...args: readonly string[]): Promise<string> {
  const identity = {
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  const { stdout } = await run('git', args, {
    env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', HOME: tmpdir(), ...identity },
  });
  return stdout;
}

export async function writeTree(folder: string, files: Files): Promise<void> {
  for (const [name, file] of Object.entries(files)) {
    const target = path.join(folder, name);
    await mkdir(path.dirname(target), { recursive: true });
    if (typeof file === 'string') await writeFile(target, file);
    else if ('symlink' in file) await symlink(file.symlink, target);
    else {
      await writeFile(target, file.content);
      await chmod(target, 0o755);
    }
  }
}

async function commitAll(folder: string, message: string): Promise<void> {
  await git('-C', folder, 'add', '--all', '--force');
  await git('-C', folder, 'commit', '--quiet', '--allow-empty', '-m', message);
}

/** Host processes whose command line holds a text. */
export async function processesWith(text: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(text)) found.push(Number(pid));
  }
  return found;
}

function idOf(target: RunView | string): string {
  return typeof target === 'string' ? target : target.id;
}

// ---- the feed

interface Waiter {
  /** Checked after each message; settles its promise itself and then returns true. */
  readonly check: () => boolean;
  readonly fail: (error: Error) => void;
}

/** Every event of every run as a client sees it, and those who wait for one. */
class FollowedFeed {
  readonly #logged: readonly Record<string, unknown>[];
  readonly #patienceMs: number;
  readonly #views = new Map<string, RunView>();
  readonly #events: WorkflowEvent[] = [];
  readonly #said: Progress[] = [];
  /** Sequence up to which the test itself has seen a run: older views answer nothing. */
  readonly #seen = new Map<string, number>();
  readonly #waiters = new Set<Waiter>();
  readonly #abort = new AbortController();
  readonly #following: Promise<void>;

  constructor(client: Client, logged: readonly Record<string, unknown>[], patienceMs: number) {
    this.#logged = logged;
    this.#patienceMs = patienceMs;
    this.#following = client
      .followFeed({
        signal: this.#abort.signal,
        onEvent: (event) => this.#take(event),
        onProgress: (progress) => {
          this.#said.push(progress);
          this.#check();
        },
      })
      .catch((error: unknown) => this.#fail(new Error('the feed ended', { cause: error })));
  }

  saw(view: RunView): RunView {
    this.#seen.set(view.id, Math.max(this.#seen.get(view.id) ?? 0, view.lastSequence));
    return view;
  }

  until(runId: string, where: { readonly gate: string } | { readonly status: RunStatus }): Promise<RunView> {
    const wanted = 'gate' in where ? `gate '${where.gate}'` : `status '${where.status}'`;
    return this.#wait(`run ${runId} at ${wanted}`, () => {
      const view = this.#views.get(runId);
      if (!view || view.lastSequence < (this.#seen.get(runId) ?? 0)) return undefined;
      const isThere = 'gate' in where ? view.gate?.kind === where.gate : view.status === where.status;
      if (isThere) return this.saw(view);
      if (view.gate === null && !['completed', 'failed', 'cancelled'].includes(view.status)) return undefined;
      throw new Error(`Waiting for ${wanted}, the run is ${view.status}: ${describe(view)}`);
    });
  }

  rests(runId: string): Promise<RunView> {
    return this.#wait(`run ${runId} at rest`, () => {
      const view = this.#views.get(runId);
      if (!view || view.lastSequence < (this.#seen.get(runId) ?? 0)) return undefined;
      const rests = view.gate !== null || ['completed', 'failed', 'cancelled'].includes(view.status);
      return rests ? this.saw(view) : undefined;
    });
  }

  event<Type extends WorkflowEventType>(runId: string, type: Type): Promise<WorkflowEvent<Type>> {
    return this.#wait(`${type} of run ${runId}`, () => {
      const seen = this.#seen.get(runId) ?? 0;
      return this.#events.find(
        (event): event is WorkflowEvent<Type> =>
          event.workflowRunId === runId && event.type === type && event.sequence > seen,
      );
    });
  }

  async said(runId: string, text: string): Promise<void> {
    await this.#wait(`the words '${text}'`, () =>
      this.#said.find((progress) => progress.runId === runId && progress.text.includes(text)),
    );
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#following;
  }

  #take(event: WorkflowEvent): void {
    this.#events.push(event);
    const view = foldRun(this.#views.get(event.workflowRunId) ?? null, event);
    if (view) this.#views.set(event.workflowRunId, view);
    this.#check();
  }

  #check(): void {
    for (const waiter of this.#waiters) if (waiter.check()) this.#waiters.delete(waiter);
  }

  #fail(error: Error): void {
    for (const waiter of this.#waiters) waiter.fail(error);
    this.#waiters.clear();
  }

  #wait<Found>(what: string, look: () => Found | undefined): Promise<Found> {
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const check = (): boolean => {
      try {
        const found = look();
        if (found === undefined) return false;
        resolve(found);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
      clearTimeout(patience);
      return true;
    };
    const patience = setTimeout(() => {
      const last = this.#events
        .slice(-5)
        .map((event) => `${event.sequence} ${event.type} ${JSON.stringify(event.payload).slice(0, 300)}`);
      reject(
        new Error(
          `Waited in vain for ${what}. Last events:\n${last.join('\n')}\nLog:\n${JSON.stringify(this.#logged)}`,
        ),
      );
    }, this.#patienceMs);
    if (!check()) this.#waiters.add({ check, fail: reject });
    return promise;
  }
}

/** Why a run rests, for a test that expected it elsewhere. */
function describe({ gate, failure, notices }: RunView): string {
  const at = gate
    ? `gate '${gate.kind}' ${gate.reason ?? ''} ${gate.summary} ${JSON.stringify(gate.details).slice(0, 2_000)}`
    : '';
  return [at, failure ?? '', ...notices].filter((part) => part !== '').join('\n');
}
