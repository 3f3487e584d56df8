/** Packs a folder after a look into it: contents, licences and sizes. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { findContentFaults } from './contents.ts';
import { ROOT } from './facts.ts';
import { NOTICES, noticesOf, readCarried } from './licences.ts';
import { type PackedFile, packFolder } from './pack.ts';

/** In every package. */
const COMMON: readonly string[] = ['LICENSE', 'README.md', NOTICES, 'package.json'];

export interface Limits {
  /** Of the tarball. */
  readonly bytes: number;
  readonly unpackedBytes: number;
}

export interface Staged {
  /** Folders at the top of the package. */
  readonly top: readonly string[];
  /** Absolute folders of the npm packages of which it carries code. */
  readonly carried: readonly string[];
}

/**
 * @param stage puts the package's files into an empty folder, the licences excepted
 * @throws {Error} with all that must not be published
 */
export async function packChecked(
  out: string,
  limits: Limits,
  stage: (folder: string) => Promise<Staged>,
): Promise<PackedFile> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-package-'));
  try {
    const { top, carried } = await stage(folder);
    await writeFile(path.join(folder, NOTICES), noticesOf(await readCarried(carried)));
    await cp(path.join(ROOT, 'LICENSE'), path.join(folder, 'LICENSE'));
    const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'registry'], { cwd: folder });
    const faults = await findContentFaults(folder, { top: [...top, ...COMMON], registry: stdout.trim() });
    if (faults.length > 0) throw new Error(`The package is not fit to publish:\n  ${faults.join('\n  ')}`);
    const packed = await packFolder(folder, out);
    for (const size of ['bytes', 'unpackedBytes'] as const) {
      if (packed[size] <= limits[size]) continue;
      throw new Error(`${packed.file} has ${packed[size]} ${size}, and ${limits[size]} at most are allowed.`);
    }
    return packed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function writeManifest(folder: string, manifest: object): Promise<void> {
  await writeFile(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
