import { type Caller, NeedsHuman, RetryableFailure, StorageFull, Unavailable } from '@autonomous/shared';
import { afterEach, describe, expect, it } from 'vitest';
import type { RequestedStep } from '../event-store/event-store.ts';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { nothingStored } from './nothing-stored.fixture.ts';
import { type ServerUnderTest, startTestServer } from './running-server.fixture.ts';
import { stubOrchestrator } from './stub-orchestrator.fixture.ts';

describe('a POST with an idempotency key', () => {
  let server: ServerUnderTest;
  afterEach(() => server.close());

  const run = { projectId: 'p-1', request: 'Add a login page' };
  const key = (value: string) => ({ 'Idempotency-Key': value });
  const launches = () => server.orchestrator.calls.filter(([name]) => name === 'launchRun');

  it('is done once, and answered alike the second time', async () => {
    server = await startTestServer();
    const first = await server.post('/api/runs', run, key('k'));
    const second = await server.post('/api/runs', run, key('k'));
    expect([first.status, second.status]).toEqual([201, 201]);
    expect([first.headers.get('location'), second.headers.get('location')]).toEqual(['/api/runs/r-1', '/api/runs/r-1']);
    expect([first.headers.get('idempotency-replayed'), second.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ]);
    expect(await second.json()).toEqual(await first.json());
    const request = { key: 'local:k', hash: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(launches()).toEqual([['launchRun', { userId: 'local', request }, run, 'k']]);
  });

  it('is done again under another key, and without one', async () => {
    server = await startTestServer();
    for (const headers of [key('a'), key('b'), {}, {}]) await server.post('/api/runs', run, headers);
    expect(launches()).toHaveLength(4);
  });

  it('is refused when the key was used for another body or another address', async () => {
    server = await startTestServer();
    await server.post('/api/runs', run, key('k'));
    const otherBody = await server.post('/api/runs', { ...run, request: 'Something else' }, key('k'));
    const otherPath = await server.post(
      '/api/explorations',
      { projectId: 'p-1', variants: [{ request: 'x' }] },
      key('k'),
    );
    expect([otherBody.status, otherPath.status]).toEqual([422, 422]);
    expect(await otherBody.json()).toMatchObject({ code: 'unprocessable', detail: expect.stringContaining("'k'") });
    expect(server.orchestrator.calls).toHaveLength(1);
  });

  it('waits for a twin that is under way, and gets its answer', async () => {
    const { promise: release, resolve } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    server = await startTestServer({
      orchestrator: stubOrchestrator({
        launchRun: async () => {
          begin();
          await release;
          return aView('r-1');
        },
      }),
    });
    const twins = Array.from({ length: 10 }, () => server.post('/api/runs', run, key('k')));
    await begun;
    expect((await server.post('/api/runs', { ...run, request: 'other' }, key('k'))).status).toBe(422);
    resolve();
    const answers = await Promise.all(twins);
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    expect(answers.filter(({ headers }) => headers.has('idempotency-replayed'))).toHaveLength(9);
    expect(launches()).toHaveLength(1);
  });

  it('is told the same refusal again, so that a repeated approval is no second one', async () => {
    server = await startTestServer();
    await server.post('/api/runs/r-1/approve', {}, key('first'));
    const lost = await server.post('/api/runs/r-1/approve', {}, key('second'));
    const again = await server.post('/api/runs/r-1/approve', {}, key('second'));
    expect([lost.status, again.status]).toEqual([409, 409]);
    expect(again.headers.get('content-type')).toBe('application/problem+json');
    expect(await again.json()).toMatchObject({ code: 'conflict', winner: 'local' });
    const winner = await server.post('/api/runs/r-1/approve', {}, key('first'));
    expect([winner.status, winner.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
  });

  it.each([
    ['the disk was full', new StorageFull('The disk is full.'), 507, '5'],
    ['a part was down', new Unavailable('The remote is down.'), 503, '5'],
    ['a remote was busy', new RetryableFailure('Too many.', { retryAfterMs: 60_500 }), 503, '61'],
    ['a person has to act first', new NeedsHuman('sandbox_unavailable', 'No sandbox can be started.'), 503, null],
    ['of a bug', new TypeError('oops'), 500, null],
  ])('can be sent again when it failed because %s', async (_, failure, status, retryAfter) => {
    let failures = 1;
    server = await startTestServer({
      orchestrator: stubOrchestrator({
        launchRun: async () => {
          failures -= 1;
          if (failures >= 0) throw failure;
          return aView('r-1');
        },
      }),
    });
    const refused = await server.post('/api/runs', run, key('k'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([status, retryAfter]);
    expect((await server.post('/api/runs', run, key('k'))).status).toBe(201);
  });

  it('can be sent again in a right form', async () => {
    server = await startTestServer();
    expect((await server.post('/api/runs', { ...run, request: ' ' }, key('k'))).status).toBe(400);
    expect((await server.post('/api/runs', run, key('k'))).status).toBe(201);
  });

  it('counts for uploads too', async () => {
    server = await startTestServer();
    const upload = () => server.post('/api/uploads?name=a.txt', 'hello', key('k'));
    expect((await upload()).status).toBe(201);
    expect((await upload()).headers.get('idempotency-replayed')).toBe('true');
    expect((await server.post('/api/uploads?name=b.txt', 'hello', key('k'))).status).toBe(422);
  });

  it('is refused when the key is no key', async () => {
    server = await startTestServer();
    for (const bad of ['with space', 'x'.repeat(201)])
      expect((await server.post('/api/runs', run, key(bad))).status).toBe(400);
    expect(launches()).toEqual([]);
  });

  it.each([
    ['/api/runs', run, 201, '/api/runs/r-1'],
    ['/api/gates/r-1.3/comments', { path: 'a.ts', line: 1, text: 'Why?' }, 201, null],
    ['/api/runs/r-1/cancel', {}, 200, null],
  ])('of %s that only the step remembers is answered as the route does', async (address, body, status, location) => {
    let step: RequestedStep | null = null;
    const fail = async ({ request }: Caller) => {
      step = { requestHash: request?.hash ?? '', runId: 'r-1', sequence: 1, gate: null };
      throw new Unavailable('The server stops.');
    };
    server = await startTestServer({
      orchestrator: stubOrchestrator({ launchRun: fail, addComment: fail, cancelRun: fail }),
      store: { ...nothingStored, recallStep: async () => step },
    });
    expect((await server.post(address, body, key('k'))).status).toBe(503);
    const repeated = await server.post(address, body, key('k'));
    expect([repeated.status, repeated.headers.get('location')]).toEqual([status, location]);
    expect(await repeated.json()).toMatchObject({ id: 'r-1' });
  });

  it('leaves no ticket in the database', async () => {
    server = await startTestServer();
    const tickets = [await server.post('/api/tickets', {}, key('k')), await server.post('/api/tickets', {}, key('k'))];
    const [one, other] = await Promise.all(tickets.map((answer) => answer.json()));
    expect(one).not.toEqual(other);
    expect(await server.store.recall('local:k')).toBeNull();
  });

  it('is answered although the answer could not be kept', async () => {
    server = await startTestServer({
      store: { ...nothingStored, remember: async () => Promise.reject(new StorageFull('The disk is full.')) },
    });
    expect((await server.post('/api/runs', run, key('k'))).status).toBe(201);
    expect(server.logged).toContainEqual(
      expect.objectContaining({ msg: expect.stringContaining('could not be kept') }),
    );
  });
});
