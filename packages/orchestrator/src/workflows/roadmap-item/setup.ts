/** Types, signals and actions of the machine, and what its fragments read of the context. */
import type { CommandEvidence } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import { type ChildRequest, type ChildResult, childRun, watching } from '../../core/child-runs.ts';
import { activity, type StateMeta } from '../../core/definition.ts';
import {
  attemptActions,
  type AttemptEnd,
  type AttemptStorage,
  type Begun,
  type JudgedAttempt,
  type Settled,
} from '../parts/attempts.ts';
import { bothEnds, causeIn, failures, keptReason, often } from '../parts/children.ts';
import { callActions } from '../parts/costs.ts';
import { declared } from '../parts/declared-activities.ts';
import { approves, type Shown } from '../parts/gate.ts';
import { ownedFilesActions, ownedFilesInput } from '../parts/owned-files.ts';
import { pausesAt } from '../parts/pausing.ts';
import {
  CHECKED_RUN,
  checkedRunActions,
  CHILD_MERGE,
  projectRunDelays,
  projectRunGuards,
  projectRunSignals,
} from '../parts/project-run.ts';
import { headerOf } from '../parts/run-context.ts';
import { reportingValidation, shownResult } from '../parts/result.ts';
import { type DecisionSignal, decisionsOf, type Forked, type RunFact } from '../parts/signals.ts';
import type { Rested, WatchInput } from '../parts/watch-children.ts';
import { DOCUMENT_TYPES, nextTask } from './documents.ts';
import type { ItemFact } from './events.ts';
import {
  DOCUMENT_PHASES,
  type DocumentPhase,
  type ItemActivities,
  type ItemContext,
  type ItemDocument,
  type ItemRunInput,
  type ItemTask,
  type KnownItem,
  type StateChange,
  type TaskAttempt,
  type WorkPhase,
} from './types.ts';

/** Signals that the run of a roadmap's item accepts. */
export const itemSignals = { ...projectRunSignals, ...decisionsOf('APPROVAL_REJECTED', 'FIX_DECIDED') };

/** The ends of child runs, which are spawned and belong to no state. */
type TaskEnd =
  | { readonly type: `xstate.done.actor.task-${string}`; readonly output: ChildResult }
  | { readonly type: `xstate.error.actor.task-${string}`; readonly error: unknown };

type ItemEvent = Extract<DecisionSignal, { type: keyof typeof itemSignals }> | Forked | TaskEnd;

type Input<Name extends keyof ItemActivities> = ItemActivities[Name]['input'];

/** One attempt at a time, in fields of its own: `ended` is judged as soon as it is there. */
export const oneAttempt: AttemptStorage<ItemContext, TaskAttempt> = {
  read: ({ open, ended, integrated }) => ({
    open: open === null ? {} : { [actorOf(open)]: open },
    ended: ended === null ? [] : [ended],
    judged: ended === null ? null : { ...ended, integrated },
  }),
  write: ({ open, ended: [ended] = [], judged }) => ({
    ...(open === undefined ? {} : { open: Object.values(open)[0] ?? null }),
    ...(ended === undefined ? {} : { ended }),
    ...(judged === undefined ? {} : judgedAlone(judged)),
  }),
};

function judgedAlone(judged: JudgedAttempt<TaskAttempt> | null): Pick<ItemContext, 'ended' | 'integrated'> {
  if (judged === null) return { ended: null, integrated: null };
  const { integrated, ...ended } = judged;
  return { ended, integrated };
}

const withParts = setup({
  types: {
    context: {} as ItemContext,
    input: {} as ItemRunInput,
    events: {} as ItemEvent,
    emitted: {} as RunFact | ItemFact,
    meta: {} as StateMeta<ItemContext>,
  },
  actors: {
    ...declared<ItemActivities>()(
      ...CHECKED_RUN,
      ...CHILD_MERGE,
      'readItem',
      'setState',
      'writeDocument',
      'commitDocument',
      'commitProgress',
      'runCommand',
      'review',
      'shareResult',
      'release',
    ),
    task: childRun('build'),
    watchTask: watching(activity<WatchInput, Rested>()),
  },
  delays: projectRunDelays,
  guards: projectRunGuards,
  actions: {
    ...checkedRunActions<ItemContext, ItemEvent>(),
    reportValidation: reportingValidation<ItemContext, ItemEvent>(() => 'The checks pass on the result of all tasks.'),
    ...callActions<ItemContext, ItemEvent>(),
    ...ownedFilesActions<ItemContext, ItemEvent>(),
    ...attemptActions<ItemContext, ItemEvent, TaskAttempt, ItemTask, ItemFact>({
      child: 'task',
      actorOf,
      next: ({ tasks, done }) => nextTask(tasks, done),
      begin: beginTask,
      asked: ({ task }, reason) => ({ fact: { type: 'TASK_WAITS', task, reason } }),
      settle: settledTask,
      storage: oneAttempt,
    }),
  },
});

