/** Stands before the scripted model and keeps requests as they were sent: the model's own view of them leaves out messages of the system. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RequestRecorder {
  readonly url: string;
  /** Bodies of the requests, the oldest first. */
  readonly bodies: readonly string[];
  stop(): Promise<void>;
}

/** @param target the model, to which each request is passed on */
export async function recordRequests(target: string): Promise<RequestRecorder> {
  const bodies: string[] = [];
  const server = createServer(async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer); // without an encoding, chunks are buffers
    const body = Buffer.concat(chunks);
    bodies.push(body.toString('utf8'));
    const { method, headers, url = '/' } = incoming;
    const passedOn = request(new URL(url, target), { method, headers }, (received) => {
      answer.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(answer);
    });
    passedOn.on('error', () => answer.destroy());
    passedOn.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
