/** Notes to later calls of agents, and messages, budgets and the end of a run, which a person may send at any time. */
import { type BudgetChange, type Budgets, withBudgets } from '@autonomous/shared';
import { assign, type EventObject, type MachineContext } from 'xstate';
import type { Note } from '../../activities/types.ts';
import { changeOf } from './change.ts';
import type { DecisionSignal } from './signals.ts';

type BudgetChanged = Extract<DecisionSignal, { type: 'BUDGET_CHANGED' }>;

export interface NotedContext {
  /** Oldest first. Each later call of an agent is given all of them. */
  readonly notes: readonly Note[];
}

export interface BudgetedContext {
  readonly config: Budgets;
  /** Configuration that the request asked for. It wins when the project's configuration is read later. */
  readonly requestedConfig: object;
}

/** Actions on notes. */
export function notingActions<Context extends MachineContext & NotedContext, Event extends EventObject>() {
  return {
    /** Adds a message or the feedback of a person. Without a text it adds nothing. */
    note: assign<Context, Event, { kind: Note['kind']; text: string | undefined }, Event, never>(
      ({ context }, { kind, text }) =>
        text ? changeOf<Context, NotedContext>({ notes: [...context.notes, { kind, text }] }) : {},
    ),
  };
}

/** Actions on budgets. */
export function budgetActions<Context extends MachineContext & BudgetedContext, Event extends EventObject>() {
  return {
    /** Changes the configuration and the requested one, so that the change holds if the project's is still to be read. */
    changeBudget: assign<Context, Event, { change: BudgetChange }, Event, never>(({ context }, { change }) =>
      changeOf<Context, BudgetedContext>({
        config: withBudgets(context.config, change),
        requestedConfig: { ...context.requestedConfig, ...change },
      }),
    ),
  };
}

/** Adds the feedback of a rejection. For a transition on APPROVAL_REJECTED. */
export const noteFeedback = {
  type: 'note',
  params: ({ event }: { readonly event: { readonly feedback: string } }) => ({
    kind: 'feedback' as const,
    text: event.feedback,
  }),
} as const;

/** Changes budgets. For a transition on BUDGET_CHANGED. */
export const changeBudget = {
  type: 'changeBudget',
  params: ({ event }: { readonly event: BudgetChanged }) => {
    const { type: _type, by: _by, gateId: _gateId, ...change } = event;
    return { change };
  },
} as const;

/**
 * Transitions of the machine itself: cancel, message and budget hold in every state.
 * @param cancelled final state with the status `cancelled`, such as `.cancelled`
 */
export function takenEverywhere<const Cancelled extends string>(cancelled: Cancelled) {
  return {
    RUN_CANCELLED: cancelled,
    MESSAGE_SENT: {
      actions: {
        type: 'note',
        params: ({ event }: { readonly event: { readonly text: string } }) => ({
          kind: 'message' as const,
          text: event.text,
        }),
      },
    },
    BUDGET_CHANGED: { actions: changeBudget },
  } as const;
}
