/** A proxy before a server, as companies have them: it passes HTTP on, and WebSocket only when it is let. */
import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface Proxy {
  readonly url: string;
  /** Upgrades are refused until this is true. */
  letsWebSocketThrough: boolean;
  /** Paths that were asked for, oldest first. */
  readonly asked: readonly string[];
  stop(): Promise<void>;
}

/** @param target address of the server, such as `http://127.0.0.1:3001` */
export async function startProxy(target: string): Promise<Proxy> {
  const { host, hostname, port, origin } = new URL(target);
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  // The server answers to its own name alone.
  const named = (headers: IncomingHttpHeaders): IncomingHttpHeaders => ({
    ...headers,
    host,
    ...(headers.origin === undefined ? {} : { origin }),
  });
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming;
    asked.push(url);
    const passed = request({ hostname, port, method, path: url, headers: named(headers) }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(passed);
  });
  const proxy = { letsWebSocketThrough: false };
  server.on('upgrade', (incoming, socket: Socket, head) => {
    socket.on('error', () => socket.destroy());
    if (!proxy.letsWebSocketThrough) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const onward = connect(Number(port), hostname, () => {
      const lines = Object.entries(named(incoming.headers)).map(([name, value]) => `${name}: ${String(value)}`);
      onward.write(`GET ${incoming.url ?? '/'} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.destroy());
    sockets.add(onward);
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
}
