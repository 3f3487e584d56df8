import { describe, expect, it } from 'vitest';
import type { Orchestrator } from './orchestrator.ts';
import { createApi } from './routes.ts';

/** The API over an orchestrator that echoes each call. */
function anApi() {
  const calls: unknown[][] = [];
  const echo = {
    get:
      (_target: object, name: string) =>
      async (...args: unknown[]) => (calls.push([name, ...args]), { id: 'r-1' }),
  };
  const app = createApi(new Proxy({}, echo) as Orchestrator, {
    caller: () => ({ userId: 'ada' }),
    issueTicket: () => 'ticket',
    readFeed: async () => ({ feedId: 'f', position: 0, reset: false, events: [], hasMore: false }),
    issueSignInLink: () => 'link',
    signOut: async () => 0,
    onInternalError: () => {},
  });
  const post = (path: string, body: unknown) =>
    app.request(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    });
  return { app, calls, post };
}

const run = { projectId: 'p-1', request: 'Add a login page' };

describe('a request', () => {
  it.each([
    ['a status', { ...run, status: 'completed' }, ['status']],
    ['an owner', { ...run, userId: 'admin' }, ['userId']],
    [
      'a stage and an approver',
      { ...run, currentStage: 'publishing', approvedBy: 'me' },
      ['currentStage', 'approvedBy'],
    ],
    [
      'unknown configuration',
      { ...run, config: { git: { force: true }, sudo: true } },
      ['config.git.force', 'config.sudo'],
    ],
    ['an empty text', { ...run, request: ' \n ' }, ['request']],
    ['a text that is too long', { ...run, request: 'x'.repeat(20_001) }, ['request']],
    ['a project that is no id', { ...run, projectId: '../p' }, ['projectId']],
    ['a number for a text', { ...run, request: 7 }, ['request']],
    ['an input that is no object', { ...run, input: ['a'] }, ['input']],
  ])('with %s is refused, naming each fault', async (_, body, paths) => {
    const { post, calls } = anApi();
    const answer = await post('/api/runs', body);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const problem = (await answer.json()) as { code: string; faults: { path: string }[] };
    expect(problem.code).toBe('invalid_request');
    expect(problem.faults.map(({ path }) => path).toSorted()).toEqual(paths.toSorted());
    expect(calls).toEqual([]);
  });

  it.each([
    ['from=yesterday', 'from'],
    ['to=2026-02-30', 'to'],
    ['to=9999-12-31', 'to'],
    ['bucket=hour', 'bucket'],
    ['timeZone=', 'timeZone'],
    ['projectId=../p', 'projectId'],
    ['days=7', 'days'],
  ])('for figures with %s is refused, naming the fault', async (query, path) => {
    const { app, calls } = anApi();
    const answer = await app.request(`/api/metrics?${query}`);
    expect(answer.status).toBe(400);
    const { faults } = (await answer.json()) as { faults: { path: string }[] };
    expect([...new Set(faults.map((fault) => fault.path))]).toEqual([path]);
    expect(calls).toEqual([]);
  });

  it.each([
    '{"projectId":"p-1","request":"x","__proto__":{"userId":"admin"}}',
    '{"projectId":"p-1","request":"x","config":{"git":{"__proto__":{}}}}',
    '{"projectId":"p-1","request":"x","\\u005f_proto__":{}}',
  ])('with a prototype in it is refused: %s', async (body) => {
    const { post, calls } = anApi();
    expect((await post('/api/runs', body)).status).toBe(400);
    expect(calls).toEqual([]);
  });

  describe.each([
    ['POST /api/runs', '/api/runs', run],
    ['POST /api/runs/:id/fork', '/api/runs/r-1/fork', { at: 3 }],
    ['POST /api/explorations', '/api/explorations', { projectId: 'p-1', variants: [{ request: 'Add a page' }] }],
  ])('H06: %s', (_name, address, body) => {
    it.each([
      ['status', { status: 'completed' }, 'status'],
      ['an owner', { userId: 'admin' }, 'userId'],
      ['a stage', { currentStage: 'publishing' }, 'currentStage'],
      ['an approver', { approvedBy: 'me' }, 'approvedBy'],
      ['a run id', { runId: 'r-9', id: 'r-9' }, 'runId'],
      ['a branch of its own', { branch: 'main' }, 'branch'],
      ['a key that nobody knows', { anything: 1 }, 'anything'],
      ['a constructor', { constructor: { prototype: { isAdmin: true } } }, 'constructor'],
    ])('takes no %s', async (_what, extra, path) => {
      const { post, calls } = anApi();
      const answer = await post(address, { ...body, ...extra });
      expect(answer.status).toBe(400);
      const { faults } = (await answer.json()) as { faults: { path: string }[] };
      expect(faults.map((fault) => fault.path)).toContain(path);
      expect(calls).toEqual([]);
    });

    it('takes no unknown configuration', async () => {
      const config = { git: { baseBranch: 'main', force: true, token: 'x' }, approvedBy: 'me', userId: 'admin' };
      const wanted = 'variants' in body ? { ...body, variants: [{ request: 'x', config }] } : { ...body, config };
      const { post, calls } = anApi();
      const answer = await post(address, wanted);
      expect(answer.status).toBe(400);
      const { faults } = (await answer.json()) as { faults: { path: string }[] };
      expect(faults.map(({ path }) => path.replace(/^variants\.0\./, '')).toSorted()).toEqual([
        'config.approvedBy',
        'config.git.force',
        'config.git.token',
        'config.userId',
      ]);
      expect(calls).toEqual([]);
    });

    it.each(['', 'config', 'config.git'])("takes no prototype in '%s'", async (place) => {
      const at = place === '' ? '%' : place.split('.').reduceRight((inner, key) => `{"${key}":${inner}}`, '%');
      const poison = at.replace('%', '{"__proto__":{"status":"completed"}}').slice(1, -1);
      const { post, calls } = anApi();
      expect((await post(address, `${JSON.stringify(body).slice(0, -1)},${poison}}`)).status).toBe(400);
      expect(calls).toEqual([]);
      expect(({} as { status?: unknown }).status).toBeUndefined();
    });
  });

  it('H06: a fork takes no answer with more than the decision needs', async () => {
    const { post, calls } = anApi();
    const answer = await post('/api/runs/r-1/fork', {
      at: 3,
      answer: { decision: 'reject', feedback: 'x', by: 'admin' },
    });
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as { faults: { path: string }[] }).faults[0]?.path).toBe('answer.by');
    expect(calls).toEqual([]);
  });

  it.each([
    ['/api/runs?status=sleeping', 'status'],
    ['/api/runs/r-1?at=0', 'at'],
    ['/api/runs/r-1?at=last', 'at'],
    ['/api/runs/r-1?at=0x2', 'at'],
    ['/api/runs/r-1?at=1e0', 'at'],
    ['/api/runs/r-1?at=', 'at'],
    ['/api/runs/r-1/statechart?at=1.5', 'at'],
    ['/api/runs?limit=0', 'limit'],
    ['/api/runs?limit=201', 'limit'],
    ['/api/runs?status=paused&status=failed', 'status'],
    ['/api/runs?userId=admin', 'userId'],
    ['/api/runs/r-1/events?after=-1', 'after'],
    ['/api/clarifications?status=open', 'status'],
    ['/api/runs/..%2f..%2fetc', 'id'],
  ])('for %s is refused', async (path, fault) => {
    const { app, calls } = anApi();
    const answer = await app.request(path);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ faults: [{ path: fault }] });
    expect(calls).toEqual([]);
  });

  it('keeps a text of 20,000 characters, trimmed', async () => {
    const { post, calls } = anApi();
    expect((await post('/api/runs', { ...run, request: ` ${'x'.repeat(20_000)} ` })).status).toBe(201);
    expect(calls).toEqual([['launchRun', { userId: 'ada' }, { ...run, request: 'x'.repeat(20_000) }, undefined]]);
  });

  it.each([
    ['reject', { feedback: ' ' }, 'feedback'],
    ['ask', {}, 'question'],
    ['accept', {}, 'reason'],
    ['extend', { minutes: 0 }, 'minutes'],
    ['approve', { artifactHash: '' }, 'artifactHash'],
    ['message', { text: '' }, 'text'],
  ])('to %s with %j lacks a field', async (decision, body, fault) => {
    const { post, calls } = anApi();
    const answer = await post(`/api/runs/r-1/${decision}`, body);
    expect(await answer.json()).toMatchObject({ status: 400, faults: [{ path: fault }] });
    expect(calls).toEqual([]);
  });

  it('to approve, retry, ignore or cancel may have no body at all', async () => {
    const { app, calls } = anApi();
    for (const decision of ['approve', 'retry', 'ignore', 'cancel']) {
      expect((await app.request(`/api/runs/r-1/${decision}`, { method: 'POST' })).status).toBe(200);
      expect((await app.request(`/api/runs/r-1/${decision}`, { method: 'POST', body: '' })).status).toBe(200);
    }
    expect(calls).toHaveLength(8);
  });

  it('to a clarification decides its gate', async () => {
    const { post, calls } = anApi();
    await post('/api/clarifications/r-1.4/answer', { response: ['a', 'b'] });
    await post('/api/clarifications/r-1.4/ignore', {});
    expect(calls).toEqual([
      ['decideGate', { userId: 'ada' }, 'r-1.4', { decision: 'answer', response: ['a', 'b'] }],
      ['decideGate', { userId: 'ada' }, 'r-1.4', { decision: 'ignore' }],
    ]);
  });
});

