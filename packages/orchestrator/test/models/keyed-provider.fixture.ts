/** A provider of models on this machine that plays a script for clients with its key, and lists one model. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Script } from '../../src/models/script.ts';
import { startScriptedProvider } from '../fixtures/scripted-provider.fixture.ts';

export interface KeyedProvider {
  /** As `OPENAI_COMPATIBLE_BASE_URL` has it. */
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** The only model that it lists. */
export const KEYED_MODEL = 'test';

export async function startKeyedProvider(script: Script, apiKey: string): Promise<KeyedProvider> {
  const behind = await startScriptedProvider({ script, format: 'chat/completions', apiKey, faultFor: () => null });
  const server = createServer(async (incoming, outgoing) => {
    const { authorization = '' } = incoming.headers;
    if (incoming.url?.endsWith('/models') === true) {
      const isTaken = authorization === `Bearer ${apiKey}`;
      outgoing.writeHead(isTaken ? 200 : 401).end(JSON.stringify({ data: [{ id: KEYED_MODEL }] }));
      return;
    }
    const body: Buffer[] = [];
    for await (const chunk of incoming) body.push(chunk as Buffer);
    const answer = await fetch(`${behind.baseUrl}${incoming.url?.replace(/^\/v1/, '')}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: Buffer.concat(body),
    });
    outgoing.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    outgoing.end(Buffer.from(await answer.arrayBuffer()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await behind.stop();
    },
  };
}
