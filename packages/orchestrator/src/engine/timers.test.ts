import path from 'node:path';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { aStep, aTimer } from '../event-store/sqlite/steps.fixture.ts';
import { systemClock } from './clock.ts';
import { EngineUnderTest, ManualClock } from './engine.fixture.ts';
import { Timers } from './timers.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('durable time', () => {
  let test: EngineUnderTest;
  beforeEach(async () => {
    test = await EngineUnderTest.open();
    await test.engine.start();
    await test.launch('r1');
    await test.toGate('r1');
    await test.approve('r1');
    await test.call('work');
  });
  afterEach(() => test.close());

  it('fires when the clock jumps forward while the server waits', async () => {
    test.clock.jump(DAY);
    test.clock.advance(30_000);
    expect((await test.until('r1', (view) => view.status === 'paused')).gate?.reason).toBe('agent_failed');
  });

  it('fires in time what is armed after the clock jumped forward', async () => {
    await test.launch('r2');
    await test.toGate('r2');
    test.clock.jump(DAY);
    await test.approve('r2');
    await test.call('work');
    // r1 became due by the jump; what was armed after it lets it be seen at once.
    test.clock.advance(0);
    await test.until('r1', (view) => view.status === 'paused');
    await test.engine.checkTimers();
    test.clock.advance(MINUTE);
    expect((await test.until('r2', (view) => view.status === 'paused')).gate?.reason).toBe('agent_failed');
  });

  it('fires at once what became due while its run was quarantined, when it goes on', async () => {
    await test.engine.stop();
    await test.store.close();
    const connection = new Database(path.join(test.folder, 'test.db'));
    const [tip] = connection.prepare<[], { readonly hash: Buffer }>('SELECT hash FROM workflow_steps').all();
    connection.prepare('UPDATE workflow_runs SET last_sequence = 1, tip = ?').run(tip?.hash);
    connection.close();
    await test.restart();
    expect((await test.engine.view('r1')).gate?.reason).toBe('poisoned');

    test.clock.advance(MINUTE);
    for (let minute = 0; minute < 10; minute += 1) {
      await test.engine.checkTimers();
      test.clock.advance(MINUTE);
    }
    await test.engine.signal('r1', 'RETRY_REQUESTED', { by: 'me' });
    test.clock.advance(0);
    expect((await test.until('r1', (view) => view.gate?.reason === 'agent_failed')).status).toBe('paused');
  });

  it('does not fire early when the clock jumps back, and fires when the due time comes', async () => {
    test.clock.jump(-DAY);
    test.clock.advance(MINUTE);
    await test.engine.checkTimers();
    expect((await test.engine.view('r1')).status).toBe('running');
    test.clock.jump(DAY);
    await test.engine.checkTimers();
    await test.until('r1', (view) => view.status === 'paused');
  });

  it('keeps due times over restarts, however far away', async () => {
    await test.restart();
    const [timer] = await test.store.openTimers('r1');
    expect(timer?.dueAt).toBe('2026-03-01T10:01:00.000Z');
    await test.restart();
    expect(await test.store.openTimers('r1')).toEqual([timer]);
    test.clock.jump(400 * DAY);
    await test.restart();
    expect((await test.engine.view('r1')).status).toBe('paused');
  });
});

it('a delay that is longer than Node can count does not call back at once', async () => {
  let called = false;
  const cancel = systemClock.after(40 * DAY, () => {
    called = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  cancel();
  expect(called).toBe(false);
});

it('timers that their run cannot take are tried ever more seldom, those of others in time', async () => {
  const store = openSqliteEventStore({ file: ':memory:', writer: 'inline' });
  const clock = new ManualClock();
  const inSeconds = (seconds: number) => new Date(clock.now().getTime() + seconds * 1_000).toISOString();
  const fired: string[] = [];
  const timers = new Timers({
    store,
    clock,
    log: pino({ level: 'silent' }),
    fire: async ({ runId, key }) => {
      fired.push(runId);
      if (runId === 'held') throw new Error('its workflow is not on this server');
      await store.append(aStep(runId, { expectedSequence: 1, clearTimers: [key] }));
    },
  });
  const arm = async (runId: string, dueAt: string): Promise<void> => {
    const setTimers = [aTimer(runId, 'timeout', dueAt)];
    await store.append(aStep(runId, { setTimers }));
    timers.armed(setTimers);
  };
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      await timers.check();
    }
  };
  await timers.start();
  await arm('held', inSeconds(1));
  await arm('other', inSeconds(50));
  await pass(49);
  // After 1, 2, 4, 8 … seconds.
  expect(fired).toEqual(Array.from({ length: 6 }, () => 'held'));
  await pass(1);
  expect(fired.at(-1)).toBe('other');
  await pass(50);
  expect(fired.filter((runId) => runId === 'held')).toHaveLength(7);
  timers.freed('held');
  clock.advance(0);
  await timers.check();
  expect(fired.filter((runId) => runId === 'held')).toHaveLength(8);
  timers.stop();
  await store.close();
});
