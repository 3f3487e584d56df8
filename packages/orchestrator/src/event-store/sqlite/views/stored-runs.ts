/**
 * Reads runs from the database: their events, wherever they are kept, their views, folded from what was stored whole and
 * the events after it, and whether all of it is what was written.
 */
import {
  FINAL_STATUSES,
  foldRun,
  type JsonObject,
  type JsonValue,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { IntegrityFault, StoredRun } from '../../event-store.ts';
import { CHAIN_START, type ChainFault, ChainReader, type ChainTip, sha256 } from '../../hash-chain.ts';
import type { ChainedStep } from '../../../documents/event-log.ts';
import type { ContextHashes } from '../../../core/context-hash.ts';
import { type StepRow, unpackSteps } from '../packed-steps.ts';
import { readGate, partialView } from './partial-view.ts';
import type { RunRow } from './run-row.ts';
import type { Connection } from '../sqlite-connection.ts';
import { sqliteCode } from '../sqlite-errors.ts';
import {
  chainEvents,
  type EventElement,
  findDamage,
  isErased,
  isRedacted,
  parseEvents,
  payloadHashes,
} from '../step-events.ts';
import { toIso } from '../times.ts';

const ALL = -1;
const STEPS_AT_ONCE = 1_000;
/** A step that ends so much later than its run does is no newer one: its own number is damaged. */
const MAX_STEPS_BEYOND = 1_000_000;
/** Types that say nothing of a view: of an event whose payload was erased, and of one that cannot be read. */
export const ERASED = 'ERASED';
export const UNREADABLE = 'UNREADABLE';

/** A view or a state after an event. */
interface TextRow {
  readonly sequence: number;
  /** JSON. */
  readonly data: string;
  readonly hash: Buffer;
}

export interface FoldedView {
  readonly view: RunView;
  /** How many events were folded over what was stored; `null` when not all that should be there could be read. */
  readonly folded: number | null;
}

/** Stored data of a run cannot be read, or differs from the data that was written. */
export class DamagedRun extends Error {
  readonly fault: IntegrityFault;

  constructor(runId: string, fault: ChainFault, cause?: unknown) {
    super(`Run ${runId} is damaged: ${fault.message}.`, { cause });
    this.fault = { runId, ...fault };
  }
}

export class StoredRuns {
  readonly #connection: Connection;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#statements = prepareStatements(connection);
  }

  /** Performs `read` in one transaction, so that all its data is of one moment while the writer continues. */
  atOnce<Result>(read: () => Result): Result {
    this.#statements.begin.run();
    try {
      return read();
    } finally {
      // Nothing was written, and a commit would fail where a damaged page was met.
      if (this.#connection.inTransaction) this.#statements.rollBack.run();
    }
  }

  find(runId: string): RunRow | undefined {
    return this.#statements.run.get(runId);
  }

  /** Numbers of the open runs, oldest first. */
  openRuns(): readonly number[] {
    return this.#statements.openRuns.all();
  }

  findNumber(number: number): RunRow | undefined {
    return this.#statements.runByNumber.get(number);
  }

  /** Runs that ended before a time and are not archived, oldest first, after a place in that order. */
  finishedRuns(
    endedBefore: number,
    after: { readonly completedAt: number; readonly number: number },
    limit: number,
  ): readonly RunRow[] {
    return this.#statements.finishedRuns.all(endedBefore, after.completedAt, after.number, limit);
  }

  /** Runs by number, whatever became of them. */
  allRuns(afterNumber: number, limit: number): readonly RunRow[] {
    return this.#statements.allRuns.all(afterNumber, limit);
  }

  /**
   * Events after a sequence, oldest first.
   * @param read what gives the events of a step
   * @throws {DamagedRun}
   */
  events(
    run: RunRow,
    after: number,
    limit = Number.POSITIVE_INFINITY,
    read: typeof readEvents = readEvents,
  ): readonly WorkflowEvent[] {
    const events: WorkflowEvent[] = [];
    // A step has at least one event.
    for (const step of this.#steps(run, after, Number.isFinite(limit) ? limit : ALL)) {
      for (const event of read(run.id, step)) {
        if (event.sequence <= after) continue;
        if (events.length >= limit) return events;
        events.push(event);
      }
    }
    return events;
  }

  /** All steps of a run as the hash chain has them, oldest first. @throws {DamagedRun} */
  chain(run: RunRow): readonly ChainedStep[] {
    return this.#steps(run, 0).map((step) => {
      const elements = elementsOf(run.id, step);
      const first = step.sequence - elements.length + 1;
      const withheld = new Map<number, 'redacted' | 'erased'>();
      for (const [index, element] of elements.entries()) {
        if (isErased(element)) withheld.set(first + index, 'erased');
        else if (isRedacted(element)) withheld.set(first + index, 'redacted');
      }
      return {
        first,
        last: step.sequence,
        hash: toHex(step.hash),
        payloadHashes: payloadHashes(step.hashes),
        ...(withheld.size === 0 ? {} : { withheld }),
        context: readContextHashes(run.id, step),
      };
    });
  }

  /** The view of a run as far as it can be read; what can't be is said in its notices. */
  view(run: RunRow): FoldedView {
    let view = this.#storedView(run);
    let folded = 0;
    let end = run.lastSequence;
    let damage: string | null = null;
    try {
      for (const step of this.#steps(run, view?.lastSequence ?? 0)) {
        if (step.sequence > end && step.sequence <= run.lastSequence + MAX_STEPS_BEYOND) end = step.sequence;
        try {
          const elements = parseEvents(step.events);
          for (const [index, event] of toEvents(run.id, step, elements).entries()) {
            view = foldRun(view, foldable(event, elements[index]));
            folded += 1;
          }
        } catch (error) {
          damage ??= faultIn(step, error).message;
        }
      }
    } catch (error) {
      damage ??= messageOf(error);
    }
    if (damage === null && view !== null && view.lastSequence === run.lastSequence) return { view, folded };
    // Its row is older than its events: what was stored with the newest of them is not known.
    if (end > run.lastSequence) damage ??= `${run.lastSequence} is not its last event, as its row says, but ${end}`;
    damage ??= `it has no events from ${(view?.lastSequence ?? 0) + 1} to ${run.lastSequence}`;
    return { view: partialView({ ...run, lastSequence: end }, view, damage), folded: null };
  }

  /**
   * Loads the data from which a run continues. Checks all of it that is read.
   * @throws {DamagedRun}
   */
  load(run: RunRow): Pick<StoredRun, 'view' | 'snapshot' | 'events' | 'contexts'> {
    const snapshot = this.#snapshot(run);
    let view = this.#storedView(run);
    const from = snapshot?.sequence ?? 0;
    const start = Math.min(from, view?.lastSequence ?? 0);
    const steps = this.#steps(run, start);
    const events: WorkflowEvent[] = [];
    const contexts = new Map<number, ContextHashes>();
    const fault = checkSteps(run, this.#tipAt(run, start), steps, tipOf(run), (step, elements) => {
      for (const [index, event] of toEvents(run.id, step, elements).entries()) {
        if (event.sequence > from) events.push(event);
        view = foldRun(view, foldable(event, elements[index]));
      }
    });
    if (fault !== null) throw new DamagedRun(run.id, fault);
    for (const step of steps) {
      const hashes = readContextHashes(run.id, step);
      if (hashes !== null) contexts.set(step.sequence, hashes);
    }
    if (view === null) throw new DamagedRun(run.id, { sequence: 1, message: 'event 1 does not begin a run' });
    return { view, snapshot, events, contexts };
  }

  /** Checks the last step of a run and that it is the last. */
  checkTip(run: RunRow): ChainFault | null {
    const tip = tipOf(run);
    try {
      const [last, previous] = this.#statements.lastSteps.all(run.number);
      if (last === undefined && run.archivedSequence === run.lastSequence) return this.checkAll(run);
      const before = previous === undefined ? CHAIN_START : { sequence: previous.sequence, hash: toHex(previous.hash) };
      return checkSteps(run, before, last === undefined ? [] : [last], tip);
    } catch (error) {
      return { sequence: tip.sequence, message: `event ${tip.sequence} cannot be read (${messageOf(error)})` };
    }
  }

  /** Checks all steps of a run, however many, without a pause. */
  checkAll(run: RunRow): ChainFault | null {
    let last = CHAIN_START;
    for (;;) {
      const page = this.checkPage(run, last, STEPS_AT_ONCE);
      if (page.isEnd) return page.fault;
      last = page.last;
    }
  }

  /** Checks what is stored beside the events: state, view, gate, status and open work. */
  checkBeside(run: RunRow): ChainFault | null {
    const { number, gate, lastSequence } = run;
    for (const [what, statement] of [
      ['state', this.#statements.snapshot],
      ['view', this.#statements.view],
    ] as const) {
      const stored = statement.get(number);
      if (stored === undefined || isIntact(stored.data, stored.hash)) continue;
      const { sequence } = stored;
      return { sequence, message: `its ${what} after event ${sequence} is not what was stored` };
    }
    const message =
      (gate === null || readGate(gate) !== null ? null : 'its gate cannot be read') ??
      this.#faultOfStatus(run) ??
      this.#faultOfWork(run);
    return message === null ? null : { sequence: lastSequence, message };
  }

  /** Compares the listed status with the one that the events give. @returns the fault, or `null` */
  #faultOfStatus(run: RunRow): string | null {
    const { view, folded } = this.view(run);
    // Events that cannot be folded are reported as another fault.
    if (folded === null) return null;
    const { status, completedAt } = run;
    if (status !== view.status) return `it is listed as ${status}, and its events say ${view.status}`;
    if (FINAL_STATUSES.has(status) === (completedAt !== null)) return null;
    return completedAt === null ? `it is listed as open, and is ${status}` : `it is listed as ended, and is ${status}`;
  }

  #faultOfWork({ id, number }: RunRow): string | null {
    for (const { key, input, heartbeat } of this.#statements.activities.all(`${id}/`, `${id}0`, number)) {
      for (const text of [input, heartbeat]) if (!isJson(text)) return `activity '${key}' is not what was stored`;
    }
    return null;
  }

  /**
   * Checks the steps of a run after one that was checked; the last of them must be where the run ends at this moment.
   * @param limit at most so many steps
   * @returns the first fault; else the last step that is sound, and whether all were checked
   */
  checkPage(
    run: RunRow,
    after: ChainTip,
    limit = ALL,
  ): { readonly fault: ChainFault | null; readonly last: ChainTip; readonly isEnd: boolean } {
    let steps: readonly StepRow[];
    try {
      steps = this.#steps(run, after.sequence, limit);
    } catch (error) {
      return { fault: faultOf(after, error), last: after, isEnd: true };
    }
    const last = steps.at(-1);
    // A full page may be the last one; then the next is empty.
    const isEnd = limit === ALL || steps.length < limit || last === undefined;
    const fault = checkSteps(run, after, steps, isEnd ? tipOf(run) : undefined);
    return {
      fault,
      last: last === undefined ? after : { sequence: last.sequence, hash: toHex(last.hash) },
      isEnd: isEnd || fault !== null,
    };
  }

  /** Where a run ended at this moment. */
  tipOf(run: RunRow): ChainTip {
    return tipOf(run);
  }

  /** `null` where no step ends with the event of this sequence. */
  stepEndingAt(run: RunRow, sequence: number): ChainTip | null {
    const [step] = this.#steps(run, sequence - 1, 1);
    return step?.sequence === sequence ? { sequence, hash: toHex(step.hash) } : null;
  }

  /** Steps that end after a sequence, the archived ones first. @throws {DamagedRun} */
  #steps(run: RunRow, after: number, limit = ALL): readonly StepRow[] {
    const { number, archivedSequence } = run;
    try {
      if (archivedSequence === null || archivedSequence <= after) {
        return this.#statements.stepsAfter.all(number, after, limit);
      }
      const packed = this.#statements.archive.get(number);
      const archived = packed === undefined ? [] : unpackSteps(packed).filter((step) => step.sequence > after);
      const steps = [...archived, ...this.#statements.stepsAfter.all(number, archivedSequence, limit)];
      return limit === ALL ? steps : steps.slice(0, limit);
    } catch (error) {
      throw new DamagedRun(run.id, faultAfter(after, error), error);
    }
  }

  /** Reads the view that was stored as a whole; `null` when there is none or it is damaged: it is then folded from the events. */
  #storedView(run: RunRow): RunView | null {
    try {
      const stored = this.#statements.view.get(run.number);
      if (stored === undefined || stored.sequence > run.lastSequence || !isIntact(stored.data, stored.hash))
        return null;
      return JSON.parse(stored.data) as RunView; // The text of a view, as its hash shows.
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error;
      return null;
    }
  }

  #snapshot(run: RunRow): StoredRun['snapshot'] {
    const stored = this.#statements.snapshot.get(run.number);
    if (stored === undefined) return null;
    const { sequence, data, hash } = stored;
    if (isIntact(data, hash)) return { sequence, data: JSON.parse(data) as JsonValue }; // As its hash shows.
    throw new DamagedRun(run.id, { sequence, message: `its state after event ${sequence} is not what was stored` });
  }

  #tipAt(run: RunRow, sequence: number): ChainTip {
    if (sequence === 0) return CHAIN_START;
    const [step] = this.#steps(run, sequence - 1, 1);
    if (step?.sequence === sequence) return { sequence, hash: toHex(step.hash) };
    throw new DamagedRun(run.id, { sequence, message: `event ${sequence} is missing` });
  }
}

