/** Unix sockets in private folders. Other processes of the same user connect to them by path. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isNoRoom } from './small-process.ts';

const PREFIX = 'autonomous-socket-';
/** The path of a socket has at most 107 bytes on Linux and 103 elsewhere (`sun_path`). */
const LONGEST_PARENT = (process.platform === 'linux' ? 107 : 103) - `/${PREFIX}XXXXXX/s`.length;
/** Connections that wait to be taken; the system's own limit is lower in general. */
const BACKLOG = 4_096;
/** A younger folder may belong to a process that is about to listen. */
const YOUNG_MS = 60_000;

/** No folder of temporary files takes a socket. The message has both the reason, which names each folder, and the remedy. */
export class NoSocketFolder extends Error {
  readonly reason: string;
  readonly remedy = `Set TMPDIR to a folder that can be written and whose path has at most ${LONGEST_PARENT} characters.`;

  constructor(faults: readonly string[]) {
    const reason = `no socket can be made in a folder of temporary files: ${faults.join('; ')}`;
    super(reason);
    this.reason = reason;
    this.message = `${reason}. ${this.remedy}`;
  }
}

/**
 * A Unix socket in a private folder of TMPDIR, or of /tmp where TMPDIR takes none. It begins to listen at the first call of `path`, and
 * again at a later call if a cleaner of temporary files has removed it.
 */
export class PrivateSocket {
  readonly #makeServer: () => Server;
  readonly #opened: { readonly server: Server; readonly folder: string }[] = [];
  #path: Promise<string | null> = Promise.resolve(null);
  #isClosed = false;

  constructor(makeServer: () => Server) {
    this.#makeServer = makeServer;
  }

  /** @throws {NoSocketFolder} `Error` of the system where it has no room for a socket */
  path(): Promise<string> {
    const listen = () => this.#listen();
    const answer = this.#path.then((last) => (last !== null && existsSync(last) ? last : listen()), listen);
    this.#path = answer;
    return answer;
  }

  /** Takes no more connections and removes the folder at once. Settles when the last connection has ended. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#opened.splice(0).map(({ server, folder }) => {
      rmSync(folder, { recursive: true, force: true });
      return new Promise((resolve) => server.close(resolve));
    });
    await Promise.all(closed);
  }

  async #listen(): Promise<string> {
    const faults: string[] = [];
    for (const parent of new Set([tmpdir(), '/tmp'])) {
      try {
        return await this.#listenIn(parent);
      } catch (error) {
        if (this.#isClosed || isNoRoom(error)) throw error;
        faults.push(error instanceof Error ? error.message : String(error));
      }
    }
    throw new NoSocketFolder(faults);
  }

  async #listenIn(parent: string): Promise<string> {
    if (this.#isClosed) throw new Error('The socket is closed');
    void removeAbandoned(parent);
    const bytes = Buffer.byteLength(parent);
    if (bytes > LONGEST_PARENT) throw new Error(`the path ${parent} is too long (${bytes} characters)`);
    const folder = mkdtempSync(path.join(parent, PREFIX));
    const server = this.#makeServer();
    this.#opened.push({ server, folder });
    try {
      await once(server.listen(socketIn(folder), BACKLOG), 'listening');
      return socketIn(folder);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }
}

const socketIn = (folder: string): string => path.join(folder, 's');

/** Removes the folders of killed processes. */
async function removeAbandoned(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    // A folder that cannot be removed stays. The sweep goes on with the others.
    if (name.startsWith(PREFIX)) await removeIfAbandoned(path.join(parent, name)).catch(() => undefined);
  }
}

/** A process may be alive although it has no number here: containers share /tmp. Its socket tells. */
async function removeIfAbandoned(folder: string): Promise<void> {
  const { uid, mtimeMs } = await lstat(folder);
  if (uid !== process.getuid?.() || Date.now() - mtimeMs < YOUNG_MS) return;
  if (await isHeard(socketIn(folder))) return;
  await rm(socketIn(folder), { force: true });
  // Not with what others have put into it.
  await rmdir(folder);
}

function isHeard(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}