/** Phases in their order. */
const ORDER: readonly WorkPhase[] = [
  'ideating',
  'specifying',
  'decomposing',
  'implementing',
  'testing',
  'committing',
  'releasing',
  'completed',
];

export const phaseAfter = (phase: WorkPhase): WorkPhase => ORDER[ORDER.indexOf(phase) + 1] ?? 'completed';

const STAGES: Readonly<Partial<Record<WorkPhase, string>>> = {
  implementing: 'implementation',
  testing: 'validation',
  committing: 'publishing',
  releasing: 'releasing',
  completed: 'releasing',
};

/** The stage of the run that a phase belongs to. */
export const stageOf = (phase: WorkPhase): string => STAGES[phase] ?? 'planning';

const NO_ITEM: KnownItem = {
  id: '',
  title: '',
  type: 'feature',
  text: '',
  slug: 'untitled',
  before: { costUsd: 0, inputTokens: 0, outputTokens: 0 },
  documents: {},
};

export const itemOf = ({ item }: Pick<ItemContext, 'item'>): KnownItem => item ?? NO_ITEM;

/** Id of the actor that is a task's child run. */
function actorOf({ number }: Pick<TaskAttempt, 'number'>): string {
  return `task-${number}`;
}

export const failedAt = pausesAt('#roadmap-item.paused');

export const taskOf = ({ tasks }: Pick<ItemContext, 'tasks'>, id: string): ItemTask | undefined =>
  tasks.find((task) => task.id === id);

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((one, other) => one + other, 0);

/** Why no further iteration may begin; empty where one may. */
export function limitReached({ phase, iterations, limits, input }: ItemContext): string {
  const inPhase = iterations[phase] ?? 0;
  if (inPhase >= (limits.phase[phase] ?? input.maxPhaseIterations))
    return `${inPhase} iterations of the phase ${phase} are used up`;
  return sum(iterations) >= limits.all ? `${sum(iterations)} iterations are used up` : '';
}

/** One more iteration of this phase. */
export const counted = ({ phase, iterations }: ItemContext): Pick<ItemContext, 'iterations'> => ({
  iterations: { ...iterations, [phase]: (iterations[phase] ?? 0) + 1 },
});

/** A phase that is entered for the first time, or again with a reason. */
export const inPhase = (phase: WorkPhase, reason = ''): Partial<ItemContext> => ({ phase, reason, attempts: 0 });

/**
 * The phase is tried again with the error as context; after the last attempt a person is asked.
 * @param isUnwanted somebody cancelled the attempt, and does not want another one. Default: false
 */
export function afterFailure(context: ItemContext, why: string, isUnwanted = false): Partial<ItemContext> {
  const attempts = context.attempts + 1;
  const isLast = isUnwanted || attempts >= context.input.maxAttempts;
  return {
    attempts,
    reason: causeIn(why),
    blockers: isLast ? [`${context.phase} ${failures(attempts, why)}`] : [],
  };
}

/** The result has to be corrected: one more task, and its reason; after the last correction a person is asked. */
export function corrected(context: ItemContext, why: string, isOfPerson = false): Partial<ItemContext> {
  const reason = isOfPerson ? keptReason(why) : causeIn(why);
  if (!isOfPerson && context.corrections >= context.input.maxAttempts)
    return {
      attempts: context.corrections,
      reason,
      blockers: [`The result was corrected ${often(context.corrections)}, and still: ${reason}`],
    };
  const task: ItemTask = {
    id: fixId(context),
    title: isOfPerson ? 'Do what a person asks for' : 'Mend the result',
    description: bothEnds(why),
    dependsOn: [],
    isFix: true,
  };
  return {
    ...inPhase('implementing', reason),
    tasks: [...context.tasks, task],
    corrections: isOfPerson ? 0 : context.corrections + 1,
  };
}