/** The events of a step, as readers get them: what was erased has another type, and says what it was. @throws {DamagedRun} */
export function readEvents(runId: string, step: StepRow): readonly WorkflowEvent[] {
  try {
    const elements = parseEvents(step.events);
    const events = toEvents(runId, step, elements);
    return elements.some(isErased) ? events.map((event, index) => foldable(event, elements[index])) : events;
  } catch (error) {
    throw new DamagedRun(runId, faultIn(step, error), error);
  }
}

function elementsOf(runId: string, step: StepRow): readonly EventElement[] {
  try {
    return parseEvents(step.events);
  } catch (error) {
    throw new DamagedRun(runId, faultIn(step, error), error);
  }
}

/** The events of a step; where it cannot be read, as many as it had, which say why and nothing of a view. */
export function readWhatCanBeRead(runId: string, step: StepRow): readonly WorkflowEvent[] {
  try {
    return readEvents(runId, step);
  } catch (error) {
    if (!(error instanceof DamagedRun)) throw error;
    const { message } = error.fault;
    const lost: EventElement = [UNREADABLE, 1, { message }];
    return toEvents(
      runId,
      step,
      Array.from({ length: findDamage(step).count }, () => lost),
    );
  }
}

function toEvents(
  runId: string,
  { position, sequence, at }: StepRow,
  elements: readonly EventElement[],
): readonly WorkflowEvent[] {
  const first = elements.length - 1;
  const stepTime = toIso(at);
  return elements.map(([type, origin, payload, ownTime = 0], index) => {
    const own = sequence - first + index;
    return {
      id: `${runId}.${own}`,
      position: position - first + index,
      workflowRunId: runId,
      sequence: own,
      type,
      origin: origin === 1 ? 'emitted' : 'input',
      payload: (payload ?? {}) as JsonObject, // What was stored is the text of a JsonObject, or was erased.
      timestamp: ownTime === 0 ? stepTime : toIso(ownTime),
    };
  });
}

