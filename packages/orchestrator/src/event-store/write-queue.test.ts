import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Unavailable } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore, type SqliteEventStoreOptions } from './sqlite-event-store.ts';
import { aStep } from './steps.fixture.ts';

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
      import { openSqliteEventStore } from ${JSON.stringify(new URL('./sqlite-event-store.ts', import.meta.url).href)};
      const store = openSqliteEventStore({ file: ${JSON.stringify(file)} });
      await store.setMark('first', '1');
      store.setMark('second', '2').then(() => console.log('stored'));
    `;
    // One that never ends is ended, and has no status then.
    const limit = { timeout: 30_000 };
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], limit);
    expect({ status, stdout: String(stdout), stderr: String(stderr) }).toEqual({
      status: 0,
      stdout: 'stored\n',
      stderr: '',
    });
  });

  it('refuses everything once it ended by itself, and says why', async () => {
    const opened = open();
    // It opens the file after this turn.
    for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
    mkdirSync(file);
    const refused = await Promise.allSettled([opened.append(aStep('a')), opened.setMark('m', '1')]);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
      expect(outcome).toHaveProperty('reason.message', expect.stringMatching(/The writer of .*runs\.db ended \(.+\)/));
    }
    await expect(opened.append(aStep('b'))).rejects.toThrow(/Restart the server/);
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
