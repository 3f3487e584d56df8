/**
 * Contents that a project keeps in Git LFS, by its batch API over HTTP(S) (docs/api/batch.md of git-lfs), or from the clone that a
 * person has on this machine. Each is kept beside the mirror under its SHA-256, which is checked. `.lfsconfig` of the project is
 * not read: it could name any server.
 */
import { createHash, randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { GitPlace } from '../git/git.ts';
import { gitBounds } from '../git/git-bounds.ts';
import type { GitMirrors } from '../git/git-mirrors.ts';
import { authorizationOf, type RemoteAccess } from '../git/git-remote.ts';
import type { LfsPointer } from './lfs-pointers.ts';
import { isPrivateHost, parseRemoteAddress } from '../remote-url.ts';

export interface LfsContents {
  /** Absolute files of the server by the SHA-256 of their content. */
  readonly files: ReadonlyMap<string, string>;
  /** Why a content cannot be had, by its SHA-256. */
  readonly faults: ReadonlyMap<string, string>;
}

const MAX_OBJECT_BYTES = 1024 ** 3;
/** Of one tree. */
const MAX_TOTAL_BYTES = 4 * 1024 ** 3;
const MAX_ANSWER_BYTES = 4 * 1024 ** 2;
const OBJECTS_A_REQUEST = 100;
const PARALLEL_DOWNLOADS = 4;
/** A server that sends nothing for so long is gone. */
const STALL_MS = 30_000;
/** A content that could not be had is asked for again after this time: each checkout needs it. */
const FAILURE_KEPT_MS = 5 * 60_000;
const MEDIA_TYPE = 'application/vnd.git-lfs+json';

const batchSchema = z.object({
  objects: z.array(
    z.object({
      oid: z.string(),
      actions: z
        .object({
          download: z.object({ href: z.string(), header: z.record(z.string(), z.string()).optional() }).optional(),
        })
        .optional(),
      error: z.object({ code: z.number(), message: z.string().optional() }).optional(),
    }),
  ),
});
type Batch = z.infer<typeof batchSchema>['objects'][number];

export class LfsObjects {
  readonly #mirrors: GitMirrors;
  readonly #stallMs: number;
  readonly #failed = new Map<string, { readonly until: number; readonly reason: string }>();

  constructor(mirrors: GitMirrors, stallMs = STALL_MS) {
    this.#mirrors = mirrors;
    this.#stallMs = stallMs;
  }

  /** Fetches what is missing. A content that cannot be had is no failure: it is named in `faults`. */
  async fetch(repository: string, place: GitPlace, pointers: readonly LfsPointer[]): Promise<LfsContents> {
    const files = new Map<string, string>();
    const faults = new Map<string, string>();
    const missing: LfsPointer[] = [];
    let total = 0;
    for (const pointer of new Map(pointers.map((each) => [each.oid, each])).values()) {
      const { oid, size } = pointer;
      const known = this.#failed.get(`${place.gitDir} ${oid}`);
      // One that is never fetched takes nothing of what the others may have.
      if (size <= MAX_OBJECT_BYTES) total += size;
      if ((await stat(storedAt(place, oid)).catch(() => null))?.size === size) files.set(oid, storedAt(place, oid));
      else if (known !== undefined && known.until > Date.now()) faults.set(oid, known.reason);
      else if (size > MAX_OBJECT_BYTES) faults.set(oid, `its ${size} bytes are more than ${MAX_OBJECT_BYTES}`);
      else if (total > MAX_TOTAL_BYTES)
        faults.set(oid, `the project has more than ${MAX_TOTAL_BYTES} bytes in Git LFS`);
      else missing.push(pointer);
    }
    if (missing.length === 0) return { files, faults };
    const access = await this.#mirrors.accessTo(parseRemoteAddress(repository), {});
    await this.#mirrors.turns.take(`lfs ${place.gitDir}`, async () => {
      for (const [oid, reason] of await this.#fetchAll(place, access, missing)) {
        if (reason === null) files.set(oid, storedAt(place, oid));
        else {
          faults.set(oid, reason);
          this.#failed.set(`${place.gitDir} ${oid}`, { until: Date.now() + FAILURE_KEPT_MS, reason });
        }
      }
    });
    return { files, faults };
  }

  /** @returns for each content why it cannot be had; `null` where it is stored */
  async #fetchAll(
    place: GitPlace,
    access: RemoteAccess,
    wanted: readonly LfsPointer[],
  ): Promise<ReadonlyMap<string, string | null>> {
    const outcomes = new Map<string, string | null>();
    const { address } = access;
    if (address.kind === 'ssh') {
      for (const { oid } of wanted) outcomes.set(oid, 'Git LFS is not fetched over ssh; register the project by https');
      return outcomes;
    }
    const actions = address.kind === 'http' ? await this.#askFor(access, wanted) : new Map<string, Batch | string>();
    const queue = [...wanted];
    const worker = async (): Promise<void> => {
      for (let pointer = queue.pop(); pointer !== undefined; pointer = queue.pop()) {
        try {
          if (address.kind === 'local') await takeLocal(place, address.path, pointer);
          else await this.#download(place, address.origin, actions.get(pointer.oid), pointer);
          outcomes.set(pointer.oid, null);
        } catch (error) {
          gitBounds()?.throwIfAborted();
          outcomes.set(pointer.oid, reasonOf(error));
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_DOWNLOADS }, worker));
    return outcomes;
  }

  /** The server's offer for each content, or the reason why there is none. */
  async #askFor(access: RemoteAccess, wanted: readonly LfsPointer[]): Promise<ReadonlyMap<string, Batch | string>> {
    const offers = new Map<string, Batch | string>();
    for (let from = 0; from < wanted.length; from += OBJECTS_A_REQUEST) {
      const objects = wanted.slice(from, from + OBJECTS_A_REQUEST).map(({ oid, size }) => ({ oid, size }));
      try {
        for (const offer of await this.#batch(access, objects)) offers.set(offer.oid, offer);
      } catch (error) {
        gitBounds()?.throwIfAborted();
        for (const { oid } of objects) offers.set(oid, reasonOf(error));
      }
    }
    return offers;
  }

  async #batch(access: RemoteAccess, objects: readonly object[]): Promise<readonly Batch[]> {
    const url = access.address.url.replace(/\/$/, '');
    const authorization = authorizationOf(access);
    const watch = stallWatch(this.#stallMs);
    try {
      const response = await fetch(`${url.endsWith('.git') ? url : `${url}.git`}/info/lfs/objects/batch`, {
        method: 'POST',
        headers: {
          accept: MEDIA_TYPE,
          'content-type': MEDIA_TYPE,
          ...(authorization === null ? {} : { authorization }),
        },
        body: JSON.stringify({ operation: 'download', transfers: ['basic'], hash_algo: 'sha256', objects }),
        redirect: 'error',
        signal: watch.signal,
      });
      if (!response.ok) throw new Refused(statusText(response.status));
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      // The type of a response's body leaves open what it holds.
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        watch.alive();
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) throw new Refused('the LFS server answers with more than 4 MB');
        chunks.push(chunk);
      }
      const answer = batchSchema.safeParse(jsonOf(Buffer.concat(chunks)));
      if (!answer.success) throw new Refused('the LFS server answers with something else than the batch API');
      return answer.data.objects;
    } finally {
      watch.end();
    }
  }

  async #download(
    place: GitPlace,
    origin: string,
    offer: Batch | string | undefined,
    pointer: LfsPointer,
  ): Promise<void> {
    if (typeof offer === 'string') throw new Refused(offer);
    if (offer?.error !== undefined) throw new Refused(statusText(offer.error.code));
    const download = offer?.actions?.download;
    const url = URL.parse(download?.href ?? '');
    if (download === undefined || url === null) throw new Refused('the LFS server does not offer it');
    if (url.origin !== origin && (url.protocol !== 'https:' || isPrivateHost(url.hostname)))
      throw new Refused('the LFS server offers it at an address that is not used: only https, and no private network');
    const watch = stallWatch(this.#stallMs);
    try {
      const response = await fetch(url, { headers: download.header ?? {}, redirect: 'error', signal: watch.signal });
      if (!response.ok) throw new Refused(statusText(response.status));
      if (response.body === null) throw new Refused('the LFS server answers with nothing');
      await store(place, pointer, watched(response.body, watch));
    } finally {
      watch.end();
    }
  }
}

