/** Builds the tree of the second check: the result, with everything that decides about tests as in the base commit. */
import { findInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { matchesGlob, reachOfCheck } from '../../project-analysis/check-reach.ts';
import { isCode, isTestPath, pathsToRestore } from '../../project-analysis/project-commands.ts';
import { hasRunnerSections } from '../../project-analysis/runner-sections.ts';
import type { ChangedPart } from '../../project-analysis/test-parts.ts';
import { usedByTests } from '../../project-analysis/used-by-tests.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import type { CheckInput } from '../types.ts';
import type { KnownBaseline } from './baseline-cache.ts';
import type { ActivityTools } from '../tools.ts';

/** Of a file that is read for what it names. */
const MAX_FILE_BYTES = 2 ** 20;
/** Of all files that one question reads. */
const MAX_BYTES = 32 * 2 ** 20;
/** Of a changed file that holds tests beside the product. */
const MAX_MIXED_BYTES = 8 * 2 ** 20;

export interface WithBaseTests {
  readonly tree: string;
  /** Paths that differ from the result. */
  readonly restored: readonly string[];
  /** Files that the run changed and that may be tests or used by tests. They stay as in the result. */
  readonly doubtful: readonly string[];
}

/** @param known the base commit's baseline: its report names files that hold tests, whatever they are called */
export async function withBaseTests(
  tools: ActivityTools,
  project: RemoteProject,
  input: CheckInput,
  resultTree: string,
  { baseline, files: reported, installed = [] }: KnownBaseline,
): Promise<WithBaseTests> {
  const { repository } = tools;
  const [basePaths, resultPaths, changes] = await Promise.all([
    repository.listFiles(project, input.baseCommit),
    repository.listFiles(project, input.commit),
    repository.changes(project, input.baseCommit, input.commit),
  ]);
  const changed = changes.map((change) => change.path);
  const readAt = (treeish: string) => (paths: readonly string[]) =>
    repository.readFiles(project, treeish, paths, MAX_FILE_BYTES, MAX_BYTES);
  const [readBase, readResult] = [readAt(input.baseCommit), readAt(input.commit)];

  const reach = await reachOfCheck({ command: input.test.command, basePaths, changed, read: readBase });
  const use = await usedByTests({
    basePaths,
    resultPaths,
    changed,
    reported,
    installed,
    runner: baseline.tests?.runner ?? '',
    basePassed: baseline.passed,
    globs: reach.globs,
    matchesGlob,
    readBase,
    readResult,
  });
  // Runners of compiled languages count their tests, and do not name the files.
  const hasTests =
    reported.length > 0 ||
    (baseline.tests?.executed ?? 0) > 0 ||
    (await findInSlices(basePaths, isTestPath)) !== undefined;
  const paths = pathsToRestore(
    basePaths,
    resultPaths,
    changed,
    new Set([...reach.restored, ...use.restored]),
    hasTests,
  );
  const isRestored = new Set(paths);
  const rest = changed.filter((file) => !isRestored.has(file));
  const parts = await mendedParts(tools, project, input, { files: rest, hasTests });
  const tree = await repository.restorePaths(project, resultTree, input.baseCommit, paths);
  const corrected = Object.fromEntries(parts.corrected);
  return {
    tree: parts.corrected.size === 0 ? tree : await repository.writeFiles(project, tree, corrected),
    restored: [...paths, ...parts.corrected.keys()].sort(),
    doubtful: [...new Set([...reach.doubtful, ...use.doubtful, ...parts.doubtful])]
      .filter((file) => !isRestored.has(file))
      .sort(),
  };
}

/** Restores only the test and runner sections of files that hold product code as well. */
async function mendedParts(
  { repository }: ActivityTools,
  project: RemoteProject,
  { baseCommit, commit }: CheckInput,
  { files, hasTests }: { readonly files: readonly string[]; readonly hasTests: boolean },
): Promise<{ readonly corrected: ReadonlyMap<string, string | null>; readonly doubtful: readonly string[] }> {
  const read = (path: string) =>
    Promise.all([baseCommit, commit].map((at) => repository.readFile(project, at, path))).then(
      ([base = null, result = null]): ChangedPart => ({ path, base, result }),
    );
  const code = files.filter((file) => isCode(file) && !hasRunnerSections(file));
  const base = await repository.readFiles(project, baseCommit, code, MAX_MIXED_BYTES, MAX_BYTES);
  const found = await readForeignText('filesWithTests', [base]);
  const parts: ChangedPart[] = [];
  // Without tests in the base, the result's tests are the only ones, and they need the result's configuration.
  for (const path of files.filter(hasRunnerSections)) {
    const part = await read(path);
    if (part.base !== null || hasTests) parts.push(part);
  }
  for (const path of found.ok ? found.value : []) parts.push(await read(path));
  const restored = await readForeignText('restoreTestParts', [parts]);
  const unread = [...(found.ok ? [] : code), ...(restored.ok ? [] : parts.map(({ path }) => path))];
  const { corrected, doubtful } = restored.ok ? restored.value : { corrected: new Map(), doubtful: [] };
  return { corrected, doubtful: [...doubtful, ...unread] };
}
