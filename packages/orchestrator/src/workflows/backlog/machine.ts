/**
 * The run of a backlog: one child run an attempt at an item, each with a fresh context; what has evidence is merged, and the next
 * item starts from there. The whole is published as any other change.
 */
import { takenEverywhere } from '../parts/notes.ts';
import { NO_ATTEMPTS } from '../parts/attempts.ts';
import { childEnds } from '../parts/children.ts';
import { pausedState } from '../parts/pausing.ts';
import { checkedRunContext, preparingState } from '../parts/project-run.ts';
import { PUBLISHING_WAYS, publishingWays } from '../parts/publishing.ts';
import { outcomeOf } from '../parts/pull-request.ts';
import { beginning, checkingEnvironment, choosing, claiming, judging, reading, setting, working } from './loop.ts';
import { merging } from './merging.ts';
import { publishing } from './publishing.ts';
import { backlogSetup, failedAt } from './setup.ts';
import { awaitingDecision, stopping } from './stopping.ts';
import { type BacklogContext, backlogInputSchema, type BacklogRunInput } from './types.ts';
import { awaitingApproval, doneText, validation } from './validation.ts';

export const backlogMachine = backlogSetup.createMachine({
  id: 'backlog',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  on: { ...takenEverywhere('.cancelled'), ...childEnds() },
  states: {
    active: {
      initial: 'preparing',
      states: {
        preparing: preparingState('choosing', 'preparation', failedAt),
        choosing,
        reading,
        beginning,
        checkingEnvironment,
        claiming,
        working,
        judging,
        merging,
        setting,
        stopping,
        awaitingDecision,
        validation,
        awaitingApproval,
        publishing,
        last: { type: 'history', history: 'deep' },
      },
    },
    paused: backlogSetup.createStateConfig(
      pausedState('#backlog.active.last', {
        decisions: () => null,
        ways: PUBLISHING_WAYS,
        on: publishingWays({
          end: '#backlog.active.publishing.choosingEnd',
          place: '#backlog.active.publishing.choosingPlace',
          beside: '#backlog.active.publishing.pushingBeside',
          takingIn: '#backlog.active.publishing.takingIn',
        }),
      }),
    ),
    completed: {
      type: 'final',
      meta: {
        status: 'completed',
        message: (context) =>
          context.isChanged === true ? `${doneText(context)} ${outcomeOf(context)}` : doneText(context),
      },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

function initialContext(input: BacklogRunInput): BacklogContext {
  const values = backlogInputSchema.parse(input.input ?? {});
  return {
    ...checkedRunContext(input, values),
    iterations: 0,
    iterationLimit: values.maxIterations,
    ...NO_ATTEMPTS,
    starting: null,
    setting: null,
    histories: {},
    outcomes: {},
    stopped: null,
    counts: { total: 0, done: 0 },
  };
}
