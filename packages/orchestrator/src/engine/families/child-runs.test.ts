/** Child runs that come from a record of others: whose results a parent takes. */
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { setup } from 'xstate';
import { childRun } from '../../core/child-runs.ts';
import { defineWorkflow } from '../../core/definition.ts';
import { createRegistry } from '../../core/registry.ts';
import { runIdOf } from '../../core/run-id.ts';
import { ChildRuns, type ChildRunsOptions } from './child-runs.ts';

const KEY = 'p/7/work';
const CHILD = runIdOf(KEY);

const child = defineWorkflow({
  name: 'child',
  version: 1,
  description: 'for tests',
  machine: setup({}).createMachine({
    id: 'child',
    initial: 'done',
    states: { done: { type: 'final', meta: { status: 'completed' } } },
  } as never) as never,
  signals: {},
});
const parent = defineWorkflow({
  name: 'parent',
  version: 1,
  description: 'for tests',
  machine: setup({ actors: { work: childRun('child') } }).createMachine({
    id: 'parent',
    initial: 'working',
    states: { working: { meta: { status: 'running' }, invoke: { id: 'work', src: 'work' } } },
  } as never) as never,
  signals: {},
});

/** Output that the parent `p` takes of a stored child run, or the error. */
async function takenFrom(ofChild: Partial<RunView>, ofParent: Partial<RunView>, since: readonly string[] = []) {
  const view = { id: CHILD, status: 'completed', parent: { runId: 'p', key: KEY, depth: 1 }, ...ofChild } as RunView;
  const store = {
    loadView: async () => view,
    readRun: async () => since.map((type) => ({ type }) as WorkflowEvent),
  };
  const options = {
    store,
    workflows: createRegistry([parent, child]),
    view: async () => ofParent,
    finished: async () => view,
    inspect: async () => ({ state: { snapshot: { output: 'the result' } } }),
  } as unknown as ChildRunsOptions;
  const activity = new ChildRuns(options).activityOf('parent', 'work');
  const context = { runId: 'p', key: KEY, activity: 'work', signal: new AbortController().signal };
  return activity?.perform({}, context as never).then(
    (outcome) => (outcome as { readonly output?: unknown }).output,
    (error: unknown) => String(error),
  );
}

it('a parent takes the result of a child run that had ended in a record only where its own pause has shown it', async () => {
  const refusal = expect.stringContaining('nobody has seen what it brings, and it is not taken');
  const ended = { rebuiltUpTo: 9 };
  // Launched here; paused before it asked; paused while it waited.
  expect(await takenFrom(ended, {})).toEqual(refusal);
  expect(await takenFrom(ended, { rebuiltUpTo: 7 })).toEqual(refusal);
  expect(await takenFrom(ended, { rebuiltUpTo: 8 })).toBe('the result');
  // It ended here after a person had it go on, or was never in a record.
  expect(await takenFrom(ended, {}, ['RUN_RESUMED', 'RUN_COMPLETED'])).toBe('the result');
  expect(await takenFrom({}, {})).toBe('the result');
});
