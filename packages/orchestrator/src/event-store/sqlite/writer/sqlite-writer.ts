/**
 * The one who writes to the database: carries out batches of writes over a connection, synchronously. It runs in the
 * main thread or in one of its own, and loads nothing but better-sqlite3.
 */
import Database from 'better-sqlite3';
import { assertSameFile } from '../file-identity.ts';
import { GroupCommit, Lost, type Outcome, Refusal, Stopped } from './group-commit.ts';
import { beginLink, CHAIN_START, endLink, linkEvent, sha256 } from '../../hash-chain.ts';
import { packSteps, type StepRow, unpackSteps } from '../packed-steps.ts';
import { BUSY_TIMEOUT_MS, type Connection } from '../sqlite-connection.ts';
import { eraseEvent } from '../step-events.ts';
import type {
  StepWrite,
  Write,
  WriteFailure,
  WriteResult,
  WriterFaults,
  WriterOptions,
  WriterStatistics,
} from './writes.ts';

/** Runs of which it is remembered where they are, so that a step need not ask for it. */
const REMEMBERED_RUNS = 4_096;
const HASH_BYTES = 32;

/** Where a run is, as the transaction sees it. */
interface KnownRun {
  readonly number: number;
  lastSequence: number;
  /** Hash of the last step, hexadecimal. */
  tip: string;
  isOpen: boolean;
}

export class SqliteWriter {
  readonly #connection: Connection;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #commits: GroupCommit<Write, WriteResult>;
  readonly #epoch: number;
  readonly #faults: Faults | undefined;
  readonly #runs = new Map<string, KnownRun>();
  /** Of the newest event; `null` when it has to be asked for. */
  #position: number | null = null;
  /** SQLite's own count: another one when any other connection has committed something since. */
  #dataVersion: number | null = null;
  #hasErased = false;

