/**
 * The machine of `two-changes`: an agent splits the request, a person approves the split, two child runs of `build` make the
 * changes one after the other, and the result is checked, pushed, and merged where the configuration says so.
 */
import {
  activity,
  approvalGate,
  approves,
  type BaselineInput,
  budgetActions,
  callActions,
  callEnded,
  type CheckInput,
  type ChildMerged,
  childRun,
  type ChildRequest,
  choosingState,
  clockActions,
  clockDelays,
  clockTo,
  type DecisionSignal,
  headerOf,
  type MergeChildInput,
  mergingState,
  noteFeedback,
  notingActions,
  pausedState,
  pausesAt,
  pausingActions,
  pausingDelays,
  pausingGuards,
  publishingActions,
  publishingGuards,
  pushingState,
  type RunFact,
  type Shown,
  type StateMeta,
  takenEverywhere,
} from '@autonomous/orchestrator/workflow';
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { Activities, Context, Input } from './types.ts';

type In<Name extends keyof Activities> = Activities[Name]['input'];
type Out<Name extends keyof Activities> = Activities[Name]['output'];

const CHANGES = 2;

const failed = pausesAt('#two-changes.paused');
const clock = clockTo('#two-changes.paused');

const titleOf = ({ split, request }: Context): string => split?.title ?? request.slice(0, 80);

/** The request of the next child run: one change, with the name of the other, which it leaves alone. */
function changeRequest({ split, done }: Context): ChildRequest {
  const change = split?.changes[done];
  if (change === undefined) throw new Error(`the split has no change ${done + 1}`);
  const other = split?.changes[1 - done]?.title ?? '';
  const place = done === 0 ? `Another run builds '${other}' afterwards` : `An earlier run has built '${other}'`;
  return { title: change.title, request: `${change.title}\n\n${change.request}\n\n${place}: leave that as it is.` };
}

const mergeChildInput = (context: Context): MergeChildInput => ({
  ...headerOf(context),
  head: context.head,
  childId: context.childId,
});

const baselineInput = (context: Context): BaselineInput => ({
  ...headerOf(context),
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.building,
});

const checkInput = (context: Context): CheckInput => ({
  ...baselineInput(context),
  mode: 'as_is',
  commit: context.integrated?.commit ?? context.head,
});

/** The document that an approval has to name. */
const shownSplit = ({ document }: Context): Shown => ({ artifactHash: document?.hash });

/** Types, activities, and what the parts bring. */
const withParts = setup({
  types: {
    context: {} as Context,
    input: {} as Input,
    events: {} as DecisionSignal,
    emitted: {} as RunFact,
    meta: {} as StateMeta<Context>,
  },
  actors: {
    prepare: activity<In<'prepare'>, Out<'prepare'>>(),
    baseline: activity<In<'baseline'>, Out<'baseline'>>(),
    survey: activity<In<'survey'>, Out<'survey'>>(),
    writeSplit: activity<In<'writeSplit'>, Out<'writeSplit'>>(),
    buildChange: childRun('build'),
    integrateChild: activity<In<'integrateChild'>, Out<'integrateChild'>>(),
    check: activity<In<'check'>, Out<'check'>>(),
    mergeChild: activity<In<'mergeChild'>, Out<'mergeChild'>>(),
    pushBranch: activity<In<'pushBranch'>, Out<'pushBranch'>>(),
    merge: activity<In<'merge'>, Out<'merge'>>(),
  },
  delays: { ...clockDelays(['survey']), ...pausingDelays },
  guards: {
    ...pausingGuards,
    ...publishingGuards,
  },
  actions: {
    ...budgetActions<Context, DecisionSignal>(),
    ...callActions<Context, DecisionSignal>(),
    ...clockActions<Context, DecisionSignal>(),
    ...notingActions<Context, DecisionSignal>(),
    ...pausingActions<Context, DecisionSignal>(),
    ...publishingActions<Context, DecisionSignal>(),
  },
});

