/** The server's package that this version of the extension was built with: `server.json`, beside the extension's manifest. */
import { readFile } from 'node:fs/promises';

export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-` and the digest of the packed file in Base64. */
  readonly integrity: string;
  /** Size of the packed file. */
  readonly bytes: number;
}

const NAME = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/;
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?$/;
const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/;

/**
 * @returns `null` where the file is missing: the extension was not packaged, and a checkout is needed
 * @throws {Error} when the file names no package in full
 */
export async function readPinnedPackage(file: string): Promise<PinnedPackage | null> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const pinned = parse(text);
  if (pinned === null)
    throw new Error(`${file} does not name the server's package in full. Install the extension again.`);
  return pinned;
}

function parse(text: string): PinnedPackage | null {
  try {
    const { name, version, integrity, bytes } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (typeof name !== 'string' || !NAME.test(name)) return null;
    if (typeof version !== 'string' || !VERSION.test(version)) return null;
    if (typeof integrity !== 'string' || !INTEGRITY.test(integrity)) return null;
    if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes <= 0) return null;
    return { name, version, integrity, bytes };
  } catch {
    return null;
  }
}
