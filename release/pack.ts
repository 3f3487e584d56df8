/** Makes the tarball of a package from a folder that holds exactly its files. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** One released file, as `release.json` lists it. */
export interface PackedFile {
  /** Name of the package. */
  readonly name: string;
  readonly version: string;
  /** Name of the file in the release's folder. */
  readonly file: string;
  readonly bytes: number;
  /** Of all its files together when it is installed. */
  readonly unpackedBytes: number;
  /** `sha512-` and the digest in base 64, as npm writes it. */
  readonly integrity: string;
}

interface Listed {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly unpackedSize: number;
}

/**
 * Packs a folder with npm. The same files give the same bytes.
 * @param out absolute folder of the tarball, made when it is missing
 * @returns facts of the tarball NAME-VERSION.tgz
 */
export async function packFolder(folder: string, out: string): Promise<PackedFile> {
  await mkdir(out, { recursive: true });
  const { stdout } = await execute('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  });
  // npm's own output.
  const listed = JSON.parse(stdout) as readonly Listed[];
  const [packed] = listed;
  if (packed === undefined) throw new Error(`npm pack made nothing of ${folder}.`);
  const file = `${packed.name}-${packed.version}.tgz`;
  if (packed.filename !== file) await rename(path.join(out, packed.filename), path.join(out, file));
  const content = await readFile(path.join(out, file));
  const { name, version, unpackedSize } = packed;
  return { name, version, file, bytes: content.length, unpackedBytes: unpackedSize, integrity: integrityOf(content) };
}

export function integrityOf(content: Buffer): string {
  return `sha512-${createHash('sha512').update(content).digest('base64')}`;
}
