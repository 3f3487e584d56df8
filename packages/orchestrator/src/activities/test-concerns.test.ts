import type { Baseline, Evidence, TestCount } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { concernsOfTests } from './test-concerns.ts';

const command = { command: 'npm test', exitCode: 0, durationMs: 1, output: '' };
const counted = (replaced: readonly string[]): TestCount => ({
  runner: 'mocha',
  executed: 2,
  failed: 0,
  skipped: 0,
  finished: true,
  ...(replaced.length === 0 ? {} : { replaced }),
});
const baseline = (replaced: readonly string[]): Baseline => ({
  commit: 'c',
  codeTree: 't',
  passed: true,
  command,
  sandbox: 'bubblewrap',
  tests: counted(replaced),
});
const evidence = (replaced: readonly string[]): Evidence => ({
  mode: 'as_is',
  codeTree: 't',
  commit: 'c',
  passed: true,
  commands: [command],
  sandbox: 'bubblewrap',
  tests: counted(replaced),
  recordedAt: '2026-01-01T00:00:00.000Z',
});
const reasonsOf = (before: readonly string[], now: readonly string[]) =>
  concernsOfTests(baseline(before), [evidence(now)]).flatMap(({ items }) => items.map(({ reason }) => reason));

describe('what the code under test changed of its judge', () => {
  it('is a concern', () => {
    expect(reasonsOf([], ['chai Assertion.equal'])).toEqual([
      'With the result as it is, the code under test changed what judges it: chai Assertion.equal.',
    ]);
  });

  it('is no news where it is changed on the base commit as well, name by name', () => {
    expect(reasonsOf(['chai Assertion.equal'], ['chai Assertion.equal'])).toEqual([]);
    expect(reasonsOf(['chai Assertion.equal'], ['chai Assertion.equal', 'Object.is'])).toEqual([
      'With the result as it is, the code under test changed what judges it: Object.is.',
    ]);
  });
});
