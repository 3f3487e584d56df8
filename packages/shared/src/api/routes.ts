/** The HTTP API: validated routes of one line each over the {@link Orchestrator}, and the OpenAPI document of them. */
import { createRoute, OpenAPIHono, type RouteConfig, type z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ZodError } from 'zod';
import { type Fault, InvalidRequest, NotFound, type ProblemDetails, toProblem } from '../errors.ts';
import { FEED_PROTOCOL, type FeedPage, type FeedPageRequest } from '../feed.ts';
import type { Caller, Orchestrator } from './orchestrator.ts';
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

/** Type of the API for the Hono client. */
export type Api = ReturnType<typeof createApi>;

/** The application with all routes of the API; the server adds its own pages and stands a guard before it. */
export function createApi(orchestrator: Orchestrator, options: ApiOptions) {
  const app = createRoutes();
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
  for (const each of Object.values(routes))
    if (needsJson(each)) app.on(each.method, each.getRoutingPath(), refuseNoBody);
  if (options.onPost) app.on('POST', '*', options.onPost);
  if (options.onChange) app.on(['PUT', 'DELETE'], '*', options.onChange);

  const api = app
    .route('/', sessionRoutes(orchestrator, options))
    .route('/', projectRoutes(orchestrator, options))
    .route('/', runRoutes(orchestrator, options))
    .route('/', runReadingRoutes(orchestrator, options))
    .route('/', pullRequestRoutes(orchestrator, options))
    .route('/', gateRoutes(orchestrator, options))
    .route('/', openGateRoutes(orchestrator, options))
    .route('/', commandRoutes(orchestrator, options))
    .route('/', clarificationRoutes(orchestrator, options))
    .route('/', serverRoutes(orchestrator))
    .route('/', setupRoutes(orchestrator));

  describeSecurity(app);
  app.get('/api/openapi.json', (c) => c.json(openApiDocument(app)));
  return api;
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
function sessionRoutes(orchestrator: Orchestrator, { caller, issueTicket, issueSignInLink, signOut }: ApiOptions) {
  return createRoutes()
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
    });
}

/** Projects. */
function projectRoutes(orchestrator: Orchestrator, { caller }: ApiOptions) {
  return createRoutes()
    .openapi(routes.createProject, async (c) => {
      const project = await orchestrator.createProject(caller(c), c.req.valid('json'));
      return c.json(project, 201, { Location: `/api/projects/${project.id}` });
    })
    .openapi(routes.listProjects, async (c) => c.json(await orchestrator.listProjects(c.req.valid('query')), 200))
    .openapi(routes.getProject, async (c) => c.json(await orchestrator.getProject(c.req.valid('param').id), 200))
    .openapi(routes.getRoadmap, async (c) => c.json(await orchestrator.getRoadmap(c.req.valid('param').id), 200))
    .openapi(routes.cleanBranches, async (c) =>
      c.json(await orchestrator.cleanBranches(c.req.valid('param').id, c.req.valid('json')), 200),
    );
}

/** Runs: launched, listed, forked and migrated. */
function runRoutes(orchestrator: Orchestrator, { caller, unknownNames }: ApiOptions) {
  return createRoutes((body) => namesOfLaunch(body, unknownNames))
    .openapi(routes.launchRun, async (c) => {
      const run = await orchestrator.launchRun(caller(c), c.req.valid('json'), c.req.header('idempotency-key'));
      return c.json(run, 201, { Location: `/api/runs/${run.id}` });
    })
    .openapi(routes.explore, async (c) =>
      c.json(await orchestrator.explore(caller(c), c.req.valid('json'), c.req.header('idempotency-key')), 201),
    )
    .openapi(routes.listRuns, async (c) => c.json(await orchestrator.listRuns(c.req.valid('query')), 200))
    .openapi(routes.getRun, async (c) =>
      c.json(await orchestrator.getRun(c.req.valid('param').id, c.req.valid('query').at), 200),
    )
    .openapi(routes.forkRun, async (c) => {
      const { id } = c.req.valid('param');
      const run = await orchestrator.forkRun(caller(c), id, c.req.valid('json'), c.req.header('idempotency-key'));
      return c.json(run, 201, { Location: `/api/runs/${run.id}` });
    })
    .openapi(routes.migrateRun, async (c) =>
      c.json(await orchestrator.migrateRun(caller(c), c.req.valid('param').id, c.req.valid('json').to), 200),
    );
}

