/**
 * The build workflow: plan, ask, implement, check, publish.
 * Work and clock of a stage are parallel regions, so that extending a stage starts its clock again and leaves its work alone.
 */
import { assign } from 'xstate';
import { takenEverywhere } from '../parts/notes.ts';
import { NOTHING_FOLLOWED, outcomeOf } from '../parts/pull-request.ts';
import { implementationStates } from './implementation.ts';
import { pausingStates } from './pausing.ts';
import { planningStates } from './planning.ts';
import { publishingStates } from './publishing.ts';
import { resultStates } from './result.ts';
import { buildSetup } from './setup.ts';
import type { BuildContext, BuildInput } from './types.ts';
import { validationStates } from './validation.ts';

/** Input: {@link BuildInput}. */
export const buildMachine = buildSetup.createMachine({
  id: 'build',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  on: {
    'xstate.done.actor.baseline': { actions: 'keepBaseline' },
    'xstate.error.actor.baseline': { actions: assign({ baseline: 'known' }) },
    ...takenEverywhere('.cancelled'),
    RUN_FORKED: { actions: 'takeFork' },
  },
  states: {
    active: {
      initial: 'planning',
      // Work that is under way begins anew, with the models and limits of the new configuration.
      on: {
        RUN_FORKED: {
          guard: ({ event }) => event.config !== undefined,
          target: '.last',
          reenter: true,
          actions: 'takeFork',
        },
      },
      states: {
        ...planningStates(),
        ...implementationStates(),
        ...validationStates(),
        ...resultStates,
        ...publishingStates(),
        last: { type: 'history', history: 'deep' },
      },
    },
    ...pausingStates,
    completed: {
      type: 'final',
      meta: {
        status: 'completed',
        message: outcomeOf,
      },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

function initialContext(input: BuildInput): BuildContext {
  return {
    runId: input.runId,
    projectId: input.projectId,
    request: input.request,
    branch: input.branch,
    startedAt: input.startedAt,
    config: input.config,
    requestedConfig: input.requestedConfig,
    baseCommit: '',
    head: '',
    excludePaths: [],
    setup: null,
    setupDone: false,
    test: null,
    autoRetry: true,
    notes: [],
    calls: { planner: 0, implementer: 0, validator: 0, 'plan-reply': 0 },
    clarificationCount: 0,
    answered: [],
    question: null,
    personAsks: null,
    draft: null,
    parserRetried: false,
    parserMessage: null,
    edited: null,
    plan: null,
    planVersion: 0,
    codeVersion: 0,
    reportVersion: 0,
    implemented: null,
    unsaved: null,
    codeTree: null,
    evidence: [],
    review: null,
    failure: null,
    report: null,
    fixAttempts: 0,
    accepted: null,
    paused: null,
    decisions: [],
    techStack: [],
    patterns: [],
    published: null,
    merged: false,
    baseline: 'none',
    concerns: [],
    openConcerns: [],
    emptyResults: 0,
    following: NOTHING_FOLLOWED,
  };
}
