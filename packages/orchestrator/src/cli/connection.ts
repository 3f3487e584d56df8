/** Resolves the server's address and token for commands that are clients. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect as connectTo } from 'node:net';
import { join } from 'node:path';
import { type Client, createClient, ServerUnreachable } from '@autonomous/shared/client';
import { isLoopback, isSameAddress } from '@autonomous/shared/presentation';
import { readServerConfig, type ServerConfig } from '../config.ts';
import { findHolder, type FolderHolder, lastAddressOf, processOf } from '../folder-holder.ts';
import { databaseOf } from './database.ts';
import { CommandFailure, UsageError } from './exit.ts';
import type { CliIo } from './io.ts';
import { startCommand } from '../server/start-command.ts';

/** The variables that say where a server of this machine is. Faults in the others are the server's own matter. */
const VARIABLES = ['ORCHESTRATOR_PORT', 'AUTONOMOUS_DATA', 'AUTONOMOUS_TOKEN', 'XDG_DATA_HOME'] as const;

/** Loopback refuses at once; a machine without it does not. */
const LISTENING_MS = 1_000;

/** Address that a command asks, with the source of that address. */
export interface ServerPlace {
  readonly baseUrl: string;
  /** `data folder`: the server that runs noted its address there. `configuration`: none did, and this is where the next one listens. */
  readonly from: '--server' | 'AUTONOMOUS_SERVER' | 'data folder' | 'configuration';
  /** Data folder of this machine's server. */
  readonly dataFolder: string;
  /** The process that holds the data folder; `null`: none does. */
  readonly holder: FolderHolder | null;
}

/**
 * A client of the server that `--server`, AUTONOMOUS_SERVER, the data folder or this machine's configuration names.
 * @throws {UsageError} when that is no address
 * @throws {CommandFailure} when there is no token
 */
export async function connect(io: CliIo, server: string | undefined): Promise<Client> {
  const place = await findServer(io, server);
  const token = await tokenFor(io, place);
  return createClient({ baseUrl: place.baseUrl, token, backoff: { minMs: 200, maxMs: 5_000 } });
}

/** @throws {UsageError} when what names the server is no address */
export async function findServer(io: CliIo, server: string | undefined): Promise<ServerPlace> {
  const { dataFolder, port } = localConfig(io);
  const holder = await findHolder(dataFolder);
  const fromVariable = io.env['AUTONOMOUS_SERVER']?.trim() || undefined;
  const named = server ?? fromVariable;
  if (named !== undefined) {
    const from = server === undefined ? 'AUTONOMOUS_SERVER' : '--server';
    const asked = checked(named, from);
    // Another user's program may listen at another loopback address with the same port.
    const baseUrl = typeof holder?.url === 'string' && isSameAddress(asked, holder.url) ? holder.url : asked;
    return { baseUrl, from, dataFolder, holder };
  }
  if (typeof holder?.url === 'string') return { baseUrl: holder.url, from: 'data folder', dataFolder, holder };
  return { baseUrl: `http://127.0.0.1:${port}`, from: 'configuration', dataFolder, holder };
}

/** The data folder of the server; `null`: it is on another machine. */
export async function localDataFolder(io: CliIo, server: string | undefined): Promise<string | null> {
  const place = await findServer(io, server);
  return isHere(place) ? place.dataFolder : null;
}

/** Advice for a command that got no answer at an address. It never says to start a server that runs. */
export async function wayToServer(io: CliIo, error: ServerUnreachable): Promise<string> {
  if (error instanceof OtherServerAnswers) return error.way;
  const { dataFolder } = localConfig(io);
  const holder = await findHolder(dataFolder);
  const start = startCommand().serve;
  if (holder === null) return (await faultOfDatabase(io)) ?? `Start it with: ${start}`;
  const { url } = holder;
  if (url === null)
    return `The data folder ${dataFolder} is in use by ${processOf(holder)}, which takes no requests yet: a server that is starting, or a command. Try again when it is ready.`;
  if (!isSameAddress(error.baseUrl, url))
    return `The server of the data folder ${dataFolder} is at ${url}: name that address, or leave --server and AUTONOMOUS_SERVER out.`;
  return `The data folder ${dataFolder} is in use by ${processOf(holder)}, a server that is stopping or hangs. Try again; if it hangs, end it and start another one with: ${start}`;
}

