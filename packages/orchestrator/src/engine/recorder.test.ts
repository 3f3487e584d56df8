/** The recorder with a real database and a real remote: what it finds at its start, and what it does without one. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Unavailable, type WorkflowEvent } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite-event-store.ts';
import { anEvent, aStep, aView, NOON } from '../event-store/steps.fixture.ts';
import { type Fixture, git, makeBareRemote, openFixture } from '../repository/git-fixture.fixture.ts';
import { systemClock } from './clock.ts';
import { ManualClock } from './engine.fixture.ts';
import { Recorder, type RecorderOptions } from './recorder.ts';
import { Transcripts } from './transcripts.ts';

describe('the recorder', () => {
  let root: string;
  let store: SqliteEventStore;
  let fixture: Fixture;
  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'recorder-'));
    fixture = await openFixture(root);
    store = openSqliteEventStore({ file: path.join(root, 'test.db') });
    await store.saveProject({ ...fixture.project, name: 'shop', createdAt: NOON });
  });
  afterEach(async () => {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });

  const aRecorder = (given: Partial<RecorderOptions> = {}) =>
    new Recorder({
      store,
      repository: fixture.repository,
      transcripts: new Transcripts(path.join(root, 'transcripts')),
      clock: systemClock,
      log: pino({ level: 'silent' }),
      scrub: (text) => text,
      ...given,
    });
  const complete = (runId: string, projectId = 'p-1'): Promise<readonly WorkflowEvent[]> =>
    store.append(aStep(runId, { events: [anEvent('RUN_STARTED'), anEvent('RUN_COMPLETED')], view: { projectId } }));
  const recorded = (remote = fixture.remote): string[] =>
    git(remote, 'ls-tree', '-r', '--name-only', 'autonomous/record')
      .split('\n')
      .filter((file) => file.endsWith('events.jsonl'));

  it('records at its start what came before, also when it has heard of something newer by then', async () => {
    await complete('r-1');
    const recorder = aRecorder();
    recorder.hear({ events: await complete('r-2'), view: aView('r-2') });
    await recorder.settled();
    await recorder.start();
    await recorder.settled();
    expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl', '.autonomous/runs/r-2/events.jsonl']);
    await recorder.stop();
  });

  it('records again what it could not push, also when it has been started anew', async () => {
    const away = `${fixture.remote}.away`;
    const recorder = aRecorder();
    await recorder.start();
    renameSync(fixture.remote, away);
    recorder.hear({ events: await complete('r-1'), view: aView('r-1') });
    await recorder.stop();
    renameSync(away, fixture.remote);

    const next = aRecorder();
    await next.start();
    await next.settled();
    expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl']);
    await next.stop();
  });

  it('records a project while the remote of another does not answer, and stops all the same', async () => {
    const sockets: Socket[] = [];
    const asked = Promise.withResolvers<void>();
    const silent = createServer((socket) => {
      socket.on('error', () => {});
      sockets.push(socket);
      asked.resolve();
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const repository = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/silent.git`;
    await store.saveProject({ ...fixture.project, id: 'p-2', repository, name: 'silent', createdAt: NOON });
    await complete('r-1', 'p-2');
    const recorder = aRecorder();
    await recorder.start();
    await asked.promise;
    for (const runId of ['r-2', 'r-3']) {
      recorder.hear({ events: await complete(runId), view: aView(runId) });
      await vi.waitFor(() => expect(recorded()).toContain(`.autonomous/runs/${runId}/events.jsonl`), 20_000);
    }
    const before = performance.now();
    await recorder.stop();
    expect(performance.now() - before).toBeLessThan(15_000);
    // It is not forgotten: the next server records it when the remote is back.
    expect(Number((await store.getMark('recorded-position')) ?? 0)).toBe(0);
  });

  it('records the other runs where an event of one cannot be read any more', async () => {
    await complete('r-1');
    await complete('r-2');
    const damaged = new Database(path.join(root, 'test.db'));
    damaged
      .prepare("UPDATE workflow_steps SET events = replace(events, '\"RUN_STARTED', ';RUN_STARTED') WHERE run = 1")
      .run();
    damaged.close();
    const recorder = aRecorder();
    await recorder.start();
    await recorder.settled();
    expect(recorded()).toEqual(['.autonomous/runs/r-2/events.jsonl']);
    await recorder.stop();
  });

  it('lets the server start while the log cannot be read, and records what came before once it can', async () => {
    await complete('r-1');
    let isReadable = false;
    const clock = new ManualClock();
    const recorder = aRecorder({
      clock,
      store: new Proxy(store, {
        get: (target, name: keyof SqliteEventStore) => {
          const member: unknown = target[name];
          if (name === 'readAll' && !isReadable) return () => Promise.reject(new Unavailable('the disk is away'));
          return typeof member === 'function' ? (member.bind(target) as unknown) : member;
        },
      }),
    });
    await recorder.start();
    recorder.hear({ events: await complete('r-2'), view: aView('r-2') });
    await recorder.settled();
    expect(git(fixture.remote, 'branch', '--list', 'autonomous/record')).toBe('');
    isReadable = true;
    clock.advance(60_000);
    await vi.waitFor(async () => {
      await recorder.settled();
      expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl', '.autonomous/runs/r-2/events.jsonl']);
    }, 30_000);
    await recorder.stop();
  });

  it('records the runs of one project although the remote of another refuses', async () => {
    mkdirSync(path.join(fixture.remote, 'hooks'));
    writeFileSync(path.join(fixture.remote, 'hooks', 'pre-receive'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const other = makeBareRemote(path.join(root, 'other.git'));
    await store.saveProject({ id: 'p-2', name: 'other', repository: other, baseBranch: 'main', createdAt: NOON });
    await complete('r-1');
    await complete('r-2', 'p-2');
    const recorder = aRecorder();
    await recorder.start();
    await recorder.settled();
    expect(recorded(other)).toEqual(['.autonomous/runs/r-2/events.jsonl']);
    expect(git(fixture.remote, 'branch', '--list', 'autonomous/record')).toBe('');

    rmSync(path.join(fixture.remote, 'hooks'), { recursive: true });
    await recorder.settled();
    expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl']);
    await recorder.stop();
  });
});
