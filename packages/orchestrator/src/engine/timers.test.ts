import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineUnderTest } from './engine.fixture.ts';
import { systemClock } from './clock.ts';

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
