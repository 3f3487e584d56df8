/** Refuses stored data whose format has another number than those that this program reads, or none. Pure. */

/** The last commit whose program reads data with a smaller number, or without one. No release has written any. */
const LAST_COMMIT_OF_SMALLER = '3b643746';

/**
 * Names what is wrong with the number of a format, to be read after the name of what has it; `null` when this program reads it.
 * @param found anything but a positive integer counts as a missing number
 * @param reads the newest that this program reads
 * @param first the smallest that it reads. Default: no other one
 */
export function faultOfFormat(found: unknown, reads: number, first = reads): string | null {
  const number = Number.isSafeInteger(found) && Number(found) > 0 ? Number(found) : null;
  if (number !== null && number >= first && number <= reads) return null;
  const has = number === null ? 'has no format number' : `has format ${number}`;
  const wanted = first === reads ? `format ${reads}` : `formats ${first} to ${reads}`;
  const way =
    number !== null && number > reads
      ? 'A newer version of this program wrote it: start that version.'
      : `The last commit of this program that reads it is ${LAST_COMMIT_OF_SMALLER}.`;
  return `${has}, and this program reads ${wanted}. ${way}`;
}
