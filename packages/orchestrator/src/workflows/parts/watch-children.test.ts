import type { Gate, RunView } from '@autonomous/shared';
import { aRun, redEvidence } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ChildSteps } from '../../activities/child-steps.ts';
import type { ActivityContext } from '../../core/activity.ts';
import { restedAt, watchChildren } from './watch-children.ts';

const auto = { planning: 'auto', implementation: 'auto', fixes: 'auto' } as const;

function waitingAt(gate: Partial<Gate>, trustMode: RunView['config']['trustMode'] = auto, id = 'child'): RunView {
  const run = aRun();
  const opened = { id: `${id}.7`, kind: 'plan', summary: 'Look.', details: {}, decisions: [], ...gate };
  // As much of a gate as is read here.
  return {
    ...run,
    id,
    parent: { runId: 'r', key: 'r/12/item-2', depth: 1 },
    config: { ...run.config, trustMode },
    gate: opened as Gate,
  };
}

it('tells an attempt at the end of its means from a question to a person', () => {
  const noChange = {
    kind: 'implementation',
    concerns: [{ kind: 'no_change', title: '', items: [], hash: 'h' }],
  } as const;
  const red = { kind: 'fix', summary: 'Checks failed', details: {} };
  expect(restedAt(waitingAt(red))).toEqual({ gate: 'child.7', kind: 'unfinished', why: 'Checks failed' });
  expect(restedAt(waitingAt(red, { ...auto, fixes: 'manual' }))?.kind).toBe('asks');
  expect(restedAt(waitingAt(noChange))?.kind).toBe('untouched');
  expect(restedAt(waitingAt(noChange, { ...auto, implementation: 'manual' }))?.kind).toBe('asks');
  for (const kind of ['plan', 'clarification', 'pause', 'implementation'])
    expect(restedAt(waitingAt({ kind }))?.kind).toBe('asks');
  expect(restedAt({ ...waitingAt({}), gate: null })).toBeNull();
  expect(restedAt(undefined)).toBeNull();
  expect(restedAt(waitingAt({ kind: 'pause', details: { resumesInMs: 60_000 } }))).toBeNull();
});

it('tells an attempt by the failed tests, and hints at nothing that the server has written for a person', () => {
  const concerns = [{ kind: 'memory' as const, title: 'What the run adds to the memory', items: [], hash: 'h' }];
  const gate = {
    kind: 'fix',
    codeTree: 't',
    summary: 'The checks failed: `npm test`',
    concerns,
    details: { from: 'checks', feedback: 'On the base commit the checks passed.', report: 'docs/report.md' },
  };
  const restAt = (more: Partial<Gate>, mode = auto as RunView['config']['trustMode']) =>
    restedAt({ ...waitingAt({ ...gate, ...more }, mode), evidence: [redEvidence()] }, { nobodyAnswers: true });
  expect(restAt({})).toEqual({
    gate: 'child.7',
    kind: 'unfinished',
    why: '1 of 4 tests failed: adds',
    hint: '1 of 4 tests failed: adds\n\n$ npm test\nnot ok 1 - adds',
  });
  expect(restAt({}, { ...auto, fixes: 'manual' })).toMatchObject({ kind: 'asks', why: '1 of 4 tests failed: adds' });
  const timeout = {
    kind: 'pause',
    reason: 'timeout',
    summary: 'It took longer. Extend it.',
    codeTree: 'other',
  } as const;
  expect(restAt({ ...timeout, details: {} })).toEqual({
    gate: 'child.7',
    kind: 'unfinished',
    why: 'time limit reached: It took longer. Extend it.',
  });
  // The words of the agent that reviews.
  const review = { codeTree: 'other', summary: 'Not as planned.', details: { from: 'review', feedback: 'Once more.' } };
  expect(restAt(review)).toMatchObject({ why: 'Not as planned.', hint: 'Not as planned.\nOnce more.' });
});

