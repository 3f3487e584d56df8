import { describe, expect, it } from 'vitest';
import { failed, fanOut, startable, started, succeeded, verdictOf } from './fan-out.ts';

describe('a fan-out', () => {
  it('starts so many at once, in order, and the next one with each end', () => {
    let fan = fanOut(['a', 'b', 'c'], 2);
    expect(startable(fan)).toEqual(['a', 'b']);
    fan = started(fan, startable(fan));
    expect(startable(fan)).toEqual([]);
    fan = succeeded(fan, 'b', 1);
    expect(startable(fan)).toEqual(['c']);
    expect(succeeded(fan, 'b', 2)).toBe(fan);
    fan = started(fan, ['c']);
    fan = succeeded(succeeded(fan, 'a', 2), 'c', 3);
    expect(verdictOf(fan)).toBe('succeeded');
    expect(fan.outcomes['b']).toEqual({ ok: true, output: 1 });
  });

  it('fails by its policy', () => {
    const after = (policy: Parameters<typeof fanOut>[2]) =>
      failed(started(fanOut(['a', 'b', 'c'], 1, policy), ['a']), 'a', 'no');
    expect(verdictOf(after('fail-fast'))).toBe('failed');
    expect(startable(after('fail-fast'))).toEqual([]);
    expect(verdictOf(after('collect'))).toBe('running');
    expect(startable(after('collect'))).toEqual(['b']);
    expect(verdictOf(after({ atLeast: 2 }))).toBe('running');
    expect(verdictOf(after({ atLeast: 3 }))).toBe('failed');
  });
});
