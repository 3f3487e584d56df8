/** Ids of runs, such as `k7f3q2-9d8w4x`: short enough to be read out, long enough to be unique. */
import { createHash } from 'node:crypto';

/** Letters and digits that are not taken for each other. */
export const RUN_ID_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** The run id that belongs to a key: always the same. */
export function runIdOf(key: string): string {
  const digest = createHash('sha256').update(key).digest();
  const letters = Array.from(
    { length: 12 },
    (_, index) => RUN_ID_ALPHABET[(digest[index] ?? 0) % RUN_ID_ALPHABET.length],
  ).join('');
  return `${letters.slice(0, 6)}-${letters.slice(6)}`;
}
