/** The phases of committing and releasing: the result is published as any other change, and released where a person decided so. */
import { assign } from 'xstate';
import { TAKING_IN } from '../../activities/git/ways.ts';
import {
  askingAgain,
  askingState,
  choosingState,
  integrateInput,
  mergingState,
  publishingGuards,
  pushingState,
  pushInput,
  recordingState,
  takeInInput,
  takenFrom,
} from '../parts/publishing.ts';
import { headerOf } from '../parts/run-context.ts';
import { awaitingMerge } from './awaiting-merge.ts';
import { failedAt, inPhase, itemOf, itemSetup, stateInput } from './setup.ts';
import { sayingCommand } from './testing.ts';
import type { ItemContext } from './types.ts';

/** Branch of the remote with the result. */
const resultBranch = ({ branch, published }: ItemContext): string => published?.branch ?? branch;

const awaited = (context: ItemContext) => ({
  blockers: [awaitingMerge(resultBranch(context), context.config.git.baseBranch)],
  isLast: true as const,
});

/** Once commits of others are on the run's branch, the result has one beside it. */
const besideOthers = ({ published }: ItemContext): { readonly beside?: true } =>
  published?.branch === undefined ? {} : { beside: true };

/** The branch that is left has the item's last state, and the base names that branch. */
const isMarked = (context: ItemContext): boolean =>
  context.ownedTo === 'branch' || context.marked === resultBranch(context);

