/** The HTTP API: the endpoints of the {@link Orchestrator} with their schemas, and the OpenAPI document of them. */
import { createRoute, OpenAPIHono, type RouteConfig, type z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ZodError } from 'zod';
import { type Fault, InvalidRequest, NotFound, type ProblemDetails, toProblem } from '../errors.ts';
import { FEED_PROTOCOL, type FeedPage, type FeedPageRequest } from '../feed.ts';
import type { Decision } from '../run.ts';
import { type Call, type Endpoint, ENDPOINTS, type Place, type TakenBy } from './endpoints.ts';
import type { Caller, GateDecision, Orchestrator } from './orchestrator.ts';
import { MAX_UPLOAD_BYTES, readJsonBody, readUploadBody } from './request-body.ts';
import * as schemas from './schemas.ts';

/** Path at which a forge tells that something happened there. */
export const WEBHOOK_PATH = '/webhooks/github';

export interface ApiOptions {
  /**
   * Returns the user who makes this request. Called only for routes that need it. The API's host must authenticate the
   * request.
   */
  readonly caller: (c: Context) => Caller;
  /** Returns a secret with which the caller can open one WebSocket within 30 seconds. */
  readonly issueTicket: (c: Context) => string;
  /** The feed for clients that no WebSocket reaches. */
  readonly readFeed: (request: FeedPageRequest) => Promise<FeedPage>;
  /** An address that signs one browser in, once. */
  readonly issueSignInLink: (caller: Caller) => string;
  /** Ends the session of the browser that makes this request, or those of all browsers. @returns how many there were */
  readonly signOut: (c: Context, everywhere: boolean) => Promise<number>;
  /** Anything thrown that is not an error of the contract: a bug, to be logged with its stack. */
  readonly onInternalError: (error: unknown, c: Context) => void;
  /**
   * Faults of the settings that a launch names and its workflow does not have, with paths relative to the configuration. Asked
   * when a launch does not pass its schema, so that the answer has every fault. Default: none.
   */
  readonly unknownNames?: (workflow: unknown, config: unknown) => readonly Fault[];
  /** Answers a delivery of a webhook, whose body it reads itself. Absent: there is no such route. */
  readonly receiveWebhook?: (c: Context) => Promise<Response>;
  /** Runs on every other POST after its body was read and before its route, such as the memory of idempotency keys. */
  readonly onPost?: MiddlewareHandler;
  /** Runs on every PUT and DELETE after its body was read and before its route. */
  readonly onChange?: MiddlewareHandler;
}

/** The application with all routes of the API; the server adds its own pages and stands a guard before it. */
export function createApi(orchestrator: Orchestrator, options: ApiOptions) {
  const app = createRoutes((body) => namesOfLaunch(body, options.unknownNames));
  app.onError((error, c) => answerError(error, c, options.onInternalError));
  app.notFound((c) => answerProblem(c, toProblem(new NotFound(`There is no ${c.req.method} ${c.req.path}.`))));
  if (options.receiveWebhook) {
    // Before all that reads bodies and asks for the caller: a delivery has its own limit and its own proof.
    app.openAPIRegistry.registerPath(routes.receiveWebhook);
    app.post(WEBHOOK_PATH, options.receiveWebhook);
  }
  app.post('/api/uploads', async (c, next) => readUploadBody(c).then(next));
  app.use(async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD' && c.req.path !== '/api/uploads') await readJsonBody(c);
    await next();
  });
  for (const each of [
    ...Object.values(routes),
    ...Object.values(callRoutes),
    ...decisionRoutes.map(({ route }) => route),
  ])
    if (needsJson(each)) app.on(each.method, each.getRoutingPath(), refuseNoBody);
  if (options.onPost) app.on('POST', '*', options.onPost);
  if (options.onChange) app.on(['PUT', 'DELETE'], '*', options.onChange);

  addSessionRoutes(app, orchestrator, options);
  addCalls(app, orchestrator, options);
  addDecisions(app, orchestrator, options);

  describeSecurity(app);
  app.get('/api/openapi.json', (c) => c.json(openApiDocument(app)));
  return app;
}

