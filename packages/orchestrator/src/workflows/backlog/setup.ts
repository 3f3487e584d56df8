/** Types, signals and actions of the machine, and what its fragments read of the context. */
import { assign, emit, setup } from 'xstate';
import { type ChildRequest, type ChildResult, childRun, watching } from '../../core/child-runs.ts';
import { activity, type StateMeta } from '../../core/definition.ts';
import { approves } from '../parts/gate.ts';
import { ownedFilesActions } from '../parts/owned-files.ts';
import { pausesAt } from '../parts/pausing.ts';
import { reportingValidation, shownResult } from '../parts/result.ts';
import { type DecisionSignal, decisionsOf, type Forked, type RunFact } from '../parts/signals.ts';
import { attemptActions, type AttemptEnd, type JudgedAttempt, type Settled } from '../parts/attempts.ts';
import { declared } from '../parts/declared-activities.ts';
import {
  CHECKED_RUN,
  checkedRunActions,
  CHILD_MERGE,
  projectRunDelays,
  projectRunGuards,
  projectRunSignals,
} from '../parts/project-run.ts';
import type { Rested, WatchInput } from '../parts/watch-children.ts';
import type { ItemStatus } from './backlog-table.ts';
import type { BacklogFact } from './events.ts';
import { goingOn, unfinished, untouched, unwanted } from './judgement.ts';
import {
  type Attempt,
  type BacklogActivities,
  type BacklogContext,
  type BacklogRunInput,
  type History,
  MAX_TOLD_SPEC,
  type Outcome,
  type Starting,
} from './types.ts';

/** Signals that the run of a backlog accepts. */
export const backlogSignals = { ...projectRunSignals, ...decisionsOf('FIX_DECIDED') };

/** The ends of child runs, which are spawned and belong to no state. */
type ItemEnd =
  | { readonly type: `xstate.done.actor.item-${string}`; readonly output: ChildResult }
  | { readonly type: `xstate.error.actor.item-${string}`; readonly error: unknown };

type BacklogEvent = Extract<DecisionSignal, { type: keyof typeof backlogSignals }> | Forked | ItemEnd;

/** Id of the actor that is an attempt's child run. */
const actorOf = ({ iteration }: Pick<Attempt, 'iteration'>): string => `item-${iteration}`;

const withParts = setup({
  types: {
    context: {} as BacklogContext,
    input: {} as BacklogRunInput,
    events: {} as BacklogEvent,
    emitted: {} as RunFact | BacklogFact,
    meta: {} as StateMeta<BacklogContext>,
  },
  actors: {
    ...declared<BacklogActivities>()(
      ...CHECKED_RUN,
      ...CHILD_MERGE,
      'chooseItem',
      'checkEnvironment',
      'setStatus',
      'readAgain',
    ),
    item: childRun('build'),
    watchItems: watching(activity<WatchInput, Rested>()),
  },
  delays: projectRunDelays,
  guards: projectRunGuards,
  actions: {
    ...checkedRunActions<BacklogContext, BacklogEvent>(),
    reportValidation: reportingValidation<BacklogContext, BacklogEvent>(
      () => 'The checks pass on the result of all items.',
    ),
    ...ownedFilesActions<BacklogContext, BacklogEvent>(),
    ...attemptActions<BacklogContext, BacklogEvent, Attempt, Starting, BacklogFact>({
      child: 'item',
      actorOf,
      next: ({ starting }) => starting ?? undefined,
      begin: (context, { text, ...attempt }) => ({
        attempt,
        request: childRequest(context, attempt, text),
        change: { starting: null },
        facts: [],
      }),
      asked: ({ id }, reason) => ({ fact: { type: 'ITEM_WAITS', item: id, reason } }),
      settle: settledItem,
    }),
  },
});

/** Ids of items come from people: they may be names of an object's own. */
export const outcomeOf = ({ outcomes }: Pick<BacklogContext, 'outcomes'>, item: string): Outcome | undefined =>
  Object.hasOwn(outcomes, item) ? outcomes[item] : undefined;

/** Ids of items that this run has blocked, or that were blocked before and hold up others. */
export const blockedOf = ({ outcomes }: Pick<BacklogContext, 'outcomes'>): readonly string[] =>
  Object.entries(outcomes).flatMap(([item, { status }]) => (status === 'blocked' ? [item] : []));

export const failedAt = pausesAt('#backlog.paused');

export const nameOf = ({ id, title }: Pick<Attempt, 'id' | 'title'>): string => (title === '' ? id : `${id}: ${title}`);

