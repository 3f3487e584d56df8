/**
 * Takes secrets out of a run's record before it leaves the machine. Lines are looked through once, in the worker for foreign
 * text; a line that cannot be looked through is left out and says so. State is kept in memory: the first record of a run
 * after a start looks through all of it.
 */
import { createHash } from 'node:crypto';
import { readForeignText } from './foreign-text.ts';
import { mapInSlices } from './foreign-text-slices.ts';
import type { Redacted, RedactionTask } from '../secrets/record-redaction.ts';

type Answer = { readonly ok: true; readonly value: Redacted } | { readonly ok: false; readonly why: string };

export interface RedactorOptions {
  /** Takes out values that the server knows. Applied to each line first. */
  readonly scrub: (text: string) => string;
  /** Milliseconds for all lines of one call (default 120,000). */
  readonly maxMs?: number;
  /** Milliseconds for one task of the worker (default 10,000). */
  readonly maxTaskMs?: number;
  /** Milliseconds for one line of a task that failed (default 2,000). */
  readonly maxLineMs?: number;
  /** Carries out a task; default is the worker. */
  readonly look?: (
    task: RedactionTask,
    limits: { readonly maxMs: number; readonly signal: AbortSignal | undefined },
  ) => Promise<Answer>;
}

export interface RedactedFiles<Name extends string> {
  readonly files: Readonly<Record<Name, string>>;
  /** `false` where lines were left out for lack of time; the next call looks through them. */
  readonly isComplete: boolean;
}

/** Characters that one task of the worker takes. */
const CHUNK = 512 * 1024;
/** Values of one run that are looked for elsewhere. */
const MOST_VALUES = 50;
/** Most runs whose state is kept. */
const MOST_RUNS = 200;
/** Most characters of changed lines that are kept of one file. A file with more is searched again. */
const MOST_CHANGED = 16 * 1024 * 1024;
/** Fields that stay of a line that is left out. The server writes them, not the people and agents it records. */
const KEPT_KEYS = [
  'sequence',
  'type',
  'origin',
  'timestamp',
  'id',
  'workflowRunId',
  'runId',
  'status',
  'at',
  'activity',
  'kind',
];

/** The part of a growing file that was looked through. */
interface Looked {
  /** Ends with the end of a line. */
  readonly chars: number;
  readonly digest: string;
  readonly lines: number;
  /** Lines that are written otherwise, by their index. */
  readonly changed: ReadonlyMap<number, string>;
}

interface RunState {
  readonly values: Set<string>;
  readonly looked: Map<string, Looked>;
}

export class RecordRedactor {
  readonly #options: RedactorOptions;
  readonly #runs = new Map<string, RunState>();

  constructor(options: RedactorOptions) {
    this.#options = options;
  }

  /**
   * The files of a run's record without secrets. Must not be called twice at the same time for one run.
   * @param files texts by name. One that ends in `.jsonl` is read line by line, and lines of an earlier call are not looked through
   * again; any other is one JSON text
   * @param values further secrets of the run; they are replaced wherever they stand
   * @param signal ends the search: what was not looked through by then is left out for this time
   */
  async redact<Name extends string>(
    runId: string,
    files: Readonly<Record<Name, string>>,
    values: readonly string[] = [],
    signal?: AbortSignal,
  ): Promise<RedactedFiles<Name>> {
    const run = this.#stateOf(runId);
    const known = run.values.size;
    learn(run.values, values);
    const work = new Work(this.#options, run.values, signal);
    const names = Object.keys(files) as Name[];
    const drafts = new Map<Name, Draft>();
    for (const name of names) drafts.set(name, await draftOf(name, files[name], run.looked.get(name), work));
    const hasNewValues = run.values.size > known;
    const redacted = {} as Record<Name, string>;
    for (const [name, draft] of drafts) {
      // A value that one line has told may stand in another in other dress.
      if (hasNewValues) draft.lines = (await work.look(draft.lines, false)).lines;
      redacted[name] = draft.isOfLines ? draft.lines.map((line) => `${line}\n`).join('') : (draft.lines[0] ?? '');
    }
    for (const [name, draft] of drafts) {
      const looked = hasNewValues && !work.isComplete ? null : lookedOf(draft, files[name]);
      if (looked === null) run.looked.delete(name);
      else run.looked.set(name, looked);
    }
    return { files: redacted, isComplete: work.isComplete };
  }

  /** Starts what looks through lines, so that it is there when it is needed. */
  warm(): void {
    const { look = lookInWorker } = this.#options;
    look({ lines: [], values: [], byRules: true }, { maxMs: 10_000, signal: undefined }).catch(() => undefined);
  }

  /** Lets go of what is kept of a run that is not recorded again. */
  forget(runId: string): void {
    this.#runs.delete(runId);
  }

  #stateOf(runId: string): RunState {
    const state = this.#runs.get(runId) ?? { values: new Set(), looked: new Map() };
    this.#runs.delete(runId);
    this.#runs.set(runId, state);
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= MOST_RUNS) break;
      this.#runs.delete(oldest);
    }
    return state;
  }
}

/** A file that is being redacted. */
interface Draft {
  readonly isOfLines: boolean;
  readonly raw: readonly string[];
  lines: readonly string[];
  /** Lines that need not be looked through again. */
  readonly settled: number;
}

