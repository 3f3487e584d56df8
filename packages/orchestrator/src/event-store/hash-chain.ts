/**
 * The SHA-256 chain over the steps of a run: it notices what SQLite does not, a changed, lost or reordered event.
 * A link covers the hash of each payload, not the payload, so that a payload can be erased without breaking the chain.
 */
import { hash } from 'node:crypto';

/** A step as it is stored. Hashes are hexadecimal. */
export interface ChainStep {
  /** Sequence of its last event. */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly events: readonly ChainEvent[];
  readonly hash: string;
}

export interface ChainEvent {
  readonly type: string;
  /** 0 came from outside, 1 followed from it. */
  readonly origin: 0 | 1;
  /** JSON text; `null` when it was erased and only its hash is left. */
  readonly payload: string | null;
  readonly payloadHash: string;
  /** Milliseconds since 1970, where it is not the step's; else 0. */
  readonly at: number;
}

export interface ChainTip {
  readonly sequence: number;
  /** Hexadecimal. */
  readonly hash: string;
}

export interface ChainFault {
  /** Sequence of the first event that is not as it was stored. */
  readonly sequence: number;
  readonly message: string;
}

/** Tip of the chain before the first event of a run. */
export const CHAIN_START: ChainTip = { sequence: 0, hash: '0'.repeat(64) };

export function sha256(text: string): string {
  return hash('sha256', text);
}

/**
 * The link of a step, piece by piece: a JSON list, since no name or type can imitate its separators.
 * `[previous hash, run, first sequence, time, [type, origin, payload hash], …]`, an event's own time at its end.
 */
export function beginLink(previous: string, runId: string, firstSequence: number, at: number): string {
  return `["${previous}",${JSON.stringify(runId)},${firstSequence},${at}`;
}

/** @param type as JSON text */
export function linkEvent(type: string, origin: number, payloadHash: string, at: number): string {
  return at === 0 ? `,[${type},${origin},"${payloadHash}"]` : `,[${type},${origin},"${payloadHash}",${at}]`;
}

export function endLink(link: string): string {
  return sha256(`${link}]`);
}

/** The hash that a step must have when its predecessor has `previous`. */
export function linkStep(previous: string, runId: string, step: Omit<ChainStep, 'hash'>): string {
  let link = beginLink(previous, runId, step.sequence - step.events.length + 1, step.at);
  for (const { type, origin, payloadHash, at } of step.events) {
    link += linkEvent(JSON.stringify(type), origin, payloadHash, at);
  }
  return endLink(link);
}

/** Follows the chain of one run, step by step; holds nothing but its end. */
export class ChainReader {
  readonly #runId: string;
  #last: ChainTip;

  /** @param after where to begin; what came before is taken for granted */
  constructor(runId: string, after: ChainTip = CHAIN_START) {
    this.#runId = runId;
    this.#last = after;
  }

  /** The last step that was sound. */
  get last(): ChainTip {
    return this.#last;
  }

  /** @returns what is wrong with the step that comes next; `null` when nothing is */
  next(step: ChainStep): ChainFault | null {
    const first = this.#last.sequence + 1;
    const given = step.sequence - step.events.length + 1;
    if (given !== first) {
      return { sequence: first, message: `event ${first} is missing, ${given} comes instead` };
    }
    for (const [index, { payload, payloadHash }] of step.events.entries()) {
      if (payload === null || sha256(payload) === payloadHash) continue;
      const sequence = first + index;
      return { sequence, message: `the payload of event ${sequence} is not what was stored` };
    }
    if (linkStep(this.#last.hash, this.#runId, step) !== step.hash) {
      return {
        sequence: first,
        message: `${nameEvents(first, step.sequence)} not what was stored, or not what follows event ${first - 1}`,
      };
    }
    this.#last = { sequence: step.sequence, hash: step.hash };
    return null;
  }

  /**
   * @param tip what the run's last event must be, known from elsewhere: without it a cut-off end goes unnoticed
   * @returns what is wrong with the end; `null` when nothing is
   */
  end(tip: ChainTip): ChainFault | null {
    const { sequence, hash: last } = this.#last;
    if (sequence < tip.sequence) {
      return { sequence: sequence + 1, message: `events ${sequence + 1} to ${tip.sequence} are missing` };
    }
    if (sequence > tip.sequence) {
      const known = tip.sequence + 1;
      return { sequence, message: `${storedEvents(known, sequence)}, though the run ends at event ${tip.sequence}` };
    }
    if (last === tip.hash) return null;
    return { sequence: Math.max(sequence, 1), message: `event ${sequence} is not the last one that was stored` };
  }
}

function storedEvents(first: number, last: number): string {
  return first === last ? `event ${first} is stored` : `events ${first} to ${last} are stored`;
}

function nameEvents(first: number, last: number): string {
  return first === last ? `event ${first} is` : `one of the events ${first} to ${last} is`;
}
