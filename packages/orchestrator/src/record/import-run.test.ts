/** Runs that are made again in another database from what their record says. */
import { join } from 'node:path';
import { evidenceOf } from '@autonomous/shared/a-run.fixture';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRegistry } from '../core/registry.ts';
import { replay } from '../core/replay.ts';
import { newRun } from '../core/advance.ts';
import { renderEventLog, withChain } from '../documents/event-log.ts';
import { EngineUnderTest, small } from '../engine/engine.fixture.ts';
import { planFork } from '../engine/fork-plan.ts';
import { readLiveRun } from '../engine/live/live-run.ts';
import { foldAll, newEvent } from '../engine/run-commit.ts';
import { sha256 } from '../event-store/hash-chain.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { importRun, lackedWorkflow, readImportedAgain } from './import-run.ts';
import { readRecordedRun, type RecordedRun } from './recorded-run.ts';

let test: EngineUnderTest;
let store: SqliteEventStore;
beforeEach(async () => {
  test = await EngineUnderTest.open();
  store = openSqliteEventStore({ file: join(test.folder, 'another.db'), writer: 'inline' });
});
afterEach(async () => {
  await store.close();
  await test.close();
});

/** A run as its record has it now. */
async function recorded(runId: string): Promise<RecordedRun> {
  const rendered = renderEventLog(await test.store.readRun(runId, 0));
  const log = withChain(rendered, rendered, await test.store.readSteps(runId));
  const tip = await test.store.tipOf(runId);
  const read = readRecordedRun(runId, log, { ...tip!, log: sha256(log) } as never);
  if (!read.ok) throw new Error(read.message);
  return read.run;
}

const faults: unknown[] = [];
const onFault = (runId: string, error: unknown): void => void faults.push([runId, error]);
const imported = (run: RecordedRun) =>
  importRun({ store, workflows: createRegistry([small]), now: () => test.clock.now() }, run);

it('a run has its open activities and timers again, each one once, and none that have ended', async () => {
  await test.launch('r');
  await test.call('draft');
  await imported(await recorded('r'));
  expect(await store.openKeys('r')).toEqual(await test.store.openKeys('r'));
  expect(await store.openActivities('r')).toMatchObject([{ src: 'draft', attempt: 0 }]);

  // The same again, and then what came after it.
  await imported(await recorded('r'));
  expect(await store.openActivities('r')).toHaveLength(1);
  test.calls.length = 0;
  await test.restart();
  await test.toGate('r');
  await imported(await recorded('r'));
  expect(await store.openActivities('r')).toEqual([]);
  expect(await store.openKeys('r')).toEqual(await test.store.openKeys('r'));
  expect(await store.loadView('r')).toEqual(await test.store.loadView('r'));
  expect(await store.readSteps('r')).toEqual(await test.store.readSteps('r'));
});

it('an erased event is not read into the view', async () => {
  await test.launch('r');
  const run = await recorded('r');
  const view = await test.toGate('r');
  const whole = await recorded('r');
  const erased = {
    ...whole,
    steps: whole.steps.map((step, index) => ({
      ...step,
      events: step.events.map((event) =>
        index < run.steps.length
          ? event
          : {
              ...event,
              payload: {},
              json: 'null',
              withheld: { why: 'erased' as const, payloadHash: sha256(event.json) },
            },
      ),
    })),
  };
  expect(view.gate).not.toBeNull();
  const { view: without } = await imported(erased);
  expect(without).toMatchObject({ gate: null, lastSequence: view.lastSequence });
});

const NO_WORK = { startActivities: [], endActivities: [], setTimers: [], clearTimers: [] };
const foreign = { reason: 'rebuilt', message: 'Others could have written it.', details: {} } as const;

