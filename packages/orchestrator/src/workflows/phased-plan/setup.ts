/** Types, signals and actions of the machine, and what its fragments read of the context. */
import { assign, enqueueActions, setup } from 'xstate';
import type { TakenIn } from '../../activities/git/integrate-base.ts';
import type { ChildIntegrated, ChildMerged } from '../../activities/git/merge-child.ts';
import { type Asked, askedText } from '../../activities/pull-request/review-remarks.ts';
import type { Checked } from '../../activities/types.ts';
import { type ChildRequest, type ChildResult, childRun } from '../../core/child-runs.ts';
import type { StateMeta } from '../../core/definition.ts';
import { checkInputOf } from '../parts/evidence.ts';
import { startable, started } from '../parts/fan-out.ts';
import { approves } from '../parts/gate.ts';
import { pausesAt } from '../parts/pausing.ts';
import { conflictsText } from '../parts/publishing.ts';
import {
  numberOf as pullRequestOf,
  pullRequestActions,
  pullRequestGuards,
  withInherited,
} from '../parts/pull-request.ts';
import { reportingValidation, shownResult } from '../parts/result.ts';
import { type DecisionSignal, decisionsOf, type Forked, type RunFact } from '../parts/signals.ts';
import type { FailedAttempt } from '../parts/child-merge.ts';
import { causeIn } from '../parts/children.ts';
import { declared } from '../parts/declared-activities.ts';
import {
  CHECKED_RUN,
  checkedRunActions,
  CHILD_MERGE,
  projectRunDelays,
  projectRunGuards,
  projectRunSignals,
} from '../parts/project-run.ts';
import { FOR_REVIEWERS, TO_THE_RESULT } from './added-phases.ts';
import { answeredBy } from './answered-by.ts';
import type { PhaseStatus, PlanFact } from './orchestrator-state.ts';
import type { PhaseOutput } from './plan-phase/types.ts';
import { MAX_PHASE_NUMBER, type PlanPhase } from './plan-file.ts';
import type { PlanActivities, PlanConfig, PlanContext, PlanRunInput } from './types.ts';

/** Signals that the run of a plan accepts. */
export const planSignals = { ...projectRunSignals, ...decisionsOf('APPROVAL_REJECTED', 'FIX_DECIDED') };

/** The ends of child runs, which are spawned and belong to no state. */
type PhaseEnd =
  | { readonly type: `xstate.done.actor.phase-${string}`; readonly output: ChildResult<PhaseOutput> }
  | { readonly type: `xstate.error.actor.phase-${string}`; readonly error: unknown };

type PlanEvent = Extract<DecisionSignal, { type: keyof typeof planSignals }> | Forked | PhaseEnd;

type Input<Name extends keyof PlanActivities> = PlanActivities[Name]['input'];

type Output<Name extends keyof PlanActivities> = PlanActivities[Name]['output'];

/** Phases of a wave at the same time, at most; a smaller `maxConcurrency` of the run counts. */
export const AT_ONCE = 3;

const waveOf = ({ waves, wave }: PlanContext): readonly number[] => waves[wave] ?? [];

export const phaseOf = ({ phases }: PlanContext, number: number): PlanPhase => {
  const phase = phases.find((each) => each.number === number);
  if (phase === undefined) throw new Error(`the plan has no phase ${number}`);
  return phase;
};

export const nameOf = ({ number, title }: PlanPhase): string =>
  title === '' ? `Phase ${number}` : `Phase ${number}: ${title}`;

/** Id of the actor that is a phase's present child run. */
export const actorOf = ({ starts }: PlanContext, number: number): string => `phase-${number}-${starts[number] ?? 0}`;

export const numberOf = (actor: string): number => Number(/^phase-(\d+)-/.exec(actor)?.[1]);

/** Next phase of the wave to be merged: in the order of their numbers. */
export const nextMerge = (context: PlanContext): number | undefined =>
  waveOf(context).find((number) => !context.mergedPhases.includes(number) && context.finished[number] !== undefined);

