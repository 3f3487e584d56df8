/** A workflow of attempts, driven by its pure step. */
import type { JsonObject } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { assign } from 'xstate';
import { z } from 'zod';
import { faultsOf } from './complete-workflow.ts';
import { driveAttempts, type DrivenAttempts } from './driven-attempts.ts';
import { attemptFailedAt, type AttemptRun, type AttemptRunContext, attemptWorkflow } from './attempt-run.ts';
import { approvalGate } from './parts/gate.ts';

const input = z.strictObject({ ids: z.array(z.string()) });
type Piece = { readonly id: string; readonly title: string };
type Own = { readonly left: readonly Piece[]; readonly ends: readonly string[] };
type Example = AttemptRun<typeof input, Own, Piece>;

const example = (change: Partial<Example> = {}): Example => ({
  name: 'pieces',
  description: 'for tests',
  input,
  units: 'pieces',
  begin: ({ ids }) => ({ left: ids.map((id) => ({ id, title: id.toUpperCase() })), ends: [] }),
  next: ({ own, underWay }) => own.left.find(({ id }) => underWay.every((unit) => unit.id !== id)),
  request: ({ own }, { title }) => [`Make ${title}.`, ...own.ends].join('\n'),
  settle: ({ own }, { id }, end) => ({
    left: own.left.filter((unit) => unit.id !== id),
    ends: [...own.ends, `${id} ${end.kind}${end.kind === 'merged' ? '' : `: ${end.why}`}`],
  }),
  left: ({ left }) => left.length,
  ...change,
});

const begun = (ids: readonly string[], change: Partial<Example> = {}): DrivenAttempts =>
  driveAttempts(attemptWorkflow(example(change)), { request: 'Make them all', input: { ids: [...ids] } }).prepared();
const merge = (fastForward = true): JsonObject => ({ commit: 'c-merge', codeTree: 't-merge', fastForward });
const redChecks: JsonObject = {
  mode: 'as_is',
  codeTree: 't',
  commit: 'm-1',
  passed: false,
  restored: [],
  sandbox: 'bubblewrap',
  commands: [{ command: 'npm test', exitCode: 1, durationMs: 1, output: 'not ok', isTruncated: false }],
};
const contextOf = ({ context }: DrivenAttempts) => context as unknown as { own: Own; head: string };
const RED = '2 of 4 tests failed: adds';

it('is a workflow without a fault', () => {
  expect(faultsOf(attemptWorkflow(example()))).toEqual([]);
});

it('begins each unit on top of those before it, and publishes the whole', () => {
  const run = begun(['a', 'b']);
  expect([run.open, run.requestOf(1)]).toEqual([['attempt-1', 'watchAttempts'], 'Make A.']);
  run.merged(1);
  expect([contextOf(run).head, run.requestOf(2)]).toEqual(['merged-1', 'Make B.\na merged']);
  expect([run.view?.headCommit, run.view?.codeTree]).toEqual(['merged-1', 'merged-tree-1']);
  expect(run.view?.progress).toEqual({ done: 1, total: 2 });
  run.merged(2).checked().published();
  expect(run.view).toMatchObject({ status: 'completed', progress: { done: 2, total: 2 } });
});

it.each([
  ['came to nothing', (run: DrivenAttempts) => run.failed(1, RED), RED],
  ['changed nothing', (run: DrivenAttempts) => run.unchanged(1), 'the agent changed no file'],
  ['was cancelled', (run: DrivenAttempts) => run.fail('attempt-1', 'agent_failed', 'Cancelled.'), 'Cancelled.'],
  [
    'conflicts with what is merged',
    (run: DrivenAttempts) => run.completed(1).fail('integrateChild', 'merge_conflict', 'a.js conflicts'),
    'a.js conflicts',
  ],
  [
    'is red once it is merged',
    (run: DrivenAttempts) => run.completed(1).ended('integrateChild', merge(false)).ended('checkMerge', redChecks),
    'merged with the pieces before it, `npm test` (exit code 1)',
  ],
])('tells the workflow why an attempt that %s has failed, and moves nothing', (_, fail, why) => {
  const run = begun(['a', 'b']);
  fail(run);
  expect(run.view?.codeTree).toBeUndefined();
  expect(contextOf(run)).toMatchObject({ head: 'base', own: { ends: [expect.stringContaining(why)] } });
  expect(run.open).toContain('attempt-2');
  expect(run.types).toContain('ATTEMPT_CHANGED');
});

