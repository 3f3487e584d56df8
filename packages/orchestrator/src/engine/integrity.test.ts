/** Databases that were damaged between a stop and a start: the engine quarantines the run before any effect, the others go on. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import Database from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { damageText } from '../event-store/sqlite/damage.fixture.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStep, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { type Fixture, git, openFixture } from '../repository/git-fixture.fixture.ts';
import { systemClock } from './clock.ts';
import { createRegistry } from '../core/registry.ts';
import { EngineUnderTest, small } from './engine.fixture.ts';
import { Engine } from './engine.ts';
import { findDivergedRuns } from '../record/record-check.ts';
import { RunRecordWriter } from '../record/run-record-writer.ts';
import { writeExport } from './run-export.ts';
import { Transcripts } from './transcripts.ts';

describe('H07: an engine whose database was damaged while it was stopped', () => {
  let test: EngineUnderTest;
  beforeEach(async () => {
    test = await EngineUnderTest.open();
    await test.engine.start();
  });
  afterEach(() => test.close());

  const toGate = async (id: string, plan: string): Promise<void> => {
    await test.launch(id);
    (await test.call('draft')).complete(plan);
    await test.until(id, (view) => view.gate?.kind === 'plan');
  };
  const startDamaged = async (text: string): Promise<void> => {
    await test.engine.stop();
    await test.store.close();
    damageText(path.join(test.folder, 'test.db'), text);
    await test.restart();
  };

  /** Changes one row while the engine is stopped. */
  const tamper = async (statement: string): Promise<void> => {
    await test.engine.stop();
    await test.store.close();
    const connection = new Database(path.join(test.folder, 'test.db'));
    expect(connection.prepare(statement).run().changes).toBe(1);
    connection.close();
  };

  it('sets a run at a gate aside with the event that is not as it was, and the others go on', async () => {
    await toGate('r1', 'a marked plan');
    await toGate('r2', 'another plan');
    await startDamaged('a marked plan');
    const quarantined = await test.engine.view('r1');
    expect(quarantined).toMatchObject({
      status: 'paused',
      gate: { reason: 'poisoned', decisions: ['retry'], summary: expect.stringContaining('event 4') },
    });
    await test.approve('r2');
    (await test.call('work')).complete('done');
    await test.until('r2', (view) => view.status === 'completed');
  });

  it('starts nothing of a damaged run that was at work, and takes it up only when it is whole again', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.engine.signal('r1', 'APPROVAL_GRANTED', { by: 'a-marked-person' });
    await test.call('work');
    await startDamaged('a-marked-person');
    expect(await test.engine.view('r1')).toMatchObject({ status: 'paused', gate: { reason: 'poisoned' } });
    expect(test.calls).toEqual([]);
    await expect(test.engine.signal('r1', 'RETRY_REQUESTED', { by: 'me' })).rejects.toThrow(
      /Run r1 is damaged and cannot resume: .*event 7.*Export it/,
    );
    expect(test.calls).toEqual([]);
    expect((await test.engine.cancel('r1', 'me')).status).toBe('cancelled');
  });

  it('builds nothing on what is damaged: no fork from there on, and no other version', async () => {
    await test.launch('r2');
    await test.toGate('r2');
    await test.engine.signal('r2', 'APPROVAL_GRANTED', { by: 'a-marked-person' });
    await test.call('work');
    await startDamaged('a-marked-person');
    const fork = (id: string, at: number) =>
      test.engine.fork(id, 'r2', { at, by: 'me', branch: `autonomous/${id}`, prepare: async () => undefined });
    await expect(fork('late', 9)).rejects.toThrow(/Run r2 is damaged and cannot be forked at event 9: .*event 7/);
    expect((await fork('early', 6)).gate?.kind).toBe('plan');
    await expect(test.engine.migrate('r2', 2, 'me')).rejects.toThrow(/Run r2 is damaged and cannot be migrated/);
    expect(test.calls).toEqual([]);
  });

  it('is up again after a second start, with the run still aside', async () => {
    await toGate('r1', 'a marked plan');
    await startDamaged('a marked plan');
    const { lastSequence } = await test.engine.view('r1');
    await test.restart();
    expect(await test.engine.view('r1')).toMatchObject({ status: 'paused', lastSequence });
  });

  it('sets a run aside of which others know more, keeps what can be read of it, and the others go on', async () => {
    await toGate('r1', 'one plan');
    await toGate('r2', 'another plan');
    await test.engine.stop();
    const kept = Promise.withResolvers<string>();
    const options = {
      store: test.store,
      workflows: createRegistry([small]),
      findActivity: () => undefined,
      clock: test.clock,
      log: pino({ level: 'silent' }),
      maxConcurrentRunsPerUser: 5,
      random: () => 0.5,
      scrub: <Value>(value: Value) => value,
      findDamage: async () => [{ runId: 'r1', sequence: 7, message: 'event 7 is in the record in git' }],
      onQuarantined: async (runId: string) => kept.resolve(runId),
    };
    const engine = new Engine(options);
    await engine.start();
    expect(await kept.promise).toBe('r1');
    expect((await engine.view('r1')).gate).toMatchObject({
      reason: 'poisoned',
      summary: 'event 7 is in the record in git',
    });
    expect((await engine.view('r2')).gate).toMatchObject({ kind: 'plan' });
    await engine.stop();
  });

  it.each([
    ['input', `UPDATE activities SET input = replace(input, '":', '";') WHERE key LIKE 'r1/%'`],
    ['heartbeat', `UPDATE activities SET heartbeat = '{"a";1}' WHERE key LIKE 'r1/%'`],
  ])('sets a run aside whose activity has an %s that cannot be read, and it can be cancelled', async (_, damage) => {
    await test.launch('r2');
    await test.toGate('r2');
    await test.launch('r1');
    await test.call('draft');
    await tamper(damage);
    await test.restart();
    expect(await test.engine.view('r1')).toMatchObject({ status: 'paused', gate: { reason: 'poisoned' } });
    await test.approve('r2');
    await test.call('work');
    expect((await test.engine.cancel('r1', 'me')).status).toBe('cancelled');
    expect(await test.store.openKeys('r1')).toEqual({ activities: [], timers: [] });
  });

  it('sets a run aside whose row is older than its events; it goes on after all of them', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await tamper(
      `UPDATE workflow_runs SET (last_sequence, tip) =
         (SELECT sequence, hash FROM workflow_steps WHERE run = workflow_runs.number ORDER BY sequence LIMIT 1)`,
    );
    await test.restart();
    expect(await test.engine.view('r1')).toMatchObject({
      status: 'paused',
      gate: { reason: 'poisoned' },
      lastSequence: 7,
    });
    await test.engine.signal('r1', 'RETRY_REQUESTED', { by: 'me' });
    expect((await test.engine.view('r1')).gate).toMatchObject({ kind: 'plan' });
    await test.approve('r1');
    expect((await test.call('work')).input).toEqual({ plan: 'the plan' });
    expect(await test.store.verifyRun('r1')).toBeNull();
  });

  it.each([
    ['the input of an activity', `UPDATE activities SET input = replace(input, 'the plan', 'tie plan')`],
    ['the source of an activity', `UPDATE activities SET src = 'draft'`],
    ['the name of an activity', `UPDATE activities SET activity = 'drafter'`],
    ['the time of a timer', 'UPDATE timers SET due_at = due_at + 86400000'],
    ['the event of a timer', `UPDATE timers SET event = 'other'`],
  ])('performs nothing where %s is not what the history gives', async (_, damage) => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.approve('r1');
    await test.call('work');
    await tamper(damage);
    await test.restart();
    expect(await test.engine.view('r1')).toMatchObject({ status: 'paused', gate: { reason: 'poisoned' } });
    expect(test.calls).toEqual([]);
  });

  it('keeps what can be read of it as a file', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    const folder = path.join(test.folder, 'exports');
    const file = await writeExport(folder, test.store, 'r1');
    expect(readdirSync(folder)).toEqual(['r1-6.json']);
    expect(readFileSync(file, 'utf8')).toContain('the plan');
  });
});