export const waiting = (context: PlanContext): readonly number[] =>
  waveOf(context).filter((number) => !context.mergedPhases.includes(number) && context.finished[number] === undefined);

export const hasCommands = ({ test, lint }: PlanContext): boolean =>
  (test?.command ?? '') !== '' || (lint?.command ?? '') !== '';

export const checkInput = (context: PlanContext, commit: string, mode: Checked['mode']): Input<'check'> => ({
  ...checkInputOf(context, commit, mode),
  // The base's tests say what is to hold; lint has nothing to do with them.
  lint: mode === 'as_is' ? context.lint : null,
});

/** Section of a phase, with the messages of people and the reason why its last child run could not be used. */
const toldOf = ({ notes, hints }: PlanContext, { number, text }: PlanPhase): string =>
  [
    text,
    ...notes.map((note) => `Note of a person: ${note.text}`),
    ...((hints[number] ?? '') === '' ? [] : [`An earlier attempt at this phase could not be used: ${hints[number]}`]),
  ].join('\n\n');

const childRequest = (context: PlanContext, number: number): ChildRequest => {
  const phase = phaseOf(context, number);
  const { planPath, maxRetries } = context.input;
  const { test, lint } = context;
  return {
    request: nameOf(phase),
    title: nameOf(phase),
    attempt: { number: context.starts[number] ?? 1 },
    input: {
      planPath,
      planFile: context.planFile,
      number,
      total: context.phases.length,
      title: phase.title,
      text: toldOf(context, phase),
      criteria: [...phase.criteria],
      maxRetries,
      maxIterations: Math.max(1, context.iterationLimit - context.iterations),
      ...(context.conflicts?.[number] === undefined ? {} : { conflicts: [...context.conflicts[number]] }),
      ...(test === null ? {} : { test: { ...test } }),
      ...(lint === null ? {} : { lint: { ...lint } }),
    },
  };
};

/** Limit of iterations after a person's decision: there is room for one phase with all its retries. */
const limitAnew = ({ iterationLimit, iterations, input }: PlanContext): number =>
  Math.max(iterationLimit, iterations + input.maxRetries + 1);

export const progress = ({ phases, mergedPhases }: PlanContext) =>
  ({ type: 'PROGRESS_CHANGED', done: mergedPhases.length, total: phases.length }) as const;

export const failedAt = pausesAt('#phased-plan.paused');

/** Types, activities, and what the parts bring. */
const withParts = setup({
  types: {
    context: {} as PlanContext,
    input: {} as PlanRunInput,
    events: {} as PlanEvent,
    emitted: {} as RunFact | PlanFact,
    meta: {} as StateMeta<PlanContext>,
  },
  actors: {
    ...declared<PlanActivities>()(
      ...CHECKED_RUN,
      ...CHILD_MERGE,
      'readPlan',
      'findCommands',
      'followPullRequest',
      'mergePullRequest',
      'closePullRequest',
      'answerReviewers',
    ),
    phase: childRun<ChildRequest, PhaseOutput>('plan-phase'),
  },
  delays: projectRunDelays,
  guards: { ...projectRunGuards, ...pullRequestGuards },
  actions: {
    ...checkedRunActions<PlanContext, PlanEvent>(),
    reportValidation: reportingValidation<PlanContext, PlanEvent>(() => 'The checks pass on the result of all phases.'),
    ...pullRequestActions<PlanContext, PlanEvent>(),
  },
});

export interface Stop {
  /** Why each phase is stopped, by number, for the pause. */
  readonly phases: Readonly<Record<string, string>>;
  readonly reason: 'agent_failed' | 'merge_conflict';
  /** Told to the agents of the next attempt. Absent: what is known of earlier ones. */
  readonly hint?: string;
}