/** An id that no task has: the agent that makes the tasks may call one of its own `fix-1`. */
function fixId({ tasks }: Pick<ItemContext, 'tasks'>): string {
  const taken = new Set(tasks.map(({ id }) => id));
  let number = tasks.filter(({ isFix }) => isFix === true).length + 1;
  while (taken.has(`fix-${number}`)) number += 1;
  return `fix-${number}`;
}

/** Does a person approve when this phase has ended? */
export function isAsked({ input, findings, failure, concerns, config }: ItemContext, phase: WorkPhase): boolean {
  if (input.approvals === 'all') return true;
  if (phase !== 'testing') return input.approvals === 'named' && (phase === 'ideating' || phase === 'specifying');
  return (
    input.approvals === 'named' ||
    (config.commands.release ?? '') !== '' ||
    config.trustMode.implementation === 'manual' ||
    failure !== null ||
    concerns.length > 0 ||
    findings.length > 0
  );
}

export const shownDocument =
  (phase: DocumentPhase) =>
  ({ documents }: ItemContext): Shown => ({ artifactHash: documents[phase]?.artifactHash });

/** Tasks of the roadmap's count. */
const countedTasks = ({ tasks }: Pick<ItemContext, 'tasks'>) => tasks.filter(({ isFix }) => isFix !== true);

export const countsOf = (context: Pick<ItemContext, 'tasks' | 'done'>) => {
  const tasks = countedTasks(context);
  return { total: tasks.length, done: tasks.filter(({ id }) => context.done.includes(id)).length };
};

/** Input of the activity that writes the state of the item into the roadmap. */
export function stateInput(context: ItemContext, more: Partial<StateChange> = {}): Input<'setState'> {
  const { input, phase, attempts, blockers, adding } = context;
  const { slug, before } = itemOf(context);
  const { total, done } = countsOf(context);
  return {
    ...ownedFilesInput(context),
    ...(context.merged ? { isMerged: true } : {}),
    ...(context.marked === undefined || context.ownedTo === 'branch' ? {} : { toBaseAgain: true }),
    roadmap: input.roadmap,
    item: input.item,
    change: {
      phase,
      slug,
      tasksTotal: total,
      tasksCompleted: done,
      attempts,
      blockers,
      before,
      adding,
      ...(context.ownedTo === undefined ? { begins: true } : {}),
      ...more,
    },
  };
}

/** Input that every agent of this workflow gets. */
export function agentInput(context: ItemContext, role: string): Input<'review'> {
  const { documents } = context;
  const texts = DOCUMENT_PHASES.flatMap((phase) => {
    const text = documents[phase]?.text;
    return text === undefined ? [] : [[phase, text] as const];
  });
  return {
    ...headerOf(context),
    config: context.config,
    head: context.head,
    baseCommit: context.baseCommit,
    excludePaths: context.excludePaths,
    notes: [...context.notes, ...(context.reason === '' ? [] : [{ kind: 'checks' as const, text: context.reason }])],
    call: (context.calls[role] ?? 0) + 1,
    item: itemOf(context),
    documents: Object.fromEntries(texts),
  };
}

