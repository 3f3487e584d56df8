import { type Progress, RetryableFailure, type RunView } from '@autonomous/shared';
import { afterEach, describe, expect, it } from 'vitest';
import { EngineUnderTest, type EngineUnderTestOptions } from '../engine.fixture.ts';

describe('an activity', () => {
  let test: EngineUnderTest;
  const started = async (retry: EngineUnderTestOptions['retry']): Promise<void> => {
    test = await EngineUnderTest.open({ retry });
    await test.engine.start();
    await test.launch('r1');
  };
  const paused = (): Promise<RunView> => test.until('r1', (view) => view.status === 'paused');
  /** Resolves when the retry is stored and waited for. */
  const booked = (failures: number) =>
    expect.poll(async () => (await test.store.openActivities('r1'))[0]).toMatchObject({ failures });
  afterEach(() => test.close());

  it('that is silent for too long is aborted and tried again, and hears how far it came', async () => {
    await started({ heartbeatMs: 5_000, attempts: 2 });
    const first = await test.call('draft');
    expect(first.context.lastHeartbeat).toBeNull();
    test.clock.advance(4_000);
    void first.context.heartbeat({ done: 1 });
    test.clock.advance(4_000);
    void first.context.heartbeat({ done: 2 });
    test.clock.advance(4_000);
    expect(first.context.signal.aborted).toBe(false);
    test.clock.advance(1_000);
    expect(first.context.signal.aborted).toBe(true);
    await booked(1);
    test.clock.advance(1_000);
    const second = await test.call('draft');
    expect(second.context).toMatchObject({ attempt: 2, lastHeartbeat: { done: 2 } });
    test.clock.advance(5_000);
    expect((await paused()).status).toBe('paused');
    expect(await failure()).toMatchObject({
      reason: 'timeout',
      message: 'The activity gave no sign of life for 5000 ms',
    });
  });

  it('hears after a crash how far it came', async () => {
    await started({ heartbeatMs: 5_000 });
    expect(await (await test.call('draft')).context.heartbeat('half')).toBe(true);
    expect((await test.store.openActivities('r1'))[0]?.heartbeat).toBe('half');
    await test.restart();
    expect((await test.call('draft')).context).toMatchObject({ attempt: 2, lastHeartbeat: 'half' });
  });

  it('that takes too long is aborted, and that counts as a failure', async () => {
    await started({ timeoutMs: 60_000, attempts: 1 });
    const call = await test.call('draft');
    test.clock.advance(59_999);
    expect(call.context.signal.aborted).toBe(false);
    test.clock.advance(1);
    await paused();
    expect(await failure()).toMatchObject({ reason: 'timeout', message: 'The attempt took longer than 60000 ms' });
  });

  it('is not tried again for a reason that its policy calls final', async () => {
    await started({ final: ['auth_expired'], attempts: 5 });
    (await test.call('draft')).fail(new RetryableFailure('The token is old', { reason: 'auth_expired' }));
    await paused();
    expect(await failure()).toMatchObject({ reason: 'auth_expired' });
  });

  const revoked = (): unknown => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  it.each<[string, () => unknown, string]>([
    ['a message that is no text', () => Object.assign(new Error('n'), { message: 10n }), 'Unexpected error: 10'],
    [
      'a symbol for a message',
      () => Object.assign(new Error('n'), { message: Symbol('s') }),
      'Unexpected error: Symbol(s)',
    ],
    ['an object without any text', () => Object.create(null), 'Unexpected error: object without a message'],
    ['what cannot be looked at', revoked, 'Unexpected error: something was thrown that cannot be read'],
    [
      'a field that throws',
      () =>
        Object.defineProperty(new Error('n'), 'message', {
          get: () => {
            throw new Error('no');
          },
        }),
      'Unexpected error: undefined',
    ],
    [
      'a cause that is its own',
      () => {
        const error = new Error('round');
        error.cause = error;
        return error;
      },
      'Unexpected error: round',
    ],
    ['five megabytes', () => new Error('x'.repeat(5_000_000)), `Unexpected error: ${'x'.repeat(20_000)}…`],
  ])('that throws %s is tried again, and reported in words', async (_what, thrown, message) => {
    await started({ attempts: 2 });
    (await test.call('draft')).fail(thrown() as Error);
    await booked(1);
    test.clock.advance(1_000);
    (await test.call('draft')).fail(thrown() as Error);
    await paused();
    expect(await failure()).toMatchObject({ kind: 'bug', message });
  });

  it('shows the beginning of what its commands print, and says that there is more', async () => {
    const shown: Progress[] = [];
    await started({ attempts: 1 });
    test.engine.subscribe((message) => {
      if ('progress' in message) shown.push(message.progress);
    });
    const { context } = await test.call('draft');
    for (let index = 0; index < 100; index += 1) context.progress({ kind: 'output', text: 'x'.repeat(100_000) });
    context.progress({ kind: 'text', text: 'said' });
    expect(shown.filter(({ kind }) => kind === 'output')).toHaveLength(21);
    expect(shown.slice(-2).map(({ text }) => text)).toEqual([expect.stringContaining('not shown'), 'said']);
  });

  it('that throws an ordinary error is tried again, and in the end reported with its class, code and cause', async () => {
    class Refused extends TypeError {}
    const refused = () =>
      Object.assign(new Refused('fetch failed', { cause: new Error('no route') }), { code: 'ECONNRESET' });
    await started({ attempts: 2 });
    (await test.call('draft')).fail(refused());
    await booked(1);
    test.clock.advance(1_000);
    (await test.call('draft')).fail(refused());
    await paused();
    expect(await failure()).toEqual({
      kind: 'bug',
      reason: 'agent_failed',
      message: 'Unexpected error: fetch failed',
      error: {
        name: 'TypeError',
        message: 'fetch failed',
        code: 'ECONNRESET',
        cause: { name: 'Error', message: 'no route' },
      },
    });
    expect(test.errors.join()).toContain('activity-runner.test.ts');
  });

  it('waits longer each time, by the factor of its policy and up to its longest delay', async () => {
    await started({ attempts: 5, firstDelayMs: 1_000, maxDelayMs: 5_000, factor: 3, jitter: 0.2 });
    for (const [failures, delayMs] of [
      [1, 900],
      [2, 2_700],
      [3, 4_500],
    ] as const) {
      (await test.call('draft')).fail(new RetryableFailure('Not now'));
      await booked(failures);
      const [{ notBefore } = { notBefore: '' }] = await test.store.openActivities('r1');
      expect(Date.parse(notBefore ?? '') - test.clock.now().getTime()).toBe(delayMs);
      test.clock.advance(delayMs);
    }
  });

  it('waits for as long as the other side asked for', async () => {
    await started({ attempts: 2 });
    (await test.call('draft')).fail(new RetryableFailure('Too many', { retryAfterMs: 3_600_000 }));
    await booked(1);
    test.clock.advance(3_599_999);
    expect(test.calls).toEqual([]);
    test.clock.advance(1);
    expect((await test.call('draft')).context.attempt).toBe(2);
  });

  it('waits no longer than its policy says when the clock was set back meanwhile', async () => {
    await started({ attempts: 2, maxDelayMs: 2_000 });
    (await test.call('draft')).fail(new RetryableFailure('Not now'));
    await booked(1);
    test.clock.jump(-30 * 24 * 3_600_000);
    await test.restart();
    test.clock.advance(2_000);
    expect((await test.call('draft')).context.attempt).toBe(2);
  });

  it('has no more attempts after a crash than before it; attempts that the crash cut off do not count', async () => {
    await started({ attempts: 2 });
    (await test.call('draft')).fail(new RetryableFailure('Not now'));
    await booked(1);
    test.clock.advance(1_000);
    await test.call('draft');
    await test.restart();
    const third = await test.call('draft');
    expect(third.context.attempt).toBe(3);
    third.fail(new RetryableFailure('Not now either'));
    await paused();
    expect(await failure()).toMatchObject({ message: 'Not now either' });
  });

  it('that does not end when it is told to is not waited for for ever, and what it brings is ignored', async () => {
    await started({});
    test.endsWhenAborted = false;
    const stubborn = await test.call('draft');
    await test.engine.cancel('r1', 'me');
    await test.launch('r2');
    expect((await test.call('draft')).context.runId).toBe('r2');
    const stopped = test.engine.stop();
    test.clock.advance(30_000);
    await stopped;
    stubborn.complete('too late');
    expect((await test.types('r1')).slice(-2)).toEqual(['RUN_CANCELLED', 'STATE_CHANGED']);
    expect(test.errors.join()).toContain('does not end');
  });

  it('says every two seconds what it is at', async () => {
    await started({});
    const reported: Progress[] = [];
    test.engine.subscribe((message) => {
      if ('progress' in message) reported.push(message.progress);
    });
    const { context } = await test.call('draft');
    context.progress({ kind: 'command', text: '$ npm ci' });
    context.progress({ kind: 'output', text: 'fetching 12 of 400\n' });
    context.progress({ kind: 'pulse', text: '', bytes: 3_000_000, files: 12 });
    test.clock.advance(7_000);
    await expect
      .poll(() => reported.find(({ kind }) => kind === 'pulse'))
      .toMatchObject({
        runId: 'r1',
        activity: 'drafter',
        what: 'npm ci',
        elapsedMs: 7_000,
        lastLine: 'fetching 12 of 400',
        bytes: 3_000_000,
        files: 12,
      });
  });

  it('that a timer ends is named in the event of the timer', async () => {
    await started({});
    await test.toGate('r1');
    await test.approve('r1');
    (await test.call('work')).context.progress({ kind: 'command', text: '$ npm test' });
    test.clock.advance(60_000);
    await paused();
    const events = await test.store.readRun('r1', 0);
    expect(events.find(({ type }) => type === 'TIMER_FIRED')?.payload['during']).toEqual([
      { activity: 'worker', what: 'npm test', elapsedMs: 60_000 },
    ]);
  });

  async function failure() {
    const events = await test.store.readRun('r1', 0);
    return events.findLast((event) => event.type === 'ACTIVITY_FAILED')?.payload['error'];
  }
});
