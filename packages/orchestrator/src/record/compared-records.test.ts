/** Records in real git that are compared with a real database: what is read of them, and what is recorded again. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRegistry } from '../core/registry.ts';
import { RECORD_FORMAT } from '../documents/record-schemas.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStep, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { type Fixture, openFixture } from '../repository/git-fixture.fixture.ts';
import type { Repository } from '../repository/repository.ts';
import { systemClock } from '../engine/clock.ts';
import { RecordComparison, type RunsToRecord } from './record-comparison.ts';
import { importNewerRuns } from './record-import.ts';
import { findDivergedRuns, listRecordedRuns, readRecordedTips } from './record-check.ts';
import { isOwnLog, isOwnTip, isSealed, requireSeals, sealsOf } from './record-seal.ts';
import { listRecord } from './recorded-projects.ts';
import { RunRecordWriter } from './run-record-writer.ts';
import { Transcripts } from '../engine/transcripts.ts';

const warned: string[] = [];
const log = pino({ level: 'warn' }, { write: (line: string) => void warned.push(line) });

describe('a record in git', () => {
  let root: string;
  let store: SqliteEventStore;
  let fixture: Fixture;
  /** Numbers of files that were read at once. */
  let read: number[];
  let repository: Repository;
  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'compared-'));
    fixture = await openFixture(root);
    store = openSqliteEventStore({ file: path.join(root, 'test.db') });
    await store.saveProject({ ...fixture.project, name: 'shop', createdAt: NOON });
    read = [];
    repository = {
      ...fixture.repository,
      readFiles: (project, treeish, paths, ...limits) => {
        read.push(paths.length);
        return fixture.repository.readFiles(project, treeish, paths, ...limits);
      },
      readBlobs: (project, oids, maxBytes) => {
        read.push(oids.length);
        return fixture.repository.readBlobs(project, oids, maxBytes);
      },
    };
  });
  afterEach(async () => {
    comparison.stop();
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });

  const pausedRun = (runId: string) =>
    store.append(aStep(runId, { events: [anEvent('RUN_STARTED'), anEvent('RUN_PAUSED')], view: { projectId: 'p-1' } }));

  /** The comparison with the record at a server's start. */
  async function start(): Promise<RunsToRecord> {
    const { promise, resolve } = Promise.withResolvers<RunsToRecord>();
    await importNewerRuns({
      store,
      repository,
      workflows: createRegistry([]),
      uploads: { get: async () => null },
      clock: systemClock,
      log,
    });
    comparison = new RecordComparison({
      store,
      repository,
      clock: systemClock,
      log,
      serverId: 's-1',
      quarantine: async (runId, message) => void quarantined.push([runId, message]),
      onKnown: (_project, again) => resolve(again),
    });
    quarantined.length = 0;
    await comparison.start();
    return promise;
  }
  let comparison: RecordComparison;
  const quarantined: [runId: string, message: string][] = [];

  async function record(runIds: readonly string[]): Promise<void> {
    await recordNotices(runIds);
  }

  /** @returns what the project's notices say of its record then */
  async function recordNotices(runIds: readonly string[]): Promise<readonly string[]> {
    const recorder = aRecorder();
    await recorder.start();
    recorder.tryAgain(runIds);
    await recorder.settled();
    await recorder.stop();
    return recorder.noticesOf('p-1');
  }

  const aRecorder = (compared?: RecordComparison): RunRecordWriter =>
    new RunRecordWriter({
      store,
      repository: fixture.repository,
      transcripts: new Transcripts(path.join(root, 'transcripts')),
      clock: systemClock,
      log,
      scrub: (text) => text,
      serverId: 's-1',
      ...(compared === undefined ? {} : { comparison: compared }),
    });

  /** Changes the contexts of runs as another writer of the branch would. */
  async function rewrite(runIds: readonly string[], change: (tip: Record<string, unknown>) => object): Promise<void> {
    const files: Record<string, string> = {};
    for (const runId of runIds) {
      const file = `.autonomous/runs/${runId}/context.json`;
      const text = await fixture.repository.readFile(fixture.project, 'autonomous/record', file);
      const context = JSON.parse(text ?? '{}') as { readonly tip: Record<string, unknown> };
      files[file] = JSON.stringify({ ...context, tip: change(context.tip) });
    }
    await fixture.repository.record(fixture.project, { files, message: 'Rewritten' });
  }

  it('that did not change is not read again at a start', async () => {
    await pausedRun('r-1');
    await pausedRun('r-2');
    await record([]);
    await start();
    expect(read.length).toBeGreaterThan(0);
    await start();
    read.length = 0;
    expect(await start()).toEqual({ behind: [], outdated: [] });
    expect(read).toEqual([]);
    await rewrite(['r-1'], ({ at: _at, ...tip }) => ({ ...tip, at: NOON }));
    await start();
    expect(read.length).toBeGreaterThan(0);
  });

  it('that a server with another database sealed is written again for runs that have not ended, once', async () => {
    await pausedRun('r-1');
    await pausedRun('r-2');
    await store.append(
      aStep('r-3', {
        events: [anEvent('RUN_STARTED'), anEvent('RUN_COMPLETED')],
        view: { projectId: 'p-1', status: 'completed' },
      }),
    );
    await record([]);
    await rewrite(['r-1', 'r-3'], (tip) => ({ ...tip, logSeal: 'f'.repeat(64) }));
    const { outdated } = await start();
    expect(outdated).toEqual(['r-1']);
    await record(outdated);
    expect((await start()).outdated).toEqual([]);
    const file = '.autonomous/runs/r-1/context.json';
    const text = await fixture.repository.readFile(fixture.project, 'autonomous/record', file);
    const { tip } = JSON.parse(text ?? '{}') as { readonly tip: Parameters<typeof isOwnLog>[3] };
    expect(await isOwnLog(store, 'p-1', 'r-1', tip)).toBe(true);
    await rewrite(['r-2'], (rest) => ({ ...rest, logSeal: 'f'.repeat(64) }));
    expect((await start()).outdated).toEqual([]);
  });

  it('that this server sealed is missed when the database lacks the run, whoever the record says wrote it', async () => {
    await pausedRun('r-1');
    await record([]);
    const tip = { sequence: 3, hash: 'a'.repeat(64), at: NOON, log: 'b'.repeat(64), server: 's-2' };
    const own = { ...tip, ...(await sealsOf(store, 'p-1', 'r-own', tip)) };
    const files = {
      '.autonomous/runs/r-own/context.json': JSON.stringify({ format: RECORD_FORMAT, tip: own }),
      '.autonomous/runs/r-other/context.json': JSON.stringify({ format: RECORD_FORMAT, tip }),
    };
    await fixture.repository.record(fixture.project, { files, message: 'Lost' });
    await start();
    expect(comparison.findings).toMatchObject([{ missingRuns: ['r-own'] }]);
  });

  it.each([
    [
      { format: RECORD_FORMAT - 1 },
      `has format ${RECORD_FORMAT - 1}, and this program reads format ${RECORD_FORMAT}. The last commit`,
    ],
    [
      {},
      `has no format number, and this program reads format ${RECORD_FORMAT}. The last commit of this program that reads it is 3b643746.`,
    ],
    [
      { format: RECORD_FORMAT + 1 },
      `has format ${RECORD_FORMAT + 1}, and this program reads format ${RECORD_FORMAT}. A newer version`,
    ],
  ])(
    'in another format, as of %j, is not imported, even with the seal of this server, and named',
    async (format, fault) => {
      const tip = { sequence: 3, hash: 'a'.repeat(64), at: NOON, log: 'b'.repeat(64), server: 's-1' };
      const own = { ...tip, ...(await sealsOf(store, 'p-1', 'r-own', tip)) };
      const files = { '.autonomous/runs/r-own/context.json': JSON.stringify({ ...format, tip: own }) };
      await fixture.repository.record(fixture.project, { files, message: 'Other' });
      warned.length = 0;
      await start();
      expect(comparison.findings).toEqual([]);
      const [notice] = comparison.noticesOf('p-1');
      expect(notice).toContain(`The record of project 'shop' in git has 1 run of another format (r-own)`);
      expect(notice).toContain(`its record ${fault}`);
      expect(warned.join()).toContain(`(r-own), not read here`);
      expect(warned.join()).toContain(`its record ${fault}`);
    },
  );

  describe('that another version wrote', () => {
    const inRemote = (file: string): string => remoteGit(['show', `autonomous/record:.autonomous/${file}`]);
    /** Gives files another format, as a server with another version would that pushes to the same remote. */
    function pushFormat(format: number | undefined, files: readonly string[]): void {
      for (const file of files) {
        const content = JSON.stringify({ ...(JSON.parse(inRemote(file)) as object), format });
        push([`100644 blob ${aBlob(content)}\t${path.basename(file)}`], `.autonomous/${path.dirname(file)}/`);
      }
    }
    const FILES = ['runs/r-1/context.json', 'runs/r-2/context.json', 'projects/p-1.json'] as const;

    it.each([RECORD_FORMAT + 1, RECORD_FORMAT - 1, undefined])(
      'in format %j is written over for no run and no project, and named with all that have it',
      async (format) => {
        await pausedRun('r-1');
        await store.append(
          aStep('r-2', {
            events: [anEvent('RUN_STARTED'), anEvent('RUN_COMPLETED')],
            view: { projectId: 'p-1', status: 'completed' },
          }),
        );
        await record([]);
        pushFormat(format, FILES);
        const theirs = FILES.map(inRemote);
        await start();
        await vi.waitFor(() => expect(comparison.noticesOf('p-1')).toHaveLength(2));
        const why = format === undefined ? 'has no format number' : `has format ${format}`;
        const [runs, project] = comparison.noticesOf('p-1');
        expect(runs).toContain(`2 runs of another format (r-1, r-2), not read here and not written over`);
        expect(runs).toContain(`its record ${why}, and this program reads format ${RECORD_FORMAT}`);
        expect(project).toContain(`The file of project 'shop' in its record in git stays as it is: it ${why}`);
        expect(warned.join()).toContain('r-1, r-2');
        const [fault] = await findDivergedRuns({ store, repository, log });
        expect(fault).toMatchObject({ runId: 'r-1', namesWay: true });
        expect(fault?.message).toContain(`does not write over it: its record ${why}`);
        expect(quarantined).toContainEqual(['r-1', fault?.message]);
        expect(await comparison.faultOf('r-1', 'p-1')).toEqual(fault);
        await expect(comparison.assertKnown(fixture.project, 'r-1', new AbortController().signal)).rejects.toThrow(why);
        // A run of its own moves the record on, and the next one finds all of it in the mirror's own record.
        for (const runId of ['r-3', 'r-4']) {
          await pausedRun(runId);
          await record(['r-1', 'r-2']);
          expect(inRemote(`runs/${runId}/context.json`)).toContain(`"format": ${RECORD_FORMAT}`);
          expect(FILES.map(inRemote)).toEqual(theirs);
        }
        // It is told again at each start.
        await start();
        await vi.waitFor(() => expect(comparison.noticesOf('p-1')).toHaveLength(2));
        // Once a person has put it right on the branch, the run may go on, although the mirror's own record still has it.
        pushFormat(RECORD_FORMAT, FILES);
        await fixture.repository.fetchRecord(fixture.project, new AbortController().signal);
        await comparison.assertKnown(fixture.project, 'r-1', new AbortController().signal);
        expect(await comparison.faultOf('r-1', 'p-1')).toBeNull();
        expect(comparison.noticesOf('p-1')).toEqual([]);
      },
    );

    it.each([
      ['seen by a comparison', true],
      ['taken in by the record of another run', false],
    ])(
      'and that was undone by setting the branch back is never pushed again, once it was %s',
      async (_, isCompared) => {
        await pausedRun('r-1');
        await record([]);
        const good = remoteGit(['rev-parse', 'autonomous/record']);
        const ours = FILES.filter((file) => !file.includes('r-2')).map((file) => [file, inRemote(file)] as const);
        pushFormat(
          RECORD_FORMAT + 1,
          ours.map(([file]) => file),
        );
        if (isCompared) {
          await start();
          await vi.waitFor(() => expect(comparison.noticesOf('p-1')).toHaveLength(2));
        }
        // The mirror's own record has it with the next run.
        await pausedRun('r-3');
        await record([]);
        expect(inRemote('runs/r-1/context.json')).toContain(`"format":${RECORD_FORMAT + 1}`);
        remoteGit(['update-ref', 'refs/heads/autonomous/record', good]);
        for (const runId of ['r-4', 'r-5']) {
          await pausedRun(runId);
          await record([]);
          for (const [file, text] of ours) expect(inRemote(file)).toBe(text);
          for (const own of ['r-3', runId])
            expect(inRemote(`runs/${own}/context.json`)).toContain(`"format": ${RECORD_FORMAT}`);
          remoteGit(['update-ref', 'refs/heads/autonomous/record', good]);
        }
        await start();
        expect(await comparison.faultOf('r-1', 'p-1')).toBeNull();
        await vi.waitFor(() => expect(comparison.noticesOf('p-1')).toEqual([]));
      },
    );

    it('while this server runs is found by the next record, and written over by none', async () => {
      await pausedRun('r-1');
      await start();
      const recorder = aRecorder(comparison);
      await recorder.start();
      await recorder.settled();
      pushFormat(RECORD_FORMAT + 1, ['runs/r-1/context.json']);
      const theirs = inRemote('runs/r-1/context.json');
      for (let writes = 0; writes < 3; writes += 1) {
        await pausedRun(`r-${writes + 5}`);
        recorder.tryAgain(['r-1', `r-${writes + 5}`]);
        await recorder.settled();
        expect(inRemote('runs/r-1/context.json')).toBe(theirs);
      }
      await vi.waitFor(() => expect(quarantined.map(([runId]) => runId)).toContain('r-1'));
      expect(comparison.noticesOf('p-1').join()).toContain('1 run of another format (r-1)');
      await recorder.stop();
    });
  });

  it('of many runs is listed a few files at a time', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [
        `.autonomous/runs/r-${index}/context.json`,
        JSON.stringify({ createdAt: new Date(1_000_000 - index).toISOString() }),
      ]),
    );
    const { commit } = await fixture.repository.record(fixture.project, { files, message: 'Many' });
    const { runs } = await listRecord(repository, fixture.project, [commit]);
    expect(runs.map(({ runId }) => runId)).toEqual(Array.from({ length: 50 }, (_, index) => `r-${49 - index}`));
    expect(Math.max(...read)).toBeLessThanOrEqual(16);
  });

  /** Three folders in each other that share their contents: 2.2 million paths in six objects. */
  function treeWithoutEnd(): string {
    let tree = madeTree([`100644 blob ${aBlob('x')}`], 130);
    for (let level = 0; level < 2; level += 1) tree = madeTree([`040000 tree ${tree}`], 130);
    return tree;
  }
  const aBlob = (text: string): string => remoteGit(['hash-object', '-w', '--stdin'], text);
  const madeTree = (kinds: readonly string[], times: number): string =>
    remoteGit(
      ['mktree'],
      Array.from({ length: times }, (_, at) => kinds.map((kind) => `${kind}\t${'n'.repeat(24)}${at}\n`).join('')).join(
        '',
      ),
    );
  const remoteGit = (args: readonly string[], input = ''): string =>
    execFileSync('git', [...args], {
      cwd: fixture.remote,
      input,
      encoding: 'utf8',
      env: {
        ...process.env,
        GIT_AUTHOR_NAME: 'x',
        GIT_AUTHOR_EMAIL: 'x@x',
        GIT_COMMITTER_NAME: 'x',
        GIT_COMMITTER_EMAIL: 'x@x',
      },
    }).trim();
  /** Puts entries of `ls-tree` into a folder of the record, as another writer of the branch would. */
  function push(entries: readonly string[], folder = ''): void {
    const head = remoteGit(['rev-parse', 'autonomous/record']);
    const put = (under: string, added: readonly string[]): string => {
      const listed = remoteGit(['ls-tree', `${head}:${under}`]).split('\n');
      const names = new Set(added.map((line) => line.split('\t')[1]));
      const kept = listed.filter((line) => line !== '' && !names.has(line.split('\t')[1]));
      return remoteGit(['mktree', '--missing'], [...kept, ...added].map((line) => `${line}\n`).join(''));
    };
    let [under, added]: [string, readonly string[]] = [folder, entries];
    while (under !== '') {
      const tree = put(under, added);
      const parts = under.split('/').slice(0, -1);
      added = [`040000 tree ${tree}\t${parts.at(-1) ?? ''}`];
      under = parts
        .slice(0, -1)
        .map((part) => `${part}/`)
        .join('');
    }
    const commit = remoteGit(['commit-tree', put('', added), '-p', head, '-m', 'Pushed']);
    remoteGit(['update-ref', 'refs/heads/autonomous/record', commit]);
  }

  it.each(['', '.autonomous/runs/'] as const)(
    'with a tree without end in /%s is compared all the same',
    async (folder) => {
      await pausedRun('r-1');
      await record([]);
      push([`040000 tree ${treeWithoutEnd()}\tr-bomb`], folder);
      await start();
      const head = remoteGit(['rev-parse', 'autonomous/record']);
      expect(comparison.noticesOf('p-1')).toEqual([]);
      expect(await listRecordedRuns(repository, fixture.project, head)).toEqual(['r-1']);
      if (folder === '') expect((await listRecord(repository, fixture.project, [head])).runs).toHaveLength(1);
      else
        await expect(listRecord(repository, fixture.project, [head])).rejects.toThrow(
          "'autonomous/record' of the remote names more files than the server reads",
        );
    },
  );

  it('whose runs share one content is read once, and not beyond the limits', async () => {
    await pausedRun('r-1');
    await record([]);
    const tip = { sequence: 1, hash: 'a'.repeat(64), at: NOON };
    const small = aBlob(JSON.stringify({ format: RECORD_FORMAT, tip }));
    const large = aBlob(JSON.stringify({ format: RECORD_FORMAT, tip, more: 'x'.repeat(100_000) }));
    const runs = Array.from({ length: 100 }, (_, at) => {
      const tree = remoteGit(['mktree'], `100644 blob ${at < 50 ? small : large}\tcontext.json\n`);
      return `040000 tree ${tree}\tx-${at}`;
    });
    push(runs, '.autonomous/runs/');
    await repository.fetchRecord(fixture.project);
    const head = remoteGit(['rev-parse', 'autonomous/record']);
    const ids = await listRecordedRuns(repository, fixture.project, head);
    read.length = 0;
    expect((await readRecordedTips(repository, fixture.project, head, ids)).tips.size).toBe(101);
    expect(read).toEqual([3]);
    const limits = { maxBytes: 200_000, maxTotalBytes: 200_000, signal: new AbortController().signal };
    const within = async (changed: Partial<typeof limits>): Promise<number> =>
      (await readRecordedTips(repository, fixture.project, head, ids, { ...limits, ...changed })).tips.size;
    expect(await within({})).toBe(101);
    expect(await within({ maxBytes: 50_000 })).toBe(51);
    expect(await within({ maxTotalBytes: 50_000 })).toBe(51);
    expect(await within({ signal: AbortSignal.abort() })).toBe(0);
  });

  it('whose remote has a tree that git cannot read is kept in the mirror, and says what to repair', async () => {
    await pausedRun('r-1');
    await record([]);
    push([`040000 tree ${madeTree([`100644 blob ${aBlob('x')}`], 1)}\t..`]);
    await repository.fetchRecord(fixture.project);
    await pausedRun('r-2');
    const context = JSON.stringify({ format: RECORD_FORMAT });
    const contents = { files: { '.autonomous/runs/r-2/context.json': context }, message: 'Record r-2' };
    await expect(fixture.repository.record(fixture.project, contents)).rejects.toThrow(
      /^The branch 'autonomous\/record' of the remote cannot be continued: it contains the path '\.\.\/n+0'.*Push a commit/,
    );
    expect(await fixture.repository.listFiles(fixture.project, 'autonomous/record')).toEqual(
      expect.arrayContaining(['.autonomous/runs/r-1/context.json', '.autonomous/runs/r-2/context.json']),
    );
    expect(await recordNotices(['r-2'])).toEqual([expect.stringMatching(/Push a commit.*only this server has it\.$/)]);
    remoteGit(['update-ref', 'refs/heads/autonomous/record', remoteGit(['rev-parse', 'autonomous/record~1'])]);
    await repository.fetchRecord(fixture.project);
    expect(await recordNotices(['r-2'])).toEqual([]);
  });
});

