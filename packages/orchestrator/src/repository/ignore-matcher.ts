/**
 * Which paths gitignore patterns match, decided by git itself. The patterns are copied into a shadow of the folder that
 * holds nothing else, so that git never looks into a folder which an agent could write.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type GitPlace, runGit, splitNul } from './git.ts';
import { excludesFile } from './repository-paths.ts';

export interface IgnoreMatcher {
  /** Says that this path is a folder: patterns such as `build/` match folders alone. */
  addFolder(path: string): Promise<void>;
  /** Takes the `.gitignore` of a folder that was added; `''` is the root. */
  addRules(folder: string, rules: Buffer): Promise<void>;
  /** Those of the paths that are ignored, by themselves or by a folder they lie in. */
  match(paths: readonly string[]): Promise<ReadonlySet<string>>;
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
  await writeFile(excludes, excludesFile(patterns));
  let hasRules = patterns.length > 0;
  return {
    async addFolder(path) {
      await mkdir(join(workTree, path), { recursive: true });
    },
    async addRules(folder, rules) {
      hasRules = true;
      await writeFile(join(workTree, folder, '.gitignore'), rules);
    },
    async match(paths) {
      if (!hasRules || paths.length === 0) return new Set();
      const { stdout } = await runGit(place, {
        workTree,
        config: [['core.excludesFile', excludes]],
        args: ['check-ignore', '--no-index', '-z', '--stdin'],
        // `./` keeps a path that begins with a colon from being read as a pathspec's magic.
        input: Buffer.from(paths.map((path) => `./${path}\0`).join('')),
        accept: [0, 1],
      });
      return new Set(splitNul(stdout).map((path) => path.toString('utf8', 2)));
    },
  };
}
