/** The orchestrator itself as a process of its own, with a project in a bare repository and a scripted model. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type DemoPlace, makePlace } from '../../packages/orchestrator/demo/place.ts';
import {
  type ServerProcess,
  startServerProcess,
} from '../../packages/orchestrator/test/fixtures/server-process.fixture.ts';
import { type Client, createClient } from '../../packages/shared/src/api/client.ts';
import type { WorkflowEvent } from '../../packages/shared/src/events.ts';
import type { RunView } from '../../packages/shared/src/run.ts';
import { shownAt } from '../../packages/shared/src/gates/shown-gate.ts';
import { ROOT } from './install.ts';

/** A workflow without agents or a repository: its runs are made as fast as they are stored. */
const INVOICES = path.join(ROOT, 'examples', 'own-workflow', 'workflow.ts');
const AT_ONCE = 16;
const DEMO_SCRIPT = path.join(ROOT, 'packages', 'orchestrator', 'demo', 'login.script.yaml');
export const DEMO_REQUEST = 'Create login flow with OAuth';

export interface ServerOptions {
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Files that are loaded before the program's own. */
  readonly imports?: readonly string[];
}

export class Server {
  readonly place: DemoPlace;
  readonly #env: Readonly<Record<string, string>>;
  readonly #imports: readonly string[];
  #process: ServerProcess;

  /** A server with one project, `notes`. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    const place = await makePlace(null, null);
    const home = path.join(place.folder, 'home');
    await mkdir(home);
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      LOG_LEVEL: 'warn',
      AUTONOMOUS_SCRIPT: DEMO_SCRIPT,
      AUTONOMOUS_WORKFLOWS: INVOICES,
      INVOICE_FOLDER: path.join(place.folder, 'invoices'),
      ...options.env,
    };
    const { imports = [] } = options;
    const started = await startServerProcess({ dataFolder: place.data, port: '0', env, imports });
    const server = new Server(place, env, imports, started);
    await server.client.createProject({ name: 'notes', repository: place.remote });
    return server;
  }

  private constructor(
    place: DemoPlace,
    env: Readonly<Record<string, string>>,
    imports: readonly string[],
    started: ServerProcess,
  ) {
    this.place = place;
    this.#env = env;
    this.#imports = imports;
    this.#process = started;
  }

  get url(): string {
    return this.#process.url;
  }

  get token(): string {
    return this.#process.token;
  }

  /** What an editor is opened with to find this server and its token, as one of the same machine. */
  reachedBy(): { readonly settings: Record<string, unknown>; readonly env: Record<string, string> } {
    return { settings: { 'autonomous.serverUrl': this.url }, env: { AUTONOMOUS_DATA: this.place.data } };
  }

  get client(): Client {
    return createClient({ baseUrl: this.url, token: this.token });
  }

  log(): string {
    return this.#process.log();
  }

  /** As when the machine loses its power. */
  async kill(): Promise<void> {
    await this.#process.end('SIGKILL');
  }

  /** At the same address, on the same data. */
  async restart(): Promise<void> {
    const { port } = new URL(this.url);
    const [env, imports] = [this.#env, this.#imports];
    this.#process = await startServerProcess({ dataFolder: this.place.data, port, env, imports });
  }

  async launch(
    request: string = DEMO_REQUEST,
    config: Parameters<Client['launchRun']>[0]['config'] = {},
  ): Promise<RunView> {
    const [project] = (await this.client.listProjects()).items;
    if (project === undefined) throw new Error('The server has no project.');
    return this.client.launchRun({
      projectId: project.id,
      request,
      config: { ...config, git: { autoMerge: true, ...config.git } },
    });
  }

  /** Approves what the run shows at its open gate. */
  async approve(runId: string): Promise<RunView> {
    const [gate] = await this.client.listGates(runId);
    if (gate === undefined) throw new Error(`Run ${runId} waits at no gate.`);
    return this.client.decideGate(gate.id, { decision: 'approve', ...shownAt(gate) });
  }

  /** Makes so many runs that wait for an answer, and cancels every `cancelled`th of them. */
  async launchMany(count: number, cancelled: number): Promise<void> {
    const { client } = this;
    let next = 0;
    const launchSome = async (): Promise<void> => {
      while (next < count) {
        next += 1;
        const number = next;
        const run = await client.launchRun({
          workflow: 'invoice',
          input: { customer: `customer ${number}`, cents: number },
        });
        if (number % cancelled === 0) await client.cancelRun(run.id);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, launchSome));
  }

  /** Resolves with the run once it has such an event. */
  async heard(runId: string, type: WorkflowEvent['type'], count = 1): Promise<RunView> {
    const stop = new AbortController();
    let seen = 0;
    await this.client.followFeed({
      runIds: [runId],
      after: 0,
      signal: stop.signal,
      onEvent: (event) => {
        if (event.type === type) seen += 1;
        if (seen === count) stop.abort();
      },
    });
    return this.client.getRun(runId);
  }

  /** Ends it and removes all that it made. May be called again. */
  async stop(): Promise<void> {
    await this.#process.end('SIGTERM');
    await rm(this.place.folder, { recursive: true, force: true });
  }
}
