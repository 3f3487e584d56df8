/**
 * Files of a checkout that were written, replaced or removed while a command ran. The system sets the time of a file's last
 * change, and code in a sandbox cannot: it shows a change also where the content was put back.
 */
import { lstat } from 'node:fs/promises';
import path from 'node:path';

/** By path; files that are not there have none. */
export type Stamps = ReadonlyMap<string, string>;

/** Names in evidence: the first of a sorted list. */
const MAX_NAMED = 20;
const AT_ONCE = 200;

/** @param folder absolute */
export async function stampsOf(folder: string, paths: readonly string[]): Promise<Stamps> {
  const stamps = new Map<string, string>();
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const some = paths.slice(from, from + AT_ONCE);
    const found = await Promise.all(some.map((each) => stampOf(path.join(folder, each))));
    for (const [index, stamp] of found.entries()) if (stamp !== null) stamps.set(some[index] ?? '', stamp);
  }
  return stamps;
}

/** At most 20 paths, sorted. */
export async function rewrittenSince(folder: string, before: Stamps): Promise<readonly string[]> {
  const paths = [...before.keys()];
  const after = await stampsOf(folder, paths);
  return paths
    .filter((each) => after.get(each) !== before.get(each))
    .sort()
    .slice(0, MAX_NAMED);
}

async function stampOf(file: string): Promise<string | null> {
  const found = await lstat(file, { bigint: true }).catch(() => null);
  return found === null ? null : `${found.ino} ${found.size} ${found.ctimeNs}`;
}