/** Routes for events and results of runs, and for the feed of all runs. */
function runReadingRoutes(orchestrator: Orchestrator, { readFeed }: ApiOptions) {
  return createRoutes()
    .openapi(routes.exportRun, async (c) => c.json(await orchestrator.exportRun(c.req.valid('param').id), 200))
    .openapi(routes.listEvents, async (c) => {
      const { after, limit } = c.req.valid('query');
      return c.json({ items: await orchestrator.listEvents(c.req.valid('param').id, after, limit) }, 200);
    })
    .openapi(routes.readFeed, async (c) => c.json(await readFeed(c.req.valid('query')), 200))
    .openapi(routes.listArtifacts, async (c) =>
      c.json({ items: await orchestrator.listArtifacts(c.req.valid('param').id) }, 200),
    )
    .openapi(routes.getArtifact, async (c) => {
      const { id, artifactId } = c.req.valid('param');
      return c.json(await orchestrator.getArtifact(id, artifactId), 200);
    })
    .openapi(routes.compileDocument, async (c) =>
      c.json(await orchestrator.compileDocument(c.req.valid('param').id, c.req.valid('json').document), 200),
    )
    .openapi(routes.getProjection, async (c) => c.json(await orchestrator.getProjection(c.req.valid('param').id), 200))
    .openapi(routes.getDiff, async (c) => c.json(await orchestrator.getDiff(c.req.valid('param').id), 200))
    .openapi(routes.getTranscript, async (c) =>
      c.json({ items: await orchestrator.getTranscript(c.req.valid('param').id) }, 200),
    )
    .openapi(routes.getRunTree, async (c) => c.json(await orchestrator.getRunTree(c.req.valid('param').id), 200))
    .openapi(routes.getStatechart, async (c) =>
      c.json(await orchestrator.getStatechart(c.req.valid('param').id, c.req.valid('query').at), 200),
    );
}

/** Pull requests of runs at their forge. */
function pullRequestRoutes(orchestrator: Orchestrator, { caller }: ApiOptions) {
  return createRoutes()
    .openapi(routes.getPullRequest, async (c) =>
      c.json(await orchestrator.getPullRequest(c.req.valid('param').id), 200),
    )
    .openapi(routes.replyToThread, async (c) => {
      const { id, threadId } = c.req.valid('param');
      return c.json(await orchestrator.replyToThread(caller(c), id, threadId, c.req.valid('json').body), 201);
    })
    .openapi(routes.resolveThread, async (c) => {
      const { id, threadId } = c.req.valid('param');
      return c.json(await orchestrator.resolveThread(id, threadId), 200);
    });
}

/** Open gates, their decisions and the comments beside what they show. */
function gateRoutes(orchestrator: Orchestrator, { caller }: ApiOptions) {
  return createRoutes()
    .openapi(routes.listConflicts, async (c) =>
      c.json({ items: await orchestrator.listConflicts(c.req.valid('query')) }, 200),
    )
    .openapi(routes.listGates, async (c) =>
      c.json({ items: await orchestrator.listGates(c.req.valid('query').runId) }, 200),
    )
    .openapi(routes.decideGate, async (c) =>
      c.json(await orchestrator.decideGate(caller(c), c.req.valid('param').id, c.req.valid('json')), 200),
    )
    .openapi(routes.listComments, async (c) =>
      c.json({ items: await orchestrator.listComments(c.req.valid('param').id) }, 200),
    )
    .openapi(routes.addComment, async (c) =>
      c.json(await orchestrator.addComment(caller(c), c.req.valid('param').id, c.req.valid('json')), 201),
    )
    .openapi(routes.editComment, async (c) =>
      c.json(await orchestrator.editComment(caller(c), c.req.valid('param').id, c.req.valid('json').text), 200),
    )
    .openapi(routes.deleteComment, async (c) =>
      c.json(await orchestrator.deleteComment(caller(c), c.req.valid('param').id), 200),
    )
    .openapi(routes.retryGates, async (c) =>
      c.json({ items: await orchestrator.retryGates(caller(c), c.req.valid('json').gateIds) }, 200),
    );
}