export const machine = withParts
  .extend({
    guards: {
      splitIsTrusted: ({ context }) => context.config.trustMode.split === 'auto',
      namesTheSplit: approves(shownSplit),
      isAnotherChangeLeft: ({ context }) => context.done + 1 < CHANGES,
    },
    actions: {
      keepChange: enqueueActions(({ enqueue, context }, { commit, codeTree }: ChildMerged) => {
        const done = context.done + 1;
        enqueue.assign({ head: commit, codeTree, done, childId: '', integrated: null });
        enqueue.emit({
          type: 'ARTIFACT_CREATED',
          artifact: {
            stage: 'building',
            type: 'code',
            commitSha: commit,
            hash: codeTree,
            version: done,
            scripted: context.scripted,
          },
        });
      }),
      reportProgress: emit(({ context }) => ({ type: 'PROGRESS_CHANGED', done: context.done, total: CHANGES })),
    },
  })
  .createMachine({
    id: 'two-changes',
    initial: 'active',
    context: ({ input }) => ({
      runId: input.runId,
      projectId: input.projectId,
      request: input.request,
      branch: input.branch,
      startedAt: input.startedAt,
      config: input.config,
      requestedConfig: input.requestedConfig,
      notes: [],
      calls: {},
      paused: null,
      baseCommit: '',
      head: '',
      excludePaths: [],
      setup: null,
      test: null,
      split: null,
      scripted: false,
      document: null,
      documentVersion: 0,
      done: 0,
      childId: '',
      integrated: null,
      codeTree: null,
      published: null,
      merged: false,
    }),
    on: takenEverywhere('.cancelled'),
    states: {
      active: {
        initial: 'preparing',
        states: {
          preparing: {
            meta: { status: 'running', stage: 'survey' },
            invoke: {
              id: 'prepare',
              src: 'prepare',
              input: ({ context }) => ({ ...headerOf(context), requestedConfig: context.requestedConfig }),
              onDone: [
                {
                  guard: ({ event }) => (event.output.test?.command ?? '') !== '',
                  target: 'measuring',
                  actions: [
                    assign(({ event: { output } }) => ({
                      baseCommit: output.baseCommit,
                      head: output.baseCommit,
                      config: output.config,
                      excludePaths: output.excludePaths,
                      setup: output.setup,
                      test: output.test,
                    })),
                    emit(({ event: { output } }) => ({
                      type: 'RUN_CONFIGURED',
                      config: output.config,
                      baseCommit: output.baseCommit,
                      notices: output.notices,
                    })),
                  ],
                },
                // The result of both changes has to be checked: without a command there is nothing to check it with.
                {
                  target: '#two-changes.paused',
                  actions: assign({
                    paused: {
                      reason: 'setup_failed',
                      stage: 'survey',
                      message:
                        "No test command is known. Name one as 'defaultRunConfig.commands.test' in .autonomous/config.json of the base branch, then retry.",
                    },
                  }),
                },
              ],
              onError: failed('survey'),
            },
          },

          // The project's tests before any change: the result of both is compared with them.
          measuring: {
            meta: { status: 'running', stage: 'survey' },
            invoke: {
              id: 'baseline',
              src: 'baseline',
              input: ({ context }) => baselineInput(context),
              onDone: {
                target: 'surveying',
                actions: enqueueActions(({ enqueue, event }) => {
                  if (event.output !== null) enqueue.emit({ type: 'BASELINE_RECORDED', ...event.output });
                }),
              },
              onError: failed('survey'),
            },
          },

          surveying: {
            type: 'parallel',
            meta: { status: 'running', stage: 'survey' },
            states: {
              work: {
                initial: 'calling',
                states: {
                  calling: {
                    invoke: {
                      id: 'surveyor',
                      src: 'survey',
                      input: ({ context }) => ({
                        ...headerOf(context),
                        config: context.config,
                        head: context.head,
                        baseCommit: context.baseCommit,
                        excludePaths: context.excludePaths,
                        notes: context.notes,
                        call: (context.calls['surveyor'] ?? 0) + 1,
                      }),
                      onDone: {
                        target: 'writing',
                        actions: [
                          ...callEnded('surveyor'),
                          assign({
                            split: ({ event }) => event.output.split,
                            scripted: ({ event }) => event.output.cost.scripted,
                          }),
                        ],
                      },
                      onError: failed('survey'),
                    },
                  },
                  writing: {
                    invoke: {
                      id: 'writeSplit',
                      src: 'writeSplit',
                      input: ({ context }) => {
                        if (context.split === null) throw new Error('there is no split');
                        return { ...headerOf(context), head: context.head, split: context.split };
                      },
                      onDone: {
                        target: '#two-changes.active.deciding',
                        actions: enqueueActions(({ enqueue, context, event: { output } }) => {
                          const version = context.documentVersion + 1;
                          enqueue.assign({ document: output, documentVersion: version, head: output.commit });
                          enqueue.emit({
                            type: 'ARTIFACT_CREATED',
                            artifact: {
                              stage: 'survey',
                              type: 'split',
                              gitPath: output.path,
                              commitSha: output.commit,
                              hash: output.hash,
                              version,
                              scripted: context.scripted,
                            },
                          });
                        }),
                      },
                      onError: failed('survey'),
                    },
                  },
                },
              },
              clock: clock('survey'),
            },
          },

          deciding: {
            always: [{ guard: 'splitIsTrusted', target: 'building' }, { target: 'awaitingApproval' }],
          },

          awaitingApproval: {
            meta: approvalGate<Context>({
              stage: 'survey',
              kind: 'split',
              decisions: ['approve', 'reject'],
              summary: (context) => `Build '${titleOf(context)}' as two changes?`,
              shows: shownSplit,
              details: ({ split }) => ({ changes: (split?.changes ?? []).map(({ title }) => title) }),
            }),
            on: {
              APPROVAL_GRANTED: { guard: 'namesTheSplit', target: 'building' },
              APPROVAL_REJECTED: { target: 'surveying', actions: noteFeedback },
            },
          },

          building: {
            meta: { status: 'running', stage: 'building' },
            entry: 'reportProgress',
            invoke: {
              id: 'buildChange',
              src: 'buildChange',
              input: ({ context }) => changeRequest(context),
              onDone: { target: 'integrating', actions: assign({ childId: ({ event }) => event.output.runId }) },
              onError: failed('building'),
            },
          },

          // The merge is computed and checked before the run's branch moves.
          integrating: {
            meta: { status: 'running', stage: 'building' },
            invoke: {
              id: 'integrateChild',
              src: 'integrateChild',
              input: ({ context }) => mergeChildInput(context),
              onDone: { target: 'checking', actions: assign({ integrated: ({ event }) => event.output }) },
              onError: failed('building'),
            },
          },

          checking: {
            meta: { status: 'running', stage: 'building' },
            invoke: {
              id: 'check',
              src: 'check',
              input: ({ context }) => checkInput(context),
              onDone: [
                {
                  guard: ({ event }) => event.output.passed,
                  target: 'merging',
                  actions: emit(({ event }) => ({ type: 'EVIDENCE_RECORDED', ...event.output })),
                },
                {
                  target: '#two-changes.paused',
                  actions: [
                    emit(({ event }) => ({ type: 'EVIDENCE_RECORDED', ...event.output })),
                    assign({
                      paused: ({ context }) => ({
                        reason: 'setup_failed',
                        stage: 'building',
                        message: `The checks failed with change ${context.done + 1} merged. Retry runs them again; else cancel the run.`,
                      }),
                    }),
                  ],
                },
              ],
              onError: failed('building'),
            },
          },

          merging: {
            meta: { status: 'running', stage: 'building' },
            invoke: {
              id: 'mergeChild',
              src: 'mergeChild',
              input: ({ context }) => mergeChildInput(context),
              onDone: [
                {
                  guard: 'isAnotherChangeLeft',
                  target: 'building',
                  actions: { type: 'keepChange', params: ({ event }) => event.output },
                },
                { target: 'publishing', actions: { type: 'keepChange', params: ({ event }) => event.output } },
              ],
              onError: failed('building'),
            },
          },

          publishing: {
            meta: { status: 'running', stage: 'publishing' },
            entry: 'reportProgress',
            initial: 'pushing',
            states: {
              pushing: pushingState('choosing', failed('publishing')),
              choosing: choosingState('merging', '#two-changes.completed'),
              merging: mergingState({
                title: titleOf,
                done: '#two-changes.completed',
                // The base has moved since the changes were checked: the pushed branch is left to a person.
                again: '#two-changes.completed',
                onError: failed('publishing'),
              }),
            },
          },

          last: { type: 'history', history: 'deep' },
        },
      },

      paused: pausedState('#two-changes.active.last'),

      completed: {
        type: 'final',
        meta: {
          status: 'completed',
          message: (context) =>
            context.merged
              ? `Merged into ${context.config.git.baseBranch}`
              : `Branch ${context.branch} ${context.published?.pushed === false ? 'is ready' : 'is pushed'}`,
        },
      },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  });
