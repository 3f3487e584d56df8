import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Unavailable } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore, type SqliteEventStoreOptions } from '../sqlite-event-store.ts';
import { anEvent, aStep } from '../steps.fixture.ts';

/** Another program that writes until it is told to end, for a second at most. */
const HOLD_UNTIL_TOLD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require(${JSON.stringify(createRequire(import.meta.url).resolve('better-sqlite3'))});
  const connection = new Database(workerData.file);
  connection.exec('BEGIN IMMEDIATE');
  parentPort.postMessage('holds');
  Atomics.wait(workerData.told, 0, 0, 1_000);
  connection.exec('ROLLBACK');
  connection.close();
`;

/** Where a commit takes no time, however busy the disk is: a folder in memory, where this system has one. */
function quickPlace(): string {
  const inMemory = '/dev/shm';
  return existsSync(inMemory) ? inMemory : tmpdir();
}

describe('the writer in its thread', () => {
  let folder: string;
  let file: string;
  let store: SqliteEventStore | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'writer-'));
    file = join(folder, 'runs.db');
  });
  afterEach(async () => {
    await store?.close();
    rmSync(folder, { recursive: true });
  });

  function open(options: Partial<SqliteEventStoreOptions> = {}): SqliteEventStore {
    store = openSqliteEventStore({ file, ...options });
    return store;
  }

  async function appendTo(runs: number, steps: number): Promise<void> {
    const appendSteps = async (runId: string) => {
      for (let expectedSequence = 0; expectedSequence < steps; expectedSequence += 1) {
        await store?.append(aStep(runId, { expectedSequence }));
      }
    };
    await Promise.all(Array.from({ length: runs }, (_, run) => appendSteps(`r-${run}`)));
  }

  it('keeps this one turning while the disk takes 20 ms a commit, and commits many steps together', async () => {
    const opened = open({ faults: { syncDelayMs: 20 } });
    let turns = 0;
    let next = setImmediate(turn);
    function turn(): void {
      turns += 1;
      next = setImmediate(turn);
    }
    await appendTo(60, 5);
    clearImmediate(next);

    const { commits, writes, delayedSyncs } = opened.statistics();
    expect(writes).toBe(300);
    expect(delayedSyncs).toBe(commits);
    expect(commits).toBeLessThan(100);
    // In this thread each commit would take a turn or two.
    expect(turns).toBeGreaterThan(10 * commits);
  });

  it('keeps the order of what was appended, and answers each with its own', async () => {
    const opened = open();
    const steps = Array.from({ length: 200 }, (_, number) => ({
      runId: `r-${number % 2}`,
      expectedSequence: Math.floor(number / 2),
    }));
    const stored = await Promise.all(
      steps.map(({ runId, expectedSequence }) => opened.append(aStep(runId, { expectedSequence }))),
    );
    expect(stored.map((events) => events.map((event) => event.id))).toEqual(
      steps.map(({ runId, expectedSequence }) => [`${runId}.${expectedSequence + 1}`]),
    );
    expect(await opened.readAll(0)).toEqual(stored.flat());
  });

  it('lets the process end when nothing waits, and not before what waits is stored', () => {
    const script = `
      import { openSqliteEventStore } from ${JSON.stringify(new URL('../sqlite-event-store.ts', import.meta.url).href)};
      const store = openSqliteEventStore({ file: ${JSON.stringify(file)} });
      await store.setMark('first', '1');
      store.setMark('second', '2').then(() => console.log('stored'));
    `;
    // One that never ends is ended, and has no status then.
    const limit = { timeout: 120_000 };
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], limit);
    expect({ status, stdout: String(stdout), stderr: String(stderr) }).toEqual({
      status: 0,
      stdout: 'stored\n',
      stderr: '',
    });
  });

  it('refuses everything once it ended by itself, and says why, once to who must restart it', async () => {
    const told: string[] = [];
    const opened = open({ onStopped: ({ message }) => told.push(message) });
    // It opens the file after this turn.
    for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
    mkdirSync(file);
    const refused = await Promise.allSettled([opened.append(aStep('a')), opened.setMark('m', '1')]);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
      expect(outcome).toHaveProperty('reason.message', expect.stringMatching(/The writer of .*runs\.db ended \(.+\)/));
    }
    await expect(opened.append(aStep('b'))).rejects.toThrow(/Restart the server/);
    expect(told).toEqual([expect.stringContaining('Restart the server')]);
  });

  it('cannot serve a database in memory', () => {
    expect(() => open({ file: ':memory:' })).toThrow(/writer: 'inline'/);
  });

  it('is not needed for a database in memory', async () => {
    open({ file: ':memory:', writer: 'inline' });
    await appendTo(3, 4);
    expect(await store?.lastPosition()).toBe(12);
    expect(await store?.verifyTips()).toEqual([]);
  });
});

describe('the writer where it serves best', () => {
  let folder: string;
  let file: string;
  let store: SqliteEventStore;

  beforeEach(() => {
    folder = mkdtempSync(join(quickPlace(), 'writer-'));
    file = join(folder, 'runs.db');
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

  function open(options: Partial<SqliteEventStoreOptions> = {}): void {
    store = openSqliteEventStore({ file, ...options });
  }

  async function appendAlone(runId: string, from: number, to: number): Promise<void> {
    for (let expectedSequence = from; expectedSequence < to; expectedSequence += 1) {
      await store.append(aStep(runId, { expectedSequence }));
    }
  }

  it('is this thread for what comes alone, and the other for what comes together; each knows what the other wrote', async () => {
    open();
    const runs = Array.from({ length: 40 }, (_, run) => `r-${run}`);
    for (let round = 0; round < 5; round += 1) {
      await appendAlone('alone', round * 40, (round + 1) * 40);
      await Promise.all(runs.map((runId) => appendAlone(runId, round * 2, round * 2 + 1)));
      await appendAlone(runs[round] ?? '', round * 2 + 1, round * 2 + 2);
      const others = runs.filter((_, run) => run !== round);
      await Promise.all(others.map((runId) => appendAlone(runId, round * 2 + 1, round * 2 + 2)));
    }
    expect(await store.lastPosition()).toBe(200 + 40 * 10);
    expect(await store.verifyTips()).toEqual([]);
    for (const runId of ['alone', ...runs]) expect(await store.verifyRun(runId)).toBeNull();
    const { commits, commitsHere, writes } = store.statistics();
    expect(writes).toBe(600);
    expect(commitsHere).toBeGreaterThan(0);
    expect(commits).toBeGreaterThan(commitsHere);
  });

  it('is never this thread while the disk is slow', async () => {
    open({ faults: { syncDelayMs: 5 } });
    await appendAlone('a', 0, 20);
    expect(store.statistics()).toMatchObject({ commits: 20, commitsHere: 0 });
  });

  it('is not this thread while another program writes, so that this one goes on meanwhile', async () => {
    open();
    let sequence = 0;
    const append = () => store.append(aStep('a', { expectedSequence: sequence++ }));
    // The newest commits say whether the next one is written here.
    for (let isHere = false; !isHere || store.statistics().lastCommitMs > 1;) {
      const { commitsHere } = store.statistics();
      await append();
      isHere = store.statistics().commitsHere > commitsHere;
    }
    const before = store.statistics().commitsHere;
    const told = new Int32Array(new SharedArrayBuffer(4));
    const other = new Worker(HOLD_UNTIL_TOLD, { eval: true, workerData: { file, told } });
    const ended = once(other, 'exit');
    await once(other, 'message');
    const waiting = Promise.allSettled([append(), append()]);
    // A turn of this thread; one that waits for the other program has none.
    await nextTurn();
    Atomics.store(told, 0, 1);
    Atomics.notify(told, 0);
    expect((await waiting).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(store.statistics().commitsHere).toBe(before);
    await ended;
    expect(await store.verifyRun('a')).toBeNull();
    expect(await store.lastPosition()).toBe(sequence);
  });

  it('is never this thread for what is large', async () => {
    open();
    await appendAlone('a', 0, 20);
    const before = store.statistics();
    const payload = { message: 'x'.repeat(100_000) };
    for (let expectedSequence = 20; expectedSequence < 30; expectedSequence += 1) {
      await store.append(aStep('a', { expectedSequence, events: [anEvent('NOTICE', payload)] }));
    }
    const { commits, commitsHere } = store.statistics();
    expect(commits - before.commits).toBe(10);
    expect(commitsHere).toBe(before.commitsHere);
  });

  it('stops in both threads when the disk fails under one of them', async () => {
    open({ faults: { failingCommits: { 15: 'SQLITE_IOERR_FSYNC' } } });
    await appendAlone('a', 0, 14);
    const failed = store.append(aStep('a', { expectedSequence: 14 }));
    const many = Array.from({ length: 40 }, (_, run) => store.append(aStep(`r-${run}`)));
    const outcomes = await Promise.allSettled([failed, ...many]);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    await expect(store.append(aStep('later'))).rejects.toThrow(Unavailable);
    expect(await store.lastPosition()).toBe(14);
  });

  it('stores what it has taken before it is closed', async () => {
    open();
    await appendAlone('a', 0, 10);
    const taken = store.append(aStep('a', { expectedSequence: 10 }));
    await store.close();
    await expect(taken).resolves.toHaveLength(1);
    open();
    expect(await store.lastPosition()).toBe(11);
  });

  it('lets the log be written back although each write comes alone', async () => {
    open();
    await appendAlone('a', 0, 3_000);
    // 3,000 commits of some 5 pages would be 60 MB.
    expect(statSync(`${file}-wal`).size).toBeLessThan(2 * 2_000 * 4_120);
  });
});
