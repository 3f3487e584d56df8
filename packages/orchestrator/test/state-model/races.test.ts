/** Requests that race each other over HTTP, in orders that chance gives and a seed repeats. */
import fc from 'fast-check';
import { type RunView, type ShownGate, shownAt } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { describe, expect, it } from 'vitest';
import { errand } from './errand.fixture.ts';
import { type Answer, answerOf, ModelServer, PROJECT } from './model-server.fixture.ts';

type Send = (client: Client, runId: string) => Promise<RunView>;

/** The gate that the racing clients saw before they started, by run id. */
const seen = new Map<string, ShownGate>();
const approve: Send = (client, id) => client.decideOpenGate(id, { decision: 'approve', ...seen.get(id) });
const reject: Send = (client, id) => client.decideOpenGate(id, { decision: 'reject', feedback: 'Again' });
const answer: Send = (client, id) => client.decideOpenGate(id, { decision: 'answer', response: 'Home' });
const cancel: Send = (client, id) => client.cancelRun(id);

describe('racing requests', () => {
  it('makes one event of 50 approvals at once, and tells the others who won', async () => {
    await race({ at: 'gate', requests: Array.from({ length: 50 }, () => approve), numRuns: 3 }, async (outcome) => {
      expect(outcome.taken).toHaveLength(1);
      expect(outcome.statuses.filter((status) => status === 409)).toHaveLength(49);
      expect(outcome.types.filter((type) => type === 'APPROVAL_GRANTED')).toHaveLength(1);
    });
  });

  it('lets one of approval and rejection win the gate that both saw', async () => {
    const onSeen =
      (decision: 'approve' | 'reject'): Send =>
      async (client, id) =>
        client.decideGate(
          seen.get(id)?.gateId ?? '',
          decision === 'approve' ? { decision, ...seen.get(id) } : { decision, feedback: 'Again' },
        );
    await race(
      {
        at: 'gate',
        requests: [onSeen('approve'), onSeen('reject'), onSeen('approve')],
        numRuns: 12,
      },
      async ({ taken, types, view }) => {
        expect(taken).toHaveLength(1);
        const decisions = types.filter((type) => type === 'APPROVAL_GRANTED' || type === 'APPROVAL_REJECTED');
        expect(decisions).toHaveLength(1);
        expect(view.gates.filter(({ kind }) => kind === 'plan')).toHaveLength(1);
      },
    );
  });

  it('ends a run that is cancelled while it is approved, whichever comes first', async () => {
    await race({ at: 'gate', requests: [approve, cancel, approve], numRuns: 12 }, async ({ taken, types, view }) => {
      expect(view.status).toBe('cancelled');
      expect(types.filter((type) => type === 'RUN_CANCELLED')).toHaveLength(1);
      expect(
        types.at(-2) === 'RUN_CANCELLED' || types.at(-1) === 'RUN_CANCELLED' || types.includes('STATE_CHANGED'),
      ).toBe(true);
      const approvals = types.filter((type) => type === 'APPROVAL_GRANTED').length;
      expect(taken).toHaveLength(1 + approvals);
      expect(approvals).toBeLessThan(2);
    });
  });

  it('takes the first of several answers', async () => {
    await race({ at: 'asking', requests: [answer, answer, answer, answer], numRuns: 8 }, async ({ taken, types }) => {
      expect(taken).toHaveLength(1);
      expect(types.filter((type) => type === 'CLARIFICATION_ANSWERED')).toHaveLength(1);
    });
  });

  it('gives a rejected draft to those who reject or approve it, never to both', async () => {
    await race({ at: 'gate', requests: [reject, approve, reject], numRuns: 12 }, async ({ view }) => {
      const ids = view.gates.map(({ gateId }) => gateId);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });

  it('makes one run of a launch that is sent several times at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const server = await aServer(scheduler);
        try {
          const wanted = { projectId: PROJECT, workflow: 'errand', request: 'Go' };
          const launches = Promise.all(Array.from({ length: 5 }, () => server.client.launchRun(wanted, 'one-key')));
          const ids = (await scheduler.waitFor(launches)).map(({ id }) => id);
          expect(new Set(ids).size).toBe(1);
          const { items } = await scheduler.waitFor(server.client.listRuns());
          expect(items).toHaveLength(1);
          const types = (await scheduler.waitFor(server.events(ids[0] ?? ''))).map(({ type }) => type);
          expect(types.filter((type) => type === 'RUN_STARTED')).toHaveLength(1);
        } finally {
          await server.close();
        }
      }),
      { numRuns: 8 },
    );
  });
});

interface Race {
  readonly at: 'asking' | 'gate';
  readonly requests: readonly Send[];
  readonly numRuns: number;
}

interface RaceOutcome {
  readonly taken: readonly RunView[];
  /** Of those that were refused. */
  readonly statuses: readonly number[];
  /** Types of the run's events afterwards. */
  readonly types: readonly string[];
  readonly view: RunView;
}

async function race({ at, requests, numRuns }: Race, check: (outcome: RaceOutcome) => Promise<void>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const server = await aServer(scheduler);
      try {
        const wanted = { projectId: PROJECT, workflow: 'errand', request: 'Go' };
        const { id } = await scheduler.waitFor(server.client.launchRun(wanted));
        if (at === 'gate') await scheduler.waitFor(answer(server.client, id));
        const ready = await server.until(id, (view) => view.state === at);
        if (ready.gate !== null) seen.set(id, shownAt(ready.gate));
        const sent: Promise<Answer<RunView>[]> = Promise.all(requests.map((send) => answerOf(send(server.client, id))));
        const answers = await scheduler.waitFor(sent);
        const rested = await server.until(id, (view) => view.state !== 'drafting');
        await check({
          taken: answers.flatMap((given) => (given.ok ? [given.value] : [])),
          statuses: answers.flatMap((given) => (given.ok ? [] : [given.status])),
          types: (await scheduler.waitFor(server.events(id))).map(({ type }) => type),
          view: rested,
        });
      } finally {
        await server.close();
      }
    }),
    { numRuns },
  );
}

/** The order in which requests leave is the scheduler's. */
function aServer(scheduler: fc.Scheduler): Promise<ModelServer> {
  return ModelServer.start({
    workflows: [errand],
    activities: ['draft', 'work'],
    perform: (src) => (src === 'draft' ? Promise.resolve('a draft') : new Promise(() => undefined)),
    wrapFetch: (send) => scheduler.scheduleFunction(send),
  });
}
