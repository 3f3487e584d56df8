import { expect, it, vi } from 'vitest';
import { createPendingDecisions } from './pending-decisions.ts';

it('shows a decision at once and until its outcome has arrived', async () => {
  const onChange = vi.fn<() => void>();
  const pending = createPendingDecisions({ onChange, onLate: () => {} });
  let arrived = 0;
  const deciding = pending.during(
    'r-1',
    'Approving…',
    () => Promise.resolve(4),
    (sequence) => arrived >= sequence,
  );
  expect(pending.labels.get('r-1')).toBe('Approving…');
  expect(await deciding).toBe(4);
  pending.settle();
  expect(pending.labels.get('r-1')).toBe('Approving…');
  arrived = 4;
  pending.settle();
  expect(pending.labels.size).toBe(0);
  expect(onChange).toHaveBeenCalledTimes(2);
});

it('takes it back when it is refused', async () => {
  const pending = createPendingDecisions({ onChange: () => {}, onLate: () => {} });
  const refused = pending.during(
    'r-1',
    'Approving…',
    () => Promise.reject(new Error('somebody was first')),
    () => true,
  );
  await expect(refused).rejects.toThrow('somebody was first');
  expect(pending.labels.size).toBe(0);
});

it('gives the run free again when the server does not answer, and says so', async () => {
  const onLate = vi.fn<(runId: string, label: string) => void>();
  const pending = createPendingDecisions({ onChange: () => {}, onLate, lateAfterMs: 5 });
  const first = Promise.withResolvers<number>();
  const stuck = pending.during(
    'r-1',
    'Approving…',
    () => first.promise,
    () => true,
  );
  await expect.poll(() => pending.labels.size).toBe(0);
  expect(onLate.mock.calls).toEqual([['r-1', 'Approving…']]);

  // It is decided again, and only then does the first answer come: the second one is still under way.
  const second = Promise.withResolvers<number>();
  const again = pending.during(
    'r-1',
    'Rejecting…',
    () => second.promise,
    () => true,
  );
  first.resolve(4);
  expect(await stuck).toBe(4);
  expect(pending.labels.get('r-1')).toBe('Rejecting…');
  second.resolve(5);
  await again;
  expect(pending.labels.size).toBe(0);
});

it('takes an outcome for granted whose news do not arrive', async () => {
  const onLate = vi.fn<(runId: string, label: string) => void>();
  const pending = createPendingDecisions({ onChange: () => {}, onLate, newsWithinMs: 5, lateAfterMs: 5 });
  await pending.during(
    'r-1',
    'Approving…',
    () => Promise.resolve(4),
    () => false,
  );
  expect(pending.labels.get('r-1')).toBe('Approving…');
  await expect.poll(() => pending.labels.size).toBe(0);
  expect(onLate).not.toHaveBeenCalled();
});
