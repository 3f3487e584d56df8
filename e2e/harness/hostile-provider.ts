/** A provider of models that refuses every request, in words that are not meant well. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MODEL_ERROR } from './hostile-words.ts';

export interface HostileProvider {
  /** As `OPENAI_COMPATIBLE_BASE_URL` has it. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Its models are `openai-compatible:<any name>`. */
export async function startHostileProvider(): Promise<HostileProvider> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    outgoing
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: MODEL_ERROR, type: 'invalid_request_error', code: null, param: null } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
