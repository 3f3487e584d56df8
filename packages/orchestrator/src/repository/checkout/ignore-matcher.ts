/**
 * Decides which paths gitignore patterns match, by asking git itself. The patterns are copied into a shadow folder that
 * contains nothing else, so that git never reads a folder that an agent can write.
 */
import { mkdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import { GitFailure, type GitPlace, runGit, splitNul } from '../git/git.ts';
import { excludesFile } from '../repository-paths.ts';

export interface IgnoreMatcher {
  /** Says that this path is a folder: patterns such as `build/` match folders alone. */
  addFolder(path: string): void;
  /** Takes the `.gitignore` of a folder; `''` is the root. */
  addRules(folder: string, rules: Buffer): Promise<void>;
  /** Those of the paths that are ignored, by themselves or by a folder they lie in. */
  match(paths: readonly string[]): Promise<ReadonlySet<string>>;
}

/** git's matching takes time that grows with the power of how often `**` stands in a pattern. */
const MOST_WILD = 4;
const MATCH_LIMIT_MS = 60_000;
/** Some ten milliseconds' worth of reading and writing. */
const PATHS_A_CALL = 10_000;

/** Whether a gitignore pattern holds `**` so often that matching it may take for ever. */
export function isTooWild(pattern: string): boolean {
  return pattern.split('**').length - 1 > MOST_WILD;
}

/** The rules of a `.gitignore` without the patterns that are too wild, and those. */
export function withoutTooWild(rules: Buffer): { readonly rules: Buffer; readonly left: readonly string[] } {
  const lines = rules.toString('latin1').split('\n');
  const left = lines.filter(isTooWild);
  if (left.length === 0) return { rules, left };
  return { rules: Buffer.from(lines.filter((line) => !isTooWild(line)).join('\n'), 'latin1'), left };
}

/**
 * @param shadow absolute path of an empty or absent folder of the server, kept for as long as the matcher is used
 * @param patterns gitignore patterns that hold for the whole tree
 */
export async function createIgnoreMatcher(
  place: GitPlace,
  shadow: string,
  patterns: readonly string[],
): Promise<IgnoreMatcher> {
  const workTree = join(shadow, 'tree');
  const excludes = join(shadow, 'excludes');
  await mkdir(workTree, { recursive: true });
  const wild = patterns.find(isTooWild);
  if (wild !== undefined)
    throw new NeedsHuman(
      'agent_failed',
      `excludePaths contains the pattern '${wild.slice(0, 100)}' with more than ${MOST_WILD} times **; write it shorter, then retry.`,
    );
  await writeFile(excludes, excludesFile(patterns));
  let hasRules = patterns.length > 0;
  const checkIgnore = async (paths: readonly string[], timeoutMs: number): Promise<Buffer> => {
    const { stdout } = await runGit(place, {
      timeoutMs,
      workTree,
      config: [['core.excludesFile', excludes]],
      args: ['check-ignore', '--no-index', '-z', '--stdin'],
      // `./` keeps a path that begins with a colon from being read as a pathspec's magic.
      input: Buffer.from(paths.map((path) => `./${path}\0`).join('')),
      accept: [0, 1],
    }).catch((error: unknown) => {
      if (!(error instanceof GitFailure)) throw error;
      throw new NeedsHuman(
        'agent_failed',
        `The ignore patterns of the project cannot be matched (${error.stderr.trim().slice(0, 200) || 'git was ended'}). Simplify .gitignore and excludePaths, then retry.`,
        { cause: error },
      );
    });
    return stdout;
  };
  return {
    addFolder(path) {
      // A call on another thread takes several times as long as the folder.
      if (hasRules) mkdirSync(join(workTree, path), { recursive: true });
    },
    async addRules(folder, rules) {
      hasRules = true;
      await mkdir(join(workTree, folder), { recursive: true });
      await writeFile(join(workTree, folder, '.gitignore'), rules);
    },
    async match(paths) {
      const matched = new Set<string>();
      if (!hasRules) return matched;
      const until = performance.now() + MATCH_LIMIT_MS;
      for (let at = 0; at < paths.length; at += PATHS_A_CALL) {
        const stdout = await checkIgnore(paths.slice(at, at + PATHS_A_CALL), Math.max(until - performance.now(), 1));
        for (const path of splitNul(stdout)) matched.add(path.toString('utf8', 2));
      }
      return matched;
    },
  };
}