/** Replaces an erased event, whose payload is lost, by one that the fold ignores. */
function foldable(event: WorkflowEvent, element: EventElement | undefined): WorkflowEvent {
  if (element === undefined || !isErased(element)) return event;
  return { ...event, type: ERASED, payload: { type: event.type } };
}

function tipOf({ lastSequence, tip }: RunRow): ChainTip {
  return { sequence: lastSequence, hash: toHex(tip) };
}

/**
 * @param tip what the last of the steps must be; absent when more follow
 * @param onSound is told each step that is sound
 */
function checkSteps(
  { id }: RunRow,
  after: ChainTip,
  steps: readonly StepRow[],
  tip: ChainTip | undefined,
  onSound?: (step: StepRow, elements: readonly EventElement[]) => void,
): ChainFault | null {
  const reader = new ChainReader(id, after);
  for (const step of steps) {
    const { sequence, at, hash } = step;
    let fault: ChainFault | null;
    try {
      const elements = parseEvents(step.events);
      fault = reader.next({ sequence, at, events: chainEvents(step, elements), hash: toHex(hash) });
      if (fault === null) onSound?.(step, elements);
    } catch (error) {
      const { sequence: bad, message } = faultIn(step, error);
      return { sequence: Math.max(bad, reader.last.sequence + 1), message };
    }
    if (fault !== null) return fault;
  }
  return tip === undefined ? null : reader.end(tip);
}

