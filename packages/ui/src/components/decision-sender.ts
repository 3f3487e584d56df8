/** A decision on its way: sent at once, looked after while nothing is heard of it, free to be made again when it is late. */
import type { Decision, GateDecision } from '@autonomous/shared';
import { ApiError, createDecisionKeys, type RunStore, winnerOf } from '@autonomous/shared/client';
import { createStore } from '@xstate/store';
import type { ScreenClient } from '../bridge.ts';
import { messageOf } from '../hosts/messages.ts';
import { ownDecisions } from './own-decisions.ts';

export type Sending =
  | { readonly state: 'open' }
  | { readonly state: 'sent'; readonly decision: Decision }
  | { readonly state: 'late' }
  | { readonly state: 'refused'; readonly reason: string; readonly decidedElsewhere: boolean };

export interface DecisionSenderOptions {
  readonly gate: { readonly id: string; readonly runId: string };
  readonly client: Pick<ScreenClient, 'decideGate' | 'getRun'>;
  readonly runs: RunStore;
  /** Somebody else was first. */
  readonly onDecidedElsewhere: (gateId: string) => void;
  /** A decision that the server has not answered by then is looked after, and so often from then on; 5 s when absent. */
  readonly lookAfterMs?: number;
  /** Then it may be made again; 20 s when absent. */
  readonly lateAfterMs?: number;
}

export type DecisionSender = ReturnType<typeof createDecisionSender>;

export function createDecisionSender(options: DecisionSenderOptions) {
  const { gate, client, runs, onDecidedElsewhere, lookAfterMs = 5_000, lateAfterMs = 20_000 } = options;
  const sending = createStore({
    context: atRest(),
    on: { became: (_before, { next }: { next: Sending }): Sending => next },
  });
  const become = (next: Sending): void => sending.trigger.became({ next });
  const keys = createDecisionKeys();
  let newest: symbol | null = null;
  let looking: ReturnType<typeof setInterval> | undefined;
  let lateness: ReturnType<typeof setTimeout> | undefined;

  const rest = (): void => {
    clearInterval(looking);
    clearTimeout(lateness);
  };
  let isGone = false;
  const look = (): Promise<void> =>
    client.getRun(gate.runId).then(
      (run) => {
        if (!isGone) runs.trigger.listed({ runs: [run] });
      },
      // The connection, or the refusal that is told already, says why.
      () => undefined,
    );

  return {
    sending,
    /** @returns whether the server has taken it, which then tells of the run itself; never rejects */
    async send(decision: GateDecision): Promise<boolean> {
      if (sending.getSnapshot().context.state === 'sent') return false;
      const own = Symbol(decision.decision);
      newest = own;
      rest();
      become({ state: 'sent', decision: decision.decision });
      ownDecisions.add(gate.id);
      // Asks the server about a decision that gets no answer: it may have been stored although no event arrived.
      looking = setInterval(() => void look(), lookAfterMs);
      lateness = setTimeout(() => become({ state: 'late' }), lateAfterMs);
      try {
        const run = await client.decideGate(gate.id, decision, keys.keyOf(gate.id, decision));
        runs.trigger.listed({ runs: [run] });
        return true;
      } catch (error) {
        if (error instanceof ApiError) keys.forget(gate.id, decision);
        // It was made again meanwhile: what comes of that counts.
        if (newest !== own) return false;
        rest();
        ownDecisions.delete(gate.id);
        const winner = error instanceof ApiError ? winnerOf(error.problem) : null;
        become({ state: 'refused', reason: messageOf(error), decidedElsewhere: winner !== null });
        // The shown gate may have been decided long ago.
        if (winner !== null) onDecidedElsewhere(gate.id);
        if (error instanceof ApiError && error.status === 409) await look();
        return false;
      }
    },
    /** The gate is shown no more. */
    dispose: (): void => {
      isGone = true;
      rest();
    },
  };
}

function atRest(): Sending {
  return { state: 'open' };
}
