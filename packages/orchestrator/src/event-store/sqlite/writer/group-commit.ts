/**
 * Carries out a batch of writes in one transaction, so that they share one sync of the disk. A write that fails takes no
 * other down: the batch is tried without savepoints first, since failures are rare, and repeated with one a write when
 * SQLite refused any.
 */
import Database from 'better-sqlite3';
import type { Connection } from '../sqlite-connection.ts';

/** A write that is refused before it changed anything: the others of its batch need not be repeated. */
export class Refusal extends Error {
  readonly extra: Readonly<Record<string, string | number>>;

  constructor(message: string, extra: Readonly<Record<string, string | number>> = {}) {
    super(message);
    this.extra = extra;
  }
}

/** Another server has taken over, or the disk failed: nothing is ever written again. */
export class Stopped extends Error {}

/** The file was removed or replaced, so that writes would be lost. */
export class Lost extends Stopped {}

export interface Refused {
  readonly ok: false;
  readonly error: unknown;
}

export type Outcome<Result> = { readonly ok: true; readonly result: Result } | Refused;

export interface GroupCommitOptions<Write, Result> {
  readonly connection: Connection;
  /** Runs first in each transaction; when it throws {@link Stopped}, nothing is ever written again. */
  readonly guard: () => void;
  /** Performs one write. May be called again for the same write, after {@link forget}. */
  readonly perform: (write: Write) => Result;
  /** Called when performed writes were undone in the database, so that remembered state is invalid. */
  readonly forget: () => void;
  /** Runs before each commit; what it throws fails the commit. For tests. */
  readonly beforeCommit?: (() => void) | undefined;
  /** Runs after each commit, before it is answered; when it throws {@link Stopped}, nothing is ever written again. */
  readonly afterCommit?: (() => void) | undefined;
}

export class GroupCommit<Write extends object, Result> {
  readonly #options: GroupCommitOptions<Write, Result>;
  readonly #statements: Readonly<
    Record<'begin' | 'commit' | 'savepoint' | 'release' | 'rollBackTo' | 'rollBack', Database.Statement>
  >;
  #commits = 0;
  #lastCommitMs = 0;
  /** Set when nothing may be written any more. */
  #stopped: Refused | null = null;

  constructor(options: GroupCommitOptions<Write, Result>) {
    this.#options = options;
    const { connection } = options;
    this.#statements = {
      begin: connection.prepare('BEGIN IMMEDIATE'),
      commit: connection.prepare('COMMIT'),
      savepoint: connection.prepare('SAVEPOINT write'),
      release: connection.prepare('RELEASE write'),
      rollBackTo: connection.prepare('ROLLBACK TO write'),
      rollBack: connection.prepare('ROLLBACK'),
    };
  }

  /** How many transactions were committed. */
  get commits(): number {
    return this.#commits;
  }

  /** How long the disk took for the newest of them. */
  get lastCommitMs(): number {
    return this.#lastCommitMs;
  }

  /** Performs the writes. @returns their outcomes, in their order, after each is on disk or undone */
  execute(writes: readonly Write[]): readonly Outcome<Result>[] {
    try {
      const outcomes = this.#tryAll(writes);
      if (outcomes !== null) return outcomes;
    } catch (error) {
      const refused = this.#abandon(error);
      return writes.map(() => refused);
    }
    return this.#oneByOne(writes);
  }

  /** @returns `null` when SQLite refused a write; then nothing is stored */
  #tryAll(writes: readonly Write[]): readonly Outcome<Result>[] | null {
    this.#begin();
    const outcomes: Outcome<Result>[] = [];
    for (const write of writes) {
      try {
        outcomes.push({ ok: true, result: this.#options.perform(write) });
      } catch (error) {
        if (isDiskFailure(error)) throw error;
        if (!(error instanceof Refusal)) {
          this.#rollBack();
          return null;
        }
        outcomes.push({ ok: false, error });
      }
    }
    this.#commit();
    return outcomes;
  }

  #oneByOne(writes: readonly Write[]): readonly Outcome<Result>[] {
    const settled = new Map<Write, Outcome<Result>>();
    let left = writes;
    while (left.length > 0) {
      try {
        for (const [write, outcome] of this.#trySeparately(left)) settled.set(write, outcome);
      } catch (error) {
        const refused = this.#abandon(error);
        for (const write of left) settled.set(write, refused);
      }
      left = left.filter((write) => !settled.has(write));
    }
    return writes.flatMap((write) => settled.get(write) ?? []);
  }

  /**
   * Carries out each with a savepoint of its own.
   * @returns all of them; or only the culprit where SQLite gave up the whole transaction, as on a full disk
   */
  #trySeparately(writes: readonly Write[]): readonly (readonly [Write, Outcome<Result>])[] {
    this.#begin();
    const outcomes: (readonly [Write, Outcome<Result>])[] = [];
    for (const write of writes) {
      const outcome = this.#performAlone(write);
      if (!this.#options.connection.inTransaction) return [[write, outcome]];
      outcomes.push([write, outcome]);
    }
    this.#commit();
    return outcomes;
  }

  #performAlone(write: Write): Outcome<Result> {
    const { connection, perform, forget } = this.#options;
    this.#statements.savepoint.run();
    try {
      const result = perform(write);
      this.#statements.release.run();
      return { ok: true, result };
    } catch (error) {
      if (isDiskFailure(error)) throw error;
      if (connection.inTransaction) {
        this.#statements.rollBackTo.run();
        this.#statements.release.run();
      }
      forget();
      return { ok: false, error };
    }
  }

  #begin(): void {
    if (this.#stopped !== null) throw this.#stopped.error;
    this.#statements.begin.run();
    this.#options.guard();
  }

  #commit(): void {
    const from = performance.now();
    this.#options.beforeCommit?.();
    this.#statements.commit.run();
    this.#lastCommitMs = performance.now() - from;
    this.#commits += 1;
    this.#options.afterCommit?.();
  }

  #abandon(error: unknown): Refused {
    const refused: Refused = { ok: false, error };
    // After a failed write or fsync the disk's content is unknown; only opening the file anew finds out.
    if (error instanceof Stopped || isDiskFailure(error)) this.#stopped ??= refused;
    this.#rollBack();
    return refused;
  }

  #rollBack(): void {
    const { connection, forget } = this.#options;
    forget();
    try {
      if (connection.inTransaction) this.#statements.rollBack.run();
    } catch (cause) {
      const error = new Stopped(`A commit to ${connection.name} can't be undone. Restart the server.`, { cause });
      this.#stopped ??= { ok: false, error };
    }
  }
}

/** The disk may have lost what it was given: from here on nothing that SQLite says of the file is certain. */
export function isDiskFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_IOERR');
}