describe('a database and the record in git', () => {
  let root: string;
  let file: string;
  let store: SqliteEventStore;
  let fixture: Fixture;
  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'record-check-'));
    file = path.join(root, 'test.db');
    fixture = await openFixture(root);
    store = openSqliteEventStore({ file });
    await store.saveProject({ ...fixture.project, name: 'shop', createdAt: NOON });
  });
  afterEach(async () => {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });

  /** A step of a run that waits; its events are of one moment. */
  const step = async (runId: string, after: number, timestamp: string): Promise<void> => {
    await store.append(
      aStep(runId, {
        expectedSequence: after,
        events: [anEvent('RUN_STARTED', {}, timestamp), anEvent('APPROVAL_REQUESTED', {}, timestamp)],
        view: { projectId: fixture.project.id, status: 'awaiting_approval' },
      }),
    );
  };
  const record = async (): Promise<string[]> => {
    const warnings: string[] = [];
    const recorder = new RunRecordWriter({
      store,
      repository: fixture.repository,
      transcripts: new Transcripts(path.join(root, 'transcripts')),
      clock: systemClock,
      log: pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) }),
      scrub: (text) => text,
      serverId: 's-1',
    });
    await store.setMark('recorded-position', '0');
    await recorder.start();
    await recorder.settled();
    await recorder.stop();
    return warnings;
  };
  const reopen = async (change: () => void): Promise<void> => {
    await store.close();
    change();
    store = openSqliteEventStore({ file });
  };
  const diverged = () => findDivergedRuns({ store, repository: fixture.repository, log: pino({ level: 'silent' }) });
  const recorded = (runId: string) =>
    JSON.parse(git(fixture.remote, 'show', `autonomous/record:.autonomous/runs/${runId}/context.json`)) as {
      readonly tip: { readonly sequence: number; readonly hash: string };
    };

  it('agree when the record has the same last event, or an earlier one', async () => {
    await step('r-1', 0, NOON);
    await step('r-2', 0, NOON);
    await record();
    expect(recorded('r-1').tip).toMatchObject(await store.tipOf('r-1').then((tip) => ({ ...tip })));
    expect(await diverged()).toEqual([]);
    await step('r-2', 2, '2026-03-01T12:05:00.000Z');
    expect(await diverged()).toEqual([]);
  });

  it('part where the database lost its newest events: the record knows them, also while the remote is away', async () => {
    await step('r-1', 0, NOON);
    await step('r-2', 0, NOON);
    await reopen(() => copyFileSync(file, `${file}.old`));
    await step('r-1', 2, '2026-03-01T12:05:00.000Z');
    await record();
    await reopen(() => renameSync(`${file}.old`, file));
    renameSync(fixture.remote, `${fixture.remote}.away`);
    expect(await diverged()).toEqual([
      { runId: 'r-1', sequence: 3, message: 'events 3 to 4 are in the record in git and not in the database' },
    ]);
    // What only git knows is not written over.
    renameSync(`${fixture.remote}.away`, fixture.remote);
    await store.append(
      aStep('r-1', {
        expectedSequence: 2,
        events: [anEvent('RUN_PAUSED', {}, '2026-03-01T13:00:00.000Z')],
        view: { projectId: fixture.project.id, status: 'paused' },
      }),
    );
    expect((await record()).join()).toContain('the record of a run stays as it is in git');
    expect(recorded('r-1').tip.sequence).toBe(4);
    expect(git(fixture.remote, 'ls-tree', '--name-only', 'autonomous/record', '.autonomous/runs/')).toContain('r-2');
  });

  it('part where the run went another way since', async () => {
    await step('r-1', 0, NOON);
    await step('r-2', 0, NOON);
    await reopen(() => copyFileSync(file, `${file}.old`));
    await step('r-1', 2, '2026-03-01T12:05:00.000Z');
    await step('r-2', 2, '2026-03-01T12:05:00.000Z');
    await record();
    await reopen(() => renameSync(`${file}.old`, file));
    await step('r-1', 2, '2026-03-01T12:06:00.000Z');
    await step('r-2', 2, '2026-03-01T12:06:00.000Z');
    await step('r-2', 4, '2026-03-01T12:07:00.000Z');
    expect(await diverged()).toEqual([
      { runId: 'r-1', sequence: 4, message: 'event 4 is another one in the record in git' },
      { runId: 'r-2', sequence: 4, message: 'event 4 is another one in the record in git' },
    ]);
  });

  it('are not compared where there is no record, or none that can be read', async () => {
    await step('r-1', 0, NOON);
    expect(await diverged()).toEqual([]);
    await fixture.repository.record(fixture.project, {
      files: { '.autonomous/runs/r-1/context.json': '{"format": 2, "tip": 7}' },
      message: 'nonsense',
    });
    expect(await diverged()).toEqual([]);
    rmSync(path.join(root, 'mirrors'), { recursive: true, force: true });
    expect(await diverged()).toEqual([]);
  });
});
