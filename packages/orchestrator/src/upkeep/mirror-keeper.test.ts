/** Mirrors that are packed while runs are open: a real database, a real mirror. */
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStep, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { commitFiles, type Fixture, git, mainHead, openFixture } from '../repository/git-fixture.fixture.ts';
import { ManualClock } from '../engine/engine.fixture.ts';
import { MirrorKeeper } from './mirror-keeper.ts';

const SIX_HOURS_MS = 6 * 60 * 60_000;
const BRANCH = 'autonomous/r-1-mine';

describe('The keeper of mirrors', () => {
  let root: string;
  let store: SqliteEventStore;
  let fixture: Fixture;
  let clock: ManualClock;
  let keeper: MirrorKeeper;
  const warnings: string[] = [];
  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'mirror-keeper-'));
    fixture = await openFixture(root);
    store = openSqliteEventStore({ file: path.join(root, 'test.db') });
    await store.saveProject({ ...fixture.project, name: 'shop', createdAt: NOON });
    clock = new ManualClock();
    warnings.length = 0;
    const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
    keeper = new MirrorKeeper({ store, repository: fixture.repository, clock, log });
    keeper.start();
  });
  afterEach(async () => {
    keeper.stop();
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });

  const looseObjects = (): string[] =>
    readdirSync(path.join(fixture.gitDir, 'objects'))
      .filter((name) => name.length === 2)
      .flatMap((name) =>
        readdirSync(path.join(fixture.gitDir, 'objects', name)).map((rest) =>
          path.join(fixture.gitDir, 'objects', name, rest),
        ),
      );
  /** As files that were made long ago. */
  const age = (): void => {
    for (const file of looseObjects()) utimesSync(file, 1_700_000_000, 1_700_000_000);
  };
  const has = (id: string): boolean => {
    try {
      git(fixture.gitDir, 'cat-file', '-e', id);
      return true;
    } catch {
      return false;
    }
  };
  const aTree = async (text: string): Promise<string> => {
    const { repository, project } = fixture;
    return repository.writeFiles(project, await repository.treeOf(project, await mainHead(fixture)), { 'a.js': text });
  };
  const manyFiles = (name: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: 1_100 }, (_, index) => [`${name}/${index}.txt`, `${name} ${index}`]));

  it('packs a mirror with many objects, keeps what branches and open runs need, and removes what nothing needs', async () => {
    const head = await commitFiles(fixture, BRANCH, manyFiles('many'), 'r-1/5/commitCode');
    const [ofOpenRun, ofNobody] = [await aTree('left by an agent'), await aTree('of a run that ended')];
    await store.append(
      aStep('r-1', { events: [anEvent('RUN_STARTED', { output: { tree: ofOpenRun } })], view: { projectId: 'p-1' } }),
    );
    age();
    const young = await aTree('a moment ago');
    clock.advance(10 * 60_000);
    await expect.poll(() => looseObjects().length).toBeLessThan(20);
    await expect.poll(() => has(ofNobody)).toBe(false);
    expect({ head: has(head), ofOpenRun: has(ofOpenRun), young: has(young) }).toEqual({
      head: true,
      ofOpenRun: true,
      young: true,
    });
    expect(await fixture.repository.branchHead(fixture.project, BRANCH)).toBe(head);
    // Later commits find every object that they build on.
    await commitFiles(fixture, BRANCH, { 'after.txt': 'x' });
    await fixture.repository.fetch(fixture.project);
    expect(git(fixture.gitDir, 'fsck', '--connectivity-only')).not.toContain('missing');
    expect(warnings).toEqual([]);
  });

  it('leaves a small mirror as it is, and looks again six hours later', async () => {
    const tree = await aTree('left by an agent');
    const started = anEvent('RUN_STARTED', { output: { tree } });
    await store.append(aStep('r-1', { events: [started], view: { projectId: 'p-1' } }));
    age();
    clock.advance(10 * 60_000);
    await expect.poll(() => looseObjects().length).toBeGreaterThan(3);
    await commitFiles(fixture, BRANCH, manyFiles('many'), 'r-1/5/commitCode');
    age();
    clock.advance(SIX_HOURS_MS);
    await expect.poll(() => looseObjects().length).toBeLessThan(20);
    expect(has(tree)).toBe(true);
    expect(git(fixture.gitDir, 'for-each-ref', '--format=%(objectname)', 'refs/kept')).toBe(tree);
  });
});
