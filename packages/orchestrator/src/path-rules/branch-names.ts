/** Names of branches that the product takes, narrower than git's, and those that are its own. Pure. */

/** Longest branch name, characters: a ref is a file, and file names end at 255 bytes. */
const MAX_BRANCH_LENGTH = 200;

const BRANCH_PART = /^[\p{L}\p{N}_#=+@][\p{L}\p{N}._+@#=,-]*$/u;

/** True for a short branch name such as `main` or `autonomous/abc123-login`; narrower than what git itself allows. */
export function isBranchName(name: string): boolean {
  if (name.length === 0 || name.length > MAX_BRANCH_LENGTH || Buffer.byteLength(name) > 240) return false;
  if (name === '@' || name === 'HEAD' || name.startsWith('refs/')) return false;
  return name
    .split('/')
    .every((part) => BRANCH_PART.test(part) && !part.includes('..') && !/(?:\.|\.lock)$/i.test(part));
}

/** True for a branch of the product itself: of a run, of a merge that is checked, or with the record. */
export function isOwnBranch(name: string): boolean {
  return /^autonomous(?:-merge)?\//.test(name);
}
