/**
 * Idempotency keys of decisions that a person may have to make again, since the server has not confirmed them: the same decision
 * of the same gate goes out under the same key, so that it is done once and its answer is given again. Another decision is
 * another request; where the first one was done, the server says who decided what.
 */
import type { GateDecision } from '../api/orchestrator.ts';

export interface DecisionKeys {
  keyOf(gateId: string, decision: GateDecision): string;
  /** Forgets the key of a decision that the server has refused: the same decision is then a new request. */
  forget(gateId: string, decision: GateDecision): void;
}

/** Keys of one client: what two people decide alike are two decisions. */
export function createDecisionKeys(): DecisionKeys {
  const keys = new Map<string, string>();
  // As it is sent: the server compares the bytes of a body.
  const requestOf = (gateId: string, decision: GateDecision): string => JSON.stringify([gateId, decision]);
  return {
    forget: (gateId, decision) => void keys.delete(requestOf(gateId, decision)),
    keyOf(gateId, decision) {
      const request = requestOf(gateId, decision);
      const key = keys.get(request) ?? crypto.randomUUID();
      keys.set(request, key);
      return key;
    },
  };
}
