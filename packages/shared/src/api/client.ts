/** The client that the extension, the dashboard and the command line share: typed calls and the live feed. */
import { hc } from 'hono/client';
import type { ProblemDetails } from '../errors.ts';
import type { WorkflowEvent } from '../events.ts';
import type { FeedPage, FeedPageRequest } from '../feed.ts';
import type { ForeseenConflict, ForeseenConflictFilter } from '../review/foreseen-conflicts.ts';
import type { JsonObject } from '../json.ts';
import type { RunProjection } from '../projection.ts';
import type { Artifact, Clarification, Gate, ReviewComment, RunFamily, RunView } from '../run.ts';
import { ApiError, ServerUnreachable } from './api-error.ts';
import { type Backoff, sleep, waitBefore } from './backoff.ts';
import { followFeed, type WebSocketConstructor } from './feed-client.ts';
import type { FeedOptions } from './feed-options.ts';
import type { Metrics, MetricsQuery } from './metrics.ts';
import type {
  CleanedBranches,
  CleaningRequest,
  ArtifactContent,
  CompiledDocument,
  Caller,
  Exploration,
  GateDecision,
  ModelSummary,
  NewComment,
  NewExploration,
  NewFork,
  NewProject,
  NewRun,
  Page,
  PageRequest,
  Project,
  Readiness,
  RetriedGate,
  RunDiff,
  RunFilter,
  Statechart,
  ToldRun,
  TranscriptEntry,
  Upload,
  WorkflowDetails,
  WorkflowSummary,
} from './orchestrator.ts';
import type { ResolvedThread, RunPullRequest, ThreadReply } from './pull-request.ts';
import type { ProjectRoadmap } from './roadmap.ts';
import type { Api } from './routes.ts';
import type { AgentSetup, NewKey, ProviderSetup, Setup } from './setup.ts';

