/**
 * A full-auto run: a topic is researched and planned where no plan is named; an agent turns the plan into features, each of which is a child run on top of those before it. The server
 * alone says which of them pass. The whole is published as any other change.
 */
import { NO_ATTEMPTS } from '../parts/attempts.ts';
import { childEnds } from '../parts/children.ts';
import { takenEverywhere } from '../parts/notes.ts';
import { pausedState } from '../parts/pausing.ts';
import { PUBLISHING_WAYS, publishingWays } from '../parts/publishing.ts';
import { outcomeOf } from '../parts/pull-request.ts';
import { checkedRunContext, preparingState } from '../parts/project-run.ts';
import { awaitingResult, ending, publishing, validation } from './ending.ts';
import { failuresOf } from './features.ts';
import { implementing } from './implementing.ts';
import { listing, readingPlan, writing } from './listing.ts';
import { researching } from './researching.ts';
import { doneText, failedAt, fullAutoSetup } from './setup.ts';
import { type FullAutoContext, fullAutoInputSchema, type FullAutoRunInput } from './types.ts';

export const fullAutoMachine = fullAutoSetup.createMachine({
  id: 'full-auto',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  on: { ...takenEverywhere('.cancelled'), ...childEnds() },
  states: {
    active: {
      initial: 'preparing',
      states: {
        preparing: preparingState('researching', 'preparation', failedAt),
        researching,
        readingPlan,
        listing,
        writing,
        implementing,
        ending,
        validation,
        awaitingResult,
        publishing,
        last: { type: 'history', history: 'deep' },
      },
    },
    paused: fullAutoSetup.createStateConfig(
      pausedState('#full-auto.active.last', {
        decisions: () => null,
        ways: PUBLISHING_WAYS,
        on: publishingWays({
          end: '#full-auto.completed',
          place: '#full-auto.active.publishing.keepingFiles',
          beside: '#full-auto.active.publishing.pushingBeside',
          takingIn: '#full-auto.active.publishing.takingIn',
        }),
      }),
    ),
    completed: {
      type: 'final',
      meta: {
        status: 'completed',
        message: (context) =>
          context.published === null ? doneText(context) : `${doneText(context)} ${outcomeOf(context)}`,
        failures: (context) => failuresOf(context),
      },
    },
    /** There is no plan that can be carried out. */
    notStarted: { type: 'final', meta: { status: 'failed', message: (context) => context.failure ?? '' } },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

function initialContext(input: FullAutoRunInput): FullAutoContext {
  const values = fullAutoInputSchema.parse(input.input ?? {});
  return {
    ...checkedRunContext(input, values),
    calls: {},
    research: null,
    plan: '',
    features: [],
    faults: [],
    iterations: 0,
    iterationLimit: values.maxIterations,
    tried: {},
    skipped: {},
    log: [],
    ...NO_ATTEMPTS,
    accepted: null,
    isOver: false,
  };
}
