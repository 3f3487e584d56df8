/** The server that the bench `feed` measures: the program itself, in a folder that goes with it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Client, createClient } from '@autonomous/shared/client';
import { type ServerProcess, startServerProcess } from '../../test/fixtures/server-process.fixture.ts';
import { PULSE } from './pulses.ts';

export interface BenchServer {
  readonly url: string;
  readonly token: string;
  readonly client: Client;
}

/** @param runs at most so many of them work at once */
export async function withServer<Result>(runs: number, use: (server: BenchServer) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-feed-'));
  let server: ServerProcess | undefined;
  try {
    server = await startServerProcess({
      dataFolder: path.join(folder, 'data'),
      port: '0',
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        LOG_LEVEL: 'warn',
        AUTONOMOUS_WORKFLOWS: PULSE,
        MAX_CONCURRENT_RUNS_PER_USER: String(runs),
      },
    });
    const { url, token } = server;
    return await use({ url, token, client: createClient({ baseUrl: url, token }) });
  } finally {
    await server?.end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }
}