export const backlogSetup = withParts.extend({
  guards: { namesTheResult: approves(shownResult) },
  actions: {
    /** The item is chosen anew, with what people have changed in the files since. */
    dropChoice: assign(({ context }) => ({ starting: null, iterations: context.iterations - 1 })),
    /** Blocked items are tried again, with what a person says; where attempts are used up, there are as many again. */
    tryAgain: assign(({ context }, { notes }: { notes: string }) => {
      const again = blockedOf(context);
      const told = Object.fromEntries(
        again.map((item): [string, History] => [item, { attempts: [], handOver: handOverWith(context, item, notes) }]),
      );
      return {
        stopped: null,
        iterationLimit: Math.max(context.iterationLimit, context.iterations + context.input.maxIterations),
        outcomes: Object.fromEntries(Object.entries(context.outcomes).filter(([, { status }]) => status !== 'skipped')),
        histories: { ...context.histories, ...told },
        again,
        ...(again.length === 0 && notes !== ''
          ? { notes: [...context.notes, { kind: 'message' as const, text: notes }] }
          : {}),
      };
    }),
    /** The first of the items that are tried again becomes queued. */
    queueAgain: assign(({ context }) => {
      const [item = '', ...again] = context.again ?? [];
      const { specPath = null } = outcomeOf(context, item) ?? {};
      const { iterations } = context;
      return {
        again,
        outcomes: without(context.outcomes, item),
        setting: {
          item,
          specPath,
          status: 'queued',
          reason: 'a person wants it tried again',
          iteration: iterations,
          expected: ['blocked', 'in_progress'],
        },
      } as const;
    }),
    sayItem: emit(
      (
        _,
        { item, status, iteration, reason }: { item: string; status: ItemStatus; iteration: number; reason: string },
      ) => ({
        type: 'ITEM_CHANGED',
        item,
        status,
        iteration,
        reason,
      }),
    ),
    keepPlace: assign((_, { to }: { to: 'base' | 'branch' }) => ({ ownedTo: to })),
  },
});

/** The table follows once the branch is published. */
function settledItem(
  context: BacklogContext,
  judged: JudgedAttempt<Attempt>,
  end: AttemptEnd,
): Settled<BacklogContext, BacklogFact> {
  if (end.kind === 'failed')
    return {
      change:
        end.isCancelled === true ? unwanted(context, judged, end.why) : unfinished(context, judged, end.why, end.hint),
      facts: [],
    };
  if (end.kind === 'unchanged') return { change: untouched(context, judged), facts: [] };
  const { id, specPath, iteration } = judged;
  const outcome: Outcome = { status: 'done', reason: '', iteration, ...(specPath === null ? {} : { specPath }) };
  return {
    change: {
      isChanged: true,
      stopped: goingOn(context),
      outcomes: { ...context.outcomes, [id]: outcome },
    },
    facts: [{ type: 'ITEM_CHANGED', item: id, status: 'done', iteration, reason: '' }],
  };
}

/** Words for the next attempt: of the one before it, and by the person. */
function handOverWith({ histories }: BacklogContext, item: string, notes: string): string {
  const before = Object.hasOwn(histories, item) ? (histories[item]?.handOver ?? '') : '';
  return [before, notes === '' ? '' : `A person says: ${notes}`].filter((part) => part !== '').join('\n\n');
}

/** The request for an item's child run. Its words are all that it knows of earlier attempts. */
function childRequest(context: BacklogContext, attempt: Attempt, text = ''): ChildRequest {
  const { id, specPath, environment, allowedFiles } = attempt;
  const { attempts = [], handOver = '' } = (Object.hasOwn(context.histories, id) ? context.histories[id] : null) ?? {};
  const parts = [
    nameOf(attempt),
    specPath === null
      ? `Do what this item of ${context.input.file} names.`
      : `Do what the specification below asks for, and nothing else. It is ${specPath}, as it is now.`,
    'The server keeps the status of the item: change neither the backlog nor the header or the log of the specification.',
    ...(environment.length === 0 ? [] : [`The specification says of the environment: ${environment.join(', ')}.`]),
    ...context.notes.map((note) => `Note of a person: ${note.text}`),
    ...(handOver === '' ? [] : [`An earlier attempt did not finish this item. What is known of it:\n${handOver}`]),
    ...(text === '' ? [] : [`${text}${text.length < MAX_TOLD_SPEC ? '' : `\n\n[…] The rest is in ${specPath}.`}`]),
  ];
  return {
    request: parts.join('\n\n'),
    title: `${id} ${attempt.iteration}`,
    attempt: { number: attempts.length + 1 },
    ...(allowedFiles === undefined ? {} : { allowedFiles }),
  };
}

export function without<Value>(record: Readonly<Record<string, Value>>, key: string): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));
}