  constructor(connection: Connection, { epoch, identity, faults, triedCommits }: WriterOptions) {
    this.#connection = connection;
    this.#statements = prepareStatements(connection);
    this.#epoch = epoch;
    this.#faults = faults === undefined ? undefined : new Faults(faults, triedCommits);
    const injected = this.#faults;
    this.#commits = new GroupCommit({
      connection,
      guard: () => this.#assertCurrent(),
      perform: (write) => this.#perform(write),
      forget: () => this.#forget(),
      beforeCommit: injected === undefined ? undefined : () => injected.beforeCommit(),
      afterCommit: identity === undefined ? undefined : () => assertSameFile(connection.name, identity),
    });
  }

  /** Carries out what it can of a batch in one transaction. @returns what each came to, in their order */
  write(writes: readonly Write[]): readonly (WriteResult | WriteFailure)[] {
    const outcomes = this.#commits.execute(writes).map(toPlain);
    if (this.#hasErased) this.#emptyLog();
    return outcomes;
  }

  /** Empties the write-ahead log, which still contains erased data; postponed while a reader holds it. */
  #emptyLog(): void {
    this.#connection.pragma('busy_timeout = 0');
    try {
      this.#hasErased = this.#connection.pragma('wal_checkpoint(truncate)', { simple: true }) !== 0;
    } finally {
      this.#connection.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  statistics(): WriterStatistics {
    const { delayedSyncs = 0, failedCommits = 0 } = this.#faults ?? {};
    const { commits, lastCommitMs } = this.#commits;
    return { commits, lastCommitMs, holdsErased: this.#hasErased, delayedSyncs, failedCommits };
  }

  #perform(write: Write): WriteResult {
    const statements = this.#statements;
    switch (write.kind) {
      case 'step':
        return this.#step(write);
      case 'steps':
        return this.#steps(write.steps);
      case 'attempt': {
        const { key, attempt, failures, notBefore } = write;
        const { changes } = statements.bookAttempt.run(attempt, failures, notBefore, this.#epoch, key);
        if (changes === 0) throw new Refusal(`Activity '${key}' is no longer open: its run has continued.`);
        return changes;
      }
      case 'heartbeat':
        return statements.heartbeat.run(write.details, write.key, write.attempt).changes;
      case 'project':
        return this.#saveProject(write);
      case 'project-removal':
        return statements.removeProject.run(write.id, write.id).changes;
      case 'answer':
        statements.forgetAnswers.run(write.forgetBefore);
        return statements.rememberAnswer.run(write.key, write.requestHash, write.status, write.body, write.createdAt)
          .changes;
      case 'session': {
        const { hash, userId, expiresAt, now, keep } = write;
        statements.forgetSessions.run(now);
        const { changes } = statements.beginSession.run(hash, userId, expiresAt);
        statements.endSurplusSessions.run(userId, userId, keep);
        return changes;
      }
      case 'session-renewal':
        statements.forgetSessions.run(write.now);
        return statements.renewSession.run(write.expiresAt, write.hash).changes;
      case 'session-end':
        return statements.endSessions.run(write.userId, write.hash, write.hash).changes;
      case 'mark':
        return statements.setMark.run(write.name, write.value).changes;
      case 'view':
        return this.#saveView(write);
      case 'summary': {
        const { run, version, sequence, summary } = write;
        return statements.saveSummary.run(run, version, sequence, summary, hashOf(summary)).changes;
      }
      case 'archive':
        return this.#overwriting(() => this.#archive(write));
      case 'erase':
        this.#hasErased = true;
        return this.#overwriting(() => this.#erase(write));
      default:
        return write satisfies never;
    }
  }

  /** @returns the position of the last event */
  #steps(steps: readonly StepWrite[]): WriteResult {
    let position = 0;
    for (const [index, step] of steps.entries()) {
      try {
        position = this.#step(step);
      } catch (error) {
        // The steps before it have changed something, and are undone by any other error.
        throw index > 0 && error instanceof Refusal ? new Error(error.message, { cause: error }) : error;
      }
    }
    return position;
  }

  /** One step of a run. @returns the position of its last event */
  #step(write: StepWrite): WriteResult {
    const { runId, expectedSequence, at, events, request, withheld } = write;
    if (request !== null && this.#statements.request.get(request.key) !== undefined)
      throw new Refusal(`What is asked for under the key '${request.key}' is done already.`);
    const known = this.#known(runId);
    let lastSequence = known?.lastSequence ?? 0;
    if (known !== undefined && lastSequence < expectedSequence) lastSequence = this.#catchUp(known, expectedSequence);
    if (lastSequence !== expectedSequence) {
      throw new Refusal(
        `Run ${runId} is at event ${lastSequence}, not ${expectedSequence}: another step was stored first.`,
        { lastSequence },
      );
    }
    const count = events.length / 4;
    const previous = known?.tip ?? CHAIN_START.hash;
    if (count === 0) {
      const run = this.#saveRun(write, known, lastSequence, previous);
      this.#saveWork(write, run.number);
      return this.#lastPosition();
    }
    const hashes = Buffer.allocUnsafe(count * HASH_BYTES);
    let link = beginLink(previous, runId, expectedSequence + 1, at);
    let text = '[';
    for (let index = 0; index < count; index += 1) {
      const field = index * 4;
      const type = events[field] as string; // The fields of an event, in the order that StepWrite names.
      const origin = events[field + 1] as number;
      const payload = events[field + 2] as string;
      const ownTime = events[field + 3] as number;
      const withheldHere = withheld?.find((each) => each.index === index);
      const payloadHash = withheldHere?.payloadHash ?? sha256(payload);
      hashes.write(payloadHash, index * HASH_BYTES, 'hex');
      link += linkEvent(type, origin, payloadHash, ownTime);
      const mark = withheldHere === undefined ? '' : `,${withheldHere.mark}`;
      const end = ownTime === 0 && mark === '' ? '' : `,${ownTime}${mark}`;
      text += `${index === 0 ? '' : ','}[${type},${origin},${payload}${end}]`;
    }
    const tip = endLink(link);
    const sequence = expectedSequence + count;
    const run = this.#saveRun(write, known, sequence, tip);
    const position = this.#lastPosition() + count;
    const hash = Buffer.from(tip, 'hex');
    this.#statements.insertStep.run(position, run.number, sequence, at, `${text}]`, hashes, hash, write.context);
    this.#position = position;
    this.#saveWork(write, run.number);
    return position;
  }

  /**
   * A damaged file may hold the row of a run as it was before its newest steps: what comes next then follows the newest.
   * @returns where the run ends
   */
  #catchUp(known: KnownRun, expectedSequence: number): number {
    const last = this.#statements.lastStep.get(known.number);
    if (last?.sequence === expectedSequence) {
      known.lastSequence = last.sequence;
      known.tip = last.hash.toString('hex');
    }
    return known.lastSequence;
  }

  #known(runId: string): KnownRun | undefined {
    const remembered = this.#runs.get(runId);
    if (remembered !== undefined) return remembered;
    const row = this.#statements.run.get(runId);
    if (row === undefined) return undefined;
    const { number, lastSequence, tip, completedAt } = row;
    return this.#remember(runId, { number, lastSequence, tip: tip.toString('hex'), isOpen: completedAt === null });
  }

  #remember(runId: string, run: KnownRun): KnownRun {
    // In the order in which they were met: runs that are written for long are asked for again now and then.
    if (this.#runs.size >= REMEMBERED_RUNS) {
      for (const oldest of this.#runs.keys()) {
        this.#runs.delete(oldest);
        break;
      }
    }
    this.#runs.set(runId, run);
    return run;
  }

  #saveRun(write: StepWrite, known: KnownRun | undefined, sequence: number, tip: string): KnownRun {
    const { runId, status, stage, gate, updatedAt, completedAt } = write;
    const tipBytes = Buffer.from(tip, 'hex');
    const isOpen = completedAt === null;
    const { insertRun, updateOpenRun, updateRun } = this.#statements;
    if (known === undefined) {
      const { start } = write;
      if (start === null) throw new Error(`the first step of run ${runId} does not say what it starts from`);
      const { projectId, userId, workflow, explorationId, treeId, parentId, createdAt } = start;
      const { lastInsertRowid } = insertRun.run(
        runId,
        projectId,
        userId,
        workflow,
        explorationId,
        treeId,
        parentId,
        createdAt,
        status,
        stage,
        updatedAt,
        completedAt,
        sequence,
        tipBytes,
        gate,
      );
      return this.#remember(runId, { number: Number(lastInsertRowid), lastSequence: sequence, tip, isOpen });
    }
    // Whether a run is open stands in indexes, which need not be touched while it stays so.
    if (known.isOpen && isOpen) updateOpenRun.run(status, stage, gate, updatedAt, sequence, tipBytes, known.number);
    else updateRun.run(status, stage, gate, updatedAt, sequence, tipBytes, completedAt, known.number);
    known.lastSequence = sequence;
    known.tip = tip;
    known.isOpen = isOpen;
    return known;
  }

  #saveWork(write: StepWrite, run: number): void {
    const statements = this.#statements;
    for (const { key, activity, src, input, startedAt, attempt } of write.startActivities) {
      statements.startActivity.run(key, run, activity, src, input, startedAt, attempt, this.#epoch);
    }
    for (const key of write.endActivities) statements.endActivity.run(key);
    for (const { key, event, dueAt, place } of write.setTimers) statements.setTimer.run(key, run, event, dueAt, place);
    for (const key of write.clearTimers) statements.clearTimer.run(key);
    for (const row of write.clarifications) statements.saveClarification.run({ run, ...row });
    const sequence = write.expectedSequence + write.events.length / 4;
    if (write.request !== null) {
      const { key, hash, gate, forgetBefore } = write.request;
      statements.forgetRequests.run(forgetBefore);
      statements.saveRequest.run(key, hash, run, sequence, gate, write.at);
    }
    if (write.snapshot === null) return;
    const { data, view } = write.snapshot;
    statements.saveSnapshot.run(run, sequence, data, hashOf(data));
    statements.saveView.run(run, sequence, view, hashOf(view));
  }

  #lastPosition(): number {
    this.#position ??= this.#statements.lastPosition.get() ?? 0;
    return this.#position;
  }

  #saveProject(project: Write & { readonly kind: 'project' }): WriteResult {
    const { id, name, repository, baseBranch, createdAt } = project;
    const known = this.#statements.projectId.get(repository, name);
    if (known !== undefined && known !== id) {
      throw new Refusal(`Project '${name}' of ${repository} exists already, as ${known}.`, { id: known });
    }
    return this.#statements.saveProject.run(id, name, repository, baseBranch, createdAt).changes;
  }

  #saveView({
    run,
    sequence,
    view,
  }: {
    readonly run: number;
    readonly sequence: number;
    readonly view: string;
  }): number {
    if (this.#statements.lastSequence.get(run) !== sequence) return 0;
    return this.#statements.saveView.run(run, sequence, view, hashOf(view)).changes;
  }

  #archive(write: Write & { readonly kind: 'archive' }): WriteResult {
    const { run, sequence } = write;
    const statements = this.#statements;
    if (this.#saveView(write) === 0) return 0;
    const steps = statements.stepsOfRun.all(run);
    const last = steps.at(-1);
    if (last?.sequence !== sequence) return 0;
    statements.insertArchive.run(run, last.position, sequence, packSteps(steps));
    statements.deleteSteps.run(run);
    statements.deleteSnapshot.run(run);
    const archived = Math.max(last.position, Number(statements.mark.get('store.archived_position') ?? 0));
    statements.setMark.run('store.archived_position', String(archived));
    return statements.setArchived.run(sequence, run).changes;
  }

  /** @returns how many events were erased: 0 when it is erased already */
  #erase({ runId, sequence }: Write & { readonly kind: 'erase' }): WriteResult {
    const statements = this.#statements;
    const known = this.#known(runId);
    if (known === undefined) throw new Refusal(`There is no run ${runId}.`);
    const { number } = known;
    const packed = statements.archive.get(number);
    if (packed !== undefined && packed.sequence >= sequence) {
      const steps = unpackSteps(packed.steps);
      const erased = steps.map((step) => ({ ...step, events: eraseEvent(step, sequence) ?? step.events }));
      if (!erased.some((step, index) => step.events !== steps[index]?.events)) return 0;
      statements.replaceArchive.run(packSteps(erased), number);
    } else {
      const step = statements.stepWith.get(number, sequence);
      if (step === undefined) throw new Refusal(`Run ${runId} has no event ${sequence}.`);
      const events = eraseEvent(step, sequence);
      if (events === null) return 0;
      statements.replaceEvents.run(events, step.position);
    }
    statements.deleteView.run(number);
    statements.deleteSummary.run(number);
    return 1;
  }

  /** Performs `work` with overwriting of removed data, so that erased data is not found in its old place in the file. */
  #overwriting<Result>(work: () => Result): Result {
    this.#connection.pragma('secure_delete = on');
    try {
      return work();
    } finally {
      this.#connection.pragma('secure_delete = off');
    }
  }

  /** Checks that no other thread or server has written: then the remembered state is invalid. */
  #assertCurrent(): void {
    const version = this.#statements.dataVersion.get();
    if (version === undefined || version === this.#dataVersion) return;
    this.#forget();
    const current = this.#statements.mark.get('store.epoch');
    if (current === String(this.#epoch)) {
      this.#dataVersion = version;
      return;
    }
    throw new Stopped(
      `Another server has opened ${this.#connection.name} since (epoch ${String(current)}, this one has ${this.#epoch}). This one writes no more: stop it.`,
    );
  }

  #forget(): void {
    this.#runs.clear();
    this.#position = null;
  }
}

