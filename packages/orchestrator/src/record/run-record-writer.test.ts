/** The recorder with a real database and a real remote: what it finds at its start, and what it does without one. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NeedsHuman, RetryableFailure, Unavailable, type WorkflowEvent } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStart, aStep, aView, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { tell } from '../event-store/sqlite/stored-run.fixture.ts';
import { type Fixture, git, makeBareRemote, openFixture } from '../repository/git-fixture.fixture.ts';
import { redactLines } from '../secrets/record-redaction.ts';
import { readEventLog } from '../documents/event-log.ts';
import { runContextSchema } from '../documents/record-schemas.ts';
import { readContext } from '../documents/run-context.ts';
import { sha256 } from '../event-store/hash-chain.ts';
import { systemClock } from '../engine/clock.ts';
import { ManualClock } from '../engine/engine.fixture.ts';
import { findFaults } from './record-check.ts';
import { RunRecordWriter, type RecorderOptions } from './run-record-writer.ts';
import { Transcripts } from '../engine/transcripts.ts';

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
    new RunRecordWriter({
      store,
      repository: fixture.repository,
      transcripts: new Transcripts(path.join(root, 'transcripts')),
      clock: systemClock,
      log: pino({ level: 'silent' }),
      scrub: (text) => text,
      serverId: 's-1',
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
    recorder.receive({ events: await complete('r-2'), view: aView('r-2') });
    await recorder.settled();
    await recorder.start();
    await recorder.settled();
    expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl', '.autonomous/runs/r-2/events.jsonl']);
    await recorder.stop();
  });

  it('records a run as soon as it waits for a run slot, and knows where each run can be found', async () => {
    const noProject = { id: 'r-0', projectId: '' };
    const away = `${fixture.remote}.away`;
    const recorder = aRecorder();
    await recorder.start();
    renameSync(fixture.remote, away);
    const queued = await store.append(aStep('r-1', { events: [anEvent('RUN_QUEUED')] }));
    const view = aView('r-1', { status: 'queued' });
    recorder.receive({ events: queued, view });
    expect([await recorder.placeOf(view), await recorder.placeOf(noProject)]).toEqual(['pending', 'server']);
    await recorder.settled();
    expect(await recorder.placeOf(view)).toBe('pending');
    await recorder.stop();

    const next = aRecorder();
    expect(await next.placeOf(view)).toBe('pending');
    await next.start();
    expect(await next.placeOf(view)).toBe('pending');
    renameSync(away, fixture.remote);
    await next.settled();
    expect([await next.placeOf(view), recorded()]).toEqual(['remote', ['.autonomous/runs/r-1/events.jsonl']]);
    const other = await store.append(aStep('r-2', { events: [anEvent('RUN_QUEUED')] }));
    next.receive({ events: other, view: aView('r-2', { status: 'queued' }) });
    await vi.waitFor(async () => expect(await next.placeOf({ id: 'r-2', projectId: 'p-1' })).toBe('remote'), 60_000);
    expect(recorded()).toContain('.autonomous/runs/r-2/events.jsonl');
    await next.stop();
    expect(await aRecorder({ isInMirrorOnly: () => true }).placeOf(view)).toBe('server');
  });

  it('records what a call came to that is told after the end of its run', async () => {
    const recorder = aRecorder();
    await recorder.start();
    const view = aView('r-1', { status: 'completed', completedAt: NOON });
    recorder.receive({ events: await complete('r-1'), view });
    await vi.waitFor(() => expect(recorded()).toHaveLength(1), 60_000);
    const most = { inputTokens: 1, outputTokens: 1, costUsd: 1 };
    const call = { call: 'r-1/1/x#1.1', stage: null, role: 'planner', model: 'x:y', booked: most, toolCalls: 0 };
    const late = aStep('r-1', { expectedSequence: 2, events: [anEvent('CALL_SETTLED', { ...call, ...most })] });
    recorder.receive({ events: await store.append(late), view });
    const log = (): string => git(fixture.remote, 'show', 'autonomous/record:.autonomous/runs/r-1/events.jsonl');
    await vi.waitFor(() => expect(log()).toContain('CALL_SETTLED'), 60_000);
    await recorder.stop();
  });

  it('records again what it could not push, also when it has been started anew', async () => {
    const away = `${fixture.remote}.away`;
    const recorder = aRecorder();
    await recorder.start();
    renameSync(fixture.remote, away);
    recorder.receive({ events: await complete('r-1'), view: aView('r-1') });
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
      recorder.receive({ events: await complete(runId), view: aView(runId) });
      await vi.waitFor(() => expect(recorded()).toContain(`.autonomous/runs/${runId}/events.jsonl`), 120_000);
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

  it('records the other runs where a run of others has facts that nobody can show', async () => {
    const fact = anEvent('EVIDENCE_RECORDED', { mode: 'as_is', passed: true, commands: null });
    const view = aView('r-1', { projectId: 'p-1' });
    await store.append(aStep('r-1', { events: [aStart(view), fact], view: { projectId: 'p-1' } }));
    await complete('r-2');
    const recorder = aRecorder();
    await recorder.start();
    await recorder.settled();
    expect(recorded()).toEqual(['.autonomous/runs/r-2/events.jsonl']);
    await recorder.stop();
  });

  it('gives each line the links of its step, and names what it wrote', async () => {
    await complete('r-1');
    const recorder = aRecorder();
    await recorder.start();
    await recorder.settled();
    const show = (name: string): string =>
      git(fixture.remote, 'show', `autonomous/record:.autonomous/runs/r-1/${name}`);
    const [step] = await store.readSteps('r-1');
    const read = readEventLog(`${show('events.jsonl')}\n`, 'r-1');
    if (!read.ok) throw new Error(read.message);
    expect(read.lines.map(({ payloadHash, step: links }) => ({ payloadHash, step: links }))).toEqual(
      step?.payloadHashes.map((payloadHash) => ({ payloadHash, step: { first: 1, last: 2, hash: step.hash } })),
    );
    expect(read.lines.every(({ payload, payloadHash }) => sha256(JSON.stringify(payload)) === payloadHash)).toBe(true);
    const context = JSON.parse(show('context.json'));
    expect(runContextSchema.parse(context)).toEqual(context);
    expect(context.tip).toMatchObject({ hash: step?.hash, log: sha256(`${show('events.jsonl')}\n`) });
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
    recorder.receive({ events: await complete('r-2'), view: aView('r-2') });
    await recorder.settled();
    expect(git(fixture.remote, 'branch', '--list', 'autonomous/record')).toBe('');
    isReadable = true;
    clock.advance(60_000);
    await vi.waitFor(async () => {
      await recorder.settled();
      expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl', '.autonomous/runs/r-2/events.jsonl']);
    });
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
    expect(recorder.noticesOf('p-1')).toEqual([
      expect.stringMatching(
        /^The record of its runs is not on the remote \(.* refuses a push to autonomous\/record: .*Allow it there\. Or push it .*\); .* list the project in RECORD_IN_MIRROR_ONLY/,
      ),
    ]);
    expect(recorder.noticesOf('p-2')).toEqual([]);

    rmSync(path.join(fixture.remote, 'hooks'), { recursive: true });
    await recorder.settled();
    expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl']);
    expect(recorder.noticesOf('p-1')).toEqual([]);
    await recorder.stop();
  });

  it.each([
    [
      new RetryableFailure('The process that starts git ended (SIGKILL). The next command starts it again: retry'),
      'The process that starts git ended (SIGKILL). The next command starts it again',
    ],
    [
      new NeedsHuman('storage_full', 'The disk is full. Free some space, then retry'),
      'The disk is full. Free some space',
    ],
    [
      new NeedsHuman('remote_unavailable', '/r did not answer for minutes; is the network up? Retry when it answers'),
      '/r did not answer for minutes',
    ],
  ])('advises neither a retry nor a setting for %j, and says nothing once it is written', async (error, told) => {
    let isBroken = true;
    const repository = {
      ...fixture.repository,
      record: (...given: Parameters<typeof fixture.repository.record>) =>
        isBroken ? Promise.reject(error) : fixture.repository.record(...given),
    };
    await complete('r-1');
    const recorder = aRecorder({ repository });
    await recorder.start();
    await recorder.settled();
    expect(recorder.noticesOf('p-1')).toEqual([
      `The record of its runs is not on the remote: ${told}. Runs go on, and their record is written again every minute; until then only this server has it.`,
    ]);
    isBroken = false;
    await recorder.settled();
    expect(recorder.noticesOf('p-1')).toEqual([]);
    await recorder.stop();
  });

  it('names a lock or a full disk of the remote without advising a setting', async () => {
    await complete('r-1');
    const lock = path.join(fixture.remote, 'refs/heads/autonomous/record.lock');
    mkdirSync(path.dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    const recorder = aRecorder();
    await recorder.start();
    await recorder.settled();
    const [notice] = recorder.noticesOf('p-1');
    expect(notice).toMatch(/ is locked, .* has left .*record\.lock, .*Remove that file if none does\. Runs go on/);
    expect(notice).not.toContain('RECORD_IN_MIRROR_ONLY');
    rmSync(lock);
    await recorder.settled();
    expect(recorder.noticesOf('p-1')).toEqual([]);
    await recorder.stop();
  });

  it('keeps the record of a project in the mirror where the configuration says so, and pushes all of it when that ends', async () => {
    mkdirSync(path.join(fixture.remote, 'hooks'));
    writeFileSync(path.join(fixture.remote, 'hooks', 'pre-receive'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    await complete('r-1');
    const recorder = aRecorder({ isInMirrorOnly: ({ name }) => name === 'shop' });
    await recorder.start();
    await recorder.settled();
    expect(recorder.noticesOf('p-1')).toEqual([]);
    expect(await fixture.repository.fetchRecord(fixture.project)).toBeNull();
    expect(recorded(fixture.gitDir)).toEqual(['.autonomous/runs/r-1/events.jsonl']);
    await recorder.stop();
    // It is where it belongs: the next start has nothing to do again.
    expect(Number(await store.getMark('recorded-position'))).toBeGreaterThan(0);

    rmSync(path.join(fixture.remote, 'hooks'), { recursive: true });
    const next = aRecorder();
    await next.start();
    next.receive({ events: await complete('r-2'), view: aView('r-2') });
    await next.stop();
    expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl', '.autonomous/runs/r-2/events.jsonl']);
  });

  describe('before a run waits', () => {
    const UPLOAD = sha256('<svg/>');
    const begun = (runId: string) => store.append(aStep(runId, { events: [anEvent('RUN_STARTED')] }));

    it('has what the run names on the remote when it resolves, also what no event names yet', async () => {
      await begun('r-1');
      const logs: string[] = [];
      const recorder = aRecorder({
        objectsOf: async (_project, _view, log) => {
          logs.push(log);
          return git(fixture.remote, 'rev-parse', 'main');
        },
        contentOf: async () => new TextEncoder().encode('<svg/>'),
      });
      await fixture.repository.fetch(fixture.project);
      await recorder.start();
      await recorder.beforeWait('r-1', {
        output: { commit: 'c'.repeat(40) },
        uploads: [{ id: UPLOAD, name: 'a.svg' }],
      });
      expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl']);
      expect(git(fixture.remote, 'show', `autonomous/record:.autonomous/runs/r-1/files/${UPLOAD}`)).toBe('<svg/>');
      expect(git(fixture.remote, 'rev-list', 'autonomous/record')).toContain(git(fixture.remote, 'rev-parse', 'main'));
      expect(logs.at(-1)).toContain('c'.repeat(40));
      expect(recorder.noticesOf('p-1')).toEqual([]);
      await recorder.stop();
    });

    it('waits ten seconds for a remote that hangs, then says that the record lags behind until it is there', async () => {
      const [hooks, released] = [path.join(fixture.remote, 'hooks'), path.join(root, 'released')];
      mkdirSync(hooks);
      const hook = `#!/bin/sh\ntouch ${root}/asked\nwhile [ ! -e ${released} ]; do sleep 0.05; done\n`;
      writeFileSync(path.join(hooks, 'pre-receive'), hook, { mode: 0o755 });
      await begun('r-1');
      const clock = new ManualClock();
      const recorder = aRecorder({ clock });
      await recorder.start();
      const waits = recorder.beforeWait('r-1', {});
      await vi.waitFor(() => {
        clock.advance(1);
        expect(existsSync(path.join(root, 'asked'))).toBe(true);
      });
      expect(recorder.noticesOf('p-1')).toEqual([]);
      clock.advance(10_000);
      await waits;
      expect(recorder.noticesOf('p-1')).toEqual([expect.stringMatching(/^The record of its runs .* lags behind: /)]);
      writeFileSync(released, '');
      await recorder.settled();
      expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl']);
      expect(recorder.noticesOf('p-1')).toEqual([]);
      await recorder.stop();
    });

    it('is held up no longer than by the first attempt where the remote is away', async () => {
      const away = `${fixture.remote}.away`;
      renameSync(fixture.remote, away);
      await begun('r-1');
      // Its clock stands still: nothing but the answer of the attempt ends the wait.
      const clock = new ManualClock();
      const recorder = aRecorder({ clock });
      await recorder.start();
      const first = recorder.beforeWait('r-1', {});
      clock.advance(0);
      await first;
      expect(recorder.noticesOf('p-1')).toEqual([
        `The record of its runs is not on the remote: The folder ${fixture.remote} is not there: put it back. Runs go on, and their record is written again every minute; until then only this server has it.`,
      ]);
      await recorder.beforeWait('r-1', {});
      renameSync(away, fixture.remote);
      clock.advance(60_000);
      await vi.waitFor(() => expect(recorder.noticesOf('p-1')).toEqual([]), 120_000);
      expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl']);
      await recorder.stop();
    });

    it('holds up neither a run whose project is recorded in the mirror alone, nor one at the stop', async () => {
      await begun('r-1');
      const alone = aRecorder({ clock: new ManualClock(), isInMirrorOnly: () => true });
      await alone.start();
      await alone.beforeWait('r-1', {});
      await alone.stop();
      await begun('r-2');
      const recorder = aRecorder({ clock: new ManualClock() });
      await recorder.start();
      const waits = recorder.beforeWait('r-2', {});
      await recorder.stop();
      await waits;
      expect(recorded()).toEqual(['.autonomous/runs/r-1/events.jsonl', '.autonomous/runs/r-2/events.jsonl']);
    });
  });

  describe('with secrets in what it records', () => {
    const CLIENT = ['GOCSPX', 'aB3dE5fG7hI9jK1lM3nO5pQ7'].join('-');
    const WORD = 'hunter2Zx9Qk81Lm';
    const told = (runId: string, text: string) => ({
      runId,
      activity: 'work',
      kind: 'output' as const,
      text,
      at: NOON,
    });
    const fileOf = (runId: string, name: string): string =>
      git(fixture.remote, 'show', `autonomous/record:.autonomous/runs/${runId}/${name}`);

    it('pushes marks in their place, in the transcript, the events and the context, and names the true tip', async () => {
      const transcripts = new Transcripts(path.join(root, 'transcripts'));
      transcripts.add(told('r-1', `cat .env\nDB_PASSWORD=${WORD}\n${CLIENT}`));
      const tipHash = async () => (await store.tipOf('r-1'))?.hash ?? '';
      await tell(store, 'r-1', { createdAt: NOON, originalRequest: `use ${CLIENT}, not ${WORD}` }, [
        [NOON, 'RUN_COMPLETED'],
      ]);
      // One who writes of the tip as of a secret must not part the record from its database.
      transcripts.add(told('r-1', `A_TOKEN=${await tipHash()}`));
      const recorder = aRecorder({ transcripts });
      await recorder.start();
      await recorder.settled();
      for (const name of ['transcript.jsonl', 'events.jsonl', 'context.json']) {
        expect(fileOf('r-1', name), name).toContain('[secret: ');
        expect(fileOf('r-1', name), name).not.toContain(CLIENT);
        expect(fileOf('r-1', name), name).not.toContain(WORD);
      }
      expect(readContext(fileOf('r-1', 'context.json'))).toMatchObject({ tip: { sequence: 2, hash: await tipHash() } });
      expect((await findFaults(store, fixture.repository, fixture.project, ['r-1'])).size).toBe(0);
      await recorder.stop();
    });

    it('knows the secrets for which the run was stopped, also in other dress', async () => {
      const transcripts = new Transcripts(path.join(root, 'transcripts'));
      transcripts.add(told('r-1', Buffer.from(`the word: ${WORD}`).toString('base64')));
      const paused = anEvent('RUN_PAUSED', { reason: 'secret_found' });
      await store.append(aStep('r-1', { events: [anEvent('RUN_STARTED'), paused] }));
      let asked = 0;
      const recorder = aRecorder({ transcripts, committedSecrets: async () => ((asked += 1), [WORD]) });
      await recorder.start();
      await recorder.settled();
      const cancelled = { events: [anEvent('RUN_CANCELLED')], expectedSequence: 2 };
      recorder.receive({ events: await store.append(aStep('r-1', cancelled)), view: aView('r-1') });
      await recorder.settled();
      expect(fileOf('r-1', 'events.jsonl')).toContain('RUN_CANCELLED');
      expect(fileOf('r-1', 'transcript.jsonl')).toContain('[secret: found elsewhere]');
      expect(asked).toBe(1);
      await recorder.stop();
    });

    it('pushes a record whose lines could not be looked through without them, and with them when they could', async () => {
      const transcripts = new Transcripts(path.join(root, 'transcripts'));
      transcripts.add(told('r-1', `plain, and ${CLIENT}`));
      await complete('r-1');
      const clock = new ManualClock();
      let isAway = true;
      const recorder = aRecorder({
        transcripts,
        clock,
        look: async (task) =>
          isAway ? { ok: false, why: 'took too long' } : { ok: true, value: await redactLines(task) },
      });
      await recorder.start();
      await recorder.settled();
      expect(fileOf('r-1', 'transcript.jsonl')).toContain('leftOut');
      expect(fileOf('r-1', 'transcript.jsonl')).not.toContain('plain');
      expect(readContext(fileOf('r-1', 'context.json'))).toMatchObject({ tip: { sequence: 2 } });
      isAway = false;
      clock.advance(60_000);
      await vi.waitFor(() => expect(fileOf('r-1', 'transcript.jsonl')).toContain('plain, and [secret: '), 120_000);
      await recorder.stop();
    });
  });
});
