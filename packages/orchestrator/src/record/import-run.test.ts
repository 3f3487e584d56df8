/** Runs that are made again in another database from what their record says. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRegistry } from '../core/registry.ts';
import { renderEventLog, withChain } from '../documents/event-log.ts';
import { EngineUnderTest, small } from '../engine/engine.fixture.ts';
import { sha256 } from '../event-store/hash-chain.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { importRun } from './import-run.ts';
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
