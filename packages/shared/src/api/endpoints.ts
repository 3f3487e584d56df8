/**
 * Endpoints of the API: method, path, and where each argument of a call stands in the request. The server makes its routes of them, and
 * the client its requests.
 */
import type { Caller, Orchestrator } from './orchestrator.ts';

/** Place of an argument. `body` and `query` are all fields; what is no other place is a parameter of the path. */
export type Place =
  | 'caller'
  /** The idempotency key. */
  | 'key'
  | 'id'
  | 'artifactId'
  | 'threadId'
  | 'name'
  | 'query'
  | `query.${string}`
  | 'body'
  | `body.${string}`;

export interface Endpoint {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** As OpenAPI writes it: `/api/runs/{id}`. */
  readonly path: `/${string}`;
  /** Places of the arguments, in their order. */
  readonly takes: readonly Place[];
  /** The answer has the result as `items`. Default: the answer is the result. */
  readonly isList?: true;
  /** Something is made by it: the answer has the status 201. Default: it has the status 200. */
  readonly makes?: true;
  /** Path of what is made, before its id: the answer names it as its location. Default: it names none. */
  readonly location?: string;
}

/** Makes the functions that write an endpoint of a method. */
const withMethod =
  <Method extends Endpoint['method']>(method: Method) =>
  <const Path extends Endpoint['path'], const Takes extends readonly Place[]>(path: Path, ...takes: Takes) => ({
    method,
    path,
    takes,
  });
const get = withMethod('get');
const post = withMethod('post');
const put = withMethod('put');
const remove = withMethod('delete');
const list = <const Of extends Endpoint>(endpoint: Of) => ({ ...endpoint, isList: true as const });
const making = <const Of extends Endpoint>(endpoint: Of, location?: string) => ({
  ...endpoint,
  makes: true as const,
  ...(location === undefined ? {} : { location }),
});

/** By the method of the {@link Orchestrator} that carries it out. */
export const ENDPOINTS = {
  createProject: making(post('/api/projects', 'caller', 'body'), '/api/projects'),
  listProjects: get('/api/projects', 'query'),
  getProject: get('/api/projects/{id}', 'id'),
  getRoadmap: get('/api/projects/{id}/roadmap', 'id'),
  cleanBranches: post('/api/projects/{id}/clean-branches', 'id', 'body'),

  launchRun: making(post('/api/runs', 'caller', 'body', 'key'), '/api/runs'),
  explore: making(post('/api/explorations', 'caller', 'body', 'key')),
  listRuns: get('/api/runs', 'query'),
  getRun: get('/api/runs/{id}', 'id', 'query.at'),
  forkRun: making(post('/api/runs/{id}/fork', 'caller', 'id', 'body', 'key'), '/api/runs'),
  migrateRun: post('/api/runs/{id}/migrate', 'caller', 'id', 'body.to'),
  exportRun: get('/api/runs/{id}/export', 'id'),
  listEvents: list(get('/api/runs/{id}/events', 'id', 'query.after', 'query.limit')),
  listArtifacts: list(get('/api/runs/{id}/artifacts', 'id')),
  getArtifact: get('/api/runs/{id}/artifacts/{artifactId}', 'id', 'artifactId'),
  compileDocument: post('/api/runs/{id}/compile', 'id', 'body.document'),
  getProjection: get('/api/runs/{id}/projection', 'id'),
  getDiff: get('/api/runs/{id}/diff', 'id'),
  getTranscript: list(get('/api/runs/{id}/transcript', 'id')),
  getRunTree: get('/api/runs/{id}/tree', 'id'),
  getStatechart: get('/api/runs/{id}/statechart', 'id', 'query.at'),

  getPullRequest: get('/api/runs/{id}/pull-request', 'id'),
  replyToThread: making(
    post('/api/runs/{id}/pull-request/threads/{threadId}/replies', 'caller', 'id', 'threadId', 'body.body'),
  ),
  resolveThread: post('/api/runs/{id}/pull-request/threads/{threadId}/resolve', 'id', 'threadId'),

  listConflicts: list(get('/api/conflicts', 'query')),
  listGates: list(get('/api/gates', 'query.runId')),
  decideGate: post('/api/gates/{id}/decision', 'caller', 'id', 'body'),
  listComments: list(get('/api/gates/{id}/comments', 'id')),
  addComment: making(post('/api/gates/{id}/comments', 'caller', 'id', 'body')),
  editComment: post('/api/comments/{id}/edit', 'caller', 'id', 'body.text'),
  deleteComment: post('/api/comments/{id}/delete', 'caller', 'id'),
  retryGates: list(post('/api/retries', 'caller', 'body.gateIds')),
  cancelRun: post('/api/runs/{id}/cancel', 'caller', 'id', 'body.reason'),
  pauseRun: post('/api/runs/{id}/pause', 'caller', 'id', 'body.reason'),
  sendMessage: post('/api/runs/{id}/message', 'caller', 'id', 'body.text'),
  sendSignal: post('/api/runs/{id}/signals', 'caller', 'id', 'body'),

  listClarifications: list(get('/api/clarifications', 'query.status')),
  listWorkflows: list(get('/api/workflows')),
  getWorkflow: get('/api/workflows/{name}', 'name'),
  listModels: list(get('/api/models')),
  getMetrics: get('/api/metrics', 'query'),

  getSetup: get('/api/setup'),
  setKey: put('/api/setup/providers/{id}/key', 'id', 'body'),
  removeKey: remove('/api/setup/providers/{id}/key', 'id'),
  testProvider: post('/api/setup/providers/{id}/test', 'id'),
  testAgent: post('/api/setup/agents/{id}/test', 'id'),
  setDefaultModels: put('/api/setup/default-models', 'body'),
} satisfies { readonly [Name in keyof Orchestrator]?: Endpoint };

export type Call = keyof typeof ENDPOINTS;

/** Places of the arguments of a call. */
export type TakenBy<Name extends Call> = (typeof ENDPOINTS)[Name]['takes'];

/** The call of a client: without its caller, whom the server knows. An idempotency key may follow where it changes something. */
export type RemoteCall<Name extends Call> = (typeof ENDPOINTS)[Name]['method'] extends 'get'
  ? Orchestrator[Name]
  : TakenBy<Name> extends readonly [...unknown[], 'key']
    ? (...args: ArgumentsOf<Name>) => ReturnType<Orchestrator[Name]>
    : (...args: [...ArgumentsOf<Name>, key?: string]) => ReturnType<Orchestrator[Name]>;

type ArgumentsOf<Name extends Call> =
  TakenBy<Name> extends readonly ['caller', ...unknown[]]
    ? Parameters<Orchestrator[Name]> extends [caller: Caller, ...args: infer Args]
      ? Args
      : never
    : Parameters<Orchestrator[Name]>;
