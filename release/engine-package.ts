/**
 * Makes the package `autonomous-engine`: the durable engine for programs of others, without the server. XState, Zod and
 * better-sqlite3 are installed beside it, since such programs use them as well.
 */
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundle, ORCHESTRATOR } from './bundle.ts';
import { carryDeclarations } from './declarations.ts';
import { ENGINE_PACKAGE, NODE_ENGINES, readGitFacts, readWorkspaceFacts, ROOT, type WorkspaceFacts } from './facts.ts';
import type { PackedFile } from './pack.ts';
import { packChecked, writeManifest } from './pack-checked.ts';

const ENTRIES: readonly string[] = [
  'src/library.ts',
  'src/event-store/sqlite/integrity/quick-check-thread.ts',
  'src/event-store/sqlite/writer/sqlite-writer-thread.ts',
];
const INSTALLED_BESIDE: readonly string[] = ['better-sqlite3', 'xstate', 'zod'];

const LIMITS = { bytes: 400_000, unpackedBytes: 2_500_000 };

/**
 * Builds the package and leaves its tarball in a folder. The workspace has to be built before.
 * @param out absolute folder, made when it is missing
 * @throws {Error} with all that must not be published
 */
export async function packEngine(out: string): Promise<PackedFile> {
  const facts = await readWorkspaceFacts();
  const { commit } = await readGitFacts();
  return packChecked(out, LIMITS, async (folder) => {
    const { packages } = await bundle({ entries: ENTRIES, out: folder, external: INSTALLED_BESIDE });
    await carryDeclarations(['orchestrator/library.d.ts'], path.join(folder, 'types'));
    await cp(path.join(ORCHESTRATOR, 'migrations'), path.join(folder, 'migrations'), { recursive: true });
    const guide = await readFile(path.join(ROOT, 'docs', 'engine-as-a-library.md'), 'utf8');
    await writeFile(path.join(folder, 'README.md'), withAddresses(guide, facts.repository));
    await writeManifest(folder, await manifestOf(facts, commit));
    return { top: ['dist', 'migrations', 'types'], carried: packages };
  });
}

/** Links to other documents of the repository lead to where it is shown. */
function withAddresses(markdown: string, repository: string): string {
  return markdown.replaceAll(/\]\((?!https:|#)([\w./-]+)/g, `](${repository}/blob/main/docs/$1`);
}

async function manifestOf({ version, repository, license }: WorkspaceFacts, commit: string | null): Promise<object> {
  // The workspace's own manifest.
  const { dependencies } = JSON.parse(await readFile(path.join(ORCHESTRATOR, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return {
    name: ENGINE_PACKAGE,
    version,
    description: 'Makes any plain XState v5 machine durable: event log in SQLite, timers, activities, replay, forks',
    keywords: ['xstate', 'statechart', 'durable execution', 'workflow', 'sqlite'],
    license,
    homepage: repository,
    repository: { type: 'git', url: `git+${repository}.git`, directory: 'packages/orchestrator' },
    type: 'module',
    exports: {
      '.': { types: './types/orchestrator/library.d.ts', default: './dist/library.js' },
      './package.json': './package.json',
    },
    engines: { node: NODE_ENGINES },
    dependencies: Object.fromEntries(INSTALLED_BESIDE.map((name) => [name, dependencies[name]])),
    publishConfig: { access: 'public' },
    ...(commit === null ? {} : { gitHead: commit }),
  };
}
