/** One test run over all packages. Tests use real processes, git and SQLite, hence the long limits (tools/patience.setup.mjs). */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineConfig, type TestUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SLOW_TESTS } from './tools/slow-tests.mjs';

const setupFiles = ['patience', 'surroundings'].map((name) =>
  path.join(import.meta.dirname, 'tools', `${name}.setup.mjs`),
);
/** Node itself loads the sources, as it does in the product: each test file starts in a quarter of the time that Vite needs. */
const byNode: TestUserConfig = { experimental: { viteModuleRunner: false, nodeLoader: false } };

/**
 * Starts the slow files first, the slowest of all at once, so that no worker is left alone with one of them at the end. The
 * others stay as they are, project by project: a worker takes files of one project alone.
 */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => SLOW_TESTS[path.relative(import.meta.dirname, moduleId)] ?? 0;
    return (await super.sort(files)).toSorted((a, b) => seconds(b) - seconds(a));
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    // Files of a worker share its process; tools/surroundings.setup.mjs fails a file that leaves it changed.
    isolate: false,
    sequence: { sequencer: SlowestFirst },
    // A worker computes for two fifths of its time and waits for child processes and the disk in the rest of it.
    maxWorkers: availableParallelism() + 3,
    projects: [
      package_('shared', byNode),
      package_('orchestrator', byNode),
      // Vite compiles their JSX and puts the stand-in of the editor in place.
      package_('ui'),
      // `vi.mock` of the editor holds for what is loaded after it, so that these files share nothing.
      package_('vscode-extension', { isolate: true }),
      project('tools', 'tools', ['*.test.mjs'], byNode),
      project('e2e', 'e2e', ['*.test.ts'], byNode),
      project('release', 'release', ['*.test.ts'], byNode),
    ],
  },
});

function package_(name: string, how?: TestUserConfig) {
  const folders = 'src,test,demo,bench,crash,upgrade,simulation,conformance,real-repositories';
  return project(name, `packages/${name}`, [`{${folders}}/**/*.test.ts`], how);
}

function project(name: string, root: string, include: string[], how: TestUserConfig = {}) {
  return { extends: true as const, test: { name, root, include, setupFiles, ...how } };
}