it('tells an attempt that nobody looks after by what it came to: a failure of its own ends it, a limit of others does not', () => {
  const kindAt = (gate: Partial<Gate>) => restedAt(waitingAt(gate), { nobodyAnswers: true })?.kind;
  for (const kind of ['clarification', 'escalation']) expect(kindAt({ kind })).toBe('unfinished');
  for (const reason of ['agent_failed', 'stalled', 'timeout'] as const)
    expect(kindAt({ kind: 'pause', reason })).toBe('unfinished');
  for (const reason of ['budget', 'setup_failed', 'model_unavailable', 'poisoned'] as const)
    expect(kindAt({ kind: 'pause', reason })).toBe('asks');
  expect(kindAt({ kind: 'implementation' })).toBe('asks');
});

it('tells a question about one result, beside which others go on, from one that concerns them all', () => {
  const restAt = (gate: Partial<Gate>, trustMode: RunView['config']['trustMode'] = auto) =>
    restedAt(waitingAt(gate, trustMode), { nobodyAnswers: true });
  const concerns = [{ kind: 'runs_code' as const, title: 'A dependency is new', items: [], hash: 'h' }];
  expect(restAt({ kind: 'implementation', concerns })).toMatchObject({
    kind: 'asks',
    ofResult: true,
    why: 'Look.: A dependency is new',
  });
  // With `--review` a person wants to see each result before the next one.
  expect(restAt({ kind: 'implementation' }, { ...auto, implementation: 'manual' })).not.toHaveProperty('ofResult');
  for (const reason of ['review_needed', 'secret_found'] as const)
    expect(restAt({ kind: 'pause', reason })).toHaveProperty('ofResult', true);
  // An install step that fails on what is merged already would hold up each of them.
  for (const reason of ['budget', 'setup_failed', 'model_unavailable', 'held', 'poisoned'] as const)
    expect(restAt({ kind: 'pause', reason })).not.toHaveProperty('ofResult');
});

const HEADER = { runId: 'r', projectId: 'p', request: 'Work', branch: 'b', startedAt: '' };

it('resolves with an attempt that waits at a gate that nobody was told of', async () => {
  const children: RunView[] = [{ ...waitingAt({}), gate: null }];
  const childSteps = new ChildSteps();
  const watch = watchChildren({ childRuns: async () => children, childSteps });
  const context = { signal: AbortSignal.timeout(20_000) } as unknown as ActivityContext; // the part that is read
  const rested = watch.perform(
    {
      ...HEADER,
      open: [
        { actor: 'item-1', seen: null },
        { actor: 'item-2', seen: 'child.7' },
      ],
    },
    context,
  );
  const steps = (view: RunView): void => {
    children.splice(0, 1, view);
    childSteps.note(view);
  };
  steps(waitingAt({}));
  await nextTurn();
  steps({ ...waitingAt({}), gate: null });
  steps(waitingAt({ id: 'child.12' }));
  expect(await rested).toMatchObject({ actor: 'item-2', gate: 'child.12' });
});

it('passes over an attempt that has ended, whatever gate its record says', async () => {
  const children: RunView[] = [{ ...waitingAt({ id: 'forged.9' }, auto, 'forged'), status: 'failed' }, waitingAt({})];
  const watch = watchChildren({ childRuns: async () => children, childSteps: new ChildSteps() });
  const context = { signal: AbortSignal.timeout(20_000) } as unknown as ActivityContext; // the part that is read
  expect(await watch.perform({ ...HEADER, open: [{ actor: 'item-2', seen: null }] }, context)).toMatchObject({
    gate: 'child.7',
  });
});

it('stops watching when it is aborted', async () => {
  const end = new AbortController();
  const watch = watchChildren({ childRuns: async () => [], childSteps: new ChildSteps() });
  const watching = watch.perform({ ...HEADER, open: [{ actor: 'item-1', seen: null }] }, {
    signal: end.signal,
  } as unknown as ActivityContext); // the part that is read
  await nextTurn();
  end.abort(new Error('The run goes on.'));
  await expect(watching).rejects.toThrow('The run goes on.');
});
