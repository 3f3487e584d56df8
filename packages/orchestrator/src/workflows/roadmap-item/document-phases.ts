/** The phases whose result is a document: an agent writes it, the server commits it, and a person approves it where one is asked. */
import { assign } from 'xstate';
import { keptReason, messageOf } from '../parts/children.ts';
import { callEnded } from '../parts/costs.ts';
import { approvalGate } from '../parts/gate.ts';
import { noteFeedback } from '../parts/notes.ts';
import { headerOf } from '../parts/run-context.ts';
import { DOCUMENT_TITLES, DOCUMENT_TYPES } from './documents.ts';
import {
  afterFailure,
  agentInput,
  failedAt,
  inPhase,
  isAsked,
  itemOf,
  itemSetup,
  limitReached,
  phaseAfter,
  shownDocument,
} from './setup.ts';
import type { DocumentDraft, DocumentPhase, ItemContext } from './types.ts';
import type { ActivityError } from '@autonomous/shared';

const ROLES = { ideating: 'ideator', specifying: 'specifier', decomposing: 'decomposer' } as const;
const GATES = {
  ideating: 'awaitingIdeation',
  specifying: 'awaitingSpecification',
  decomposing: 'awaitingTasks',
} as const;
const GUARDS = {
  ideating: 'namesTheIdeation',
  specifying: 'namesTheSpecification',
  decomposing: 'namesTheTasks',
} as const;

const NO_DRAFT: DocumentDraft = { phase: 'ideating', text: '', model: '', scripted: false };

/** An agent that came to nothing is tried again; a missing key, a used-up budget or a fault of the server is not its fault. */
export const isOfAgent = (error: unknown): boolean => {
  const { kind, reason } = error as ActivityError;
  return reason === 'agent_failed' && kind !== 'bug' && kind !== 'terminal';
};

/** Too many iterations: a person is asked. */
export const atLimit = {
  guard: ({ context }: { readonly context: ItemContext }) => limitReached(context) !== '',
  target: '#roadmap-item.active.entering',
  actions: 'blockAtLimit',
} as const;

/** The base has the document of an earlier run. A person is asked about it all the same: in a base, anybody may have written it. */
const takenFromBase = (phase: DocumentPhase) =>
  ({
    guard: ({ context }: { readonly context: ItemContext }) =>
      context.versions[phase] === 0 && context.documents[phase] !== undefined,
    target: 'deciding',
    actions: { type: 'takeDocument', params: { phase } },
  }) as const;

export const documentPhase = <const Phase extends DocumentPhase>(phase: Phase) => {
  const role = ROLES[phase];
  return itemSetup.createStateConfig({
    meta: { status: 'running', stage: 'planning' },
    initial: 'choosing',
    states: {
      choosing: {
        always: [
          ...(phase === 'decomposing' ? [] : [takenFromBase(phase)]),
          atLimit,
          { target: 'writing', actions: 'countIteration' },
        ],
      },
      writing: {
        invoke: {
          id: role,
          src: 'writeDocument',
          input: ({ context }) => ({
            ...agentInput(context, role),
            phase,
            before: context.documents[phase]?.text ?? null,
          }),
          onDone: {
            target: 'committing',
            actions: [...callEnded(role), assign({ draft: ({ event }) => event.output.draft, attempts: 0 })],
          },
          onError: [
            {
              guard: ({ event }) => isOfAgent(event.error),
              target: '#roadmap-item.active.entering',
              actions: assign(({ context, event }) => afterFailure(context, messageOf(event.error))),
            },
            failedAt('planning'),
          ],
        },
      },
      committing: {
        invoke: {
          id: `commit-${DOCUMENT_TYPES[phase]}`,
          src: 'commitDocument',
          input: ({ context }) => ({
            ...headerOf(context),
            head: context.head,
            item: itemOf(context),
            draft: context.draft ?? NO_DRAFT,
          }),
          onDone: {
            target: 'deciding',
            actions: { type: 'keepDocument', params: ({ event }) => ({ phase, document: event.output }) },
          },
          onError: failedAt('planning'),
        },
      },
      deciding: {
        always: [
          { guard: ({ context }) => isAsked(context, phase), target: `#roadmap-item.active.${GATES[phase]}` as const },
          {
            target: '#roadmap-item.active.entering',
            actions: assign(inPhase(phaseAfter(phase))),
          },
        ],
      },
    },
  });
};

/** A person reads the document and approves it, or sends it back. */
export const documentGate = <const Phase extends DocumentPhase>(phase: Phase) =>
  itemSetup.createStateConfig({
    meta: approvalGate<ItemContext>({
      stage: 'planning',
      kind: DOCUMENT_TYPES[phase],
      decisions: ['approve', 'reject'],
      summary: (context) => `Review the ${DOCUMENT_TITLES[phase].toLowerCase()} of '${itemOf(context).title}'`,
      shows: shownDocument(phase),
      details: ({ documents, tasks }) => ({
        path: documents[phase]?.path,
        ...(phase === 'decomposing'
          ? { tasks: tasks.filter(({ isFix }) => isFix !== true).map(({ id, title }) => `${id}: ${title}`) }
          : {}),
      }),
    }),
    on: {
      APPROVAL_GRANTED: {
        guard: GUARDS[phase],
        target: 'entering',
        actions: assign(inPhase(phaseAfter(phase))),
      },
      APPROVAL_REJECTED: {
        target: 'entering',
        actions: [noteFeedback, assign(({ event }) => inPhase(phase, `sent back: ${keptReason(event.feedback)}`))],
      },
    },
  });
