/** Types and actions of the machine, and what its fragments read of the context. */
import type { ActivityError } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { Checked, Note } from '../../../activities/types.ts';
import { activity, type StateMeta } from '../../../core/definition.ts';
import { checkpointActions } from '../../parts/checkpoint.ts';
import { callActions, notTaken } from '../../parts/costs.ts';
import { budgetActions, notingActions } from '../../parts/notes.ts';
import { pausesAt, pausingActions, pausingDelays, pausingGuards } from '../../parts/pausing.ts';
import { headerOf } from '../../parts/run-context.ts';
import type { RunFact } from '../../parts/signals.ts';
import { clockActions, clockDelays } from '../../parts/stage-clock.ts';
import type { Attempt } from '../escalation.ts';
import type { PhaseStatus, PlanFact } from '../orchestrator-state.ts';
import type { Signal } from '../signals.ts';
import type {
  Attempted,
  PhaseActivities,
  PhaseAgentInput,
  PhaseContext,
  PhaseOutput,
  PhaseReviewed,
  PhaseRunInput,
} from './types.ts';

type Input<Name extends keyof PhaseActivities> = PhaseActivities[Name]['input'];

type Output<Name extends keyof PhaseActivities> = PhaseActivities[Name]['output'];

/** Role of the agent that the next attempt calls. */
export const roleOf = ({ next }: PhaseContext) => (next === 'implement' ? 'phase-implementer' : 'phase-fixer');

export const agentInput = (context: PhaseContext, role: keyof PhaseContext['calls']): PhaseAgentInput => {
  const { input, config, head, baseCommit, excludePaths, test, lint, guidance } = context;
  const guided: Note[] = guidance === null ? [] : [{ kind: 'feedback', text: guidance }];
  return {
    ...headerOf(context),
    input,
    config,
    head,
    baseCommit,
    excludePaths,
    notes: [...context.notes, ...failureNotes(context, role), ...guided],
    call: context.calls[role] + 1,
    commands: [test, lint].flatMap((each) => (each === null || each.command === '' ? [] : [each.command])),
  };
};

/** Notes with the last failure for an implementer that begins anew; a fixer has the failure among its issues. */
const failureNotes = ({ attempts }: PhaseContext, role: keyof PhaseContext['calls']): Note[] => {
  const last = attempts.at(-1);
  return role === 'phase-implementer' && last !== undefined ? [{ kind: 'checks', text: last.error }] : [];
};

export const hasNoCommand = ({ test, lint }: PhaseContext): boolean =>
  (test?.command ?? '') === '' && (lint?.command ?? '') === '';

export const phaseName = ({ input: { number, title } }: PhaseContext): string =>
  title === '' ? `Phase ${number}` : `Phase ${number}: ${title}`;

/** Says where the phase is, for the state file and the run of the plan. */
export const says = (status: PhaseStatus) => ({ type: 'say', params: { status } }) as const;

/** The engine gives every failed activity an error of this shape. */
export const errorOf = (event: unknown): ActivityError => (event as { readonly error: ActivityError }).error;

/** An agent that gave no usable result: an attempt that failed, and no reason to pause. */
export const isAgentsFailure = (event: unknown): boolean => {
  const { kind, reason } = errorOf(event);
  return kind === 'needs_human' && (reason === 'agent_failed' || reason === 'stalled');
};

/** The context keeps what decides; the whole output is in the log. */
const withoutOutput = (checked: Checked): Checked => ({
  ...checked,
  commands: checked.commands.map((command) => ({ ...command, output: command.output.slice(-2_000) })),
});

/** Saves the work of an interrupted attempt before the run waits. */
export const paused = pausesAt('#plan-phase.interrupted');

/** Types, activities, and what the parts bring. */
const withParts = setup({
  types: {
    context: {} as PhaseContext,
    input: {} as PhaseRunInput,
    output: {} as PhaseOutput,
    events: {} as Signal,
    emitted: {} as RunFact | PlanFact,
    meta: {} as StateMeta<PhaseContext>,
  },
  actors: {
    prepare: activity<Input<'prepare'>, Output<'prepare'>>(),
    findCommands: activity<Input<'findCommands'>, Output<'findCommands'>>(),
    setUp: activity<Input<'setUp'>, Output<'setUp'>>(),
    attempt: activity<Input<'attempt'>, Output<'attempt'>>(),
    commitCode: activity<Input<'commitCode'>, Output<'commitCode'>>(),
    check: activity<Input<'check'>, Output<'check'>>(),
    review: activity<Input<'review'>, Output<'review'>>(),
    commitPhase: activity<Input<'commitPhase'>, Output<'commitPhase'>>(),
    checkpoint: activity<Input<'checkpoint'>, Output<'checkpoint'>>(),
    shareBranch: activity<Input<'shareBranch'>, Output<'shareBranch'>>(),
    takeHandFix: activity<Input<'takeHandFix'>, Output<'takeHandFix'>>(),
  },
  delays: { ...pausingDelays, ...clockDelays(['implementation']) },
  guards: { ...pausingGuards },
  actions: {
    ...budgetActions<PhaseContext, Signal>(),
    ...callActions<PhaseContext, Signal>(),
    ...checkpointActions<PhaseContext, Signal>(),
    ...clockActions<PhaseContext, Signal>(),
    ...notingActions<PhaseContext, Signal>(),
    ...pausingActions<PhaseContext, Signal>(),
  },
});

