/**
 * The run of a plan: each phase is a child run, independent ones at the same time. Their results are merged as they end, each merged
 * tree is verified, and the whole is published as any other change.
 */
import { WAYS } from '../../activities/git/ways.ts';
import { NO_ATTEMPTS } from '../parts/attempts.ts';
import { childEnds } from '../parts/children.ts';
import { takenEverywhere } from '../parts/notes.ts';
import { choosingCommit, leaving, pausedState } from '../parts/pausing.ts';
import { checkedRunContext } from '../parts/project-run.ts';
import { outcomeOf } from '../parts/pull-request.ts';
import { phases } from './phases.ts';
import { preparation } from './preparation.ts';
import { publishing } from './publishing.ts';
import type { PhaseOutput } from './plan-phase/types.ts';
import { planSetup } from './setup.ts';
import { type PlanContext, planInputSchema, type PlanRunInput } from './types.ts';
import { awaitingApproval, validation } from './validation.ts';

export const planMachine = planSetup.createMachine({
  id: 'phased-plan',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  on: { ...takenEverywhere('.cancelled'), ...childEnds<PhaseOutput>(), RUN_FORKED: { actions: 'takeFork' } },
  states: {
    active: {
      initial: 'preparation',
      states: {
        preparation,
        phases,
        validation,
        awaitingApproval,
        publishing,
        last: { type: 'history', history: 'deep' },
      },
    },
    paused: planSetup.createStateConfig(
      pausedState('#phased-plan.active.last', {
        decisions: () => null,
        ways: [WAYS.leavePushed, WAYS.pullRequest, WAYS.leaveBranch, WAYS.takeIn, WAYS.pushBeside, WAYS.resolveBase],
        on: {
          CLARIFICATION_ANSWERED: [
            {
              guard: { type: 'takesWay', params: { ways: [WAYS.leavePushed, WAYS.pullRequest] } },
              target: '#phased-plan.completed',
              actions: [leaving, 'reportLeft', 'endPause'],
            },
            {
              guard: { type: 'takesWay', params: { ways: [WAYS.leaveBranch] } },
              target: '#phased-plan.active.publishing.recording',
              actions: [leaving, 'endPause'],
            },
            {
              guard: { type: 'takesWay', params: { ways: [WAYS.pushBeside] } },
              target: '#phased-plan.active.publishing.pushingBeside',
              actions: 'endPause',
            },
            {
              guard: { type: 'takesWay', params: { ways: [WAYS.takeIn] } },
              target: '#phased-plan.active.publishing.takingIn',
              actions: [choosingCommit, 'endPause'],
            },
            {
              guard: { type: 'takesWay', params: { ways: [WAYS.resolveBase] } },
              target: '#phased-plan.active.publishing.takingInBase',
              actions: 'endPause',
            },
          ],
          RETRY_REQUESTED: [
            {
              guard: 'startsAnew',
              target: '#phased-plan.active.phases',
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
        message: (context) => `All ${context.phases.length} phases are complete. ${outcomeOf(context)}`,
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
    ...checkedRunContext(input, values),
    test: given(values.test),
    setupDone: false,
    lint: given(values.lint),
    answered: null,
    clarificationCount: 0,
    title: null,
    planFile: null,
    phases: [],
    ...NO_ATTEMPTS,
    starts: {},
    hints: {},
    stopped: {},
    mergedPhases: [],
    iterations: 0,
    iterationLimit: values.maxIterations,
  };
}