/** Decisions at the gate at which a run waits. */
function openGateRoutes(orchestrator: Orchestrator, { caller }: ApiOptions) {
  const decide = (c: Context, runId: string, decision: Parameters<Orchestrator['decideOpenGate']>[2]) =>
    orchestrator.decideOpenGate(caller(c), runId, decision);
  return createRoutes()
    .openapi(routes.approve, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'approve' }), 200),
    )
    .openapi(routes.reject, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'reject' }), 200),
    )
    .openapi(routes.answer, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'answer' }), 200),
    )
    .openapi(routes.ignore, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'ignore' }), 200),
    )
    .openapi(routes.ask, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'ask' }), 200),
    )
    .openapi(routes.retry, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'retry' }), 200),
    )
    .openapi(routes.accept, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'accept' }), 200),
    )
    .openapi(routes.extend, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'extend' }), 200),
    )
    .openapi(routes.close, async (c) =>
      c.json(await decide(c, c.req.valid('param').id, { ...c.req.valid('json'), decision: 'close' }), 200),
    );
}

/** Other commands to a run. */
function commandRoutes(orchestrator: Orchestrator, { caller }: ApiOptions) {
  return createRoutes()
    .openapi(routes.cancel, async (c) =>
      c.json(await orchestrator.cancelRun(caller(c), c.req.valid('param').id, c.req.valid('json').reason), 200),
    )
    .openapi(routes.pause, async (c) =>
      c.json(await orchestrator.pauseRun(caller(c), c.req.valid('param').id, c.req.valid('json').reason), 200),
    )
    .openapi(routes.sendMessage, async (c) =>
      c.json(await orchestrator.sendMessage(caller(c), c.req.valid('param').id, c.req.valid('json').text), 200),
    )
    .openapi(routes.sendSignal, async (c) =>
      c.json(await orchestrator.sendSignal(caller(c), c.req.valid('param').id, c.req.valid('json')), 200),
    );
}

/** Questions of agents to people. */
function clarificationRoutes(orchestrator: Orchestrator, { caller }: ApiOptions) {
  return createRoutes()
    .openapi(routes.listClarifications, async (c) =>
      c.json({ items: await orchestrator.listClarifications(c.req.valid('query').status) }, 200),
    )
    .openapi(routes.answerClarification, async (c) => {
      const decision = { ...c.req.valid('json'), decision: 'answer' as const };
      return c.json(await orchestrator.decideGate(caller(c), c.req.valid('param').id, decision), 200);
    })
    .openapi(routes.ignoreClarification, async (c) =>
      c.json(
        await orchestrator.decideGate(caller(c), c.req.valid('param').id, {
          ...c.req.valid('json'),
          decision: 'ignore',
        }),
        200,
      ),
    );
}

/** Uploads, and what the server offers: workflows, models and figures. */
function serverRoutes(orchestrator: Orchestrator) {
  return createRoutes()
    .openapi(routes.upload, async (c) =>
      c.json(await orchestrator.upload(c.req.valid('query').name, new Uint8Array(await c.req.arrayBuffer())), 201),
    )
    .openapi(routes.listWorkflows, async (c) => c.json({ items: await orchestrator.listWorkflows() }, 200))
    .openapi(routes.getWorkflow, async (c) => c.json(await orchestrator.getWorkflow(c.req.valid('param').name), 200))
    .openapi(routes.listModels, async (c) => c.json({ items: await orchestrator.listModels() }, 200))
    .openapi(routes.getMetrics, async (c) => c.json(await orchestrator.getMetrics(c.req.valid('query')), 200));
}

