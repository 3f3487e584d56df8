/**
 * Packs a mirror and removes what nothing needs any more. git does so by itself where it is let; in a mirror that only
 * plumbing writes to, and whose runs know objects that no branch leads to, it is done here.
 */
import { type GitPlace, gitText, objectFacts, runGit } from './git.ts';
import { isObjectId } from '../repository-paths.ts';

/** Below, a mirror is left as it is. */
const LOOSE_OBJECTS = 1_000;
const PACKS = 20;
/** Objects that nothing leads to are removed when they are older. */
const UNREACHABLE_FOR = '30.days.ago';
/** A pack of a very large repository takes minutes. What is ended by the limit is done again the next time. */
const LIMIT_MS = 30 * 60_000;
const KEPT = 'refs/kept/';

/**
 * @param keep gives the ids of objects that must stay although no branch may lead to them; those that are no objects are ignored
 * @returns whether there was anything to pack
 */
export async function packMirror(place: GitPlace, keep: () => Promise<Iterable<string>>): Promise<boolean> {
  const counted = await gitText(place, { args: ['count-objects', '-v'] });
  const figures = new Map(counted.split('\n').map((line) => line.split(': ', 2) as [string, string]));
  const isSmall = Number(figures.get('count')) < LOOSE_OBJECTS && Number(figures.get('packs')) < PACKS;
  if (isSmall) return false;
  await keepOnly(place, await keep());
  await runGit(place, {
    args: ['gc', '--quiet', '--force', `--prune=${UNREACHABLE_FOR}`],
    config: [['pack.threads', '1']],
    timeoutMs: LIMIT_MS,
  });
  return true;
}

/** Refs lead to all of these objects, and to no others that were kept before. */
async function keepOnly(place: GitPlace, ids: Iterable<string>): Promise<void> {
  const objects = await objectFacts(place, [...new Set(ids)].filter(isObjectId));
  const present = new Set(objects.flatMap((object) => object?.oid ?? []));
  const refs = await gitText(place, { args: ['for-each-ref', '--format=%(refname)', KEPT] });
  const before = new Set(refs.split('\n').filter((ref) => ref !== ''));
  const changes = [
    ...[...before].filter((ref) => !present.has(ref.slice(KEPT.length))).map((ref) => `delete ${ref}`),
    ...[...present].filter((id) => !before.has(KEPT + id)).map((id) => `create ${KEPT}${id} ${id}`),
  ];
  if (changes.length > 0) await runGit(place, { args: ['update-ref', '--stdin'], input: `${changes.join('\n')}\n` });
}