/** Says in the base that people merge the result. The base has the item as completed with that merge, and not before. */
const awaitingState = <const Next extends string>(id: string, next: Next) =>
  itemSetup.createStateConfig({
    invoke: {
      id,
      src: 'setState',
      input: ({ context }) => stateInput(context, awaited(context)),
      onDone: {
        target: next,
        actions: [
          { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
          { type: 'keepPlace', params: ({ event }) => ({ to: event.output.to }) },
        ],
      },
      onError: [askingAgain('publishing'), failedAt('publishing')],
    },
  });

const pushing = pushingState('choosing', failedAt('publishing'));

/** From here on the states are on the run's branch, and come to the base with it. */
const onBranchAlone = ({ ownedTo, config }: ItemContext): { readonly branchOnly?: string } =>
  ownedTo === 'branch'
    ? {}
    : { branchOnly: `${config.git.baseBranch} gets the last state with the merge of that branch` };

const title = (context: ItemContext): string => itemOf(context).title.slice(0, 80).toWellFormed();

export const publishing = itemSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  initial: 'choosingBase',
  states: {
    choosingBase: {
      always: [
        { guard: 'merges', target: 'integrating' },
        { guard: ({ context }) => context.ownedTo === 'branch', target: 'choosingPlace' },
        { target: 'sharing' },
      ],
    },
    // The base names a branch that the remote has.
    sharing: {
      invoke: {
        id: 'shareResult',
        src: 'shareResult',
        input: ({ context }) => ({
          ...pushInput({ context }),
          ...besideOthers(context),
          baseCommit: context.baseCommit,
        }),
        onDone: { target: 'awaitingMerge' },
        onError: failedAt('publishing'),
      },
    },
    // The merge is without conflicts in the roadmap: the branch takes in the base's states.
    awaitingMerge: awaitingState('awaitMerge', 'integrating'),
    // A branch with conflicts was pushed before the pause, and stays as it is.
    leaving: {
      always: [
        { guard: ({ context }) => context.ownedTo === 'branch', target: 'choosingPlace' },
        { target: 'awaitingMergeWithConflicts' },
      ],
    },
    awaitingMergeWithConflicts: awaitingState('awaitMergeWithConflicts', 'choosingPlace'),
    // A state on the run's branch is pushed with it. In the base it follows the merge: nothing is completed before.
    choosingPlace: {
      always: [
        {
          guard: ({ context }) => context.ownedTo === 'branch' || !publishingGuards.merges({ context }),
          target: 'markingOnBranch',
        },
        { target: 'recording' },
      ],
    },
    markingOnBranch: {
      invoke: {
        id: 'markOnBranch',
        src: 'setState',
        input: ({ context }) => ({ ...stateInput(context, { phase: 'completed' }), ...onBranchAlone(context) }),
        onDone: {
          target: 'recording',
          actions: [
            { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
            assign({ marked: ({ context }) => resultBranch(context) }),
          ],
        },
        onError: [askingAgain('publishing'), failedAt('publishing')],
      },
    },
    asking: askingState('#roadmap-item.paused'),
    integrating: {
      invoke: {
        id: 'integrate',
        src: 'integrate',
        input: integrateInput,
        onDone: [
          {
            // The base has moved by engine-owned files alone: the code is what was checked and approved.
            guard: ({ context, event }) => !event.output.moved || event.output.codeTree === context.codeTree,
            target: 'choosingPlace',
            actions: { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
          },
          {
            target: '#roadmap-item.active.entering',
            actions: [
              { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
              assign(inPhase('testing', 'the base branch has moved')),
            ],
          },
        ],
        onError: failedAt('publishing'),
      },
    },
    recording: recordingState(title, failedAt('publishing')),
    pushing: {
      invoke: { ...pushing.invoke, input: ({ context }) => ({ ...pushInput({ context }), ...besideOthers(context) }) },
    },
    choosing: choosingState('merging', 'choosingEnd'),
    choosingEnd: {
      always: [
        {
          guard: ({ context }) => isMarked(context),
          target: '#roadmap-item.active.releasing',
          actions: assign(inPhase('releasing')),
        },
        // A merge that was given up, or commits that were pushed beside those of others: base and branch have to say so.
        { guard: ({ context }) => !context.merged, target: 'choosingBase' },
        {
          guard: ({ context }) => context.releases === true,
          target: '#roadmap-item.active.entering',
          actions: assign(inPhase('releasing')),
        },
        { target: '#roadmap-item.active.entering', actions: assign(inPhase('completed')) },
      ],
    },
    takingIn: itemSetup.createStateConfig({
      invoke: {
        // The commit is recognised by this name.
        id: TAKING_IN.branch,
        src: 'takeIn',
        input: ({ context }) => takeInInput(context, { from: 'branch', planPath: '' }),
        onDone: {
          target: '#roadmap-item.active.entering',
          actions: [
            { type: 'keepTakenIn', params: ({ event }) => ({ taken: event.output }) },
            {
              type: 'sayTakenIn',
              params: ({ context, event }) => ({ taken: event.output, from: takenFrom(context, 'branch') }),
            },
            // The result is another one: the base does not wait for its merge any more.
            assign(({ context }) => ({
              ...inPhase('testing', 'commits of others were taken in'),
              ...(context.marked === undefined ? {} : { marked: '' }),
            })),
          ],
        },
        onError: failedAt('publishing'),
      },
    }),
    pushingBeside: pushingState('choosing', failedAt('publishing'), { id: 'pushBeside', beside: true }),
    merging: mergingState({ title, done: 'choosingEnd', again: 'integrating', onError: failedAt('publishing') }),
  },
});

const releaseOf = ({ config }: ItemContext): string => config.commands.release ?? '';

/** A person decides whether a release that did not succeed is run again. The result is published. */
const releaseGate = (kind: string, summary: (context: ItemContext) => string) =>
  itemSetup.createStateConfig({
    meta: {
      status: 'awaiting_approval',
      stage: 'releasing',
      gate: { kind, decisions: ['retry', 'accept'], summary, facts: () => ({ details: {} }) },
    },
    on: {
      // A retry at a gate that offers to accept, too, is a decision about what failed.
      FIX_DECIDED: [
        { guard: ({ event }) => event.decision === 'retry', target: 'running' },
        {
          guard: ({ event }) => event.decision === 'accept',
          target: 'choosing',
          actions: assign({ releases: false }),
        },
      ],
    },
  });

/** Runs the project's command for a release. It is never repeated without a person: half a release may be outside already. */
export const releasing = itemSetup.createStateConfig({
  meta: { status: 'running', stage: 'releasing' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => context.releases === true && !context.released, target: 'running' },
        { guard: ({ context }) => isMarked(context), target: '#roadmap-item.completed' },
        { target: '#roadmap-item.active.entering', actions: assign(inPhase('completed')) },
      ],
    },
    running: {
      invoke: {
        id: 'release',
        src: 'release',
        input: ({ context }) => ({
          ...headerOf(context),
          config: context.config,
          commit: context.published?.commit ?? context.head,
          setup: context.setup,
          excludePaths: context.excludePaths,
          command: releaseOf(context),
          timeoutMinutes: context.config.timeoutMinutes.releasing,
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.command.exitCode === 0,
            target: 'choosing',
            actions: [sayingCommand('release'), assign({ released: true })],
          },
          { guard: ({ event }) => event.output.isCutOff === true, target: 'cutOff' },
          { target: 'failed', actions: sayingCommand('release') },
        ],
        onError: failedAt('releasing'),
      },
    },
    failed: releaseGate(
      'item_release_failed',
      (context) =>
        `The release of '${itemOf(context).title}' failed: \`${releaseOf(context)}\`. The result is published.`,
    ),
    cutOff: releaseGate(
      'item_release_cut_off',
      (context) =>
        `How far the release of '${itemOf(context).title}' came is not known: it was cut off while it ran, or the run was rebuilt since the approval: \`${releaseOf(context)}\`. Look what it has done, then run it again or finish. The result is published.`,
    ),
  },
});