/** @param faultsBeside further faults of a body that does not pass its schema. Default: none */
function createRoutes(faultsBeside: (body: unknown) => readonly Fault[] = () => []) {
  return new OpenAPIHono({
    defaultHook: async (result, c) => {
      if (result.success) return;
      const beside = result.target === 'json' ? faultsBeside(await c.req.json()) : [];
      throw invalidRequest(result.target, result.error, beside);
    },
  });
}

function needsJson({ request }: RouteConfig): boolean {
  return request?.body?.required === true && 'application/json' in request.body.content;
}

/** An empty body never reaches a schema, which would see it as an object without fields. */
const refuseNoBody: MiddlewareHandler = async (c, next) => {
  if ((await c.req.arrayBuffer()).byteLength === 0)
    throw new InvalidRequest(
      `${c.req.method} ${c.req.path} needs a body in JSON, and this request has none; /api/openapi.json has its fields.`,
    );
  await next();
};

/** Faults of names in the body of a launch or an exploration, which need not have the form of one. */
function namesOfLaunch(body: unknown, unknownNames: ApiOptions['unknownNames'] = () => []): readonly Fault[] {
  const { workflow, config, variants } = membersOf(body);
  const faults = (of: unknown, prefix: string): readonly Fault[] =>
    unknownNames(workflow, of).map(({ path, message }) => ({ path: `${prefix}config.${path}`, message }));
  const each = Array.isArray(variants) ? variants : [];
  return [
    ...faults(config, ''),
    ...each.flatMap((variant, index) => faults(membersOf(variant)['config'], `variants.${index}.`)),
  ];
}

function membersOf(json: unknown): { readonly [Name in string]?: unknown } {
  return typeof json === 'object' && json !== null ? json : {};
}

/** The state of the server, and who is signed in. */
function addSessionRoutes(app: OpenAPIHono, orchestrator: Orchestrator, options: ApiOptions): void {
  const { caller, issueTicket, issueSignInLink, signOut, readFeed } = options;
  app
    .openapi(routes.health, (c) => c.json({ status: 'ok' as const }, 200))
    .openapi(routes.ready, async (c) => {
      const readiness = await orchestrator.readiness();
      return c.json(readiness, readiness.ready ? 200 : 503);
    })
    .openapi(routes.me, (c) => c.json({ userId: caller(c).userId }, 200))
    .openapi(routes.createTicket, (c) => c.json({ ticket: issueTicket(c) }, 201))
    .openapi(routes.createSignInLink, (c) => c.json({ url: issueSignInLink(caller(c)) }, 201))
    .openapi(routes.signOut, async (c) => {
      const { everywhere = false } = c.req.valid('json');
      return c.json({ ended: await signOut(c, everywhere) }, 200);
    })
    .openapi(routes.readFeed, async (c) => c.json(await readFeed(c.req.valid('query')), 200))
    .openapi(routes.upload, async (c) =>
      c.json(await orchestrator.upload(c.req.valid('query').name, new Uint8Array(await c.req.arrayBuffer())), 201),
    );
}

/** The endpoints of the calls of the orchestrator. */
function addCalls(app: OpenAPIHono, orchestrator: Orchestrator, { caller }: ApiOptions): void {
  const calls: Served = orchestrator;
  for (const name of Object.keys(ENDPOINTS) as Call[]) {
    const endpoint: Endpoint = ENDPOINTS[name];
    // Its arguments are those of its schemas.
    const call = calls[name].bind(calls) as unknown as (...args: readonly unknown[]) => Promise<unknown>;
    answer(app, callRoutes[name], async (c) => {
      const result = await call(...endpoint.takes.map((place) => argumentAt(c, place, caller)));
      if (endpoint.location === undefined) return endpoint.isList ? { items: result } : result;
      c.header('Location', `${endpoint.location}/${(result as { readonly id: string }).id}`);
      return result;
    });
  }
}

/** Decisions at the gate at which a run waits, and answers to questions of agents. */
function addDecisions(app: OpenAPIHono, orchestrator: Orchestrator, { caller }: ApiOptions): void {
  for (const { route, decision, of } of decisionRoutes)
    answer(app, route, (c) => {
      // Its fields are those that the schema of the decision gives.
      const wanted = { ...fieldsAt(c, 'json'), decision } as GateDecision;
      return orchestrator[of](caller(c), String(fieldsAt(c, 'param')['id']), wanted);
    });
}

