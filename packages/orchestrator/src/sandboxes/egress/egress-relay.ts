/**
 * Network access for a sandbox without a network: a port on 127.0.0.1 that is relayed to the egress proxy's unix
 * socket.
 *
 * The relay is a few lines of JavaScript that the server's own Node runs inside, so that nothing has to be installed.
 * Most commands never use the network, and Node starts more slowly than bubblewrap itself. If Perl is installed, as on
 * nearly every Linux, Perl listens instead and is replaced by the relay at the first connection.
 */
import { spawnSync } from 'node:child_process';
import { parseEgressEntry } from '../../network/egress-rules.ts';

const PORT = 3128;
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const FOLDER = '/opt/egress';
const PERL = '/usr/bin/perl';
/** One thread is enough, and threads count as processes. */
const NODE_OPTIONS = '--v8-pool-size=0 --max-old-space-size=64';

/** Where the proxy's socket lies inside. */
export const EGRESS_SOCKET = `${FOLDER}/proxy.sock`;

/** Both close their standard output as soon as they listen, so that no command is started too early. */
const RELAY = `
const { closeSync, openSync } = require('node:fs');
const { connect, createServer } = require('node:net');
const server = createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: ${JSON.stringify(EGRESS_SOCKET)}, allowHalfOpen: true });
  const end = () => { client.destroy(); proxy.destroy(); };
  client.on('error', end).pipe(proxy).on('error', end).pipe(client);
});
server.on('error', () => process.exit(1));
const inherited = process.argv[2];
server.listen(inherited ? { fd: Number(inherited) } : { port: ${PORT}, host: '127.0.0.1' }, () => {
  closeSync(1);
  // Takes the free place: Node ends when a connection of its own has the number of a standard stream.
  openSync('/dev/null', 'w');
});
`;

const LISTENER = `
use Socket;
$^F = 255; # the socket stays open when this becomes Node
socket(my $server, PF_INET, SOCK_STREAM, 0) or exit 1;
setsockopt($server, SOL_SOCKET, SO_REUSEADDR, 1);
bind($server, sockaddr_in(${PORT}, INADDR_LOOPBACK)) or exit 1;
listen($server, 128) or exit 1;
open(STDOUT, '>', '/dev/null');
vec(my $waiting = '', fileno($server), 1) = 1;
select($waiting, undef, undef, undef);
exec(@ARGV, fileno($server));
`;

/** Files that `withRelay` runs, by their path inside. */
export const RELAY_FILES: Readonly<Record<string, string>> = {
  [`${FOLDER}/relay.cjs`]: RELAY,
  [`${FOLDER}/listener.pl`]: LISTENER,
};

/**
 * A command with the relay beside it; it ends with the command, as every process of the sandbox does.
 * Where no relay can be started, the command runs without any network.
 * @param node absolute path of Node inside
 */
export function withRelay(node: string, command: readonly string[]): string[] {
  const relay = `${node} ${NODE_OPTIONS} ${FOLDER}/relay.cjs`;
  const started = hasPerl() ? `${PERL} ${FOLDER}/listener.pl ${relay}` : relay;
  return ['/bin/sh', '-c', `: "$(${started} 2> /dev/null &)"; exec "$@"`, 'sh', ...command];
}

let perl: boolean | undefined;

/** With the one module that it needs; looked at once. */
function hasPerl(): boolean {
  perl ??= spawnSync(PERL, ['-MSocket', '-e', '1'], { env: {}, stdio: 'ignore' }).status === 0;
  return perl;
}

/** Returns the environment variables that name the proxy. Loopback hosts use it only when the allow-list contains them. */
export function proxyVariables(allow: readonly string[]): Readonly<Record<string, string>> {
  const proxy = `http://127.0.0.1:${PORT}`;
  const listed = new Set(allow.map((entry) => parseEgressEntry(entry)?.host));
  const direct = LOOPBACK.filter((host) => !listed.has(host)).join(',');
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: direct,
    // curl reads the proxy for http in lower case alone.
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: '1',
    YARN_HTTP_PROXY: proxy,
    YARN_HTTPS_PROXY: proxy,
  };
}