interface Operation {
  readonly summary: string;
  readonly security?: readonly unknown[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Record<string, unknown> };
  readonly responses: Record<string, { readonly content: Record<string, { readonly schema: object }> }>;
}
interface OpenApi {
  readonly openapi: string;
  readonly security: readonly unknown[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object>; readonly securitySchemes: object };
}

describe('the OpenAPI document', () => {
  const read = async () => {
    const { app } = anApi();
    return { app, document: (await (await app.request('/api/openapi.json')).json()) as OpenApi };
  };

  it('lists each route of the application, and no other', async () => {
    const { app, document } = await read();
    const listed = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const routes = app.routes
      .filter(({ method, path }) => method !== 'ALL' && !path.includes('*') && path !== '/api/openapi.json')
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(listed.toSorted()).toEqual([...new Set(routes)].toSorted());
    expect(listed).toContain('POST /api/gates/{id}/decision');
  });

  it('names the body that a route needs, which refuses a request without one', async () => {
    const { document } = await read();
    const { app, calls } = anApi();
    const needy = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { requestBody }]) => requestBody?.required === true && 'application/json' in requestBody.content)
        .map(([method]) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, 'r-1') })),
    );
    expect(needy.length).toBeGreaterThan(20);
    const typed = { 'content-type': 'application/json' };
    for (const { method, path } of needy)
      for (const headers of [{}, typed]) {
        const answer = await app.request(path, { method, headers });
        expect
          .soft([path, answer.status, await answer.json()])
          .toMatchObject([
            path,
            400,
            { code: 'invalid_request', detail: expect.stringContaining(`${method} ${path} needs a body in JSON`) },
          ]);
      }
    expect(calls).toEqual([]);
  });

  it('describes each answer, and problems beside it', async () => {
    const { document } = await read();
    expect(document.openapi).toBe('3.1.0');
    for (const operation of Object.values(document.paths).flatMap((operations) => Object.values(operations))) {
      expect(operation.summary).toMatch(/^[A-Z]/);
      const { default: problem, ...answers } = operation.responses;
      expect(problem?.content['application/problem+json']?.schema).toEqual({ $ref: '#/components/schemas/Problem' });
      expect(Object.keys(answers).length).toBeGreaterThan(0);
      for (const { content } of Object.values(answers)) expect(content['application/json']?.schema).toBeDefined();
    }
  });

  it('E06 names commits by their hashes alone: no client is given a subject or an author that it could show', async () => {
    const { document } = await read();
    // Remarks at a forge have authors, who are no authors of commits.
    const { PullRequestRemark: _remark, PullRequestReview: _review, ...schemas } = document.components.schemas;
    const names = [...JSON.stringify(schemas).matchAll(/"(\w+)":\{/g)].map(([, name = '']) => name);
    expect(names).toContain('headCommit');
    expect(names.filter((name) => /subject|author|committer|commitMessage/i.test(name))).toEqual([]);
  });

  it('has every component that it refers to', async () => {
    const { document } = await read();
    const referred = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name);
    expect(new Set(referred)).toEqual(new Set(Object.keys(document.components.schemas)));
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(['Run', 'Gate', 'Problem', 'Event']),
    );
  });

  it('says that all but the health checks needs the token', async () => {
    const { document } = await read();
    expect(document.security).toEqual([{ token: [] }]);
    expect(document.components.securitySchemes).toEqual({ token: { type: 'http', scheme: 'bearer' } });
    const open = Object.entries(document.paths).filter(([, { get }]) => get?.security?.length === 0);
    expect(open.map(([path]) => path)).toEqual(['/healthz', '/readyz']);
  });
});
