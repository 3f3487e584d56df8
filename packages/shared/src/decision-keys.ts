/**
 * Idempotency keys of decisions that a person may have to make again, since the server has not confirmed them: the same decision
 * of the same gate goes out under the same key, so that it is done once and its answer is given again. Another decision is
 * another request; where the first one was done, the server says who decided what.
 */
import type { GateDecision } from './api/orchestrator.ts';

export interface DecisionKeys {
  keyOf(gateId: string, decision: GateDecision): string;
}

/** Keys of one client: what two people decide alike are two decisions. */
export function createDecisionKeys(): DecisionKeys {
  const keys = new Map<string, string>();
  return {
    keyOf(gateId, decision) {
      const fields = Object.entries(decision).filter(([, value]) => value !== undefined);
      const request = JSON.stringify([gateId, fields.toSorted(([one], [other]) => (one < other ? -1 : 1))]);
      const key = keys.get(request) ?? crypto.randomUUID();
      keys.set(request, key);
      return key;
    },
  };
}
