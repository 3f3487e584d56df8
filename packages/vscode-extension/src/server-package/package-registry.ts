/** Finds and downloads the packed file of the pinned package in an npm registry. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { isLoopback } from '../local-server/local-server-place.ts';
import type { PinnedPackage } from './pinned-package.ts';

export const PUBLIC_REGISTRY = 'https://registry.npmjs.org';
/** The abbreviated document, as npm itself asks for it. */
const METADATA_TYPE = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8';
const MAX_METADATA_BYTES = 32 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const STALLED_AFTER_MS = 60_000;

export interface RegistryOptions {
  /** Address without a slash at its end; see {@link registryAddress}. */
  readonly registry: string;
  /** Ends requests that are under way. */
  readonly signal: AbortSignal;
  /** Without a byte for this long a request has failed; 60 s when absent. */
  readonly stalledAfterMs?: number;
}

/**
 * Address of the registry: the setting, else npm's own variable, else the public registry.
 * @throws {Error} when it is no https address; http is accepted on this machine alone
 */
export function registryAddress(setting: string, env: Readonly<Record<string, string | undefined>>): string {
  const given = [
    { source: 'The setting autonomous.server.registry', value: setting },
    { source: 'The variable npm_config_registry', value: env['npm_config_registry'] ?? '' },
  ].find(({ value }) => value.trim() !== '');
  if (given === undefined) return PUBLIC_REGISTRY;
  const url = URL.parse(given.value.trim());
  if (url === null || !isSafe(url))
    throw new Error(
      `${given.source} is '${withoutPassword(given.value.trim())}'. An https address without a user name is needed, such as ${PUBLIC_REGISTRY}; http is accepted on this machine alone.`,
    );
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, '');
}

/**
 * Address of the packed file.
 * @throws {Error} when the registry is not reached, refuses, does not have this version, or has another file under its name
 */
export async function findPackedFile(pinned: PinnedPackage, options: RegistryOptions): Promise<string> {
  const { name, version, integrity } = pinned;
  const { registry } = options;
  const document = `${registry}/${name.replace('/', '%2f')}`;
  const stall = stallGuard(options);
  try {
    const response = await request(document, METADATA_TYPE, registry, stall);
    if (response.status === 404)
      throw new Error(`${registry} has no package ${name}. Name a registry that has it in autonomous.server.registry.`);
    refuse(response, registry);
    const parts = await readAll(response, registry, stall);
    const metadata = parseMetadata(parts, registry);
    const found = metadata.versions?.[version];
    if (found === undefined)
      throw new Error(
        `${registry} has no version ${version} of ${name}, which this version of the extension needs. Update the extension, or name another registry in autonomous.server.registry.`,
      );
    const listed = found.dist?.integrity;
    if (typeof listed === 'string' && !listed.split(/\s+/).includes(integrity))
      throw new Error(
        `${registry} has another ${name} ${version} than this version of the extension was built with (its sha512 differs). Nothing was downloaded.`,
      );
    refusePlatform(pinned, found);
    const tarball = found.dist?.tarball;
    if (typeof tarball !== 'string' || URL.parse(tarball) === null)
      throw new Error(`${registry} does not say where ${name} ${version} lies.`);
    return tarball;
  } finally {
    stall.stop();
  }
}

/**
 * Writes the packed file and compares its size and digest with the pinned ones.
 * @param onProgress bytes that have arrived
 * @throws {Error} when anything differs; what was written is left to the caller to remove
 */
export async function downloadPackedFile(
  address: string,
  pinned: PinnedPackage,
  file: string,
  options: RegistryOptions & { readonly onProgress: (bytes: number) => void },
): Promise<void> {
  const { bytes, integrity } = pinned;
  const stall = stallGuard(options);
  try {
    const response = await request(address, '*/*', options.registry, stall);
    const host = new URL(address).host;
    refuse(response, host);
    const announced = Number(response.headers.get('content-length') ?? bytes);
    if (announced !== bytes) throw wrongSize(pinned, host, announced);
    const hash = createHash('sha512');
    let arrived = 0;
    const handle = await open(file, 'wx', 0o600);
    try {
      for await (const chunk of bodyOf(response, host, stall, () => arrived, bytes)) {
        arrived += chunk.length;
        if (arrived > bytes) throw wrongSize(pinned, host, arrived);
        hash.update(chunk);
        await handle.writeFile(chunk);
        options.onProgress(arrived);
      }
      // Half a package must not be taken for a whole one after a crash.
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (arrived < bytes) throw interrupted(host, arrived, bytes);
    const digest = `sha512-${hash.digest('base64')}`;
    if (digest !== integrity)
      throw new Error(
        `What ${host} sent for ${pinned.name} ${pinned.version} is not the package that this extension was built with: its digest is ${digest.slice(0, 19)}…, and ${integrity.slice(0, 19)}… was expected. Nothing of it was unpacked.`,
      );
  } finally {
    stall.stop();
  }
}

/** In megabytes with one decimal, as progress and errors show sizes. */
export function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

interface Metadata {
  readonly versions?: Readonly<Record<string, Listed>>;
}

interface Listed {
  readonly dist?: { readonly tarball?: unknown; readonly integrity?: unknown };
  /** Platforms and processors that it runs on; all where it does not say. */
  readonly os?: unknown;
  readonly cpu?: unknown;
}

interface StallGuard {
  readonly signal: AbortSignal;
  readonly isStalled: () => boolean;
  readonly isCancelled: () => boolean;
  /** Something has arrived. */
  touch(): void;
  stop(): void;
}

function stallGuard({ signal, stalledAfterMs = STALLED_AFTER_MS }: RegistryOptions): StallGuard {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), stalledAfterMs);
  return {
    signal: AbortSignal.any([signal, stalled.signal]),
    isStalled: () => stalled.signal.aborted,
    isCancelled: () => signal.aborted,
    touch: () => void timer.refresh(),
    stop: () => clearTimeout(timer),
  };
}

