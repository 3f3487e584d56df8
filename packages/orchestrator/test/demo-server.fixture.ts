/** The demo's project behind a server of its own, configured as a person would: by environment variables alone. */
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  FINAL_STATUSES,
  type Gate,
  type RunConfigRequest,
  type RunView,
  shownAt,
  type WorkflowEvent,
} from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { pino } from 'pino';
import { type DemoPlace, makePlace } from '../demo/place.ts';
import { type ComposeOptions, startOrchestrator } from '../src/compose.ts';
import { readServerConfig } from '../src/config.ts';

export const DEMO_SCRIPT = fileURLToPath(new URL('../demo/login.script.yaml', import.meta.url));
export const DEMO_REQUEST = 'Create login flow with OAuth';

export interface DemoServer {
  readonly place: DemoPlace;
  readonly client: Client;
  /** What a client has heard so far, oldest first. */
  readonly events: readonly WorkflowEvent[];
  /** Lines of the server's log, down to the least important. */
  readonly log: readonly string[];
  launch(config?: RunConfigRequest): Promise<RunView>;
  /**
   * Approves what is to be approved and answers what is asked, until the run has ended or pauses.
   * @returns the run as it is then
   */
  finish(runId: string): Promise<RunView>;
  /** Resolves when the record in git is up to date. */
  settled(): Promise<void>;
  /** Stops the server and removes everything that it made. */
  stop(): Promise<void>;
}

/** @param options to measure or replace parts of the server */
export async function startDemoServer(
  env: Readonly<Record<string, string>>,
  options: Partial<ComposeOptions> = {},
): Promise<DemoServer> {
  const place = await makePlace(null, null);
  const log: string[] = [];
  const orchestrator = await startOrchestrator({
    config: readServerConfig({ AUTONOMOUS_DATA: place.data, ORCHESTRATOR_PORT: '0', ...env }, { home: place.folder }),
    log: pino({ level: 'trace' }, { write: (line) => void log.push(line) }),
    ...options,
  });
  const client = createClient({ baseUrl: orchestrator.server.url, token: orchestrator.token });
  const project = await client.createProject({ name: 'notes', repository: place.remote });
  const feed = followEvents(client);

  return {
    place,
    client,
    events: feed.events,
    log,

    launch: (config = {}) =>
      client.launchRun({
        projectId: project.id,
        request: DEMO_REQUEST,
        config: { ...config, git: { autoMerge: true, ...config.git } },
      }),

    async finish(runId) {
      while (true) {
        const run = await client.getRun(runId);
        if (FINAL_STATUSES.has(run.status) || run.status === 'paused') return run;
        if (run.gate) await decide(client, run.gate);
        else await feed.heardStop(runId, run.lastSequence);
      }
    },

    settled: () => orchestrator.settled(),

    async stop() {
      feed.end();
      await orchestrator.stop();
      await rm(place.folder, { recursive: true, force: true });
    },
  };
}

/** Events after which somebody has to act, or nothing more comes. */
const STOPS: ReadonlySet<string> = new Set([
  'APPROVAL_REQUESTED',
  'CLARIFICATION_REQUESTED',
  'RUN_PAUSED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_CANCELLED',
]);

function followEvents(client: Client) {
  const events: WorkflowEvent[] = [];
  const end = new AbortController();
  let heard = Promise.withResolvers<void>();
  heard.promise.catch(() => undefined);
  client
    .followFeed({
      after: 0,
      signal: end.signal,
      onEvent: (event) => {
        events.push(event);
        if (!STOPS.has(event.type)) return;
        heard.resolve();
        heard = Promise.withResolvers<void>();
      },
    })
    .catch((error: unknown) => heard.reject(error));
  return {
    events,
    end: () => end.abort(),
    /** Resolves when a stop of the run after `sequence` has been heard. */
    async heardStop(runId: string, sequence: number): Promise<void> {
      const isIt = (event: WorkflowEvent): boolean =>
        event.workflowRunId === runId && event.sequence > sequence && STOPS.has(event.type);
      while (!events.some(isIt)) await heard.promise;
    },
  };
}

/** Answers with the first choice, or approves what is shown. */
export async function decide(client: Client, gate: Gate): Promise<void> {
  if (gate.kind === 'clarification') {
    await client.decideGate(gate.id, { decision: 'answer', response: gate.question?.options?.[0] ?? 'Yes' });
    return;
  }
  await client.decideGate(gate.id, { decision: 'approve', ...shownAt(gate) });
}
