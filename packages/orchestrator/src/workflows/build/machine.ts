/**
 * The build workflow: plan, ask, implement, check, publish.
 * Work and clock of a stage are parallel regions, so that extending a stage starts its clock again and leaves its work alone.
 *
 * All versions are made here. Version 2 adds a baseline beside planning, sends a result that changes nothing back once, opens
 * the result gate for each open concern, and sends no checks back to an agent that failed before the run already. Version 3 stays open with its pull request until that is merged or closed.
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
import type { BuildContext, BuildInput, Version } from './types.ts';
import { validationStates } from './validation.ts';

/** The machine of one version. Input: {@link BuildInput}. */
export function buildMachine(version: Version) {
  return buildSetup.createMachine({
    id: 'build',
    initial: 'active',
    context: ({ input }) => initialContext(input, version),
    on: {
      ...(version >= 2
        ? {
            'xstate.done.actor.baseline': { actions: 'keepBaseline' as const },
            'xstate.error.actor.baseline': { actions: assign({ baseline: 'known' as const }) },
          }
        : {}),
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
          ...planningStates(version),
          ...implementationStates(version),
          ...validationStates(version),
          ...resultStates(version),
          ...publishingStates(version),
          last: { type: 'history', history: 'deep' },
        },
      },
      ...pausingStates(version),
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
}

function initialContext(input: BuildInput, version: Version): BuildContext {
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
    ...(version >= 2 ? { baseline: 'none' as const, concerns: [], openConcerns: [], emptyResults: 0 } : {}),
    ...(version >= 3 ? { following: NOTHING_FOLLOWED } : {}),
  };
}
