/** Reads a run from its record and checks it line by line: the hash chain, its end, and the file as it was written. */
import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { type EventLine, readEventLog } from '../documents/event-log.ts';
import type { RecordedTip } from '../documents/run-context.ts';
import type { NewEvent } from '../event-store/event-store.ts';
import { ChainReader, type ChainStep, sha256 } from '../event-store/hash-chain.ts';
import type { ContextHashes } from '../core/context-hash.ts';

/** A run as its record has it. */
export interface RecordedRun {
  readonly runId: string;
  /** At least one, oldest first, each with at least one event. */
  readonly steps: readonly RecordedStep[];
  readonly tip: RecordedTip;
}

export interface RecordedStep {
  readonly events: readonly (NewEvent & { readonly sequence: number })[];
  /** `null` where no machine took it. */
  readonly context: ContextHashes | null;
  /** Hexadecimal. */
  readonly hash: string;
}

export type ReadRecordedRun =
  | { readonly ok: true; readonly run: RecordedRun }
  /** @property message to be read after "Run r-1: ", such as "line 7 of its events.jsonl is not JSON" */
  | { readonly ok: false; readonly message: string };

/**
 * @param log text of `events.jsonl`
 * @param tip what `context.json` says of the last event
 */
export function readRecordedRun(runId: string, log: string, tip: RecordedTip): ReadRecordedRun {
  const read = readEventLog(log, runId);
  if (!read.ok) return fault(`line ${read.line} of its events.jsonl ${read.message}`);
  const { lines } = read;
  const open = lines.find(({ payload }) => payload === null);
  if (open)
    return fault(`line ${open.sequence} of its events.jsonl was not searched for secrets and is not in the record`);
  if (lines.length === 0) return fault('its events.jsonl is empty');
  const groups = groupedByStep(lines);
  const wrong = faultOfChain(runId, groups, tip);
  if (wrong !== null) return fault(wrong);
  if (sha256(log) !== tip.log)
    return fault('its events.jsonl is not the one that its context.json names: a line was changed');
  return { ok: true, run: { runId, steps: groups.map((group) => toStep(group)), tip } };
}

/** All events of a recorded run, as readers get them. */
export function eventsOf({ runId, steps }: RecordedRun): readonly WorkflowEvent[] {
  return steps.flatMap(({ events }) =>
    events.map(({ sequence, type, origin, payload, timestamp, withheld }) => {
      const isErased = withheld?.why === 'erased';
      return {
        id: `${runId}.${sequence}`,
        position: 0,
        workflowRunId: runId,
        sequence,
        type: isErased ? 'ERASED' : type,
        origin,
        payload: isErased ? { type } : payload,
        timestamp,
      };
    }),
  );
}

function fault(message: string): ReadRecordedRun {
  return { ok: false, message };
}

/** Lines that name the same step. */
function groupedByStep(lines: readonly EventLine[]): readonly (readonly EventLine[])[] {
  const groups: EventLine[][] = [];
  for (const line of lines) {
    const group = groups.at(-1);
    if (group !== undefined && group[0]?.step.first === line.step.first) group.push(line);
    else groups.push([line]);
  }
  return groups;
}

function toStep(lines: readonly EventLine[]): RecordedStep {
  const step = lines.at(-1)?.step;
  return {
    events: lines.map((line) => ({
      sequence: line.sequence,
      type: typeOf(line),
      origin: line.origin,
      payload: line.withheld === 'erased' ? {} : payloadOf(line),
      json: line.withheld === 'erased' ? 'null' : JSON.stringify(payloadOf(line)),
      timestamp: line.timestamp,
      ...(line.withheld === null ? {} : { withheld: { why: line.withheld, payloadHash: line.payloadHash } }),
    })),
    context: step?.context ?? null,
    hash: step?.hash ?? '',
  };
}

function payloadOf({ payload }: EventLine): JsonObject {
  return payload ?? {};
}

/** An erased event says what it was. */
function typeOf({ withheld, type, payload }: EventLine): string {
  return withheld === 'erased' && typeof payload?.['type'] === 'string' ? payload['type'] : type;
}

function faultOfChain(runId: string, groups: readonly (readonly EventLine[])[], tip: RecordedTip): string | null {
  const reader = new ChainReader(runId);
  for (const lines of groups) {
    const [first] = lines;
    const last = lines.at(-1);
    const step = first?.step;
    if (first === undefined || step === undefined || last === undefined) continue;
    const isWhole = step.first === first.sequence && step.last === last.sequence;
    if (!isWhole || lines.some((line) => line.step.last !== step.last || line.step.hash !== step.hash))
      return `line ${last.sequence} of its events.jsonl ends within a step: lines ${step.first} to ${step.last} belong together`;
    const wrong = reader.next(chainStepOf(lines, step));
    if (wrong !== null)
      return `line ${wrong.sequence} of its events.jsonl does not fit the hash chain: ${wrong.message}`;
  }
  const wrong = reader.end(tip);
  return wrong === null ? null : `its events.jsonl does not end where its context.json says: ${wrong.message}`;
}

function chainStepOf(lines: readonly EventLine[], step: { readonly last: number; readonly hash: string }): ChainStep {
  const at = Date.parse(lines.at(-1)?.timestamp ?? '');
  return {
    sequence: step.last,
    at,
    hash: step.hash,
    events: lines.map((line) => {
      const own = Date.parse(line.timestamp);
      return {
        type: typeOf(line),
        origin: line.origin === 'emitted' ? 1 : 0,
        payload: line.withheld === null ? JSON.stringify(line.payload) : null,
        payloadHash: line.payloadHash,
        at: own === at ? 0 : own,
      };
    }),
  };
}
