/**
 * A question of an agent to a person. The one over the limit becomes an escalation, a gate that shows all questions and
 * answers so far.
 */
import type { EventPayloads, Question } from '@autonomous/shared';
import { assign, type EventObject, type MachineContext } from 'xstate';
import type { Note } from '../../activities/types.ts';
import { changeOf } from './change.ts';
import { noteFeedback, type NotedContext } from './notes.ts';

export interface ClarifyingContext extends NotedContext {
  readonly config: { readonly maxClarifications: number };
  /** Number of questions that agents asked. */
  readonly clarificationCount: number;
  readonly answered: readonly { readonly question: string; readonly response: string }[];
  /** The open question and the stage that asked it; `null` if none is open. */
  readonly question: { readonly asked: Question; readonly from: string } | null;
}

const NO_QUESTION: Question = { question: '', context: '', responseType: 'text' };

const askedIn = ({ question }: ClarifyingContext): Question => question?.asked ?? NO_QUESTION;

/** Actions of clarifications. The activity whose output is a question sets `question` itself. */
export function clarifyingActions<Context extends MachineContext & ClarifyingContext, Event extends EventObject>() {
  const changed = changeOf<Context, ClarifyingContext>;
  const answer = (context: ClarifyingContext, response: string, uploads: Note['uploads']) => {
    const { question } = askedIn(context);
    const text = `Question: ${question}\nAnswer: ${response}`;
    return changed({
      answered: [...context.answered, { question, response }],
      notes: [...context.notes, { kind: 'answer', text, ...(uploads ? { uploads } : {}) }],
      question: null,
    });
  };
  return {
    countQuestion: assign<Context, Event, undefined, Event, never>(({ context }) =>
      changed({ clarificationCount: context.clarificationCount + 1 }),
    ),
    takeAnswer: assign<Context, Event, { response: string; uploads?: Note['uploads'] }, Event, never>(
      ({ context }, { response, uploads }) => answer(context, response, uploads),
    ),
    ignoreQuestion: assign<Context, Event, undefined, Event, never>(({ context }) =>
      changed({
        notes: [
          ...context.notes,
          {
            kind: 'feedback',
            text: `The question '${askedIn(context).question}' was ignored. Plan so that it need not be asked.`,
          },
        ],
        question: null,
      }),
    ),
    endQuestion: assign<Context, Event, undefined, Event, never>(() => changed({ question: null })),
  };
}

export const clarifyingGuards = {
  isOverTheLimit: ({ context }: { readonly context: ClarifyingContext }) =>
    context.clarificationCount > context.config.maxClarifications,
  isAskedFrom: ({ context }: { readonly context: ClarifyingContext }, { stage }: { stage: string }) =>
    context.question?.from === stage,
};

interface Ways<Stage extends string, Later extends string, First extends string> {
  /** Stage whose agent asks where no other is named, and the state in which it works: also the way after *Ignore* and a rejection. */
  readonly first: { readonly stage: Stage; readonly target: First };
  /** A later stage whose agent asks too. */
  readonly later: { readonly stage: string; readonly target: Later };
}

/**
 * Three states: `asking`, into which a transition with a question leads, and the two in which a person is waited for.
 * They are siblings; spread them into the states of the work.
 */
export function clarificationStates<
  const Stage extends string,
  const Later extends string,
  const First extends string,
>({ first, later }: Ways<Stage, Later, First>) {
  const stage = ({ question }: ClarifyingContext) => question?.from ?? first.stage;
  const wasLater = { type: 'isAskedFrom', params: { stage: later.stage } } as const;
  return {
    asking: {
      entry: 'countQuestion',
      always: [{ guard: 'isOverTheLimit', target: 'awaitingEscalation' }, { target: 'awaitingAnswer' }],
    },
    awaitingAnswer: {
      meta: {
        status: 'awaiting_clarification',
        stage,
        gate: {
          kind: 'clarification',
          decisions: ['answer', 'ignore'],
          summary: (context: ClarifyingContext) => askedIn(context).question,
          facts: (context: ClarifyingContext) => ({
            question: { ...askedIn(context) },
            attemptNumber: context.clarificationCount,
            details: {},
          }),
        },
      },
      on: {
        CLARIFICATION_ANSWERED: [
          { guard: wasLater, target: later.target, actions: takeAnswer },
          { target: first.target, actions: takeAnswer },
        ],
        CLARIFICATION_IGNORED: { target: first.target, actions: 'ignoreQuestion' },
      },
    },
    awaitingEscalation: {
      meta: {
        status: 'awaiting_approval',
        stage,
        gate: {
          kind: 'escalation',
          decisions: ['approve', 'reject'],
          summary: ({ config }: ClarifyingContext) =>
            `More than ${config.maxClarifications} questions: approve with notes that answer the last one, or reject`,
          facts: (context: ClarifyingContext) => ({
            details: { question: { ...askedIn(context) }, answered: context.answered },
          }),
        },
      },
      on: {
        APPROVAL_GRANTED: [
          { guard: wasLater, target: later.target, actions: takeApproval },
          { target: first.target, actions: takeApproval },
        ],
        APPROVAL_REJECTED: { target: first.target, actions: [noteFeedback, 'endQuestion'] },
      },
    },
  } as const;
}

const takeAnswer = {
  type: 'takeAnswer',
  params: ({ event }: { readonly event: EventPayloads['CLARIFICATION_ANSWERED'] }) => ({
    response: event.response,
    uploads: event.uploads,
  }),
} as const;

/** The notes of an approval answer the last question. */
const takeApproval = {
  type: 'takeAnswer',
  params: ({ event }: { readonly event: { readonly notes?: string } }) => ({
    response: event.notes ?? 'Decide by yourself and go on.',
  }),
} as const;
