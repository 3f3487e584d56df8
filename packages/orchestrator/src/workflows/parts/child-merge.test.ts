/** The merge of a child run in a machine that has nothing else. */
import { assign, initialTransition, setup, transition } from 'xstate';
import { expect, it } from 'vitest';
import type { ChildIntegrated, ChildMerged } from '../../activities/git/merge-child.ts';
import type { Checked, RunHeader } from '../../activities/types.ts';
import { childMergeStates, type FailedAttempt, toChecks } from './child-merge.ts';
import { declared } from './declared-activities.ts';
import { checkInputOf, type CheckingContext, hasTests } from './evidence.ts';
import { pausesAt } from './pausing.ts';
import {
  CHILD_MERGE,
  type CheckedRunActivities,
  type CheckedRunConfig,
  type ChildMergeActivities,
} from './project-run.ts';

interface Context extends CheckingContext {
  readonly head: string;
  readonly integrated: ChildIntegrated | null;
  readonly came: readonly unknown[];
}

const header: RunHeader = { runId: 'r', projectId: 'p', request: 'Work', branch: 'b', startedAt: '' };
const failedAt = pausesAt('paused');

function machineOf(test: CheckingContext['test']) {
  return setup({
    types: { context: {} as Context },
    actors: declared<ChildMergeActivities & CheckedRunActivities<CheckedRunConfig>>()(...CHILD_MERGE, 'check'),
    actions: {
      keepChildMerge: assign((_, { integrated }: { integrated: ChildIntegrated }) => ({ integrated })),
      keepEvidence: (_, _params: { checked: Checked }) => undefined,
      rememberFailure: (_, _params: { stage: string; error: unknown }) => undefined,
      failAttempt: assign(({ context }, failed: FailedAttempt) => ({ came: [...context.came, failed] })),
      passAttempt: assign(({ context }, passed: { merged: ChildMerged }) => ({ came: [...context.came, passed] })),
    },
  }).createMachine({
    initial: 'integrating',
    context: {
      ...header,
      head: 'h',
      baseCommit: 'b',
      setup: null,
      test,
      excludePaths: [],
      config: { timeoutMinutes: { validation: 30 } },
      integrated: null,
      came: [],
    },
    states: {
      ...childMergeStates({
        childOf: () => 'child',
        mergeOf: ({ integrated }: Context) => integrated,
        checkInputOf,
        units: 'items',
        onIntegrated: toChecks(hasTests),
        failed: 'failed',
        passed: 'passed',
        onError: failedAt('implementation'),
        onCheckError: failedAt('validation'),
      }),
      failed: {},
      passed: {},
      paused: {},
    },
  });
}

const done = (id: string, output: object) => ({ type: `xstate.done.actor.${id}`, output, actorId: id });
const failed = (id: string, error: object) => ({ type: `xstate.error.actor.${id}`, error, actorId: id });
const made = (fastForward: boolean) => done('integrateChild', { commit: 'm', codeTree: 't', fastForward });
const checked = (passed: boolean) =>
  done('checkMerge', { passed, commands: [{ command: 'npm test', exitCode: passed ? 0 : 1, output: 'not ok 1' }] });
const moved = done('mergeChild', { commit: 'm', codeTree: 't' });
const NPM_TEST = { command: 'npm test', source: 'package.json' };

it.each([
  [
    'others have changed the same lines',
    NPM_TEST,
    [failed('integrateChild', { reason: 'merge_conflict', message: 'a.js' })],
    'failed',
  ],
  [
    'there is no room for the merge',
    NPM_TEST,
    [failed('integrateChild', { reason: 'storage_full', message: '' })],
    'paused',
  ],
  ['the merge is what the child was checked as', NPM_TEST, [made(true)], 'moving'],
  ['the project has no checks', null, [made(false)], 'moving'],
  ['the merge is other code', NPM_TEST, [made(false)], 'checking'],
  ['the checks pass on it', NPM_TEST, [made(false), checked(true)], 'moving'],
  ['the checks fail on it', NPM_TEST, [made(false), checked(false)], 'failed'],
  ['the checks cannot run', NPM_TEST, [made(false), failed('checkMerge', { reason: 'setup_failed' })], 'paused'],
  ['the branch has moved', NPM_TEST, [made(true), moved], 'passed'],
] as const)('where %s', (_, test, events, state) => {
  const machine = machineOf(test);
  let [snapshot] = initialTransition(machine);
  for (const event of events) [snapshot] = transition(machine, snapshot, event as never); // ends of activities
  expect(snapshot.value).toBe(state);
  expect(snapshot.context.came).toMatchObject(
    {
      failed: [
        events.length === 1
          ? { reason: 'merge_conflict', why: 'a.js' }
          : { reason: 'agent_failed', hint: expect.stringMatching(/^merged with the items before it, .*npm test/s) },
      ],
      passed: [{ merged: { commit: 'm', codeTree: 't' } }],
    }[state as string] ?? [],
  );
});
