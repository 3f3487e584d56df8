/** A registry of npm packages on this machine: it serves tarballs as npm, pnpm and the extension ask for them. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface PackageRegistry {
  /** Its address without a slash at the end. */
  readonly url: string;
  /** Paths that were asked for, in order. */
  readonly requests: readonly string[];
  /** Adds a tarball made by `npm pack`; one of the same name and version takes its place. */
  add(tarball: string): Promise<void>;
  /**
   * Serves other bytes for a tarball while the metadata stays, as a registry that was broken into would.
   * @param file name such as `autonomous-orchestrator-0.1.0.tgz`
   */
  tamper(file: string, content: Buffer): void;
  close(): Promise<void>;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
}

interface Version {
  readonly manifest: Manifest;
  readonly file: string;
  readonly integrity: string;
  readonly shasum: string;
}

/**
 * Listens on a free port of the loopback address.
 * @param tarballs paths of files that `npm pack` made
 * @param upstream registry to which requests for other packages are redirected; absent: they get 404
 */
export async function startPackageRegistry(
  tarballs: readonly string[],
  { upstream }: { readonly upstream?: string } = {},
): Promise<PackageRegistry> {
  const versions = new Map<string, Map<string, Version>>();
  const contents = new Map<string, Buffer>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const asked = decodeURIComponent(new URL(request.url ?? '/', url()).pathname);
    requests.push(asked);
    const [name = '', file] = asked.slice(1).split('/-/');
    const content = file === undefined ? undefined : contents.get(file);
    const known = versions.get(name);
    if (content !== undefined) {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': content.length });
      response.end(content);
    } else if (file === undefined && known !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadataOf(name, known)));
    } else if (upstream !== undefined) {
      response.writeHead(302, { location: `${upstream.replace(/\/$/, '')}${request.url}` }).end();
    } else {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  function url(): string {
    // It listens on a port, not on a socket file.
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  function metadataOf(name: string, known: ReadonlyMap<string, Version>): object {
    const listed: Record<string, object> = {};
    for (const [version, { manifest, file, integrity, shasum }] of known)
      listed[version] = { ...manifest, dist: { tarball: `${url()}/${name}/-/${file}`, integrity, shasum } };
    return { name, 'dist-tags': { latest: [...known.keys()].at(-1) }, versions: listed };
  }

  async function add(tarball: string): Promise<void> {
    const [content, { stdout }] = await Promise.all([
      readFile(tarball),
      execute('tar', ['--extract', '--gzip', '--to-stdout', '--file', tarball, 'package/package.json']),
    ]);
    // npm has packed it, so it has both fields.
    const manifest = JSON.parse(stdout) as Manifest;
    const file = path.basename(tarball);
    const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
    const shasum = createHash('sha1').update(content).digest('hex');
    const known = versions.get(manifest.name) ?? new Map<string, Version>();
    versions.set(manifest.name, known.set(manifest.version, { manifest, file, integrity, shasum }));
    contents.set(file, content);
  }

  for (const tarball of tarballs) await add(tarball);
  return {
    url: url(),
    requests,
    add,
    tamper: (file, content) => void contents.set(file, content),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
