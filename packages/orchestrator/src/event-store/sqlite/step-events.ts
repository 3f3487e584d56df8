/**
 * The text of a step's events and what it says. A payload's place in the text is exact: what JSON.parse and
 * JSON.stringify do not give back byte for byte is damaged.
 */
import { type ChainEvent, sha256 } from '../hash-chain.ts';
import type { StepRow } from './packed-steps.ts';

const HASH_BYTES = 32;

/**
 * An element of the text: type, origin, payload, own time or 0, and whether the payload is not the one that was hashed: 1 when it
 * was erased, 2 when it comes from a record without its secrets.
 */
export type EventElement = readonly [type: string, origin: 0 | 1, payload: unknown, at?: number, withheld?: 1 | 2];

/** @throws {SyntaxError} when the text is not what the writer makes */
export function parseEvents(text: unknown): readonly EventElement[] {
  const parsed: unknown = JSON.parse(String(text));
  if (!Array.isArray(parsed) || parsed.length === 0 || !parsed.every(isEventElement)) {
    throw new SyntaxError('it is not a list of events');
  }
  return parsed;
}

export function isErased(element: EventElement): boolean {
  return element[4] === 1 && element[2] === null;
}

/** Whether secrets in the payload were replaced by marks before it came here. */
export function isRedacted(element: EventElement): boolean {
  return element[4] === 2;
}

/** Hashes of the payloads, hexadecimal. */
export function payloadHashes(hashes: Buffer): readonly string[] {
  return Array.from({ length: hashes.length / HASH_BYTES }, (_, index) => hashAt(hashes, index));
}

/**
 * The events of a step as the hash chain has them.
 * @param elements what {@link parseEvents} gave of its text
 * @throws {SyntaxError} when the text is not what the writer makes, to the byte
 */
export function chainEvents(
  { events, hashes }: Pick<StepRow, 'events' | 'hashes'>,
  elements: readonly EventElement[],
): readonly ChainEvent[] {
  if (!Buffer.isBuffer(hashes) || hashes.length !== elements.length * HASH_BYTES) {
    throw new SyntaxError('it has more or fewer events than hashes');
  }
  const texts: string[] = [];
  const chained = elements.map((element, index): ChainEvent => {
    const payload = JSON.stringify(element[2]);
    texts.push(writeElement(element, payload));
    return {
      type: element[0],
      origin: element[1],
      payload: isErased(element) || isRedacted(element) ? null : payload,
      payloadHash: hashAt(hashes, index),
      at: element[3] ?? 0,
    };
  });
  if (`[${texts.join(',')}]` !== events) throw new SyntaxError('it is written in another way');
  return chained;
}

/** The text of a step without the payload of one event; `null` when it is not there or erased already. */
export function eraseEvent({ events, sequence }: Pick<StepRow, 'events' | 'sequence'>, erased: number): string | null {
  const elements = parseEvents(events);
  const index = erased - (sequence - elements.length + 1);
  const element = elements[index];
  if (element === undefined || isErased(element)) return null;
  const [type, origin, , at = 0] = element;
  return JSON.stringify(elements.with(index, [type, origin, null, at, 1]));
}

function writeElement([type, origin, , ...rest]: EventElement, payload: string): string {
  const end = rest.length === 0 ? '' : `,${rest.join(',')}`;
  return `[${JSON.stringify(type)},${origin},${payload}${end}]`;
}

function hashAt(hashes: Buffer, index: number): string {
  return hashes.toString('hex', index * HASH_BYTES, (index + 1) * HASH_BYTES);
}

function isEventElement(value: unknown): value is EventElement {
  if (!Array.isArray(value)) return false;
  const [type, origin, payload, at, withheld] = value as unknown[];
  return (
    value.length <= 5 &&
    typeof type === 'string' &&
    (origin === 0 || origin === 1) &&
    typeof payload === 'object' &&
    (payload !== null || withheld === 1) &&
    (at === undefined || typeof at === 'number') &&
    (withheld === undefined || withheld === 1 || withheld === 2)
  );
}

/**
 * Where the first event is that is not what was written, in a text that JSON can't read or would write in another way.
 * @returns its place among the events, from 0, and how many events the step has
 */
export function findDamage({ events, hashes }: Pick<StepRow, 'events' | 'hashes'>): {
  readonly index: number;
  readonly count: number;
} {
  const count = Buffer.isBuffer(hashes) ? Math.max(Math.floor(hashes.length / HASH_BYTES), 1) : 1;
  const elements = typeof events === 'string' ? splitElements(events) : [];
  const index = elements.findIndex((text, at) => !isWritten(text, hashes, at));
  return { index: Math.min(index === -1 ? elements.length : index, count - 1), count };
}

function isWritten(text: string, hashes: Buffer, at: number): boolean {
  try {
    const element: unknown = JSON.parse(text);
    if (!isEventElement(element)) return false;
    const payload = JSON.stringify(element[2]);
    const isWithheld = isErased(element) || isRedacted(element);
    return writeElement(element, payload) === text && (isWithheld || sha256(payload) === hashAt(hashes, at));
  } catch {
    return false;
  }
}

/** The texts of a list's elements, as far as its brackets and strings can be followed; the last may be cut off. */
function splitElements(text: string): readonly string[] {
  const elements: string[] = [];
  let depth = 0;
  let isText = false;
  let start = 1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isText) {
      if (character === '\\') at += 1;
      else if (character === '"') isText = false;
    } else if (character === '"') isText = true;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') {
      depth -= 1;
      if (depth === 1) {
        elements.push(text.slice(start, at + 1));
        start = at + 2;
      }
    }
  }
  if (depth > 0) elements.push(text.slice(start));
  return elements;
}
