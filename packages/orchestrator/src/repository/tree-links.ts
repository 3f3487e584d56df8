/**
 * Decides which symbolic links of a tree may be made in a folder: relative ones that stay within the tree, also through other
 * links. It reads the tree alone and never a file system.
 */
import { eachInSlices } from '../foreign-text/foreign-text-slices.ts';
import { isDotGit } from './repository-paths.ts';

/** Longest target of a link, bytes: no system opens a longer path. */
export const MAX_TARGET_BYTES = 4_096;
/** As Linux counts: a path that leads through more links cannot be opened. */
const MAX_LINKS_FOLLOWED = 40;
/** Bounds the time that a hostile tree takes. Honest links take a step for each part of their target. */
const MAX_STEPS = 4_000_000;

/**
 * Says why links are not made; those that may be made are not in it. A target need not exist.
 * @param links all links of a tree: stored targets by path
 */
export async function linkFaults(links: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
  const faults = new Map<string, string>();
  const budget = { steps: MAX_STEPS };
  await eachInSlices(links, ([path, target]) => {
    const fault = path.includes('\uFFFD')
      ? 'its name is not valid UTF-8'
      : isBehindLink(path, links)
        ? 'it lies behind another symlink'
        : targetFault(path, target, links, budget);
    if (fault !== null) faults.set(path, fault);
  });
  return faults;
}

function isBehindLink(path: string, links: ReadonlyMap<string, string>): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    if (links.has(path.slice(0, end))) return true;
  }
  return false;
}

function targetFault(
  path: string,
  wanted: string,
  links: ReadonlyMap<string, string>,
  budget: { steps: number },
): string | null {
  /** Paths of the folders on the way, the root left out. */
  const at: string[] = [];
  for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) at.push(path.slice(0, end));
  const rest: string[] = [];
  let followed = 0;
  const follow = (target: string): string | null => {
    // git ends a target at a NUL.
    if (target === '' || /[\0\uFFFD]/.test(target)) return 'its target is not a valid path';
    if (target.startsWith('/')) return 'its target is an absolute path';
    if (Buffer.byteLength(target) > MAX_TARGET_BYTES) return `its target is longer than ${MAX_TARGET_BYTES} bytes`;
    if (followed++ > MAX_LINKS_FOLLOWED) return 'it leads back to itself';
    rest.push(...target.split('/').toReversed());
    return null;
  };
  let fault = follow(wanted);
  while (fault === null) {
    const part = rest.pop();
    if (part === undefined) break;
    const here = at.at(-1) ?? '';
    budget.steps -= 1 + (here.length >> 6);
    if (budget.steps < 0) return 'the project has too many symlinks to look through';
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (at.length === 0) return 'it leads out of the project';
      at.pop();
      continue;
    }
    if (isDotGit(part)) return "it leads to git's own files";
    const next = here === '' ? part : `${here}/${part}`;
    if (next.length > MAX_TARGET_BYTES) return 'it leads to a path that is too long';
    const target = links.get(next);
    if (target === undefined) at.push(next);
    else fault = follow(target);
  }
  return fault;
}
