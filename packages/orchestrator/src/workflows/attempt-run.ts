/**
 * A workflow whose work is attempts: child runs, each on top of those before it, until nothing is left to begin. Its author gives four
 * pure functions; everything else (merging, checks, the result, publishing, pauses, budgets) is that of every run of a project.
 */
import { InvalidRequest, type DocumentInfo, type GateInfo, type RunConfig } from '@autonomous/shared';
import { type AnyStateMachine, type PromiseActorLogic, setup, type UnknownActorLogic } from 'xstate';
import type { z } from 'zod';
import { tidiedAll } from '../activities/tidied.ts';
import type { ChildIntegrated, ChildMerged } from '../activities/git/merge-child.ts';
import type { ActivityTools } from '../activities/tools.ts';
import type { Activity } from '../core/activity.ts';
import { type ChildResult, childRun, watching } from '../core/child-runs.ts';
import { activity, defineWorkflow, type StateMeta } from '../core/definition.ts';
import type { WorkflowValue } from './complete-workflow.ts';
import type { WorkflowRole } from './workflow.ts';
import {
  attemptActions,
  type AttemptEnd,
  type Attempts,
  judgingState,
  NO_ATTEMPTS,
  type Waiting,
  workingState,
} from './parts/attempts.ts';
import { childMergeStates, toChecks } from './parts/child-merge.ts';
import { causeIn, childEnds, keptReason } from './parts/children.ts';
import { declared } from './parts/declared-activities.ts';
import { checkInputOf, hasTests } from './parts/evidence.ts';
import { approvalGate, approves } from './parts/gate.ts';
import { takenEverywhere } from './parts/notes.ts';
import { pausedState, pausesAt } from './parts/pausing.ts';
import { checkedRunActivities, childMergeActivities } from './parts/project-run-activities.ts';
import {
  CHECKED_RUN,
  type CheckedRunActivities,
  checkedRunActions,
  type CheckedRunContext,
  checkedRunContext,
  CHILD_MERGE,
  type ChildMergeActivities,
  preparingState,
  projectRunDelays,
  projectRunGuards,
  type ProjectRunInput,
  projectRunSignals,
} from './parts/project-run.ts';
import { PUBLISHING_WAYS, publishingWays, publishingStates, takingInState } from './parts/publishing.ts';
import { outcomeOf } from './parts/pull-request.ts';
import { isResultAsked, reportingValidation, shownResult, validationState } from './parts/result.ts';
import { titleOf } from './parts/run-context.ts';
import { type DecisionSignal, decisionsOf, type Forked, type RunFact } from './parts/signals.ts';
import { type Rested, watchChildren, type WatchInput } from './parts/watch-children.ts';

/** A piece of the work, as plain JSON. */
export interface Unit {
  /** Lower-case letters, digits and hyphens. No other unit of the run has it. */
  readonly id: string;
  /** Shown to people. */
  readonly title: string;
}

/** Data of a run that the author's functions get. */
export interface Work<Values, Own, Piece> {
  /** The request of the run. */
  readonly request: string;
  /** Its input, checked by the workflow's schema. */
  readonly input: Values;
  /** The workflow's own data. */
  readonly own: Own;
  /** Units with a child run under way. */
  readonly underWay: readonly Piece[];
  /** Attempts that were begun. */
  readonly begun: number;
}

/** An end of an attempt as the workflow's own data follow from it. */
export type UnitEnd =
  /** Its result is on the run's branch, and the checks of the merge passed. */
  | { readonly kind: 'merged' }
  /** It came to nothing, or changed nothing. `why` is one line; `hint` is for the next attempt, with the output of failed checks. */
  | {
      readonly kind: 'failed' | 'unchanged';
      readonly why: string;
      readonly hint: string;
      /** Somebody cancelled its child run, and does not want another one. Absent: it ended otherwise. */
      readonly isCancelled?: true;
    };

/** Configuration that such a run needs. */
export type AttemptRunConfig = RunConfig & {
  readonly trustMode: Readonly<Record<'implementation', 'auto' | 'manual'>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'validation', number>>;
};

