import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidRequest, Unavailable, Unprocessable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventStore } from '../../event-store.ts';
import { newestSchema } from '../migrate.ts';
import { exportFromFile } from './export-run.ts';
import { connectReadOnly } from '../sqlite-connection.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../sqlite-event-store.ts';
import { anActivity, aStart, anEvent, aStep, aView, NOON } from '../steps.fixture.ts';
import { StoredRuns } from '../views/stored-runs.ts';
import { type DatabaseFault, verifyDatabase } from './verify-database.ts';

const LATER = '2026-03-02T00:00:00.000Z';

describe('what was stored', () => {
  let folder: string;
  let file: string;
  let opened: SqliteEventStore[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'verify-'));
    file = join(folder, 'runs.db');
    opened = [];
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    rmSync(folder, { recursive: true });
  });

  function open(path = file): SqliteEventStore {
    const store = openSqliteEventStore({ file: path, writer: 'inline' });
    opened.push(store);
    return store;
  }

  async function closeAll(): Promise<void> {
    for (const store of opened) await store.close();
  }

  /** Changes the file behind the store's back. */
  function tamper(...statements: readonly string[]): void {
    const connection = new Database(file);
    for (const statement of statements) expect(connection.prepare(statement).run().changes).toBeGreaterThan(0);
    connection.close();
  }

  /** Steps of one, then three, then two events. */
  async function aRun(store: EventStore, runId: string, isFinished = false): Promise<void> {
    const notice = (message: string) => anEvent('NOTICE', { message });
    await store.append(aStep(runId));
    await store.append(aStep(runId, { expectedSequence: 1, events: ['one', 'two', 'three'].map(notice) }));
    const status = isFinished ? 'completed' : 'running';
    const last = isFinished ? anEvent('RUN_COMPLETED') : notice('five');
    const view = { status, completedAt: NOON } as const;
    await store.append(aStep(runId, { expectedSequence: 4, events: [notice('four'), last], view }));
  }

  async function faultsIn(path = file): Promise<readonly DatabaseFault[]> {
    const faults: DatabaseFault[] = [];
    for await (const fault of verifyDatabase(path)) faults.push(fault);
    return faults;
  }

  describe('H07: edited, deleted and reordered rows are noticed, and the first bad event is named', () => {
    beforeEach(async () => {
      const store = open();
      for (const runId of ['a', 'b']) await aRun(store, runId);
      await aRun(store, 'done', true);
      await store.close();
      expect(await faultsIn()).toEqual([]);
    });

    const SECOND = `run = (SELECT number FROM workflow_runs WHERE id = 'a') AND sequence = 4`;
    const THIRD = SECOND.replace('4', '6');

    it.each([
      [
        'a byte of a payload',
        3,
        [`UPDATE workflow_steps SET events = replace(events, '"two"', '"twp"') WHERE ${SECOND}`],
      ],
      [
        'a payload made longer',
        4,
        [`UPDATE workflow_steps SET events = replace(events, 'three', 'threee') WHERE ${SECOND}`],
      ],
      [
        'another way to write a payload',
        3,
        [`UPDATE workflow_steps SET events = replace(events, ':"two"', ': "two"') WHERE ${SECOND}`],
      ],
      [
        'a payload that is no JSON any more',
        3,
        [`UPDATE workflow_steps SET events = replace(events, '"two"', '"two') WHERE ${SECOND}`],
      ],
      ['events that are no JSON at all', 2, [`UPDATE workflow_steps SET events = 'nothing' WHERE ${SECOND}`]],
      [
        'a payload taken away',
        3,
        [`UPDATE workflow_steps SET events = replace(events, '{"message":"two"}', 'null') WHERE ${SECOND}`],
      ],
      [
        'an event taken out',
        3,
        [`UPDATE workflow_steps SET events = replace(events, ',["NOTICE",0,{"message":"two"}]', '') WHERE ${SECOND}`],
      ],
      ['a type', 2, [`UPDATE workflow_steps SET events = replace(events, 'NOTICE', 'NOTICF') WHERE ${SECOND}`]],
      [
        'an origin',
        2,
        [`UPDATE workflow_steps SET events = replace(events, '"NOTICE",0', '"NOTICE",1') WHERE ${SECOND}`],
      ],
      ['a time', 2, [`UPDATE workflow_steps SET at = at + 1 WHERE ${SECOND}`]],
      ['the hash of a payload', 2, [`UPDATE workflow_steps SET hashes = zeroblob(96) WHERE ${SECOND}`]],
      ['a hash too many', 2, [`UPDATE workflow_steps SET hashes = zeroblob(128) WHERE ${SECOND}`]],
      ['the link', 2, [`UPDATE workflow_steps SET hash = zeroblob(32) WHERE ${SECOND}`]],
      ['a deleted first step', 1, [`DELETE FROM workflow_steps WHERE ${SECOND.replace('4', '1')}`]],
      ['a deleted step', 2, [`DELETE FROM workflow_steps WHERE ${SECOND}`]],
      ['a deleted last step', 5, [`DELETE FROM workflow_steps WHERE ${THIRD}`]],
      [
        'a deleted end with the run made to fit',
        4,
        [`DELETE FROM workflow_steps WHERE ${THIRD}`, `UPDATE workflow_runs SET last_sequence = 4 WHERE id = 'a'`],
      ],
      [
        'two steps that change places',
        2,
        [
          `UPDATE workflow_steps SET sequence = 100 WHERE ${SECOND}`,
          `UPDATE workflow_steps SET sequence = 4 WHERE ${THIRD}`,
          `UPDATE workflow_steps SET sequence = 6 WHERE ${SECOND.replace('4', '100')}`,
        ],
      ],
      [
        'a step of another run',
        2,
        [
          `DELETE FROM workflow_steps WHERE ${SECOND}`,
          `UPDATE workflow_steps SET run = (SELECT number FROM workflow_runs WHERE id = 'a')
         WHERE sequence = 4 AND run = (SELECT number FROM workflow_runs WHERE id = 'b')`,
        ],
      ],
      ['the tip', 6, [`UPDATE workflow_runs SET tip = zeroblob(32) WHERE id = 'a'`]],
    ] as const)('%s', async (_what, sequence, statements) => {
      tamper(...statements);
      const store = open();
      expect(await store.verifyRun('a')).toMatchObject({ runId: 'a', sequence });
      expect(await store.verifyRun('done')).toBeNull();
      expect((await faultsIn()).filter((fault) => fault.runId === 'a')).toMatchObject([{ sequence }]);
    });

    it('a run that was deleted or given another name', async () => {
      tamper(`UPDATE workflow_runs SET id = 'x' WHERE id = 'b'`);
      expect(await faultsIn()).toMatchObject([{ runId: 'x', sequence: 1 }]);
      tamper(`DELETE FROM workflow_runs WHERE id = 'x'`);
      expect(await faultsIn()).toEqual([
        { runId: null, sequence: null, message: 'workflow_steps has events of run number 2, which is missing' },
      ]);
    });

    it('state, view and gate beside the events', async () => {
      const store = open();
      await store.append(aStep('a', { expectedSequence: 6, snapshot: { value: 'planning' } }));
      await store.close();
      for (const [what, damage, repair] of [
        [
          'state',
          `UPDATE snapshots SET data = '{"value":"done"}'`,
          `UPDATE snapshots SET data = '{"value":"planning"}'`,
        ],
        ['view', `UPDATE run_views SET view = view || ' '`, 'UPDATE run_views SET view = trim(view)'],
        [
          'gate',
          `UPDATE workflow_runs SET gate = '{' WHERE id = 'a'`,
          `UPDATE workflow_runs SET gate = NULL WHERE id = 'a'`,
        ],
      ] as const) {
        tamper(damage);
        expect(await faultsIn()).toMatchObject([{ runId: 'a', sequence: 7, message: expect.stringContaining(what) }]);
        tamper(repair);
      }
      expect(await faultsIn()).toEqual([]);
    });

    it('the row of a run that is older than its events, which goes on after the newest of them', async () => {
      tamper(
        `UPDATE workflow_runs SET last_sequence = 1, tip = (SELECT hash FROM workflow_steps
           WHERE run = workflow_runs.number AND sequence = 1) WHERE id = 'a'`,
      );
      const store = open();
      const fault = { runId: 'a', sequence: 6, message: 'events 2 to 6 are stored, though the run ends at event 1' };
      expect(await store.verifyTips()).toMatchObject([{ runId: 'a', message: expect.stringContaining('event 1') }]);
      expect(await store.verifyRun('a')).toEqual(fault);
      expect(await faultsIn()).toEqual([fault]);
      await expect(store.loadRun('a')).rejects.toThrow(Unprocessable);
      const view = await store.loadView('a');
      expect(view?.lastSequence).toBe(6);
      expect(view?.notices.at(-1)).toContain('1 is not its last event, as its row says, but 6');
      await store.append(aStep('a', { expectedSequence: 6 }));
      expect(await store.verifyRun('a')).toBeNull();
      expect((await store.loadRun('a'))?.view.lastSequence).toBe(7);
    });

    it.each([500, 1_000])('the tip of a run of %d steps', async (count) => {
      const store = open();
      const steps = Array.from({ length: count }, (_, expectedSequence) => aStep('long', { expectedSequence }));
      await Promise.all(steps.map((step) => store.append(step)));
      expect(await store.verifyRun('long')).toBeNull();
      tamper(`UPDATE workflow_runs SET tip = zeroblob(32) WHERE id = 'long'`);
      expect(await store.verifyRun('long')).toMatchObject({ sequence: count });
      expect(await faultsIn()).toMatchObject([{ runId: 'long', sequence: count }]);
    });

    it('nothing in a run that goes on while it is checked', async () => {
      const store = open();
      for (let after = 6; after < 1_200; after += 1) void store.append(aStep('a', { expectedSequence: after }));
      await store.append(aStep('a', { expectedSequence: 1_200 }));
      const checked = store.verifyRun('a');
      for (let after = 1_201; after < 1_300; after += 1) await store.append(aStep('a', { expectedSequence: after }));
      expect(await checked).toBeNull();
    });

    it('open work and the status beside the events', async () => {
      const store = open();
      const startActivities = [anActivity('a', 'plan')];
      await store.append(aStep('a', { expectedSequence: 6, startActivities }));
      await store.close();
      for (const [what, damage, repair] of [
        [
          "activity 'a/1/plan'",
          `UPDATE activities SET input = replace(input, '":', '";')`,
          `UPDATE activities SET input = replace(input, '";', '":')`,
        ],
        [
          "activity 'a/1/plan'",
          `UPDATE activities SET heartbeat = '{"a";1}'`,
          `UPDATE activities SET heartbeat = NULL`,
        ],
        [
          'it is listed as completed, and its events say running',
          `UPDATE workflow_runs SET status = 'completed', completed_at = 1 WHERE id = 'a'`,
          `UPDATE workflow_runs SET status = 'running', completed_at = NULL WHERE id = 'a'`,
        ],
        [
          'it is listed as ended, and is running',
          `UPDATE workflow_runs SET completed_at = 1 WHERE id = 'a'`,
          `UPDATE workflow_runs SET completed_at = NULL WHERE id = 'a'`,
        ],
      ] as const) {
        tamper(damage);
        expect(await faultsIn()).toMatchObject([{ runId: 'a', sequence: 7, message: expect.stringContaining(what) }]);
        tamper(repair);
      }
      expect(await faultsIn()).toEqual([]);
    });

    it('what was archived', async () => {
      const store = open();
      expect(await store.archive(LATER, 1)).toBe(1);
      expect(await store.verifyRun('done')).toBeNull();
      await store.close();
      tamper(`UPDATE archived_steps SET steps = zeroblob(length(steps))`);
      const damaged = open();
      expect(await damaged.verifyRun('done')).toMatchObject({ sequence: 1 });
      await expect(damaged.readRun('done', 0)).rejects.toThrow(/Run done is damaged/);
      expect(await damaged.listRuns({ status: 'completed' })).toMatchObject({
        items: [{ id: 'done', status: 'completed' }],
      });
      await damaged.close();
      tamper('DELETE FROM archived_steps');
      expect(await open().verifyRun('done')).toEqual({
        runId: 'done',
        sequence: 1,
        message: 'events 1 to 6 are missing',
      });
    });

    it('at the start, where it is the end of an open run', async () => {
      tamper(`DELETE FROM workflow_steps WHERE ${THIRD}`);
      tamper(`UPDATE workflow_steps SET events = replace(events, 'five', 'fave') WHERE sequence = 6`);
      expect(await open().verifyTips()).toMatchObject([
        { runId: 'a', sequence: 5 },
        { runId: 'b', sequence: 6, message: 'the payload of event 6 is not what was stored' },
      ]);
    });
  });

  describe('H07: bytes overwritten at random', () => {
    const OVERWRITES = 300;

    it(`are noticed or do no harm to any event, ${OVERWRITES} times`, async () => {
      const runIds = Array.from({ length: 48 }, (_, run) => `run-${run}`);
      const store = open();
      for (const [index, runId] of runIds.entries()) {
        await aRun(store, runId, index % 3 === 0);
        const output = { text: `${runId} `.repeat(400) };
        await store.append(
          aStep(`long-${runId}`, { events: [aStart(aView(`long-${runId}`)), anEvent('OWN', output)] }),
        );
      }
      expect(await store.archive(LATER, 8)).toBe(8);
      await store.close();
      const originals = eventsIn(file);

      const random = seeded(7);
      const copy = join(folder, 'copy.db');
      const outcomes = { named: 0, harmless: 0 };
      for (let round = 0; round < OVERWRITES; round += 1) {
        copyFileSync(file, copy);
        overwrite(copy, random);
        const faults = await faultsIn(copy).catch((error: unknown) => {
          // No error but those that say what is wrong with the file.
          expect(error).toSatisfy((thrown) => thrown instanceof Unavailable || thrown instanceof InvalidRequest);
          return [{ runId: null, sequence: null, message: String(error) }];
        });
        if (faults.some((fault) => fault.sequence !== null)) outcomes.named += 1;
        if (faults.length > 0) continue;
        expect(eventsIn(copy), `round ${round}`).toBe(originals);
        outcomes.harmless += 1;
      }
      // Of empty pages nothing is lost; where events are, nearly every fault names one.
      expect(outcomes.harmless).toBeGreaterThan(20);
      expect(outcomes.named).toBeGreaterThan(100);
    });

    it('are noticed every time where events are', async () => {
      await aRun(open(), 'a');
      await closeAll();
      const connection = new Database(file);
      const text =
        connection.prepare<[], string>('SELECT events FROM workflow_steps WHERE sequence = 4').pluck().get() ?? '';
      const write = connection.prepare('UPDATE workflow_steps SET events = ? WHERE sequence = 4');
      for (let at = 0; at < text.length; at += 1) {
        write.run(text.slice(0, at) + (text[at] === '~' ? '!' : '~') + text.slice(at + 1));
        const [fault, ...others] = await faultsIn();
        expect(others).toEqual([]);
        expect(fault?.runId).toBe('a');
        expect(fault?.sequence, `${at}`).toBeGreaterThanOrEqual(2);
        expect(fault?.sequence, `${at}`).toBeLessThanOrEqual(4);
      }
      connection.close();
    });
  });

  describe('of a run that is damaged', () => {
    beforeEach(async () => {
      const store = open();
      for (const runId of ['a', 'b', 'c']) await aRun(store, runId);
      await store.append(aStep('c', { expectedSequence: 6, snapshot: { value: 'planning' } }));
      await store.close();
    });

    it('is shown as far as it can be read, and takes no other run with it', async () => {
      tamper(`UPDATE workflow_steps SET events = substr(events, 2) WHERE run = 2 AND sequence = 4`);
      const store = open();
      const view = await store.loadView('b');
      expect(view).toMatchObject({ id: 'b', originalRequest: 'Add a login page', status: 'running', lastSequence: 6 });
      expect(view?.notices).toEqual([
        'four',
        'five',
        expect.stringMatching(/^Not everything that is stored of this run can be read: event 2 cannot be read/),
      ]);
      expect((await store.listRuns({})).items.map((run) => run.id)).toEqual(['c', 'b', 'a']);
      expect(await store.listOpenRuns()).toHaveLength(3);
      const refused = store.loadRun('b');
      await expect(refused).rejects.toThrow(Unprocessable);
      await expect(refused).rejects.toThrow(/Run b is damaged: event 2 cannot be read/);
      await expect(store.readRun('b', 0)).rejects.toThrow(Unprocessable);
      expect(await store.readRun('b', 4)).toHaveLength(2);
      expect(await store.loadRun('a')).toMatchObject({ view: { lastSequence: 6 } });
    });

    it('leaves its place in the log to events that say why they cannot be read, and all others are read', async () => {
      tamper(`UPDATE workflow_steps SET events = substr(events, 2) WHERE run = 2 AND sequence = 4`);
      const store = open();
      const lost = { type: 'UNREADABLE', payload: { message: expect.stringContaining('event 2 cannot be read') } };
      const all = await store.readAll(0);
      expect(all.map((event) => event.position)).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
      expect(all.slice(7, 10)).toMatchObject([
        { ...lost, id: 'b.2', sequence: 2 },
        { ...lost, id: 'b.3', sequence: 3 },
        { ...lost, id: 'b.4', sequence: 4 },
      ]);
      expect(await store.readAll(8, 3)).toEqual(all.slice(8, 11));
      expect(all.filter((event) => event.type === 'UNREADABLE')).toHaveLength(3);
      expect(await store.readHistory('b', 0)).toEqual(all.filter((event) => event.workflowRunId === 'b'));
      expect(await store.readHistory('b', 2, 1)).toMatchObject([lost]);
    });

    it.each(['zeroblob(32)', 'zeroblob(320)', "x''"])('keeps the log in order with hashes of %s', async (hashes) => {
      tamper(`UPDATE workflow_steps SET events = '', hashes = ${hashes} WHERE run = 2 AND sequence = 4`);
      const positions = (await open().readAll(0)).map((event) => event.position);
      expect(positions).toEqual([...new Set(positions)].toSorted((a, b) => a - b));
      expect(positions).toEqual(expect.arrayContaining([1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]));
    });

    it('can be shown and quarantined where nothing of it can be read', async () => {
      tamper(`DELETE FROM workflow_steps WHERE run = 2`);
      const store = open();
      expect(await store.loadView('b')).toMatchObject({
        id: 'b',
        projectId: 'p-1',
        workflow: { name: 'build' },
        status: 'running',
        lastSequence: 6,
        notices: [expect.stringContaining('no events from 1 to 6')],
      });
      await expect(store.loadRun('b')).rejects.toThrow(Unprocessable);
      expect((await store.listRuns({ status: 'running' })).items).toHaveLength(3);
      await store.append(aStep('b', { expectedSequence: 6, view: { status: 'paused' } }));
      expect(await store.loadView('b')).toMatchObject({ status: 'paused', lastSequence: 7 });
    });

    it('is not gone on with when its events are not what was written, though they can be read', async () => {
      tamper(`UPDATE workflow_steps SET events = replace(events, 'two', 'twp') WHERE run = 2 AND sequence = 4`);
      const store = open();
      await expect(store.loadRun('b')).rejects.toThrow('the payload of event 3 is not what was stored');
      expect(await store.readRun('b', 0)).toHaveLength(6);
    });

    it.each(['{"value":"planninh"}', '{'])('is not gone on with from the state %s', async (data) => {
      tamper(`UPDATE snapshots SET data = '${data}'`);
      await expect(open().loadRun('c')).rejects.toThrow('its state after event 7 is not what was stored');
    });

    it('is folded anew where only its stored view is', async () => {
      tamper(`UPDATE run_views SET view = replace(view, 'Add', 'Sub')`);
      expect(await open().loadView('c')).toMatchObject({ originalRequest: 'Add a login page', lastSequence: 7 });
      expect(await open(await aCopy()).loadRun('c')).toMatchObject({ snapshot: { sequence: 7 }, events: [] });
    });

    it('can be exported for a person, unreadable parts as they are', async () => {
      tamper(`UPDATE workflow_steps SET events = 'nothing' WHERE run = 2 AND sequence = 4`);
      const exported = await open().exportRun('b');
      expect(exported).toMatchObject({
        format: newestSchema(),
        runId: 'b',
        run: { id: 'b', tip: expect.stringMatching(/^base64:/) },
        workflow_steps: [{ sequence: 1 }, { sequence: 4, events: 'nothing' }, { sequence: 6 }],
        unreadable: [],
      });
    });

    it('can be exported where its packed events cannot be unpacked', async () => {
      const store = open();
      await aRun(store, 'done', true);
      expect(await store.archive(LATER, 1)).toBe(1);
      await store.close();
      tamper(`UPDATE archived_steps SET steps = x'00ff'`);
      const exported = exportFromFile(file, 'done');
      expect(exported).toMatchObject({
        archived_steps: [{ steps: 'base64:AP8=' }],
        unreadable: [expect.stringContaining('archived_steps')],
      });
    });

    async function aCopy(): Promise<string> {
      await closeAll();
      const copy = join(folder, 'copy.db');
      copyFileSync(file, copy);
      return copy;
    }
  });

  describe('in a file', () => {
    it('is checked beside a server that uses it', async () => {
      const store = open();
      await aRun(store, 'a');
      const check = verifyDatabase(file);
      for await (const fault of check) expect(fault).toBeNull();
      expect(check.counts).toEqual({ runs: 1, events: 6 });
      expect(await store.append(aStep('a', { expectedSequence: 6 }))).toHaveLength(1);
    });

    it('is not checked where there is none, or another program wrote it', async () => {
      await expect(faultsIn()).rejects.toThrow(
        `There is no database ${file}. Name the data folder of the server with --data or AUTONOMOUS_DATA.`,
      );
      writeFileSync(file, 'Dear diary, '.repeat(1_000));
      await expect(faultsIn()).rejects.toThrow(Unavailable);
      rmSync(file);
      const connection = new Database(file);
      connection.exec('CREATE TABLE bookmarks (url TEXT)');
      connection.close();
      await expect(faultsIn()).rejects.toThrow(/another program/);
    });

    it('of which pages are lost is read as far as it can be', async () => {
      const store = open();
      for (let run = 0; run < 60; run += 1) {
        const long = [aStart(aView(`run-${run}`)), anEvent('NOTICE', { message: 'x'.repeat(1_500) })];
        await store.append(aStep(`run-${run}`, { events: long }));
      }
      await store.close();
      const connection = new Database(file);
      const page = connection
        .prepare<[], number>(
          `SELECT pageno FROM dbstat WHERE name = 'workflow_steps' AND pagetype = 'leaf' LIMIT 1 OFFSET 5`,
        )
        .pluck();
      let number: number | undefined;
      try {
        number = page.get();
      } finally {
        connection.close();
      }
      expect(number).toBeGreaterThan(1);
      const handle = openSync(file, 'r+');
      writeSync(handle, Buffer.alloc(4_096, 0xff), 0, 4_096, ((number ?? 1) - 1) * 4_096);
      closeSync(handle);

      const faults = await faultsIn();
      const damaged = new Set(faults.flatMap((fault) => fault.runId ?? []));
      expect(damaged.size).toBeGreaterThan(0);
      expect(damaged.size).toBeLessThan(60);
      const reopened = open();
      expect((await reopened.verifyTips()).map((fault) => fault.runId).toSorted()).toEqual([...damaged].toSorted());
      expect((await reopened.listRuns({ limit: 100 })).items).toHaveLength(60);
      const whole = Array.from({ length: 60 }, (_, run) => `run-${run}`).filter((runId) => !damaged.has(runId));
      expect((await reopened.readAll(0)).map((event) => event.id)).toEqual(
        whole.flatMap((runId) => [`${runId}.1`, `${runId}.2`]),
      );
      const [runId = ''] = damaged;
      await expect(reopened.loadRun(runId)).rejects.toThrow(Unprocessable);
      expect((await reopened.exportRun(runId))['unreadable']).not.toEqual([]);
    });
  });
});

/** All events of all runs, as text. */
function eventsIn(path: string): string {
  const connection = connectReadOnly(path);
  const runs = new StoredRuns(connection);
  const events = runs.allRuns(0, 1_000).map((run) => runs.events(run, 0));
  connection.close();
  return JSON.stringify(events);
}

function overwrite(path: string, random: () => number): void {
  const bytes = Buffer.from(Array.from({ length: 16 }, () => Math.floor(random() * 256)));
  const handle = openSync(path, 'r+');
  writeSync(handle, bytes, 0, 16, Math.floor(random() * (statSync(path).size - 16)));
  closeSync(handle);
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
