/** The program that brings Bun, with a real npx and a registry on this machine whose packages are made like Bun's. */
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nodeExecutable } from '../../sandboxes/node-executable.ts';
import { SCRIPTS_OFF } from '../../sandboxes/npm-settings.ts';
import { BUN_SETUP_FILE, BUN_SETUP_PROGRAM, bunSetup, COMPLETE_BUN } from './bun-setup.ts';

/** As Bun's own: it prints its version, and runs what it is told to. */
const PROGRAM = '#!/bin/sh\n[ "$1" != --version ] || { echo 1.2.20; exit; }\nexec "$@"\n';
/** As one for another processor. */
const BROKEN = '#!/bin/sh\necho Illegal instruction >&2\nexit 132\n';

let home: string;
let project: string;
beforeEach(() => {
  const place = realpathSync(mkdtempSync(path.join(tmpdir(), 'bun-')));
  home = path.join(place, 'home');
  project = path.join(place, 'project');
  for (const folder of [home, project, path.join(place, 'bin')]) mkdirSync(folder);
  // Without the programs of the person who runs the tests.
  const beside = path.dirname(realpathSync(nodeExecutable()));
  for (const name of ['node', 'npm', 'npx']) symlinkSync(path.join(beside, name), path.join(place, 'bin', name));
  writeFileSync(path.join(home, BUN_SETUP_FILE), BUN_SETUP_PROGRAM);
});
afterEach(() => rmSync(path.dirname(home), { recursive: true }));

async function sh(command: string, env: Readonly<Record<string, string>> = {}) {
  const PATH = [path.join(path.dirname(home), 'bin'), '/usr/bin', '/bin', path.join(home, '.local/bin')].join(':');
  const options = { cwd: project, env: { PATH, HOME: home, ...SCRIPTS_OFF, ...env } };
  const { promise, resolve } = Promise.withResolvers<{ readonly exitCode: unknown; readonly output: string }>();
  execFile('/bin/sh', ['-c', command], options, (error, stdout, stderr) =>
    resolve({ exitCode: error?.code ?? 0, output: stdout + stderr }),
  );
  return promise;
}

/** Serves `bun`, whose commands are empty files, and its packages of platforms. */
async function aRegistry(platforms: Readonly<Record<string, string>>) {
  const folder = path.join(path.dirname(home), 'registry');
  const packages = new Map<string, Buffer>();
  const answers = new Map<string, (address: string) => string>();
  const offer = (name: string, files: Readonly<Record<string, string>>, more: object = {}): void => {
    const root = path.join(folder, name);
    const manifest = { name, version: '1.2.20', ...more };
    for (const [file, text] of Object.entries({ 'package.json': JSON.stringify(manifest), ...files })) {
      mkdirSync(path.dirname(path.join(root, 'package', file)), { recursive: true });
      writeFileSync(path.join(root, 'package', file), text, { mode: 0o755 });
    }
    execFileSync('tar', ['-czf', path.join(root, 'package.tgz'), '-C', root, 'package']);
    const tarball = readFileSync(path.join(root, 'package.tgz'));
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    packages.set(`/${name}.tgz`, tarball);
    answers.set(`/${name.replace('/', '%2f')}`, (address) => {
      const version = { ...manifest, dist: { tarball: `${address}/${name}.tgz`, integrity } };
      return JSON.stringify({ name, 'dist-tags': { latest: '1.2.20' }, versions: { '1.2.20': version } });
    });
  };
  for (const [name, program] of Object.entries(platforms)) offer(`@oven/${name}`, { 'bin/bun': program });
  offer(
    'bun',
    { 'bin/bun.exe': '', 'bin/bunx.exe': '' },
    {
      bin: { bun: 'bin/bun.exe', bunx: 'bin/bunx.exe' },
      scripts: { postinstall: 'exit 9' },
      optionalDependencies: Object.fromEntries(Object.keys(platforms).map((name) => [`@oven/${name}`, '1.2.20'])),
    },
  );
  const server = createServer((request, response) => {
    const asked = (request.url ?? '').replace('%2F', '%2f');
    const answer = packages.get(asked) ?? answers.get(asked)?.(address);
    if (answer === undefined) response.writeHead(404).end('{}');
    else response.end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { env: { npm_config_registry: address }, [Symbol.dispose]: () => void server.close() };
}

it('makes a Bun of the package whose program starts; it runs without network afterwards', async () => {
  using registry = await aRegistry({ 'bun-linux-x64': BROKEN, 'bun-linux-x64-baseline': PROGRAM });
  // The placeholder ends well and runs nothing.
  expect(await sh('npx --yes bun@1.2.20 sh -c "exit 7"', registry.env)).toMatchObject({ exitCode: 0 });
  expect(await sh(bunSetup('1.2.20'), registry.env)).toMatchObject({ exitCode: 0, output: '1.2.20\n' });
  const offline = { npm_config_offline: 'true' };
  expect(await sh('bun sh -c "exit 7"', offline)).toMatchObject({ exitCode: 7 });
  expect(await sh(bunSetup('1.2.20'), offline)).toMatchObject({ exitCode: 0 });
});

it('fails with what Bun says where none of the programs starts', async () => {
  using registry = await aRegistry({ 'bun-linux-x64': BROKEN });
  const { exitCode, output } = await sh(bunSetup(undefined), registry.env);
  expect(exitCode).toBe(1);
  expect(output).toMatch(/from npm does not start on this machine.*\nIllegal instruction\n/);
});

it('fails where the Bun in PATH prints no version', async () => {
  mkdirSync(path.join(home, '.local/bin'), { recursive: true });
  writeFileSync(path.join(home, '.local/bin/bun'), '', { mode: 0o755 });
  expect(await sh(bunSetup(undefined))).toMatchObject({ exitCode: 1, output: expect.stringContaining('no version') });
});

it('completes a Bun among the packages of a project', async () => {
  using registry = await aRegistry({ 'bun-linux-x64': PROGRAM });
  writeFileSync(
    path.join(project, 'package.json'),
    '{"devDependencies":{"bun":"1.2.20"},"scripts":{"test":"bun false"}}',
  );
  await sh('npm install --no-package-lock', registry.env);
  expect(await sh('npm test')).toMatchObject({ exitCode: 0 });
  expect(await sh(COMPLETE_BUN)).toMatchObject({ exitCode: 0 });
  expect(await sh('npm test')).toMatchObject({ exitCode: 1 });
});
