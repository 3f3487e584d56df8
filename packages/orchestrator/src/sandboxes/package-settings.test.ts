/** Registries of the machine's user, and that nothing secret of their addresses comes along. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readPackageSettings } from './package-settings.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'packages-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const write = (file: string, text: string): void => {
  mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
  writeFileSync(path.join(home, file), text);
};
const settings = (env: Readonly<Record<string, string>> = {}) =>
  readPackageSettings({ home, env, root: path.join(home, 'root') });

it('are none where the user names none', () => {
  expect(settings()).toEqual({ environment: {}, cargoConfig: null, hosts: [] });
});

it('are those of pip’s files and of its variables, which win', () => {
  write('root/etc/pip.conf', '[global]\nindex-url = https://system.example/simple\n');
  write(
    '.config/pip/pip.conf',
    '[global]\nindex-url = https://me:secret@pypi.acme.example:8443/simple?token=secret\nextra-index-url =\n  https://more.example/simple\n  file:///opt/wheels\ncert = /x\n',
  );
  expect(settings()).toEqual({
    environment: {
      PIP_INDEX_URL: 'https://pypi.acme.example:8443/simple',
      PIP_EXTRA_INDEX_URL: 'https://more.example/simple',
      UV_DEFAULT_INDEX: 'https://pypi.acme.example:8443/simple',
    },
    cargoConfig: null,
    hosts: ['pypi.acme.example:8443', 'more.example'],
  });
  expect(settings({ PIP_INDEX_URL: 'http://127.0.0.1:3141/simple' }).hosts).toEqual(['127.0.0.1:3141', 'more.example']);
});

it('are Go’s proxies, with what stands between them', () => {
  write('.config/go/env', 'GOFLAGS=-x\nGOPROXY=https://u:p@goproxy.example,direct\n');
  expect(settings().environment).toEqual({ GOPROXY: 'https://goproxy.example/,direct' });
  expect(settings({ GOPROXY: 'off' }).environment).toEqual({});
});

it('are sources that replace crates.io, as a file of Cargo without tokens', () => {
  write(
    '.cargo/config.toml',
    '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "sparse+https://u:p@crates.example/index/"\n[registries.acme]\nindex = "https://acme.example/git"\ntoken = "secret"\n[http]\nproxy = "x"\n',
  );
  const { cargoConfig, hosts } = settings();
  expect(cargoConfig).toBe(
    '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "sparse+https://crates.example/index/"\n[registries.acme]\nindex = "https://acme.example/git"\n',
  );
  expect(hosts).toEqual(['crates.example', 'acme.example']);
});
