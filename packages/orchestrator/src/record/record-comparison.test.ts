/** A comparison with a remote that takes the question and never answers. */
import { expect, it } from 'vitest';
import { RecordComparison } from './record-comparison.ts';

function comparison() {
  const timers = new Set<{ readonly ms: number; readonly callback: () => void }>();
  const signals: AbortSignal[] = [];
  const compared = new RecordComparison({
    store: {
      listProjects: () =>
        Promise.resolve({ items: [{ id: 'p-1', name: 'shop', repository: '/r', baseBranch: 'main' }] }),
    },
    repository: {
      fetchRecord: (_project: unknown, signal: AbortSignal) => {
        signals.push(signal);
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    },
    clock: {
      now: () => new Date(0),
      after(ms: number, callback: () => void) {
        const timer = { ms, callback };
        timers.add(timer);
        return () => timers.delete(timer);
      },
    },
    log: { warn: () => undefined },
    serverId: 's-1',
    quarantine: () => Promise.resolve(),
    onKnown: () => undefined,
  } as never);
  const pass = (ms: number): void => {
    for (const timer of [...timers].filter((each) => each.ms === ms)) {
      timers.delete(timer);
      timer.callback();
    }
  };
  return { compared, signals, pass, timers };
}

it('ends its question at its limit, says so, and asks again', async () => {
  const { compared, signals, pass } = comparison();
  await compared.start();
  await expect.poll(() => signals.length).toBe(1);
  expect(signals[0]?.aborted).toBe(false);
  pass(60_000);
  expect(signals[0]?.aborted).toBe(true);
  await expect.poll(() => compared.notices.join()).toContain('its remote did not answer within 60 seconds');
  pass(60_000);
  await expect.poll(() => signals.length).toBe(2);
});

it('ends its question when the server stops', async () => {
  const { compared, signals, timers } = comparison();
  await compared.start();
  await expect.poll(() => signals.length).toBe(1);
  compared.stop();
  expect(signals[0]?.aborted).toBe(true);
  await expect.poll(() => timers.size).toBe(0);
  expect(compared.notices).toEqual([]);
});