type UnitAttempt<Piece> = Waiting & {
  readonly unit: Piece;
  /** Counts all attempts of the run, from 1. */
  readonly number: number;
};

export interface AttemptRunContext<Values, Own, Piece>
  extends CheckedRunContext<AttemptRunConfig, Values>, Attempts<UnitAttempt<Piece>> {
  readonly own: Own;
  /** Attempts that were begun. */
  readonly begun: number;
  /** The same by the id of their unit. */
  readonly tries: Readonly<Record<string, number>>;
  /** Attempts that are merged. */
  readonly merges: number;
}

/** Facts that such a run emits. */
export type AttemptFact =
  | {
      readonly type: 'ATTEMPT_CHANGED';
      readonly unit: string;
      readonly title: string;
      readonly number: number;
      readonly status: 'started' | UnitEnd['kind'];
      /** Empty where the status says all. */
      readonly reason: string;
    }
  | { readonly type: 'ATTEMPT_WAITS'; readonly unit: string; readonly title: string; readonly reason: string };

/** Decisions and texts of a workflow of attempts. */
export interface AttemptRun<Schema extends z.ZodObject, Own, Piece extends Unit, Actors extends OwnActors = OwnActors> {
  /** Lower-case letters, digits and hyphens. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  readonly input: Schema;
  /** Plural of what is attempted, such as `changes`. */
  readonly units: string;
  /** The workflow's own data at the start, as plain JSON. */
  readonly begin: (input: z.output<Schema>, request: string) => Own;
  /** The unit to begin now; `undefined`: none is left, or those under way have to end first. */
  readonly next: (work: Work<z.output<Schema>, Own, Piece>) => Piece | undefined;
  /** Child runs at the same time, from 1; at most the run's `maxConcurrency`. Default: 1 */
  readonly atOnce?: (work: Work<z.output<Schema>, Own, Piece>) => number;
  /** The request for the child run of a unit. */
  readonly request: (work: Work<z.output<Schema>, Own, Piece>, unit: Piece) => string;
  /** The workflow's own data after an attempt. */
  readonly settle: (work: Work<z.output<Schema>, Own, Piece>, unit: Piece, end: UnitEnd) => Own;
  /** Units that are not merged, for the run's progress. Default: it shows none. */
  readonly left?: (own: Own) => number;
  /** Units that came to nothing, one sentence each: a person sees a result that lacks them. Default: none. */
  readonly failures?: (own: Own) => readonly string[];
  /** Workflow of the child runs. Default: build */
  readonly child?: string;
  /** Attempts of one run. Default: 100 */
  readonly mostAttempts?: number;
  /** Agents that its own activities call. Default: none. */
  readonly roles?: readonly WorkflowRole[];
  /** Types of activities of its own, as `activity` declares them, by name. Default: none. */
  readonly actors?: Actors;
  /** States of its own before the first attempt. The last one leads to `choosing`. Default: none. */
  readonly before?: (run: AttemptSetup<z.output<Schema>, Own, Piece, Actors>) => OwnStates;
  /**
   * States of its own once no unit is left and something is merged. The last one leads to `validation`, or back to `choosing` where there
   * is more to begin. Its setup extends the one of `before`. Default: none.
   */
  readonly after?: (run: AttemptSetup<z.output<Schema>, Own, Piece, Actors>) => OwnStates;
  /** The activities of `actors`, as the server performs them. */
  readonly activities?: (tools: ActivityTools) => OwnActivities<Actors>;
  /** How gates of its own states are shown, by kind. Each kind has to be there. */
  readonly gates?: Readonly<Record<string, GateInfo>>;
  /** Documents of its own states, by artifact type. */
  readonly documents?: Readonly<Record<string, DocumentInfo>>;
}

export type OwnActors = Record<string, UnknownActorLogic>;

/** An activity for each actor, of the same input and output. */
export type OwnActivities<Actors> = {
  readonly [Name in keyof Actors]: Actors[Name] extends PromiseActorLogic<infer Output, infer Input>
    ? Activity<Input, Output>
    : unknown;
};

