/**
 * Builds the screens, the server and the extension, packs `autonomous-orchestrator-<version>.tgz` and
 * `autonomous-<version>.vsix`, and looks into the latter: what is not meant to be there, or missing, fails. Its `server.json`
 * names the server that it installs by the hash of the tarball. Both files can be published as they are.
 *
 * Usage: npm run package [-- --out FOLDER]
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { installLocked } from '../tools/locked-folder.mjs';
import { ROOT, readWorkspaceFacts } from './facts.ts';
import { listedBy, NOTICES, noticesOf, readCarried } from './licences.ts';
import type { PackedFile } from './pack.ts';
import { packServer } from './server-package.ts';
import { findFaults } from './vsix-contents.ts';

const execute = promisify(execFile);
const EXTENSION = path.join(ROOT, 'packages', 'vscode-extension');
/** Packed; Mermaid alone is 1 MB of it. */
const MAX_BYTES = 4 * 1024 * 1024;
/** What the editor has no use for. */
const OF_THE_WORKSPACE: ReadonlySet<string> = new Set([
  'private',
  'exports',
  'scripts',
  'dependencies',
  'devDependencies',
]);
/** `.vscodeignore` says what is packed; these are large or of the workspace alone. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['node_modules', 'src', '.turbo']);

interface Manifest {
  readonly name: string;
  readonly version: string;
}

export interface PackedExtension {
  /** Absolute path. */
  readonly vsix: string;
  readonly server: PackedFile;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: 'string' } } });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const folder = path.resolve(process.env['AUTONOMOUS_CWD'] ?? '.', values.out ?? ROOT);
  try {
    await packageExtension(say, folder);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * @param say is told what was packed
 * @param out where the files are put; the server's tarball lies beside the extension
 * @returns path of the extension, and facts of the server's tarball
 * @throws when something does not build or the package holds what it should not
 */
export async function packageExtension(say: (line: string) => void, out: string = ROOT): Promise<PackedExtension> {
  const executables = installLocked(import.meta.dirname);
  await inWorkspace('turbo', [
    'run',
    'build',
    '--filter',
    `./${path.relative(ROOT, EXTENSION)}`,
    '--filter',
    '@autonomous/orchestrator',
    '--output-logs',
    'errors-only',
  ]);
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-vsix-'));
  try {
    const server = await packServer(out);
    say(`packed ${server.file}: ${Math.ceil(server.bytes / 1024)} kB`);
    const manifest = await stage(folder, server);
    const vsix = path.join(out, `${manifest.name}-${manifest.version}.vsix`);
    await rm(vsix, { force: true });
    await run(path.join(executables, 'vsce'), ['package', '--no-dependencies', '--out', vsix], folder);
    say(`packed ${path.relative(ROOT, vsix)}: ${await inspect(vsix)}`);
    return { vsix, server };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Puts what is published, by a manifest without what is the workspace's, into a folder of its own. */
async function stage(folder: string, server: PackedFile): Promise<Manifest> {
  const isOurs = (file: string): boolean => !LEFT_BEHIND.has(path.relative(EXTENSION, file));
  await cp(EXTENSION, folder, { recursive: true, filter: isOurs });
  await putPicturesIn(path.join(folder, 'README.md'));
  await writeFile(path.join(folder, 'server.json'), serverJson(server));
  const carried = [...(await listedBy('ui')), ...(await listedBy('vscode-extension'))];
  await writeFile(path.join(folder, NOTICES), noticesOf(await readCarried(carried)));
  const { repository } = await readWorkspaceFacts();
  const file = path.join(folder, 'package.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest & Record<string, unknown>;
  const published = Object.entries(manifest).filter(([field]) => !OF_THE_WORKSPACE.has(field));
  const address = { type: 'git', url: `${repository}.git`, directory: path.relative(ROOT, EXTENSION) };
  const content = { ...Object.fromEntries(published), repository: address, homepage: repository };
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`);
  return manifest;
}

/** The server that this very extension installs: package, version, hash as npm writes it, and size of the tarball in bytes. */
function serverJson({ name, version, integrity, bytes }: PackedFile): string {
  return `${JSON.stringify({ name, version, integrity, bytes }, null, 2)}\n`;
}

/** A package is read where the repository's files are not, so the README holds its pictures itself. */
async function putPicturesIn(readme: string): Promise<void> {
  const text = await readFile(readme, 'utf8');
  let shown = text;
  for (const [, file = ''] of text.matchAll(/^!\[[^\]]*\]\(((?!https:)[^)]*\.png)\)$/gm)) {
    const picture = await readFile(path.resolve(EXTENSION, file), 'base64');
    shown = shown.replace(`(${file})`, () => `(data:image/png;base64,${picture})`);
  }
  await writeFile(readme, shown);
}

/**
 * @returns a line about the package
 * @throws with all that stands in the way of publishing it
 */
async function inspect(vsix: string): Promise<string> {
  const { unpack } = await import('./unpack-vsix.ts');
  const packed = await readFile(vsix);
  const contents = await unpack(packed);
  const faults = findFaults(contents);
  if (packed.length > MAX_BYTES) faults.push(`it has ${packed.length} bytes, and ${MAX_BYTES} at most are wanted`);
  if (faults.length > 0) throw new Error(`${path.basename(vsix)} is not fit to publish:\n  ${faults.join('\n  ')}`);
  return `${contents.size} files, ${Math.ceil(packed.length / 1024)} kB`;
}

async function inWorkspace(command: string, args: readonly string[]): Promise<void> {
  await run(path.join(ROOT, 'node_modules', '.bin', command), args, ROOT);
}

/** @throws with what the command said */
async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await execute(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(
      `${path.basename(command)} ${args[0]} failed:\n${`${stdout}\n${stderr}`.trim().split('\n').slice(-30).join('\n')}`,
      {
        cause: error,
      },
    );
  }
}
