/**
 * One run on a server process of its own, with a real remote, and one client that follows it through every end and start
 * of that server.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  hashesOf,
  isEvent,
  type JsonObject,
  type JsonValue,
  type Progress,
  type RunConfigRequest,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { parse, stringify } from 'yaml';
import { makePlace } from '../demo/place.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import type { Script } from '../src/models/script.ts';
import { type HeldGit, installHeldGit } from './held-git.fixture.ts';
import { type ProcessEnd, type ServerProcess, type ServerStart, startServerProcess } from './server-process.fixture.ts';

/** A turn of the script that its server does not live to see the end of; `call` and `turn` count from 1. */
export interface Stall {
  readonly role: 'planner' | 'implementer';
  readonly call: number;
  readonly turn: number;
}

export interface LaunchOptions {
  /** Folder where servers that stop leave their compiled code for those that start. */
  readonly compileCache: string;
  readonly stall?: Stall;
  readonly config?: RunConfigRequest;
}

/** What a server that is gone has left in its database. */
export interface Remains {
  readonly view: RunView;
  /** Where the statechart is, such as `publishing.merging`. */
  readonly state: string;
  /** XState ids of the activities that have no outcome yet, without the baseline, which goes on beside all others. */
  readonly activities: readonly string[];
  /** Events of the timers that are armed. */
  readonly timers: readonly string[];
  readonly events: readonly WorkflowEvent[];
}

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  readonly body: unknown;
}

const SCRIPT = fileURLToPath(new URL('../demo/login.script.yaml', import.meta.url));
const AN_HOUR_MS = 3_600_000;
const GATES: ReadonlySet<string> = new Set(['APPROVAL_REQUESTED', 'CLARIFICATION_REQUESTED']);
/** Nothing comes after these by itself: whoever still waits then waits in vain. */
const ENDS: ReadonlySet<string> = new Set(['RUN_PAUSED', 'RUN_FAILED', 'RUN_CANCELLED', 'RUN_COMPLETED']);

const execute = promisify(execFile);

export class RunUnderTest {
  /** The run as it was answered to its launch. */
  readonly launched: RunView;
  readonly client: Client;
  /** Stops the server's git where it is told to. */
  readonly git: HeldGit;
  /** Events that the client was told, in the order in which it was. */
  readonly heard: WorkflowEvent[] = [];
  readonly #progress: Progress[] = [];
  readonly #folders: Folders;
  readonly #unfollow = new AbortController();
  #server: ServerProcess;
  #decided = 0;
  #fault: Error | null = null;
  #news = Promise.withResolvers<void>();

