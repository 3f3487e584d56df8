import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Gate, JsonObject, RunView, WorkflowEvent } from '@autonomous/shared';
import pino from 'pino';
import { expect, it } from 'vitest';
import { aView, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { ManualClock } from './engine.fixture.ts';
import { type ProbeAnswer, SelfResume, SERVER } from './self-resume.ts';

const MINUTE = 60_000;

/** Runs that pause and are retried, and a thing that they wait for. */
class World {
  readonly clock = new ManualClock();
  answer: ProbeAnswer = 'away';
  isHeard = true;
  /** Minutes at which the thing was looked for. */
  readonly asked: number[] = [];
  readonly retried: string[] = [];
  readonly warnings: string[] = [];
  retry = async (_runId: string): Promise<void> => undefined;
  readonly #began = this.clock.now().getTime();
  readonly #logs = new Map<string, WorkflowEvent[]>();
  readonly #views = new Map<string, RunView>();
  readonly resume = new SelfResume({
    store: {
      listOpenRuns: async () => [...this.#views.values()],
      loadView: async (runId) => this.#views.get(runId) ?? null,
      readHistory: async (runId) => this.#logs.get(runId) ?? [],
    },
    clock: this.clock,
    log: pino({ level: 'warn' }, { write: (line) => void this.warnings.push(line) }),
    firstWaitMs: MINUTE,
    probeOf: async () => ({
      key: 'the provider',
      ask: async () => {
        this.asked.push((this.clock.now().getTime() - this.#began) / MINUTE);
        return this.answer;
      },
    }),
    retry: async (runId) => {
      await this.retry(runId);
      this.retried.push(runId);
      this.#step(runId, 'RETRY_REQUESTED', { by: SERVER }, {});
    },
  });

  /** A run pauses, and the engine says so. */
  async pause(runId: string, error: JsonObject = { kind: 'retryable' }, gate: Partial<Gate> = {}): Promise<void> {
    const summary = 'The model is away';
    const opened = {
      id: `${runId}.${this.#logOf(runId).length}`,
      runId,
      kind: 'pause',
      stage: 'planning',
      summary,
    } as const;
    const full = {
      ...opened,
      openedAt: NOON,
      decisions: ['retry'],
      details: {},
      reason: 'model_unavailable',
      ...gate,
    } as const;
    await this.tell(runId, 'ACTIVITY_FAILED', { error }, { status: 'paused', gate: full });
  }

  async tell(runId: string, type: string, payload: JsonObject = {}, view: Partial<RunView> = {}): Promise<void> {
    const message = this.#step(runId, type, payload, view);
    if (this.isHeard) this.resume.receive(message);
    await settled();
  }

  async pass(minutes: number): Promise<void> {
    for (let step = 0; step < minutes * 4; step += 1) {
      this.clock.advance(MINUTE / 4);
      await settled();
    }
  }

  #logOf(runId: string): WorkflowEvent[] {
    const log = this.#logs.get(runId) ?? [];
    this.#logs.set(runId, log);
    return log;
  }

  #step(runId: string, type: string, payload: JsonObject, given: Partial<RunView>) {
    const log = this.#logOf(runId);
    const sequence = log.length + 1;
    const event = {
      id: `${runId}.${sequence}`,
      position: sequence,
      workflowRunId: runId,
      sequence,
      type,
      payload,
    } as const;
    log.push({ ...event, origin: 'input', timestamp: NOON });
    const view = aView(runId, { lastSequence: sequence, ...given });
    this.#views.set(runId, view);
    return { view, events: log.slice(-1) };
  }
}

/** Waits until the pending promises have settled. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

it('looks for what is missing with waits that double, up to fifteen minutes', async () => {
  const world = new World();
  await world.pause('a');
  await world.pass(62);
  expect(world.asked).toEqual([1, 3, 7, 15, 30, 45, 60]);
  expect(world.retried).toEqual([]);
});

it.each(['gets further', 'still runs after 45 seconds'])(
  'lets one run go first and the others once it %s',
  async (how) => {
    const world = new World();
    for (const runId of ['a', 'b', 'c']) await world.pause(runId);
    world.answer = 'back';
    await world.pass(1);
    expect(world.retried).toEqual(['a']);
    if (how === 'gets further') await world.tell('a', 'ACTIVITY_COMPLETED');
    else await world.pass(1);
    expect(world.retried).toEqual(['a', 'b', 'c']);
    await world.pass(60);
    expect(world.asked).toEqual([1]);
  },
);

it('waits longer when the first run gets no further, and sends another one then', async () => {
  const world = new World();
  await world.pause('a');
  await world.pause('b');
  world.answer = 'unknown';
  await world.pass(1);
  await world.pause('a');
  await world.pass(1.75);
  expect(world).toMatchObject({ asked: [1], retried: ['a'] });
  await world.pass(0.25);
  expect(world).toMatchObject({ asked: [1, 3], retried: ['a', 'b'] });
  await world.pause('b');
  await world.pass(3.75);
  expect(world).toMatchObject({ asked: [1, 3], retried: ['a', 'b'] });
  await world.pass(0.25);
  expect(world).toMatchObject({ asked: [1, 3, 7], retried: ['a', 'b', 'a'] });
});

it('goes on with the others when a person decided meanwhile, and again where the retry could not be stored', async () => {
  const world = new World();
  for (const runId of ['a', 'b', 'c']) await world.pause(runId);
  await world.tell('b', 'RUN_CANCELLED', {}, { status: 'cancelled', completedAt: NOON });
  world.answer = 'back';
  world.retry = () => Promise.reject(new Error('the disk is full'));
  await world.pass(1);
  world.retry = async () => undefined;
  expect(world.warnings).toEqual([expect.stringContaining('could not be retried')]);
  await world.pass(2);
  expect(world.retried).toEqual(['c']);
  await world.tell('c', 'ACTIVITY_COMPLETED');
  expect(world).toMatchObject({ asked: [1, 3], retried: ['c', 'a'] });
});

it.each([
  ['only a person can renew the key', { kind: 'terminal' }, {}],
  ['a limit with a time has its own timer', { kind: 'retryable', retryAfterMs: 1_000 }, {}],
  ['a branch is missing at the remote', { kind: 'needs_human' }, { reason: 'missing_at_remote' }],
  ['a person paused it', { kind: 'retryable' }, { reason: 'held' }],
  ['it cannot be retried', { kind: 'retryable' }, { decisions: ['cancel'] }],
] as const)('leaves a run to others where %s', async (_why, error, gate) => {
  const world = new World();
  world.answer = 'back';
  await world.pause('a', error, gate as Partial<Gate>);
  await world.pass(30);
  expect(world).toMatchObject({ asked: [], retried: [] });
});

it('leaves a run to a person after forty retries that changed nothing', async () => {
  const world = new World();
  world.answer = 'unknown';
  for (let pauses = 0; pauses < 45; pauses += 1) {
    await world.pause('a', { kind: 'retryable' });
    await world.pass(16);
  }
  expect(world.retried).toHaveLength(40);
  expect(world.warnings.at(-1)).toContain('retried 40 times');
});

it('finds the runs that had paused before it began, waits as long as it did for them then, and does nothing once it is stopped', async () => {
  const world = new World();
  await world.pause('a');
  world.resume.stop();
  await world.pass(30);
  expect(world.asked).toEqual([]);

  const again = new World();
  again.answer = 'back';
  again.isHeard = false;
  await again.pause('a', { kind: 'terminal' });
  await again.tell('b', 'NOTICE');
  for (let retries = 0; retries < 2; retries += 1) await again.tell('c', 'RETRY_REQUESTED', { by: SERVER });
  await again.pause('c', {}, { reason: 'storage_full' });
  await again.resume.start();
  await again.pass(5);
  expect(again).toMatchObject({ asked: [4], retried: ['c'] });
});
