/** A PostgreSQL cluster of the bench's own: in a temporary folder, on loopback, as it comes (each commit is synced). */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

export interface PostgresCluster {
  /** Without a database: `${url}/name`. */
  readonly url: string;
  /** The first of its processes. */
  readonly pid: number;
  stop(): Promise<void>;
}

const SUPERUSER = 'postgres';

/**
 * Makes and starts a cluster that `stop` removes.
 * @throws when PostgreSQL is not installed or does not start, in words
 */
export async function startPostgres(): Promise<PostgresCluster> {
  const binaries = newestBinaries();
  if (binaries === undefined) {
    throw new Error('PostgreSQL is not below /usr/lib/postgresql; on Debian: apt-get install postgresql.');
  }
  // Not below a folder that only root may enter.
  const home = mkdtempSync(path.join(tmpdir(), 'peers-postgres-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  const asUser = unprivileged(home);
  const data = path.join(home, 'data');
  const made = ['-D', data, '-A', 'trust', '-U', SUPERUSER, '-E', 'UTF8', '--locale=C'];
  execFileSync(...asUser(path.join(binaries, 'initdb'), made), { stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await freePort();
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: home, max_connections: 200 };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(...asUser(path.join(binaries, 'postgres'), ['-D', data, ...options]), {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await untilReady(server);
  return {
    url: `postgresql://${SUPERUSER}@127.0.0.1:${port}`,
    pid: server.pid ?? 0,
    async stop() {
      const ended = once(server, 'exit');
      // A fast shutdown: connections are closed, nothing is lost.
      server.kill('SIGINT');
      await ended;
    },
  };
}

function newestBinaries(): string | undefined {
  return globSync('/usr/lib/postgresql/*/bin/postgres')
    .map((file) => path.dirname(file))
    .filter((folder) => existsSync(path.join(folder, 'initdb')))
    .toSorted((a, b) => versionOf(a) - versionOf(b))
    .at(-1);
}

function versionOf(binaries: string): number {
  return Number(path.basename(path.dirname(binaries)));
}

/** PostgreSQL refuses to run as root: there it runs as its own user, to whom the folder then belongs. */
function unprivileged(home: string): (command: string, args: readonly string[]) => [string, string[]] {
  if (process.getuid?.() !== 0) return (command, args) => [command, [...args]];
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, SUPERUSER], { encoding: 'utf8' })));
  if (uid === undefined || gid === undefined) throw new Error(`There is no user '${SUPERUSER}'.`);
  chownSync(home, uid, gid);
  const become = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--pdeathsig', 'INT', '--'];
  return (command, args) => ['setpriv', [...become, command, ...args]];
}

async function untilReady(server: ChildProcess): Promise<void> {
  if (server.stderr === null) throw new Error('PostgreSQL was started without its log.');
  const said: string[] = [];
  // The log is read to the end, ready or not: a full pipe would stop the server.
  const lines = createInterface(server.stderr);
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      if (said.length < 20) said.push(line);
      if (line.includes('ready to accept connections')) resolve();
    });
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`PostgreSQL ended with code ${code}: ${said.join(' / ')}`)));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