describe('the seals of a recorded tip', () => {
  let root: string;
  let store: SqliteEventStore;
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'seals-'));
    store = openSqliteEventStore({ file: path.join(root, 'test.db') });
  });
  afterEach(async () => {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });
  const tip = { sequence: 3, hash: 'a'.repeat(64), at: NOON, server: 's-1', log: 'b'.repeat(64) };

  it('prove the whole log of one run in one project, and nothing that was changed', async () => {
    const sealed = { ...tip, ...(await sealsOf(store, 'p-1', 'r-1', tip)) };
    expect(await isOwnLog(store, 'p-1', 'r-1', sealed)).toBe(true);
    expect(await isOwnLog(store, 'p-2', 'r-1', sealed)).toBe(false);
    expect(await isOwnLog(store, 'p-1', 'r-2', sealed)).toBe(false);
    for (const changed of [
      { log: 'c'.repeat(64) },
      { sequence: 4 },
      { hash: 'c'.repeat(64) },
      { logSeal: sealed.seal },
      { logSeal: '' },
    ])
      expect(await isOwnLog(store, 'p-1', 'r-1', { ...sealed, ...changed })).toBe(false);
  });

  it('of the tip alone are enough to compare histories, never to import one', async () => {
    const { seal } = await sealsOf(store, 'p-1', 'r-1', tip);
    const ofTip = { ...tip, seal, logSeal: '' };
    await requireSeals(store, 'p-1');
    expect([await isOwnTip(store, 'r-1', ofTip), await isSealed(store, 'p-1', 'r-1', ofTip)]).toEqual([true, true]);
    expect(await isSealed(store, 'p-1', 'r-1', { ...ofTip, seal: 'f'.repeat(64) })).toBe(false);
    expect(await isOwnLog(store, 'p-1', 'r-1', ofTip)).toBe(false);
  });
});