/** Another server answers where that of the data folder would listen, which does not run. */
export class OtherServerAnswers extends ServerUnreachable {
  /** How to start the server of the data folder. */
  readonly way = `Start it at a free port with: ${startCommand().program} serve --port 0`;

  constructor(baseUrl: string, dataFolder: string) {
    super(baseUrl, null);
    this.message = `The server of the data folder ${dataFolder} does not run; another server answers at ${baseUrl}.`;
  }
}

/** The server of the data folder does not run, and nothing listens where the next one would. */
class ServerStopped extends ServerUnreachable {
  /** @param lastUrl address that the server noted; `null`: none is noted */
  constructor(baseUrl: string, dataFolder: string, lastUrl: string | null) {
    super(baseUrl, null);
    const last = lastUrl === null ? '' : ` (it was last at ${lastUrl})`;
    this.message = `The server of the data folder ${dataFolder} does not run${last}.`;
  }
}

/** Why no server can start on the database of this machine; `null`: nothing keeps one from it. */
async function faultOfDatabase(io: CliIo): Promise<string | null> {
  const { inspectDatabase } = await import('../event-store/sqlite/sqlite-database.ts');
  try {
    inspectDatabase(databaseOf(io, undefined));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * The token file opens the server of this machine that holds the data folder, and is shown to no other one.
 * @throws {CommandFailure} when there is none
 * @throws {ServerUnreachable} when that server does not run, or takes no requests yet
 */
export async function tokenFor(io: CliIo, place: ServerPlace): Promise<string> {
  const { token } = localConfig(io);
  if (token !== null) return token;
  const { baseUrl, dataFolder, from, holder } = place;
  if (!isHere(place))
    throw new CommandFailure(`AUTONOMOUS_TOKEN is not set; ${baseUrl} needs the token of the server there.`);
  const file = join(dataFolder, 'token');
  // Another user's program may listen there.
  if (holder === null || holder.url === null || !isSameAddress(baseUrl, holder.url)) {
    const isStarting = from === 'configuration' && holder !== null;
    if (!isStarting && (await isListening(baseUrl))) {
      if (from === 'configuration') throw new OtherServerAnswers(baseUrl, dataFolder);
      throw new CommandFailure(
        `The server at ${baseUrl} is not that of the data folder ${dataFolder}, and is not shown its token. Set AUTONOMOUS_TOKEN to the token of the server there, or AUTONOMOUS_DATA to its data folder.`,
      );
    }
    if (from === 'configuration' && holder === null && existsSync(file))
      throw new ServerStopped(baseUrl, dataFolder, await lastAddressOf(dataFolder));
    if (isStarting || existsSync(file)) throw new ServerUnreachable(baseUrl, null);
  }
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const why =
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'is not there' : `cannot be read (${String(error)})`;
    const way =
      holder === null
        ? `The server makes one when it first starts (${startCommand().serve}); AUTONOMOUS_DATA names another data folder.`
        : 'The server that runs was given its token: set AUTONOMOUS_TOKEN to the same.';
    throw new CommandFailure(`There is no token: AUTONOMOUS_TOKEN is not set and ${file} ${why}.\n${way}`, {
      cause: error,
    });
  }
}

function isHere({ baseUrl, from }: ServerPlace): boolean {
  return from === 'data folder' || isLoopback(baseUrl);
}

/** Asks for nothing. */
function isListening(baseUrl: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(baseUrl);
  return new Promise((resolve) => {
    const socket = connectTo({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
      timeout: LISTENING_MS,
    });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

/** The configuration of this machine's server, without its models and secrets. @throws {UsageError} naming each variable that is wrong */
export function localConfig(io: CliIo): ServerConfig {
  try {
    return readServerConfig(Object.fromEntries(VARIABLES.map((name) => [name, io.env[name]])));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function checked(address: string, source: string): string {
  const url = URL.parse(address);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return address;
  throw new UsageError(`${source} is '${address}'; an address such as http://127.0.0.1:3001 is needed.`);
}