it('tells the workflow that somebody cancelled an attempt', () => {
  const seen: (true | undefined)[] = [];
  const run = begun(['a', 'b', 'c'], {
    settle: ({ own }, { id }, end) => {
      seen.push(end.kind === 'merged' ? undefined : end.isCancelled);
      return { ...own, left: own.left.filter((unit) => unit.id !== id) };
    },
  });
  run.fail('attempt-1', 'agent_failed', "Child run child-1 of workflow 'build' was cancelled by ada: No.");
  run.fail('attempt-2', 'agent_failed', "Child run child-2 of workflow 'build' failed: it was cancelled.").merged(3);
  // Each step is taken twice.
  expect([...new Set(seen.slice(0, 2)), ...new Set(seen.slice(2))]).toEqual([true, undefined]);
});

it('counts the attempts at each unit', () => {
  const again: Example['settle'] = ({ own }, { id }, end) => ({
    ...own,
    left: end.kind === 'merged' ? own.left.filter((unit) => unit.id !== id) : own.left,
  });
  const run = begun(['a', 'b'], { settle: again }).failed(1, RED);
  expect(run.inputOf('attempt-2')['attempt']).toEqual({ number: 2 });
  expect(run.merged(2).inputOf('attempt-3')['attempt']).toEqual({ number: 1 });
});

it('has as many child runs at once as the workflow says, and goes on while one waits for a person', () => {
  const run = begun(['a', 'b', 'c'], { atOnce: () => 2 });
  expect(run.open).toEqual(['attempt-1', 'attempt-2', 'watchAttempts']);
  run.asks(1, 'Review the result');
  expect(run.input).toMatchObject({ open: [{ actor: 'attempt-1', seen: 'child-1.9' }, { actor: 'attempt-2' }] });
  run.merged(2);
  expect(run.open).toEqual(['attempt-1', 'attempt-3', 'watchAttempts']);
});

it('keeps an end that comes while it is paused, and judges it once', () => {
  const run = begun(['a', 'b'], { atOnce: () => 2 });
  run.completed(1).fail('integrateChild', 'storage_full', 'The disk is full.');
  expect(run.gate).toBe('pause');
  run.completed(2).send('RETRY_REQUESTED', { by: 'me' });
  run.ended('integrateChild', merge()).ended('mergeChild', { commit: 'm-1', codeTree: 't' });
  run.ended('integrateChild', merge()).ended('mergeChild', { commit: 'm-2', codeTree: 't' });
  expect(contextOf(run).own.ends).toEqual(['a merged', 'b merged']);
});

it('shows a person a result that lacks something, and ends without one where nothing is merged', () => {
  const failures = (own: Own) => own.ends.filter((end) => !end.endsWith('merged'));
  const partly = begun(['a', 'b'], { failures });
  partly.merged(1).failed(2, RED);
  expect(partly.checked().view?.gate).toMatchObject({
    kind: 'result',
    summary: '1 pieces merged, 1 not done. Publish the result?',
  });
  const nothing = begun(['a'], { failures }).failed(1, RED);
  expect(nothing.events.at(-1)).toMatchObject({
    type: 'RUN_COMPLETED',
    payload: { summary: 'No pieces merged.', failures: ['a failed: 2 of 4 tests failed: adds'] },
  });
});

it('begins no more attempts than it may', () => {
  const run = begun(['a', 'b'], { mostAttempts: 1 }).merged(1);
  expect(run.open).toEqual(['checkAsIs']);
});

it('ends with a failure where attempts came to nothing, whatever its author says of them, and without one where there was no unit', () => {
  expect(begun(['a']).failed(1, RED).events.at(-1)?.payload['failures']).toEqual(['No attempt of 1 was merged']);
  expect(begun([]).events.at(-1)).toMatchObject({ type: 'RUN_COMPLETED', payload: { summary: 'No pieces merged.' } });
  expect(begun([]).events.at(-1)?.payload['failures'] ?? []).toEqual([]);
});

