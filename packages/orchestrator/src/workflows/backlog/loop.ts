/** The loop over the items of a backlog: choose one, set its status, have a child run do it, judge what comes of it. */
import type { ActivityError } from '@autonomous/shared';
import { assign, enqueueActions } from 'xstate';
import { judgingState, workingState } from '../parts/attempts.ts';
import { ownedFilesInput } from '../parts/owned-files.ts';
import { headerOf } from '../parts/run-context.ts';
import { backlogSetup, failedAt } from './setup.ts';
import type { Pause } from '../parts/pausing.ts';
import { goingOn, historyOf } from './judgement.ts';
import { type BacklogContext, type Choice, folderOf, type NewStatus, type Outcome } from './types.ts';

/** Child runs of one run at the same time, at most, those that wait for people among them. */
const CHILD_SLOTS = 3;

/** An item that waits for a person holds nobody up where the run is to keep going. */
const hasRoom = ({ open, input, stopped, config }: BacklogContext): boolean => {
  const busy = Object.values(open).filter(({ waitsAt }) => waitsAt === undefined || !input.keepGoing);
  const most = Math.min(config.maxConcurrency, CHILD_SLOTS);
  return stopped === null && busy.length < Math.min(input.parallel, most) && Object.keys(open).length < most;
};

export const choosing = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: [
    { guard: ({ context }) => (context.again ?? []).length > 0, target: 'setting', actions: 'queueAgain' },
    { guard: ({ context }) => context.ended.length > 0, target: 'judging' },
    { guard: ({ context }) => hasRoom(context), target: 'reading' },
    { guard: ({ context }) => Object.keys(context.open).length > 0, target: 'working' },
    { target: 'stopping' },
  ],
});

export const working = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  ...workingState({
    src: 'watchItems',
    next: 'choosing',
    onError: failedAt('implementation'),
  }),
});

/** Reads the latest table and chooses the next item. */
export const reading = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  invoke: {
    id: 'chooseItem',
    src: 'chooseItem',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      baseBranch: context.config.git.baseBranch,
      file: context.input.file,
      specs: folderOf(context.input.specs),
      item: context.input.item ?? null,
      keepGoing: context.input.keepGoing,
      iterations: context.iterations,
      maxIterations: context.iterationLimit,
      begun: Object.keys(context.histories),
      underWay: Object.values(context.open).map(({ id }) => id),
      merged: mergedIn(context),
    }),
    onDone: [
      {
        guard: ({ event }) => event.output.end?.kind === 'faults',
        target: '#backlog.paused',
        actions: assign({ paused: ({ event }) => unusable(event.output) }),
      },
      // An attempt has ended meanwhile: what comes of it counts first.
      { guard: ({ context, event }) => event.output.item === null && context.ended.length > 0, target: 'choosing' },
      {
        // What waits for an attempt under way may be begun after it.
        guard: ({ context, event }) => event.output.item === null && Object.keys(context.open).length > 0,
        target: 'choosing',
        actions: assign({ counts: ({ event }) => event.output.counts, stopped: { kind: 'done' } }),
      },
      {
        guard: ({ event }) => event.output.item === null,
        target: 'choosing',
        actions: enqueueActions(({ enqueue, context, event }) => {
          const { counts, skipped, end } = event.output;
          if (context.counts.total === 0) enqueue.emit({ type: 'BACKLOG_READ', file: context.input.file, ...counts });
          const why = end?.kind === 'blocked' ? `it waits for ${end.id}, which is blocked` : '';
          for (const item of skipped) enqueue.emit({ type: 'ITEM_SKIPPED', item, reason: why });
          enqueue.assign({
            counts,
            outcomes: {
              ...(end?.kind === 'blocked' ? { [end.id]: { status: 'blocked', reason: BLOCKED_BEFORE } } : {}),
              ...context.outcomes,
              ...Object.fromEntries(
                skipped.map((item): [string, Outcome] => [item, { status: 'skipped', reason: why }]),
              ),
            },
            stopped: { kind: end?.kind === 'iterations' || end?.kind === 'blocked' ? end.kind : 'done' },
            ...rereadFor(context, null),
          });
          enqueue.emit(progress(counts));
        }),
      },
      {
        target: 'beginning',
        actions: enqueueActions(({ enqueue, context, event }) => {
          const { counts, item } = event.output;
          if (item === null) return;
          const iteration = context.iterations + 1;
          if (context.counts.total === 0) enqueue.emit({ type: 'BACKLOG_READ', file: context.input.file, ...counts });
          enqueue.assign({
            counts,
            codeTree: event.output.codeTree,
            iterations: iteration,
            starting: { ...item, iteration },
            histories: { ...context.histories, [item.id]: historyOf(context, item.id) },
            ...rereadFor(context, item.id),
          });
          enqueue.emit(progress(counts));
        }),
      },
    ],
    onError: failedAt('implementation'),
  },
});

/** Ids of items whose result is on the run's branch. */
export const mergedIn = ({ outcomes }: BacklogContext): readonly string[] =>
  Object.entries(outcomes).flatMap(([id, { status }]) => (status === 'done' ? [id] : []));

/** What could not be set before counts where the same item comes next. */
const rereadFor = ({ reread }: BacklogContext, next: string | null): Pick<BacklogContext, 'reread'> =>
  reread === undefined || reread === next ? {} : { reread: undefined };

/** The item was blocked before this run, and others wait for it. */
const BLOCKED_BEFORE = 'it was blocked before this run, and items that are queued wait for it';

