/** Concerns that a person sees about the tests of a result that passed. */
import type { Baseline, Evidence, TestCount } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { concernOfRecord, concernsOfTests } from './test-concerns.ts';

const count: TestCount = { runner: 'r', executed: 3, failed: 0, skipped: 0, finished: true };
const command = { command: 'npm test', exitCode: 0, durationMs: 1, output: '' };
const baselineOf = (tests: Partial<TestCount> = {}): Baseline => ({
  commit: 'c',
  codeTree: 't',
  passed: true,
  command,
  sandbox: 'bubblewrap',
  tests: { ...count, ...tests },
});
const asIs = (change: Partial<Evidence>): Evidence => ({
  mode: 'as_is',
  codeTree: 't',
  commit: 'c',
  passed: true,
  commands: [command],
  sandbox: 'bubblewrap',
  tests: count,
  recordedAt: '2026-03-01T10:00:00Z',
  ...change,
});
const told = (change: Partial<Evidence>, baseline = baselineOf()) =>
  concernsOfTests(baseline, [asIs(change)]).map(({ kind, items }) => [kind, items.map(({ reason }) => reason)]);
const file = (path: string, assertionsBefore: number, assertions: number, more = {}) => ({
  path,
  linesRemoved: 1,
  assertionsBefore,
  assertions,
  ...more,
});

describe('tests that assert less', () => {
  it.each([
    ['all assertions of a file are gone', [file('a.test.js', 2, 0)], 'a.test.js (2 assertions before, 0 now)'],
    ['some are gone', [file('a.test.js', 3, 2)], 'a.test.js (3 assertions before, 2 now)'],
    [
      'a file is gone, and another makes up for a part',
      [file('a.test.js', 2, 0, { isDeleted: true }), file('b.test.js', 0, 1)],
      'a.test.js (deleted, 2 assertions before, 0 now)',
    ],
    [
      'others make up for a file that is emptied and stays',
      [file('a.test.js', 1, 0), file('b.test.js', 0, 5)],
      'a.test.js (1 assertion before, 0 now)',
    ],
  ])('are a concern where %s', (_what, changedTests, named) => {
    const reason = `Tests of the base commit assert less than they did: ${named}.`;
    expect(told({ changedTests })).toEqual([['tests_fell', [reason]]]);
  });

  it.each([
    ['a test is rewritten with as many', [file('a.test.js', 2, 2)]],
    ['a test is split', [file('a.test.js', 3, 1), file('b.test.js', 0, 2)]],
    ['a file is renamed', [file('a.test.js', 2, 0, { isDeleted: true }), file('b.test.js', 0, 2)]],
  ])('are none where %s', (_what, changedTests) => {
    expect(told({ changedTests })).toEqual([]);
  });
});

it('counts no evidence of a record that the run was rebuilt from, and tells that of two rebuilds apart', () => {
  const event = (sequence: number, type: string, origin: 'input' | 'emitted') =>
    ({ sequence, type, origin, payload: { mode: 'as_is' } }) as const;
  const events = [event(7, 'ACTIVITY_COMPLETED', 'input'), event(8, 'EVIDENCE_RECORDED', 'emitted')];
  const of = (...evidence: readonly Evidence[]) => concernOfRecord({ id: 'r', evidence }, 't', events);
  const [concern] = of(asIs({ rebuiltAt: '2026-01-01' }));
  expect(concern?.title).toBe('This server has not run the checks of the result');
  expect(concern?.items[0]?.reason).toContain('fork r --at 6');
  const child = { id: 'r', evidence: [asIs({ rebuiltAt: '2026-01-01' })], parent: { runId: 'p', key: 'k', depth: 1 } };
  expect(concernOfRecord(child, 't', events)[0]?.items[0]?.reason).not.toContain('fork');
  expect(of(asIs({ rebuiltAt: '2026-01-02' }))[0]?.hash).not.toBe(concern?.hash);
  expect(of(asIs({ rebuiltAt: '2026-01-01', passed: false }))).toHaveLength(1);
  // A record may say of another tree what it does not prove of this one.
  expect(of(asIs({ rebuiltAt: '2026-01-01', codeTree: '0'.repeat(40) }))).toHaveLength(1);
  expect(of(asIs({ rebuiltAt: '2026-01-01' }), asIs({}))).toEqual([]);
  expect(of(asIs({ rebuiltAt: '2026-01-01', codeTree: 'before' }), asIs({}))).toEqual([]);
});

it('a rebuilt result that only its record says was accepted without checks is a concern', () => {
  const decided = (sequence: number, decision: string) =>
    ({ sequence, type: 'FIX_DECIDED', origin: 'input', payload: { decision } }) as const;
  const of = (evidence: readonly Evidence[], ...events: readonly ReturnType<typeof decided>[]) =>
    concernOfRecord({ id: 'r', evidence, rebuiltUpTo: 9 }, 't', events);
  const [concern] = of([], decided(8, 'accept'));
  expect(concern?.items[0]?.reason).toMatch(/^A person accepted the result without them, says the record/);
  expect(of([], decided(8, 'retry'))).toEqual([]);
  expect(of([], decided(8, 'accept'), decided(12, 'accept'))).toEqual([]);
  expect(of([asIs({})], decided(8, 'accept'))).toEqual([]);
  expect(of([asIs({ codeTree: 'before' })], decided(8, 'accept'))).toHaveLength(1);
});

