/**
 * Requests that are sent again with their idempotency key, to a server process that was killed or stopped before it answered:
 * what they ask for is done once, and they are answered alike.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type RunView, shownAt, type WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

const fixture = (name: string): string => fileURLToPath(new URL(`${name}.fixture.ts`, import.meta.url));

class Place {
  readonly folder: string;
  /** While this file is there, the server ends before it answers. */
  readonly trap: string;
  server!: ServerProcess;

  static async make(): Promise<Place> {
    const place = new Place(await mkdtemp(path.join(tmpdir(), 'repeated-requests-')));
    onTestFinished(async () => {
      await place.server.end('SIGKILL');
      await rm(place.folder, { recursive: true, force: true });
    });
    await place.start();
    return place;
  }

  private constructor(folder: string) {
    this.folder = folder;
    this.trap = path.join(folder, 'trap');
  }

  async start(): Promise<void> {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: this.folder,
      LOG_LEVEL: 'warn',
      AUTONOMOUS_WORKFLOWS: fixture('two-gates'),
      KILL_BEFORE_ANSWER: this.trap,
      STOP_AT_LAUNCH: `${this.trap}-stop`,
    };
    const imports = [fixture('killed-before-answer'), fixture('stopped-at-launch')];
    this.server = await startServerProcess({ dataFolder: path.join(this.folder, 'data'), port: '0', env, imports });
  }

  async request(method: string, address: string, body?: unknown, key?: string): Promise<Response> {
    const { url, token } = this.server;
    return fetch(`${url}${address}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async get<Result>(address: string): Promise<Result> {
    return (await this.request('GET', address)).json() as Promise<Result>;
  }

  async launch(): Promise<RunView> {
    return (await this.request('POST', '/api/runs', { workflow: 'two-gates' })).json() as Promise<RunView>;
  }

  /** The server is gone before it answers; it is started again, and other requests come before this one is sent again. */
  async repeatAfterCrash(address: string, body: unknown, meanwhile: () => Promise<unknown>): Promise<Response> {
    await writeFile(this.trap, '');
    const first = await this.request('POST', address, body, 'the-key').catch(() => null);
    expect(first).toBeNull();
    expect(await this.server.ended).toEqual({ code: null, signal: 'SIGKILL' });
    await rm(this.trap);
    await this.start();
    await meanwhile();
    return this.request('POST', address, body, 'the-key');
  }

  async events(runId: string): Promise<readonly string[]> {
    const { items } = await this.get<{ items: readonly WorkflowEvent[] }>(`/api/runs/${runId}/events?limit=1000`);
    return items.filter(({ origin }) => origin === 'input').map(({ type }) => type);
  }
}

/** A request to a run of two gates, the event that it makes, and the state of the run after that. */
type Asked = readonly [what: string, address: (run: RunView) => string, body: unknown, event: string, state: string];

const requests: readonly Asked[] = [
  ['approve', ({ id }) => `/api/runs/${id}/approve`, {}, 'APPROVAL_GRANTED', 'second'],
  [
    'a decision of a gate',
    ({ gate }) => `/api/gates/${gate?.id}/decision`,
    { decision: 'approve' },
    'APPROVAL_GRANTED',
    'second',
  ],
  ['reject', ({ id }) => `/api/runs/${id}/reject`, { feedback: 'No' }, 'APPROVAL_REJECTED', 'again'],
  ['message', ({ id }) => `/api/runs/${id}/message`, { text: 'Mind the gap' }, 'MESSAGE_SENT', 'first'],
  ['a signal', ({ id }) => `/api/runs/${id}/signals`, { type: 'NUDGED' }, 'NUDGED', 'first'],
  ['cancel', ({ id }) => `/api/runs/${id}/cancel`, {}, 'RUN_CANCELLED', 'cancelled'],
];

describe('a request that is sent again after its server was killed between the step and the answer', () => {
  it.each(requests)(
    'is done once and answered with the run as it was after its step: %s',
    async (_, address, body, event, state) => {
      const place = await Place.make();
      const run = await place.launch();
      const shown = run.gate && event === 'APPROVAL_GRANTED' ? shownAt(run.gate) : {};
      const again = await place.repeatAfterCrash(address(run), { ...(body as object), ...shown }, () =>
        place.request('POST', `/api/runs/${run.id}/message`, { text: 'In between' }),
      );
      const answered = (await again.json()) as RunView;
      expect([again.status, again.headers.get('idempotency-replayed'), answered.state]).toEqual([200, 'true', state]);
      expect(answered).toEqual(await place.get(`/api/runs/${run.id}?at=${answered.lastSequence}`));
      expect((await place.events(run.id)).filter((type) => type === event)).toHaveLength(
        event === 'MESSAGE_SENT' ? 2 : 1,
      );
      expect((await place.get<RunView>(`/api/runs/${run.id}`)).state).toBe(state);
      const other = await place.request('POST', address(run), { ...(body as object), notes: 'another' }, 'the-key');
      expect(other.status).toBeGreaterThanOrEqual(400);
    },
  );

  it('has launched one run, and is told of it as it was then', async () => {
    const place = await Place.make();
    let made: RunView | undefined;
    const again = await place.repeatAfterCrash('/api/runs', { workflow: 'two-gates' }, async () => {
      [made] = (await place.get<{ items: readonly RunView[] }>('/api/runs')).items;
      await place.request('POST', `/api/runs/${made?.id}/message`, { text: 'In between' });
    });
    expect([again.status, again.headers.get('location')]).toEqual([201, `/api/runs/${made?.id}`]);
    expect(await again.json()).toEqual(made);
    expect((await place.get<{ items: readonly RunView[] }>('/api/runs')).items).toHaveLength(1);
  });

  it('has made one fork', async () => {
    const place = await Place.make();
    const run = await place.launch();
    const again = await place.repeatAfterCrash(`/api/runs/${run.id}/fork`, { at: run.lastSequence }, async () => {});
    expect(again.status).toBe(201);
    const { items } = await place.get<{ items: readonly RunView[] }>('/api/runs');
    expect(items).toHaveLength(2);
    expect(await again.json()).toEqual(items.find(({ forkedFrom }) => forkedFrom?.runId === run.id));
  });

  it('has made one project', async () => {
    const place = await Place.make();
    const repository = path.join(place.folder, 'project.git');
    const git = promisify(execFile);
    await git('git', ['init', '-q', '-b', 'main', repository]);
    const commit = ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', '1'];
    await git('git', ['-C', repository, ...commit]);
    const project = { name: 'shop', repository };
    const again = await place.repeatAfterCrash('/api/projects', project, async () => {});
    expect([again.status, (await place.get<{ items: object[] }>('/api/projects')).items]).toEqual([
      201,
      [await again.json()],
    ]);
  });
});

describe('a launch that comes while the server stops', () => {
  it('is refused for now, and done when it is sent again with its key', async () => {
    const place = await Place.make();
    await writeFile(`${place.trap}-stop`, '');
    const first = await place.request('POST', '/api/runs', { workflow: 'two-gates' }, 'the-key').catch(() => null);
    if (first !== null) expect([first.status, first.headers.has('retry-after')]).toEqual([503, true]);
    expect(await place.server.ended).toEqual({ code: 0, signal: null });
    await rm(`${place.trap}-stop`);
    await place.start();
    const again = await place.request('POST', '/api/runs', { workflow: 'two-gates' }, 'the-key');
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, null]);
  });
});
