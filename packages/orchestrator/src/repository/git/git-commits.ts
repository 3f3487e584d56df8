/** Commits of a mirror's branches: made once per effect key, and read back with it. */
import { Conflict, InvalidRequest } from '@autonomous/shared';
import { type GitPlace, gitText, runGit } from './git.ts';
import { assertCommit, localRef, moveRef, readRef } from './git-refs.ts';
import type { BranchCommit, CommitRequest } from '../repository.ts';
import { assertObjectId } from '../repository-paths.ts';

/** Author and committer of a commit. */
export interface Author {
  readonly name: string;
  readonly email: string;
}

/** A repetition comes soon after its first try: commits further back are not searched for an effect key. */
const SEARCHED_COMMITS = 200;
const EFFECT_KEY = 'Effect-Key: ';

/** A request that was checked: ref of its branch, its parents, the trailer with its effect key, its date. */
export interface CheckedCommit {
  readonly request: CommitRequest;
  readonly ref: string;
  readonly parents: readonly string[];
  readonly trailer: string;
  readonly at: Date;
}

/** Checks a request; git is not asked. @throws {InvalidRequest} for a name, id, effect key or date that is not valid */
export function checkCommit(request: CommitRequest): CheckedCommit {
  const ref = localRef(request.branch);
  const parents = [request.parent, ...(request.secondParent === undefined ? [] : [request.secondParent])].map(
    assertObjectId,
  );
  const trailer = effectTrailer(request.effectKey);
  const at = new Date(request.at);
  if (Number.isNaN(at.getTime())) throw new InvalidRequest(`'${request.at}' is not an ISO 8601 date`);
  return { request, ref, parents, trailer, at };
}

/**
 * Commits a tree on a branch by compare-and-swap. A commit with this effect key, tree and parents that is already on the
 * branch is returned again, and the branch stays as it is.
 * @throws {Conflict} when the branch is elsewhere
 */
export async function commitOnBranch(
  place: GitPlace,
  author: Author,
  { request, ref, parents, trailer, at }: CheckedCommit,
): Promise<string> {
  const known = await readBranch(place, ref);
  const isSame = (other: BranchCommit): boolean =>
    other.effectKey === request.effectKey &&
    other.tree === request.tree &&
    other.parents.join(' ') === parents.join(' ');
  const found = known.find(isSame);
  if (found !== undefined) return found.id;
  const head = known[0]?.id ?? null;
  if (head !== null && head !== (request.replaces ?? request.parent)) {
    throw new Conflict(`Branch ${request.branch} is at ${head}, not at ${request.parent} where the commit was to go`);
  }
  const made = await commitTree(
    place,
    { author, at },
    assertObjectId(request.tree),
    parents,
    withTrailer(request.message, trailer),
  );
  try {
    await moveRef(place, ref, made, head);
  } catch (error) {
    // Somebody was quicker: either this same commit, or another.
    if (error instanceof Conflict && (await readBranch(place, ref)).some(isSame)) return made;
    throw error;
  }
  return made;
}

/** Makes a commit of a tree; no ref is moved. @returns its id, the same for the same arguments */
export function commitTree(
  place: GitPlace,
  by: { readonly author: Author; readonly at: Date },
  tree: string,
  parents: readonly string[],
  message: string,
): Promise<string> {
  const date = `@${Math.floor(by.at.getTime() / 1000)} +0000`;
  const { name, email } = by.author;
  return gitText(place, {
    args: ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])],
    input: message.replaceAll('\0', ''),
    env: {
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
      GIT_COMMITTER_DATE: date,
    },
  });
}

/**
 * The first-parent commits of a branch after `commit`, newest first: empty when the branch is at it.
 * @returns `null` when there is no such branch, or `commit` is not among its newest 200 first-parent commits
 */
export async function commitsAfter(
  place: GitPlace,
  branch: string,
  commit: string,
): Promise<readonly BranchCommit[] | null> {
  const commits = await readBranch(place, localRef(branch));
  const index = commits.findIndex(({ id }) => id === commit);
  return index === -1 ? null : commits.slice(0, index);
}

/**
 * The first-parent commits that lead to `head` and are not contained in `base`, newest first.
 * @throws {NotFound} when the mirror lacks one of the commits
 */
export async function commitsBetween(place: GitPlace, base: string, head: string): Promise<readonly BranchCommit[]> {
  await Promise.all([assertCommit(place, base), assertCommit(place, head)]);
  return readCommits(place, `^${base}`, head);
}

/** @throws {InvalidRequest} for a key that could not be found again in a commit's last line */
function effectTrailer(effectKey: string): string {
  if (!/^[\x21-\x7e]{1,500}$/.test(effectKey))
    throw new InvalidRequest('An effect key is 1 to 500 printable characters without spaces');
  return `${EFFECT_KEY}${effectKey}`;
}

/** Puts the trailer last: beneath other trailers of the message, else as a paragraph of its own. */
function withTrailer(message: string, trailer: string): string {
  const text = message.trimEnd();
  const lastParagraph = /\n\n(?:[A-Za-z][A-Za-z-]*: \S[^\n]*(?:\n|$))+$/.test(text);
  return `${text}${lastParagraph ? '\n' : '\n\n'}${trailer}\n`;
}

/** The branch's newest first-parent commits, newest first; none when there is no such branch. */
async function readBranch(place: GitPlace, ref: string): Promise<readonly BranchCommit[]> {
  const head = await readRef(place, ref);
  return head === null ? [] : readCommits(place, `--max-count=${SEARCHED_COMMITS}`, head);
}

/** First-parent commits that lead to `head`, newest first. @param less leaves some out, by number or by the id of a commit */
async function readCommits(place: GitPlace, less: string, head: string): Promise<readonly BranchCommit[]> {
  const { stdout } = await runGit(place, {
    args: ['log', '-z', '--format=%H %T %P%n%B', '--first-parent', less, head, '--'],
    dependsOn: [head],
  });
  return stdout
    .toString('utf8')
    .split('\0')
    .filter((text) => text !== '')
    .map(parseCommit);
}

function parseCommit(text: string): BranchCommit {
  const [ids = '', ...message] = text.trimEnd().split('\n');
  const [id = '', tree = '', ...parents] = ids.split(' ').filter((part) => part !== '');
  // Only the last line counts: it is written by this file, what stands above may come from an agent.
  const last = message.length > 1 ? (message.at(-1) ?? '') : '';
  return { id, tree, parents, effectKey: last.startsWith(EFFECT_KEY) ? last.slice(EFFECT_KEY.length) : null };
}
