/** Commits that lead to objects of runs, so that the record can bring these along wherever it is cloned. */
import { type GitPlace, gitText, objectFacts } from './git.ts';
import { type Author, commitTree } from './git-commits.ts';
import { isObjectId } from '../repository-paths.ts';

/** The same on every server: a commit of the same objects is the same one. */
const AT = new Date(0);
const MESSAGE = 'Objects of a run\n';

/**
 * A commit whose parents are the newest of these commits, and whose tree has each of these trees under its id.
 * @returns `null` when the mirror has none of them
 */
export async function gatherObjects(place: GitPlace, author: Author, ids: readonly string[]): Promise<string | null> {
  const { commits, trees } = await present(place, ids);
  if (commits.length === 0 && trees.length === 0) return null;
  const lines = trees.map((id) => `040000 tree ${id}\t${id}\n`).join('');
  const tree = await gitText(place, { args: ['mktree'], input: lines });
  return commitTree(place, { author, at: AT }, tree, await newestOf(place, commits), MESSAGE);
}

async function present(
  place: GitPlace,
  ids: readonly string[],
): Promise<{ readonly commits: readonly string[]; readonly trees: readonly string[] }> {
  const unique = [...new Set(ids)].sort();
  const objects = await objectFacts(place, unique);
  const ofType = (wanted: string): readonly string[] =>
    objects.flatMap((object) => (object?.type === wanted ? [object.oid] : []));
  return { commits: ofType('commit'), trees: ofType('tree') };
}

/** Without those that another one leads to. */
async function newestOf(place: GitPlace, commits: readonly string[]): Promise<readonly string[]> {
  if (commits.length < 2) return commits;
  const text = await gitText(place, { args: ['merge-base', '--independent', '--end-of-options', ...commits] });
  return text.split('\n').filter(isObjectId).sort();
}