it.each([
  ['waits at a gate', foreign, { status: 'paused', gate: { reason: 'rebuilt' } }],
  [
    'cannot be replayed',
    { ...foreign, reason: 'poisoned' as const },
    { status: 'paused', gate: { reason: 'poisoned' } },
  ],
  ['was cancelled', foreign, { status: 'cancelled', gate: null, notices: [foreign.message] }],
])('a run of others that %s says so, and so does each fork of it', async (what, pause, expected) => {
  const workflows = createRegistry([small]);
  await test.launch('r');
  const { lastSequence: at } = await test.toGate('r');
  if (what === 'was cancelled') await test.engine.cancel('r', 'u');
  const { view } = await importRun(
    { store, workflows, pauseOf: () => pause, now: () => test.clock.now() },
    await recorded('r'),
  );
  expect(view).toMatchObject({ ...expected, rebuiltUpTo: view.lastSequence });
  const history = await store.readRun('r', 0);
  expect(replay(small, newRun('r'), history, () => small)).toMatchObject({ ok: true });

  const wanted = { at, by: 'u', branch: 'autonomous/f' };
  const plan = { store, workflows, scrub: <Value>(value: Value) => value, signal: undefined };
  const fork = async (runId: string, source: typeof view) => {
    const timestamp = test.clock.now().toISOString();
    return foldAll(null, runId, 0, (await planFork({ ...plan, runId, source, wanted, timestamp })).events);
  };
  const first = await fork('f', view);
  expect(first).toMatchObject({ status: 'awaiting_approval', rebuiltUpTo: first.lastSequence });
  expect(await fork('f', { ...view, rebuiltUpTo: at - 1 })).not.toHaveProperty('rebuiltUpTo');
});

it('a run whose workflow the server lacked has its open work once the workflow is there', async () => {
  await test.launch('r');
  await test.call('draft');
  const now = () => test.clock.now();
  const workflows = createRegistry([]);
  const poisoned = { ...foreign, reason: 'poisoned' as const };
  await importRun({ store, workflows, pauseOf: () => poisoned, now }, await recorded('r'));
  expect(await store.openKeys('r')).toEqual({ activities: [], timers: [] });

  const pauseOf = async () => foreign;
  await readImportedAgain({ store, workflows, pauseOf, isWanted: lackedWorkflow, onFault, now });
  const before = await store.loadView('r');
  expect(before).toMatchObject({ gate: { reason: 'poisoned' } });
  /** As a retry pauses it that is refused for want of the workflow, or a start without it. */
  const pauseWithout = async (type = 'RUN_PAUSED') => {
    const latest = await store.loadView('r');
    const payload = { ...latest?.gate, gate: 'pause', reason: 'definition_missing', message: 'It is not there.' };
    const events = [newEvent('input', { type, payload: payload as never }, now().toISOString())];
    const { lastSequence: expectedSequence } = latest!;
    const paused = foldAll(latest, 'r', expectedSequence, events);
    await store.append({ runId: 'r', expectedSequence, events, ...NO_WORK, view: paused, clarifications: [] });
  };
  await pauseWithout();
  const there = { store, workflows: createRegistry([small]), pauseOf, isWanted: lackedWorkflow, onFault, now };
  // The old pause stays where a new one cannot be made.
  const failing = new Error('It cannot be read.');
  await readImportedAgain({ ...there, pauseOf: () => Promise.reject(failing) });
  expect(faults.splice(0)).toEqual([['r', failing]]);
  await readImportedAgain(there);
  const view = await store.loadView('r');
  expect(view).toMatchObject({ gate: { reason: 'rebuilt' }, rebuiltUpTo: view?.lastSequence });
  expect(await store.openKeys('r')).toEqual(await test.store.openKeys('r'));
  await readImportedAgain(there);
  expect(await store.loadView('r')).toEqual(view);
  expect(await readLiveRun(store, there.workflows, 'r')).toMatchObject({ ok: true });

  await pauseWithout();
  await readImportedAgain(there);
  expect(await store.loadView('r')).toMatchObject({ gate: { reason: 'rebuilt' } });
  expect(await store.openKeys('r')).toEqual(await test.store.openKeys('r'));
  // A person who let it go on has seen what applies.
  await pauseWithout('NOTICE');
  await pauseWithout();
  await readImportedAgain(there);
  expect(await store.loadView('r')).toMatchObject({ gate: { reason: 'definition_missing' } });
});

it('what a record has of checks and acceptances does not count', async () => {
  const view = await test.launch('r');
  const accepted = { kind: 'runs_code', hash: 'h', items: [], title: 't', by: 'u', at: 'now' } as never;
  const before = { ...view, evidence: [evidenceOf()], acceptedConcerns: [accepted] };
  const notice = newEvent('input', { type: 'NOTICE', payload: { message: 'x', rebuilt: true } }, '2026-01-01');
  const after = foldAll(before, 'r', view.lastSequence, [notice]);
  expect(after.evidence).toEqual([{ ...evidenceOf(), rebuiltAt: '2026-01-01' }]);
  expect(after).not.toHaveProperty('acceptedConcerns');
});
