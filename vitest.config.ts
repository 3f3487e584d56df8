/** One test run over all packages. Tests use real processes, git and SQLite, hence the long limits (tools/patience.setup.mjs). */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineConfig } from 'vitest/config';

const packages = ['shared', 'orchestrator', 'ui', 'vscode-extension'];
const setupFiles = [path.join(import.meta.dirname, 'tools', 'patience.setup.mjs')];

export default defineConfig({
  test: {
    pool: 'forks',
    // A worker computes for two fifths of its time and waits for child processes and the disk in the rest of it.
    maxWorkers: availableParallelism() + 2,
    projects: [
      ...packages.map((name) =>
        project(name, `packages/${name}`, [
          '{src,test,demo,bench,crash,simulation,conformance,real-repositories}/**/*.test.ts',
        ]),
      ),
      project('tools', 'tools', ['*.test.mjs']),
      project('e2e', 'e2e', ['*.test.ts']),
      project('release', 'release', ['*.test.ts']),
    ],
  },
});

function project(name: string, root: string, include: string[]) {
  return { extends: true as const, test: { name, root, include, setupFiles } };
}
