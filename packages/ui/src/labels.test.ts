import { COMMON_GATES, PAUSE_REASONS, RUN_STATUSES } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { aGate, aRun } from '@autonomous/shared/a-run.fixture';
import { gateLine, runTitle, splitRequest, stageTitle, statusLabel } from './labels.ts';

describe('statusLabel', () => {
  it('tells an attempt by its number, and one that its parent gave up by the cause', () => {
    const givenUp = { status: 'cancelled', failure: '1 of 4 tests\nfailed: adds\u202e' } as const;
    expect(statusLabel(aRun({ ...givenUp, attempt: { number: 1, of: 3 } }))).toBe(
      'Attempt 1 of 3 – 1 of 4 tests failed: adds⟨U+202E⟩',
    );
    expect(statusLabel(aRun({ attempt: { number: 1 } }))).toBe('Running');
    expect(statusLabel(aRun(givenUp))).toMatch(/^Cancelled: 1 of 4 tests failed/);
    expect(statusLabel(aRun({ status: 'cancelled', attempt: { number: 2 } }))).toBe('Attempt 2 – Cancelled');
    expect(statusLabel(aRun({ status: 'failed', failure: 'No such plan.' }))).toBe('Failed');
  });

  it('names every status', () => {
    for (const status of RUN_STATUSES) expect(statusLabel(aRun({ status }))).toMatch(/^[A-Z]/);
  });

  it('tells a run that completed with failures from one that completed', () => {
    expect(statusLabel(aRun({ status: 'completed' }))).toBe('Completed');
    expect(statusLabel(aRun({ status: 'completed', failures: ['F003 is skipped.'] }))).toBe('Completed with failures');
  });

  it('says the place of a run in the queue', () => {
    expect(statusLabel(aRun({ status: 'queued', queuePosition: 3 }))).toBe('Queued, place 3');
  });

  it('says a pause as its workflow names the gate', () => {
    const gates = {
      stuck: { title: 'Stuck step', waiting: 'Step is stuck', presents: 'message' },
      ...COMMON_GATES,
    } as const;
    const paused = (kind: string) => aRun({ status: 'paused', gate: aGate({ kind, reason: 'agent_failed' }) });
    expect(statusLabel(paused('stuck'), { gates })).toBe('Step is stuck');
    expect(statusLabel(paused('stuck'))).toBe('Paused: the agent failed');
    expect(statusLabel(paused('pause'), { gates })).toBe('Paused: the agent failed');
  });

  it('says why a run pauses, for every reason', () => {
    expect(statusLabel(aRun({ status: 'paused', gate: aGate({ kind: 'pause', reason: 'merge_conflict' }) }))).toBe(
      'Paused: merge conflict',
    );
    for (const reason of PAUSE_REASONS) {
      expect(statusLabel(aRun({ status: 'paused', gate: aGate({ kind: 'pause', reason }) }))).toMatch(/^Paused: [a-z]/);
    }
  });
});

describe('runTitle', () => {
  it('is the first line of the request', () => {
    expect(runTitle(aRun({ originalRequest: '\n Bell \r\n\nAdd `ring`.\n' }))).toBe('Bell');
    expect(splitRequest('\n Bell \r\n\nAdd `ring`.\n\nAnd a test.\n')).toEqual(['Bell', 'Add `ring`.\n\nAnd a test.']);
    expect(splitRequest('Bell')).toEqual(['Bell', '']);
    const long = `${'word '.repeat(40)}end`;
    expect(splitRequest(`${long}\nMore.`)).toEqual([`${'word '.repeat(32).trim()}…`, `${long}\nMore.`]);
    expect(splitRequest('x'.repeat(1_000))).toEqual([`${'x'.repeat(160)}…`, 'x'.repeat(1_000)]);
  });

  it('is the title of the workflow for a run without a request', () => {
    const run = aRun({ originalRequest: '' });
    expect(runTitle(run, { title: 'Invoice' })).toBe('Invoice');
    expect(runTitle(run)).toBe(run.workflow.name);
  });
});

describe('stageTitle', () => {
  it('turns the name of any stage into a title', () => {
    expect(stageTitle('planning')).toBe('Planning');
    expect(stageTitle('code_review')).toBe('Code review');
  });

  it('says that a run without a stage has not started', () => {
    expect(stageTitle(null)).toBe('Not started');
  });
});

describe('gateLine', () => {
  it('says the stage and what is asked', () => {
    expect(gateLine(aGate())).toBe('Planning: Approve the plan for a login page?');
  });

  it('shows the question of an agent', () => {
    const question = { question: 'Which database?', context: '', responseType: 'text' } as const;
    expect(gateLine(aGate({ kind: 'clarification', question }))).toBe('Planning: Which database?');
  });

  it('E06 lets no error of a model turn the order of its letters round', () => {
    const summary = 'Refused: \u001b[31mno\u202e credit <script>top.x=1</script>';
    expect(gateLine(aGate({ kind: 'pause', summary }))).toBe(
      'Planning: Refused: no⟨U+202E⟩ credit <script>top.x=1</script>',
    );
  });
});
