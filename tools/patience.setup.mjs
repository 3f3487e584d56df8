/**
 * Vitest set-up of every test file: limits of patience grow with the measured load, so that a machine which is busy with other
 * things is slow and not red. What never comes still fails. `AUTONOMOUS_TEST_DELAY` is the factor, for fixtures with limits of their own.
 */
import { availableParallelism, loadavg } from 'node:os';
import { expect, vi } from 'vitest';

const POLL_MS = 120_000;
const TEST_MS = 300_000;
/** The load that the workers of this run make themselves; the limits have it in them. */
const OWN_LOAD = availableParallelism() + 2;

const delay = Math.max(1, loadavg()[0] / OWN_LOAD);
process.env.AUTONOMOUS_TEST_DELAY = String(delay);
vi.setConfig({ testTimeout: TEST_MS * delay, hookTimeout: TEST_MS * delay });

/** As vitest has them: a worker runs this once for each file. */
const own = (globalThis[Symbol.for('autonomous.test.waits')] ??= {
  poll: expect.poll,
  waitFor: vi.waitFor,
  waitUntil: vi.waitUntil,
});
expect.poll = (read, options = {}) => own.poll(read, { ...options, timeout: (options.timeout ?? POLL_MS) * delay });
for (const wait of ['waitFor', 'waitUntil']) {
  vi[wait] = (look, limits = POLL_MS) => {
    const { timeout = POLL_MS, ...more } = typeof limits === 'number' ? { timeout: limits } : limits;
    return own[wait](look, { ...more, timeout: timeout * delay });
  };
}
