/**
 * A folder of the host and its copy on another machine. It goes over as a whole once; afterwards only what changed there comes
 * back. The kernel's change time (ctime) says what did: a command can set the time of a file as it likes, not this one.
 */
import { randomUUID } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { NeedsHuman } from '@autonomous/shared';
import { megabytes, readDiskRoom, RESERVED_DISK_BYTES } from '../disk-reserve.ts';
import {
  damaged,
  FolderWriter,
  isPathBelow,
  DANGLING_LINK_TARGET,
  packFolder,
  type WantedFile,
} from './folder-archive.ts';

/**
 * Operations that a folder needs on the other machine. Each rejects with an error that states who must act, and at once
 * when aborted.
 */
export interface RemoteMachine {
  /** Runs a script by bash as root, in `/`. */
  asRoot(script: string, signal?: AbortSignal): Promise<void>;
  writeFile(path: string, content: Blob, signal?: AbortSignal): Promise<void>;
  readFile(path: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

export interface RemoteFolderPlace {
  /** Absolute host folder. */
  readonly host: string;
  /** Absolute folder on the other machine, there and empty. */
  readonly inside: string;
  /** Absolute folder there that only root can look into, for what is on its way. */
  readonly transit: string;
  /** Largest file that is taken back, bytes. */
  readonly fileBytes: number;
}

/** Becomes the agent's user for one command; what stands on stdin was opened before. */
export const AS_USER = 'setpriv --reuid=user --regid=user --init-groups --';

/** Most bytes of changed files in one go; an install step brings back all that it installed. */
const MAX_CHANGED_BYTES = 4 * 1024 ** 3;
/** About 150 bytes an entry. */
const MAX_LISTING_BYTES = 64 * 1024 ** 2;
const MAX_ENTRIES = 400_000;
/** Entries of a listing after which the rest of the server has its turn: some ten milliseconds' worth. */
const ENTRIES_A_TURN = 5_000;

interface Entry {
  readonly kind: string;
  readonly size: number;
  readonly executable: boolean;
  /** Where a link leads. */
  readonly target: string;
  /** Another one for each change. */
  readonly version: string;
}

type Listing = ReadonlyMap<string, Entry>;

export class RemoteFolder {
  readonly #machine: RemoteMachine;
  readonly #place: RemoteFolderPlace;
  /** Files of the other machine when both were last equal. */
  #known: Listing = new Map();

  constructor(machine: RemoteMachine, place: RemoteFolderPlace) {
    this.#machine = machine;
    this.#place = place;
  }

  /** Copies everything to the other machine. When it is aborted, nothing of it is left on the host. */
  async send(signal?: AbortSignal): Promise<void> {
    const { host, inside, transit } = this.#place;
    await sendArchive(
      this.#machine,
      host,
      transit,
      (archive) => `${AS_USER} tar -xzf - --no-same-owner -C ${inside} < ${archive}`,
      signal,
    );
    this.#known = await this.#list(signal);
  }

  /**
   * Brings back what changed since. Names that are no UTF-8 stay behind; in place of special files and of links that may lead out
   * of the folder comes a broken link.
   * @throws {NeedsHuman} `agent_failed` when there is more than is ever taken, `storage_full` when the host has no room for it
   * When it has rejected, aborted or not, nothing writes to the host's folder any more, and the next call brings the rest.
   * @throws {RetryableFailure} when what comes is not what the other machine said it has
   */
  async fetch(signal?: AbortSignal): Promise<void> {
    const now = await this.#list(signal);
    const { host } = this.#place;
    const writer = new FolderWriter(host);
    const changed = [...now].filter(([path, { version }]) => this.#known.get(path)?.version !== version);
    const files = new Map<string, WantedFile>(changed.filter(([, { kind }]) => kind === 'f'));
    await this.#assertRoom(files);

    const gone = [...this.#known.keys()].filter((path) => !now.has(path));
    for (const path of topmost(gone)) {
      signal?.throwIfAborted();
      await writer.remove(path);
    }
    for (const [path, { kind }] of changed) {
      signal?.throwIfAborted();
      if (kind === 'd') await writer.makeFolder(path);
    }
    if (files.size > 0) await this.#fetchFiles(writer, files, signal);
    for (const [path, { kind, target }] of changed) {
      signal?.throwIfAborted();
      if (kind === 'l') await writer.link(path, target);
      else if (kind !== 'd' && kind !== 'f') await writer.link(path, DANGLING_LINK_TARGET);
    }
    this.#known = now;
  }

  async #fetchFiles(
    writer: FolderWriter,
    files: ReadonlyMap<string, WantedFile>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { inside, transit } = this.#place;
    const [names, archive] = [`${transit}/wanted`, `${transit}/changed.tar`];
    await this.#machine.writeFile(names, new Blob([...files.keys()].map((path) => `./${path}\0`)), signal);
    await this.#machine.asRoot(
      `tar -C ${inside} --null --no-recursion --format=gnu --hard-dereference -cf ${archive} -T ${names}; status=$?; [ $status -le 1 ]`,
      signal,
    );
    await writer.unpack(await this.#machine.readFile(archive, signal), files);
    await this.#machine.asRoot(`rm -f ${names} ${archive}`, signal);
  }

  async #assertRoom(files: ReadonlyMap<string, WantedFile>): Promise<void> {
    let bytes = 0;
    for (const [path, { size }] of files) {
      bytes += size;
      if (size > this.#place.fileBytes) throw tooMuch(`${path}, which has ${megabytes(size)}`);
    }
    if (bytes > MAX_CHANGED_BYTES) throw tooMuch(`${megabytes(bytes)} of new and changed files`);
    const room = await readDiskRoom(this.#place.host, RESERVED_DISK_BYTES + bytes);
    if (room === null || room.shortage === null) return;
    throw new NeedsHuman(
      'storage_full',
      `The sandbox has ${megabytes(bytes)} of new and changed files, and the disk of ${this.#place.host} has no room for them. Free some.`,
    );
  }

  async #list(signal: AbortSignal | undefined): Promise<Listing> {
    const { inside, transit } = this.#place;
    const file = `${transit}/listing`;
    const format = String.raw`%y\0%m\0%s\0%C@\0%l\0%P\0`;
    await this.#machine.asRoot(
      // What a search that broke off has not seen would be taken for gone. It says 1 where something vanished meanwhile, and is
      // ended by SIGPIPE where there is more than is taken.
      `find ${inside} -mindepth 1 -printf '${format}' | head -c ${MAX_LISTING_BYTES + 1} > ${file}
      status=\${PIPESTATUS[0]}; [ $status -le 1 ] || [ $status -eq 141 ]`,
      signal,
    );
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of await this.#machine.readFile(file, signal)) {
      bytes += chunk.length;
      if (bytes > MAX_LISTING_BYTES) throw tooMuchListed();
      chunks.push(chunk);
    }
    return parseListing(Buffer.concat(chunks), this.#place.host);
  }
}

/**
 * Carries a host folder over and has it unpacked; nothing happens where it is empty.
 * @param unpack the script for an archive at a path there
 */
export async function sendArchive(
  machine: RemoteMachine,
  host: string,
  transit: string,
  unpack: (archive: string) => string,
  signal?: AbortSignal,
): Promise<void> {
  const archive = `${host}.${randomUUID()}.tgz`;
  try {
    if (!(await packFolder(host, archive, signal))) return;
    const there = `${transit}/outgoing.tgz`;
    await machine.writeFile(there, await openAsBlob(archive), signal);
    await machine.asRoot(`${unpack(there)}; status=$?; rm -f ${there}; exit $status`, signal);
  } finally {
    await rm(archive, { force: true });
  }
}

/**
 * Reads what `find` wrote, six fields an entry. An entry that no honest machine would name is left out, and one whose path would
 * be too long on the host.
 * @throws {RetryableFailure} when something lies in what is no folder: on its way there a link would be followed
 */
async function parseListing(bytes: Buffer, host: string): Promise<Listing> {
  const listing = new Map<string, Entry>();
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let read = 0;
  for (let start = 0, end = endOfEntry(bytes, 0); end >= 0; start = end + 1, end = endOfEntry(bytes, start)) {
    read += 1;
    if (read > MAX_ENTRIES) throw tooMuchListed();
    if (read % ENTRIES_A_TURN === 0) await setImmediate();
    const [kind = '', mode = '', size = '', changed = '', target = '', path = ''] =
      decoded(decoder, bytes.subarray(start, end))?.split('\0') ?? [];
    if (!isPathBelow(path, host) || !/^\d{1,15}$/.test(size) || !/^[0-7]{1,5}$/.test(mode)) continue;
    listing.set(path, {
      kind,
      size: Number(size),
      executable: (Number.parseInt(mode, 8) & 0o100) !== 0,
      target,
      version: [kind, mode, size, changed, target].join(' '),
    });
  }
  let checked = 0;
  for (const path of listing.keys()) {
    checked += 1;
    if (checked % ENTRIES_A_TURN === 0) await setImmediate();
    const folder = dirname(path);
    if (folder !== '.' && listing.get(folder)?.kind !== 'd')
      throw damaged(`${JSON.stringify(path.slice(0, 200))} is reported inside a path that is not a folder`);
  }
  return listing;
}

/** Where the sixth field from `start` on ends; -1 where there are no six. */
function endOfEntry(bytes: Buffer, start: number): number {
  let end = start - 1;
  for (let field = 0; field < 6; field += 1) {
    end = bytes.indexOf(0, end + 1);
    if (end < 0) return -1;
  }
  return end;
}

/** `null` where it is no UTF-8. */
function decoded(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** Those that lie in none of the others. Where a folder of a listing is gone, so is all that was in it. */
function topmost(paths: readonly string[]): string[] {
  const all = new Set(paths);
  return paths.filter((path) => !all.has(dirname(path)));
}

function tooMuchListed(): NeedsHuman {
  return tooMuch(`more than ${MAX_ENTRIES.toLocaleString('en')} entries`);
}

function tooMuch(what: string): NeedsHuman {
  return new NeedsHuman(
    'agent_failed',
    `The sandbox holds ${what}: more than is copied back. Reduce the files that it generates, then retry.`,
  );
}