/** Answers a route with JSON; {@link Served} says of which form. */
function answer(app: OpenAPIHono, route: RouteConfig, handle: (c: Context) => Promise<unknown>): void {
  const status = '201' in route.responses ? 201 : 200;
  const handler = async (c: Context) => c.json((await handle(c)) as object, status);
  app.openapi(route, handler as never); // Hono knows the types of a route that is written out alone.
}

function argumentAt(c: Context, place: Place, caller: ApiOptions['caller']): unknown {
  if (place === 'caller') return caller(c);
  if (place === 'key') return c.req.header('idempotency-key');
  const [part, field] = place.split('.', 2);
  if (part !== 'body' && part !== 'query') return fieldsAt(c, 'param')[place];
  const fields = fieldsAt(c, part === 'body' ? 'json' : 'query');
  return field === undefined ? fields : fields[field];
}

/** Fields of a part of a request as its schema gave them. */
function fieldsAt({ req }: Context, part: 'json' | 'query' | 'param'): Readonly<Record<string, unknown>> {
  return req.valid(part as never);
}

/** Retry time in seconds while a disk is full or a part of the server is unavailable: about the time of a restart. */
const RETRY_AFTER_S = 5;

/** The header `Retry-After` of a refusal that passes with time; `null` for all others. */
export function retryAfterOf({ status, retryAfterSeconds }: ProblemDetails): string | null {
  if (typeof retryAfterSeconds === 'number') return String(retryAfterSeconds);
  if (retryAfterSeconds === null) return null;
  return status === 503 || status === 507 ? String(RETRY_AFTER_S) : null;
}

/** An answer with problem details (RFC 9457). */
export function answerProblem(c: Context, problem: ProblemDetails): Response {
  c.header('Content-Type', 'application/problem+json');
  const retryAfter = retryAfterOf(problem);
  if (retryAfter !== null) c.header('Retry-After', retryAfter);
  // Hono's own type of a status is a closed set of numbers; problem details hold any.
  return c.body(JSON.stringify(problem), problem.status as 500);
}

function answerError(error: unknown, c: Context, onInternalError: ApiOptions['onInternalError']): Response {
  const translated =
    error instanceof HTTPException && error.status < 500 ? new InvalidRequest(error.message, { cause: error }) : error;
  const problem = toProblem(translated);
  if (problem.code === 'internal') onInternalError(error, c);
  return answerProblem(c, problem);
}

/** Most faults in an answer: a request can have as many unknown keys as it has bytes. */
const MAX_FAULTS = 50;

function invalidRequest(target: string, error: ZodError, beside: readonly Fault[]): InvalidRequest {
  const ofSchema: Fault[] = error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: pathOf([...issue.path, key]), message: 'is not a known key' }));
    }
    if (issue.code === 'invalid_key')
      return [
        { path: pathOf(issue.path), message: 'is not a valid name: begin with a-z and use letters, digits, _ and -' },
      ];
    return [{ path: pathOf(issue.path), message: issue.message }];
  });
  const faults = [...ofSchema, ...beside.map(({ path, message }) => ({ path: path.slice(0, MAX_PATH), message }))];
  const place = { json: 'body', query: 'query', param: 'path' }[target] ?? target;
  const shown = faults.slice(0, MAX_FAULTS);
  const list = shown.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  const rest = faults.length > shown.length ? `; and ${faults.length - shown.length} more` : '';
  return new InvalidRequest(`The request's ${place} cannot be taken: ${list}${rest}.`, { faults: shown });
}

const MAX_PATH = 200;
const pathOf = (path: readonly PropertyKey[]): string => path.map(String).join('.').slice(0, MAX_PATH);

// ---------- the routes, as OpenAPI describes them ----------

type Method = 'get' | 'post' | 'put' | 'delete';