/** States of a workflow's own, made with `setup.createStateConfig`. */
export interface OwnStates {
  /** The setup that has their activities, actions and guards: {@link AttemptSetup}, or what its `extend` gives. */
  readonly setup: { readonly createMachine: unknown };
  /** The first of them. */
  readonly initial: string;
  readonly states: Readonly<Record<string, object>>;
}

export const attemptSignals = {
  ...projectRunSignals,
  ...decisionsOf('APPROVAL_REJECTED'),
};

type AttemptRunEnd =
  | { readonly type: `xstate.done.actor.attempt-${string}`; readonly output: ChildResult }
  | { readonly type: `xstate.error.actor.attempt-${string}`; readonly error: unknown };
type AttemptEvent = Extract<DecisionSignal, { type: keyof typeof attemptSignals }> | Forked | AttemptRunEnd;
type AttemptActivities = CheckedRunActivities<AttemptRunConfig> & ChildMergeActivities;

const PAUSED = '#run.paused';

/** Makes a state pause the run when its activity fails. For `onError`. */
export const attemptFailedAt = pausesAt(PAUSED);

export type AttemptSetup<Values, Own, Piece extends Unit, Actors extends OwnActors = OwnActors> = ReturnType<
  typeof attemptSetup<Values, Own, Piece, Actors>
>;

type Decisions<Values, Own, Piece extends Unit> = Pick<
  AttemptRun<z.ZodObject, Own, Piece>,
  'child' | 'units' | 'mostAttempts' | 'failures' | 'left'
> & {
  readonly next: (work: Work<Values, Own, Piece>) => Piece | undefined;
  readonly atOnce?: (work: Work<Values, Own, Piece>) => number;
  readonly request: (work: Work<Values, Own, Piece>, unit: Piece) => string;
  readonly settle: (work: Work<Values, Own, Piece>, unit: Piece, end: UnitEnd) => Own;
};

const actorOf = ({ number }: { readonly number: number }): string => `attempt-${number}`;

function workOf<Values, Own, Piece>({
  request,
  input,
  own,
  open,
  begun,
}: AttemptRunContext<Values, Own, Piece>): Work<Values, Own, Piece> {
  return { request, input, own, underWay: Object.values(open).map(({ unit }) => unit), begun };
}

/** The unit to begin now, where there is room for one. */
function nextUnit<Values, Own, Piece extends Unit>(
  { next, atOnce, mostAttempts = 100 }: Decisions<Values, Own, Piece>,
  context: AttemptRunContext<Values, Own, Piece>,
): Piece | undefined {
  const work = workOf(context);
  const room = Math.min(context.config.maxConcurrency, atOnce?.(work) ?? 1) - work.underWay.length;
  if (room <= 0 || context.begun >= mostAttempts) return undefined;
  const unit = next(work);
  return work.underWay.some(({ id }) => id === unit?.id) ? undefined : unit;
}

function endOf(end: AttemptEnd): UnitEnd {
  if (end.kind === 'merged') return { kind: 'merged' };
  const isCancelled = end.kind === 'failed' && end.isCancelled === true;
  return { kind: end.kind, why: causeIn(end.why), hint: end.hint ?? end.why, ...(isCancelled ? { isCancelled } : {}) };
}

/** The code of the run's branch after a merge. */
function codeOf({ commit, codeTree }: ChildMerged, version: number): RunFact {
  const artifact = { stage: 'implementation', type: 'code', commitSha: commit, hash: codeTree, version };
  return { type: 'ARTIFACT_CREATED', artifact };
}