/** Follows redirects itself: none may lead from https to http. */
async function request(address: string, accept: string, registry: string, stall: StallGuard): Promise<Response> {
  let url = new URL(address);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    if (!isSafe(url) || (isLoopback(url.href) && !isLoopback(registry)))
      throw new Error(
        `${registry} leads to ${withoutPassword(url.href)}, which is no https address. Nothing was downloaded.`,
      );
    const response = await fetch(url, {
      // A registry that compresses a packed file once more would change its size.
      headers: { accept, 'accept-encoding': 'identity' },
      redirect: 'manual',
      signal: stall.signal,
    }).catch((error: unknown) => {
      throw unreached(url.host, error, stall);
    });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    const next = URL.parse(location, url.href);
    if (next === null) throw new Error(`${url.host} leads to '${location}', which is no address.`);
    url = next;
  }
  throw new Error(`${new URL(address).host} leads from one address to the next, more than ${MAX_REDIRECTS} times.`);
}

function isSafe(url: URL): boolean {
  if (url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.href));
}

function withoutPassword(address: string): string {
  return address.replace(/\/\/[^/@]*@/, '//…@');
}

/** @throws {Error} unless the answer is the wanted thing */
function refuse({ status, statusText, headers }: Response, from: string): void {
  if (status === 401 || status === 403)
    throw new Error(
      `${from} refused (${status}): it requires sign-in, or blocks the package. Name another registry in autonomous.server.registry.`,
    );
  if (status !== 200)
    throw new Error(`${from} answered ${status}${statusText === '' ? '' : ` (${statusText})`}. Try again later.`);
  if (/^text\/html\b/i.test(headers.get('content-type') ?? ''))
    throw new Error(
      `${from} answered with a web page instead of a package: it is not an npm registry, or a proxy requires sign-in. Sign in there, or name another registry in autonomous.server.registry.`,
    );
}

/** @throws {Error} when the package does not run on this machine */
function refusePlatform({ name, version }: PinnedPackage, { os, cpu }: Listed): void {
  const isFit = (list: unknown, own: string): boolean => !Array.isArray(list) || list.includes(own);
  if (isFit(os, process.platform) && isFit(cpu, process.arch)) return;
  const systems = [os, cpu].filter(Array.isArray).map((list) => list.join(' and '));
  throw new Error(
    `${name} ${version} runs on ${systems.join(', ')}, and this is ${process.platform}, ${process.arch}. Open the folder in WSL, in a container or over SSH, or connect to a server elsewhere.`,
  );
}

async function* bodyOf(
  response: Response,
  host: string,
  stall: StallGuard,
  arrived: () => number,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        if (stall.isCancelled() || stall.isStalled()) throw unreached(host, error, stall);
        throw interrupted(host, arrived(), bytes, error);
      });
      if (done) return;
      stall.touch();
      yield value;
    }
  } finally {
    // The rest of the answer is not needed any more.
    await reader.cancel().catch(() => undefined);
  }
}

async function readAll(response: Response, registry: string, stall: StallGuard): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bodyOf(response, registry, stall, () => length, MAX_METADATA_BYTES)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_METADATA_BYTES) throw new Error(`${registry} answered with more than 32 MB about one package.`);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseMetadata(text: string, registry: string): Metadata {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // Said below.
  }
  throw new Error(`${registry} did not answer as an npm registry does. Name another in autonomous.server.registry.`);
}

function wrongSize({ name, version, bytes }: PinnedPackage, host: string, announced: number): Error {
  return new Error(
    `What ${host} has for ${name} ${version} is not the package that this extension was built with: it has ${announced} bytes or more, and ${bytes} were expected. Nothing of it was unpacked.`,
  );
}

function interrupted(host: string, arrived: number, bytes: number, cause?: unknown): Error {
  return new Error(
    `The download from ${host} was interrupted after ${megabytes(arrived)} of ${megabytes(bytes)} MB. Try again.`,
    { cause },
  );
}

function unreached(host: string, error: unknown, stall: StallGuard): Error {
  if (stall.isCancelled()) return error instanceof Error ? error : new Error(String(error));
  if (stall.isStalled())
    return new Error(`${host} does not send anything any more. Try again later.`, { cause: error });
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  const why = cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
  return new Error(
    `${host} is not reached (${why}). Check the connection and the proxy of the editor, or name another registry in autonomous.server.registry.`,
    { cause: error },
  );
}
