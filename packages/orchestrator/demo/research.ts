/** The web of the demo of a research run: pages on this machine that a server serves on loopback. Nothing is fetched from elsewhere. */
import { readFile, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import type { Script } from '../src/models/script.ts';

const PAGES = fileURLToPath(new URL('./research-web', import.meta.url));
/** Stands in the script for the address of the web. */
const WEB = /\{WEB\}/g;

async function readScript(file: string): Promise<Script> {
  // `main.ts` has checked it.
  return parse(await readFile(file, 'utf8'), { merge: true }) as Script;
}

export interface DemoWeb {
  /** Variables that the server needs to read these pages. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Writes the script with the addresses of this web into a folder, and returns its path.
   * @param further script whose roles are added; `null`: none
   */
  scriptIn(folder: string, script: string, further: string | null): Promise<string>;
  close(): Promise<void>;
}

export async function openDemoWeb(): Promise<DemoWeb> {
  const server = createServer((request, response) => {
    const name = /^\/([a-z-]{1,40})$/.exec(request.url ?? '')?.[1];
    const page = name === undefined ? Promise.reject(new Error('no page')) : readFile(path.join(PAGES, `${name}.html`));
    page.then(
      (html) => response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(html),
      () => response.writeHead(404, { 'Content-Type': 'text/plain' }).end('There is no such page.'),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    env: { WEB_ALLOW: `internal:127.0.0.1:${port}` },
    async scriptIn(folder, script, further) {
      const file = path.join(folder, 'research.script.yaml');
      const [first, ...others] = await Promise.all([script, ...(further === null ? [] : [further])].map(readScript));
      const roles = Object.assign({}, first?.roles, ...others.map((other) => other.roles)) as Script['roles'];
      await writeFile(file, stringify({ ...first, roles }).replaceAll(WEB, `http://127.0.0.1:${port}`));
      return file;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