/** @throws {DamagedRun} */
function readContextHashes(runId: string, { sequence, context = null }: StepRow): ContextHashes | null {
  if (context === null) return null;
  try {
    const hashes: unknown = JSON.parse(context);
    if (typeof hashes === 'object' && hashes !== null) return hashes as ContextHashes; // The writer stores no other shape.
  } catch {
    // Said below.
  }
  throw new DamagedRun(runId, {
    sequence,
    message: `the hashes of the context after event ${sequence} cannot be read`,
  });
}

/** Locates the event of a step that cannot be read. */
function faultIn(step: StepRow, error: unknown): ChainFault {
  const { index, count } = findDamage(step);
  const sequence = Math.max(step.sequence - count + 1 + index, 1);
  return { sequence, message: `event ${sequence} cannot be read (${messageOf(error)})` };
}

function faultAfter(after: number, error: unknown): ChainFault {
  return { sequence: after + 1, message: `the events from ${after + 1} on cannot be read (${messageOf(error)})` };
}

function faultOf({ sequence }: ChainTip, error: unknown): ChainFault {
  if (!(error instanceof DamagedRun)) return faultAfter(sequence, error);
  const { fault } = error;
  return { sequence: fault.sequence, message: fault.message };
}

function messageOf(error: unknown): string {
  if (error instanceof DamagedRun) return error.fault.message;
  const code = sqliteCode(error);
  const message = error instanceof Error ? error.message : String(error);
  return code === undefined ? message : `${code}: ${message}`;
}