function stoppedBy(context: PlanContext, { phases, reason, hint }: Stop): Pick<PlanContext, 'anew' | 'paused'> {
  const numbers = Object.keys(phases).map(Number);
  const [first = 0] = numbers;
  const rest = numbers.length > 1 ? `, and ${numbers.length - 1} more` : '';
  return {
    anew: Object.fromEntries(numbers.map((number) => [number, hint ?? context.hints[number] ?? ''])),
    paused: {
      reason,
      stage: 'implementation',
      message: `${nameOf(phaseOf(context, first))} cannot be used: ${phases[first] ?? ''}${rest}\nRetry starts ${numbers.length === 1 ? 'the phase' : 'these phases'} anew from the present branch; notes that you give go along.`,
    },
  };
}

export const planSetup = withParts.extend({
  guards: {
    namesTheResult: approves(shownResult),
    startsAnew: ({ context }) => context.anew !== null,
  },
  actions: {
    /** Starts as many child runs of the wave as may run now. */
    startPhases: enqueueActions(({ enqueue, context }) => {
      const children = context.children;
      if (children === null) return;
      const ids = startable(children);
      for (const id of ids) enqueue.spawnChild('phase', { id, input: childRequest(context, numberOf(id)) });
      enqueue.assign({ children: started(children, ids) });
      for (const id of ids) enqueue.emit(said(numberOf(id), 'implementing', context.hints[numberOf(id)] || null));
    }),
    /** Keeps what a retry starts anew. */
    stopPhases: enqueueActions(({ enqueue, context }, stop: Stop) => {
      enqueue.assign(stoppedBy(context, stop));
      for (const [number, why] of Object.entries(stop.phases)) enqueue.emit(said(Number(number), 'blocked', why));
    }),
    keepChildMerge: assign(({ context }, { integrated }: { integrated: ChildIntegrated }) => ({
      merging: { phase: context.merging?.phase ?? 0, integrated },
    })),
    /** The phase that is being merged cannot be. */
    failAttempt: enqueueActions(({ enqueue, context }, { reason, why, hint }: FailedAttempt) => {
      const phase = context.merging?.phase ?? 0;
      const told = hint === undefined ? { why } : { why: causeIn(why), hint };
      enqueue.assign(stoppedBy(context, { reason, phases: { [phase]: told.why }, ...told }));
      enqueue.emit(said(phase, 'blocked', told.why));
    }),
    /** The phase is on the run's branch. */
    passAttempt: enqueueActions(({ enqueue, context }, { merged: { commit, codeTree } }: { merged: ChildMerged }) => {
      const phase = context.merging?.phase ?? 0;
      const mergedPhases = [...context.mergedPhases, phase];
      const hash = context.finished[phase]?.commit ?? commit;
      enqueue.assign({
        ...answeredBy(context, { phase, commit: hash, codeTree }),
        head: commit,
        codeTree,
        mergedPhases,
        finished: without(context.finished, [String(phase)]),
        hints: without(context.hints, [String(phase)]),
      });
      enqueue.emit({ type: 'PHASE_COMMITTED', phase, hash, message: nameOf(phaseOf(context, phase)) });
      enqueue.emit(said(phase, 'completed', null));
      enqueue.emit(progress({ ...context, mergedPhases }));
    }),
    /**
     * Adds a phase after all others, in which the result is changed as a person asked for.
     * @param held at the pull request: what waited there, quoted; may be empty
     */
    addPhase: enqueueActions(({ enqueue, context }, { feedback, held }: { feedback: string; held?: string }) => {
      const asked = 'All phases are merged. A person looked at the result and asks for this change:';
      const text = `${asked}\n\n${held === undefined || held === '' ? feedback : asksAtGate(held, feedback)}`;
      const askedPhase = held === undefined ? {} : { askedPhase: nextNumber(context) };
      const change = { ...withPhase(context, TO_THE_RESULT, text), ...askedPhase };
      enqueue.assign(change);
      enqueue.emit(planRead(context, change.phases));
      enqueue.emit(progress({ ...context, ...change }));
    }),
    /**
     * Adds a phase after all others, in which is done what reviewers of the pull request ask. Its calls count against the limit as
     * it is, since no person decided.
     */
    addAskedPhase: enqueueActions(({ enqueue, context }, { asked }: { asked: Asked }) => {
      const text = `All phases are merged.\n\n${askedText(pullRequestOf(context), asked)}`;
      const change = withPhase(context, FOR_REVIEWERS, text);
      enqueue.assign({ ...change, askedPhase: nextNumber(context), iterationLimit: context.iterationLimit });
      enqueue.emit(planRead(context, change.phases));
      enqueue.emit(progress({ ...context, ...change }));
    }),
    keepTakenIn: assign((_, { taken }: { taken: TakenIn }) => ({
      head: taken.commit,
      baseCommit: taken.baseCommit,
      codeTree: taken.codeTree,
    })),
    /** Adds a phase after all others, in which an agent resolves conflicts. */
    addConflictPhase: enqueueActions(({ enqueue, context }, { conflicts }: { conflicts: readonly string[] }) => {
      const number = nextNumber(context);
      const change = withPhase(context, 'Conflicts', conflictsText(conflicts));
      enqueue.assign({ ...change, conflicts: { ...context.conflicts, [number]: conflicts } });
      enqueue.emit(planRead(context, change.phases));
      enqueue.emit(progress({ ...context, ...change }));
    }),
    takeFork: assign(({ context }) => withInherited(context)),
    /** Starts the stopped phases anew, in the present wave. */
    beginAnew: assign(({ context }) => {
      const again = Object.keys(context.anew ?? {});
      return {
        hints: { ...context.hints, ...context.anew },
        finished: without(context.finished, again),
        children: null,
        merging: null,
        anew: null,
        iterationLimit: limitAnew(context),
      };
    }),
  },
});

