/** Digests by which concerns, and what a person accepts of them, are compared. Pure. */
import { createHash } from 'node:crypto';
import type { Concern, RaisedConcerns } from '@autonomous/shared';

/** SHA-256 of a JSON value. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** Concerns as a pause shows them; the digest covers all of them. */
export function raisedOf(concerns: readonly Concern[]): RaisedConcerns {
  return { hash: digestOf(concerns.map(({ kind, hash }) => [kind, hash])), concerns };
}
