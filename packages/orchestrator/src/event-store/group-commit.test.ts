import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GroupCommit } from './group-commit.ts';

describe('a group commit', () => {
  let folder: string;
  let connection: Database.Database;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'group-commit-'));
    connection = new Database(join(folder, 'test.db'));
    connection.pragma('foreign_keys = on');
    connection.exec('CREATE TABLE parents (id TEXT PRIMARY KEY)');
    connection.exec(
      'CREATE TABLE children (id TEXT PRIMARY KEY, parent TEXT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)',
    );
  });
  afterEach(() => {
    connection.close();
    rmSync(folder, { recursive: true });
  });

  const addParent = (id: string) => () => connection.prepare('INSERT INTO parents VALUES (?)').run(id).changes;
  const addChild = (id: string, parent: string) => () =>
    connection.prepare('INSERT INTO children VALUES (?, ?)').run(id, parent).changes;
  const parents = () => connection.prepare('SELECT id FROM parents ORDER BY id').pluck().all();

  it('answers nobody before all of it is stored', async () => {
    const commits = new GroupCommit(connection, () => undefined);
    const order: string[] = [];
    const first = commits.write(addParent('a')).then(() => order.push(`first ${connection.inTransaction}`));
    const second = commits
      .write(() => order.push('second writes'))
      .then(() => order.push(`second ${connection.inTransaction}`));
    await Promise.all([first, second]);

    expect(order).toEqual(['second writes', 'first false', 'second false']);
  });

  it('rejects every write of a commit that fails, and stores the next', async () => {
    const commits = new GroupCommit(connection, () => undefined);
    const outcomes = await Promise.allSettled([
      commits.write(addParent('a')),
      commits.write(addChild('c', 'nobody')),
      commits.write(addParent('b')),
    ]);

    expect(outcomes).toMatchObject(
      Array.from({ length: 3 }, () => ({ status: 'rejected', reason: { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' } })),
    );
    expect(parents()).toEqual([]);
    expect(connection.inTransaction).toBe(false);
    await commits.write(addParent('d'));
    expect(parents()).toEqual(['d']);
    expect(commits.statistics()).toEqual({ commits: 1, writes: 1 });
  });

  it('carries the others out once more when SQLite gave up the transaction for one', async () => {
    const commits = new GroupCommit(connection, () => undefined);
    const giveUp = () => {
      connection.exec('ROLLBACK'); // What SQLite does by itself on a full disk.
      throw new Error('no room');
    };
    const outcomes = await Promise.allSettled([
      commits.write(addParent('a')),
      commits.write(giveUp),
      commits.write(addParent('b')),
    ]);

    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { message: 'no room' } });
    expect(parents()).toEqual(['a', 'b']);
    expect(commits.statistics()).toEqual({ commits: 1, writes: 2 });
  });

  it('writes nothing ever again once its guard refused', async () => {
    let refuse = true;
    const commits = new GroupCommit(connection, () => {
      if (refuse) throw new Error('replaced');
    });
    await expect(commits.write(addParent('a'))).rejects.toThrow('replaced');
    refuse = false;
    await expect(commits.write(addParent('b'))).rejects.toThrow('replaced');
    expect(parents()).toEqual([]);
  });

  it('stores what waits when it is closed', async () => {
    const commits = new GroupCommit(connection, () => undefined);
    const written = Promise.all(Array.from({ length: 600 }, (_, id) => commits.write(addParent(`p-${id}`))));
    commits.close();
    expect(parents()).toHaveLength(600);
    await written;
    await expect(commits.write(addParent('late'))).rejects.toThrow('is closed');
  });
});
