import type { GateDecision, RunView } from '@autonomous/shared';
import { ApiError, createRunStore } from '@autonomous/shared/client';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDecisionSender, type DecisionSender } from './decision-sender.ts';
import { ownDecisions } from './own-decisions.ts';

const GATE = { id: 'r-1.4', runId: 'r-1' };
const APPROVE = { decision: 'approve', artifactHash: 'a' } as const;
const DECIDED = new ApiError({
  type: 't',
  title: 'Conflict',
  status: 409,
  detail: 'Gate r-1.4 is already decided.',
  code: 'conflict',
  winner: { gateId: GATE.id, kind: 'plan', decision: 'approve', by: 'ada', at: new Date().toISOString() },
});

let sender: DecisionSender | undefined;
afterEach(() => {
  sender?.dispose();
  ownDecisions.clear();
});

/** A server whose answers the test gives, one for each time that it is asked. */
function aSender(more: { readonly lookAfterMs?: number; readonly lateAfterMs?: number } = {}) {
  const asked: {
    readonly key: string | undefined;
    readonly decision: GateDecision;
    readonly answer: PromiseWithResolvers<RunView>;
  }[] = [];
  const getRun = vi.fn<(id: string) => Promise<RunView>>(() => Promise.resolve(aRun({ lastSequence: 9 })));
  const onDecidedElsewhere = vi.fn<(gateId: string) => void>();
  const runs = createRunStore();
  const made = createDecisionSender({
    gate: GATE,
    client: {
      decideGate(_id, decision, key) {
        const answer = Promise.withResolvers<RunView>();
        asked.push({ key, decision, answer });
        return answer.promise;
      },
      getRun,
    },
    runs,
    onDecidedElsewhere,
    ...more,
  });
  sender = made;
  const state = () => made.sending.getSnapshot().context;
  return { made, asked, getRun, runs, onDecidedElsewhere, state };
}

describe('A decision that the server does not confirm', () => {
  it('is looked after, and may be made again when it is late: the same one under the same key', async () => {
    const { made, asked, getRun, runs, state } = aSender({ lookAfterMs: 5, lateAfterMs: 30 });
    const first = made.send(APPROVE);
    expect(state()).toEqual({ state: 'sent', decision: 'approve' });
    // Who presses twice decides once.
    expect(await made.send(APPROVE)).toBe(false);
    expect(asked).toHaveLength(1);
    await expect.poll(() => state().state).toBe('late');
    expect(getRun).toHaveBeenCalledWith('r-1');
    expect(runs.getSnapshot().context.runs['r-1']?.lastSequence).toBe(9);

    const second = made.send({ ...APPROVE });
    expect(asked.map(({ key }) => key)).toEqual([asked[0]?.key, asked[0]?.key]);
    expect(asked[0]?.key).toBeDefined();
    asked[1]?.answer.resolve(aRun({ lastSequence: 12 }));
    expect(await second).toBe(true);
    expect(runs.getSnapshot().context.runs['r-1']?.lastSequence).toBe(12);
    expect(ownDecisions.has(GATE.id)).toBe(true);
    asked[0]?.answer.resolve(aRun({ lastSequence: 12 }));
    expect(await first).toBe(true);
  });

  it('gives way to another one, which says who decided what where the first was done', async () => {
    const { made, asked, getRun, onDecidedElsewhere, state } = aSender({ lateAfterMs: 5 });
    const first = made.send(APPROVE);
    await expect.poll(() => state().state).toBe('late');
    const second = made.send({ decision: 'reject', feedback: 'smaller' });
    expect(asked[1]?.key).not.toBe(asked[0]?.key);
    asked[1]?.answer.reject(DECIDED);
    expect(await second).toBe(false);
    expect(state()).toEqual({
      state: 'refused',
      reason: 'Somebody was first: ada has approved this just now.',
      decidedElsewhere: true,
    });
    expect(onDecidedElsewhere).toHaveBeenCalledWith(GATE.id);
    expect(getRun).toHaveBeenCalledOnce();
    // What becomes of the first is no news any more.
    asked[0]?.answer.reject(new Error('the connection was lost'));
    expect(await first).toBe(false);
    expect(state().state).toBe('refused');
  });

  it('is not late any more when it was refused, and rests when its gate is shown no more', async () => {
    const { made, asked, getRun, state } = aSender({ lookAfterMs: 10, lateAfterMs: 10 });
    const refused = made.send(APPROVE);
    asked[0]?.answer.reject(new Error('no such plan'));
    await refused;
    void made.send(APPROVE);
    made.dispose();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(state()).toEqual({ state: 'sent', decision: 'approve' });
    expect(getRun).not.toHaveBeenCalled();
  });
});

it('says why a decision was not taken, and nothing of somebody else where nobody was first', async () => {
  const { made, asked, onDecidedElsewhere, state } = aSender();
  const sent = made.send(APPROVE);
  asked[0]?.answer.reject(new Error('The server cannot be reached.'));
  await sent;
  expect(state()).toEqual({ state: 'refused', reason: 'The server cannot be reached.', decidedElsewhere: false });
  expect(onDecidedElsewhere).not.toHaveBeenCalled();
  expect(ownDecisions.size).toBe(0);
});
