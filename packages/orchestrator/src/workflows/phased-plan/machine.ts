/**
 * The run of a plan: each phase is a child run, independent ones at the same time. Their results are merged in order, each merged
 * tree is verified, and the whole is published as any other change.
 */
import type { ActivityError } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { Checked, CheckInput } from '../../activities/types.ts';
import { childRun, type ChildRequest, type ChildResult } from '../../core/child-runs.ts';
import { activity, type StateMeta } from '../../core/definition.ts';
import { failed, fanOut, startable, started, succeeded, verdictOf } from '../parts/fan-out.ts';
import { approvalGate, approves, type Shown } from '../parts/gate.ts';
import { budgetActions, notingActions, takenEverywhere } from '../parts/notes.ts';
import { pausedState, pausesAt, pausingActions, pausingDelays, pausingGuards } from '../parts/pausing.ts';
import { choosingState, mergingState, publishingActions, publishingGuards, pushingState } from '../parts/publishing.ts';
import { headerOf, titleOf } from '../parts/run-context.ts';
import { decisionSignals, type DecisionSignal, type RunFact } from '../parts/signals.ts';
import { clockActions } from '../parts/stage-clock.ts';
import { COMMANDS_QUESTION, commandsIn } from './commands-question.ts';
import type { PhaseStatus, PlanFact } from './orchestrator-state.ts';
import type { PhaseOutput } from './phase/types.ts';
import type { PlanPhase } from './plan-file.ts';
import { type PlanActivities, type PlanConfig, type PlanContext, planInputSchema, type PlanRunInput } from './types.ts';

/** What people may tell the run of a plan. */
export const planSignals = {
  APPROVAL_GRANTED: decisionSignals.APPROVAL_GRANTED,
  CLARIFICATION_ANSWERED: decisionSignals.CLARIFICATION_ANSWERED,
  RETRY_REQUESTED: decisionSignals.RETRY_REQUESTED,
  STAGE_EXTENDED: decisionSignals.STAGE_EXTENDED,
  BUDGET_CHANGED: decisionSignals.BUDGET_CHANGED,
  MESSAGE_SENT: decisionSignals.MESSAGE_SENT,
  RUN_CANCELLED: decisionSignals.RUN_CANCELLED,
};

/** The ends of child runs, which are spawned and belong to no state. */
type PhaseEnd =
  | { readonly type: `xstate.done.actor.phase-${string}`; readonly output: ChildResult<PhaseOutput> }
  | { readonly type: `xstate.error.actor.phase-${string}`; readonly error: unknown };
type PlanEvent = Extract<DecisionSignal, { type: keyof typeof planSignals }> | PhaseEnd;

type Input<Name extends keyof PlanActivities> = PlanActivities[Name]['input'];
type Output<Name extends keyof PlanActivities> = PlanActivities[Name]['output'];

/** Phases of a wave at the same time, at most; a smaller `maxConcurrency` of the run counts. */
const AT_ONCE = 3;

// ---- what the context says

const waveOf = ({ waves, wave }: PlanContext): readonly number[] => waves[wave] ?? [];

const phaseOf = ({ phases }: PlanContext, number: number): PlanPhase => {
  const phase = phases.find((each) => each.number === number);
  if (phase === undefined) throw new Error(`the plan has no phase ${number}`);
  return phase;
};

const nameOf = ({ number, title }: PlanPhase): string =>
  title === '' ? `Phase ${number}` : `Phase ${number}: ${title}`;

/** Id of the actor that is a phase's present child run. */
const actorOf = ({ starts }: PlanContext, number: number): string => `phase-${number}-${starts[number] ?? 0}`;
const numberOf = (actor: string): number => Number(/^phase-(\d+)-/.exec(actor)?.[1]);
/** The actor that an event of its end names. */
const endedActor = (type: string): string => type.slice(type.indexOf('.actor.') + '.actor.'.length);

