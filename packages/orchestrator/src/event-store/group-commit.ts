/**
 * Collects what is written in one turn of the event loop into one commit to disk. Each write has a savepoint of its
 * own, so that a failing one takes no other down, and is answered only after the disk has them all.
 */
import { Unavailable } from '@autonomous/shared';
import type Database from 'better-sqlite3';
import { explainSqliteError, isDiskFailure } from './sqlite-errors.ts';

/** Bounds how long one commit keeps the event loop; the rest goes into the next. */
const MAX_WRITES_PER_COMMIT = 256;

interface Write {
  /** Carries it out inside a transaction, again in another when that one is lost; what it returns settles its promise. */
  readonly perform: () => () => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommit {
  readonly #connection: Database.Database;
  readonly #guard: () => void;
  readonly #statements: Readonly<
    Record<'begin' | 'commit' | 'savepoint' | 'release' | 'rollBackTo' | 'rollBack', Database.Statement>
  >;
  readonly #waiting: Write[] = [];
  #commits = 0;
  #writes = 0;
  /** Set when nothing may be written any more. */
  #stopped: Error | undefined;

  /** @param guard runs first in each transaction; when it throws, nothing is ever written again */
  constructor(connection: Database.Database, guard: () => void) {
    this.#connection = connection;
    this.#guard = guard;
    this.#statements = {
      begin: connection.prepare('BEGIN IMMEDIATE'),
      commit: connection.prepare('COMMIT'),
      savepoint: connection.prepare('SAVEPOINT write'),
      release: connection.prepare('RELEASE write'),
      rollBackTo: connection.prepare('ROLLBACK TO write'),
      rollBack: connection.prepare('ROLLBACK'),
    };
  }

  /**
   * Writes with the next commit.
   * @param work sees what earlier writes of the same commit wrote; what it throws undoes it alone; may be called again
   * @returns what `work` returned, after the commit
   */
  write<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#stopped !== undefined) return reject(this.#stopped);
      if (this.#waiting.length === 0) setImmediate(() => this.#commitNext());
      const perform = () => {
        const result = work();
        return () => resolve(result);
      };
      this.#waiting.push({ perform, reject });
    });
  }

  /** How many writes were stored so far, in how many commits. */
  statistics(): { readonly commits: number; readonly writes: number } {
    return { commits: this.#commits, writes: this.#writes };
  }

  /** Writes what still waits; later writes are refused. */
  close(): void {
    while (this.#waiting.length > 0) this.#commitNext();
    this.#stopped ??= new Unavailable(`${this.#connection.name} is closed; this server is stopping.`);
  }

  #commitNext(): void {
    const writes = this.#waiting.splice(0, MAX_WRITES_PER_COMMIT);
    if (writes.length === 0) return;
    if (this.#waiting.length > 0) setImmediate(() => this.#commitNext());
    try {
      if (this.#stopped !== undefined) throw this.#stopped;
      this.#commit(writes);
    } catch (error) {
      this.#abandon(writes, error);
    }
  }

  #commit(writes: readonly Write[]): void {
    this.#statements.begin.run();
    this.#checkGuard();
    const settlements: (() => void)[] = [];
    for (const write of writes) {
      const settle = this.#perform(write);
      // SQLite gives up the whole transaction when the disk is full: the others are carried out once more.
      if (!this.#connection.inTransaction) return this.#repeat(writes, write, settle);
      settlements.push(settle);
    }
    this.#statements.commit.run();
    this.#commits += 1;
    for (const settle of settlements) settle();
  }

  #repeat(writes: readonly Write[], culprit: Write, settleCulprit: () => void): void {
    settleCulprit();
    this.#waiting.unshift(...writes.filter((write) => write !== culprit));
    setImmediate(() => this.#commitNext());
  }

  #checkGuard(): void {
    try {
      this.#guard();
    } catch (error) {
      this.#stopped = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
  }

  #perform(write: Write): () => void {
    this.#statements.savepoint.run();
    try {
      const resolve = write.perform();
      this.#statements.release.run();
      return () => {
        this.#writes += 1;
        resolve();
      };
    } catch (error) {
      if (isDiskFailure(error)) throw error;
      if (this.#connection.inTransaction) {
        this.#statements.rollBackTo.run();
        this.#statements.release.run();
      }
      return () => write.reject(explainSqliteError(error, this.#connection.name));
    }
  }

  #abandon(writes: readonly Write[], error: unknown): void {
    const explained = explainSqliteError(error, this.#connection.name);
    // After a failed write or fsync the disk's content is unknown; only opening the file anew finds out.
    if (isDiskFailure(error) && explained instanceof Error) this.#stopped = explained;
    try {
      if (this.#connection.inTransaction) this.#statements.rollBack.run();
    } catch (cause) {
      this.#stopped ??= new Unavailable(`A commit to ${this.#connection.name} can't be undone. Restart the server.`, {
        cause,
      });
    }
    for (const write of writes) write.reject(explained);
  }
}
