/**
 * `events.jsonl` of a run's record: one event a line, with what checks it and makes the run again elsewhere. The format is
 * frozen: later versions may add optional keys, and readers pass over keys that they do not know. Pure.
 */
import type { EventOrigin, JsonObject, WorkflowEvent } from '@autonomous/shared';
import { z } from 'zod';
import { parseForeignJson } from './foreign-json.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const sequence = z.number().int().min(1);

/** Fields of a line about its step. All events of a step have the same, but for `context`, which stands at the last. */
const stepSchema = z.strictObject({
  /** Sequence of the step's first event, which is the input that it follows from. */
  first: sequence,
  /** Sequence of its last event. */
  last: sequence,
  /** Link of the run's hash chain after the step. */
  hash: sha256,
  /** Hashes of what the step changed in the machine's context, by field. Absent: no machine took it, or a payload of it was erased. */
  context: z.record(z.string(), z.string()).optional(),
});

/** A line of `events.jsonl`. */
export const eventLineSchema = z.strictObject({
  /** Position in the run, from 1, without gaps. */
  sequence,
  type: z.string().min(1),
  /** `input`: it happened outside. `emitted`: it followed from the input before it. */
  origin: z.enum(['input', 'emitted']),
  /** ISO 8601, to the millisecond. */
  timestamp: z.iso.datetime(),
  id: z.string(),
  workflowRunId: z.string(),
  /** Keys in the order in which they were stored: `JSON.stringify` of it is the text that `payloadHash` covers. */
  payload: z.record(z.string(), z.unknown()).optional(),
  /** Only of a line without a payload: why the line is not searched for secrets yet; a later record has it whole. */
  leftOut: z.string().optional(),
  /**
   * `redacted`: marks stand in the place of secrets, and the payload is not the one that the hash covers. `erased`: the payload is
   * gone everywhere. Absent: the payload is whole.
   */
  withheld: z.enum(['redacted', 'erased']).optional(),
  payloadHash: sha256,
  step: stepSchema,
});

/** A step of a run as the hash chain has it. */
export interface ChainedStep {
  readonly first: number;
  readonly last: number;
  /** Hexadecimal. */
  readonly hash: string;
  /** Of each event, hexadecimal. */
  readonly payloadHashes: readonly string[];
  /** Sequences of events whose payload the database does not have as it was hashed, and why. Absent: none. */
  readonly withheld?: ReadonlyMap<number, 'redacted' | 'erased'>;
  /** As JSON; `null` when no machine took the step. */
  readonly context: Readonly<Record<string, string>> | null;
}

/** A line as it was read. */
export interface EventLine {
  readonly sequence: number;
  readonly type: string;
  readonly origin: EventOrigin;
  readonly timestamp: string;
  /** `null` where the line was left out. */
  readonly payload: JsonObject | null;
  readonly withheld: 'redacted' | 'erased' | null;
  readonly payloadHash: string;
  readonly step: z.infer<typeof stepSchema>;
}

/**
 * The log without its chain, one event a line, oldest first. The same events give the same bytes on every machine: `position`,
 * which counts over all runs of one database, is left out.
 */
export function renderEventLog(events: readonly WorkflowEvent[]): string {
  return events
    .map(({ sequence: at, type, origin, timestamp, id, workflowRunId, payload }) =>
      JSON.stringify({ sequence: at, type, origin, timestamp, id, workflowRunId, payload }),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * The log with its chain at the end of each line, where no text of others can change it.
 * @param rendered what {@link renderEventLog} gave
 * @param redacted the same without secrets, line by line
 * @param steps all steps of these events
 */
export function withChain(rendered: string, redacted: string, steps: readonly ChainedStep[]): string {
  const [raw, lines] = [linesOf(rendered), linesOf(redacted)];
  let text = '';
  for (const { first, last, hash, payloadHashes, withheld, context } of steps) {
    for (let at = first; at <= last; at += 1) {
      const line = lines[at - 1];
      if (line === undefined) return text;
      const why = withheld?.get(at) ?? (line === raw[at - 1] ? undefined : 'redacted');
      const step = { first, last, hash, ...(at === last && context !== null ? { context } : {}) };
      const chain = { ...(why === undefined ? {} : { withheld: why }), payloadHash: payloadHashes[at - first], step };
      text += `${line.slice(0, -1)},${JSON.stringify(chain).slice(1)}\n`;
    }
  }
  return text;
}

export type ReadEventLog =
  | { readonly ok: true; readonly lines: readonly EventLine[] }
  /** @property line its number in the file, from 1 */
  | { readonly ok: false; readonly line: number; readonly message: string };

/** Reads a log. It does not check the chain. Keys that it does not know are passed over. */
export function readEventLog(text: string, runId: string): ReadEventLog {
  const lines: EventLine[] = [];
  if (text !== '' && !text.endsWith('\n'))
    return { ok: false, line: text.split('\n').length, message: 'is cut off: it has no end' };
  for (const [index, written] of linesOf(text).entries()) {
    const line = index + 1;
    const json = parseForeignJson(written);
    if (!json.ok) return { ok: false, line, message: json.message };
    const parsed = readSchema.safeParse(json.value);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return { ok: false, line, message: `is not a line of an event log: ${issue?.path.join('.')} ${issue?.message}` };
    }
    const { sequence: at, type, origin, timestamp, workflowRunId, payload, withheld, payloadHash, step } = parsed.data;
    if (workflowRunId !== runId) return { ok: false, line, message: `is of run ${workflowRunId.slice(0, 100)}` };
    if (at !== line) return { ok: false, line, message: `is event ${at}, where event ${line} belongs` };
    lines.push({
      sequence: at,
      type,
      origin,
      timestamp,
      payload: (payload as JsonObject | undefined) ?? null, // It was read from JSON.
      withheld: withheld ?? null,
      payloadHash,
      step,
    });
  }
  return { ok: true, lines };
}

const readSchema = z.object({ ...eventLineSchema.shape, step: z.object(stepSchema.shape) });

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