/** Next phase of the wave to be merged: in the order of their numbers. */
const nextMerge = (context: PlanContext): number | undefined =>
  waveOf(context).find((number) => !context.mergedPhases.includes(number) && context.finished[number] !== undefined);

const waiting = (context: PlanContext): readonly number[] =>
  waveOf(context).filter((number) => !context.mergedPhases.includes(number) && context.finished[number] === undefined);

const hasCommands = ({ test, lint }: PlanContext): boolean =>
  (test?.command ?? '') !== '' || (lint?.command ?? '') !== '';

const checkInput = (context: PlanContext, commit: string, mode: Checked['mode']): Input<'check'> => ({
  ...headerOf(context),
  mode,
  commit,
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  // The base's tests say what is to hold; lint has nothing to do with them.
  lint: mode === 'as_is' ? context.lint : null,
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

const merging = (context: PlanContext) => {
  const phase = context.merging?.phase ?? 0;
  return { ...headerOf(context), head: context.head, childId: context.finished[phase]?.childId ?? '' };
};

const redCommands = ({ commands }: Checked): string =>
  commands
    .filter(({ exitCode }) => exitCode !== 0)
    .map(({ command, exitCode }) => `\`${command}\` (exit code ${exitCode ?? 'none'})`)
    .join(', ');

const redOutput = ({ commands }: Checked): string =>
  commands
    .filter(({ exitCode }) => exitCode !== 0)
    .map(({ command, output }) => `$ ${command}\n${output.slice(-4_000)}`)
    .join('\n\n');

/** What a phase is told beside its section: messages of people, and what stopped its last child run. */
const toldOf = ({ notes, hints }: PlanContext, { number, text }: PlanPhase): string =>
  [
    text,
    ...notes.map((note) => `Note of a person: ${note.text}`),
    ...(hints[number] === undefined ? [] : [`An earlier attempt at this phase could not be used: ${hints[number]}`]),
  ].join('\n\n');

const childRequest = (context: PlanContext, number: number): ChildRequest => {
  const phase = phaseOf(context, number);
  const { planPath, maxRetries } = context.input;
  const { test, lint } = context;
  return {
    request: nameOf(phase),
    title: nameOf(phase),
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
      ...(test === null ? {} : { test: { ...test } }),
      ...(lint === null ? {} : { lint: { ...lint } }),
    },
  };
};

const shownResult = ({ codeTree, concerns }: PlanContext): Shown => ({ codeTree, concerns });

const progress = ({ phases, mergedPhases }: PlanContext) =>
  ({ type: 'PROGRESS_CHANGED', done: mergedPhases.length, total: phases.length }) as const;

/** The engine gives every failed activity and child run an error of this shape. */
const messageOf = (error: unknown): string => (error as ActivityError).message;

const failedAt = pausesAt('#phased-plan.paused');

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
    prepare: activity<Input<'prepare'>, Output<'prepare'>>(),
    readPlan: activity<Input<'readPlan'>, Output<'readPlan'>>(),
    findCommands: activity<Input<'findCommands'>, Output<'findCommands'>>(),
    phase: childRun<ChildRequest, PhaseOutput>('plan-phase'),
    integrateChild: activity<Input<'integrateChild'>, Output<'integrateChild'>>(),
    mergeChild: activity<Input<'mergeChild'>, Output<'mergeChild'>>(),
    check: activity<CheckInput & Pick<Input<'check'>, 'lint'>, Output<'check'>>(),
    findConcerns: activity<Input<'findConcerns'>, Output<'findConcerns'>>(),
    integrate: activity<Input<'integrate'>, Output<'integrate'>>(),
    recordRun: activity<Input<'recordRun'>, Output<'recordRun'>>(),
    pushBranch: activity<Input<'pushBranch'>, Output<'pushBranch'>>(),
    merge: activity<Input<'merge'>, Output<'merge'>>(),
  },
  delays: { ...pausingDelays },
  guards: { ...pausingGuards, ...publishingGuards },
  actions: {
    ...budgetActions<PlanContext, PlanEvent>(),
    ...clockActions<PlanContext, PlanEvent>(),
    ...notingActions<PlanContext, PlanEvent>(),
    ...pausingActions<PlanContext, PlanEvent>(),
    ...publishingActions<PlanContext, PlanEvent>(),
  },
});