function hashOf(text: string): Buffer {
  return Buffer.from(sha256(text), 'hex');
}

/** A fault to be injected before each commit. */
class Faults {
  readonly #faults: WriterFaults;
  readonly #sleep = new Int32Array(new SharedArrayBuffer(4));
  readonly #tried: Int32Array;
  delayedSyncs = 0;
  failedCommits = 0;

  constructor(faults: WriterFaults, tried: Int32Array | undefined) {
    this.#faults = faults;
    this.#tried = tried ?? new Int32Array(1);
  }

  beforeCommit(): void {
    const { syncDelayMs = 0, failingCommits } = this.#faults;
    const tried = Atomics.add(this.#tried, 0, 1) + 1;
    if (syncDelayMs > 0) {
      Atomics.wait(this.#sleep, 0, 0, syncDelayMs);
      this.delayedSyncs += 1;
    }
    const code = failingCommits?.[tried];
    if (code === undefined) return;
    this.failedCommits += 1;
    throw new Database.SqliteError('injected', code);
  }
}

function toPlain(outcome: Outcome<WriteResult>): WriteResult | WriteFailure {
  if (outcome.ok) return outcome.result;
  const { error } = outcome;
  if (error instanceof Refusal) return { kind: 'conflict', message: error.message, extra: error.extra };
  if (error instanceof Stopped) return { kind: 'stopped', message: error.message, isLost: error instanceof Lost };
  if (error instanceof Database.SqliteError) return { kind: 'sqlite', code: error.code, message: error.message };
  if (error instanceof Error) return { kind: 'bug', message: error.message, stack: error.stack ?? '' };
  return { kind: 'bug', message: String(error), stack: '' };
}

function prepareStatements(connection: Connection) {
  const write = (sql: string) => connection.prepare<unknown[]>(sql);
  return {
    run: connection.prepare<
      [string],
      {
        readonly number: number;
        readonly lastSequence: number;
        readonly tip: Buffer;
        readonly completedAt: number | null;
      }
    >('SELECT number, last_sequence AS lastSequence, tip, completed_at AS completedAt FROM workflow_runs WHERE id = ?'),
    lastSequence: connection
      .prepare<[number], number>('SELECT last_sequence FROM workflow_runs WHERE number = ?')
      .pluck(),
    lastPosition: connection
      .prepare<[], number>(
        `SELECT max(
          ifnull((SELECT max(position) FROM workflow_steps), 0),
          ifnull((SELECT CAST(value AS INTEGER) FROM marks WHERE name = 'store.archived_position'), 0))`,
      )
      .pluck(),
    insertRun: write(
      `INSERT INTO workflow_runs
        (id, project_id, user_id, workflow, exploration_id, tree_id, parent_id, created_at, status, stage,
         updated_at, completed_at, last_sequence, tip, gate)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    updateOpenRun: write(
      `UPDATE workflow_runs SET status = ?, stage = ?, gate = ?, updated_at = ?, last_sequence = ?, tip = ?
       WHERE number = ?`,
    ),
    updateRun: write(
      `UPDATE workflow_runs SET status = ?, stage = ?, gate = ?, updated_at = ?, last_sequence = ?, tip = ?,
         completed_at = ?
       WHERE number = ?`,
    ),
    insertStep: write(
      'INSERT INTO workflow_steps (position, run, sequence, at, events, hashes, hash, context) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    stepsOfRun: connection.prepare<[number], StepRow>(
      'SELECT position, sequence, at, events, hashes, hash FROM workflow_steps WHERE run = ? ORDER BY sequence',
    ),
    stepWith: connection.prepare<[number, number], StepRow>(
      `SELECT position, sequence, at, events, hashes, hash FROM workflow_steps
       WHERE run = ? AND sequence >= ? ORDER BY sequence LIMIT 1`,
    ),
    lastStep: connection.prepare<[number], Pick<StepRow, 'sequence' | 'hash'>>(
      'SELECT sequence, hash FROM workflow_steps WHERE run = ? ORDER BY sequence DESC LIMIT 1',
    ),
    // Nobody must be able to guess erased contents from their hash.
    replaceEvents: write('UPDATE workflow_steps SET events = ?, context = NULL WHERE position = ?'),
    deleteSteps: write('DELETE FROM workflow_steps WHERE run = ?'),
    archive: connection.prepare<[number], { readonly sequence: number; readonly steps: Buffer }>(
      'SELECT sequence, steps FROM archived_steps WHERE run = ?',
    ),
    insertArchive: write('INSERT INTO archived_steps (run, position, sequence, steps) VALUES (?, ?, ?, ?)'),
    replaceArchive: write('UPDATE archived_steps SET steps = ? WHERE run = ?'),
    setArchived: write('UPDATE workflow_runs SET archived_sequence = ? WHERE number = ?'),
    saveView: write(
      `INSERT INTO run_views (run, sequence, view, hash) VALUES (?, ?, ?, ?)
       ON CONFLICT (run) DO UPDATE SET sequence = excluded.sequence, view = excluded.view, hash = excluded.hash`,
    ),
    saveSummary: write(
      `INSERT INTO run_summaries (run, version, sequence, summary, hash) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (run) DO UPDATE SET
         version = excluded.version, sequence = excluded.sequence, summary = excluded.summary, hash = excluded.hash
       WHERE excluded.version > version OR excluded.sequence >= sequence`,
    ),
    deleteSummary: write('DELETE FROM run_summaries WHERE run = ?'),
    deleteView: write('DELETE FROM run_views WHERE run = ?'),
    saveSnapshot: write(
      `INSERT INTO snapshots (run, sequence, data, hash) VALUES (?, ?, ?, ?)
       ON CONFLICT (run) DO UPDATE SET sequence = excluded.sequence, data = excluded.data, hash = excluded.hash`,
    ),
    deleteSnapshot: write('DELETE FROM snapshots WHERE run = ?'),
    startActivity: write(
      `INSERT INTO activities (key, run, activity, src, input, started_at, attempt, failures, epoch)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)`,
    ),
    endActivity: write('DELETE FROM activities WHERE key = ?'),
    bookAttempt: write('UPDATE activities SET attempt = ?, failures = ?, not_before = ?, epoch = ? WHERE key = ?'),
    heartbeat: write('UPDATE activities SET heartbeat = ? WHERE key = ? AND attempt = ?'),
    setTimer: write(
      `INSERT INTO timers (key, run, event, due_at, place) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET event = excluded.event, due_at = excluded.due_at`,
    ),
    clearTimer: write('DELETE FROM timers WHERE key = ?'),
    saveClarification: write(
      `INSERT INTO clarification_requests
        (id, run, stage, question, context, options, response_type, status, response, answered_by, answered_at,
         attempt_number, created_at)
       VALUES (@id, @run, @stage, @question, @context, @options, @responseType, @status, @response, @answeredBy,
         @answeredAt, @attemptNumber, @createdAt)
       ON CONFLICT (id) DO UPDATE SET
         stage = excluded.stage, question = excluded.question, context = excluded.context, options = excluded.options,
         response_type = excluded.response_type, status = excluded.status, response = excluded.response,
         answered_by = excluded.answered_by, answered_at = excluded.answered_at,
         attempt_number = excluded.attempt_number`,
    ),
    projectId: connection
      .prepare<[string, string], string>('SELECT id FROM projects WHERE repository = ? AND name = ?')
      .pluck(),
    saveProject: write(
      `INSERT INTO projects (id, name, repository, base_branch, created_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET
         name = excluded.name, repository = excluded.repository, base_branch = excluded.base_branch,
         created_at = excluded.created_at`,
    ),
    removeProject: write(
      'DELETE FROM projects WHERE id = ? AND NOT EXISTS (SELECT 1 FROM workflow_runs WHERE project_id = ?)',
    ),
    forgetAnswers: write('DELETE FROM idempotency_keys WHERE created_at < ?'),
    rememberAnswer: write(
      `INSERT INTO idempotency_keys (key, request_hash, status, body, created_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    ),
    request: connection.prepare<[string], string>('SELECT key FROM request_steps WHERE key = ?').pluck(),
    forgetRequests: write('DELETE FROM request_steps WHERE created_at < ?'),
    saveRequest: write(
      'INSERT INTO request_steps (key, request_hash, run, sequence, gate, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    forgetSessions: write('DELETE FROM browser_sessions WHERE expires_at <= ?'),
    beginSession: write('INSERT INTO browser_sessions (hash, user_id, expires_at) VALUES (?, ?, ?)'),
    // Not the one that has just begun, whose row is the newest of those that expire last.
    endSurplusSessions: write(
      `DELETE FROM browser_sessions WHERE user_id = ? AND hash NOT IN (
         SELECT hash FROM browser_sessions WHERE user_id = ? ORDER BY expires_at DESC, rowid DESC LIMIT ?)`,
    ),
    renewSession: write('UPDATE browser_sessions SET expires_at = ? WHERE hash = ?'),
    endSessions: write('DELETE FROM browser_sessions WHERE user_id = ? AND (? IS NULL OR hash = ?)'),
    dataVersion: connection.prepare<[], number>('PRAGMA data_version').pluck(),
    mark: connection.prepare<[string], string>('SELECT value FROM marks WHERE name = ?').pluck(),
    setMark: write(
      'INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    ),
  };
}