/** Remarks that waited, quoted, and the words of the person at the gate. */
const asksAtGate = (held: string, feedback: string): string =>
  `${held}\n\nThe words of the person who sends it back:\n${feedback}`;

/** The plan with one more phase, which depends on all others and is the next wave. */
function withPhase(context: PlanContext, title: string, text: string) {
  const number = nextNumber(context);
  const dependsOn = context.phases.map((phase) => phase.number);
  const phases: readonly PlanPhase[] = [...context.phases, { number, title, text, criteria: [], dependsOn }];
  return {
    phases,
    waves: [...context.waves, [number]],
    wave: context.waves.length,
    children: null,
    iterationLimit: limitAnew(context),
  };
}

const planRead = ({ input }: PlanContext, phases: readonly PlanPhase[]) =>
  ({
    type: 'PLAN_READ',
    planPath: input.planPath,
    phases: phases.map(({ number }) => number),
    total: phases.length,
    maxRetries: input.maxRetries,
  }) as const;

/** Number for one more phase: the next after the highest, as long as a heading may have it. */
function nextNumber({ phases }: PlanContext): number {
  const taken = new Set(phases.map(({ number }) => number));
  const next = Math.max(...taken, 0) + 1;
  if (next <= MAX_PHASE_NUMBER) return next;
  let free = 1;
  while (taken.has(free)) free += 1;
  return free;
}

/**
 * Sets the merge strategy: that of the request, `commits: squash`, that of the project or the server, else a merge that keeps the
 * commit of each phase.
 */
export function withStrategy(
  { requestedConfig, input }: PlanContext,
  { config, namedMergeStrategy }: Output<'prepare'>,
): PlanConfig {
  const byCommits = input.commits === 'squash' ? 'squash' : undefined;
  const mergeStrategy = requestedConfig.git?.mergeStrategy ?? byCommits ?? namedMergeStrategy ?? 'merge';
  return { ...config, git: { ...config.git, mergeStrategy } };
}

export const said = (phase: number, status: PhaseStatus, lastError: string | null) =>
  ({ type: 'PHASE_CHANGED', phase, status, retryCount: 0, lastError }) as const;

export function without<Value>(
  record: Readonly<Record<string, Value>>,
  keys: readonly string[],
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}
