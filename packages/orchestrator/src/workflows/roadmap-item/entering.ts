/** The beginning of each phase: the roadmap is read once, and each new state of the item is written to it before its work begins. */
import { assign, enqueueActions } from 'xstate';
import { headerOf } from '../parts/run-context.ts';
import type { Pause } from '../parts/pausing.ts';
import { countsOf, failedAt, inPhase, itemOf, itemSetup, stageOf, stateInput } from './setup.ts';
import type { ItemContext, WorkPhase } from './types.ts';

/** Reads the item from the roadmap of the base. */
export const reading = itemSetup.createStateConfig({
  meta: { status: 'running', stage: 'preparation' },
  invoke: {
    id: 'readItem',
    src: 'readItem',
    input: ({ context }) => ({
      ...headerOf(context),
      baseBranch: context.config.git.baseBranch,
      roadmap: context.input.roadmap,
      item: context.input.item,
    }),
    onDone: [
      {
        guard: ({ event }) => event.output.kind === 'ends',
        target: '#roadmap-item.notStarted',
        actions: assign({ failure: ({ event }) => (event.output.kind === 'ends' ? event.output.message : null) }),
      },
      {
        guard: ({ event }) => event.output.kind === 'faults',
        target: '#roadmap-item.paused',
        actions: assign({
          paused: ({ event }) => unusable(event.output.kind === 'faults' ? event.output.faults : []),
        }),
      },
      {
        target: 'entering',
        actions: enqueueActions(({ enqueue, context, event }) => {
          if (event.output.kind !== 'item') return;
          const { item } = event.output;
          enqueue.emit({
            type: 'ROADMAP_ITEM_READ',
            item: item.id,
            title: item.title,
            folder: `specs/${item.slug}`,
          });
          enqueue.assign({
            ...inPhase('ideating'),
            item,
            documents: { ...context.documents, ...item.documents },
          });
        }),
      },
    ],
    onError: failedAt('preparation'),
  },
});

function unusable(faults: readonly string[]): Pause {
  return {
    reason: 'agent_failed',
    stage: 'preparation',
    message: `The roadmap cannot be used: ${faults.join('\n')}\nCorrect it on the base branch and push, then retry.`,
  };
}

/** Writes the state to the roadmap. */
export const entering = itemSetup.createStateConfig({
  meta: { status: 'running', stage: ({ phase }) => stageOf(phase) },
  invoke: {
    id: 'setState',
    src: 'setState',
    input: ({ context }) => stateInput(context),
    onDone: {
      target: 'routing',
      actions: [
        { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
        { type: 'keepPlace', params: ({ event }) => ({ to: event.output.to }) },
        enqueueActions(({ enqueue, context }) => {
          const { phase, attempts, reason, adding } = context;
          enqueue.emit({ type: 'ROADMAP_PHASE_CHANGED', item: itemOf(context).id, phase, attempts, reason });
          for (const { id, title, blocks } of adding) enqueue.emit({ type: 'BUG_ADDED', item: id, title, blocks });
          const counts = countsOf(context);
          if (counts.total > 0) enqueue.emit({ type: 'PROGRESS_CHANGED', ...counts });
          enqueue.assign({
            adding: [],
            findings: context.findings.filter((finding) => !adding.some(({ id }) => id === finding.id)),
          });
        }),
      ],
    },
    onError: failedAt('preparation'),
  },
});

const isIn =
  (phase: WorkPhase) =>
  ({ context }: { readonly context: ItemContext }) =>
    context.phase === phase;

/** The work of the phase begins, unless a person has to be asked first. */
export const routing = itemSetup.createStateConfig({
  meta: { status: 'running', stage: ({ phase }) => stageOf(phase) },
  always: [
    {
      guard: ({ context }) => context.blockers.length > 0,
      target: '#roadmap-item.paused',
      actions: assign({
        paused: ({ context }) => ({
          reason: 'agent_failed',
          stage: stageOf(context.phase),
          message: `${itemOf(context).id} is blocked in the phase ${context.phase}: ${context.blockers.join('\n')}`,
        }),
      }),
    },
    { guard: isIn('ideating'), target: 'ideating' },
    { guard: isIn('specifying'), target: 'specifying' },
    { guard: isIn('decomposing'), target: 'decomposing' },
    { guard: isIn('implementing'), target: 'implementing' },
    { guard: isIn('testing'), target: 'testing' },
    { guard: isIn('committing'), target: 'publishing' },
    { guard: isIn('releasing'), target: 'releasing' },
    { target: '#roadmap-item.completed' },
  ],
});