function attemptSetup<Values, Own, Piece extends Unit, Actors extends OwnActors>(
  decisions: Decisions<Values, Own, Piece>,
  actors: Actors,
) {
  type Context = AttemptRunContext<Values, Own, Piece>;
  type Attempt = UnitAttempt<Piece>;
  type Fact = RunFact | AttemptFact;
  const progressOf = (done: number, own: Own): readonly Fact[] => {
    const left = decisions.left?.(own);
    return left === undefined ? [] : [{ type: 'PROGRESS_CHANGED', done, total: done + left }];
  };
  return setup({
    types: {
      context: {} as Context,
      input: {} as ProjectRunInput<AttemptRunConfig>,
      events: {} as AttemptEvent,
      emitted: {} as Fact,
      meta: {} as StateMeta<Context>,
    },
    actors: {
      ...actors,
      ...declared<AttemptActivities>()(...CHECKED_RUN, ...CHILD_MERGE),
      attempt: childRun(decisions.child ?? 'build'),
      watchAttempts: watching(activity<WatchInput, Rested>()),
    },
    delays: projectRunDelays,
    guards: { ...projectRunGuards, namesTheResult: approves<Context>(shownResult) },
    actions: {
      ...checkedRunActions<Context, AttemptEvent>(),
      reportValidation: reportingValidation<Context, AttemptEvent>(
        ({ merges }) => `The checks pass on the result: ${merges} merged.`,
      ),
      ...attemptActions<Context, AttemptEvent, Attempt, Piece, Fact>({
        child: 'attempt',
        actorOf,
        next: (context) => nextUnit(decisions, context),
        begin(context, unit) {
          const number = context.begun + 1;
          const { id, title } = unit;
          const tries = { ...context.tries, [id]: (context.tries[id] ?? 0) + 1 };
          return {
            attempt: { unit, number },
            request: {
              request: [
                decisions.request(workOf(context), unit),
                ...context.notes.map(({ text }) => `Note of a person: ${text}`),
              ]
                .join('\n\n')
                .slice(0, 40_000)
                .toWellFormed(),
              title: `${id} ${number}`,
              attempt: { number: tries[id] ?? 1 },
            },
            change: { begun: number, tries },
            facts: [
              ...(number === 1 ? progressOf(0, context.own) : []),
              { type: 'ATTEMPT_CHANGED', unit: id, title, number, status: 'started', reason: '' },
            ],
          };
        },
        asked: ({ unit: { id, title } }, reason) => ({ fact: { type: 'ATTEMPT_WAITS', unit: id, title, reason } }),
        settle(context, { unit, number }, ended) {
          const end = endOf(ended);
          const merges = context.merges + (end.kind === 'merged' ? 1 : 0);
          const reason = end.kind === 'merged' ? '' : keptReason(end.why);
          const own = decisions.settle(workOf(context), unit, end);
          return {
            change: { own, merges },
            facts: [
              ...(ended.kind === 'merged' ? [codeOf(ended.merged, merges)] : []),
              { type: 'ATTEMPT_CHANGED', unit: unit.id, title: unit.title, number, status: end.kind, reason },
              ...progressOf(merges, own),
            ],
          };
        },
      }),
    },
  });
}

type Merge<Context> = { readonly context: Context; readonly event: { readonly output: ChildIntegrated } };

const IMPLEMENTATION = { status: 'running', stage: 'implementation' } as const;
const title = (context: { readonly request: string }): string => titleOf(undefined, context);

/** Makes the whole workflow. Its parts can be given other values: `{ ...attemptWorkflow({…}), progressWord: 'changes merged' }`. */
export function attemptWorkflow<
  Schema extends z.ZodObject,
  Own,
  Piece extends Unit,
  Actors extends OwnActors = OwnActors,
>(run: AttemptRun<Schema, Own, Piece, Actors>): WorkflowValue {
  const { name, description, input, units, roles = [], gates, documents, activities } = run;
  const machine = machineOf(run);
  return {
    definition: defineWorkflow({
      name,
      version: 1,
      description,
      machine,
      signals: attemptSignals,
      input,
      needsProject: true,
      workspace: (context: AttemptRunContext<unknown, unknown, unknown>) => context.head || null,
    }),
    roles,
    trustModes: [
      { name: 'planning', title: 'Plans', description: 'Approve the plan of each child run.', default: 'auto' },
      {
        name: 'implementation',
        title: 'Results',
        description: 'Approve the result of each child run, and the whole before it is published.',
        default: 'auto',
      },
      { name: 'fixes', title: 'Fixes', description: 'Decide whether failed checks are fixed.', default: 'auto' },
    ],
    gates: {
      result: {
        title: 'Result',
        presents: 'changes',
        labels: { retry: { button: 'Check again' } },
        details: { failures: 'Not done' },
      },
      ...gates,
    },
    documents: { code: { title: 'Changes', drawnAs: 'changes' }, ...documents },
    events: {
      ATTEMPT_CHANGED: { text: '{title}, attempt {number}: {status}[: {reason}]' },
      ATTEMPT_WAITS: { text: '{title} waits for you: {reason}' },
    },
    ...(run.left === undefined ? {} : { progressWord: `${units} merged` }),
    activities: (tools) =>
      tidiedAll(tools, {
        ...checkedRunActivities<AttemptRunConfig>(tools, roles),
        ...childMergeActivities(tools),
        watchAttempts: watchChildren(tools),
        ...activities?.(tools),
      }),
  };
}