async function draftOf(name: string, text: string, looked: Looked | undefined, work: Work): Promise<Draft> {
  const isOfLines = name.endsWith('.jsonl');
  const raw = isOfLines ? linesOf(text) : [text];
  const old =
    isOfLines && looked !== undefined && looked.digest === digestOf(text.slice(0, looked.chars)) ? looked : null;
  const { lines, settled } = await work.look(raw.slice(old?.lines ?? 0), true);
  const before = old === null ? [] : raw.slice(0, old.lines).map((line, index) => old.changed.get(index) ?? line);
  return { isOfLines, raw, lines: [...before, ...lines], settled: before.length + settled };
}

/** @returns `null` where too much would have to be kept */
function lookedOf({ isOfLines, raw, lines, settled }: Draft, text: string): Looked | null {
  if (!isOfLines) return null;
  // A last line without its end may still grow.
  const count = settled === raw.length && !text.endsWith('\n') ? settled - 1 : settled;
  const changed = new Map<number, string>();
  let changedChars = 0;
  let chars = 0;
  for (const [index, line] of raw.slice(0, Math.max(0, count)).entries()) {
    chars += line.length + 1;
    const now = lines[index] ?? '';
    if (now === line) continue;
    changed.set(index, now);
    changedChars += now.length;
  }
  if (changedChars > MOST_CHANGED) return null;
  return { chars, digest: digestOf(text.slice(0, chars)), lines: Math.max(0, count), changed };
}

/** One call: its time, and what went wrong. */
class Work {
  isComplete = true;
  readonly #options: RedactorOptions;
  readonly #values: Set<string>;
  readonly #signal: AbortSignal | undefined;
  readonly #until: number;
  #hasWorked = false;

  constructor(options: RedactorOptions, values: Set<string>, signal: AbortSignal | undefined) {
    this.#options = options;
    this.#values = values;
    this.#signal = signal;
    this.#until = performance.now() + (options.maxMs ?? 120_000);
  }

  /** @returns the lines without secrets, and how many of them, from the first, need not be looked through again */
  async look(
    raw: readonly string[],
    byRules: boolean,
  ): Promise<{ readonly lines: readonly string[]; readonly settled: number }> {
    const lines: string[] = [];
    let settled: number | null = null;
    for (const chunk of chunksOf(raw)) {
      const scrubbed = byRules ? await mapInSlices(chunk, (line) => this.#options.scrub(line)) : chunk;
      const done =
        (await this.#task(scrubbed, byRules, this.#options.maxTaskMs ?? 10_000)) ??
        (await this.#oneByOne(scrubbed, byRules));
      if (!done.isSettled) settled ??= lines.length;
      lines.push(...done.lines);
    }
    return { lines, settled: settled ?? lines.length };
  }

  async #oneByOne(
    chunk: readonly string[],
    byRules: boolean,
  ): Promise<{ readonly lines: readonly string[]; readonly isSettled: boolean }> {
    const lines: string[] = [];
    let isSettled = true;
    for (const line of chunk) {
      const isInTime = !this.#isOver();
      const done = isInTime ? await this.#task([line], byRules, this.#options.maxLineMs ?? 2_000) : null;
      lines.push(done?.lines[0] ?? leftOut(line));
      // A worker that does nothing at all may do so later.
      if (done === null && !(isInTime && this.#hasWorked && !this.#isOver())) isSettled = false;
    }
    this.isComplete &&= isSettled;
    return { lines, isSettled };
  }

  #isOver(): boolean {
    return this.#signal?.aborted === true || performance.now() >= this.#until;
  }

  /** @returns `null` where it could not be done */
  async #task(
    lines: readonly string[],
    byRules: boolean,
    maxMs: number,
  ): Promise<{ readonly lines: readonly string[]; readonly isSettled: true } | null> {
    if (this.#isOver()) return null;
    const { look = lookInWorker } = this.#options;
    const task = { lines, values: [...this.#values], byRules };
    const answer = await look(task, { maxMs, signal: this.#signal }).catch((): null => null);
    if (answer?.ok !== true) return null;
    this.#hasWorked = true;
    learn(this.#values, answer.value.found);
    const changed = new Map(answer.value.changed);
    return { lines: lines.map((line, index) => changed.get(index) ?? line), isSettled: true };
  }
}

const lookInWorker: NonNullable<RedactorOptions['look']> = (task, limits) =>
  readForeignText('redactLines', [task], limits);

function learn(values: Set<string>, found: readonly string[]): void {
  for (const value of found) if (values.size < MOST_VALUES) values.add(value);
}

/** Replacement for a line that could not be searched: it keeps only fields that the server wrote. */
function leftOut(line: string): string {
  const kept: Record<string, unknown> = {};
  try {
    const parsed = JSON.parse(line) as Readonly<Record<string, unknown>>;
    for (const key of KEPT_KEYS) {
      const value = parsed[key];
      if (typeof value === 'number' || (typeof value === 'string' && value.length <= 100)) kept[key] = value;
    }
  } catch {
    // Not JSON: the server did not write this line.
  }
  return JSON.stringify({ ...kept, leftOut: 'It could not be looked through for secrets.' });
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function* chunksOf(lines: readonly string[]): Generator<readonly string[]> {
  let chunk: string[] = [];
  let chars = 0;
  for (const line of lines) {
    if (chunk.length > 0 && chars + line.length > CHUNK) {
      yield chunk;
      chunk = [];
      chars = 0;
    }
    chunk.push(line);
    chars += line.length;
  }
  if (chunk.length > 0) yield chunk;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