function isJson(text: string | null): boolean {
  if (text === null) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isIntact(text: unknown, hash: unknown): boolean {
  return typeof text === 'string' && sha256(text) === toHex(hash);
}

/** A damaged row may hold anything. */
function toHex(bytes: unknown): string {
  return Buffer.isBuffer(bytes) ? bytes.toString('hex') : '';
}

const RUN_COLUMNS = `number, id, project_id AS projectId, user_id AS userId, workflow, exploration_id AS explorationId,
  created_at AS createdAt, status, stage, updated_at AS updatedAt, completed_at AS completedAt,
  last_sequence AS lastSequence, tip,
  archived_sequence AS archivedSequence, gate`;
const STEP_COLUMNS = 'position, sequence, at, events, hashes, hash';

function prepareStatements(connection: Connection) {
  return {
    begin: connection.prepare('BEGIN'),
    rollBack: connection.prepare('ROLLBACK'),
    run: connection.prepare<[string], RunRow>(`SELECT ${RUN_COLUMNS} FROM workflow_runs WHERE id = ?`),
    allRuns: connection.prepare<[number, number], RunRow>(
      `SELECT ${RUN_COLUMNS} FROM workflow_runs WHERE number > ? ORDER BY number LIMIT ?`,
    ),
    runByNumber: connection.prepare<[number], RunRow>(`SELECT ${RUN_COLUMNS} FROM workflow_runs WHERE number = ?`),
    openRuns: connection
      .prepare<[], number>('SELECT number FROM workflow_runs WHERE completed_at IS NULL ORDER BY created_at, number')
      .pluck(),
    finishedRuns: connection.prepare<[number, number, number, number], RunRow>(
      `SELECT ${RUN_COLUMNS} FROM workflow_runs
       WHERE completed_at IS NOT NULL AND archived_sequence IS NULL AND completed_at < ?
         AND (completed_at, number) > (?, ?)
       ORDER BY completed_at, number LIMIT ?`,
    ),
    stepsAfter: connection.prepare<[number, number, number], StepRow>(
      `SELECT ${STEP_COLUMNS}, context FROM workflow_steps WHERE run = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
    ),
    lastSteps: connection.prepare<[number], StepRow>(
      `SELECT ${STEP_COLUMNS} FROM workflow_steps WHERE run = ? ORDER BY sequence DESC LIMIT 2`,
    ),
    archive: connection.prepare<[number], Buffer>('SELECT steps FROM archived_steps WHERE run = ?').pluck(),
    // Keys begin with the run's id and a slash, which '0' follows.
    activities: connection.prepare<
      [string, string, number],
      { readonly key: string; readonly input: string; readonly heartbeat: string | null }
    >('SELECT key, input, heartbeat FROM activities WHERE key > ? AND key < ? AND run = ?'),
    view: connection.prepare<[number], TextRow>('SELECT sequence, view AS data, hash FROM run_views WHERE run = ?'),
    snapshot: connection.prepare<[number], TextRow>('SELECT sequence, data, hash FROM snapshots WHERE run = ?'),
  };
}