  /** Starts a server on an empty data folder and a run of the demo's script on it. */
  static async launch(options: LaunchOptions): Promise<RunUnderTest> {
    const root = await mkdtemp(path.join(tmpdir(), 'autonomous-crash-'));
    let server: ServerProcess | undefined;
    try {
      const { data, remote } = await makePlace(path.join(root, 'place'), null);
      const { compileCache, stall, config } = options;
      const folders: Folders = { root, data, remote, compileCache, script: path.join(root, 'script.yaml') };
      const git = await installHeldGit(path.join(root, 'bin'));
      await writeFile(folders.script, await scriptWith(stall));
      server = await startServerProcess(serverStart(folders, git, '0'));
      const { url, token } = server;
      const client = createClient({ baseUrl: url, token, backoff: { minMs: 50, maxMs: 500 } });
      const project = await client.createProject({ name: 'notes', repository: remote });
      const launched = await client.launchRun({
        projectId: project.id,
        request: 'Create login flow with OAuth',
        config: { ...config, git: { autoMerge: true, ...config?.git } },
      });
      return new RunUnderTest(folders, git, server, client, launched);
    } catch (error) {
      await server?.end('SIGKILL');
      await rm(root, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(folders: Folders, git: HeldGit, server: ServerProcess, client: Client, launched: RunView) {
    this.#folders = folders;
    this.#server = server;
    this.git = git;
    this.client = client;
    this.launched = launched;
    client
      .followFeed({
        runIds: [launched.id],
        signal: this.#unfollow.signal,
        onEvent: (event) => this.#receive(event),
        onProgress: (progress) => {
          this.#progress.push(progress);
          this.#tell();
        },
      })
      .catch((error: unknown) => this.#fail(`The client follows no more: ${String(error)}`));
  }

  get id(): string {
    return this.launched.id;
  }

  /** Gates that `decide` has decided. */
  get decided(): number {
    return this.#decided;
  }

  /** The same POST from several clients, who are connected already: all are sent before the server sees one. */
  async postAtOnce(clients: number, address: string, body: JsonObject): Promise<readonly Answer[]> {
    const { url, token } = this.#server;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const connections = Array.from({ length: clients }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    try {
      await Promise.all(connections.map((agent) => answerTo(request(`${url}/api/me`, { headers, agent }).end())));
      this.#server.signal('SIGSTOP');
      const requests = connections.map((agent) => request(`${url}${address}`, { method: 'POST', headers, agent }));
      const answers = requests.map((sent) => answerTo(sent));
      await Promise.all(requests.map((sent) => once(sent.end(JSON.stringify(body)), 'finish')));
      this.#server.signal('SIGCONT');
      return await Promise.all(answers);
    } finally {
      for (const agent of connections) agent.destroy();
    }
  }

  /** Resolves when the client has heard of such an event. */
  until(type: string): Promise<WorkflowEvent> {
    return this.#heardOf(() => this.heard.find((event) => event.type === type));
  }

  /** Resolves when an activity is seen to do this. */
  async untilProgress(activity: string, kind: Progress['kind'], text: RegExp): Promise<void> {
    await this.#heardOf(() =>
      this.#progress.find(
        (progress) => progress.activity === activity && progress.kind === kind && text.test(progress.text),
      ),
    );
  }

  /** Ids of the run's gates that wait for a person, as the server knows them. */
  async openGates(): Promise<string[]> {
    return (await this.client.listGates(this.id)).map(({ id }) => id);
  }

  /** Waits for the run's next gate and decides it: approves what is to be approved, and answers with the first option. */
  async decide(): Promise<void> {
    const gate = await this.#heardOf(() => this.heard.filter(({ type }) => GATES.has(type))[this.#decided]);
    this.#decided += 1;
    const gateId = `${this.id}.${gate.sequence}`;
    if (isEvent(gate, 'CLARIFICATION_REQUESTED')) {
      await this.client.decideGate(gateId, { decision: 'answer', response: gate.payload.question.options?.[0] ?? '' });
    } else if (isEvent(gate, 'APPROVAL_REQUESTED')) {
      const [open] = await this.client.listGates(this.id);
      await this.client.decideGate(gateId, { decision: 'approve', ...(open && hashesOf(open)) });
    }
  }

  /** Ends the server with SIGKILL. */
  async kill(): Promise<Remains> {
    const { code, signal } = await this.#server.end('SIGKILL');
    if (signal !== 'SIGKILL') throw new Error(`The server was to be killed and ended with ${signal ?? code} instead.`);
    return this.#remains();
  }

  /** Asks the server to end, as a service manager does. */
  async stop(): Promise<Remains & { readonly end: ProcessEnd; readonly tookMs: number }> {
    const askedAt = performance.now();
    const end = await this.#server.end('SIGTERM');
    return { end, tookMs: performance.now() - askedAt, ...(await this.#remains()) };
  }

  /**
   * Starts a server again on the same data folder, address and remote.
   * @param options.stall the turn that stalls from now on; none when absent
   * @param options.imports files that are loaded before the server's own
   */
  async restart(options: { readonly stall?: Stall; readonly imports?: readonly string[] } = {}): Promise<void> {
    await writeFile(this.#folders.script, await scriptWith(options.stall));
    const { port } = new URL(this.#server.url);
    this.#server = await startServerProcess({
      ...serverStart(this.#folders, this.git, port),
      imports: options.imports ?? [],
    });
  }

  /** Standard output of a git command on the remote, by lines. */
  async remote(...args: readonly string[]): Promise<string[]> {
    return lines(await execute('git', ['-C', this.#folders.remote, ...args], { maxBuffer: 64 * 1024 * 1024 }));
  }

  /** The same on the server's mirror of it. */
  async mirror(...args: readonly string[]): Promise<string[]> {
    const mirror = path.join(this.#folders.data, 'mirrors', `${this.launched.projectId}.git`);
    return lines(await execute('git', ['-C', mirror, ...args]));
  }

  /** Paths of files in a work folder of the run; none when there is no such folder. */
  async workFiles(name: string): Promise<string[]> {
    return readdir(path.join(this.#folders.data, 'work', this.id, name), { recursive: true }).catch(() => []);
  }

  /** Names of processes that have the server's data folder on their command line, or a folder of it among their mounts. */
  async processes(): Promise<string[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const names = await Promise.all(
      pids.map(async (pid) => {
        const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
        const [command, mounts] = await Promise.all([read('cmdline'), read('mountinfo')]);
        // The options of a sandbox are not on its command line.
        return `${command}\n${mounts}`.includes(this.#folders.data) ? command.replaceAll('\0', ' ') : null;
      }),
    );
    return names.filter((name) => name !== null);
  }

  /** Ends the server if it is up and removes everything that it made. */
  async remove(): Promise<void> {
    this.#unfollow.abort();
    await this.#server.end('SIGKILL');
    await rm(this.#folders.root, { recursive: true, force: true });
  }

  async #remains(): Promise<Remains> {
    const store = openSqliteEventStore({ file: path.join(this.#folders.data, 'orchestrator.db') });
    try {
      const view = await store.loadView(this.id);
      if (view === null) throw new Error(`The database has no run ${this.id}.`);
      const [activities, timers, events] = await Promise.all([
        store.openActivities(this.id),
        store.openTimers(this.id),
        store.readRun(this.id, 0),
      ]);
      return {
        view,
        state: statePath(view.state),
        activities: activities.map(({ activity }) => activity).filter((activity) => activity !== 'baseline'),
        timers: timers.map(({ event }) => event),
        events,
      };
    } finally {
      await store.close();
    }
  }

  #receive(event: WorkflowEvent): void {
    this.heard.push(event);
    if (ENDS.has(event.type)) this.#fail(`The run came to ${event.type}: ${JSON.stringify(event.payload)}`);
    else this.#tell();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  #fail(what: string): void {
    this.#fault ??= new Error(`${what}\nThe server's log: ${this.#server.log()}`);
    this.#tell();
  }

  async #heardOf<Found>(find: () => Found | undefined): Promise<Found> {
    for (let found = find(); ; found = find()) {
      if (found !== undefined) return found;
      if (this.#fault) throw this.#fault;
      await this.#news.promise;
    }
  }
}

async function answerTo(sent: ClientRequest): Promise<Answer> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, contentType: response.headers['content-type'], body: await json(response) };
}

interface Folders {
  readonly root: string;
  readonly data: string;
  readonly remote: string;
  readonly script: string;
  readonly compileCache: string;
}

function serverStart({ root, data, script, compileCache }: Folders, git: HeldGit, port: string): ServerStart {
  const env = {
    PATH: `${git.folder}:${process.env['PATH'] ?? ''}`,
    HOME: root,
    LOG_LEVEL: 'warn',
    NODE_COMPILE_CACHE: compileCache,
    AUTONOMOUS_SCRIPT: script,
  };
  return { dataFolder: data, port, env };
}

async function scriptWith(stall: Stall | undefined): Promise<string> {
  const text = await readFile(SCRIPT, 'utf8');
  if (stall === undefined) return text;
  const script = parse(text) as Script; // the server itself checks what it is given
  const turn = script.roles[stall.role]?.[stall.call - 1]?.turns[stall.turn - 1];
  if (turn === undefined)
    throw new Error(`The demo's script has no turn ${stall.turn} in call ${stall.call} of ${stall.role}.`);
  turn.delayMs = AN_HOUR_MS;
  return stringify(script);
}

/** The state of the stage's work, without the regions and the root that are the same everywhere. */
export function statePath(state: JsonValue): string {
  if (typeof state === 'string') return state;
  if (typeof state !== 'object' || state === null || Array.isArray(state))
    throw new Error(`no state: ${JSON.stringify(state)}`);
  const entries = Object.entries(state);
  const [name, inner] = entries.find(([key]) => key === 'active' || key === 'work') ?? entries[0] ?? [];
  if (name === undefined || inner === undefined) throw new Error('an empty state');
  return name === 'active' || name === 'work' ? statePath(inner) : `${name}.${statePath(inner)}`;
}

function lines({ stdout }: { readonly stdout: string }): string[] {
  return stdout.split('\n').filter((line) => line !== '');
}