function unusable({ end }: Choice): Pause {
  return pausedByFaults('implementation', end?.kind === 'faults' ? end.faults : []);
}

export function pausedByFaults(stage: string, faults: readonly string[]): Pause {
  return {
    reason: 'agent_failed',
    stage,
    message: `The backlog cannot be used: ${faults.join('\n')}\nCorrect it on the base branch and push, then retry.`,
  };
}

export const progress = ({ done, total }: BacklogContext['counts']) =>
  ({ type: 'PROGRESS_CHANGED', done, total }) as const;

/** Input of the activity that sets statuses. */
export const statusInput = (context: BacklogContext, statuses: readonly NewStatus[]) => ({
  ...ownedFilesInput(context),
  file: context.input.file,
  statuses: statuses.map((each) => ({ ...each, expected: [...each.expected] })),
});

/** Nothing runs for an item that asks for nothing. */
export const beginning = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: [
    { guard: ({ context }) => (context.starting?.needs ?? []).length > 0, target: 'checkingEnvironment' },
    { target: 'claiming' },
  ],
});

/** After a pause the files are read anew: people may have corrected them. */
const chosenAnew = {
  guard: ({ context }: { readonly context: BacklogContext }) => context.starting === null,
  target: 'choosing',
} as const;
const notBegun = failedAt('implementation');
const pausedUnchosen = { target: notBegun.target, actions: [notBegun.actions, 'dropChoice'] } as const;

/** An item whose programs are missing is blocked before an attempt at it is begun. */
export const checkingEnvironment = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: chosenAnew,
  invoke: {
    id: 'checkEnvironment',
    src: 'checkEnvironment',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      setup: context.setup,
      excludePaths: context.excludePaths,
      item: context.starting?.id ?? '',
      specPath: context.starting?.specPath ?? '',
      needs: [...(context.starting?.needs ?? [])],
    }),
    onDone: [
      { guard: ({ event }) => event.output.reason === null, target: 'claiming' },
      {
        target: 'setting',
        actions: [
          assign(({ context, event }) => ({
            setting: {
              item: context.starting?.id ?? '',
              specPath: context.starting?.specPath ?? null,
              status: 'blocked' as const,
              reason: event.output.reason ?? '',
              expected: ['queued', 'in_progress'] as const,
            },
          })),
          'dropChoice',
        ],
      },
    ],
    onError: pausedUnchosen,
  },
});

/** The item is in progress before its child run starts. */
export const claiming = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: chosenAnew,
  invoke: {
    id: 'claimItem',
    src: 'setStatus',
    input: ({ context }) => {
      const { id: item = '', specPath = null, iteration = 0 } = context.starting ?? {};
      const claim = { item, specPath, status: 'in_progress', reason: '', iteration, expected: ['queued'] } as const;
      return { ...statusInput(context, [claim]), ...(iteration === 1 ? { isFirst: true as const } : {}) };
    },
    onDone: {
      target: 'choosing',
      actions: [
        { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
        { type: 'keepPlace', params: ({ event }) => ({ to: event.output.to }) },
        assign(({ context }) => rereadFor(context, null)),
        {
          type: 'sayItem',
          params: ({ context }) => ({
            item: context.starting?.id ?? '',
            status: 'in_progress',
            iteration: context.starting?.iteration ?? 0,
            reason: '',
          }),
        },
        'beginAttempt',
      ],
    },
    onError: [
      {
        // A person has set another status since the table was read: it is read again. The same conflict once more is another one.
        guard: ({ context, event }) => isConflict(event.error) && context.reread !== context.starting?.id,
        target: 'choosing',
        actions: [
          assign(({ context }) => (context.starting === null ? {} : { reread: context.starting.id })),
          'dropChoice',
        ],
      },
      pausedUnchosen,
    ],
  },
});

/** The engine gives every failed activity an error of this shape. */
const isConflict = (error: unknown): boolean => (error as ActivityError).reason === 'merge_conflict';

/** An attempt with a result is merged; any other leaves the item as it is for the next attempt, or blocks it. */
export const judging = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  ...judgingState({ failed: 'setting', merging: 'merging' }),
});

/** The item's status after an attempt that has no result, or before it is tried again. */
export const setting = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  invoke: {
    id: 'setStatus',
    src: 'setStatus',
    input: ({ context }) => statusInput(context, context.setting === null ? [] : [context.setting]),
    onDone: {
      target: 'choosing',
      actions: [
        { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
        { type: 'keepPlace', params: ({ event }) => ({ to: event.output.to }) },
        enqueueActions(({ enqueue, context }) => {
          const { setting: set } = context;
          if (set === null) return;
          const { item, specPath, status, reason, iteration } = set;
          const attempt = iteration === undefined ? {} : { iteration };
          enqueue.emit({ type: 'ITEM_CHANGED', item, status, ...attempt, reason });
          const isBlocked = status === 'blocked';
          const outcome: Outcome = {
            status: 'blocked',
            reason,
            ...attempt,
            ...(specPath === null ? {} : { specPath }),
          };
          enqueue.assign({
            setting: null,
            ...(isBlocked ? { outcomes: { ...context.outcomes, [item]: outcome } } : {}),
            stopped: isBlocked && !context.input.keepGoing ? { kind: 'blocked' } : goingOn(context),
          });
        }),
      ],
    },
    onError: [
      {
        // The item was to be tried again, and a person has decided otherwise in the table.
        guard: ({ context, event }) => context.setting?.status === 'queued' && isConflict(event.error),
        target: 'choosing',
        actions: assign({ setting: null }),
      },
      failedAt('implementation'),
    ],
  },
});
