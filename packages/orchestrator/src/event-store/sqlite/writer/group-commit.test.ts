import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GroupCommit, type GroupCommitOptions, type Outcome, Refusal, Stopped } from './group-commit.ts';

/** A write, in these tests: what it does, and what it gave. */
type Write = () => unknown;

describe('a group commit', () => {
  let folder: string;
  let connection: Database.Database;
  let forgotten: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'group-commit-'));
    connection = new Database(join(folder, 'test.db'));
    connection.pragma('foreign_keys = on');
    connection.exec('CREATE TABLE parents (id TEXT PRIMARY KEY)');
    connection.exec(
      'CREATE TABLE children (id TEXT PRIMARY KEY, parent TEXT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)',
    );
    forgotten = 0;
  });
  afterEach(() => {
    connection.close();
    rmSync(folder, { recursive: true });
  });

  function groupCommit(given: Partial<GroupCommitOptions<Write, unknown>> = {}): GroupCommit<Write, unknown> {
    return new GroupCommit<Write, unknown>({
      connection,
      guard: () => undefined,
      perform: (write) => write(),
      forget: () => (forgotten += 1),
      ...given,
    });
  }

  const addParent = (id: string) => () => connection.prepare('INSERT INTO parents VALUES (?)').run(id).changes;
  const addChild = (id: string, parent: string) => () =>
    connection.prepare('INSERT INTO children VALUES (?, ?)').run(id, parent).changes;
  const parents = () => connection.prepare('SELECT id FROM parents ORDER BY id').pluck().all();
  const failures = (outcomes: readonly Outcome<unknown>[]) =>
    outcomes.map((outcome) => (outcome.ok ? null : String(outcome.error)));

  it('stores a batch in one transaction and gives what each write gave', () => {
    const commits = groupCommit();
    const seen = () => connection.inTransaction && parents();
    expect(commits.execute([addParent('a'), seen, addParent('b')])).toEqual([
      { ok: true, result: 1 },
      { ok: true, result: ['a'] },
      { ok: true, result: 1 },
    ]);
    expect(commits.commits).toBe(1);
    expect(connection.inTransaction).toBe(false);
  });

  it('fails a write that is refused alone, without repeating the others', () => {
    const commits = groupCommit();
    let performed = 0;
    const outcomes = commits.execute([
      addParent('a'),
      () => (performed += 1),
      () => {
        throw new Refusal('too late');
      },
      addParent('b'),
    ]);

    expect(failures(outcomes)).toEqual([null, null, 'Error: too late', null]);
    expect([performed, forgotten, commits.commits]).toEqual([1, 0, 1]);
    expect(parents()).toEqual(['a', 'b']);
  });

  it('fails a write that SQLite refuses alone, with all that it did, and repeats the others', () => {
    const commits = groupCommit();
    const half = () => {
      addParent('half')();
      return addParent('a')();
    };
    const outcomes = commits.execute([addParent('a'), half, addParent('b')]);

    expect(failures(outcomes)).toEqual([null, expect.stringContaining('UNIQUE'), null]);
    expect(parents()).toEqual(['a', 'b']);
    expect(commits.commits).toBe(1);
    expect(forgotten).toBeGreaterThanOrEqual(2);
  });

  it('rejects every write of a commit that fails, and stores the next', () => {
    const commits = groupCommit();
    const outcomes = commits.execute([addParent('a'), addChild('c', 'nobody'), addParent('b')]);

    expect(outcomes).toMatchObject(
      Array.from({ length: 3 }, () => ({ ok: false, error: { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' } })),
    );
    expect(parents()).toEqual([]);
    expect(connection.inTransaction).toBe(false);
    expect(commits.execute([addParent('d')])).toMatchObject([{ ok: true }]);
    expect(parents()).toEqual(['d']);
    expect(commits.commits).toBe(1);
  });

  it('carries the others out once more when SQLite gave up the transaction for one', () => {
    const commits = groupCommit();
    const giveUp = () => {
      connection.exec('ROLLBACK'); // What SQLite does by itself on a full disk.
      throw new Error('no room');
    };
    const outcomes = commits.execute([addParent('a'), giveUp, addParent('b'), giveUp]);

    expect(failures(outcomes)).toEqual([null, 'Error: no room', null, 'Error: no room']);
    expect(parents()).toEqual(['a', 'b']);
    expect(commits.commits).toBe(1);
  });

  it('writes nothing ever again once its guard stopped it', () => {
    let stop = true;
    const guard = () => {
      if (stop) throw new Stopped('replaced');
    };
    const commits = groupCommit({ guard });
    expect(failures(commits.execute([addParent('a'), addParent('b')]))).toEqual(Array(2).fill('Error: replaced'));
    stop = false;
    expect(failures(commits.execute([addParent('c')]))).toEqual(['Error: replaced']);
    expect(parents()).toEqual([]);
  });

  it.each(['in a write', 'at the commit'])('writes nothing ever again once the disk failed %s', (place) => {
    const fail = () => {
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_WRITE');
    };
    const commits = groupCommit(place === 'at the commit' ? { beforeCommit: fail } : {});
    const batch = place === 'at the commit' ? [addParent('a'), addParent('b')] : [addParent('a'), fail];
    expect(failures(commits.execute(batch))).toEqual(Array(2).fill('SqliteError: disk I/O error'));
    expect(failures(commits.execute([addParent('c')]))).toEqual(['SqliteError: disk I/O error']);
    expect(parents()).toEqual([]);
    expect(connection.inTransaction).toBe(false);
  });

  it('goes on after a commit for which there was no room', () => {
    let isFull = true;
    const beforeCommit = () => {
      if (isFull) throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
    };
    const commits = groupCommit({ beforeCommit });
    expect(commits.execute([addParent('a')])).toMatchObject([{ error: { code: 'SQLITE_FULL' } }]);
    isFull = false;
    expect(commits.execute([addParent('a')])).toMatchObject([{ ok: true }]);
    expect(parents()).toEqual(['a']);
  });
});
