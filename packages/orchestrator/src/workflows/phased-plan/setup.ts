/** Types, signals and actions of the machine, and what its fragments read of the context. */
import { assign, enqueueActions, setup } from 'xstate';
import type { TakenIn } from '../../activities/git/integrate-base.ts';
import { type Asked, askedText } from '../../activities/pull-request/review-remarks.ts';
import type { Checked } from '../../activities/types.ts';
import { type ChildRequest, type ChildResult, childRun } from '../../core/child-runs.ts';
import type { StateMeta } from '../../core/definition.ts';
import { attemptActions, type AttemptEnd, type Begun, type JudgedAttempt, type Settled } from '../parts/attempts.ts';
import { checkInputOf } from '../parts/evidence.ts';
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
import type { PhaseAttempt, PlanActivities, PlanConfig, PlanContext, PlanRunInput } from './types.ts';

/** Signals that the run of a plan accepts. */
export const planSignals = { ...projectRunSignals, ...decisionsOf('APPROVAL_REJECTED', 'FIX_DECIDED') };

/** The ends of child runs, which are spawned and belong to no state. */
type PhaseEnd =
  | { readonly type: `xstate.done.actor.phase-${string}`; readonly output: ChildResult<PhaseOutput> }
  | { readonly type: `xstate.error.actor.phase-${string}`; readonly error: unknown };

type PlanEvent = Extract<DecisionSignal, { type: keyof typeof planSignals }> | Forked | PhaseEnd;

type Input<Name extends keyof PlanActivities> = PlanActivities[Name]['input'];

type Output<Name extends keyof PlanActivities> = PlanActivities[Name]['output'];

/** Phases at the same time, at most; a smaller `maxConcurrency` of the run counts. */
const AT_ONCE = 3;

export const phaseOf = ({ phases }: PlanContext, number: number): PlanPhase => {
  const phase = phases.find((each) => each.number === number);
  if (phase === undefined) throw new Error(`the plan has no phase ${number}`);
  return phase;
};

export const nameOf = ({ number, title }: PlanPhase): string =>
  title === '' ? `Phase ${number}` : `Phase ${number}: ${title}`;

/** Id of the actor that is an attempt's child run. */
const actorOf = ({ phase, start }: PhaseAttempt): string => `phase-${phase}-${start}`;

const isAtLimit = ({ iterations, iterationLimit }: PlanContext): boolean => iterations >= iterationLimit;

/** Phases that can be begun, in their order: all that they depend on is merged. */
function readyPhases({ phases, mergedPhases, open, ended, judged, stopped }: PlanContext): readonly PlanPhase[] {
  const attempts = [...Object.values(open), ...ended, ...(judged === null ? [] : [judged])];
  const begun = new Set([...mergedPhases, ...attempts.map(({ phase }) => phase), ...Object.keys(stopped).map(Number)]);
  return phases.filter(
    ({ number, dependsOn }) => !begun.has(number) && dependsOn.every((other) => mergedPhases.includes(other)),
  );
}

/** The next phase that can be begun now; `undefined`: there is none. */
export function nextToStart(context: PlanContext): PlanPhase | undefined {
  const { open, config } = context;
  if (isAtLimit(context) || Object.keys(open).length >= Math.min(AT_ONCE, config.maxConcurrency)) return undefined;
  return readyPhases(context)[0];
}

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

const childRequest = (context: PlanContext, phase: PlanPhase, start: number): ChildRequest => {
  const { number } = phase;
  const { planPath, maxRetries } = context.input;
  const { test, lint } = context;
  return {
    request: nameOf(phase),
    title: nameOf(phase),
    attempt: { number: start },
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

const progress = ({ phases, mergedPhases }: PlanContext) =>
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
    ...attemptActions<PlanContext, PlanEvent, PhaseAttempt, PlanPhase, RunFact | PlanFact, PhaseOutput>({
      child: 'phase',
      actorOf,
      next: nextToStart,
      begin: beginPhase,
      kept: ({ headCommit, output: { iterations, summary } }) => ({ commit: headCommit ?? '', iterations, summary }),
      settle: settledPhase,
    }),
  },
});

function beginPhase(context: PlanContext, phase: PlanPhase): Begun<PlanContext, PhaseAttempt, PlanFact> {
  const { number } = phase;
  const start = (context.starts[number] ?? 0) + 1;
  return {
    attempt: { phase: number, start },
    request: childRequest(context, phase, start),
    change: { starts: { ...context.starts, [number]: start } },
    facts: [said(number, 'implementing', context.hints[number] || null)],
  };
}