const planSetup = withParts.extend({
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
      for (const id of ids) enqueue.emit(said(numberOf(id), 'implementing', context.hints[numberOf(id)] ?? null));
    }),
    keepEvidence: emit((_, { checked }: { checked: Checked }) => ({ type: 'EVIDENCE_RECORDED', ...checked })),
    reportValidation: emit(({ context }) => {
      const codeTree = context.codeTree ?? '';
      return context.failure === null
        ? { type: 'VALIDATION_PASSED', codeTree, summary: 'The checks pass on the result of all phases.' }
        : { type: 'VALIDATION_FAILED', codeTree, severity: 'major', summary: context.failure, feedback: '' };
    }),
    /** Keeps what a retry starts anew, with its reason for the pause. */
    stopPhases: enqueueActions(
      (
        { enqueue, context },
        { phases, reason }: { phases: Readonly<Record<string, string>>; reason: 'agent_failed' | 'merge_conflict' },
      ) => {
        const numbers = Object.keys(phases).map(Number);
        const [first = 0] = numbers;
        const rest = numbers.length > 1 ? `, and ${numbers.length - 1} more` : '';
        enqueue.assign({
          anew: phases,
          paused: {
            reason,
            stage: 'implementation',
            message: `${nameOf(phaseOf(context, first))} cannot be used: ${phases[first] ?? ''}${rest}\nRetry starts ${numbers.length === 1 ? 'the phase' : 'these phases'} anew from the present branch; notes that you give go along.`,
          },
        });
        for (const number of numbers) enqueue.emit(said(number, 'blocked', phases[number] ?? null));
      },
    ),
    /** The phases that were stopped begin anew in the present wave. */
    beginAnew: assign(({ context }) => {
      const again = Object.keys(context.anew ?? {});
      return {
        hints: { ...context.hints, ...context.anew },
        finished: without(context.finished, again),
        children: null,
        merging: null,
        anew: null,
        iterationLimit: Math.max(context.iterationLimit, context.iterations + context.input.maxRetries + 1),
      };
    }),
  },
});

/** How the branch is merged: as the request says, else by the input's `commits`. */
function withStrategy({ requestedConfig, input }: PlanContext, config: PlanConfig): PlanConfig {
  const asked = requestedConfig.git?.mergeStrategy;
  const mergeStrategy = asked ?? (input.commits === 'squash' ? 'squash' : 'merge');
  return { ...config, git: { ...config.git, mergeStrategy } };
}

const said = (phase: number, status: PhaseStatus, lastError: string | null) =>
  ({ type: 'PHASE_CHANGED', phase, status, retryCount: 0, lastError }) as const;

function without<Value>(record: Readonly<Record<string, Value>>, keys: readonly string[]): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}

