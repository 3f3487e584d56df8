/** The pause: where failed work, a stage that is out of time and an unsupported result lead, and the ways back. */
import { WAYS } from '../../activities/git/ways.ts';
import { interruptedState } from '../parts/checkpoint.ts';
import { noteFeedback } from '../parts/notes.ts';
import { choosingCommit, leaving, pausedState, pausesAt } from '../parts/pausing.ts';
import { clockTo } from '../parts/stage-clock.ts';
import { buildSetup, isAboutTheResult } from './setup.ts';

/** The transition of a failed activity of a stage, for `onError`. */
export const failed = pausesAt('#build.interrupted');
/** The clock of a stage, a region beside its work. */
export const clock = clockTo('#build.interrupted');

/**
 * A pause about the result: a person may send the result back, or accept it. A pause of publishing: the ways on that the
 * activity names.
 */
const waysOn = {
  decisions: (context: Parameters<typeof isAboutTheResult>[0]) =>
    isAboutTheResult(context) ? (['retry', 'reject', 'accept'] as const) : null,
  ways: Object.values(WAYS),
  on: {
    APPROVAL_REJECTED: [
      {
        guard: 'pauseIsAboutThePlan',
        target: '#build.active.planning.work.drafting',
        actions: [noteFeedback, 'endPause'],
      },
      {
        guard: 'pauseIsAboutTheResult',
        target: '#build.active.implementation.work.implementing',
        actions: [noteFeedback, 'endPause'],
      },
    ],
    CLARIFICATION_ANSWERED: [
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.leavePushed, WAYS.pullRequest] } },
        target: '#build.completed',
        actions: [leaving, 'reportLeft', 'endPause'],
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.leaveBranch] } },
        target: '#build.active.publishing.recording',
        actions: [leaving, 'endPause'],
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.pushBeside] } },
        target: '#build.active.publishing.pushingBeside',
        actions: 'endPause',
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.takeIn] } },
        target: '#build.active.publishing.takingIn',
        actions: [choosingCommit, 'endPause'],
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.resolveBase] } },
        target: '#build.active.publishing.takingInBase',
        actions: 'endPause',
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.resolveRest] } },
        target: '#build.active.implementation.work.implementing',
        actions: ['countFix', 'endPause'],
      },
    ],
  },
} as const;

export const pausingStates = {
  interrupted: buildSetup.createStateConfig(interruptedState),
  paused: buildSetup.createStateConfig(pausedState('#build.active.last', waysOn)),
};
