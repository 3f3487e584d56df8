/** Implementation: the agent's work in its sandbox, or files of another run, as commits of the run's branch. */
import type { FilesTaken } from '@autonomous/shared';
import { assign, emit, enqueueActions } from 'xstate';
import { callEnded, notTaken } from '../parts/costs.ts';
import { headerOf } from '../parts/run-context.ts';
import { agentInput, commitMessage, planOf } from './inputs.ts';
import { clock, failed } from './pausing.ts';
import { answeredBy } from './pull-request.ts';
import { buildSetup } from './setup.ts';
import { toValidation } from './validation.ts';

export const implementationStates = () => ({
  implementation: buildSetup.createStateConfig({
    type: 'parallel',
    meta: { status: 'running', stage: 'implementation' },
    states: {
      work: {
        initial: 'settingUp',
        states: { settingUp, implementing, takingFiles, savingWork, committing },
      },
      clock: clock('implementation'),
    },
  }),
});

const NOTHING_TAKEN: FilesTaken = { runId: '', commit: '', paths: [], andThen: 'check' };

const failure = failed('implementation');
const failedImplementation = {
  target: failure.target,
  actions: [
    failure.actions,
    {
      type: 'recordFailedImplementation',
      params: ({ event }: { readonly event: { readonly error: unknown } }) => ({ error: event.error }),
    },
  ],
} as const;

const settingUp = buildSetup.createStateConfig({
  always: {
    guard: ({ context }) => context.setup === null || context.setupDone,
    target: 'implementing',
  },
  invoke: {
    id: 'setUp',
    src: 'setUp',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      setup: context.setup ?? { command: '', source: 'none' },
      excludePaths: context.excludePaths,
    }),
    onDone: { target: 'implementing', actions: assign({ setupDone: true }) },
    onError: failedImplementation,
  },
});

const implementing = buildSetup.createStateConfig({
  invoke: {
    id: 'implementer',
    src: 'implement',
    input: ({ context }) => ({
      ...agentInput(context, 'implementer'),
      plan: planOf(context),
      setup: context.setup,
      test: context.test,
    }),
    onDone: [
      {
        guard: ({ event }) => event.output.kind === 'question',
        target: 'savingWork',
        actions: [
          ...callEnded('implementer'),
          enqueueActions(({ enqueue, event }) => {
            const { output } = event;
            for (const refused of output.refused) enqueue.emit(notTaken(refused));
            enqueue.assign({
              unsaved: output.tree,
              question: output.kind === 'question' ? { asked: output.question, from: 'implementation' as const } : null,
            });
          }),
        ],
      },
      {
        target: 'committing',
        actions: [
          ...callEnded('implementer'),
          enqueueActions(({ enqueue, context, event }) => {
            const { output } = event;
            if (output.kind !== 'implemented') return;
            for (const decision of output.decisions) enqueue.emit({ type: 'DECISION_RECORDED', ...decision });
            for (const refused of output.refused) enqueue.emit(notTaken(refused));
            enqueue.assign({
              implemented: output,
              decisions: [...context.decisions, ...output.decisions],
              ...(output.solutions === undefined
                ? {}
                : { solutions: [...(context.solutions ?? []), ...output.solutions] }),
            });
          }),
        ],
      },
    ],
    onError: failedImplementation,
  },
});

/** Files of another run's result, as a person chose them: a commit of its own, and checked like any other. */
const takingFiles = buildSetup.createStateConfig({
  invoke: {
    id: 'takeFiles',
    src: 'takeFiles',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      baseCommit: context.baseCommit,
      take: context.taking ?? NOTHING_TAKEN,
    }),
    onDone: [
      {
        guard: ({ context }) => context.taking?.andThen === 'implement',
        target: 'implementing',
        actions: ['sayTaken', assign({ taking: undefined, head: ({ event }) => event.output.commit })],
      },
      {
        target: toValidation,
        actions: [
          'sayTaken',
          'forgetValidation',
          enqueueActions(({ enqueue, context, event }) => {
            const { commit, codeTree, filesChanged } = event.output;
            const codeVersion = context.codeVersion + 1;
            enqueue.assign({
              head: commit,
              codeTree,
              codeVersion,
              isEmpty: false,
            });
            enqueue.emit({
              type: 'ARTIFACT_CREATED',
              artifact: {
                stage: 'implementation',
                type: 'code',
                commitSha: commit,
                hash: codeTree,
                version: codeVersion,
                filesChanged,
                scripted: context.taking?.scripted ?? false,
              },
            });
            enqueue.emit({
              type: 'IMPLEMENTATION_SUCCEEDED',
              commit,
              codeTree,
              summary: `Files of run ${context.taking?.runId ?? ''} were taken.`,
              filesChanged,
            });
            enqueue.assign({ taking: undefined });
          }),
        ],
      },
    ],
    onError: failedImplementation,
  },
});

/** The agent's work so far is committed before a person is asked. */
const savingWork = buildSetup.createStateConfig({
  invoke: {
    id: 'saveWork',
    src: 'commitCode',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      baseCommit: context.baseCommit,
      tree: context.unsaved ?? '',
      message: `Checkpoint: work before the question '${context.question?.asked.question.slice(0, 100) ?? ''}'`,
    }),
    onDone: {
      target: '#build.active.asking',
      actions: assign({ unsaved: null, head: ({ event }) => event.output.commit }),
    },
    onError: failedImplementation,
  },
});

const committing = buildSetup.createStateConfig({
  invoke: {
    id: 'commitCode',
    src: 'commitCode',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      baseCommit: context.baseCommit,
      tree: context.implemented?.tree ?? '',
      message: commitMessage(context),
      ...(context.conflicts === undefined ? {} : { conflicts: context.conflicts }),
    }),
    onDone: {
      target: toValidation,
      actions: [
        'forgetValidation',
        assign(({ context, event }) => ({
          head: event.output.commit,
          codeTree: event.output.codeTree,
          isEmpty: event.output.filesChanged.length === 0,
          ...(context.conflicts === undefined ? {} : { conflicts: undefined }),
          codeVersion: context.codeVersion + 1,
          ...answeredBy(context, event.output),
        })),
        emit(({ context, event }) => ({
          type: 'ARTIFACT_CREATED',
          artifact: {
            stage: 'implementation',
            type: 'code',
            commitSha: event.output.commit,
            hash: event.output.codeTree,
            version: context.codeVersion,
            filesChanged: event.output.filesChanged,
            scripted: context.implemented?.cost.scripted ?? false,
          },
        })),
        emit(({ context, event }) => ({
          type: 'IMPLEMENTATION_SUCCEEDED',
          commit: event.output.commit,
          codeTree: event.output.codeTree,
          summary: context.implemented?.summary ?? '',
          filesChanged: event.output.filesChanged,
        })),
        assign({ implemented: null }),
      ],
    },
    onError: failedImplementation,
  },
});
