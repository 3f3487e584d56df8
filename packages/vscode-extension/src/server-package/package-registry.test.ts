import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chooseRuntime, isNewEnough } from './node-runtime.ts';
import { PUBLIC_REGISTRY, registryAddress } from './package-registry.ts';
import { readPinnedPackage } from './pinned-package.ts';

describe('The registry', () => {
  it('is the setting, else npm’s variable, else the public one', () => {
    expect(registryAddress('', {})).toBe(PUBLIC_REGISTRY);
    expect(registryAddress('', { npm_config_registry: 'https://npm.example.org/a/' })).toBe(
      'https://npm.example.org/a',
    );
    expect(registryAddress(' http://127.0.0.1:4873/ ', { npm_config_registry: 'https://x.org' })).toBe(
      'http://127.0.0.1:4873',
    );
  });

  it.each(['http://npm.example.org', 'npm.example.org', 'file:///tmp/x', 'https://ada:secret@npm.example.org'])(
    'is not %s',
    (address) => {
      expect(() => registryAddress(address, {})).toThrow('The setting autonomous.server.registry is ');
      expect(() => registryAddress('', { npm_config_registry: address })).toThrow(
        'The variable npm_config_registry is ',
      );
      expect(() => registryAddress(address, {})).not.toThrow('secret');
    },
  );
});

describe('The pinned package', () => {
  const whole = { name: 'a-server', version: '0.1.0', integrity: `sha512-${'A'.repeat(86)}==`, bytes: 12 };
  const write = async (text: string): Promise<string> => {
    const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-pinned-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'server.json');
    await writeFile(file, text);
    return file;
  };

  it('is read, and missing where the extension was not packaged', async () => {
    expect(await readPinnedPackage(await write(JSON.stringify(whole)))).toEqual(whole);
    expect(await readPinnedPackage('/nonexistent/server.json')).toBeNull();
  });

  it.each([
    'no JSON',
    JSON.stringify({ ...whole, version: '../1.0.0' }),
    JSON.stringify({ ...whole, integrity: 'sha1-abc' }),
    JSON.stringify({ ...whole, bytes: 0 }),
    JSON.stringify({ ...whole, name: '../a' }),
  ])('is refused as %s', async (text) => {
    await expect(readPinnedPackage(await write(text))).rejects.toThrow('Install the extension again');
  });
});

describe('The Node that runs the server', () => {
  const editor = (node: string, electron?: string) => ({ execPath: '/editor', versions: { node, electron } });

  it('is the editor’s own where it is Node and new enough', async () => {
    expect(await chooseRuntime('>=20', editor('22.1.0'), process.execPath)).toEqual({
      program: '/editor',
      env: { ELECTRON_RUN_AS_NODE: '1' },
      isElectron: false,
    });
  });

  it('is that of the PATH where the editor’s is too old, or Electron', async () => {
    const pathNode = { program: process.execPath, env: {}, isElectron: false };
    expect(await chooseRuntime('>=22.1', editor('22.0.9'), process.execPath)).toEqual(pathNode);
    expect(await chooseRuntime('>=22', editor('24.0.0', '41.0.0'), process.execPath)).toEqual(pathNode);
  });

  it('is Electron where the PATH has none', async () => {
    expect(await chooseRuntime('>=22', editor('24.0.0', '41.0.0'), '/nonexistent/node')).toMatchObject({
      program: '/editor',
      isElectron: true,
    });
  });

  it('is missing with the versions that are there', async () => {
    await expect(chooseRuntime('>=99', editor('22.0.0'), '/nonexistent/node')).rejects.toThrow(
      'The server needs Node >=99; the editor has 22.0.0 and the PATH has none.',
    );
    await expect(chooseRuntime('>=99', editor('22.0.0'), process.execPath)).rejects.toThrow(
      `the PATH has ${process.versions.node}`,
    );
  });

  it.each([
    ['22.13.0', '>=22.13', true],
    ['22.12.9', '>=22.13', false],
    ['24.0.0', '>=22.13.1', true],
    ['22.13.0', '>= 22.13.0 <25', true],
    ['18.0.0', null, true],
  ])('%s fits %s: %s', (version, range, fits) => {
    expect(isNewEnough(version, range)).toBe(fits);
  });
});
