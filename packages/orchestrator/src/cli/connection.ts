/** Resolves the server's address and token for commands that are clients. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, createClient } from '@autonomous/shared/client';
import { readServerConfig, type ServerConfig } from '../config.ts';
import { CommandFailure, UsageError } from './exit.ts';
import type { CliIo } from './io.ts';
import { startCommand } from '../server/start-command.ts';

/** The variables that say where a server of this machine is. Faults in the others are the server's own matter. */
const VARIABLES = ['ORCHESTRATOR_PORT', 'AUTONOMOUS_DATA', 'AUTONOMOUS_TOKEN', 'XDG_DATA_HOME'] as const;

/**
 * A client of the server that `--server`, AUTONOMOUS_SERVER or this machine's configuration names.
 * @throws {UsageError} when that is no address
 * @throws {CommandFailure} when there is no token
 */
export async function connect(io: CliIo, server: string | undefined): Promise<Client> {
  const config = localConfig(io);
  const baseUrl = serverAddress(io, server, config);
  const token = config.token ?? (await localToken(baseUrl, config.dataFolder));
  return createClient({ baseUrl, token, backoff: { minMs: 200, maxMs: 5_000 } });
}

/** The data folder of the server; `null`: it is on another machine. */
export function localDataFolder(io: CliIo, server: string | undefined): string | null {
  const config = localConfig(io);
  return isLocal(serverAddress(io, server, config)) ? config.dataFolder : null;
}

function isLocal(baseUrl: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(new URL(baseUrl).hostname);
}

function localConfig(io: CliIo): ServerConfig {
  try {
    return readServerConfig(Object.fromEntries(VARIABLES.map((name) => [name, io.env[name]])));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function serverAddress(io: CliIo, server: string | undefined, { port }: ServerConfig): string {
  const fromVariable = io.env['AUTONOMOUS_SERVER']?.trim() || undefined;
  const address = server ?? fromVariable ?? `http://127.0.0.1:${port}`;
  const url = URL.parse(address);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return address;
  const source = server === undefined ? 'AUTONOMOUS_SERVER' : '--server';
  throw new UsageError(`${source} is '${address}'; an address such as http://127.0.0.1:3001 is needed.`);
}

/** The token file opens the server of this machine, and is shown to no other one. */
async function localToken(baseUrl: string, dataFolder: string): Promise<string> {
  if (!isLocal(baseUrl)) {
    throw new CommandFailure(`AUTONOMOUS_TOKEN is not set; ${baseUrl} needs the token of the server there.`);
  }
  const file = join(dataFolder, 'token');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const why =
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'is not there' : `cannot be read (${String(error)})`;
    throw new CommandFailure(
      `There is no token: AUTONOMOUS_TOKEN is not set and ${file} ${why}.\nThe server makes one when it first starts (${startCommand().serve}); AUTONOMOUS_DATA names another data folder.`,
      { cause: error },
    );
  }
}
