/** Makes the files of a release in a folder: the npm packages, the extension, and `release.json`, which lists them. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageExtension } from './package-extension.ts';
import { packEngine } from './engine-package.ts';
import { readGitFacts, readWorkspaceFacts, ROOT } from './facts.ts';
import { integrityOf, type PackedFile } from './pack.ts';
import { packServer } from './server-package.ts';

/** Content of `release.json`. */
export interface Release {
  readonly version: string;
  /** Full hash; `null` outside of a git repository. */
  readonly commit: string | null;
  readonly files: readonly PackedFile[];
}

/** The server's package alone, with what it is built from. */
export async function buildServer(out: string, say: (line: string) => void): Promise<void> {
  await promisify(execFile)(
    'turbo',
    [
      'run',
      'build',
      '--filter',
      '@autonomous/ui',
      '--filter',
      '@autonomous/orchestrator',
      '--output-logs',
      'errors-only',
    ],
    { cwd: ROOT },
  );
  const { file, bytes } = await packServer(out);
  say(`packed ${file}: ${Math.ceil(bytes / 1024)} kB`);
}

/**
 * @param out absolute folder, made when it is missing
 * @throws {Error} naming what does not build or must not be published
 */
export async function buildRelease(out: string, say: (line: string) => void): Promise<Release> {
  const { version } = await readWorkspaceFacts();
  const { commit } = await readGitFacts();
  const { vsix, server } = await packageExtension(say, out);
  const engine = await packEngine(out);
  say(
    `packed ${engine.file}: ${Math.ceil(engine.bytes / 1024)} kB, ${Math.ceil(engine.unpackedBytes / 1024)} kB unpacked`,
  );
  const extension = await readFile(vsix);
  const { unpack } = await import('./unpack-vsix.ts');
  const unpackedBytes = [...(await unpack(extension)).values()].reduce((sum, { length }) => sum + length, 0);
  const files: readonly PackedFile[] = [
    server,
    engine,
    {
      name: 'autonomous',
      version,
      file: path.basename(vsix),
      bytes: extension.length,
      unpackedBytes,
      integrity: integrityOf(extension),
    },
  ];
  const release = { version, commit, files };
  await writeFile(path.join(out, 'release.json'), `${JSON.stringify(release, null, 2)}\n`);
  return release;
}
