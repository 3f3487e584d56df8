/** The progress log of a backlog's loop. */
import { describe, expect, it } from 'vitest';
import { type ProgressEntry, withProgress } from './progress-log.ts';

const at = '2026-02-02T12:00:00.000+02:00';
const ENTRIES: readonly ProgressEntry[] = [
  { kind: 'run_started', at },
  { kind: 'iteration_started', iteration: 1, id: 'TECH-1', at },
  { kind: 'iteration_ended', id: 'TECH-1', exitCode: 0, status: 'done', at },
  { kind: 'iteration_started', iteration: 2, id: 'TECH-2', at },
  { kind: 'iteration_ended', id: 'TECH-2', exitCode: 0, status: 'in_progress', at },
  { kind: 'iteration_started', iteration: 3, id: 'TECH-2', at },
  { kind: 'iteration_ended', id: 'TECH-2', exitCode: 1, status: 'blocked', at },
];
const LOG = `# Ralph Autopilot Progress
Started: 2026-02-02T10:00:00.000Z

## Iteration 1: TECH-1
Started: 2026-02-02T10:00:00.000Z
Exit code: 0
Status: done
Completed: 2026-02-02T10:00:00.000Z

## Iteration 2: TECH-2
Started: 2026-02-02T10:00:00.000Z
Exit code: 0
Status: in_progress
=== WARNING: TECH-2 still in_progress ===
May need manual review.
Completed: 2026-02-02T10:00:00.000Z

## Iteration 3: TECH-2
Started: 2026-02-02T10:00:00.000Z
Exit code: 1
Status: blocked
=== BLOCKED: TECH-2 ===
Human intervention required.
Completed: 2026-02-02T10:00:00.000Z
`;
const written = (text: string | null, entries: readonly ProgressEntry[]) =>
  entries.reduce<string | null>(withProgress, text);

describe('withProgress', () => {
  it('writes a run from nothing and from an empty file', () => {
    expect(written(null, ENTRIES)).toBe(LOG);
    expect(written('\n', ENTRIES)).toBe(LOG);
    expect(written('\r\n', ENTRIES)).toBe(LOG.replaceAll('\n', '\r\n'));
  });

  it.each([
    [{ kind: 'all_complete' }, '\n=== ALL SPECS COMPLETE ===\n'],
    [{ kind: 'max_iterations' }, '\n=== MAX ITERATIONS REACHED ===\n'],
    [{ kind: 'blocked', id: 'TECH-3' }, '=== BLOCKED: TECH-3 ===\nHuman intervention required.\n'],
  ] as const)('ends a log with %j', (entry, end) => {
    expect(withProgress(LOG, entry)).toBe(`${LOG}${end}`);
    expect(withProgress(LOG.slice(0, -1), entry)).toBe(`${LOG}${end}`);
  });

  it('keeps earlier runs, and the line ends of the file', () => {
    expect(withProgress(LOG, { kind: 'run_started', at })).toBe(`${LOG}\n${LOG.split('\n', 2).join('\n')}\n`);
    expect(withProgress('Mine\r\n', { kind: 'all_complete' })).toBe('Mine\r\n\r\n=== ALL SPECS COMPLETE ===\r\n');
  });

  it('gives a heading to an entry that finds no log', () => {
    expect(withProgress(null, { kind: 'all_complete' })).toBe(
      '# Ralph Autopilot Progress\n\n=== ALL SPECS COMPLETE ===\n',
    );
  });

  it('refuses a time that is none', () => {
    expect(() => withProgress(null, { kind: 'run_started', at: 'today' })).toThrow(RangeError);
  });
});