const jsonContent = <Schema extends z.ZodType>(schema: Schema) => ({ 'application/json': { schema } });
const gives = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: jsonContent(schema),
});
const mayTake = <Schema extends z.ZodType>(schema: Schema) => ({ required: false, content: jsonContent(schema) });
/** Adds the problem document to the answers. Its type stays out of the client's, which throws problems. */
function route<
  Path extends string,
  Config extends Omit<RouteConfig, 'path'> & { readonly path: Path; readonly method: Method },
>(config: Config) {
  return createRoute<Path, Config>({
    ...config,
    responses: {
      ...config.responses,
      default: { description: 'What went wrong', content: { 'application/problem+json': { schema: schemas.problem } } },
    },
  });
}

const routes = {
  health: route({
    method: 'get',
    path: '/healthz',
    summary: 'Whether the process answers',
    security: [],
    responses: { 200: gives(schemas.health, 'It does') },
  }),
  ready: route({
    method: 'get',
    path: '/readyz',
    summary: 'Whether runs can be carried out, and what is missing',
    security: [],
    responses: { 200: gives(schemas.readiness, 'Ready'), 503: gives(schemas.readiness, 'Not ready') },
  }),
  me: route({
    method: 'get',
    path: '/api/me',
    summary: 'Who is asking',
    responses: { 200: gives(schemas.me, 'The caller') },
  }),
  createTicket: route({
    method: 'post',
    path: '/api/tickets',
    summary: 'A ticket that opens one WebSocket at /ws?ticket=… within 30 seconds',
    responses: { 201: gives(schemas.ticket, 'The ticket') },
  }),
  createSignInLink: route({
    method: 'post',
    path: '/api/sign-in-links',
    summary: 'An address that signs one browser in, once, within 10 minutes',
    responses: { 201: gives(schemas.signInLink, 'The address') },
  }),
  signOut: route({
    method: 'post',
    path: '/api/sign-out',
    summary: 'Sign this browser out, or every browser',
    request: { body: mayTake(schemas.signOut) },
    responses: { 200: gives(schemas.signedOut, 'How many browsers were signed in') },
  }),
  receiveWebhook: route({
    method: 'post',
    path: WEBHOOK_PATH,
    summary: 'A delivery of a webhook of GitHub, signed with GITHUB_WEBHOOK_SECRET. It only wakes a look at GitHub',
    security: [],
    responses: {
      200: gives(schemas.takenDelivery, 'A ping was answered'),
      202: gives(schemas.takenDelivery, 'Whether the delivery woke something'),
    },
  }),
  readFeed: route({
    method: 'get',
    path: '/api/events',
    summary: 'Events of all runs after a position, oldest first: the feed, for where no WebSocket gets through',
    request: { query: schemas.feedQuery },
    responses: { 200: gives(schemas.feedPage, 'The events, and whether there are more') },
  }),
  upload: route({
    method: 'post',
    path: '/api/uploads',
    summary: `Store a file for an answer: the body is the file, at most ${MAX_UPLOAD_BYTES / 1024 / 1024} MB`,
    request: {
      query: schemas.uploadQuery,
      body: {
        required: true,
        content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
      },
    },
    responses: { 201: gives(schemas.upload, 'The stored file') },
  }),
};

/** An endpoint as OpenAPI describes it. */
interface Described {
  readonly summary: string;
  readonly answer: z.ZodType;
  /** The result, in words. */
  readonly result: string;
  readonly given: Given;
}

interface Given {
  /** Default: those of `idParams`, where the path has an id. */
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** A body that is needed. */
  readonly body?: z.ZodType;
  /** A body that may be left out. */
  readonly mayTake?: z.ZodType;
}

function says<Answer extends z.ZodType, const Takes extends Given = object>(
  summary: string,
  answer: Answer,
  result: string,
  given: Takes = {} as Takes,
) {
  return { summary, answer, result, given };
}

