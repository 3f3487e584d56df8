/** Signals that the run of a phase accepts. */
import type { EventPayloads } from '@autonomous/shared';
import { decisionSignals as all } from '../parts/signals.ts';

export const signals = {
  APPROVAL_REJECTED: all.APPROVAL_REJECTED,
  CLARIFICATION_ANSWERED: all.CLARIFICATION_ANSWERED,
  RETRY_REQUESTED: all.RETRY_REQUESTED,
  STAGE_EXTENDED: all.STAGE_EXTENDED,
  BUDGET_CHANGED: all.BUDGET_CHANGED,
  MESSAGE_SENT: all.MESSAGE_SENT,
  RUN_CANCELLED: all.RUN_CANCELLED,
};

export type Signal = {
  [Type in keyof typeof signals]: { readonly type: Type } & EventPayloads[Type];
}[keyof typeof signals];
