import { expect, it, vi } from 'vitest';
import { createPendingDecisions } from './pending-decisions.ts';

it('shows a decision at once and until its outcome has arrived', async () => {
  const onChange = vi.fn<() => void>();
  const pending = createPendingDecisions(onChange);
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
  const pending = createPendingDecisions(() => {});
  const refused = pending.during(
    'r-1',
    'Approving…',
    () => Promise.reject(new Error('somebody was first')),
    () => true,
  );
  await expect(refused).rejects.toThrow('somebody was first');
  expect(pending.labels.size).toBe(0);
});