const described = {
  createProject: says('Add a project', schemas.project, 'The project', { body: schemas.newProject }),
  listProjects: says('Projects', schemas.pageOf(schemas.project), 'A page of projects', { query: schemas.pageQuery }),
  getProject: says('One project', schemas.project, 'The project'),
  getRoadmap: says(
    'The roadmap on the base branch: its items, the next one with reasons, and the live runs of items',
    schemas.projectRoadmap,
    'The roadmap, its faults, or that there is none',
  ),
  cleanBranches: says(
    'Remove branches of runs that ended long ago',
    schemas.cleanedBranches,
    'What was removed, and why the rest stays',
    { mayTake: schemas.cleaningRequest },
  ),
  launchRun: says('Start a run', schemas.runView, 'The run, started or queued', { body: schemas.newRun }),
  explore: says('Start runs side by side to compare them', schemas.exploration, 'The runs', {
    body: schemas.newExploration,
  }),
  listRuns: says('Runs, newest first', schemas.pageOf(schemas.runView), 'A page of runs', { query: schemas.runsQuery }),
  getRun: says('One run, as it is or as it was after one of its events', schemas.runView, 'The run', {
    query: schemas.atQuery,
  }),
  forkRun: says(
    'Start a new run where another was after one of its events, with another configuration, answer or request',
    schemas.runView,
    'The new run, under way, waiting or queued',
    { body: schemas.newFork },
  ),
  migrateRun: says(
    'Bind a run to another version of its workflow; 409 with the first event that would be another one',
    schemas.runView,
    'The run with the new version',
    { body: schemas.newMigration },
  ),
  exportRun: says(
    'Everything that can still be read of a run, row by row, also of a damaged one',
    schemas.runExport,
    'The rows by table',
  ),
  listEvents: says(
    'Events of a run after a sequence number, oldest first',
    schemas.listOf(schemas.workflowEvent),
    'The events',
    { query: schemas.eventsQuery },
  ),
  listArtifacts: says('Artifacts of a run', schemas.listOf(schemas.artifact), 'The artifacts'),
  getArtifact: says('One artifact with its content', schemas.artifactContent, 'The artifact', {
    params: schemas.artifactParams,
  }),
  compileDocument: says(
    'Compile a document of the run, as it is now, to a PDF; neither the run nor its branch changes',
    schemas.compiledDocument,
    'The PDF, or why there is none',
    { mayTake: schemas.compileBody },
  ),
  getProjection: says(
    'The run as its workflow projects it: sections such as a timeline of its rounds and a table of its sources',
    schemas.runProjection,
    'The sections; none where the workflow has no projection',
  ),
  getDiff: says('What the run changed so far', schemas.runDiff, 'The difference to the base commit'),
  getTranscript: says('What the agents said and did', schemas.listOf(schemas.transcriptEntry), 'The transcript'),
  getRunTree: says(
    'What the run, its forks and the other runs of its exploration have spent together',
    schemas.runTree,
    'The run tree',
  ),
  getStatechart: says(
    'Where the run is in its statechart, how it came there and what can happen next',
    schemas.statechart,
    'The statechart',
    { query: schemas.atQuery },
  ),
  getPullRequest: says(
    'The pull request of a run with its checks, reviews and review threads, as the forge has it now',
    schemas.runPullRequest,
    'The pull request',
  ),
  replyToThread: says(
    'Answer in a review thread; the answer names the person it is from',
    schemas.threadReply,
    'The answer',
    { params: schemas.threadParams, body: schemas.replyBody },
  ),
  resolveThread: says('Resolve a review thread', schemas.resolvedThread, 'The thread is resolved', {
    params: schemas.threadParams,
    mayTake: schemas.emptyBody,
  }),
  listConflicts: says(
    'Files in which merges of live runs would conflict now, with each other or with their base branches',
    schemas.listOf(schemas.foreseenConflict),
    'The conflicts, one of each run',
    { query: schemas.conflictsQuery },
  ),
  listGates: says('Everything that waits for a person', schemas.listOf(schemas.gate), 'Open gates', {
    query: schemas.gatesQuery,
  }),
  decideGate: says(
    'Decide a gate. To approve or accept takes its id and the hashes that it shows: artifactHash, codeTree, and concernsHash where it has concerns',
    schemas.runView,
    'The run after it',
    { body: schemas.gateDecision },
  ),
  listComments: says(
    'Comments beside lines that no decision has sent yet',
    schemas.listOf(schemas.reviewComment),
    'The comments, oldest first',
  ),
  addComment: says(
    'Comment on a line of what the open gate shows; sent with the next rejection, retry or acceptance',
    schemas.runView,
    'The run after it',
    { body: schemas.newComment },
  ),
  editComment: says('Change a comment that is not sent yet', schemas.runView, 'The run after it', {
    body: schemas.commentBody,
  }),
  deleteComment: says('Delete a comment that is not sent yet', schemas.runView, 'The run after it', {
    mayTake: schemas.emptyBody,
  }),
  retryGates: says(
    'Retry at several gates, such as those of all runs that an outage paused',
    schemas.listOf(schemas.retriedGate),
    'What came of each',
    { body: schemas.retriesBody },
  ),
  cancelRun: says('Cancel the run', schemas.runView, 'The run after it', { mayTake: schemas.cancelBody }),
  pauseRun: says(
    'Pause the run and the runs below it until a person retries it; what is under way begins again then',
    schemas.runView,
    'The run after it',
    { mayTake: schemas.pauseBody },
  ),
  sendMessage: says(
    'Steer the agents at work: those of the run and of the open runs below it',
    schemas.toldRun,
    'The run after it, with the runs below that the message did not reach',
    { body: schemas.messageBody },
  ),
  sendSignal: says('Send a signal that the workflow declares', schemas.runView, 'The run after it', {
    body: schemas.signalBody,
  }),
  listClarifications: says('Questions of agents to people', schemas.listOf(schemas.clarification), 'The questions', {
    query: schemas.clarificationsQuery,
  }),
  listWorkflows: says('Workflows that runs can follow', schemas.listOf(schemas.workflowSummary), 'The workflows'),
  getWorkflow: says(
    'One workflow: its statechart, the signals that it takes and what it does',
    schemas.workflowDetails,
    'The workflow',
    { params: schemas.nameParams },
  ),
  listModels: says('Models, and whether they can be used', schemas.listOf(schemas.modelSummary), 'The models'),
  getMetrics: says(
    'Success, time to completion, waiting by gate and cost by stage and model over a time, by day or week',
    schemas.metrics,
    'The figures',
    { query: schemas.metricsQuery },
  ),
  getSetup: says(
    'Keys of providers, agents of this machine and default models; no key is shown',
    schemas.setup,
    'What there is',
  ),
  setKey: says(
    'Give a provider a key, tested first by one call; runs use it at once',
    schemas.providerSetup,
    'The provider after it',
    { body: schemas.newKey },
  ),
  removeKey: says('Forget the key of a provider', schemas.providerSetup, 'The provider after it'),
  testProvider: says('Test the key of a provider by one call', schemas.providerSetup, 'The provider after it'),
  testAgent: says('Start an agent and open a session, without a prompt', schemas.agentSetup, 'The agent after it'),
  setDefaultModels: says(
    'Set default models by role; an empty text gives the role its own default again',
    schemas.setup,
    'What there is after it',
    { body: schemas.defaultModels },
  ),
};

