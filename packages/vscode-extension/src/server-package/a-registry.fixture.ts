/** A package as `npm pack` makes one, and an HTTP server on loopback that has it as an npm registry has it, or misbehaves. */
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { create } from 'tar';
import type { PinnedPackage } from './pinned-package.ts';

export interface APackage {
  readonly packed: Buffer;
  readonly pinned: PinnedPackage;
}

export interface APackageOptions {
  readonly name?: string;
  readonly version?: string;
  /** Version in the manifest inside; `version` when absent. */
  readonly saysVersion?: string;
  /** Path of a link inside the package, to a file outside of it. */
  readonly link?: string;
  /** A further file inside the package, and its mode. */
  readonly extra?: { readonly path: string; readonly mode?: number };
  /** Is left out of the package though the manifest names it. */
  readonly withoutProgram?: boolean;
  /** Random bytes that make the package larger. */
  readonly filler?: Buffer;
}

export async function aPackage(options: APackageOptions = {}): Promise<APackage> {
  const { name = 'a-server', version = '1.2.3', saysVersion = version } = options;
  const cwd = await mkdtemp(path.join(tmpdir(), 'autonomous-package-'));
  try {
    const folder = path.join(cwd, 'package');
    await mkdir(path.join(folder, 'bin'), { recursive: true });
    const manifest = { name, version: saysVersion, bin: { 'a-server': './bin/main.js' }, engines: { node: '>=20' } };
    await writeFile(path.join(folder, 'package.json'), JSON.stringify(manifest));
    if (!options.withoutProgram) await writeFile(path.join(folder, 'bin', 'main.js'), 'console.log("here");\n');
    if (options.filler !== undefined) await writeFile(path.join(folder, 'filler'), options.filler);
    if (options.link !== undefined) await symlink('/etc/hostname', path.join(folder, options.link));
    if (options.extra !== undefined) {
      const extra = path.join(folder, options.extra.path);
      await mkdir(path.dirname(extra), { recursive: true });
      await writeFile(extra, 'extra');
      await chmod(extra, options.extra.mode ?? 0o644);
    }
    const file = path.join(cwd, 'package.tgz');
    await create({ file, cwd, gzip: true, portable: true }, ['package']);
    const packed = await readFile(file);
    const integrity = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
    return { packed, pinned: { name, version, integrity, bytes: packed.length } };
  } finally {
    await rm(cwd, { recursive: true });
  }
}

export interface ARegistry {
  readonly url: string;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
  stop(): Promise<void>;
}

export interface ARegistryOptions {
  /** Answers in place of the registry where it returns true. */
  readonly misbehave?: (request: IncomingMessage, response: ServerResponse, url: string) => boolean;
  /** False values of the document. */
  readonly lists?: {
    readonly version?: string;
    readonly integrity?: string;
    readonly tarball?: string;
    readonly os?: readonly string[];
  };
}

export async function aRegistry({ packed, pinned }: APackage, options: ARegistryOptions = {}): Promise<ARegistry> {
  const asked: string[] = [];
  const { name, version, integrity } = pinned;
  const { lists = {} } = options;
  const server = createServer((request, response) => {
    const place = request.url ?? '/';
    asked.push(place);
    if (options.misbehave?.(request, response, url) === true) return;
    if (place === `/${name}`) {
      const dist = { tarball: lists.tarball ?? `${url}/${name}/-/file.tgz`, integrity: lists.integrity ?? integrity };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ name, versions: { [lists.version ?? version]: { dist, os: lists.os } } }));
    } else if (place === `/${name}/-/file.tgz`) {
      response.setHeader('content-length', packed.length);
      response.end(packed);
    } else {
      response.writeHead(404).end('{}');
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const url = `http://127.0.0.1:${address.port}`;
  return {
    url,
    asked,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
