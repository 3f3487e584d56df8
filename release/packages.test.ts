/** The packages as a person installs them: from a registry, in an empty folder, with the oldest Node that they support. */
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PackageRegistry, startPackageRegistry } from './package-registry.ts';
import { installLocked } from '../tools/locked-folder.mjs';
import { packEngine } from './engine-package.ts';
import { ROOT } from './facts.ts';
import { packServer } from './server-package.ts';

const execute = promisify(execFile);
const MINUTES = 60_000;
const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;

let folder: string;
let registry: PackageRegistry;
/** Of a person who has this Node and npm, and no server. */
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'autonomous-packages-'));
  installLocked(path.join(import.meta.dirname, 'node-22'));
  await execute('turbo', ['run', 'build', '--filter', '@autonomous/ui', '--filter', '@autonomous/orchestrator'], {
    cwd: ROOT,
  });
  const out = path.join(folder, 'release');
  const packed = [await packServer(out), await packEngine(out)];
  const { stdout } = await execute('npm', ['config', 'get', 'registry']);
  registry = await startPackageRegistry(
    packed.map(({ file }) => path.join(out, file)),
    { upstream: stdout.trim() },
  );
  const home = path.join(folder, 'home');
  await mkdir(home);
  const node = path.join(import.meta.dirname, 'node-22', 'node_modules', NODE_PACKAGE, 'bin');
  const system = (process.env['PATH'] ?? '').split(path.delimiter).filter((entry) => !entry.startsWith(ROOT));
  env = {
    PATH: [node, ...system].join(path.delimiter),
    HOME: home,
    npm_config_registry: registry.url,
    npm_config_yes: 'true',
    // Where the machine says how the other registry is reached.
    ...pick('npm_config_cafile', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'https_proxy', 'HTTPS_PROXY', 'no_proxy'),
  };
  expect((await execute('node', ['--version'], { env })).stdout).toBe('v22.18.0\n');
}, 10 * MINUTES);

afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the package autonomous-orchestrator in an empty folder', () => {
  it('tells its version', { timeout: 3 * MINUTES }, async () => {
    const place = await emptyFolder('version');
    const { stdout } = await execute('npm', ['exec', 'autonomous-orchestrator', '--', '--version'], {
      cwd: place,
      env,
    });
    const { version } = JSON.parse(
      await readFile(path.join(ROOT, 'packages', 'orchestrator', 'package.json'), 'utf8'),
    ) as { readonly version: string };
    expect(stdout.trim()).toBe(version);
  });

  it('plays a whole run to its merge', { timeout: 5 * MINUTES }, async () => {
    const place = await emptyFolder('demo');
    const { stdout } = await execute(
      'npm',
      ['exec', 'autonomous-orchestrator', '--', 'demo', '--json', '--out', path.join(place, 'out')],
      { cwd: place, env },
    );
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ status: 'completed' });
  });

  it(
    'serves the dashboard, and runs a workflow that imports it and has no modules of its own',
    { timeout: 5 * MINUTES },
    async () => {
      const place = await emptyFolder('serve');
      for (const name of ['workflow.ts', 'machine.ts', 'activities.ts']) {
        const source = await readFile(path.join(ROOT, 'examples', 'own-workflow', name), 'utf8');
        const published = source.replaceAll('@autonomous/orchestrator/', 'autonomous-orchestrator/');
        await writeFile(path.join(place, name), published);
      }
      const data = path.join(place, 'data');
      const server = spawn('npm', ['exec', 'autonomous-orchestrator'], {
        cwd: place,
        env: {
          ...env,
          AUTONOMOUS_DATA: data,
          ORCHESTRATOR_PORT: '0',
          AUTONOMOUS_WORKFLOWS: './workflow.ts',
          INVOICE_FOLDER: path.join(place, 'invoices'),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      try {
        const url = await addressIn(server);
        await expect(fetch(`${url}/healthz`)).resolves.toMatchObject({ status: 200 });
        const page = await (await fetch(url)).text();
        expect(page).toContain('data-demo="npx autonomous-orchestrator demo"');
        const script = /src="(\/assets\/[^"]+\/app\.js)"/.exec(page)?.[1] ?? 'none';
        await expect(fetch(`${url}${script}`)).resolves.toMatchObject({ status: 200 });
        const token = (await readFile(path.join(data, 'token'), 'utf8')).trim();
        const launched = await fetch(`${url}/api/runs`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ workflow: 'invoice', input: { customer: 'Ada', cents: 1200 } }),
        });
        expect(await launched.text()).toContain('"invoice"');
        expect(launched.status).toBe(201);
      } finally {
        // npm and the server together.
        if (server.pid !== undefined) process.kill(-server.pid, 'SIGTERM');
      }
    },
  );
});

describe('the package autonomous-engine in an empty folder', () => {
  it('installs without the server’s libraries and runs a workflow', { timeout: 5 * MINUTES }, async (context) => {
    const place = await emptyFolder('engine');
    await writeFile(path.join(place, 'package.json'), '{ "type": "module", "private": true }');
    await execute('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', 'autonomous-engine'], {
      cwd: place,
      env,
    }).catch((error: unknown) => {
      if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED/.test(String(error)))
        context.skip('the registry with xstate, zod and better-sqlite3 cannot be reached');
      throw error;
    });
    const guide = await readFile(path.join(ROOT, 'docs', 'engine-as-a-library.md'), 'utf8');
    const program = /```ts\n(.*?)```/s.exec(guide)?.[1] ?? '';
    expect(program).toContain("from 'autonomous-engine'");
    await writeFile(path.join(place, 'order.ts'), program);
    const { stdout } = await execute('node', ['order.ts', path.join(place, 'orders.db')], { cwd: place, env });
    expect(stdout.trim()).toBe('completed');
    const installed = await execute('npm', ['ls', '--all', '--parseable'], { cwd: place, env });
    const names = installed.stdout.split('\n').map((line) => line.split('node_modules/').at(-1) ?? '');
    expect(names).toContain('autonomous-engine');
    expect(names.filter((name) => /^(?:mermaid|ai|e2b|hono|@ai-sdk)/.test(name))).toEqual([]);
  });
});

async function emptyFolder(name: string): Promise<string> {
  const place = path.join(folder, name);
  await mkdir(place);
  return place;
}

function pick(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

function addressIn(server: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    let log = '';
    server.stderr?.on('data', (chunk) => (log += String(chunk)));
    if (server.stdout !== null)
      createInterface({ input: server.stdout }).on('line', (line) => {
        const address = /^ +address +(\S+)$/.exec(line)?.[1];
        if (address !== undefined) resolve(address);
      });
    server.once('exit', (code) => reject(new Error(`The server ended (${code}) before it was up:\n${log}`)));
  });
}