/** A content cannot be had, with the reason for people. */
class Refused extends Error {}

function reasonOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (!(error instanceof Error)) throw error;
  if (error.name === 'TimeoutError') return 'the LFS server does not answer';
  const { cause } = error;
  return `it cannot be fetched (${cause instanceof Error ? cause.message : error.message})`;
}

function statusText(status: number): string {
  if (status === 401 || status === 403)
    return `the LFS server asks for a sign-in (${status}): set a GITHUB_TOKEN that covers it`;
  if (status === 404 || status === 410) return `the LFS server does not have it (${status})`;
  if (status === 429) return 'the LFS server takes no more requests for now (429)';
  return `the LFS server answers with ${status}`;
}

function jsonOf(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    return null;
  }
}

/** Aborts when `alive` was not called for so long, and with the activity that it works for. */
function stallWatch(ms: number) {
  const controller = new AbortController();
  const fail = (): void => controller.abort(new DOMException('It does not answer', 'TimeoutError'));
  const timer = setTimeout(fail, ms);
  const bounds = gitBounds();
  const signal = bounds === undefined ? controller.signal : AbortSignal.any([bounds, controller.signal]);
  return { signal, alive: () => void timer.refresh(), end: () => clearTimeout(timer) };
}

async function* watched(chunks: AsyncIterable<Uint8Array>, watch: { alive(): void }): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    watch.alive();
    yield chunk;
  }
}

