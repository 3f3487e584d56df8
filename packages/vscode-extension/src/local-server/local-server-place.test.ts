import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  findCheckout,
  isLoopback,
  localDataFolder,
  localServerUrl,
  readLocalToken,
  serverAddress,
} from './local-server-place.ts';

const home = mkdtempSync(path.join(tmpdir(), 'autonomous-home-'));
afterAll(() => rmSync(home, { recursive: true }));

describe('The server of this machine', () => {
  it('is where the command line finds it', () => {
    expect(localServerUrl({})).toBe('http://127.0.0.1:3001');
    expect(localServerUrl({ ORCHESTRATOR_PORT: '4000' })).toBe('http://127.0.0.1:4000');
    expect(localDataFolder({}, '/home/ada')).toBe('/home/ada/.local/share/autonomous');
    expect(localDataFolder({ XDG_DATA_HOME: '/data' }, '/home/ada')).toBe('/data/autonomous');
    expect(localDataFolder({ AUTONOMOUS_DATA: '~/there' }, '/home/ada')).toBe('/home/ada/there');
  });

  it('keeps its token in a file, unless a variable has it', async () => {
    expect(await readLocalToken({}, home)).toBeNull();
    mkdirSync(path.join(home, '.local', 'share', 'autonomous'), { recursive: true });
    writeFileSync(path.join(home, '.local', 'share', 'autonomous', 'token'), 'secret\n');
    expect(await readLocalToken({}, home)).toBe('secret');
    expect(await readLocalToken({ AUTONOMOUS_TOKEN: 'other' }, home)).toBe('other');
  });

  it('alone is shown the token of the file', () => {
    for (const url of ['http://127.0.0.1:3001', 'http://localhost:3001', 'http://[::1]:1'])
      expect(isLoopback(url)).toBe(true);
    for (const url of ['http://127.0.0.1.example.org', 'https://example.org', 'http://localhost.example.org', 'x'])
      expect(isLoopback(url)).toBe(false);
  });
});

it.each([
  ['https://example.org/', 'https://example.org'],
  [' 127.0.0.1:3001 ', 'http://127.0.0.1:3001'],
  ['https://example.org/autonomous/', 'https://example.org/autonomous'],
  ['https://ada:secret@example.org', null],
  ['ftp://example.org', null],
  ['file:///etc/passwd', null],
  ['', null],
])('takes %j for the address %j', (text, address) => {
  expect(serverAddress(text)).toBe(address);
});

it('finds the checkout that this is, and no other folder', async () => {
  const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
  expect(await findCheckout([home, path.join(root, 'packages'), root])).toBe(root);
  expect(await findCheckout([home])).toBeNull();
});
