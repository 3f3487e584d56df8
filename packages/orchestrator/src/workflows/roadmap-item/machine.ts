/**
 * The run of a roadmap's item: ideation, specification and tasks are documents that people approve; each task is a child run; the
 * result is tested, published and released. The state of the item in the roadmap follows.
 */
import { takenEverywhere } from '../parts/notes.ts';
import { childEnds } from '../parts/children.ts';
import { pausedState } from '../parts/pausing.ts';
import { checkedRunContext, preparingState } from '../parts/project-run.ts';
import { PUBLISHING_WAYS, publishingWays } from '../parts/publishing.ts';
import { outcomeOf } from '../parts/pull-request.ts';
import { documentGate, documentPhase } from './document-phases.ts';
import { entering, reading, routing } from './entering.ts';
import { publishing, releasing } from './publishing.ts';
import { failedAt, itemOf, itemSetup } from './setup.ts';
import { awaitingImplementation, implementing } from './tasks.ts';
import { awaitingBugs, awaitingRelease, awaitingResult, testing } from './testing.ts';
import { type ItemContext, itemInputSchema, type ItemRunInput } from './types.ts';

const resume = {
  type: 'resume',
  params: ({ event }: { readonly event: { readonly notes?: string } }) => ({ notes: event.notes }),
} as const;

export const itemMachine = itemSetup.createMachine({
  id: 'roadmap-item',
  initial: 'active',
  context: ({ input }) => initialContext(input),
  on: {
    ...takenEverywhere('.cancelled'),
    ...childEnds(),
  },
  states: {
    active: {
      initial: 'preparing',
      states: {
        preparing: preparingState('reading', 'preparation', failedAt),
        reading,
        entering,
        routing,
        ideating: documentPhase('ideating'),
        awaitingIdeation: documentGate('ideating'),
        specifying: documentPhase('specifying'),
        awaitingSpecification: documentGate('specifying'),
        decomposing: documentPhase('decomposing'),
        awaitingTasks: documentGate('decomposing'),
        implementing,
        awaitingImplementation,
        testing,
        awaitingBugs,
        awaitingRelease,
        awaitingResult,
        publishing,
        releasing,
        last: { type: 'history', history: 'deep' },
      },
    },
    paused: itemSetup.createStateConfig(
      pausedState('#roadmap-item.active.last', {
        decisions: () => null,
        ways: PUBLISHING_WAYS,
        on: {
          RETRY_REQUESTED: [
            {
              guard: ({ context }) => context.blockers.length > 0,
              target: '#roadmap-item.active.entering',
              actions: ['tryAgain', resume],
            },
            { target: '#roadmap-item.active.last', actions: resume },
          ],
          ...publishingWays({
            end: '#roadmap-item.active.publishing.choosingEnd',
            place: '#roadmap-item.active.publishing.leaving',
            beside: '#roadmap-item.active.publishing.pushingBeside',
            takingIn: '#roadmap-item.active.publishing.takingIn',
          }),
        },
      }),
    ),
    completed: {
      type: 'final',
      meta: {
        status: 'completed',
        message: (context) =>
          `'${itemOf(context).title}' is completed${context.released ? ' and released' : ''}. ${outcomeOf(context)}${context.merged ? '' : notMerged(context)}`,
      },
    },
    /** There is no such item, or it cannot be worked on. */
    notStarted: { type: 'final', meta: { status: 'failed', message: (context) => context.failure ?? '' } },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

/** Its dependants may start as soon as the roadmap of the base has it as completed. */
function notMerged({ config }: ItemContext): string {
  const { baseBranch } = config.git;
  return `; merge it into ${baseBranch}, whose roadmap has the item as completed from then on`;
}

function initialContext(input: ItemRunInput): ItemContext {
  const values = itemInputSchema.parse(input.input ?? {});
  return {
    ...checkedRunContext(input, values),
    calls: {},
    item: null,
    phase: 'not-started',
    reason: '',
    attempts: 0,
    blockers: [],
    iterations: {},
    limits: { phase: {}, all: values.maxIterations },
    corrections: 0,
    documents: {},
    versions: { ideating: 0, specifying: 0, decomposing: 0 },
    draft: null,
    tasks: [],
    done: [],
    children: 0,
    hint: '',
    open: null,
    ended: null,
    integrated: null,
    findings: [],
    adding: [],
    reviewedTree: null,
    releases: null,
    released: false,
  };
}