/** From the clone of a person, or from a bare repository. */
async function takeLocal(place: GitPlace, repository: string, pointer: LfsPointer): Promise<void> {
  for (const folder of [join(repository, '.git'), repository]) {
    const file = objectIn(join(folder, 'lfs', 'objects'), pointer.oid);
    if ((await lstat(file).catch(() => null))?.isFile() !== true) continue;
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      await store(place, pointer, handle.createReadStream({ autoClose: false }));
    } finally {
      await handle.close();
    }
    return;
  }
  throw new Refused('the repository on this machine does not have it: run "git lfs fetch" there');
}

/** @throws {Refused} when it has another size or another SHA-256; nothing of it is kept then */
async function store(place: GitPlace, { oid, size }: LfsPointer, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const file = storedAt(place, oid);
  await mkdir(dirname(file), { recursive: true });
  const partial = `${file}.${randomUUID()}`;
  const hash = createHash('sha256');
  let bytes = 0;
  const checked = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > size) throw new Refused(`it is larger than the ${size} bytes that its pointer names`);
      hash.update(chunk);
      yield chunk;
    }
  };
  try {
    await pipeline(Readable.from(checked()), createWriteStream(partial, { flags: 'wx' }));
    if (bytes !== size) throw new Refused(`it has ${bytes} bytes instead of the ${size} that its pointer names`);
    if (hash.digest('hex') !== oid) throw new Refused('its content has another SHA-256 than its pointer names');
    await rename(partial, file);
  } finally {
    await rm(partial, { force: true });
  }
}

function storedAt({ gitDir }: GitPlace, oid: string): string {
  return objectIn(join(gitDir, 'lfs', 'objects'), oid);
}

function objectIn(folder: string, oid: string): string {
  return join(folder, oid.slice(0, 2), oid.slice(2, 4), oid);
}
