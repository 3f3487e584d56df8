/**
 * Builds the screens and the extension, packs `autonomous-<version>.vsix` and looks into it: what is not meant to be
 * there, or missing, fails. The file can be given to Open VSX as it is.
 *
 * Usage: npm run package [-- --out FOLDER]
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { EXTENSION, installTools, ROOT } from './harness/install.ts';
import { findFaults } from './vsix-contents.ts';

const execute = promisify(execFile);
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
 * @param out where the file is put
 * @returns its path
 * @throws when something does not build or the package holds what it should not
 */
export async function packageExtension(say: (line: string) => void, out: string = ROOT): Promise<string> {
  const executables = installTools();
  await inWorkspace('turbo', [
    'run',
    'build',
    '--filter',
    `./${path.relative(ROOT, EXTENSION)}`,
    '--output-logs',
    'errors-only',
  ]);
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-vsix-'));
  try {
    const manifest = await stage(folder);
    await mkdir(out, { recursive: true });
    const vsix = path.join(out, `${manifest.name}-${manifest.version}.vsix`);
    await rm(vsix, { force: true });
    await run(
      path.join(executables, 'vsce'),
      ['package', '--no-dependencies', '--allow-missing-repository', '--out', vsix],
      folder,
    );
    say(`packed ${path.relative(ROOT, vsix)}: ${await inspect(vsix)}`);
    return vsix;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Puts what is published, by a manifest without what is the workspace's, into a folder of its own. */
async function stage(folder: string): Promise<Manifest> {
  const isOurs = (file: string): boolean => !LEFT_BEHIND.has(path.relative(EXTENSION, file));
  await cp(EXTENSION, folder, { recursive: true, filter: isOurs });
  await leavePicturesOut(path.join(folder, 'README.md'));
  const file = path.join(folder, 'package.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest & Record<string, unknown>;
  const published = Object.entries(manifest).filter(([field]) => !OF_THE_WORKSPACE.has(field));
  await writeFile(file, `${JSON.stringify(Object.fromEntries(published), null, 2)}\n`);
  return manifest;
}

/** They lie in the repository, which a package without its address cannot name: holes would be shown in their place. */
async function leavePicturesOut(readme: string): Promise<void> {
  const text = await readFile(readme, 'utf8');
  await writeFile(readme, text.replaceAll(/^!\[[^\]]*\]\((?!https:)[^)]*\)\n\n/gm, ''));
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
