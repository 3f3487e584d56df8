/** Programs of a home folder in a real sandbox, and that nothing else of that folder is seen. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TEST_LIMITS } from '../sandbox.contract.ts';
import { createBubblewrapProvider } from './bubblewrap.ts';
import { findHomePrograms } from './home-programs.ts';

const available = await createBubblewrapProvider().availability();

let place: string;
let home: string;
beforeEach(() => {
  // Not in /tmp, where a sandbox has a folder of its own.
  place = realpathSync(mkdtempSync(path.join(import.meta.dirname, '.home-')));
  home = path.join(place, 'person');
  mkdirSync(home);
  vi.stubEnv('HOME', home);
  for (const name of ['RUSTUP_HOME', 'CARGO_HOME', 'PYENV_ROOT', 'NVM_DIR', 'VOLTA_HOME', 'GOROOT', 'XDG_DATA_HOME'])
    vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(place, { recursive: true });
});

const write = (file: string, text: string): void => {
  const target = path.join(home, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, text);
  chmodSync(target, 0o755);
};
const find = (named: readonly string[] = [], hidden: readonly string[] = []) =>
  findHomePrograms({ named, hidden, home, isTaken: () => false });
const ofHome = (folders: readonly string[]): readonly string[] =>
  folders.flatMap((folder) => (folder.startsWith(`${home}/`) ? [folder.slice(home.length + 1)] : []));

it('are those of version managers, of several versions the newest', () => {
  write('.nvm/versions/node/v9.1.0/bin/node', '');
  write('.nvm/versions/node/v22.3.0/bin/node', '');
  write('.pyenv/versions/3.9.1/bin/python3', '');
  write('.pyenv/versions/3.12.1/bin/python3', '');
  write('.pyenv/versions/2.7.18/bin/python', '');
  write('.rustup/toolchains/stable/bin/rustc', '');
  write('.cargo/bin/cargo', '');
  write('.cargo/credentials.toml', 'token');
  const found = find();
  expect(ofHome(found.path)).toEqual([
    '.cargo/bin',
    '.nvm/versions/node/v22.3.0/bin',
    '.pyenv/versions/3.12.1/bin',
    '.pyenv/versions/3.9.1/bin',
  ]);
  expect(ofHome(found.folders)).toEqual(['.cargo/bin', '.rustup/toolchains', '.nvm/versions/node', '.pyenv/versions']);
  expect(found.environment['RUSTUP_HOME']).toBe(path.join(home, '.rustup'));
});

it('are those of .NET without the private keys beside them', () => {
  for (const file of [
    'dotnet',
    'sdk/8.0.100/dotnet.dll',
    'corefx/cryptography/x509stores/my/key.pfx',
    'NuGet/NuGet.Config',
  ])
    write(`.dotnet/${file}`, '');
  const found = find();
  expect(ofHome(found.path)).toEqual(['.dotnet']);
  expect(ofHome(found.folders)).toEqual(['.dotnet/dotnet', '.dotnet/sdk']);
});

it.each(['go', 'go/', '../person/go'])('are those of Go without a person’s own modules: GOROOT=~/%s', (root) => {
  vi.stubEnv('GOROOT', `${home}/${root}`);
  for (const file of ['bin/gopls', 'src/github.com/person/private/main.go', 'pkg/mod/cache/lock'])
    write(`go/${file}`, '');
  expect(ofHome(find().folders)).toEqual(['go/bin']);
  for (const file of ['VERSION', 'bin/go', 'src/fmt/print.go', 'src/go.mod', 'pkg/tool/vet']) write(`go/${file}`, '');
  const found = find();
  expect(ofHome(found.path)).toEqual(['go/bin']);
  expect(ofHome(found.folders)).toEqual(['go/VERSION', 'go/bin', 'go/pkg/tool', 'go/src/fmt', 'go/src/go.mod']);
});

it('come first where the configuration names them, but never the home folder or what holds hidden folders', () => {
  write('tools/zig/zig', '');
  write('jdk/bin/java', '');
  write('server/data/key', '');
  const named = ['tools/zig', 'jdk', 'server', 'missing', ''].map((each) => path.join(home, each));
  const found = find([...named, '/', '/etc'], [path.join(home, 'server/data')]);
  expect(ofHome(found.first)).toEqual(['tools/zig', 'jdk/bin']);
  expect(found.folders.filter((folder) => !folder.startsWith(home) && !folder.startsWith('/home/linuxbrew'))).toEqual(
    [],
  );
});

describe('that are links', () => {
  const link = (target: string, at: string): void => {
    mkdirSync(path.dirname(path.join(home, at)), { recursive: true });
    symlinkSync(target, path.join(home, at));
  };

  it.each([
    '~/.ssh',
    '~/.config/gh',
    '~/dotfiles/aws',
    '~',
    '~/..',
    '/etc',
    '/var',
    `/proc/${process.pid}`,
    '/sys',
    '%',
  ])('are not shown where they lead to %s', (leadsTo) => {
    const outside = path.join(place, 'outside');
    mkdirSync(outside);
    for (const file of ['.ssh/id', '.config/gh/hosts.yml', 'dotfiles/aws/credentials']) write(file, 'secret');
    link(path.join(home, 'dotfiles/aws'), '.aws');
    const target = leadsTo.replace('~', home).replace('%', outside);
    for (const at of ['.cargo/bin', '.local/bin', '.deno/bin', '.pyenv/versions']) link(target, at);
    const found = find();
    expect([...ofHome(found.folders), ...ofHome(found.path)]).toEqual([]);
    // A person may name a folder that lies elsewhere, and nothing else of these.
    expect(ofHome(find([path.join(home, '.cargo/bin')]).first)).toEqual(leadsTo === '%' ? ['.cargo/bin'] : []);
  });

  it('are shown where they lead to programs', () => {
    write('store/bin/tool', '');
    link(path.join(home, 'store/bin'), '.cargo/bin');
    link('/usr/bin', '.deno/bin');
    write('.config/nvm/versions/node/v22.0.0/bin/node', '');
    link(path.join(home, '.config/nvm'), '.nvm');
    vi.stubEnv('VOLTA_HOME', path.join(place, 'volta'));
    mkdirSync(path.join(place, 'volta/tools/image/node/22.1.0/bin'), { recursive: true });
    const found = find();
    expect(ofHome(found.folders)).toEqual(['.cargo/bin', '.deno/bin', '.nvm/versions/node']);
    expect(found.folders).toContain(path.join(place, 'volta/tools/image/node'));
    expect(ofHome(found.path)).toEqual(['.cargo/bin', '.deno/bin', '.nvm/versions/node/v22.0.0/bin']);
  });
});

it('are never folders of the system or of credentials, although the configuration names them', () => {
  for (const file of ['.ssh/id', '.aws/credentials', '.config/gh/hosts.yml', '.docker/config.json'])
    write(file, 'secret');
  const ofPerson = ['.ssh', '.aws', '.config', '.config/gh', '.docker', ''].map((each) => path.join(home, each));
  const ofSystem = [
    '/root',
    '/home',
    '/run',
    '/var',
    '/sys',
    '/dev/shm',
    '/proc/1',
    '/boot',
    '/usr/../etc',
    '/etc/ssl',
  ];
  expect(find([...ofPerson, ...ofSystem]).first).toEqual([]);
});

describe.skipIf(!available.ok)('in a sandbox', () => {
  const run = async (command: string, programs: readonly string[] = []) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'work-'));
    const sandbox = await createBubblewrapProvider({ programs }).open({
      key: 'k',
      folder,
      readOnly: [],
      network: 'none',
      limits: TEST_LIMITS,
    });
    try {
      return await sandbox.run({ command, timeoutMs: 30_000 });
    } finally {
      await sandbox.dispose();
      rmSync(folder, { recursive: true });
    }
  };

  it('are found and cannot be changed; credentials beside them do not exist', async () => {
    write('.cargo/bin/cargo', '#!/bin/sh\necho cargo of $RUSTUP_HOME\n');
    write('.rustup/toolchains/stable/bin/rustc', '');
    write('.cargo/credentials.toml', 'token');
    write('.npmrc', '//registry/:_authToken=x');
    write('.local/share/uv/tools/ruff/bin/ruff', '#!/bin/sh\necho ruff\n');
    mkdirSync(path.join(home, '.local/bin'), { recursive: true });
    symlinkSync(path.join(home, '.local/share/uv/tools/ruff/bin/ruff'), path.join(home, '.local/bin/ruff'));
    const { stdout } = await run(
      `cargo; ruff; echo x > ${home}/.cargo/bin/new || echo refused; cd ${home} && find . -type f | sort`,
    );
    expect(stdout.split('\n')).toEqual([
      `cargo of ${home}/.rustup`,
      'ruff',
      'refused',
      './.cargo/bin/cargo',
      './.local/share/uv/tools/ruff/bin/ruff',
      './.rustup/toolchains/stable/bin/rustc',
      '',
    ]);
  });

  it('come before those of the system where the configuration names them', async () => {
    write('tools/make', '#!/bin/sh\necho own make\n');
    expect((await run('make', [path.join(home, 'tools')])).stdout).toBe('own make\n');
  });
});

it('never show the home folder itself, even if it is reached through a link', () => {
  const link = path.join(place, 'link');
  symlinkSync(home, link);
  const found = findHomePrograms({ named: [link], home: link, isTaken: () => false });
  expect(found.folders).not.toContain(link);
});
