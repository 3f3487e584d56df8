/**
 * Compiles the sources of `packages/orchestrator` and all that they import into few files of JavaScript. A file of ours that
 * is started by its path (a worker, a child process) keeps its place: `src/a/b.ts` becomes `dist/a/b.js`.
 */
import { createRequire, isBuiltin } from 'node:module';
import path from 'node:path';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { packageFolderOf } from '../tools/carried-packages.mjs';

const ROOT = path.dirname(import.meta.dirname);
export const ORCHESTRATOR = path.join(ROOT, 'packages', 'orchestrator');
/** Stands for the address of the package's folder until it is known in which folder a piece of code ends up. */
const PACKAGE_ADDRESS = '__AUTONOMOUS_PACKAGE_ADDRESS__';
const SQLITE = 'better-sqlite3';
const LOADER = /^const require = createRequire\(import\.meta\.url\);$/m;

export interface BundleOptions {
  /** Paths from `packages/orchestrator`, such as `src/main.ts`. */
  readonly entries: readonly string[];
  /** Absolute folder of the package. */
  readonly out: string;
  /** Packages that are installed beside this one instead of being carried. */
  readonly external: readonly string[];
  /** Path of the carried better-sqlite3 from the package's folder; absent where it is external. */
  readonly sqlite?: string;
}

export interface Bundle {
  /** Absolute folders of the npm packages from which code was taken, sorted. */
  readonly packages: readonly string[];
}

/** @throws {Error} when an import cannot be resolved: nothing is left to be found at run time */
export async function bundle(options: BundleOptions): Promise<Bundle> {
  const input = Object.fromEntries(
    options.entries.map((entry) => [placeInPackage(entry).slice(0, -'.js'.length), path.join(ORCHESTRATOR, entry)]),
  );
  const faults: string[] = [];
  const built = await rolldown({
    input,
    cwd: ORCHESTRATOR,
    platform: 'node',
    external: (id) => options.external.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [ownSources(), ...(options.sqlite === undefined ? [] : [carriedSqlite(options.sqlite)])],
    // The 'main' of some packages (UMD) hides its imports from the bundler.
    resolve: { mainFields: ['module', 'main'] },
    onLog(level, log) {
      if (log.code === 'UNRESOLVED_IMPORT' && OPTIONAL.some((name) => log.message.includes(`'${name}'`))) return;
      if (log.code === 'UNRESOLVED_IMPORT' || level === 'warn') faults.push(log.message);
    },
  });
  const { output } = await built.write({
    dir: options.out,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'dist/chunks/[name]-[hash].js',
    minify: { compress: true, mangle: false, codegen: false },
    comments: { legal: true },
    sourcemap: false,
  });
  await built.close();
  const unresolved = faults.filter((fault) => fault.includes('UNRESOLVED') || fault.includes('resolve'));
  if (unresolved.length > 0) throw new Error(`The bundle is not complete:\n${unresolved.join('\n')}`);
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
  refuseMissing(chunks, options.external);
  const packages = chunks.flatMap(({ moduleIds }) => moduleIds.map(packageFolderOf)).filter((name) => name !== null);
  return { packages: [...new Set(packages)].toSorted() };
}

/** Modules that libraries try to load and do without. */
const OPTIONAL: readonly string[] = ['bufferutil', 'utf-8-validate', 'canvas', 'elkjs/lib/elk.bundled.js', 'chokidar'];

function placeInPackage(source: string): string {
  return source.replace(/^src\//, 'dist/').replace(/\.ts$/, '.js');
}

/** Keeps what a file of ours knows of its own place, and shows the bundler what is loaded by `require`. */
function ownSources(): Plugin {
  return {
    name: 'own-sources',
    transform(code, id) {
      const source = path.relative(ORCHESTRATOR, id);
      if (source.startsWith('..') || source.includes('node_modules')) return undefined;
      const kept = code.replace(LOADER, '');
      if (!kept.includes('import.meta.url')) return kept === code ? undefined : { code: kept };
      const address = `new URL(${JSON.stringify(placeInPackage(source))}, ${PACKAGE_ADDRESS}).href`;
      return { code: kept.replaceAll(/\bimport\.meta\.url\b/g, address) };
    },
    renderChunk(code, { fileName }) {
      if (!code.includes(PACKAGE_ADDRESS)) return undefined;
      const up = '../'.repeat(fileName.split('/').length - 1);
      return { code: code.replaceAll(PACKAGE_ADDRESS, `new URL("${up}", import.meta.url)`) };
    },
  };
}

/** The library finds its binaries beside its own files, so it is carried as it is and loaded from there. */
function carriedSqlite(place: string): Plugin {
  const id = '\0carried-sqlite.cjs';
  return {
    name: 'carried-sqlite',
    resolveId: (name) => (name === SQLITE ? id : undefined),
    load: (name) =>
      name === id
        ? {
            code: `const { createRequire } = require('node:module');
const { fileURLToPath } = require('node:url');
const file = fileURLToPath(new URL(${JSON.stringify(`${place}/lib/index.js`)}, ${PACKAGE_ADDRESS}));
module.exports = createRequire(file)(file);`,
            moduleType: 'js',
          }
        : undefined,
  };
}

/** Folder of an installed package, as the orchestrator finds it. */
export function folderOf(name: string): string {
  const require = createRequire(path.join(ORCHESTRATOR, 'package.json'));
  return path.dirname(require.resolve(`${name}/package.json`));
}

/** @throws {Error} naming what would have to be installed beside the package */
function refuseMissing(chunks: readonly OutputChunk[], external: readonly string[]): void {
  const files = new Set(chunks.map(({ fileName }) => fileName));
  const missing = chunks
    .flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
    .filter((name) => !files.has(name) && !isBuiltin(name) && !OPTIONAL.includes(name))
    .filter((name) => !external.some((other) => name === other || name.startsWith(`${other}/`)));
  if (missing.length > 0) throw new Error(`The bundle does not carry ${[...new Set(missing)].join(', ')}.`);
}