/** Reads the plan and finds out how the project is verified. */
const preparation = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'preparation' },
  initial: 'preparing',
  states: {
    preparing: {
      invoke: {
        id: 'prepare',
        src: 'prepare',
        input: ({ context }) => ({ ...headerOf(context), requestedConfig: context.requestedConfig }),
        onDone: {
          target: 'readingPlan',
          actions: enqueueActions(({ enqueue, context, event }) => {
            const { baseCommit, excludePaths, setup: install, test, notices } = event.output;
            const config = withStrategy(context, event.output.config);
            enqueue.assign({
              baseCommit,
              head: baseCommit,
              config,
              excludePaths,
              setup: install,
              test: context.test ?? test,
            });
            enqueue.emit({ type: 'RUN_CONFIGURED', config, baseCommit, notices });
          }),
        },
        onError: failedAt('preparation'),
      },
    },
    readingPlan: {
      invoke: {
        id: 'readPlan',
        src: 'readPlan',
        input: ({ context }) => ({
          ...headerOf(context),
          baseCommit: context.baseCommit,
          planPath: context.input.planPath,
          plan: context.input.plan ?? null,
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.faults.length > 0,
            target: '#phased-plan.unreadable',
            actions: assign({ failure: ({ event }) => event.output.faults.join('\n') }),
          },
          {
            target: 'findingCommands',
            actions: enqueueActions(({ enqueue, context, event }) => {
              const { title, phases, waves, planFile } = event.output;
              enqueue.assign({ title, phases, waves, planFile });
              enqueue.emit({
                type: 'PLAN_READ',
                planPath: context.input.planPath,
                phases: phases.map(({ number }) => number),
                total: phases.length,
                maxRetries: context.input.maxRetries,
              });
              enqueue.emit({ type: 'PROGRESS_CHANGED', done: 0, total: phases.length });
            }),
          },
        ],
        onError: failedAt('preparation'),
      },
    },
    findingCommands: {
      invoke: {
        id: 'findCommands',
        src: 'findCommands',
        input: ({ context }) => ({ ...headerOf(context), baseCommit: context.baseCommit }),
        onDone: {
          target: 'choosing',
          actions: assign(({ context, event }) => ({
            test: context.test ?? event.output.test,
            lint: context.lint ?? event.output.lint,
          })),
        },
        onError: failedAt('preparation'),
      },
    },
    choosing: {
      always: [
        { guard: ({ context }) => context.test === null, target: 'awaitingCommands' },
        { target: '#phased-plan.active.dispatching' },
      ],
    },
    awaitingCommands: {
      meta: {
        status: 'awaiting_clarification',
        stage: 'preparation',
        gate: {
          kind: 'clarification',
          decisions: ['answer'],
          summary: () => COMMANDS_QUESTION.question,
          facts: (context) => ({
            question: { ...COMMANDS_QUESTION },
            attemptNumber: context.clarificationCount + 1,
            details: {},
          }),
        },
      },
      on: {
        CLARIFICATION_ANSWERED: {
          target: '#phased-plan.active.dispatching',
          actions: assign(({ context, event }) => ({
            ...commandsIn(event.response, event.by, context.lint),
            answered: event.response,
            clarificationCount: context.clarificationCount + 1,
          })),
        },
      },
    },
  },
});

/** Chooses the next wave. */
const dispatching = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: [
    { guard: ({ context }) => context.wave >= context.waves.length, target: 'validation' },
    {
      guard: ({ context }) => waiting(context).length === 0,
      target: 'dispatching',
      reenter: true,
      actions: assign({ wave: ({ context }) => context.wave + 1, children: null }),
    },
    {
      guard: ({ context }) => context.iterations >= context.iterationLimit,
      target: '#phased-plan.paused',
      actions: {
        type: 'stopPhases',
        params: ({ context }) => ({
          reason: 'agent_failed',
          phases: Object.fromEntries(
            waiting(context).map((number) => [number, `the limit of ${context.iterationLimit} iterations is reached`]),
          ),
        }),
      },
    },
    {
      target: 'phases',
      actions: assign(({ context }) => {
        const numbers = waiting(context);
        const starts = {
          ...context.starts,
          ...Object.fromEntries(numbers.map((number) => [number, (context.starts[number] ?? 0) + 1])),
        };
        const ids = numbers.map((number) => actorOf({ ...context, starts }, number));
        return { starts, children: fanOut(ids, Math.min(AT_ONCE, context.config.maxConcurrency), 'collect') };
      }),
    },
  ],
});

