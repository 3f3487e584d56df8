/** A web of this machine for tests: real HTTP servers on loopback that names lead to, and what was asked of them. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type PageHosts, parsePageHosts } from './page-address.ts';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface LocalSite {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly port: number;
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** Answers by path; a path without one is not found. May be changed at any time. */
  readonly pages: Record<string, Answer>;
  close(): Promise<void>;
}

export async function startLocalSite(pages: Record<string, Answer>): Promise<LocalSite> {
  const asked: string[] = [];
  const answer: RequestListener = (request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    const page = pages[path];
    if (page !== undefined) page(request, response);
    else response.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found');
  };
  const server = createServer(answer);
  const port = await listen(server);
  return { origin: `http://127.0.0.1:${port}`, port, asked, pages, close: () => stop(server) };
}

export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

/** Hosts of `WEB_ALLOW`, with every public one. */
export function pageHosts(...entries: readonly string[]): PageHosts {
  const hosts = parsePageHosts(['*', ...entries]);
  if (hosts === null) throw new Error(`one of ${entries.join(', ')} cannot be read`);
  return hosts;
}

export function respond(type: string, body: string | Uint8Array, headers: Record<string, string> = {}): Answer {
  return (_, response) => {
    response.writeHead(200, { 'Content-Type': type, ...headers });
    response.end(body);
  };
}

export function redirectTo(location: string, status: number = 302): Answer {
  return (_, response) => response.writeHead(status, { Location: location }).end();
}

/** A page with an article between navigation and advertisements. */
export function anArticle(title: string, paragraphs: readonly string[]): string {
  return `<!doctype html><html><head><meta charset="utf-8"><title>${title}</title>
<meta name="author" content="Jane Doe"><meta property="article:published_time" content="2025-03-01"></head>
<body><nav><a href="/">Home</a> <a href="/shop">Shop</a></nav><article><h1>${title}</h1>
${paragraphs.map((text) => `<p>${text}</p>`).join('\n')}
</article><script>alert(1)</script><footer>All rights reserved</footer></body></html>`;
}
