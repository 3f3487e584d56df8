/**
 * Makes the folder of the package `autonomous-orchestrator`: server, dashboard, command line and demo, with all that they
 * need. It has no dependencies: unpacking it is installing it.
 */
import { cp, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { bundle, folderOf, ORCHESTRATOR } from './bundle.ts';
import { carryDeclarations } from './declarations.ts';
import { NODE_ENGINES, readGitFacts, readWorkspaceFacts, ROOT, SERVER_PACKAGE, type WorkspaceFacts } from './facts.ts';
import { listedBy } from './licences.ts';
import type { PackedFile } from './pack.ts';
import { packChecked, writeManifest } from './pack-checked.ts';

/**
 * The program, its demo, the entry points for other programs, each file that is started as a thread or a process, and each that has
 * functions for the worker that reads foreign text.
 */
export const SERVER_ENTRIES: readonly string[] = [
  'bin/autonomous.ts',
  'demo/main.ts',
  'src/main.ts',
  'src/library.ts',
  'src/workflow-library.ts',
  'src/lent-modules/xstate.ts',
  'src/lent-modules/zod.ts',
  'src/lent-modules/register.ts',
  'src/foreign-text/foreign-text-worker.ts',
  'src/composition/roadmap-reader.ts',
  'src/workflows/backlog/files.ts',
  'src/workflows/full-auto/plan.ts',
  'src/workflows/phased-plan/plan-file.ts',
  'src/workflows/roadmap-item/item-state.ts',
  'src/documents/plans/mermaid-worker.ts',
  'src/engine/crashes/event-loop-watch-worker.ts',
  'src/event-store/sqlite/integrity/quick-check-thread.ts',
  'src/event-store/sqlite/writer/sqlite-writer-thread.ts',
  'src/processes/program-starter-process.ts',
  'src/repository/git/git-launcher-process.ts',
  'src/web-pages/page-worker.ts',
];
const SQLITE_PLACE = 'vendor/better-sqlite3';
/** The server runs on Linux and the demo on macOS: binaries for other systems stay behind. */
const SQLITE_FILES = /^(?:lib|prebuilds)$|^(?:LICENSE|package\.json)$|^lib\/(?!win32)|^prebuilds\/(?!win32)/;

/**
 * Measured: 13.5 MB packed and 40.4 MB unpacked. The binaries of better-sqlite3 for six systems are more than half of the packed
 * bytes; pdf.js is there twice, for the pages that the server reads and for the dashboard.
 */
const LIMITS = { bytes: 14_000_000, unpackedBytes: 42_000_000 };

/**
 * Builds the package and leaves its tarball in a folder. The workspace has to be built before.
 * @param out absolute folder, made when it is missing
 * @throws {Error} with all that must not be published
 */
export async function packServer(out: string): Promise<PackedFile> {
  const facts = await readWorkspaceFacts();
  const { commit } = await readGitFacts();
  return packChecked(out, LIMITS, async (folder) => {
    const built = await bundle({ entries: SERVER_ENTRIES, out: folder, external: [], sqlite: SQLITE_PLACE });
    await carryDeclarations(
      ['orchestrator/library.d.ts', 'orchestrator/workflow-library.d.ts'],
      path.join(folder, 'types'),
    );
    await carrySqlite(path.join(folder, SQLITE_PLACE));
    for (const name of ['migrations', 'reporters', 'skeleton'])
      await cp(path.join(ORCHESTRATOR, name), path.join(folder, name), { recursive: true });
    await stageDemo(path.join(folder, 'demo'));
    await cp(path.join(ROOT, 'packages', 'ui', 'dist', 'app'), path.join(folder, 'dashboard'), {
      recursive: true,
      filter: (file) => path.basename(file) !== '.stamp',
    });
    await cp(path.join(import.meta.dirname, 'server-readme.md'), path.join(folder, 'README.md'));
    await writeManifest(folder, manifestOf(facts, commit));
    return {
      top: ['bin', 'dashboard', 'demo', 'dist', 'migrations', 'reporters', 'skeleton', 'types', 'vendor'],
      carried: [...built.packages, folderOf('better-sqlite3'), ...(await listedBy('ui'))],
    };
  });
}

function manifestOf({ version, repository, license }: WorkspaceFacts, commit: string | null): object {
  return {
    name: SERVER_PACKAGE,
    version,
    description: 'A self-hosted orchestrator for coding agents: server, dashboard and command line',
    keywords: ['agents', 'ai', 'orchestration', 'durable execution', 'statechart'],
    license,
    homepage: repository,
    repository: { type: 'git', url: `git+${repository}.git`, directory: 'packages/orchestrator' },
    type: 'module',
    bin: { [SERVER_PACKAGE]: 'bin/autonomous.js', autonomous: 'bin/autonomous.js' },
    exports: {
      './engine': { types: './types/orchestrator/library.d.ts', default: './dist/library.js' },
      './workflow': { types: './types/orchestrator/workflow-library.d.ts', default: './dist/workflow-library.js' },
      './package.json': './package.json',
    },
    engines: { node: NODE_ENGINES },
    os: ['linux', 'darwin'],
    cpu: ['x64', 'arm64'],
    publishConfig: { access: 'public' },
    ...(commit === null ? {} : { gitHead: commit }),
  };
}

async function carrySqlite(folder: string): Promise<void> {
  const source = folderOf('better-sqlite3');
  await mkdir(folder, { recursive: true });
  await cp(source, folder, {
    recursive: true,
    dereference: true,
    filter: (file) => file === source || SQLITE_FILES.test(path.relative(source, file)),
  });
}

async function stageDemo(folder: string): Promise<void> {
  const source = path.join(ORCHESTRATOR, 'demo');
  await cp(source, folder, { recursive: true, filter: (file) => !/^[^/]*\.ts$/.test(path.relative(source, file)) });
  // npm would install a file of this name under another one.
  await rename(path.join(folder, 'project', '.gitignore'), path.join(folder, 'project', 'gitignore'));
}
