/** Ids that nothing else has. */
import { randomInt } from 'node:crypto';
import { RUN_ID_ALPHABET } from '../core/run-id.ts';

/** Letters and digits that are not confused when they are read out. */
export function randomName(length: number): string {
  return Array.from({ length }, () => RUN_ID_ALPHABET[randomInt(RUN_ID_ALPHABET.length)]).join('');
}

/** Such as `k7f3q2-9d8w4x`: short enough to be read out, long enough to be unique. */
export function newRunId(): string {
  return `${randomName(6)}-${randomName(6)}`;
}
