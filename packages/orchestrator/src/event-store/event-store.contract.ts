/** Contract suite that every adapter of the event store must pass. */
import type { Gate, RunView, WorkflowEvent } from '@autonomous/shared';
import { Conflict, foldRun, InvalidRequest, Unavailable } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventStore } from './event-store.ts';
import { sha256 } from './hash-chain.ts';
import { aClarification, anActivity, anEvent, aStart, aStep, aTimer, aView, NOON } from './sqlite/steps.fixture.ts';
import { calls, opens, tell, type Told } from './sqlite/stored-run.fixture.ts';

export interface StoreUnderTest {
  /** Opens the same storage each time; the store opened before is closed by then. */
  open(): Promise<EventStore>;
  remove(): Promise<void>;
}

/** Runs the suite against the storage that `make` makes anew for each test. */
export function eventStoreContract(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`${name} as an event store`, () => {
    let storage: StoreUnderTest;
    let store: EventStore;

    beforeEach(async () => {
      storage = await make();
      store = await storage.open();
    });
    afterEach(async () => {
      await store.close();
      await storage.remove();
    });

    async function reopen(): Promise<void> {
      await store.close();
      store = await storage.open();
    }

    describe('events', () => {
      it('numbers them from 1 within their run and by one position over all runs', async () => {
        await store.append(aStep('a', { events: [anEvent('RUN_STARTED'), anEvent('STAGE_STARTED')] }));
        await store.append(aStep('b'));
        await store.append(aStep('a', { expectedSequence: 2 }));

        const events = await store.readAll(0);
        expect(events.map((event) => [event.workflowRunId, event.sequence])).toEqual([
          ['a', 1],
          ['a', 2],
          ['b', 1],
          ['a', 3],
        ]);
        const positions = events.map((event) => event.position);
        expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
        expect(new Set(events.map((event) => event.id)).size).toBe(4);
        expect(await store.lastPosition()).toBe(positions.at(-1));
      });

      it('gives back at once what it gives back after a restart', async () => {
        const payload = { text: 'Grüße "\u2028" \ud800', nothing: null, list: [1, -0.5, 1e21, { deep: true }], '': {} };
        const events = [
          anEvent('OWN', payload, '2026-03-01T13:00:00+01:00', 'emitted'),
          anEvent('LATER', {}, '2026-03-01T12:00:00.001Z'),
        ];

        const stored = await store.append(aStep('a', { events }));
        expect(stored).toMatchObject([
          { id: 'a.1', type: 'OWN', origin: 'emitted', payload, timestamp: NOON, sequence: 1, workflowRunId: 'a' },
          { id: 'a.2', type: 'LATER', origin: 'input', timestamp: '2026-03-01T12:00:00.001Z', sequence: 2 },
        ]);
        await reopen();
        expect(await store.readRun('a', 0)).toStrictEqual(stored);
        expect(await store.readAll(0)).toStrictEqual(stored);
      });

      it('reads those of a run after a sequence and those of all after a position, in parts', async () => {
        for (const runId of ['a', 'b'])
          await store.append(aStep(runId, { events: [anEvent('A'), anEvent('B'), anEvent('C')] }));

        expect((await store.readRun('b', 1)).map((event) => event.type)).toEqual(['B', 'C']);
        expect((await store.readRun('b', 0, 2)).map((event) => event.type)).toEqual(['A', 'B']);
        expect(await store.readRun('unknown', 0)).toEqual([]);
        const first = await store.readAll(0, 4);
        const rest = await store.readAll(first.at(-1)?.position ?? 0, 4);
        expect([...first, ...rest].map((event) => event.id)).toEqual((await store.readAll(0)).map((event) => event.id));
        expect([first.length, rest.length]).toEqual([4, 2]);
        // A part may begin and end within a step.
        expect((await store.readAll(1, 3)).map((event) => event.id)).toEqual(['a.2', 'a.3', 'b.1']);
        expect((await store.readRun('a', 1, 1)).map((event) => event.id)).toEqual(['a.2']);
      });

      it('has position 0 and no events at first', async () => {
        expect(await store.lastPosition()).toBe(0);
        expect(await store.readAll(0)).toEqual([]);
      });

      it('refuses a time that is none, and stores nothing of the step', async () => {
        await expect(
          store.append(aStep('a', { events: [anEvent('A'), anEvent('B', {}, 'yesterday')] })),
        ).rejects.toThrow('yesterday');
        expect(await store.loadView('a')).toBeNull();
        expect(await store.readAll(0)).toEqual([]);
      });
    });

    describe('summaries', () => {
      const year = { endedSince: '2026-01-01T00:00:00.000Z', madeBefore: '2027-01-01T00:00:00.000Z' };
      const ids = async (filter: Parameters<EventStore['summarizeRuns']>[0]) =>
        (await store.summarizeRuns(filter)).map(({ id }) => id);

      it('are of open runs, and of those that ended in a time', async () => {
        const end: Told = ['2026-03-05T12:00Z', 'RUN_COMPLETED'];
        const workflow = { name: 'essay', version: 1 };
        await tell(store, 'open', { createdAt: '2026-03-01T12:00:00.000Z', workflow }, []);
        await tell(store, 'ended', { createdAt: '2026-03-04T12:00:00.000Z', projectId: 'p-2' }, [end]);
        expect(await ids(year)).toEqual(['open', 'ended']);
        expect(await ids({ ...year, projectId: 'p-2' })).toEqual(['ended']);
        expect(await ids({ ...year, workflow: 'essay' })).toEqual(['open']);
        expect(await ids({ ...year, workflow: 'essay', projectId: 'p-2' })).toEqual([]);
        expect(await ids({ ...year, endedSince: '2026-03-05T12:00:00.001Z' })).toEqual(['open']);
        expect(await ids({ ...year, endedSince: '2026-03-05T12:00:00.000Z' })).toEqual(['open', 'ended']);
        expect(await ids({ ...year, madeBefore: '2026-03-04T12:00:00.000Z' })).toEqual(['open']);
      });

      it('say what was spent and where a run stood, and go on where it does', async () => {
        const begin = { createdAt: '2026-03-01T12:00:00.000Z' };
        const planned = [...calls('2026-03-01T12:01Z', 'planning', 'a:x', 2), opens('2026-03-01T13:00Z', 'plan')];
        const view = await tell(store, 'a', begin, planned);
        const from = Date.parse('2026-03-01T13:00Z');
        expect(await store.summarizeRuns(year)).toMatchObject([
          {
            status: 'running',
            createdAt: begin.createdAt,
            completedAt: null,
            isSuperseded: false,
            parentId: null,
            isBelow: false,
            summary: {
              spent: [{ stage: 'planning', model: 'a:x', calls: 1, costUsd: 2 }],
              open: { gate: 'plan', from },
            },
          },
        ]);
        await reopen();
        const granted = anEvent('APPROVAL_GRANTED', { by: 'ada' }, '2026-03-02T13:00:00.000Z');
        await store.append(
          aStep('a', {
            expectedSequence: view.lastSequence,
            events: [granted],
            view: { ...view, gate: null, lastSequence: view.lastSequence + 1 },
          }),
        );
        const [run] = await store.summarizeRuns(year);
        expect(run?.summary).toMatchObject({
          spent: [{ costUsd: 2 }],
          open: null,
          waits: [{ gate: 'plan', from, to: Date.parse('2026-03-02T13:00Z') }],
        });
      });
    });

    describe('a step', () => {
      it('is refused when another was stored first, and leaves nothing behind', async () => {
        await store.append(aStep('a'));
        const late = aStep('a', {
          startActivities: [anActivity('a', 'plan')],
          setTimers: [aTimer('a', 'timeout')],
          clarifications: [aClarification('a')],
          snapshot: {},
          view: { status: 'failed' },
        });

        await expect(store.append(late)).rejects.toThrow(Conflict);
        await expect(store.append(aStep('a', { expectedSequence: 7 }))).rejects.toThrow(/event 1, not 7/);
        await expect(store.append(aStep('new', { expectedSequence: 1 }))).rejects.toThrow(Conflict);
        expect(await store.loadView('a')).toMatchObject({ status: 'running', lastSequence: 1 });
        expect(await store.readAll(0)).toHaveLength(1);
        expect(await store.openActivities()).toEqual([]);
        expect(await store.openTimers()).toEqual([]);
        expect(await store.listClarifications()).toEqual([]);
        expect((await store.loadRun('a'))?.snapshot).toBeNull();
      });

      it('wins alone when twenty race for the same place', async () => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, (_, racer) => store.append(aStep('a', { events: [anEvent(`E${racer}`)] }))),
        );

        const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled');
        expect(winners).toHaveLength(1);
        expect(await store.readRun('a', 0)).toEqual(winners[0]?.value);
      });

      it('may follow another of the same run within one turn', async () => {
        const stored = await Promise.all(
          [0, 1, 2].map((expectedSequence) => store.append(aStep('a', { expectedSequence }))),
        );

        expect(stored.flat().map((event) => event.sequence)).toEqual([1, 2, 3]);
        expect(await store.readRun('a', 0)).toEqual(stored.flat());
      });

      it('that fails takes its successors down and no other run', async () => {
        const outcomes = await Promise.allSettled([
          store.append(aStep('a')),
          store.append(aStep('b', { events: [anEvent('B', {}, 'no time')] })),
          store.append(aStep('b', { expectedSequence: 1 })),
          store.append(aStep('c')),
          store.append(aStep('a', { expectedSequence: 1 })),
        ]);

        expect(outcomes.map((outcome) => outcome.status)).toEqual([
          'fulfilled',
          'rejected',
          'rejected',
          'fulfilled',
          'fulfilled',
        ]);
        expect(outcomes[2]).toHaveProperty('reason.code', 'conflict');
        expect((await store.readAll(0)).map((event) => event.workflowRunId)).toEqual(['a', 'c', 'a']);
        expect(await store.loadView('b')).toBeNull();
      });

      it('whose view does not end where its events end is refused', async () => {
        await expect(store.append(aStep('a', { view: { lastSequence: 5 } }))).rejects.toThrow('view of run a');
        await expect(store.append({ ...aStep('a'), view: aView('b', { lastSequence: 1 }) })).rejects.toThrow('run b');
      });

      it('without events changes what is stored beside them, and keeps the sequence', async () => {
        await store.append(aStep('a'));
        const timers = [aTimer('a', 'timeout')];
        await store.append(
          aStep('a', { expectedSequence: 1, events: [], view: { status: 'paused' }, setTimers: timers }),
        );

        expect(await store.listOpenRuns('paused')).toHaveLength(1);
        expect(await store.openTimers('a')).toHaveLength(1);
        expect(await store.lastPosition()).toBe(1);
        expect(await store.append(aStep('a', { expectedSequence: 1 }))).toMatchObject([{ sequence: 2, position: 2 }]);
      });

      it('whose keys or clarifications belong to another run is refused', async () => {
        await expect(store.append(aStep('a', { setTimers: [aTimer('b', 'timeout')] }))).rejects.toThrow(
          "'b/1/timeout'",
        );
        await expect(store.append(aStep('a', { clarifications: [aClarification('b')] }))).rejects.toThrow('of run b');
        expect(await store.loadView('a')).toBeNull();
      });
    });

    describe('runs', () => {
      it('folds a view from all events, or from the newest that was stored whole and those after it', async () => {
        const opening = { gate: 'plan', stage: 'planning', decisions: ['approve'], summary: 'Look', details: {} };
        const first = await store.append(
          aStep('a', { events: [aStart(aView('a')), anEvent('APPROVAL_REQUESTED', opening)] }),
        );
        const folded = first.reduce<RunView | null>(foldRun, null);
        expect(await store.loadView('a')).toEqual(folded);
        expect(folded).toMatchObject({ gate: { id: 'a.2' }, lastSequence: 2 });

        const notice = anEvent('NOTICE', { message: 'careful' }, '2026-03-01T12:00:05.000Z');
        const whole = { branch: 'another', lastSequence: 3, updatedAt: notice.timestamp } as const;
        await store.append(
          aStep('a', { expectedSequence: 2, events: [notice], view: whole, snapshot: { value: 'planning' } }),
        );
        expect(await store.loadView('a')).toEqual(aView('a', whole));
        await store.append(aStep('a', { expectedSequence: 3, events: [notice] }));

        await reopen();
        const last = { notices: ['careful'], lastSequence: 4 };
        expect(await store.loadView('a')).toEqual(aView('a', { ...whole, ...last }));
        expect((await store.listRuns({})).items).toEqual([aView('a', { ...whole, ...last })]);
        expect(await store.loadView('unknown')).toBeNull();
      });

      it('gives the same view before and after a reader has folded much of it', async () => {
        const notices = Array.from({ length: 60 }, (_, number) => anEvent('NOTICE', { message: `${number}` }));
        await store.append(aStep('a', { events: [aStart(aView('a')), ...notices] }));
        const view = await store.loadView('a');
        expect(view?.notices).toHaveLength(60);
        // What was folded may be stored with this step; the next one comes after that.
        await store.append(aStep('b'));
        expect(await store.loadView('a')).toEqual(view);
        await store.append(aStep('a', { expectedSequence: 61, events: [anEvent('NOTICE', { message: 'last' })] }));
        expect(await store.loadView('a')).toEqual({
          ...view,
          notices: [...(view?.notices ?? []), 'last'],
          lastSequence: 62,
        });
        expect(await store.verifyRun('a')).toBeNull();
      });

      it('gives at one moment all that is needed to go on with one', async () => {
        const plan = anActivity('a', 'plan');
        const context = { order: '0123456789abcdef' };
        const work = { startActivities: [plan], setTimers: [aTimer('a', 'timeout')], context };
        const begun = await store.append(aStep('a', work));
        expect(await store.loadRun('unknown')).toBeNull();
        expect(await store.loadRun('a')).toEqual({
          view: begun.reduce<RunView | null>(foldRun, null),
          snapshot: null,
          events: begun,
          activities: await store.openActivities('a'),
          timers: [aTimer('a', 'timeout')],
          contexts: new Map([[begun.at(-1)?.sequence, context]]),
        });

        await store.append(aStep('a', { expectedSequence: 1, snapshot: { value: 'planning' } }));
        const later: (readonly WorkflowEvent[])[] = [];
        for (const expectedSequence of [2, 3]) later.push(await store.append(aStep('a', { expectedSequence })));
        await reopen();
        expect(await store.loadRun('a')).toMatchObject({
          view: { lastSequence: 4, notices: ['hello', 'hello'] },
          snapshot: { sequence: 2, data: { value: 'planning' } },
          events: later.flat(),
          activities: [{ ...plan, attempt: 1, failures: 0, notBefore: null, heartbeat: null }],
        });
      });

      it('lists them newest first, by any of their filters', async () => {
        const runs: readonly (readonly [string, Partial<RunView>])[] = [
          ['a', { status: 'running', createdAt: '2026-03-01T12:00:01.000Z' }],
          ['b', { status: 'completed', createdAt: '2026-03-01T12:00:03.000Z', projectId: 'p-2' }],
          [
            'c',
            {
              status: 'paused',
              createdAt: '2026-03-01T12:00:02.000Z',
              workflow: { name: 'research', version: 1 },
              explorationId: 'x-1',
            },
          ],
          ['d', { createdAt: '2026-02-01T12:00:01.000Z', status: 'failed', treeId: 'x-1', projectId: 'p-3' }],
          ['e', { createdAt: '2026-02-01T12:00:00.000Z', status: 'failed', treeId: 'a', projectId: 'p-3' }],
        ];
        for (const [runId, view] of runs) await store.append(aStep(runId, { view }));
        const list = async (filter: Parameters<EventStore['listRuns']>[0]) =>
          (await store.listRuns(filter)).items.map((run) => run.id);

        expect(await list({})).toEqual(['b', 'c', 'a', 'd', 'e']);
        expect(await list({ status: 'running' })).toEqual(['a']);
        expect(await list({ open: true })).toEqual(['c', 'a']);
        expect(await list({ open: false })).toEqual(['b', 'd', 'e']);
        expect(await list({ open: false, status: 'running' })).toEqual([]);
        expect(await list({ projectId: 'p-2' })).toEqual(['b']);
        expect(await list({ workflow: 'research' })).toEqual(['c']);
        expect(await list({ explorationId: 'x-1' })).toEqual(['c']);
        expect(await list({ treeId: 'x-1' })).toEqual(['c', 'd']);
        expect(await list({ treeId: 'a' })).toEqual(['a', 'e']);
        expect(await list({ treeId: 'd' })).toEqual(['d']);
        expect(await list({ projectId: 'p-1', workflow: 'build' })).toEqual(['a']);
        expect(await list({ projectId: 'p-2', status: 'running' })).toEqual([]);
      });

      it('pages through runs of the same time without a gap or a double, while new ones arrive', async () => {
        for (let run = 0; run < 7; run += 1) await store.append(aStep(`r-${run}`));
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await store.listRuns({ status: 'running', limit: 3, cursor });
          seen.push(...page.items.map((run) => run.id));
          cursor = page.nextCursor ?? undefined;
          await store.append(aStep(`new-${seen.length}`, { view: { createdAt: '2026-04-01T00:00:00.000Z' } }));
        } while (cursor !== undefined);

        expect(seen).toEqual(['r-6', 'r-5', 'r-4', 'r-3', 'r-2', 'r-1', 'r-0']);
        expect((await store.listRuns({ limit: 10 })).nextCursor).toBeNull();
      });

      it('refuses a cursor that it did not make', async () => {
        for (const cursor of ['', 'nonsense', Buffer.from('yesterday r-1').toString('base64url')]) {
          await expect(store.listRuns({ cursor })).rejects.toThrow(InvalidRequest);
        }
      });

      it('tells which are open, oldest first, and at which gates they wait', async () => {
        const statuses = [
          'completed',
          'paused',
          'failed',
          'queued',
          'awaiting_approval',
          'cancelled',
          'running',
          'awaiting_clarification',
        ] as const;
        for (const [age, status] of statuses.entries()) {
          const gate = status.startsWith('awaiting') || status === 'completed' ? aGate(status) : null;
          await store.append(aStep(status, { view: { status, gate, createdAt: `2026-03-01T12:00:0${9 - age}.000Z` } }));
        }

        const open = await store.listOpenRuns();
        expect(open.map((run) => run.id)).toEqual([
          'awaiting_clarification',
          'running',
          'awaiting_approval',
          'queued',
          'paused',
        ]);
        expect(open[1]).toEqual({
          id: 'running',
          projectId: 'p-1',
          userId: 'local',
          status: 'running',
          updatedAt: NOON,
        });
        expect(await store.loadHead('running')).toEqual(open[1]);
        expect(await store.loadHead('completed')).toMatchObject({ id: 'completed', status: 'completed' });
        expect(await store.loadHead('unknown')).toBeNull();
        expect((await store.listOpenRuns('queued')).map((run) => run.id)).toEqual(['queued']);
        expect(await store.listOpenRuns('failed')).toEqual([]);
        expect(await store.listGates()).toEqual([aGate('awaiting_clarification'), aGate('awaiting_approval')]);

        await store.append(aStep('running', { expectedSequence: 1, view: { status: 'failed' } }));
        expect((await store.listOpenRuns()).map((run) => run.id)).not.toContain('running');
        await store.append(aStep('running', { expectedSequence: 2, view: { status: 'running' } }));
        expect((await store.listOpenRuns()).map((run) => run.id)).toContain('running');
      });

      it('keeps the newest snapshot of each', async () => {
        await store.append(aStep('a', { snapshot: { value: 'planning' } }));
        await store.append(aStep('a', { expectedSequence: 1, snapshot: { value: 'done', context: null } }));
        await store.append(aStep('a', { expectedSequence: 2 }));
        await store.append(aStep('b'));

        await reopen();
        expect((await store.loadRun('a'))?.snapshot).toEqual({ sequence: 2, data: { value: 'done', context: null } });
        expect((await store.loadRun('b'))?.snapshot).toBeNull();
      });
    });

    describe('activities', () => {
      it('are open from the step that starts them to the one that ends them', async () => {
        await store.append(
          aStep('a', { startActivities: [anActivity('a', 'plan'), { ...anActivity('a', 'watch'), input: null }] }),
        );
        await store.append(aStep('b', { startActivities: [anActivity('b', 'plan')] }));
        await store.append(aStep('a', { expectedSequence: 1, endActivities: ['a/1/plan', 'a/1/unknown'] }));

        await reopen();
        expect(await store.openActivities('a')).toEqual([
          {
            ...anActivity('a', 'watch'),
            input: null,
            attempt: 1,
            failures: 0,
            notBefore: null,
            heartbeat: null,
            epoch: store.epoch - 1,
          },
        ]);
        expect((await store.openActivities()).map((activity) => activity.key)).toEqual(['a/1/watch', 'b/1/plan']);
      });

      it('that start and end in one step were never open', async () => {
        await store.append(aStep('a', { startActivities: [anActivity('a', 'plan')], endActivities: ['a/1/plan'] }));
        expect(await store.openActivities()).toEqual([]);
      });

      it('remember their attempts, the wait before the next, and which server booked them', async () => {
        await store.append(aStep('a', { startActivities: [anActivity('a', 'plan')] }));
        const notBefore = '2026-03-01T12:05:00.000Z';
        await store.updateAttempt('a/1/plan', { attempt: 2, failures: 1, notBefore });
        expect(await store.openActivities('a')).toMatchObject([
          { attempt: 2, failures: 1, notBefore, epoch: store.epoch },
        ]);
        await reopen();
        expect(await store.openActivities('a')).toMatchObject([{ attempt: 2, epoch: store.epoch - 1 }]);
        await store.updateAttempt('a/1/plan', { attempt: 3, failures: 1, notBefore: null });
        expect(await store.openActivities('a')).toMatchObject([
          { attempt: 3, failures: 1, notBefore: null, epoch: store.epoch },
        ]);
      });

      it('take no attempt once they ended', async () => {
        await store.append(aStep('a', { startActivities: [anActivity('a', 'plan')] }));
        await store.append(aStep('a', { expectedSequence: 1, endActivities: ['a/1/plan'] }));
        const booking = store.updateAttempt('a/1/plan', { attempt: 2, failures: 0, notBefore: null });
        await expect(booking).rejects.toThrow(Conflict);
      });

      it('keep what they last said of their progress, at their newest attempt alone', async () => {
        await store.append(aStep('a', { startActivities: [anActivity('a', 'plan')] }));
        await store.heartbeat('a/1/plan', 1, { done: 3 });
        await store.updateAttempt('a/1/plan', { attempt: 2, failures: 0, notBefore: null });
        await store.heartbeat('a/1/plan', 1, 'late');
        await store.heartbeat('a/1/unknown', 1, 'nobody');
        await reopen();
        expect(await store.openActivities('a')).toMatchObject([{ attempt: 2, heartbeat: { done: 3 } }]);
        await store.heartbeat('a/1/plan', 2, null);
        expect(await store.openActivities('a')).toMatchObject([{ heartbeat: null }]);
      });

      it('are told apart where the id of one run begins like that of another', async () => {
        for (const runId of ['a', 'a/1', 'a0', 'ab']) {
          await store.append(
            aStep(runId, { startActivities: [anActivity(runId, 'x')], setTimers: [aTimer(runId, 'x')] }),
          );
        }
        for (const runId of ['a', 'a/1', 'a0', 'ab']) {
          expect((await store.openActivities(runId)).map((activity) => activity.runId)).toEqual([runId]);
          expect((await store.openTimers(runId)).map((timer) => timer.runId)).toEqual([runId]);
        }
        expect(await store.openActivities('b')).toEqual([]);
      });
    });

    describe('timers', () => {
      it('that are due at once are in the order in which they were armed', async () => {
        const timer = (sequence: number, name: string) => ({ ...aTimer('a', name), key: `a/${sequence}/${name}` });
        await store.append(aStep('a', { setTimers: [timer(9, 'z'), timer(9, 'y'), timer(10, 'b')] }));
        await store.append(aStep('a', { expectedSequence: 1, setTimers: [timer(11, 'a'), timer(9, 'y')] }));
        const order = ['z', 'y', 'b', 'a'].map((name) => `after.${name}`);
        for (const timers of [await store.dueTimers(NOON), await store.openTimers('a'), await store.openTimers()])
          expect(timers.map(({ event }) => event)).toEqual(order);
      });

      it('are due at their time, soonest first', async () => {
        expect(await store.nextTimer()).toBeNull();
        const late = aTimer('a', 'late', '2026-04-10T00:00:00.000Z');
        const soon = aTimer('a', 'soon', '2026-03-01T12:00:00.500Z');
        await store.append(aStep('a', { setTimers: [late, soon] }));
        await store.append(aStep('b', { setTimers: [aTimer('b', 'first', NOON)] }));

        await reopen();
        expect(await store.nextTimer()).toBe(NOON);
        expect(await store.dueTimers('2026-03-01T12:00:00.499Z')).toEqual([aTimer('b', 'first', NOON)]);
        expect(await store.dueTimers('2026-03-01T12:00:00.500Z')).toEqual([aTimer('b', 'first', NOON), soon]);
        expect(await store.openTimers('a')).toEqual([soon, late]);
        expect(await store.openTimers()).toHaveLength(3);
      });

      it('can be removed and moved; one set and cleared in the same step does not stay', async () => {
        await store.append(
          aStep('a', {
            setTimers: [aTimer('a', 'one'), aTimer('a', 'two'), aTimer('a', 'three')],
            clearTimers: ['a/1/three'],
          }),
        );
        await store.append(
          aStep('a', {
            expectedSequence: 1,
            clearTimers: ['a/1/one', 'a/1/unknown'],
            setTimers: [aTimer('a', 'two', '2026-05-01T00:00:00.000Z')],
          }),
        );

        expect(await store.openTimers()).toEqual([aTimer('a', 'two', '2026-05-01T00:00:00.000Z')]);
      });
    });

    describe('clarifications', () => {
      it('are listed oldest first, by status, as they were last stored', async () => {
        const asked = aClarification('a', {
          options: ['GitHub', 'Google'],
          responseType: 'single_choice',
          createdAt: '2026-03-01T12:00:02.000Z',
        });
        const other = aClarification('b', { createdAt: '2026-03-01T12:00:01.000Z' });
        await store.append(aStep('a', { clarifications: [asked] }));
        await store.append(aStep('b', { clarifications: [other] }));
        expect(await store.listClarifications('pending')).toEqual([other, asked]);

        const answered = {
          ...asked,
          status: 'answered',
          response: 'GitHub',
          answeredBy: 'local',
          answeredAt: NOON,
        } as const;
        await store.append(aStep('a', { expectedSequence: 1, clarifications: [answered] }));
        expect(await store.listClarifications('pending')).toEqual([other]);
        expect(await store.listClarifications('answered')).toEqual([answered]);
        expect(await store.listClarifications()).toEqual([other, answered]);
      });
    });

    describe('projects', () => {
      const shop = { id: 'p-1', name: 'shop', repository: '/srv/shop.git', baseBranch: 'main', createdAt: NOON };

      it('are found by id and by repository and name, and can be changed', async () => {
        await store.saveProject(shop);
        await store.saveProject({ ...shop, baseBranch: 'trunk' });

        expect(await store.getProject('p-1')).toEqual({ ...shop, baseBranch: 'trunk' });
        expect(await store.findProject('/srv/shop.git', 'shop')).toEqual({ ...shop, baseBranch: 'trunk' });
        expect(await store.getProject('p-2')).toBeNull();
        expect(await store.findProject('/srv/shop.git', 'other')).toBeNull();
      });

      it('are one to a repository and name, the loser of a race included', async () => {
        const outcomes = await Promise.allSettled([store.saveProject(shop), store.saveProject({ ...shop, id: 'p-2' })]);

        expect(outcomes).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'conflict' } }]);
        expect(await store.findProject('/srv/shop.git', 'shop')).toEqual(shop);
      });

      it('are removed unless they have runs', async () => {
        await store.saveProject(shop);
        await store.saveProject({ ...shop, id: 'p-2', name: 'other' });
        await store.append(aStep('a', { events: [aStart(aView('a', { projectId: 'p-1' }))] }));
        for (const id of ['p-1', 'p-2', 'p-3']) await store.removeProject(id);
        expect((await store.listProjects(undefined, 9)).items).toEqual([shop]);
      });

      it('are paged newest first', async () => {
        for (const id of ['p-1', 'p-2', 'p-3']) await store.saveProject({ ...shop, id, name: id });
        const first = await store.listProjects(undefined, 2);
        const second = await store.listProjects(first.nextCursor ?? undefined, 2);

        expect([...first.items, ...second.items].map((project) => project.id)).toEqual(['p-3', 'p-2', 'p-1']);
        expect(second.nextCursor).toBeNull();
      });
    });

    describe('answers to repeated requests', () => {
      const answer = { requestHash: 'abc', status: 201, body: '{"id":"r-1"}' };

      it('are remembered by key, the first one stays', async () => {
        expect(await store.recall('k-1')).toBeNull();
        await Promise.all([
          store.remember('k-1', answer, NOON),
          store.remember('k-1', { ...answer, status: 409 }, NOON),
        ]);
        await reopen();
        expect(await store.recall('k-1')).toEqual(answer);
      });

      it('are kept for seven days and not for ever', async () => {
        await store.remember('k-1', answer, NOON);
        await store.remember('k-2', answer, '2026-03-08T12:00:00.000Z');
        expect(await store.recall('k-1')).toEqual(answer);
        await store.remember('k-3', answer, '2026-03-08T12:00:00.001Z');
        expect(await store.recall('k-1')).toBeNull();
        expect(await store.recall('k-2')).toEqual(answer);
      });
    });

    describe('requests that make a step', () => {
      const request = { key: 'local:k-1', hash: 'abc', gate: 'a.1' };

      it('are found by their key, with the step that was stored with them', async () => {
        expect(await store.recallStep('local:k-1')).toBeNull();
        await store.append(aStep('a', { events: [anEvent('RUN_STARTED'), anEvent('STAGE_STARTED')], request }));
        await reopen();
        const step = { requestHash: 'abc', runId: 'a', sequence: 2, gate: 'a.1' };
        expect(await store.recallStep('local:k-1')).toEqual(step);
      });

      it('make none that is not stored, and no second one', async () => {
        await store.append(aStep('a', { request }));
        await expect(
          store.append(aStep('a', { expectedSequence: 7, request: { ...request, key: 'k-2' } })),
        ).rejects.toThrow(Conflict);
        expect(await store.recallStep('k-2')).toBeNull();
        await expect(store.append(aStep('a', { expectedSequence: 1, request }))).rejects.toThrow("'local:k-1' is done");
        expect(await store.append(aStep('a', { expectedSequence: 1 }))).toMatchObject([{ sequence: 2 }]);
      });

      it('are kept for seven days and not for ever', async () => {
        await store.append(aStep('a', { request }));
        const later = [anEvent('NOTICE', {}, '2026-03-08T12:00:00.001Z')];
        await store.append(aStep('a', { expectedSequence: 1, events: later, request: { ...request, key: 'k-2' } }));
        expect([await store.recallStep('local:k-1'), (await store.recallStep('k-2'))?.sequence]).toEqual([null, 2]);
      });
    });

    describe('sessions of browsers', () => {
      const aSession = (hash: string, day: string, userId = 'ada') => ({
        hash,
        userId,
        expiresAt: `2026-03-${day}T12:00:00.000Z`,
      });
      const known = async (...hashes: readonly string[]): Promise<readonly string[]> =>
        (await Promise.all(hashes.map((hash) => store.findSession(hash)))).flatMap((session) => session?.hash ?? []);

      it('are found by their hash, after a restart too', async () => {
        expect(await store.findSession('h-1')).toBeNull();
        await store.beginSession(aSession('h-1', '31'), NOON, 9);
        await reopen();
        expect(await store.findSession('h-1')).toEqual(aSession('h-1', '31'));
      });

      it('are removed by a later one once they have expired, whoever they are of', async () => {
        await store.beginSession(aSession('h-1', '02', 'bob'), NOON, 9);
        await store.beginSession(aSession('h-2', '03'), NOON, 9);
        await store.beginSession(aSession('h-3', '31'), '2026-03-02T12:00:00.000Z', 9);
        expect(await known('h-1', 'h-2', 'h-3')).toEqual(['h-2', 'h-3']);
        await store.renewSession(aSession('h-3', '31'), '2026-03-03T12:00:00.000Z');
        expect(await known('h-1', 'h-2', 'h-3')).toEqual(['h-3']);
      });

      it('are so many at most, of each user: those that were used last', async () => {
        await store.beginSession(aSession('h-other', '02', 'bob'), NOON, 2);
        await store.beginSession(aSession('h-1', '11'), NOON, 2);
        await store.beginSession(aSession('h-2', '11'), NOON, 2);
        await store.renewSession(aSession('h-1', '12'), NOON);
        await store.beginSession(aSession('h-3', '12'), NOON, 2);
        expect(await known('h-1', 'h-2', 'h-3', 'h-other')).toEqual(['h-1', 'h-3', 'h-other']);
        await store.beginSession(aSession('h-4', '12'), NOON, 2);
        expect(await known('h-1', 'h-2', 'h-3', 'h-4', 'h-other')).toEqual(['h-3', 'h-4', 'h-other']);
      });

      it('are ended one by one or all of a user, and not begun again by being renewed', async () => {
        await store.beginSession(aSession('h-1', '31'), NOON, 9);
        await store.beginSession(aSession('h-2', '31'), NOON, 9);
        await store.beginSession(aSession('h-3', '31', 'bob'), NOON, 9);
        expect(await store.endSessions('bob', 'h-1')).toBe(0);
        expect(await store.endSessions('ada', 'h-1')).toBe(1);
        await store.renewSession(aSession('h-1', '31'), NOON);
        expect(await known('h-1', 'h-2', 'h-3')).toEqual(['h-2', 'h-3']);
        expect([await store.endSessions('ada'), await store.endSessions('ada')]).toEqual([1, 0]);
        expect(await known('h-1', 'h-2', 'h-3')).toEqual(['h-3']);
      });
    });

    it('keeps marks by name', async () => {
      expect(await store.getMark('recorded')).toBeNull();
      await store.setMark('recorded', '17');
      await store.setMark('recorded', '18');
      await reopen();
      expect(await store.getMark('recorded')).toBe('18');
    });

    describe('steps that are stored together', () => {
      const steps = (runId: string) => [
        aStep(runId, { events: [aStart(aView(runId)), anEvent('NOTICE', { text: 'a' })] }),
        aStep(runId, { expectedSequence: 2, events: [anEvent('NOTICE', { text: 'b' })] }),
      ];

      it('are there all, with the chain that they have when each is stored alone', async () => {
        await store.appendAll(steps('a'));
        await store.appendAll([]);
        await reopen();
        expect((await store.readRun('a', 0)).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
        expect(await store.verifyRun('a')).toBeNull();
        const other = await make();
        const alone = await other.open();
        for (const step of steps('a')) await alone.append(step);
        expect(await store.readSteps('a')).toEqual(await alone.readSteps('a'));
        await alone.close();
        await other.remove();
      });

      it('leave nothing behind where one of them cannot be stored', async () => {
        const activity = anActivity('a', 'call');
        const [first, second] = steps('a');
        if (first === undefined || second === undefined) throw new Error('there are two steps');
        const twice = [
          { ...first, startActivities: [activity] },
          { ...second, startActivities: [activity] },
        ];
        await expect(store.appendAll(twice)).rejects.toThrow('UNIQUE');
        expect(await store.tipOf('a')).toBeNull();
        expect(await store.readAll(0)).toEqual([]);
        await expect(store.appendAll([first, aStep('a', { expectedSequence: 7 })])).rejects.toThrow('does not follow');
        expect(await store.tipOf('a')).toBeNull();
        await store.appendAll(steps('a'));
        await expect(store.appendAll(steps('a'))).rejects.toBeInstanceOf(Conflict);
        expect((await store.tipOf('a'))?.sequence).toBe(3);
      });
    });

    describe('the chain of a run', () => {
      it('is read step by step, and stored again elsewhere it has the same hashes, with payloads that are not whole', async () => {
        const view = aView('a');
        const later = '2026-03-01T12:00:05.000Z';
        const first = [aStart(view), anEvent('NOTICE', { text: 'a' }, NOON, 'emitted')];
        await store.append(aStep('a', { events: first, context: { count: 'abc' } }));
        const second = [anEvent('NOTICE', { text: 'the secret' }), anEvent('NOTICE', { text: 'erased' }, later)];
        await store.append(aStep('a', { expectedSequence: 2, events: second }));
        const steps = await store.readSteps('a');
        expect(steps).toEqual([
          {
            first: 1,
            last: 2,
            hash: (await store.tipOf('a', 2))?.hash,
            payloadHashes: [expect.any(String), sha256('{"text":"a"}')],
            context: { count: 'abc' },
          },
          {
            first: 3,
            last: 4,
            hash: (await store.tipOf('a'))?.hash,
            payloadHashes: second.map(({ json }) => sha256(json)),
            context: null,
          },
        ]);
        expect(await store.readSteps('nobody')).toEqual([]);

        const hashOf = (index: number): string => steps[1]?.payloadHashes[index] ?? '';
        const other = await make();
        const again = await other.open();
        await again.append(aStep('a', { events: first, context: { count: 'abc' } }));
        const withheld = [
          {
            ...anEvent('NOTICE', { text: '[secret: token]' }),
            withheld: { why: 'redacted' as const, payloadHash: hashOf(0) },
          },
          {
            ...anEvent('NOTICE', {}, later),
            json: 'null',
            withheld: { why: 'erased' as const, payloadHash: hashOf(1) },
          },
        ];
        await again.append(aStep('a', { expectedSequence: 2, events: withheld }));
        expect(await again.tipOf('a')).toEqual(await store.tipOf('a'));
        expect(await again.verifyRun('a')).toBeNull();
        expect((await again.readRun('a', 2)).map(({ type, payload }) => [type, payload])).toEqual([
          ['NOTICE', { text: '[secret: token]' }],
          ['ERASED', { type: 'NOTICE' }],
        ]);
        expect((await again.readSteps('a'))[1]?.withheld).toEqual(
          new Map([
            [3, 'redacted'],
            [4, 'erased'],
          ]),
        );
        await again.close();
        await other.remove();
      });
    });

    describe('integrity', () => {
      it('tells the last event of a run', async () => {
        expect(await store.tipOf('a')).toBeNull();
        await store.append(aStep('a'));
        const first = await store.tipOf('a');
        expect(first).toMatchObject({ sequence: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
        await store.append(aStep('a', { expectedSequence: 1 }));
        await reopen();
        expect(await store.tipOf('a')).toMatchObject({ sequence: 2 });
        expect((await store.tipOf('a'))?.hash).not.toBe(first?.hash);
      });

      it('finds no fault where there is none', async () => {
        for (const runId of ['a', 'b', 'c']) {
          await store.append(aStep(runId));
          const work = [anEvent('OWN', { text: 'é\u2028' }), anEvent('OWN', {}, '2026-03-01T12:00:00.002Z', 'emitted')];
          await store.append(aStep(runId, { expectedSequence: 1, events: work }));
        }
        await reopen();
        expect(await store.verifyTips()).toEqual([]);
        for (const runId of ['a', 'b', 'c', 'unknown']) expect(await store.verifyRun(runId)).toBeNull();
      });

      it('finds no fault in a long run that goes on meanwhile', async () => {
        const steps = Array.from({ length: 700 }, (_, expectedSequence) => aStep('a', { expectedSequence }));
        await Promise.all(steps.map((step) => store.append(step)));
        const verified = store.verifyRun('a');
        await store.append(aStep('a', { expectedSequence: 700 }));
        expect(await verified).toBeNull();
      });

      it('exports a run as it is stored, an unknown one as nothing', async () => {
        await store.append(aStep('a', { startActivities: [anActivity('a', 'plan')] }));
        const text = JSON.stringify(await store.exportRun('a'));
        for (const part of ['RUN_STARTED', 'Add a login page', 'a/1/plan']) expect(text).toContain(part);
        expect(await store.exportRun('unknown')).toMatchObject({ runId: 'unknown', run: null });
      });
    });

    describe('archives', () => {
      const LATER = '2026-03-02T00:00:00.000Z';

      async function aFinishedRun(runId: string, completedAt: string): Promise<void> {
        await store.append(aStep(runId, { events: [aStart(aView(runId)), anEvent('NOTICE', { message: 'x' })] }));
        const view = { status: 'completed', completedAt, updatedAt: completedAt } as const;
        await store.append(
          aStep(runId, { expectedSequence: 2, events: [anEvent('RUN_COMPLETED', {}, completedAt)], view }),
        );
      }

      it('what ended before a time, and reads it as before', async () => {
        await aFinishedRun('a', '2026-03-01T13:00:00.000Z');
        await aFinishedRun('late', LATER);
        await store.append(aStep('open'));
        const [events, view, tip] = [await store.readRun('a', 0), await store.loadView('a'), await store.tipOf('a')];
        const feed = await store.readAll(0);
        expect(await store.archivedPosition()).toBe(0);

        expect(await store.archive(LATER, 10)).toBe(1);
        expect(await store.archive(LATER, 10)).toBe(0);
        await reopen();
        expect(await store.readRun('a', 0)).toEqual(events);
        expect(await store.readRun('a', 1, 1)).toEqual(events.slice(1, 2));
        expect(await store.loadView('a')).toEqual(view);
        expect((await store.listRuns({ status: 'completed' })).items).toHaveLength(2);
        expect(await store.loadRun('a')).toMatchObject({ view: { status: 'completed' }, snapshot: null, events });
        expect(await store.tipOf('a')).toEqual(tip);
        expect(await store.verifyRun('a')).toBeNull();
        expect(await store.verifyTips()).toEqual([]);
        expect(JSON.stringify(await store.exportRun('a'))).toContain('archived_steps');

        expect(await store.readAll(0)).toEqual(feed.filter((event) => event.workflowRunId !== 'a'));
        expect(await store.archivedPosition()).toBe(events.at(-1)?.position);
        expect(await store.lastPosition()).toBe(feed.at(-1)?.position);
      });

      it('as many as it is told, those that ended first', async () => {
        for (const hour of [15, 13, 14]) await aFinishedRun(`at-${hour}`, `2026-03-01T${hour}:00:00.000Z`);
        expect(await store.archive(LATER, 2)).toBe(2);
        expect((await store.readAll(0)).map((event) => event.workflowRunId)).toEqual(['at-15', 'at-15', 'at-15']);
      });

      it('and never gives a position again', async () => {
        await aFinishedRun('a', '2026-03-01T13:00:00.000Z');
        expect(await store.archive(LATER, 10)).toBe(1);
        await reopen();
        expect(await store.lastPosition()).toBe(3);
        expect(await store.append(aStep('b'))).toMatchObject([{ position: 4 }]);
      });

      it('what can still be continued afterwards', async () => {
        await aFinishedRun('a', '2026-03-01T13:00:00.000Z');
        expect(await store.archive(LATER, 10)).toBe(1);
        await store.append(aStep('a', { expectedSequence: 3 }));
        await reopen();
        expect((await store.readRun('a', 0)).map((event) => event.sequence)).toEqual([1, 2, 3, 4]);
        expect((await store.readRun('a', 2)).map((event) => event.sequence)).toEqual([3, 4]);
        expect(await store.loadView('a')).toMatchObject({ lastSequence: 4, notices: ['x', 'hello'] });
        expect(await store.verifyRun('a')).toBeNull();
        expect(await store.archive(LATER, 10)).toBe(0);
      });
    });

    it('counts its openings', async () => {
      const { epoch } = store;
      await reopen();
      expect(store.epoch).toBe(epoch + 1);
    });

    it('keeps its feed id over restarts, and has another one where the storage is new', async () => {
      const { feedId } = store;
      await reopen();
      expect(store.feedId).toBe(feedId);

      const elsewhere = await make();
      const other = await elsewhere.open();
      expect(other.feedId).not.toBe(feedId);
      await other.close();
      await elsewhere.remove();
    });

    it('stores what was appended before it is closed, and refuses what comes after', async () => {
      const appended = store.append(aStep('a'));
      await store.close();
      expect(await appended).toHaveLength(1);
      await expect(store.append(aStep('b'))).rejects.toThrow(Unavailable);
      await expect(store.readAll(0)).rejects.toThrow(Unavailable);

      store = await storage.open();
      expect((await store.readAll(0)).map((event) => event.workflowRunId)).toEqual(['a']);
    });
  });
}

function aGate(runId: string): Gate {
  return {
    id: `${runId}.1`,
    runId,
    kind: 'plan',
    stage: 'planning',
    openedAt: NOON,
    decisions: ['approve', 'reject'],
    summary: 'Look at the plan',
    details: {},
  };
}