/** States of its own that such a run has. */
const STATES: readonly string[] = [
  'preparing',
  'choosing',
  'working',
  'judging',
  'merging',
  'validation',
  'awaitingResult',
  'publishing',
  'last',
];

/** @throws {InvalidRequest} for a name that there is already */
function ownStatesOf(
  workflow: string,
  parts: Readonly<Record<'before' | 'after', OwnStates | undefined>>,
): Readonly<Record<string, object>> {
  const own: Record<string, object> = {};
  for (const [part, { states = {} } = {}] of Object.entries(parts))
    for (const [name, state] of Object.entries(states)) {
      const whose = STATES.includes(name)
        ? `which every workflow of attempts has (${STATES.join(', ')})`
        : "which 'before' has";
      if (STATES.includes(name) || Object.hasOwn(own, name))
        throw new InvalidRequest(
          `Workflow '${workflow}': '${part}' has the state '${name}', ${whose}; name it otherwise.`,
        );
      own[name] = state;
    }
  return own;
}

function machineOf<Schema extends z.ZodObject, Own, Piece extends Unit, Actors extends OwnActors>(
  run: AttemptRun<Schema, Own, Piece, Actors>,
): AnyStateMachine {
  type Values = z.output<Schema>;
  type Context = AttemptRunContext<Values, Own, Piece>;
  const decisions: Decisions<Values, Own, Piece> = run;
  const base = attemptSetup<Values, Own, Piece, Actors>(decisions, run.actors ?? ({} as Actors));
  const before = run.before?.(base);
  // Only the workflow's own states use the additions of its setup.
  const extended = (before?.setup ?? base) as typeof base;
  const after = run.after?.(extended);
  const made = (after?.setup ?? extended) as typeof base;
  const own = ownStatesOf(run.name, { before, after });
  const failuresOf = (context: Context) => run.failures?.(context.own) ?? [];
  const summary = (context: Context) => summaryOf(run.units, context.merges, failuresOf(context).length);
  return made.createMachine({
    id: 'run',
    initial: 'active',
    context: ({ input }) => ({
      ...checkedRunContext<AttemptRunConfig, Values>(input, run.input.parse(input.input ?? {})),
      ...NO_ATTEMPTS,
      own: run.begin(run.input.parse(input.input ?? {}), input.request),
      begun: 0,
      tries: {},
      merges: 0,
    }),
    on: { ...takenEverywhere('.cancelled'), ...childEnds() },
    states: {
      active: {
        initial: 'preparing',
        states: {
          preparing: preparingState(before?.initial ?? 'choosing', 'preparation', attemptFailedAt),
          // Made with a setup that extends this one.
          ...(own as Record<string, never>),
          choosing: {
            meta: IMPLEMENTATION,
            always: [
              { guard: ({ context }) => context.ended.length > 0, target: 'judging' },
              {
                guard: ({ context }) => nextUnit(decisions, context) !== undefined,
                target: 'choosing',
                reenter: true,
                actions: 'beginAttempt',
              },
              { guard: ({ context }) => Object.keys(context.open).length > 0, target: 'working' },
              { guard: ({ context }) => context.merges > 0, target: after?.initial ?? 'validation' },
              { target: '#run.notDone' },
            ],
          },
          working: {
            meta: IMPLEMENTATION,
            ...workingState({ src: 'watchAttempts', next: 'choosing', onError: attemptFailedAt('implementation') }),
          },
          judging: { meta: IMPLEMENTATION, ...judgingState({ failed: 'choosing', merging: 'merging' }) },
          merging: mergingState<Context>(run.units),
          validation: validationState({
            checkInputOf,
            isAsked: (context: Context) => isResultAsked(context) || failuresOf(context).length > 0,
            asked: '#run.active.awaitingResult',
            publishing: '#run.active.publishing',
            onError: attemptFailedAt('validation'),
          }),
          awaitingResult: {
            meta: resultGate(summary, failuresOf),
            on: {
              APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'publishing' },
              RETRY_REQUESTED: 'validation',
            },
          },
          publishing: publishingState(),
          last: { type: 'history', history: 'deep' },
        },
      },
      paused: pausedState('#run.active.last', {
        decisions: () => null,
        ways: PUBLISHING_WAYS,
        on: publishingWays({
          end: '#run.completed',
          place: '#run.active.publishing.recording',
          beside: '#run.active.publishing.pushingBeside',
          takingIn: '#run.active.publishing.takingIn',
        }),
      }),
      completed: {
        type: 'final',
        meta: {
          status: 'completed',
          message: (context) => `${summary(context)}. ${outcomeOf(context)}`,
          failures: failuresOf,
        },
      },
      notDone: notDoneState(run.units, failuresOf),
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as AnyStateMachine;
}

/** Counts in one line. */
function summaryOf(units: string, merged: number, failed: number): string {
  return [`${merged} ${units} merged`, ...(failed === 0 ? [] : [`${failed} not done`])].join(', ');
}

/** The state in which the result of an attempt is merged and checked. */
function mergingState<Context extends AttemptRunContext<unknown, unknown, unknown>>(units: string) {
  return {
    meta: IMPLEMENTATION,
    initial: 'integrating',
    states: childMergeStates({
      childOf: ({ judged }: Context) => judged?.childId ?? '',
      mergeOf: ({ judged }) => judged?.integrated ?? null,
      checkInputOf,
      units,
      onIntegrated: [
        {
          guard: ({ context, event }: Merge<Context>) => event.output.codeTree === context.codeTree,
          target: '#run.active.choosing',
          actions: 'failUnchanged',
        },
        ...toChecks(hasTests),
      ],
      failed: '#run.active.choosing',
      passed: '#run.active.choosing',
      onError: attemptFailedAt('implementation'),
      onCheckError: attemptFailedAt('validation'),
    }),
  } as const;
}

/** The gate at which a person approves the result, or has it checked again. */
function resultGate<Context extends AttemptRunContext<unknown, unknown, unknown>>(
  summary: (context: Context) => string,
  failuresOf: (context: Context) => readonly string[],
) {
  return approvalGate<Context>({
    stage: 'validation',
    kind: 'result',
    decisions: ['approve', 'retry'],
    summary: (context) => context.failure ?? `${summary(context)}. Publish the result?`,
    shows: shownResult,
    details: (context) => ({
      ...(context.failure === null ? {} : { failure: context.failure }),
      ...(failuresOf(context).length === 0 ? {} : { failures: [...failuresOf(context)] }),
    }),
  });
}

function publishingState() {
  return {
    meta: { status: 'running', stage: 'publishing' },
    initial: 'choosingBase',
    states: {
      ...publishingStates({
        title,
        check: '#run.active.validation',
        done: '#run.completed',
        first: 'recording',
        onError: attemptFailedAt('publishing'),
      }),
      takingIn: takingInState('#run.active.validation', attemptFailedAt('publishing')),
    },
  } as const;
}

/** The end of a run of which nothing was merged. */
function notDoneState<Context extends { readonly begun: number }>(
  units: string,
  failuresOf: (context: Context) => readonly string[],
) {
  return {
    type: 'final',
    meta: {
      status: 'completed',
      message: () => `No ${units} merged.`,
      failures(context: Context) {
        const failures = failuresOf(context);
        return failures.length > 0 || context.begun === 0 ? failures : [`No attempt of ${context.begun} was merged`];
      },
    },
  } as const;
}