export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:3001`. */
  readonly baseUrl: string;
  /** Absent in a browser that signed in: its cookie is sent instead. */
  readonly token?: string;
  /** Absent means the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Absent means the global `WebSocket`. */
  readonly WebSocket?: WebSocketConstructor;
  /** Waits between tries after a network failure; 200 ms to 30 s when absent. */
  readonly backoff?: Backoff;
  /** How often the server is asked for events where no WebSocket gets through; 3 s when absent. */
  readonly pollIntervalMs?: number;
}

/**
 * The {@link Orchestrator} from afar. Every call throws {@link ApiError} for what the server refuses and
 * {@link ServerUnreachable} when nothing answers after three tries. A repeated POST carries the same idempotency key,
 * so that it is done once; `key` names it where the caller itself may be repeated.
 */
export interface Client {
  createProject(project: NewProject): Promise<Project>;
  listProjects(page?: PageRequest): Promise<Page<Project>>;
  getProject(id: string): Promise<Project>;
  /** The roadmap on the project's base branch, with the choice of its next item and the live runs of items. */
  getRoadmap(projectId: string): Promise<ProjectRoadmap>;
  cleanBranches(id: string, request: CleaningRequest): Promise<CleanedBranches>;

  launchRun(run: NewRun, key?: string): Promise<RunView>;
  explore(exploration: NewExploration, key?: string): Promise<Exploration>;
  listRuns(filter?: RunFilter): Promise<Page<RunView>>;
  /** Starts a new run from an event of another run. */
  forkRun(id: string, fork: NewFork, key?: string): Promise<RunView>;
  /** @param at the run as it was after this event; absent: as it is */
  getRun(id: string, at?: number): Promise<RunView>;
  /** Binds a run to another version of its workflow. */
  migrateRun(id: string, to: number): Promise<RunView>;
  /** Everything that can still be read of a run, row by row. */
  exportRun(id: string): Promise<JsonObject>;
  /** @param limit 1 to 1,000; 500 when absent */
  listEvents(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  listArtifacts(runId: string): Promise<readonly Artifact[]>;
  getArtifact(runId: string, artifactId: string): Promise<ArtifactContent>;
  /**
   * Compiles a document of a run as it is now to a PDF.
   * @param document artifact type of the PDF. Default: the only PDF that the run's workflow has
   */
  compileDocument(runId: string, document?: string): Promise<CompiledDocument>;
  /** The run as its workflow projects it; without sections where it does not. */
  getProjection(runId: string): Promise<RunProjection>;
  getDiff(runId: string): Promise<RunDiff>;
  getTranscript(runId: string): Promise<readonly TranscriptEntry[]>;
  getStatechart(runId: string, at?: number): Promise<Statechart>;
  /** Spending and budgets of the run's family. */
  getRunTree(runId: string): Promise<RunFamily>;
  /** The run's pull request, as the forge has it now. */
  getPullRequest(runId: string): Promise<RunPullRequest>;
  /** Answers in a review thread of the run's pull request. */
  replyToThread(runId: string, threadId: string, body: string, key?: string): Promise<ThreadReply>;
  resolveThread(runId: string, threadId: string): Promise<ResolvedThread>;

  /** Files in which merges of live runs would conflict, with each other or with their base branches. */
  listConflicts(filter?: ForeseenConflictFilter, signal?: AbortSignal): Promise<readonly ForeseenConflict[]>;
  listGates(runId?: string): Promise<readonly Gate[]>;
  listClarifications(status?: Clarification['status']): Promise<readonly Clarification[]>;
  decideGate(gateId: string, decision: GateDecision, key?: string): Promise<RunView>;
  retryGates(gateIds: readonly string[]): Promise<readonly RetriedGate[]>;
  decideOpenGate(runId: string, decision: GateDecision): Promise<RunView>;
  /** Comments that no decision has sent yet. */
  listComments(gateId: string): Promise<readonly ReviewComment[]>;
  addComment(gateId: string, comment: NewComment, key?: string): Promise<RunView>;
  editComment(commentId: string, text: string): Promise<RunView>;
  deleteComment(commentId: string): Promise<RunView>;
  cancelRun(runId: string, reason?: string): Promise<RunView>;
  /** Pauses a run and the open runs below it. `retry` at its gate continues all of them. */
  pauseRun(runId: string, reason?: string): Promise<RunView>;
  sendMessage(runId: string, text: string): Promise<ToldRun>;
  sendSignal(runId: string, signal: JsonObject & { readonly type: string }): Promise<RunView>;

  upload(name: string, content: Uint8Array<ArrayBuffer> | Blob): Promise<Upload>;
  listWorkflows(): Promise<readonly WorkflowSummary[]>;
  getWorkflow(name: string): Promise<WorkflowDetails>;
  listModels(): Promise<readonly ModelSummary[]>;
  /** Success, time, waiting and cost of runs over a time. */
  getMetrics(wanted?: MetricsQuery): Promise<Metrics>;
  readiness(): Promise<Readiness>;
  /** Keys of providers, agents of the server's machine and default models. */
  getSetup(): Promise<Setup>;
  /** Gives a provider a key, tested first by one call; runs use it at once. */
  setKey(provider: string, key: NewKey): Promise<ProviderSetup>;
  /** Forgets the key of a provider. */
  removeKey(provider: string): Promise<ProviderSetup>;
  /** Tests the key of a provider by one call. */
  testProvider(provider: string): Promise<ProviderSetup>;
  /** Starts an agent and opens a session, without a prompt. */
  testAgent(agent: string): Promise<AgentSetup>;
  /** Sets default models by role; an empty text gives the role its own default again. */
  setDefaultModels(models: Readonly<Record<string, string>>): Promise<Setup>;
  me(): Promise<Caller>;
  /** An address that signs one browser in, once. */
  createSignInLink(): Promise<string>;
  /**
   * Signs this browser out, or every browser.
   * @returns how many were signed in
   */
  signOut(options?: { readonly everywhere?: boolean }): Promise<number>;

  /** One page of the feed's events; `followFeed` asks for them by itself where it has to. */
  readFeed(request: FeedPageRequest, signal?: AbortSignal): Promise<FeedPage>;
  /**
   * Delivers each event once and in order until `signal` aborts, across any number of lost connections. Where no WebSocket
   * gets through, the server is asked every few seconds, until one does.
   * @throws {ApiError} when the server refuses for good (not signed in, another protocol)
   */
  followFeed(options: FeedOptions): Promise<void>;
}

const MAX_TRIES = 3;
const POLL_INTERVAL_MS = 3_000;
const DEFAULT_BACKOFF: Backoff = { minMs: 200, maxMs: 30_000 };

export function createClient(options: ClientOptions): Client {
  const baseUrl = options.baseUrl.replace(/(?<!\/)\/+$/, '');
  const backoff = options.backoff ?? DEFAULT_BACKOFF;
  const send = createSender(options, baseUrl, backoff);
  const { api, readyz } = hc<Api>(baseUrl, { fetch: send });
  const path = (id: string) => ({ param: { id: segment(id) } });
  const keyed = (key: string | undefined) => (key === undefined ? {} : { headers: { 'Idempotency-Key': key } });

  const listConflicts: Client['listConflicts'] = async (filter = {}, signal) =>
    items(await api.conflicts.$get({ query: query(filter) }, { init: { signal: signal ?? null } }));

  const readFeed: Client['readFeed'] = async (request, signal) =>
    read(await api.events.$get({ query: query(request) }, { init: { signal: signal ?? null } }));

  return {
    createProject: async (project) => read(await api.projects.$post({ json: project })),
    listProjects: async (page = {}) => read(await api.projects.$get({ query: query(page) })),
    cleanBranches: async (id, request) =>
      read(await api.projects[':id']['clean-branches'].$post({ ...path(id), json: request })),
    getRoadmap: async (projectId) => read(await api.projects[':id'].roadmap.$get(path(projectId))),
    getProject: async (id) => read(await api.projects[':id'].$get(path(id))),

    launchRun: async (run, key) => read(await api.runs.$post({ json: run }, keyed(key))),
    explore: async (exploration, key) =>
      read(await api.explorations.$post({ json: { ...exploration, variants: [...exploration.variants] } }, keyed(key))),
    listRuns: async (filter = {}) => read(await api.runs.$get({ query: query(filter) })),
    forkRun: async (id, fork, key) =>
      read(await api.runs[':id'].fork.$post({ ...path(id), json: fork as never }, keyed(key))),
    getRun: async (id, at) => read(await api.runs[':id'].$get({ ...path(id), query: query({ at }) })),
    migrateRun: async (id, to) => read(await api.runs[':id'].migrate.$post({ ...path(id), json: { to } })),
    exportRun: async (id) => read(await api.runs[':id'].export.$get(path(id))),
    listEvents: async (id, after, limit) =>
      items(await api.runs[':id'].events.$get({ ...path(id), query: query({ after, limit }) })),
    listArtifacts: async (id) => items(await api.runs[':id'].artifacts.$get(path(id))),
    getArtifact: async (id, artifactId) =>
      read(
        await api.runs[':id'].artifacts[':artifactId'].$get({
          param: { id: segment(id), artifactId: segment(artifactId) },
        }),
      ),
    compileDocument: async (id, document) =>
      read(await api.runs[':id'].compile.$post({ ...path(id), json: document === undefined ? {} : { document } })),
    getProjection: async (id) => read(await api.runs[':id'].projection.$get(path(id))),
    getDiff: async (id) => read(await api.runs[':id'].diff.$get(path(id))),
    getTranscript: async (id) => items(await api.runs[':id'].transcript.$get(path(id))),
    getRunTree: async (id) => read(await api.runs[':id'].tree.$get(path(id))),
    getPullRequest: async (id) => read(await api.runs[':id']['pull-request'].$get(path(id))),
    replyToThread: async (id, threadId, body, key) =>
      read(
        await api.runs[':id']['pull-request'].threads[':threadId'].replies.$post(
          { param: { id: segment(id), threadId: segment(threadId) }, json: { body } },
          keyed(key),
        ),
      ),
    resolveThread: async (id, threadId) =>
      read(
        await api.runs[':id']['pull-request'].threads[':threadId'].resolve.$post({
          param: { id: segment(id), threadId: segment(threadId) },
          json: {},
        }),
      ),
    getStatechart: async (id, at) => read(await api.runs[':id'].statechart.$get({ ...path(id), query: query({ at }) })),

    listConflicts,
    listGates: async (runId) => items(await api.gates.$get({ query: query({ runId }) })),
    listClarifications: async (status) => items(await api.clarifications.$get({ query: query({ status }) })),
    decideGate: async (id, decision, key) =>
      read(await api.gates[':id'].decision.$post({ ...path(id), json: decision as never }, keyed(key))),
    retryGates: async (gateIds) => items(await api.retries.$post({ json: { gateIds: [...gateIds] } })),
    decideOpenGate: async (id, { decision, ...fields }) =>
      read(await api.runs[':id'][decision].$post({ ...path(id), json: fields as never })),
    listComments: async (id) => items(await api.gates[':id'].comments.$get(path(id))),
    addComment: async (id, comment, key) =>
      read(await api.gates[':id'].comments.$post({ ...path(id), json: comment }, keyed(key))),
    editComment: async (id, text) => read(await api.comments[':id'].edit.$post({ ...path(id), json: { text } })),
    deleteComment: async (id) => read(await api.comments[':id'].delete.$post({ ...path(id), json: {} })),
    cancelRun: async (id, reason) =>
      read(await api.runs[':id'].cancel.$post({ ...path(id), json: reason === undefined ? {} : { reason } })),
    pauseRun: async (id, reason) =>
      read(await api.runs[':id'].pause.$post({ ...path(id), json: reason === undefined ? {} : { reason } })),
    sendMessage: async (id, text) => read(await api.runs[':id'].message.$post({ ...path(id), json: { text } })),
    sendSignal: async (id, signal) => read(await api.runs[':id'].signals.$post({ ...path(id), json: signal })),

    upload: async (name, content) => read(await api.uploads.$post({ query: { name } }, { init: { body: content } })),
    listWorkflows: async () => items(await api.workflows.$get()),
    getWorkflow: async (name) => read(await api.workflows[':name'].$get({ param: { name: segment(name) } })),
    listModels: async () => items(await api.models.$get()),
    getMetrics: async (wanted = {}) => read(await api.metrics.$get({ query: query(wanted) })),
    readiness: async () => read(await readyz.$get(), [503]),
    getSetup: async () => read(await api.setup.$get()),
    setKey: async (id, key) => read(await api.setup.providers[':id'].key.$put({ ...path(id), json: { ...key } })),
    removeKey: async (id) => read(await api.setup.providers[':id'].key.$delete(path(id))),
    testProvider: async (id) => read(await api.setup.providers[':id'].test.$post(path(id))),
    testAgent: async (id) => read(await api.setup.agents[':id'].test.$post(path(id))),
    setDefaultModels: async (models) => read(await api.setup['default-models'].$put({ json: { ...models } })),
    me: async () => read(await api.me.$get()),
    createSignInLink: async () => (await read<{ url: string }>(await api['sign-in-links'].$post())).url,
    signOut: async (options = {}) =>
      (await read<{ ended: number }>(await api['sign-out'].$post({ json: { ...options } }))).ended,

    readFeed,
    followFeed: (feed) =>
      followFeed(feed, {
        url: async (signal) => {
          const { ticket } = await read<{ ticket: string }>(await api.tickets.$post(undefined, { init: { signal } }));
          return `${baseUrl.replace(/^http/, 'ws')}/ws?ticket=${ticket}`;
        },
        WebSocket: options.WebSocket ?? (globalThis.WebSocket as unknown as WebSocketConstructor),
        backoff,
        polling: {
          page: readFeed,
          conflicts: (signal) => listConflicts({}, signal),
          intervalMs: options.pollIntervalMs ?? POLL_INTERVAL_MS,
        },
      }),
  };
}

/** Adds credentials and idempotency key, and repeats what the network lost. */
function createSender(options: ClientOptions, baseUrl: string, backoff: Backoff): typeof fetch {
  const send = options.fetch ?? fetch;
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (options.token !== undefined) headers.set('Authorization', `Bearer ${options.token}`);
    if (init?.method === 'POST' && !headers.has('Idempotency-Key')) {
      headers.set('Idempotency-Key', crypto.randomUUID());
    }
    for (let failures = 0; ; failures += 1) {
      try {
        return await send(input, { ...init, headers, redirect: 'error' });
      } catch (cause) {
        if (failures + 1 >= MAX_TRIES || init?.signal?.aborted) throw new ServerUnreachable(baseUrl, cause);
        await sleep(waitBefore(failures, backoff));
      }
    }
  };
}

/**
 * The body of a success, or of a status in `alsoTaken`. Its type is the one the caller promises: Hono's own type of it
 * is the same interface in wider JSON types, which strict optional properties refuse.
 */
async function read<Body>(response: JsonResponse, alsoTaken: readonly number[] = []): Promise<Body> {
  if (response.ok || alsoTaken.includes(response.status)) return (await response.json()) as Body;
  throw new ApiError(problemOf(response.status, await response.text()));
}

async function items<Item>(response: JsonResponse): Promise<readonly Item[]> {
  return (await read<{ readonly items: readonly Item[] }>(response)).items;
}

/** Common part of Hono's typed responses. */
interface JsonResponse {
  readonly ok: boolean;
  readonly status: number;
  json(): Promise<unknown>;
  text(): Promise<string>;
}

/** A proxy or another server may answer with anything. */
function problemOf(status: number, body: string): ProblemDetails {
  try {
    const problem: unknown = JSON.parse(body);
    if (typeof problem === 'object' && problem !== null && 'detail' in problem && 'code' in problem) {
      return { type: 'about:blank', title: 'Problem', ...problem, status } as ProblemDetails;
    }
  } catch {
    // Not JSON: told below.
  }
  return {
    type: 'about:blank',
    title: 'UnexpectedAnswer',
    status,
    detail: `The server answered ${status} without saying why; is there a proxy before it?`,
    code: status >= 500 ? 'unavailable' : 'invalid_request',
  };
}

/** Query values as strings, absent ones left out. */
function query<Fields extends object>(fields: Fields) {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([key, value]) => [key, String(value)])) as {
    [Key in keyof Fields]: Fields[Key];
  };
}

function segment(id: string): string {
  if (id === '') throw new TypeError('The id is empty.');
  return encodeURIComponent(id);
}