const decisions = {
  approve: says(
    'Approve what the run shows at its open gate, naming the gate and the hashes that it shows',
    schemas.runView,
    'The run after it',
    { mayTake: schemas.approveBody },
  ),
  reject: says('Send the work back with feedback', schemas.runView, 'The run after it', { body: schemas.rejectBody }),
  answer: says('Answer the open question', schemas.runView, 'The run after it', { body: schemas.answerBody }),
  ignore: says(
    'Leave the open question unanswered: the run continues without an answer',
    schemas.runView,
    'The run after it',
    { mayTake: schemas.ignoreBody },
  ),
  ask: says('Ask the agent something before deciding', schemas.runView, 'The run after it', { body: schemas.askBody }),
  retry: says('Try the failed or paused stage again', schemas.runView, 'The run after it', {
    mayTake: schemas.retryBody,
  }),
  accept: says(
    'Accept the result although its validation failed, naming the gate and the hashes that it shows',
    schemas.runView,
    'The run after it',
    { body: schemas.acceptBody },
  ),
  extend: says('Give the stage more time, or the run other budgets', schemas.runView, 'The run after it', {
    body: schemas.extendBody,
  }),
  close: says(
    'Close the pull request that the run follows, without a merge; the run ends',
    schemas.runView,
    'The run after it',
    { body: schemas.closeBody },
  ),
};