/** Keys, agents and default models. */
function setupRoutes(orchestrator: Orchestrator) {
  return createRoutes()
    .openapi(routes.getSetup, async (c) => c.json(await orchestrator.getSetup(), 200))
    .openapi(routes.setKey, async (c) =>
      c.json(await orchestrator.setKey(c.req.valid('param').id, c.req.valid('json')), 200),
    )
    .openapi(routes.removeKey, async (c) => c.json(await orchestrator.removeKey(c.req.valid('param').id), 200))
    .openapi(routes.testProvider, async (c) => c.json(await orchestrator.testProvider(c.req.valid('param').id), 200))
    .openapi(routes.testAgent, async (c) => c.json(await orchestrator.testAgent(c.req.valid('param').id), 200))
    .openapi(routes.setDefaultModels, async (c) =>
      c.json(await orchestrator.setDefaultModels(c.req.valid('json')), 200),
    );
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
const takes = <Schema extends z.ZodType>(schema: Schema) => ({ required: true, content: jsonContent(schema) });
const mayTake = <Schema extends z.ZodType>(schema: Schema) => ({ required: false, content: jsonContent(schema) });
const params = schemas.idParams;
const theRun = { 200: gives(schemas.runView, 'The run after it') };

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

  createProject: route({
    method: 'post',
    path: '/api/projects',
    summary: 'Add a project',
    request: { body: takes(schemas.newProject) },
    responses: { 201: gives(schemas.project, 'The project') },
  }),
  listProjects: route({
    method: 'get',
    path: '/api/projects',
    summary: 'Projects',
    request: { query: schemas.pageQuery },
    responses: { 200: gives(schemas.pageOf(schemas.project), 'A page of projects') },
  }),
  getProject: route({
    method: 'get',
    path: '/api/projects/{id}',
    summary: 'One project',
    request: { params },
    responses: { 200: gives(schemas.project, 'The project') },
  }),
  getRoadmap: route({
    method: 'get',
    path: '/api/projects/{id}/roadmap',
    summary: 'The roadmap on the base branch: its items, the next one with reasons, and the live runs of items',
    request: { params },
    responses: { 200: gives(schemas.projectRoadmap, 'The roadmap, its faults, or that there is none') },
  }),
  cleanBranches: route({
    method: 'post',
    path: '/api/projects/{id}/clean-branches',
    summary: 'Remove branches of runs that ended long ago',
    request: { params, body: mayTake(schemas.cleaningRequest) },
    responses: { 200: gives(schemas.cleanedBranches, 'What was removed, and why the rest stays') },
  }),

  launchRun: route({
    method: 'post',
    path: '/api/runs',
    summary: 'Start a run',
    request: { body: takes(schemas.newRun) },
    responses: { 201: gives(schemas.runView, 'The run, started or queued') },
  }),
  explore: route({
    method: 'post',
    path: '/api/explorations',
    summary: 'Start runs side by side to compare them',
    request: { body: takes(schemas.newExploration) },
    responses: { 201: gives(schemas.exploration, 'The runs') },
  }),
  listRuns: route({
    method: 'get',
    path: '/api/runs',
    summary: 'Runs, newest first',
    request: { query: schemas.runsQuery },
    responses: { 200: gives(schemas.pageOf(schemas.runView), 'A page of runs') },
  }),
  getRun: route({
    method: 'get',
    path: '/api/runs/{id}',
    summary: 'One run, as it is or as it was after one of its events',
    request: { params, query: schemas.atQuery },
    responses: { 200: gives(schemas.runView, 'The run') },
  }),
  forkRun: route({
    method: 'post',
    path: '/api/runs/{id}/fork',
    summary: 'Start a new run where another was after one of its events, with another configuration, answer or request',
    request: { params, body: takes(schemas.newFork) },
    responses: { 201: gives(schemas.runView, 'The new run, under way, waiting or queued') },
  }),
  migrateRun: route({
    method: 'post',
    path: '/api/runs/{id}/migrate',
    summary: 'Bind a run to another version of its workflow; 409 with the first event that would be another one',
    request: { params, body: takes(schemas.newMigration) },
    responses: { 200: gives(schemas.runView, 'The run with the new version') },
  }),
  exportRun: route({
    method: 'get',
    path: '/api/runs/{id}/export',
    summary: 'Everything that can still be read of a run, row by row, also of a damaged one',
    request: { params },
    responses: { 200: gives(schemas.runExport, 'The rows by table') },
  }),
  listEvents: route({
    method: 'get',
    path: '/api/runs/{id}/events',
    summary: 'Events of a run after a sequence number, oldest first',
    request: { params, query: schemas.eventsQuery },
    responses: { 200: gives(schemas.listOf(schemas.workflowEvent), 'The events') },
  }),
  readFeed: route({
    method: 'get',
    path: '/api/events',
    summary: 'Events of all runs after a position, oldest first: the feed, for where no WebSocket gets through',
    request: { query: schemas.feedQuery },
    responses: { 200: gives(schemas.feedPage, 'The events, and whether there are more') },
  }),
  listArtifacts: route({
    method: 'get',
    path: '/api/runs/{id}/artifacts',
    summary: 'Artifacts of a run',
    request: { params },
    responses: { 200: gives(schemas.listOf(schemas.artifact), 'The artifacts') },
  }),
  getArtifact: route({
    method: 'get',
    path: '/api/runs/{id}/artifacts/{artifactId}',
    summary: 'One artifact with its content',
    request: { params: schemas.artifactParams },
    responses: { 200: gives(schemas.artifactContent, 'The artifact') },
  }),
  compileDocument: route({
    method: 'post',
    path: '/api/runs/{id}/compile',
    summary: 'Compile a document of the run, as it is now, to a PDF; neither the run nor its branch changes',
    request: { params, body: mayTake(schemas.compileBody) },
    responses: { 200: gives(schemas.compiledDocument, 'The PDF, or why there is none') },
  }),
  getProjection: route({
    method: 'get',
    path: '/api/runs/{id}/projection',
    summary:
      'The run as its workflow projects it: sections such as a timeline of its rounds and a table of its sources',
    request: { params },
    responses: { 200: gives(schemas.runProjection, 'The sections; none where the workflow has no projection') },
  }),
  getDiff: route({
    method: 'get',
    path: '/api/runs/{id}/diff',
    summary: 'What the run changed so far',
    request: { params },
    responses: { 200: gives(schemas.runDiff, 'The difference to the base commit') },
  }),
  getTranscript: route({
    method: 'get',
    path: '/api/runs/{id}/transcript',
    summary: 'What the agents said and did',
    request: { params },
    responses: { 200: gives(schemas.listOf(schemas.transcriptEntry), 'The transcript') },
  }),
  getRunTree: route({
    method: 'get',
    path: '/api/runs/{id}/tree',
    summary: 'What the run, its forks and the other runs of its exploration have spent together',
    request: { params },
    responses: { 200: gives(schemas.runTree, 'The run tree') },
  }),
  getStatechart: route({
    method: 'get',
    path: '/api/runs/{id}/statechart',
    summary: 'Where the run is in its statechart, how it came there and what can happen next',
    request: { params, query: schemas.atQuery },
    responses: { 200: gives(schemas.statechart, 'The statechart') },
  }),

  getPullRequest: route({
    method: 'get',
    path: '/api/runs/{id}/pull-request',
    summary: 'The pull request of a run with its checks, reviews and review threads, as the forge has it now',
    request: { params },
    responses: { 200: gives(schemas.runPullRequest, 'The pull request') },
  }),
  replyToThread: route({
    method: 'post',
    path: '/api/runs/{id}/pull-request/threads/{threadId}/replies',
    summary: 'Answer in a review thread; the answer names the person it is from',
    request: { params: schemas.threadParams, body: takes(schemas.replyBody) },
    responses: { 201: gives(schemas.threadReply, 'The answer') },
  }),
  resolveThread: route({
    method: 'post',
    path: '/api/runs/{id}/pull-request/threads/{threadId}/resolve',
    summary: 'Resolve a review thread',
    request: { params: schemas.threadParams, body: mayTake(schemas.emptyBody) },
    responses: { 200: gives(schemas.resolvedThread, 'The thread is resolved') },
  }),
  listConflicts: route({
    method: 'get',
    path: '/api/conflicts',
    summary: 'Files in which merges of live runs would conflict now, with each other or with their base branches',
    request: { query: schemas.conflictsQuery },
    responses: { 200: gives(schemas.listOf(schemas.foreseenConflict), 'The conflicts, one of each run') },
  }),
  listGates: route({
    method: 'get',
    path: '/api/gates',
    summary: 'Everything that waits for a person',
    request: { query: schemas.gatesQuery },
    responses: { 200: gives(schemas.listOf(schemas.gate), 'Open gates') },
  }),
  decideGate: route({
    method: 'post',
    path: '/api/gates/{id}/decision',
    summary:
      'Decide a gate. To approve or accept takes its id and the hashes that it shows: artifactHash, codeTree, and concernsHash where it has concerns',
    request: { params, body: takes(schemas.gateDecision) },
    responses: theRun,
  }),
  listComments: route({
    method: 'get',
    path: '/api/gates/{id}/comments',
    summary: 'Comments beside lines that no decision has sent yet',
    request: { params },
    responses: { 200: gives(schemas.listOf(schemas.reviewComment), 'The comments, oldest first') },
  }),
  addComment: route({
    method: 'post',
    path: '/api/gates/{id}/comments',
    summary: 'Comment on a line of what the open gate shows; sent with the next rejection, retry or acceptance',
    request: { params, body: takes(schemas.newComment) },
    responses: { 201: gives(schemas.runView, 'The run after it') },
  }),
  editComment: route({
    method: 'post',
    path: '/api/comments/{id}/edit',
    summary: 'Change a comment that is not sent yet',
    request: { params, body: takes(schemas.commentBody) },
    responses: theRun,
  }),
  deleteComment: route({
    method: 'post',
    path: '/api/comments/{id}/delete',
    summary: 'Delete a comment that is not sent yet',
    request: { params, body: mayTake(schemas.emptyBody) },
    responses: theRun,
  }),
  retryGates: route({
    method: 'post',
    path: '/api/retries',
    summary: 'Retry at several gates, such as those of all runs that an outage paused',
    request: { body: takes(schemas.retriesBody) },
    responses: { 200: gives(schemas.listOf(schemas.retriedGate), 'What came of each') },
  }),
  approve: route({
    method: 'post',
    path: '/api/runs/{id}/approve',
    summary: 'Approve what the run shows at its open gate, naming the gate and the hashes that it shows',
    request: { params, body: mayTake(schemas.approveBody) },
    responses: theRun,
  }),
  reject: route({
    method: 'post',
    path: '/api/runs/{id}/reject',
    summary: 'Send the work back with feedback',
    request: { params, body: takes(schemas.rejectBody) },
    responses: theRun,
  }),
  answer: route({
    method: 'post',
    path: '/api/runs/{id}/answer',
    summary: 'Answer the open question',
    request: { params, body: takes(schemas.answerBody) },
    responses: theRun,
  }),
  ignore: route({
    method: 'post',
    path: '/api/runs/{id}/ignore',
    summary: 'Leave the open question unanswered: the run continues without an answer',
    request: { params, body: mayTake(schemas.ignoreBody) },
    responses: theRun,
  }),
  ask: route({
    method: 'post',
    path: '/api/runs/{id}/ask',
    summary: 'Ask the agent something before deciding',
    request: { params, body: takes(schemas.askBody) },
    responses: theRun,
  }),
  retry: route({
    method: 'post',
    path: '/api/runs/{id}/retry',
    summary: 'Try the failed or paused stage again',
    request: { params, body: mayTake(schemas.retryBody) },
    responses: theRun,
  }),
  accept: route({
    method: 'post',
    path: '/api/runs/{id}/accept',
    summary: 'Accept the result although its validation failed, naming the gate and the hashes that it shows',
    request: { params, body: takes(schemas.acceptBody) },
    responses: theRun,
  }),
  extend: route({
    method: 'post',
    path: '/api/runs/{id}/extend',
    summary: 'Give the stage more time, or the run other budgets',
    request: { params, body: takes(schemas.extendBody) },
    responses: theRun,
  }),
  close: route({
    method: 'post',
    path: '/api/runs/{id}/close',
    summary: 'Close the pull request that the run follows, without a merge; the run ends',
    request: { params, body: takes(schemas.closeBody) },
    responses: theRun,
  }),
  cancel: route({
    method: 'post',
    path: '/api/runs/{id}/cancel',
    summary: 'Cancel the run',
    request: { params, body: mayTake(schemas.cancelBody) },
    responses: theRun,
  }),
  pause: route({
    method: 'post',
    path: '/api/runs/{id}/pause',
    summary: 'Pause the run and the runs below it until a person retries it; what is under way begins again then',
    request: { params, body: mayTake(schemas.pauseBody) },
    responses: theRun,
  }),
  sendMessage: route({
    method: 'post',
    path: '/api/runs/{id}/message',
    summary: 'Steer the agents at work: those of the run and of the open runs below it',
    request: { params, body: takes(schemas.messageBody) },
    responses: { 200: gives(schemas.toldRun, 'The run after it, with the runs below that the message did not reach') },
  }),
  sendSignal: route({
    method: 'post',
    path: '/api/runs/{id}/signals',
    summary: 'Send a signal that the workflow declares',
    request: { params, body: takes(schemas.signalBody) },
    responses: theRun,
  }),

  listClarifications: route({
    method: 'get',
    path: '/api/clarifications',
    summary: 'Questions of agents to people',
    request: { query: schemas.clarificationsQuery },
    responses: { 200: gives(schemas.listOf(schemas.clarification), 'The questions') },
  }),
  answerClarification: route({
    method: 'post',
    path: '/api/clarifications/{id}/answer',
    summary: 'Answer a question',
    request: { params, body: takes(schemas.answerBody) },
    responses: theRun,
  }),
  ignoreClarification: route({
    method: 'post',
    path: '/api/clarifications/{id}/ignore',
    summary: 'Leave a question unanswered: the run continues without an answer',
    request: { params, body: mayTake(schemas.ignoreBody) },
    responses: theRun,
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
  listWorkflows: route({
    method: 'get',
    path: '/api/workflows',
    summary: 'Workflows that runs can follow',
    responses: { 200: gives(schemas.listOf(schemas.workflowSummary), 'The workflows') },
  }),
  getWorkflow: route({
    method: 'get',
    path: '/api/workflows/{name}',
    summary: 'One workflow: its statechart, the signals that it takes and what it does',
    request: { params: schemas.nameParams },
    responses: { 200: gives(schemas.workflowDetails, 'The workflow') },
  }),
  listModels: route({
    method: 'get',
    path: '/api/models',
    summary: 'Models, and whether they can be used',
    responses: { 200: gives(schemas.listOf(schemas.modelSummary), 'The models') },
  }),
  getMetrics: route({
    method: 'get',
    path: '/api/metrics',
    summary: 'Success, time to completion, waiting by gate and cost by stage and model over a time, by day or week',
    request: { query: schemas.metricsQuery },
    responses: { 200: gives(schemas.metrics, 'The figures') },
  }),

  getSetup: route({
    method: 'get',
    path: '/api/setup',
    summary: 'Keys of providers, agents of this machine and default models; no key is shown',
    responses: { 200: gives(schemas.setup, 'What there is') },
  }),
  setKey: route({
    method: 'put',
    path: '/api/setup/providers/{id}/key',
    summary: 'Give a provider a key, tested first by one call; runs use it at once',
    request: { params, body: takes(schemas.newKey) },
    responses: { 200: gives(schemas.providerSetup, 'The provider after it') },
  }),
  removeKey: route({
    method: 'delete',
    path: '/api/setup/providers/{id}/key',
    summary: 'Forget the key of a provider',
    request: { params },
    responses: { 200: gives(schemas.providerSetup, 'The provider after it') },
  }),
  testProvider: route({
    method: 'post',
    path: '/api/setup/providers/{id}/test',
    summary: 'Test the key of a provider by one call',
    request: { params },
    responses: { 200: gives(schemas.providerSetup, 'The provider after it') },
  }),
  testAgent: route({
    method: 'post',
    path: '/api/setup/agents/{id}/test',
    summary: 'Start an agent and open a session, without a prompt',
    request: { params },
    responses: { 200: gives(schemas.agentSetup, 'The agent after it') },
  }),
  setDefaultModels: route({
    method: 'put',
    path: '/api/setup/default-models',
    summary: 'Set default models by role; an empty text gives the role its own default again',
    request: { body: takes(schemas.defaultModels) },
    responses: { 200: gives(schemas.setup, 'What there is after it') },
  }),
};

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
