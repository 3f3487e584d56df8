/** The test files that a change can reach: by the import graph, and by the table of what is reached otherwise. */
import { spawnSync } from 'node:child_process';
import { distancesTo, readImportGraph } from './import-graph.mjs';

const TEST = /\.test\.(?:ts|mjs)$/;
const ALL = /./;

/** Changed files that tests find by a listing, by a computed name, or that the run itself needs, with the tests that they reach. */
const REACHED_OTHERWISE = [
  [
    /^(?:package\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|vitest\.config\.ts|tools\/[^/]+\.setup\.mjs|tools\/toolchain\/.*)$/,
    ALL,
  ],
  [/^packages\/[^/]+\/package\.json$/, ALL],
  [/\.md$/, /(?:^|\/)docs[^/]*\.test\.mjs$/],
  // Tests of the house read every source file, and histories are found in the folder of their workflow.
  [/^packages\/.*\.tsx?$/, /\/(?:layers|workflow-names|slow-expressions)\.test\.(?:ts|mjs)$/],
  [/\/golden\//, /\/golden[^/]*\.test\.ts$/],
  [/^packages\/orchestrator\/(?:examples|demo)\//, /\/(?:examples?|demo)[^/]*\.test\.ts$/],
];

/**
 * @param root folder of the workspace
 * @param ref commit to compare the work tree with
 * @returns the test files to run, those that are left out, and why, for a person
 * @throws {Error} when git does not know `ref`
 */
export function testsSince(root, ref) {
  const changed = changedSince(root, ref);
  const graph = readImportGraph(root);
  const tests = [...graph.keys()].filter((file) => TEST.test(file)).sort();
  const reached = distancesTo(graph, changed);
  const files = tests.filter(
    (test) =>
      reached.has(test) ||
      REACHED_OTHERWISE.some(([from, to]) => to.test(test) && changed.some((file) => from.test(file))),
  );
  const count = `${changed.length} ${changed.length === 1 ? 'file differs' : 'files differ'} from ${ref}`;
  return {
    files,
    leftOut: tests.filter((test) => !files.includes(test)),
    why: files.length === 0 ? `no test to run: ${count}, and no test reaches it` : `not reached: ${count}`,
  };
}

/** Files that were changed, added or deleted, committed or not. */
function changedSince(root, ref) {
  const names = (...args) => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 100_000_000 });
    if (status !== 0) throw new Error(`--since ${ref}: git knows no such commit here.`);
    return stdout.split('\0').filter((name) => name !== '');
  };
  return [
    ...names('diff', '--name-only', '--no-renames', '-z', ref, '--'),
    ...names('ls-files', '-z', '--others', '--exclude-standard'),
  ];
}
