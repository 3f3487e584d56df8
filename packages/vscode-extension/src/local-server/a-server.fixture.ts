/** A real server as a process of its own, started as the extension starts one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LocalServer, type LocalServerState } from './local-server.ts';

const PROGRAM = path.resolve(import.meta.dirname, '..', '..', '..', 'orchestrator', 'src', 'main.ts');
/** The extension keeps its editor's cache of compiled code from a server; here both run under one Node, and it is there twice as soon. */
const CACHE = process.env['NODE_COMPILE_CACHE'];
const COMPILED = CACHE
  ? [`--import=data:text/javascript,process.getBuiltinModule('module').enableCompileCache(${JSON.stringify(CACHE)})`]
  : [];

export interface AServer {
  readonly server: LocalServer;
  readonly folder: string;
  readonly states: readonly LocalServerState[];
  readonly lines: readonly string[];
  /** @param port 0 takes any free one */
  start(port?: number): Promise<string>;
  remove(): Promise<void>;
}

export async function aServer(): Promise<AServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-extension-'));
  const states: LocalServerState[] = [];
  const lines: string[] = [];
  const server = new LocalServer({
    logFile: path.join(folder, 'logs', 'server.log'),
    onState: (state) => states.push(state),
    onLine: (line) => lines.push(line),
  });
  return {
    server,
    folder,
    states,
    lines,
    start: (port = 0) =>
      server.start({
        program: process.execPath,
        args: [...COMPILED, PROGRAM, 'serve', '--port', String(port), '--data', path.join(folder, 'data')],
        folder,
      }),
    async remove() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
