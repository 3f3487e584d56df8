/** The progress log of a run's record, from the run's events. */
import type { WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import type { ItemStatus } from './backlog-table.ts';
import { progressFiles } from './progress-file.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 1, 2, 10, 0, second)).toISOString();

function changed(
  second: number,
  item: string,
  iteration: number | null,
  status: ItemStatus,
  reason = '',
): WorkflowEvent {
  return {
    id: `e-${second}`,
    workflowRunId: 'r-1',
    sequence: second,
    position: second,
    origin: 'emitted',
    type: 'ITEM_CHANGED',
    payload: { item, ...(iteration === null ? {} : { iteration }), status, reason },
    timestamp: at(second),
  };
}

const logOf = (...events: readonly WorkflowEvent[]): string | undefined =>
  progressFiles({ createdAt: at(0) }, events)['autopilot-progress.md'];

describe('progressFiles', () => {
  it('has no log before an attempt was begun', () => {
    expect(progressFiles({ createdAt: at(0) }, [])).toEqual({});
  });

  it('puts the end of an attempt below its beginning when another attempt was begun in between', () => {
    const log = logOf(
      changed(1, 'TECH-1', 1, 'in_progress'),
      changed(2, 'TECH-2', 2, 'in_progress'),
      changed(3, 'TECH-1', 1, 'in_progress', 'The checks are red'),
      changed(4, 'TECH-1', 3, 'in_progress'),
      changed(5, 'TECH-2', 2, 'done'),
      changed(6, 'TECH-1', 3, 'blocked', 'The checks are red'),
    );
    expect(log).toBe(`# Ralph Autopilot Progress
Started: ${at(0)}

## Iteration 1: TECH-1
Started: ${at(1)}
Exit code: 1
Status: in_progress
=== WARNING: TECH-1 still in_progress ===
May need manual review.
Completed: ${at(3)}

## Iteration 2: TECH-2
Started: ${at(2)}
Exit code: 0
Status: done
Completed: ${at(5)}

## Iteration 3: TECH-1
Started: ${at(4)}
Exit code: 1
Status: blocked
=== BLOCKED: TECH-1 ===
Human intervention required.
Completed: ${at(6)}
`);
  });

  it('names items that were blocked before an attempt, each in its place', () => {
    const log = logOf(
      changed(1, 'TECH-1', null, 'blocked', 'There is no docker'),
      changed(2, 'TECH-2', 1, 'in_progress'),
      changed(3, 'TECH-2', 1, 'done'),
      changed(4, 'TECH-3', null, 'blocked', 'There is no docker'),
    );
    expect(log?.split('\n').filter((line) => /TECH/.test(line))).toEqual([
      '=== BLOCKED: TECH-1 ===',
      '## Iteration 1: TECH-2',
      '=== BLOCKED: TECH-3 ===',
    ]);
  });

  it('leaves an attempt that is under way without an end, whatever ends after its beginning', () => {
    const log = logOf(
      changed(1, 'TECH-1', 1, 'in_progress'),
      changed(2, 'TECH-2', 2, 'in_progress'),
      changed(3, 'TECH-1', 1, 'done'),
    );
    expect(log?.endsWith(`Completed: ${at(3)}\n\n## Iteration 2: TECH-2\nStarted: ${at(2)}\n`)).toBe(true);
  });
});