/** The child runs of a wave. */
const phases = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  entry: 'startPhases',
  always: {
    guard: ({ context }) => context.children === null || verdictOf(context.children) !== 'running',
    target: 'judging',
  },
  on: {
    'xstate.done.actor.*': {
      target: 'phases',
      reenter: true,
      actions: enqueueActions(({ enqueue, context, event }) => {
        const id = endedActor(event.type);
        const { output, runId, headCommit } = event.output;
        if (context.children === null) return;
        enqueue.assign({
          children: succeeded(context.children, id, null),
          iterations: context.iterations + output.iterations,
          finished: { ...context.finished, [numberOf(id)]: { childId: runId, commit: headCommit ?? '' } },
        });
        enqueue.stopChild(id);
      }),
    },
    'xstate.error.actor.*': {
      target: 'phases',
      reenter: true,
      actions: enqueueActions(({ enqueue, context, event }) => {
        const id = endedActor(event.type);
        if (context.children === null) return;
        enqueue.assign({ children: failed(context.children, id, messageOf(event.error)) });
        enqueue.stopChild(id);
      }),
    },
  },
});

const judging = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: [
    // What went well is merged first: a phase that starts anew begins on it.
    { guard: ({ context }) => nextMerge(context) !== undefined, target: 'merging' },
    {
      guard: ({ context }) => waiting(context).length > 0,
      target: '#phased-plan.paused',
      actions: {
        type: 'stopPhases',
        params: ({ context }) => ({ reason: 'agent_failed', phases: failuresOf(context) }),
      },
    },
    { target: 'dispatching' },
  ],
});

function failuresOf({ children }: PlanContext): Record<string, string> {
  return Object.fromEntries(
    Object.entries(children?.outcomes ?? {}).flatMap(([id, outcome]) =>
      outcome.ok ? [] : [[numberOf(id), String(outcome.error)]],
    ),
  );
}

/** Merges the finished phases of a wave, one after the other; each merged tree is verified before the branch moves. */
const mergingPhases = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        {
          guard: ({ context }) => nextMerge(context) !== undefined,
          target: 'integrating',
          actions: assign(({ context }) => ({ merging: { phase: nextMerge(context) ?? 0, integrated: null } })),
        },
        { target: '#phased-plan.active.judging', actions: assign({ merging: null }) },
      ],
    },
    integrating: {
      invoke: {
        id: 'integrateChild',
        src: 'integrateChild',
        input: ({ context }) => merging(context),
        onDone: [
          {
            // The child has evidence for exactly this code.
            guard: ({ context, event }) => event.output.fastForward || !hasCommands(context),
            target: 'moving',
            actions: assign(({ context, event }) => ({
              merging: { phase: context.merging?.phase ?? 0, integrated: event.output },
            })),
          },
          {
            target: 'checking',
            actions: assign(({ context, event }) => ({
              merging: { phase: context.merging?.phase ?? 0, integrated: event.output },
            })),
          },
        ],
        onError: [
          {
            guard: ({ event }) => (event.error as ActivityError).reason === 'merge_conflict',
            target: '#phased-plan.paused',
            actions: {
              type: 'stopPhases',
              params: ({ context, event }) => ({
                reason: 'merge_conflict',
                phases: { [context.merging?.phase ?? 0]: messageOf(event.error) },
              }),
            },
          },
          failedAt('implementation'),
        ],
      },
    },
    checking: {
      invoke: {
        id: 'checkMerge',
        src: 'check',
        input: ({ context }) => checkInput(context, context.merging?.integrated?.commit ?? context.head, 'as_is'),
        onDone: [
          {
            guard: ({ event }) => event.output.passed,
            target: 'moving',
            actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
          },
          {
            target: '#phased-plan.paused',
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              {
                type: 'stopPhases',
                params: ({ context, event }) => ({
                  reason: 'agent_failed',
                  phases: {
                    [context.merging?.phase ?? 0]:
                      `merged with the phases before it, the checks fail: ${redCommands(event.output)}\n${redOutput(event.output)}`,
                  },
                }),
              },
            ],
          },
        ],
        onError: failedAt('validation'),
      },
    },
    moving: {
      invoke: {
        id: 'mergeChild',
        src: 'mergeChild',
        input: ({ context }) => merging(context),
        onDone: {
          target: 'choosing',
          actions: enqueueActions(({ enqueue, context, event }) => {
            const phase = context.merging?.phase ?? 0;
            const { commit, codeTree } = event.output;
            const mergedPhases = [...context.mergedPhases, phase];
            const done = context.finished[phase];
            enqueue.assign({
              head: commit,
              codeTree,
              mergedPhases,
              finished: without(context.finished, [String(phase)]),
              hints: without(context.hints, [String(phase)]),
            });
            enqueue.emit({
              type: 'PHASE_COMMITTED',
              phase,
              hash: done?.commit ?? commit,
              message: nameOf(phaseOf(context, phase)),
            });
            enqueue.emit(said(phase, 'completed', null));
            enqueue.emit(progress({ ...context, mergedPhases }));
          }),
        },
        onError: failedAt('implementation'),
      },
    },
  },
});