it('has states of its own after the last attempt, which may lead back to another one', () => {
  const gate = (part: string) =>
    approvalGate<AttemptRunContext<{ ids: string[] }, Own, Piece>>({
      stage: 'implementation',
      kind: part,
      decisions: ['approve', 'reject'],
      summary: () => 'As wanted?',
      shows: ({ codeTree }) => ({ codeTree }),
    });
  const run = begun(['a'], {
    gates: { first: { title: 'First', presents: 'message' }, last: { title: 'Last', presents: 'changes' } },
    before: (base) => {
      const setup = base.extend({ guards: { isFirst: () => true } });
      const asking = setup.createStateConfig({
        meta: gate('first'),
        on: { APPROVAL_GRANTED: { guard: 'isFirst', target: 'choosing' } },
      });
      return { setup, initial: 'asking', states: { asking } };
    },
    after: (base) => {
      const setup = base.extend({
        actions: {
          addOne: assign(({ context: { own } }) => ({ own: { ...own, left: [{ id: 'b', title: 'B' }] } })),
        },
      });
      const looking = setup.createStateConfig({
        meta: gate('last'),
        on: { APPROVAL_GRANTED: 'validation', APPROVAL_REJECTED: { target: 'choosing', actions: 'addOne' } },
      });
      return { setup, initial: 'looking', states: { looking } };
    },
  });
  run.send('APPROVAL_GRANTED', { by: 'me' }).merged(1);
  expect(run.view?.gate).toMatchObject({ kind: 'last', codeTree: 'merged-tree-1' });
  run.send('APPROVAL_REJECTED', { by: 'me', feedback: 'B, too.' }).merged(2);
  run.send('APPROVAL_GRANTED', { by: 'me', codeTree: 'merged-tree-2' }).checked().published();
  expect(run.view).toMatchObject({ status: 'completed', progress: { done: 2, total: 2 } });
});

it('refuses a state of its own that is called like one of the loop', () => {
  const before = (setup: never) => ({ setup, initial: 'judging', states: { judging: {} } }) as never;
  expect(() => attemptWorkflow(example({ before: before as never }))).toThrow(
    "Workflow 'pieces': 'before' has the state 'judging', which every workflow of attempts has (preparing, choosing,",
  );
  const asking: NonNullable<Example['before']> = (setup) => ({ setup, initial: 'asking', states: { asking: {} } });
  expect(() => attemptWorkflow(example({ before: asking, after: asking }))).toThrow(
    "'after' has the state 'asking', which 'before' has; name it otherwise.",
  );
});

it('has states of its own before the first attempt', () => {
  const run = begun(['a'], {
    gates: { list: { title: 'List', presents: 'message' } },
    before: (setup) => ({
      setup,
      initial: 'asking',
      states: {
        asking: setup.createStateConfig({
          meta: approvalGate<AttemptRunContext<{ ids: string[] }, Own, Piece>>({
            stage: 'planning',
            kind: 'list',
            decisions: ['approve'],
            summary: ({ own }) => `Make ${own.left.length}?`,
            shows: () => ({}),
          }),
          on: { APPROVAL_GRANTED: 'looking' },
        }),
        looking: setup.createStateConfig({
          meta: { status: 'running', stage: 'planning' },
          invoke: {
            id: 'look',
            src: 'findConcerns',
            input: ({ context }: { readonly context: AttemptRunContext<{ ids: string[] }, Own, Piece> }) => ({
              ...context,
              head: 'b',
            }),
            onDone: 'choosing',
            onError: attemptFailedAt('planning'),
          },
        }),
      },
    }),
  });
  expect(run.view?.gate).toMatchObject({ kind: 'list', summary: 'Make 1?' });
  run.send('APPROVAL_GRANTED', { by: 'me' }).ended('look', { concerns: [] });
  expect(run.open).toContain('attempt-1');
});