describe('tests that failed in a command that ended well', () => {
  const failed = (...failedNames: string[]) => ({ ...count, failed: failedNames.length, failedNames });

  it('are none where the same failed on the base commit with another time in its name', () => {
    expect(told({ tests: failed('a: 23 s') }, baselineOf(failed('a: 0 s')))).toEqual([]);
    expect(told({ tests: failed('a: 23 s') }, baselineOf(failed('a: 24 s')))).toEqual([]);
  });

  it('are compared by all their names where these are known', () => {
    const now = failed('a: pays 2 of 2');
    expect(told({ tests: { ...now, failedAnew: [] } }, baselineOf(failed('a: x')))).toEqual([]);
    const anew = { ...now, failedAnew: ['a: pays 2 of 2'] };
    expect(told({ tests: anew }, baselineOf(failed('a: pays 1 of 2')))).not.toEqual([]);
  });

  it('are a concern where others failed on the base commit', () => {
    const reason = "With the result as it is, 1 test failed ('a: y'), and the command ended with exit code 0.";
    expect(told({ tests: failed('a: y') }, baselineOf(failed('a: x')))).toEqual([['tests_unknown', [reason]]]);
    expect(told({ tests: failed('a: x', 'a: y') }, baselineOf(failed('a: x')))).not.toEqual([]);
    expect(told({ tests: failed('a: x') })).not.toEqual([]);
  });

  it('are none where they failed there as well', () => {
    expect(told({ tests: failed('a: x') }, baselineOf(failed('a: x')))).toEqual([]);
    expect(told({ tests: failed('a: x') }, baselineOf(failed('a: w', 'a: x')))).toEqual([]);
    // Evidence from before names were kept.
    expect(told({ tests: { ...count, failed: 1 } }, baselineOf({ failed: 1 }))).toEqual([]);
  });
});

describe('tests that were changed while they ran', () => {
  const rewriting = (...rewritten: string[]) => ({ ...count, rewritten });

  it('are a concern, but for those that are changed on the base commit as well', () => {
    const before = baselineOf(rewriting('test/a.test.js'));
    const reason = 'With the result as it is, tests were changed while they ran: test/b.test.js.';
    expect(told({ tests: rewriting('test/a.test.js', 'test/b.test.js') }, before)).toEqual([
      ['tests_unknown', [reason]],
    ]);
    expect(told({ tests: rewriting('test/a.test.js') }, before)).toEqual([]);
  });
});

describe('what the code under test changed of its judge', () => {
  const replacing = (replaced: readonly string[]) => (replaced.length === 0 ? count : { ...count, replaced });
  const reasonsOf = (before: readonly string[], now: readonly string[]) =>
    told({ tests: replacing(now) }, baselineOf(replacing(before))).flatMap(([, reasons]) => reasons);

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

describe('runners that came to no end', () => {
  const open = (...unfinished: readonly string[]) => ({ ...count, finished: false, unfinished });
  const kinds = (tests: TestCount, before: Partial<TestCount> = {}) =>
    told({ tests }, baselineOf(before)).map(([kind]) => kind);

  it('are a concern', () => {
    expect(kinds(open('vitest'))).toEqual(['tests_unfinished']);
  });

  it('are none where the same came to no end on the base commit, with as many tests', () => {
    expect(kinds(open('vitest'), open('vitest'))).toEqual([]);
    expect(kinds({ ...open('vitest'), executed: 2 }, open('vitest'))).toEqual(['tests_unfinished', 'tests_fell']);
    expect(kinds(open('mocha', 'vitest'), open('vitest'))).toEqual(['tests_unfinished']);
  });
});

it('files that decide about the checks, and that the run changed, are a concern', () => {
  const reason = expect.stringMatching(/of its tests: a\.js, b\.js, c\.js and 1 more\.$/);
  expect(told({ doubtful: ['a.js', 'b.js', 'c.js', 'd.js'] })).toEqual([['tests_unknown', [reason]]]);
});

it.each([
  ['came to no end there', { command: { ...command, exitCode: null } }, 'they came to no end there'],
  ['could not be run there', { failure: 'The install step failed.' }, 'The install step failed.'],
])('tests that %s cannot be compared with', (_what, parts, why) => {
  const reason = `3 tests ran, and how many the base commit has is not known: ${why}`;
  expect(told({}, { ...baselineOf(), ...parts })).toEqual([['tests_unknown', [reason]]]);
});

it('tests are compared with those of the base commit that the checks ran themselves where nothing was known before', () => {
  const failed = { ...baselineOf(), failure: 'The install step failed.' };
  expect(told({ baseline: baselineOf({ executed: 2 }) }, failed)).toEqual([]);
});

it('says what the base commit had where no runner reported, or names the variable that a project sets itself', () => {
  const { tests: _, ...uncounted } = asIs({ commands: [{ ...command, output: '> NODE_OPTIONS=--x jest\n' }] });
  const [silent] = concernsOfTests(baselineOf(), [uncounted]);
  expect(silent?.items).toEqual([
    { reason: 'With the result as it is, no test runner reported anything, and on the base commit r ran 3 tests.' },
  ]);
  const { tests: __, ...before } = baselineOf();
  const [concern] = concernsOfTests(before, [uncounted]);
  expect(concern?.items.map(({ reason }) => reason).join('\n')).toContain('It sets NODE_OPTIONS itself');
});
