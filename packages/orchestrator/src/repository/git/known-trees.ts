/** Trees of commits and their entries, cached by object id: an id always names the same content. */
import { NotFound } from '@autonomous/shared';
import { ownedPaths } from '../../documents/owned-files.ts';
import { type GitPlace, objectFacts } from './git.ts';
import { listTree, makeCodeTree } from './git-trees.ts';
import type { TreeListing } from './tree-listing.ts';
import { RecentAnswers } from '../recent-answers.ts';
import { isObjectId } from '../repository-paths.ts';
import { localRef, readRef } from './git-refs.ts';

/** Trees of commits that are known without asking git. */
const TREES_KEPT = 2_000;
/** Files of the listings that are cached: a step of a run reads from the same trees again and again. */
const LISTED_FILES_KEPT = 700_000;

export class KnownTrees {
  readonly #trees = new RecentAnswers<string>(TREES_KEPT, () => 1);
  readonly #codeTrees = new RecentAnswers<string>(TREES_KEPT, () => 1);
  readonly #listings = new RecentAnswers<TreeListing>(LISTED_FILES_KEPT, ({ length }) => 1 + length);

  /**
   * @param treeish id of a commit or tree, or the short name of a branch; a branch is resolved anew each time
   * @throws {NotFound} when the mirror has no such commit, tree or branch
   */
  async treeOf(place: GitPlace, treeish: string): Promise<string> {
    if (!isObjectId(treeish)) return readTreeOf(place, treeish);
    return remembered(this.#trees, place, treeish, () => readTreeOf(place, treeish));
  }

  /**
   * The tree without `.autonomous/runs/`, `.autonomous/memory.md` and engine-owned files.
   * @param owned paths and patterns of these
   */
  async codeTree(place: GitPlace, treeish: string, owned: readonly string[] = []): Promise<string> {
    const tree = await this.treeOf(place, treeish);
    const key = owned.length === 0 ? tree : `${tree} ${JSON.stringify(owned)}`;
    return remembered(this.#codeTrees, place, key, () => makeCodeTree(place, tree, ownedPaths(owned)));
  }

  async listing(place: GitPlace, treeish: string): Promise<TreeListing> {
    const tree = await this.treeOf(place, treeish);
    return remembered(this.#listings, place, tree, () => listTree(place, tree));
  }
}

/** The cached answer for an object of the mirror, or for an object and what is asked of it, else the one that `ask` gives. */
async function remembered<Value>(
  answers: RecentAnswers<Value>,
  { gitDir }: GitPlace,
  id: string,
  ask: () => Promise<Value>,
): Promise<Value> {
  const key = `${gitDir} ${id}`;
  const known = answers.get(key);
  if (known !== undefined) return known;
  const answer = await ask();
  answers.keep(key, answer);
  return answer;
}

async function readTreeOf(place: GitPlace, treeish: string): Promise<string> {
  const commit = isObjectId(treeish) ? treeish : await readRef(place, localRef(treeish));
  const [tree] = commit === null ? [] : await objectFacts(place, [`${commit}^{tree}`]);
  if (!tree)
    throw new NotFound(`The mirror has no commit, tree or branch '${treeish}'; fetch the project, or choose another`);
  return tree.oid;
}
