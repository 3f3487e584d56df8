/** The hash by which approvals and caches name a text. Pure. */
import { createHash } from 'node:crypto';

/** SHA-256 of a file's bytes, in hex. */
export function hashOfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** SHA-256 of a document's UTF-8 text, in hex: the hash that an approval names. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