/** All phases are merged: the whole is verified as it is and with the base's tests, and looked through for concerns. */
const validation = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'validation' },
  initial: 'choosing',
  entry: assign({ failure: null, concerns: [] }),
  states: {
    choosing: {
      always: [
        {
          guard: ({ context }) => (context.test?.command ?? '') !== '',
          target: 'checkingAsIs',
        },
        {
          target: 'findingConcerns',
          actions: assign({
            failure: 'The project has no test command: nothing but a person can vouch for the result.',
          }),
        },
      ],
    },
    checkingAsIs: {
      invoke: {
        id: 'checkAsIs',
        src: 'check',
        input: ({ context }) => checkInput(context, context.head, 'as_is'),
        onDone: [
          {
            guard: ({ event }) => event.output.passed,
            target: 'checkingBaseTests',
            actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
          },
          {
            target: 'findingConcerns',
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              assign({ failure: ({ event }) => `The checks fail on the result: ${redCommands(event.output)}.` }),
            ],
          },
        ],
        onError: failedAt('validation'),
      },
    },
    checkingBaseTests: {
      invoke: {
        id: 'checkBaseTests',
        src: 'check',
        input: ({ context }) => checkInput(context, context.head, 'base_tests'),
        onDone: {
          target: 'findingConcerns',
          actions: [
            { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
            assign({
              failure: ({ event }) =>
                event.output.passed
                  ? null
                  : `The checks pass only with the changed tests; with the base commit's they fail: ${redCommands(event.output)}.`,
            }),
          ],
        },
        onError: failedAt('validation'),
      },
    },
    findingConcerns: {
      invoke: {
        id: 'findConcerns',
        src: 'findConcerns',
        input: ({ context }) => ({ ...headerOf(context), baseCommit: context.baseCommit, head: context.head }),
        onDone: { target: 'deciding', actions: assign({ concerns: ({ event }) => event.output.concerns }) },
        onError: failedAt('validation'),
      },
    },
    deciding: {
      always: [
        {
          guard: ({ context }) =>
            context.failure === null &&
            context.concerns.length === 0 &&
            context.config.trustMode.implementation === 'auto',
          target: '#phased-plan.active.publishing',
          actions: 'reportValidation',
        },
        { target: '#phased-plan.active.awaitingApproval', actions: 'reportValidation' },
      ],
    },
  },
});

/** A person sees the whole result. To have it changed, they cancel and send the plan again, or fix it after the merge. */
const awaitingApproval = planSetup.createStateConfig({
  meta: approvalGate<PlanContext>({
    stage: 'validation',
    kind: 'plan_result',
    decisions: ['approve'],
    summary: (context) => context.failure ?? `All ${context.phases.length} phases are done. Publish the result?`,
    shows: shownResult,
    details: (context) => (context.failure === null ? {} : { failure: context.failure }),
  }),
  on: { APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'publishing' } },
});

