/** A git server over smart HTTP for tests: `git http-backend` behind a token check, on a free port of this machine. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGunzip } from 'node:zlib';

export interface SmartHttpServer {
  /** `http://127.0.0.1:<port>`; a repository `<root>/owner/name.git` is at `<url>/owner/name.git`. */
  readonly url: string;
  readonly host: string;
  /** Authorization headers as they came, oldest first; `null` where a request had none. */
  readonly authorizations: readonly (string | null)[];
  close(): Promise<void>;
}

export interface SmartHttpOptions {
  /** Folder of the bare repositories. */
  readonly root: string;
  /** What each token may do, and under '' a request without one; any other gets 401. */
  readonly tokens: Readonly<Record<string, 'nothing' | 'read' | 'write'>>;
  /** Answers every request with a redirect to this origin instead. */
  readonly redirectTo?: string;
}

export async function startSmartHttp(options: SmartHttpOptions): Promise<SmartHttpServer> {
  const authorizations: (string | null)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization ?? null);
    if (options.redirectTo !== undefined) {
      response.writeHead(301, { location: `${options.redirectTo}${request.url}` }).end();
      return;
    }
    const status = refusalOf(request, options.tokens);
    if (status === null) answerByGit(request, response, options.root);
    else response.writeHead(status, status === 401 ? { 'www-authenticate': 'Basic realm="git"' } : {}).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo; // A TCP server's address is never a string.
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    authorizations,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/** Paths that `git http-backend` answers, with owner and name of the repository. */
export const GIT_PATH = /^\/(?<owner>[\w.-]+)\/(?<name>[\w.-]+)\.git\/(?:info\/refs|git-upload-pack|git-receive-pack)$/;

/** Password of a request's basic authorization; empty without one. */
export function passwordOf(request: IncomingMessage): string {
  const encoded = /^Basic (?<pair>.+)$/i.exec(request.headers.authorization ?? '')?.groups?.['pair'] ?? '';
  return Buffer.from(encoded, 'base64').toString().split(':')[1] ?? '';
}

/** Whether a request to git pushes, or asks what it could push to. */
export function isPush(request: IncomingMessage): boolean {
  const url = urlOf(request);
  return url.pathname.endsWith('git-receive-pack') || url.searchParams.get('service') === 'git-receive-pack';
}

function urlOf(request: IncomingMessage): URL {
  return new URL(request.url ?? '/', 'http://localhost');
}

function refusalOf(request: IncomingMessage, tokens: SmartHttpOptions['tokens']): number | null {
  const right = tokens[passwordOf(request)];
  if (right === undefined) return 401;
  if (right === 'nothing') return 403;
  if (!GIT_PATH.test(urlOf(request).pathname)) return 404;
  return isPush(request) && right === 'read' ? 403 : null;
}

/**
 * Answers by `git http-backend`.
 * @param root folder of the bare repositories
 */
export function answerByGit(request: IncomingMessage, response: ServerResponse, root: string): void {
  const url = urlOf(request);
  const protocol = request.headers['git-protocol'];
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'],
      HOME: root,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      REMOTE_USER: 'tester',
      REMOTE_ADDR: '127.0.0.1',
      ...(typeof protocol === 'string' ? { GIT_PROTOCOL: protocol } : {}),
    },
  });
  const body = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
  body.pipe(backend.stdin);
  backend.stdin.on('error', () => {
    // The backend ended before it read everything; its answer says why.
  });
  let head = Buffer.alloc(0);
  backend.stdout.on('data', (chunk: Buffer) => {
    if (response.headersSent) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const headers = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
    const status = headers.find(([name]) => name.toLowerCase() === 'status')?.[1] ?? '200';
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name.toLowerCase() !== 'status')),
    );
    response.write(head.subarray(end + 4));
  });
  backend.on('close', () => response.end());
  response.on('close', () => backend.kill());
}