const clarifications = {
  answer: says('Answer a question', schemas.runView, 'The run after it', { body: schemas.answerBody }),
  ignore: says(
    'Leave a question unanswered: the run continues without an answer',
    schemas.runView,
    'The run after it',
    { mayTake: schemas.ignoreBody },
  ),
};

function routeOf({ method, path, makes }: Endpoint, { summary, answer: schema, result, given }: Described) {
  const { params = path.includes('{id}') ? schemas.idParams : undefined, query, body, mayTake } = given;
  const content = body ?? mayTake;
  return route({
    method,
    path,
    summary,
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(content === undefined ? {} : { body: { required: body !== undefined, content: jsonContent(content) } }),
    },
    responses: { [makes ? 201 : 200]: gives(schema, result) },
  });
}

const callRoutes = Object.fromEntries(
  Object.entries(ENDPOINTS).map(([name, endpoint]) => [name, routeOf(endpoint, described[name as Call])]),
) as Readonly<Record<Call, ReturnType<typeof routeOf>>>; // Its keys are those of the endpoints.

const decisionRoutes = [
  ...Object.entries(decisions).map(([decision, says]) => ({
    of: 'decideOpenGate' as const,
    decision,
    says,
    at: 'runs',
  })),
  ...Object.entries(clarifications).map(([decision, says]) => ({
    of: 'decideGate' as const,
    decision,
    says,
    at: 'clarifications',
  })),
].map(({ of, decision, says, at }) => ({
  of,
  decision,
  route: routeOf({ method: 'post', path: `/api/${at}/{id}/${decision}`, takes: [] }, says),
}));

type BodyOf<Takes> = Takes extends { readonly body: infer Body extends z.ZodType }
  ? z.output<Body>
  : Takes extends { readonly mayTake: infer Body extends z.ZodType }
    ? z.output<Body>
    : never;
type QueryOf<Takes> = Takes extends { readonly query: infer Query extends z.ZodType } ? z.output<Query> : never;
type FieldOf<Fields, Name> = Name extends keyof Fields ? Fields[Name] : { readonly absent: Name };

type ArgumentAt<At, Takes> = At extends 'caller'
  ? Caller
  : At extends 'key'
    ? string | undefined
    : At extends 'body'
      ? BodyOf<Takes>
      : At extends 'query'
        ? QueryOf<Takes>
        : At extends `body.${infer Name}`
          ? FieldOf<BodyOf<Takes>, Name>
          : At extends `query.${infer Name}`
            ? FieldOf<QueryOf<Takes>, Name>
            : string;

type ArgumentsAt<Places extends readonly Place[], Takes> = {
  [Index in keyof Places]: ArgumentAt<Places[Index], Takes>;
};

type ResultOf<Name extends Call> =
  z.output<(typeof described)[Name]['answer']> extends infer Answer
    ? (typeof ENDPOINTS)[Name] extends { readonly isList: true }
      ? FieldOf<Answer, 'items'>
      : Answer
    : never;

/** The calls with the arguments and results that their schemas give: an orchestrator has to take and give these. */
type Served = {
  readonly [Name in Call]: (
    ...args: ArgumentsAt<TakenBy<Name>, (typeof described)[Name]['given']>
  ) => Promise<ResultOf<Name>>;
};

/** Decisions with the fields that their schemas give: each has to be one that the orchestrator takes. */
type Decided = { readonly [Kind in Decision]: BodyOf<(typeof decisions)[Kind]['given']> & { readonly decision: Kind } };
true satisfies Decided[Decision] extends GateDecision ? true : false;

function describeSecurity(app: OpenAPIHono): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
}

function openApiDocument(app: OpenAPIHono) {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Autonomous',
      version: '1',
      description:
        'Every POST takes an `Idempotency-Key`: the same key with the same request gives the same answer. ' +
        `Events follow live over the WebSocket \`/ws?ticket=…\` (protocol ${FEED_PROTOCOL}).`,
    },
    security: [{ token: [] }],
  });
}
