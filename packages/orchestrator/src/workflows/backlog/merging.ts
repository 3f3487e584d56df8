/** Merges the result of an item into the run's branch. The merged tree is checked before the branch moves. */
import type { ChildIntegrated } from '../../activities/git/merge-child.ts';
import { childMergeStates, toChecks } from '../parts/child-merge.ts';
import { checkInputOf, hasTests } from '../parts/evidence.ts';
import { backlogSetup, failedAt } from './setup.ts';
import type { BacklogContext } from './types.ts';

type Merge = { readonly context: BacklogContext; readonly event: { readonly output: ChildIntegrated } };

export const merging = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'integrating',
  states: childMergeStates({
    childOf: ({ judged }: BacklogContext) => judged?.childId ?? '',
    mergeOf: ({ judged }) => judged?.integrated ?? null,
    checkInputOf,
    units: 'items',
    onIntegrated: [
      {
        guard: ({ context, event }: Merge) => event.output.codeTree === context.codeTree,
        target: '#backlog.active.setting',
        actions: 'failUnchanged',
      },
      ...toChecks(hasTests),
    ],
    failed: '#backlog.active.setting',
    passed: '#backlog.active.choosing',
    onError: failedAt('implementation'),
    onCheckError: failedAt('validation'),
  }),
});