const publishing = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  initial: 'choosingBase',
  states: {
    choosingBase: { always: [{ guard: 'merges', target: 'integrating' }, { target: 'recording' }] },
    integrating: {
      invoke: {
        id: 'integrate',
        src: 'integrate',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          baseCommit: context.baseCommit,
          baseBranch: context.config.git.baseBranch,
          planPath: '',
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.moved,
            target: '#phased-plan.active.validation',
            actions: { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
          },
          { target: 'recording' },
        ],
        onError: failedAt('publishing'),
      },
    },
    recording: {
      invoke: {
        id: 'recordRun',
        src: 'recordRun',
        input: ({ context }) => ({
          ...headerOf(context),
          head: context.head,
          baseCommit: context.baseCommit,
          codeTree: context.codeTree ?? '',
          title: titleOf(context.title ?? undefined, context),
          plan: context.planFile === null ? (context.input.plan ?? null) : null,
          answered: context.answered,
        }),
        onDone: {
          target: 'pushing',
          actions: { type: 'keepRecord', params: ({ event }) => ({ output: event.output }) },
        },
        onError: failedAt('publishing'),
      },
    },
    pushing: pushingState('choosing', failedAt('publishing')),
    choosing: choosingState('merging', '#phased-plan.completed'),
    merging: mergingState({
      title: (context: PlanContext) => titleOf(context.title ?? undefined, context),
      done: '#phased-plan.completed',
      again: 'integrating',
      onError: failedAt('publishing'),
    }),
  },
});

export const planMachine = planSetup.createMachine({
  id: 'phased-plan',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  on: takenEverywhere('.cancelled'),
  states: {
    active: {
      initial: 'preparation',
      states: {
        preparation,
        dispatching,
        phases,
        judging,
        merging: mergingPhases,
        validation,
        awaitingApproval,
        publishing,
        last: { type: 'history', history: 'deep' },
      },
    },
    paused: planSetup.createStateConfig(
      pausedState('#phased-plan.active.last', {
        decisions: () => null,
        on: {
          RETRY_REQUESTED: [
            {
              guard: 'startsAnew',
              target: '#phased-plan.active.dispatching',
              actions: [
                'beginAnew',
                {
                  type: 'resume',
                  params: ({ event }: { readonly event: { readonly notes?: string } }) => ({ notes: event.notes }),
                },
              ],
            },
            {
              target: '#phased-plan.active.last',
              actions: {
                type: 'resume',
                params: ({ event }: { readonly event: { readonly notes?: string } }) => ({ notes: event.notes }),
              },
            },
          ],
        },
      }),
    ),
    completed: {
      type: 'final',
      meta: {
        status: 'completed',
        message: (context) =>
          `All ${context.phases.length} phases are complete. ${
            context.merged
              ? `Merged into ${context.config.git.baseBranch}`
              : `Branch ${context.branch} ${context.published?.pushed === false ? 'is ready' : 'is pushed'}`
          }`,
      },
    },
    unreadable: { type: 'final', meta: { status: 'failed', message: (context) => context.failure ?? '' } },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

function initialContext(input: PlanRunInput): PlanContext {
  const values = planInputSchema.parse(input.input);
  const given = (command: string | undefined) => (command === undefined ? null : { command, source: 'the request' });
  return {
    runId: input.runId,
    projectId: input.projectId,
    request: input.request,
    branch: input.branch,
    startedAt: input.startedAt,
    input: values,
    config: input.config,
    requestedConfig: input.requestedConfig,
    baseCommit: '',
    head: '',
    codeTree: null,
    excludePaths: [],
    setup: null,
    setupDone: false,
    test: given(values.test),
    lint: given(values.lint),
    answered: null,
    notes: [],
    clarificationCount: 0,
    title: null,
    planFile: null,
    phases: [],
    waves: [],
    wave: 0,
    children: null,
    starts: {},
    hints: {},
    finished: {},
    mergedPhases: [],
    merging: null,
    iterations: 0,
    iterationLimit: values.maxIterations,
    anew: null,
    failure: null,
    concerns: [],
    published: null,
    merged: false,
    paused: null,
  };
}