export const phaseSetup = withParts.extend({
  actions: {
    say: emit(({ context }, { status }: { status: PhaseStatus }) => ({
      type: 'PHASE_CHANGED' as const,
      phase: context.input.number,
      status,
      retryCount: context.attempts.length,
      lastError: context.lastError,
    })),
    /** Counts a failed attempt; what was wrong is in `params`. */
    fail: enqueueActions(
      (
        { enqueue, context },
        { next, error, summary, issues }: { next: Attempt['action']; error: string; summary: string; issues?: string },
      ) => {
        const { attempts, next: action, summary: said } = context;
        const isAgents = action === 'implement' || action === 'fix';
        enqueue.assign({
          attempts: [...attempts, { action, summary: isAgents ? said : '', error }],
          lastError: error,
          next,
          guidance: null,
          ...(issues === undefined ? {} : { issues }),
        });
        enqueue.emit({
          type: 'VALIDATION_FAILED',
          codeTree: context.codeTree ?? '',
          severity: 'minor',
          summary: summary.slice(0, 4_000),
          feedback: error.slice(0, 20_000),
        });
      },
    ),
    retry: enqueueActions(({ enqueue, context }) => {
      enqueue.emit({ type: 'FIX_DECIDED', by: 'policy', decision: 'retry', attempt: context.attempts.length });
    }),
    keepAttempt: enqueueActions(({ enqueue, context }, { attempted }: { attempted: Attempted }) => {
      const role = roleOf(context);
      enqueue.emit({ type: 'COST_RECORDED', ...attempted.cost });
      for (const refused of attempted.refused) enqueue.emit(notTaken(refused));
      enqueue.assign({
        attempted,
        summary: attempted.summary,
        calls: { ...context.calls, [role]: context.calls[role] + 1 },
        iterations: context.iterations + 1,
        resumedByItself: undefined,
        guidance: null,
      });
    }),
    /** A call that came to no result counts as well. */
    countFailedCall: assign(({ context }) => {
      const role = context.next === 'review' ? 'phase-reviewer' : roleOf(context);
      return {
        calls: { ...context.calls, [role]: context.calls[role] + 1 },
        iterations: context.iterations + 1,
        summary: '',
      };
    }),
    keepCode: enqueueActions(
      ({ enqueue, context }, code: { commit: string; codeTree: string; filesChanged: readonly string[] }) => {
        const { commit, codeTree, filesChanged } = code;
        const version = context.codeVersion + 1;
        enqueue.assign({ head: commit, codeTree, codeVersion: version, checked: null });
        enqueue.emit({
          type: 'ARTIFACT_CREATED',
          artifact: {
            stage: 'implementation',
            type: 'code',
            commitSha: commit,
            hash: codeTree,
            version,
            filesChanged,
            scripted: context.attempted?.cost.scripted ?? false,
          },
        });
        enqueue.emit({
          type: 'IMPLEMENTATION_SUCCEEDED',
          commit,
          codeTree,
          summary: context.summary,
          filesChanged,
        });
      },
    ),
    keepEvidence: enqueueActions(({ enqueue }, { checked }: { checked: Checked }) => {
      enqueue.emit({ type: 'EVIDENCE_RECORDED', ...checked });
      enqueue.assign({ checked: withoutOutput(checked) });
    }),
    keepReview: enqueueActions(({ enqueue, context }, { review }: { review: PhaseReviewed }) => {
      enqueue.emit({ type: 'COST_RECORDED', ...review.cost });
      enqueue.assign({
        calls: { ...context.calls, 'phase-reviewer': context.calls['phase-reviewer'] + 1 },
        resumedByItself: undefined,
        guidance: null,
      });
      if (review.isApproved)
        enqueue.emit({ type: 'VALIDATION_PASSED', codeTree: context.codeTree ?? '', summary: review.summary });
    }),
    /** A person decided: the budget of retries begins anew. */
    beginAnew: assign(({ context }) => ({
      attempts: [],
      iterationLimit: Math.max(context.iterationLimit, context.iterations + context.input.maxRetries + 1),
    })),
  },
});
