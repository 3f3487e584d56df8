/**
 * The SHA-256 chain over the events of a run: it notices what SQLite does not, a changed, lost or reordered event.
 * A link covers the hash of its payload, not the payload, so that a payload can be erased without breaking the chain.
 */
import { hash } from 'node:crypto';
import type { EventOrigin } from '@autonomous/shared';

export interface ChainLink {
  readonly workflowRunId: string;
  readonly sequence: number;
  readonly type: string;
  readonly origin: EventOrigin;
  /** ISO 8601. */
  readonly timestamp: string;
  /** JSON text; `null` when it was erased and only its hash is left. */
  readonly payload: string | null;
  readonly payloadHash: string;
  readonly hash: string;
}

export interface ChainTip {
  readonly sequence: number;
  readonly hash: string;
}

/** What comes before the first event of a run. */
export const CHAIN_START: ChainTip = { sequence: 0, hash: '0'.repeat(64) };

export interface ChainFault {
  /** Sequence of the first event that is not as it was stored. */
  readonly sequence: number;
  readonly message: string;
}

/** The link of an event whose predecessor has the hash `previous`. */
export function linkEvent(
  previous: string,
  event: Omit<ChainLink, 'payloadHash' | 'hash' | 'payload'> & { readonly payload: string },
): ChainLink & { readonly payload: string } {
  const payloadHash = sha256(event.payload);
  return { ...event, payloadHash, hash: linkHash(previous, { ...event, payloadHash }) };
}

/**
 * Checks the events of one run from its first to its last, in order.
 * @param tip what the run's last event must be, known from elsewhere: without it a cut-off end goes unnoticed
 * @returns the first fault; `null` when there is none
 */
export function verifyChain(links: Iterable<ChainLink>, tip?: ChainTip): ChainFault | null {
  let last = CHAIN_START;
  for (const link of links) {
    const { sequence } = link;
    if (sequence !== last.sequence + 1) {
      return {
        sequence: last.sequence + 1,
        message: `event ${last.sequence + 1} is missing, ${sequence} comes instead`,
      };
    }
    if (link.payload !== null && sha256(link.payload) !== link.payloadHash) {
      return { sequence, message: `the payload of event ${sequence} is not what was stored` };
    }
    if (linkHash(last.hash, link) !== link.hash) {
      return { sequence, message: `event ${sequence} is not what was stored, or does not follow its predecessor` };
    }
    last = { sequence, hash: link.hash };
  }
  if (tip !== undefined && last.sequence < tip.sequence) {
    return { sequence: last.sequence + 1, message: `events ${last.sequence + 1} to ${tip.sequence} are missing` };
  }
  if (tip !== undefined && (last.sequence > tip.sequence || last.hash !== tip.hash)) {
    return { sequence: last.sequence, message: `event ${last.sequence} is not the last one that was stored` };
  }
  return null;
}

function linkHash(previous: string, link: Omit<ChainLink, 'payload' | 'hash'>): string {
  // A JSON list, since no name or type can imitate its separators.
  return sha256(
    JSON.stringify([
      previous,
      link.workflowRunId,
      link.sequence,
      link.type,
      link.origin,
      Date.parse(link.timestamp),
      link.payloadHash,
    ]),
  );
}

function sha256(text: string): string {
  return hash('sha256', text);
}