function settledPhase(
  context: PlanContext,
  { phase, commit, summary = '', iterations = 0 }: JudgedAttempt<PhaseAttempt>,
  end: AttemptEnd,
): Settled<PlanContext, RunFact | PlanFact> {
  const counted = { iterations: context.iterations + iterations };
  if (end.kind !== 'merged') {
    const { reason, why, hint } = end;
    // The rest of a hint is for the agent of the next attempt.
    const stop = hint === undefined ? { reason, why } : { reason, why: causeIn(why), hint };
    return {
      change: { ...counted, stopped: { ...context.stopped, [phase]: stop } },
      facts: [said(phase, 'blocked', stop.why)],
    };
  }
  const mergedPhases = [...context.mergedPhases, phase];
  const hash = commit ?? end.merged.commit;
  const answer = answeredBy(context, { phase, commit: hash, codeTree: end.merged.codeTree, summary });
  return {
    change: { ...counted, ...answer, mergedPhases, hints: without(context.hints, [String(phase)]) },
    facts: [
      { type: 'PHASE_COMMITTED', phase, hash, message: nameOf(phaseOf(context, phase)) },
      said(phase, 'completed', null),
      progress({ ...context, mergedPhases }),
    ],
  };
}

/** The pause for phases that came to nothing. */
function pausedFor(context: PlanContext, stopped: PlanContext['stopped']): PlanContext['paused'] {
  const all = Object.entries(stopped);
  const isOne = all.length === 1;
  const causes = all.map(
    ([number, { why }]) => `${nameOf(phaseOf(context, Number(number)))} cannot be used: ${isOne ? why : causeIn(why)}`,
  );
  const retry = `Retry starts ${isOne ? 'the phase' : 'these phases'} anew from the present branch; notes that you give go along.`;
  return {
    reason: all[0]?.[1].reason ?? 'agent_failed',
    stage: 'implementation',
    message: [...causes, retry].join('\n'),
  };
}

export const planSetup = withParts.extend({
  guards: {
    namesTheResult: approves(shownResult),
    /** The pause is for phases that came to nothing: all others have ended. */
    startsAnew: ({ context: { stopped, open, ended, judged } }) =>
      Object.keys(stopped).length > 0 && Object.keys(open).length + ended.length === 0 && judged === null,
  },
  actions: {
    /** Nothing more can be begun: a person decides whether what came to nothing, or what the limit holds up, is tried again. */
    stopPhases: enqueueActions(({ enqueue, context }) => {
      const why = `the limit of ${context.iterationLimit} iterations is reached`;
      const held = readyPhases(context).map(({ number }) => number);
      const stopped = {
        ...context.stopped,
        ...Object.fromEntries(held.map((number) => [number, { reason: 'agent_failed' as const, why }])),
      };
      enqueue.assign({ stopped, paused: pausedFor(context, stopped) });
      for (const number of held) enqueue.emit(said(number, 'blocked', why));
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
    /** Has the stopped phases started anew. */
    beginAnew: assign(({ context }) => ({
      hints: {
        ...context.hints,
        ...Object.fromEntries(
          Object.entries(context.stopped).map(([number, { hint }]) => [number, hint ?? context.hints[number] ?? '']),
        ),
      },
      stopped: {},
      iterationLimit: limitAnew(context),
    })),
  },
});

/** Remarks that waited, quoted, and the words of the person at the gate. */
const asksAtGate = (held: string, feedback: string): string =>
  `${held}\n\nThe words of the person who sends it back:\n${feedback}`;

/** The plan with one more phase, which depends on all others. */
function withPhase(context: PlanContext, title: string, text: string) {
  const number = nextNumber(context);
  const dependsOn = context.phases.map((phase) => phase.number);
  const phases: readonly PlanPhase[] = [...context.phases, { number, title, text, criteria: [], dependsOn }];
  return { phases, iterationLimit: limitAnew(context) };
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

const said = (phase: number, status: PhaseStatus, lastError: string | null) =>
  ({ type: 'PHASE_CHANGED', phase, status, retryCount: 0, lastError }) as const;

function without<Value>(record: Readonly<Record<string, Value>>, keys: readonly string[]): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}