export const itemSetup = withParts.extend({
  guards: {
    namesTheResult: approves(shownResult),
    namesTheIdeation: approves(shownDocument('ideating')),
    namesTheSpecification: approves(shownDocument('specifying')),
    namesTheTasks: approves(shownDocument('decomposing')),
  },
  actions: {
    countIteration: assign(({ context }) => counted(context)),
    /** Too many iterations: a person is asked. */
    blockAtLimit: assign(({ context }) => ({ blockers: [`${limitReached(context)}, and the phase is not done.`] })),
    correct: assign(({ context }, { why, isOfPerson = false }: { why: string; isOfPerson?: boolean }) =>
      corrected(context, why, isOfPerson),
    ),
    sayCommand: emit((_, { name, command: { command, exitCode } }: { name: string; command: CommandEvidence }) => ({
      type: 'COMMAND_RAN',
      name,
      command,
      exitCode: exitCode === null ? 'killed' : String(exitCode),
    })),
    keepDocument: enqueueActions(
      ({ enqueue, context }, { phase, document }: { phase: DocumentPhase; document: ItemDocument }) => {
        const version = context.versions[phase] + 1;
        enqueue.assign({
          head: document.commit,
          documents: { ...context.documents, [phase]: document },
          versions: { ...context.versions, [phase]: version },
          draft: null,
          reason: '',
          ...(context.draft?.tasks === undefined ? {} : { tasks: context.draft.tasks, done: [] }),
        });
        enqueue.emit(createdFact(phase, document, version));
      },
    ),
    /** The document that the base has is the first version of this run. */
    takeDocument: enqueueActions(({ enqueue, context }, { phase }: { phase: DocumentPhase }) => {
      const document = context.documents[phase];
      if (document === undefined) return;
      enqueue.assign({ versions: { ...context.versions, [phase]: 1 } });
      enqueue.emit(createdFact(phase, document, 1));
    }),
    /** A person has the phase tried again, as often as before. */
    tryAgain: assign(({ context }) => {
      const { phase, iterations, input, limits } = context;
      return {
        blockers: [],
        attempts: 0,
        corrections: 0,
        reason: '',
        limits: {
          phase: { ...limits.phase, [phase]: (iterations[phase] ?? 0) + input.maxPhaseIterations },
          all: Math.max(limits.all, sum(iterations) + input.maxIterations),
        },
      };
    }),
    keepPlace: assign((_, { to }: { to: 'base' | 'branch' }) => ({ ownedTo: to })),
  },
});

function beginTask(context: ItemContext, task: ItemTask): Begun<ItemContext, TaskAttempt, ItemFact> {
  const attempt: TaskAttempt = { task: task.id, number: context.children + 1 };
  return {
    attempt,
    request: childRequest(context, task, attempt),
    change: { ...counted(context), children: attempt.number },
    facts: [{ type: 'TASK_CHANGED', task: task.id, title: task.title, status: 'started', reason: '' }],
  };
}

function settledTask(
  context: ItemContext,
  { task }: JudgedAttempt<TaskAttempt>,
  end: AttemptEnd,
): Settled<ItemContext, ItemFact> {
  const fact = { type: 'TASK_CHANGED', task, title: taskOf(context, task)?.title ?? '' } as const;
  if (end.kind !== 'merged') {
    const { why, hint = context.hint } = end;
    return {
      change: { ...afterFailure(context, why, end.kind === 'failed' && end.isCancelled), hint: bothEnds(hint) },
      facts: [{ ...fact, status: 'failed', reason: keptReason(why) }],
    };
  }
  return {
    change: { done: [...context.done, task], ...inPhase('implementing'), hint: '' },
    facts: [{ ...fact, status: 'done', reason: '' }],
  };
}

function createdFact(phase: DocumentPhase, document: ItemDocument, version: number) {
  return {
    type: 'ARTIFACT_CREATED',
    artifact: {
      stage: 'planning',
      type: DOCUMENT_TYPES[phase],
      gitPath: document.path,
      commitSha: document.commit,
      hash: document.artifactHash,
      version,
      parsedConstraints: null,
      scripted: document.scripted,
    },
  } as const;
}

/** The request for a task's child run. Its words are all that it knows of the item. */
function childRequest(context: ItemContext, { id, title, description }: ItemTask, attempt: TaskAttempt): ChildRequest {
  const item = itemOf(context);
  const parts = [
    `${id}: ${title}`,
    description,
    `This is one task of '${item.title}', an item of the project's roadmap. The documents of the item are in specs/${item.slug}/; the server writes them and ${context.input.roadmap}: change neither.`,
    ...context.notes.filter(({ kind }) => kind === 'message').map((note) => `Note of a person: ${note.text}`),
    ...(context.hint === ''
      ? []
      : [`An earlier attempt at this task could not be used. What is known of it:\n${context.hint}`]),
  ];
  return { request: parts.join('\n\n').slice(0, 40_000).toWellFormed(), title: `${item.slug} ${id} ${attempt.number}` };
}
