import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidRequest, type JsonObject, type Metrics, type MetricsQuery } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { aStep } from '../event-store/sqlite/steps.fixture.ts';
import { calls, opens, type Told, tell } from '../event-store/sqlite/stored-run.fixture.ts';
import { metricsOf, metricsRange } from './metrics.ts';

const HOUR_MS = 3_600_000;
const NOW = new Date('2026-03-10T12:00:00Z');
const NO_SPENDING = { costUsd: 0, inputTokens: 0, outputTokens: 0, calls: 0, unpricedCalls: 0 };

describe('The metrics of a store', () => {
  let folder: string;
  let file: string;
  let store: SqliteEventStore;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'metrics-'));
    file = join(folder, 'runs.db');
    store = openSqliteEventStore({ file, writer: 'inline' });
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

  async function reopen(change?: (connection: Database.Database) => void): Promise<void> {
    await store.close();
    if (change !== undefined) {
      const connection = new Database(file);
      change(connection);
      connection.close();
    }
    store = openSqliteEventStore({ file, writer: 'inline' });
  }

  async function metrics(query: MetricsQuery = {}): Promise<Metrics> {
    const range = metricsRange(query, NOW);
    const endedSince = new Date(range.range.begin).toISOString();
    const madeBefore = new Date(range.range.end).toISOString();
    const { projectId, workflow } = query;
    return metricsOf(await store.summarizeRuns({ projectId, workflow, endedSince, madeBefore }), range);
  }

  /** Made at 10, planned for $1 in the first hour, approved after a day, done for $2 half an hour later. */
  const buildOn = (day: string, next: string): readonly Told[] => [
    ['2026-03-' + day + 'T10:00Z', 'STAGE_STARTED', { stage: 'planning' }],
    ...calls(`2026-03-${day}T10:05Z`, 'planning', 'a:planner', 1),
    opens(`2026-03-${day}T11:00Z`, 'plan'),
    [`2026-03-${next}T11:00Z`, 'APPROVAL_GRANTED', { by: 'ada' }],
    ...calls(`2026-03-${next}T11:15Z`, 'implementation', 'b:coder', 2),
    [`2026-03-${next}T11:30Z`, 'RUN_COMPLETED', {}],
  ];

  it('are nothing for a store without runs', async () => {
    const { from, to, total, parts, now, timeZone, bucket } = await metrics();
    expect({ from, to, timeZone, bucket }).toEqual({
      from: '2026-02-09',
      to: '2026-03-10',
      timeZone: 'UTC',
      bucket: 'day',
    });
    const nothing = {
      started: 0,
      completed: 0,
      failed: 0,
      cancelled: 0,
      closed: 0,
      childRuns: { started: 0, completed: 0, failed: 0, cancelled: 0 },
      successRate: null,
      timeToCompletion: null,
      costPerRun: null,
      spending: NO_SPENDING,
      stages: [],
      models: [],
      waiting: [],
    };
    expect(total).toEqual(nothing);
    expect(parts).toHaveLength(30);
    expect(parts[0]).toEqual({ from: '2026-02-09', to: '2026-02-09', ...nothing });
    expect(now).toEqual({ openRuns: 0, waiting: [] });
  });

  it('are those of one run, each figure on its day', async () => {
    await tell(store, 'r-1', { createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    const { total, parts, now } = await metrics({ from: '2026-03-01', to: '2026-03-03' });
    const ms = 25.5 * HOUR_MS;
    expect(total).toEqual({
      started: 1,
      completed: 1,
      failed: 0,
      cancelled: 0,
      closed: 0,
      childRuns: { started: 0, completed: 0, failed: 0, cancelled: 0 },
      successRate: 1,
      timeToCompletion: { count: 1, medianMs: ms, p90Ms: ms, totalMs: ms },
      costPerRun: { runs: 1, meanUsd: 3, medianUsd: 3 },
      spending: { costUsd: 3, inputTokens: 200, outputTokens: 20, calls: 2, unpricedCalls: 0 },
      stages: [
        { stage: 'implementation', costUsd: 2, inputTokens: 100, outputTokens: 10, calls: 1, unpricedCalls: 0 },
        { stage: 'planning', costUsd: 1, inputTokens: 100, outputTokens: 10, calls: 1, unpricedCalls: 0 },
      ],
      models: [
        { model: 'b:coder', costUsd: 2, inputTokens: 100, outputTokens: 10, calls: 1, unpricedCalls: 0 },
        { model: 'a:planner', costUsd: 1, inputTokens: 100, outputTokens: 10, calls: 1, unpricedCalls: 0 },
      ],
      waiting: [{ gate: 'plan', count: 1, medianMs: 24 * HOUR_MS, p90Ms: 24 * HOUR_MS, totalMs: 24 * HOUR_MS }],
    });
    expect(
      parts.map(({ from, started, completed, spending, waiting, costPerRun }) => [
        from,
        started,
        completed,
        spending.costUsd,
        waiting.length,
        costPerRun?.meanUsd ?? null,
      ]),
    ).toEqual([
      ['2026-03-01', 1, 0, 1, 0, null],
      ['2026-03-02', 0, 1, 2, 1, 3],
      ['2026-03-03', 0, 0, 0, 0, null],
    ]);
    expect(now.openRuns).toBe(0);
  });

  it('count attempts and other child runs apart from runs, and what they cost as the cost of the run above them', async () => {
    const below = (runId: string) => ({ parent: { runId, key: `${runId}/4/feature-1`, depth: 1 } });
    const begin = { createdAt: '2026-03-05T00:00:00.000Z' };
    const cost = (usd: number) => calls('2026-03-05T01:00Z', 'planning', 'a:x', usd);
    const ended = (type: string, payload: JsonObject = {}): Told => ['2026-03-05T02:00Z', type, payload];
    await tell(store, 'all', { ...begin, workflow: { name: 'full-auto', version: 1 } }, [
      ...cost(1),
      ['2026-03-07T00:00Z', 'RUN_COMPLETED', {}],
    ]);
    await tell(store, 'given-up', { ...begin, ...below('all') }, [
      ...cost(2),
      ended('RUN_CANCELLED', { by: 'server', cause: '1 of 4 tests failed' }),
    ]);
    await tell(store, 'cancelled', { ...begin, ...below('all') }, [ended('RUN_CANCELLED', { by: 'ada' })]);
    await tell(store, 'passes', { ...begin, ...below('all') }, [...cost(4), ended('RUN_COMPLETED')]);
    await tell(store, 'below', { ...begin, ...below('passes') }, [...cost(8), ended('RUN_COMPLETED')]);
    const runs = { completed: 1, failed: 0, cancelled: 0, successRate: 1 };
    const costPerRun = { runs: 1, meanUsd: 15, medianUsd: 15 };
    const { total } = await metrics({ from: '2026-03-05' });
    expect(total).toMatchObject({ ...runs, started: 1, costPerRun, spending: { costUsd: 15 } });
    expect(total.childRuns).toEqual({ started: 4, completed: 2, failed: 1, cancelled: 1 });
    const { total: own } = await metrics({ from: '2026-03-05', workflow: 'full-auto' });
    expect(own).toMatchObject({ ...runs, started: 1, costPerRun, spending: { costUsd: 1 }, childRuns: { started: 0 } });
    // Child runs of another workflow, which ended before the range.
    const later = await metrics({ from: '2026-03-06', workflow: 'full-auto' });
    expect(later.total).toMatchObject({ ...runs, started: 0, costPerRun, spending: { costUsd: 0 } });
    expect(later.total.childRuns).toEqual({ started: 0, completed: 0, failed: 0, cancelled: 0 });
  });

  it('have rates, middles and ninths of ten as they are computed by hand', async () => {
    // Ten that take 1 to 10 hours and cost as many dollars, one that failed for $5, one that was cancelled for nothing.
    for (let hours = 1; hours <= 10; hours += 1) {
      await tell(store, `r-${hours}`, { createdAt: '2026-03-05T00:00:00.000Z' }, [
        ...calls('2026-03-05T00:30Z', 'planning', 'a:x', hours),
        [`2026-03-05T${String(hours).padStart(2, '0')}:00Z`, 'RUN_COMPLETED', {}],
      ]);
    }
    await tell(store, 'failed', { createdAt: '2026-03-05T00:00:00.000Z' }, [
      ...calls('2026-03-05T00:30Z', 'planning', 'a:x', 5),
      ['2026-03-05T20:00Z', 'RUN_FAILED', { message: 'x' }],
    ]);
    await tell(store, 'cancelled', { createdAt: '2026-03-05T00:00:00.000Z' }, [
      ['2026-03-05T21:00Z', 'RUN_CANCELLED', { by: 'ada' }],
    ]);
    const { total } = await metrics();
    expect(total).toMatchObject({ started: 12, completed: 10, failed: 1, cancelled: 1, closed: 0 });
    expect(total.successRate).toBeCloseTo(10 / 12);
    expect(total.timeToCompletion).toEqual({
      count: 10,
      medianMs: 5.5 * HOUR_MS,
      p90Ms: 9 * HOUR_MS,
      totalMs: 55 * HOUR_MS,
    });
    // 0, 1, 2, 3, 4, 5, 5, 6, …: 60 dollars by 12 runs.
    expect(total.costPerRun).toEqual({ runs: 12, meanUsd: 5, medianUsd: 5 });
  });

  it('count what open runs spend and where they stand', async () => {
    await tell(store, 'old', { createdAt: '2026-01-01T00:00:00.000Z' }, [opens('2026-01-01T01:00Z', 'plan')]);
    await tell(store, 'new', { createdAt: '2026-03-09T00:00:00.000Z' }, [
      ...calls('2026-03-09T01:00Z', 'planning', 'a:x', 0.1),
      ...calls('2026-03-09T02:00Z', 'planning', 'a:x', 0.2),
      ...calls('2026-03-09T03:00Z', 'planning', 'local:y', null),
      ...calls('2026-03-09T04:00Z', 'planning', 'a:x', 7).slice(0, 1),
      opens('2026-03-09T05:00Z', 'plan'),
    ]);
    await tell(store, 'queued', { createdAt: '2026-03-09T00:00:00.000Z' }, []);
    const { total, now } = await metrics();
    expect(now).toEqual({ openRuns: 3, waiting: [{ gate: 'plan', runs: 2, since: '2026-01-01T01:00:00.000Z' }] });
    // The last call is booked for $9, and nobody knows yet what it came to.
    expect(total.spending).toMatchObject({ costUsd: 9.3, calls: 4, unpricedCalls: 1 });
    expect(total).toMatchObject({ started: 2, costPerRun: null, successRate: null, waiting: [] });
  });

  it('are those of one project where one is named', async () => {
    await tell(store, 'a', { projectId: 'p-1', createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    await tell(store, 'b', { projectId: 'p-2', createdAt: '2026-03-03T10:00:00.000Z' }, buildOn('03', '04'));
    expect((await metrics()).total.completed).toBe(2);
    const { total, parts } = await metrics({ projectId: 'p-2' });
    expect(total).toMatchObject({ started: 1, completed: 1, spending: { costUsd: 3 } });
    expect(parts.find(({ started }) => started > 0)?.from).toBe('2026-03-03');
    expect((await metrics({ projectId: 'p-3' })).total.started).toBe(0);
  });

  it('begin days by the clock of the time zone', async () => {
    // Half past eleven at night in London is the next day in Berlin and still the afternoon before in Los Angeles.
    await tell(store, 'r', { createdAt: '2026-03-04T23:30:00.000Z' }, [['2026-03-04T23:40Z', 'RUN_COMPLETED', {}]]);
    const dayIn = async (timeZone: string) =>
      (await metrics({ from: '2026-03-01', to: '2026-03-08', timeZone })).parts.find(({ started }) => started > 0)
        ?.from;
    expect(await dayIn('UTC')).toBe('2026-03-04');
    expect(await dayIn('Europe/Berlin')).toBe('2026-03-05');
    expect(await dayIn('America/Los_Angeles')).toBe('2026-03-04');
    expect((await metrics({ from: '2026-03-05', to: '2026-03-05', timeZone: 'Europe/Berlin' })).total.completed).toBe(
      1,
    );
    expect((await metrics({ from: '2026-03-05', to: '2026-03-05' })).total.completed).toBe(0);
    // Noon of the 10th in London is the 11th on Kiritimati.
    expect((await metrics({ timeZone: 'Pacific/Kiritimati' })).to).toBe('2026-03-11');
  });

  it('count what happens at midnight on the day that begins', async () => {
    await tell(store, 'r', { createdAt: '2026-03-04T00:00:00.000Z' }, [
      ...calls('2026-03-05T00:00Z', 'planning', 'a:x', 1),
      opens('2026-03-05T01:00Z', 'plan'),
      ['2026-03-06T00:00Z', 'APPROVAL_GRANTED', { by: 'ada' }],
      ['2026-03-07T00:00Z', 'RUN_COMPLETED', {}],
    ]);
    const { parts, total } = await metrics({ from: '2026-03-04', to: '2026-03-07' });
    expect(
      parts.map(({ started, completed, spending, waiting }) => [started, spending.calls, waiting.length, completed]),
    ).toEqual([
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
    ]);
    expect(total).toMatchObject({ started: 1, completed: 1 });
    // What is before the range or after it is in none of its parts.
    expect((await metrics({ from: '2026-03-05', to: '2026-03-06' })).total).toMatchObject({ started: 0, completed: 0 });
  });

  it('sum up by week', async () => {
    await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    await tell(store, 'b', { createdAt: '2026-03-03T10:00:00.000Z' }, buildOn('03', '04'));
    const { parts } = await metrics({ from: '2026-02-27', to: '2026-03-10', bucket: 'week' });
    expect(
      parts.map(({ from, to, started, completed, spending }) => [from, to, started, completed, spending.costUsd]),
    ).toEqual([
      ['2026-02-27', '2026-03-01', 1, 0, 1],
      ['2026-03-02', '2026-03-08', 1, 2, 5],
      ['2026-03-09', '2026-03-10', 0, 0, 0],
    ]);
  });

  it('leave to the source what a fork has of it', async () => {
    const told = buildOn('01', '02');
    await tell(store, 'source', { createdAt: '2026-03-01T10:00:00.000Z' }, told);
    const forked: Told = [
      '2026-03-05T10:00Z',
      'RUN_FORKED',
      { from: 'source', at: 6, by: 'ada', branch: 'b', waitedMs: 0 },
    ];
    await tell(store, 'fork', { createdAt: '2026-03-01T10:00:00.000Z' }, [
      ...told.slice(0, 5),
      forked,
      ...calls('2026-03-05T11:00Z', 'implementation', 'b:coder', 0.5),
      ['2026-03-05T12:00Z', 'RUN_COMPLETED', {}],
    ]);
    const { total, parts } = await metrics();
    expect(total).toMatchObject({
      completed: 2,
      spending: { costUsd: 3.5, calls: 3 },
      waiting: [{ gate: 'plan', count: 1 }],
      costPerRun: { runs: 2, meanUsd: 1.75, medianUsd: 1.75 },
    });
    expect(parts.find(({ from }) => from === '2026-03-05')).toMatchObject({ spending: { costUsd: 0.5 } });
  });

  it('take a variant that was closed for another one as neither success nor failure', async () => {
    const createdAt = '2026-03-05T10:00:00.000Z';
    const end = (type: string): Told => ['2026-03-05T12:00Z', type, { by: 'ada' }];
    await tell(store, 'won', { createdAt, explorationId: 'x-1' }, [end('RUN_COMPLETED')]);
    await tell(store, 'lost', { createdAt, explorationId: 'x-1' }, [end('RUN_CANCELLED')]);
    await tell(store, 'none', { createdAt, explorationId: 'x-2' }, [end('RUN_CANCELLED')]);
    expect((await metrics()).total).toMatchObject({ completed: 1, cancelled: 1, closed: 1, successRate: 0.5 });
  });

  it('are the same of archived runs, after a restart, and where what was summarised is lost', async () => {
    await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    await tell(store, 'b', { createdAt: '2026-03-03T10:00:00.000Z' }, buildOn('03', '04'));
    const before = await metrics();
    expect(await store.archive('2026-03-09T00:00:00.000Z', 10)).toBe(2);
    expect(await metrics()).toEqual(before);
    await reopen();
    expect(await metrics()).toEqual(before);
    await reopen((connection) => connection.exec('DELETE FROM run_summaries'));
    expect(await metrics()).toEqual(before);
    await reopen((connection) => connection.exec(`UPDATE run_summaries SET summary = replace(summary, '1', '2')`));
    expect(await metrics()).toEqual(before);
    await reopen((connection) => connection.exec('UPDATE run_summaries SET version = 0, sequence = 1'));
    expect(await metrics()).toEqual(before);
  });

  it('read of a run only what came since they were asked for', async () => {
    const told = buildOn('01', '02');
    await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, told);
    await metrics();
    // What is summarised is not read again: these events could not be.
    await reopen((connection) => {
      expect(connection.prepare('SELECT sequence FROM run_summaries').pluck().get()).toBe(told.length + 1);
      connection.exec(`UPDATE workflow_steps SET events = replace(events, 'a:planner', 'z:planner')`);
    });
    expect((await metrics()).total.models.map(({ model }) => model)).toEqual(['b:coder', 'a:planner']);
  });

  it('go on where a run does, also one that had ended', async () => {
    const view = await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, [
      opens('2026-03-01T11:00Z', 'plan'),
      ['2026-03-01T12:00Z', 'RUN_CANCELLED', { by: 'ada' }],
    ]);
    expect((await metrics()).total).toMatchObject({ cancelled: 1, waiting: [{ totalMs: HOUR_MS }] });
    const { completedAt: _end, ...open } = view;
    await store.append(
      aStep('a', {
        expectedSequence: view.lastSequence,
        view: {
          ...open,
          status: 'running',
          updatedAt: '2026-03-01T13:00:00.000Z',
          lastSequence: view.lastSequence + 1,
        },
      }),
    );
    expect(await metrics()).toMatchObject({
      total: { cancelled: 0, waiting: [{ totalMs: HOUR_MS }] },
      now: { openRuns: 1 },
    });
  });

  it('are those of the runs that are left where one was taken out of the file', async () => {
    await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    await tell(store, 'b', { createdAt: '2026-03-03T10:00:00.000Z' }, buildOn('03', '04'));
    expect((await metrics()).total.completed).toBe(2);
    await reopen((connection) => {
      connection.exec(`PRAGMA foreign_keys = on;
        DELETE FROM workflow_steps WHERE run = (SELECT number FROM workflow_runs WHERE id = 'a');
        DELETE FROM workflow_runs WHERE id = 'a'`);
      expect(connection.prepare('SELECT count(*) FROM run_summaries').pluck().get()).toBe(1);
    });
    expect((await metrics()).total).toMatchObject({ started: 1, completed: 1, spending: { costUsd: 3 } });
  });

  it('have of a damaged run what can be read, and all of the others', async () => {
    await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    await tell(store, 'b', { createdAt: '2026-03-03T10:00:00.000Z' }, buildOn('03', '04'));
    await reopen((connection) =>
      connection.exec(
        `UPDATE workflow_steps SET events = 'x' WHERE events LIKE '%SETTLED%' AND run = 1 AND events LIKE '%a:planner%'`,
      ),
    );
    // The call is booked, and what it came to is lost: it counts at the most.
    expect((await metrics()).total).toMatchObject({ completed: 2, spending: { costUsd: 14, calls: 4 } });
    await store.archive('2026-03-09T00:00:00.000Z', 10);
    await reopen((connection) => connection.exec(`DELETE FROM run_summaries; UPDATE archived_steps SET steps = x'00'`));
    expect((await metrics()).total).toMatchObject({ started: 2, completed: 2, timeToCompletion: { count: 2 } });
  });

  it('are those of one workflow where it is named, and of each in which something happened', async () => {
    const own = { name: 'essay', version: 1 };
    await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    await tell(store, 'b', { createdAt: '2026-03-02T10:00:00.000Z' }, buildOn('02', '03'));
    const failed: Told = ['2026-03-03T10:30Z', 'RUN_FAILED', { message: 'No.' }];
    const spent = calls('2026-03-03T10:05Z', 'drafting', 'a:author', 4);
    await tell(store, 'c', { createdAt: '2026-03-03T10:00:00.000Z', workflow: own }, [...spent, failed]);
    const all = await metrics();
    expect(all.workflows).toMatchObject([
      { workflow: 'build', started: 2, completed: 2, failed: 0, spending: { costUsd: 6 } },
      { workflow: 'essay', started: 1, completed: 0, failed: 1, spending: { costUsd: 4 } },
    ]);
    expect(all.total).toMatchObject({ started: 3, spending: { costUsd: 10 } });
    const { total, workflows } = await metrics({ workflow: 'essay' });
    expect(total).toMatchObject({ started: 1, failed: 1, stages: [{ stage: 'drafting', costUsd: 4 }] });
    expect(workflows).toEqual([{ workflow: 'essay', ...total }]);
    expect((await metrics({ workflow: 'poem' })).workflows).toEqual([]);
    expect((await metrics({ from: '2026-03-03' })).workflows.map(({ workflow }) => workflow)).toEqual([
      'essay',
      'build',
    ]);
    expect((await metrics({ from: '2026-03-09' })).workflows).toEqual([]);
  });

  it('forget what an event said that was erased', async () => {
    await tell(store, 'a', { createdAt: '2026-03-01T10:00:00.000Z' }, buildOn('01', '02'));
    await metrics();
    for (const sequence of [3, 4]) await store.erase('a', sequence);
    expect((await metrics()).total.models.map(({ model }) => model)).toEqual(['b:coder']);
  });

  it.each<[MetricsQuery, string]>([
    [{ timeZone: 'Mars/Olympus' }, 'timeZone'],
    [{ from: '2026-03-02', to: '2026-03-01' }, 'from'],
    [{ from: '2024-01-01' }, 'from'],
    // From before the default range's end.
    [{ from: '2026-03-11' }, 'from'],
  ])('are refused for %j', (query, path) => {
    expect(() => metricsRange(query, NOW)).toThrow(InvalidRequest);
    expect(() => metricsRange(query, NOW)).toThrow(path);
  });
});
