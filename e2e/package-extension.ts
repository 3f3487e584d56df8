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
const PACKAGE = '@autonomous/vscode-extension';
/** Packed; Mermaid alone is 1 MB of it. */
const MAX_BYTES = 4 * 1024 * 1024;
/** What the editor has no use for, and a registry of extensions would show. */
const OF_THE_WORKSPACE = ['private', 'type', 'exports', 'scripts', 'files', 'dependencies', 'devDependencies'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  /** What belongs into the package, as npm's field of the same name: folders and files. */
  readonly files?: readonly string[];
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
  await inWorkspace('turbo', ['run', 'build', '--filter', PACKAGE, '--output-logs', 'errors-only']);
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-vsix-'));
  try {
    const manifest = await stage(folder);
    await mkdir(out, { recursive: true });
    const vsix = path.join(out, `${manifest.name}-${manifest.version}.vsix`);
    await rm(vsix, { force: true });
    await run(path.join(executables, 'vsce'), ['package', '--no-dependencies', '--out', vsix], folder);
    say(`packed ${path.relative(ROOT, vsix)}: ${await inspect(vsix)}`);
    return vsix;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Puts what is published, and only that, into a folder of its own. */
async function stage(folder: string): Promise<Manifest> {
  const own = JSON.parse(await readFile(path.join(EXTENSION, 'package.json'), 'utf8')) as Manifest & Record<string, unknown>;
  const published: Record<string, unknown> = { ...own, name: own.name.replace(/^@[^/]+\/(?:vscode-extension)?/, '') || 'autonomous' };
  for (const field of OF_THE_WORKSPACE) delete published[field];
  await writeFile(path.join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  for (const file of own.files ?? []) await cp(path.join(EXTENSION, file), path.join(folder, file), { recursive: true });
  await cp(path.join(ROOT, 'LICENSE'), path.join(folder, 'LICENSE'));
  return published as unknown as Manifest;
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
    throw new Error(`${path.basename(command)} ${args[0]} failed:\n${`${stdout}\n${stderr}`.trim().split('\n').slice(-30).join('\n')}`, {
      cause: error,
    });
  }
}
