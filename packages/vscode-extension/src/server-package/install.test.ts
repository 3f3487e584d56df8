import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type APackage, aPackage, type ARegistry, aRegistry, type ARegistryOptions } from './a-registry.fixture.ts';
import {
  findInstalled,
  installServer,
  type InstallOptions,
  type InstallStep,
  markUsed,
  removeOtherVersions,
} from './install.ts';

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-install-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function serve(a: APackage, options?: ARegistryOptions): Promise<ARegistry> {
  const registry = await aRegistry(a, options);
  onTestFinished(() => registry.stop());
  return registry;
}

const quiet = { signal: new AbortController().signal, onStep: () => {} };
const sent = (a: APackage): Buffer => a.packed;

describe('The server’s package', () => {
  it('is downloaded, compared, unpacked and then used without the registry', async () => {
    const root = path.join(await aFolder(), 'server');
    const a = await aPackage();
    const registry = await serve(a);
    const steps: InstallStep[] = [];
    const installed = await installServer({
      root,
      pinned: a.pinned,
      registry: registry.url,
      signal: quiet.signal,
      onStep: (step) => steps.push(step),
    });
    expect(installed).toEqual({ version: '1.2.3', program: path.join(root, '1.2.3', 'bin', 'main.js'), node: '>=20' });
    expect(execFileSync(process.execPath, [installed.program], { encoding: 'utf8' })).toBe('here\n');
    expect(steps.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['asking', 'downloading', 'unpacking']));
    expect(steps).toContainEqual({ kind: 'downloading', bytes: a.pinned.bytes, ofBytes: a.pinned.bytes });
    expect(await readdir(root)).toEqual(['1.2.3']);
    await registry.stop();
    expect(await installServer({ ...quiet, root, pinned: a.pinned, registry: registry.url })).toEqual(installed);
    expect(registry.asked).toHaveLength(2);
  });

  it('is installed again where it is damaged, or where another build has its version', async () => {
    const root = await aFolder();
    const [a, other] = [await aPackage(), await aPackage({ filler: Buffer.from('another build') })];
    const registry = await serve(a);
    const options = { ...quiet, root, pinned: a.pinned, registry: registry.url };
    const { program } = await installServer(options);
    await rm(program);
    expect(await findInstalled(root, a.pinned)).toBeNull();
    await installServer(options);
    expect(await readFile(program, 'utf8')).toContain('here');
    const second = await serve(other);
    await installServer({ ...options, pinned: other.pinned, registry: second.url });
    expect(await readFile(path.join(root, '1.2.3', 'filler'), 'utf8')).toBe('another build');
  });

  it('is installed again where a file is without its content, is another one or a link, or is none of the package', async () => {
    const root = await aFolder();
    const a = await aPackage({ filler: Buffer.from('code of the server') });
    const registry = await serve(a);
    const options = { ...quiet, root, pinned: a.pinned, registry: registry.url };
    const installed = await installServer(options);
    const file = path.join(root, '1.2.3', 'filler');
    const elsewhere = path.join(await aFolder(), 'elsewhere');
    await writeFile(elsewhere, 'code of the server');
    for (const change of [
      () => writeFile(file, ''),
      () => rm(file),
      () => writeFile(file, 'code of nobody now'),
      () => rm(file).then(() => symlink(elsewhere, file)),
      () => writeFile(path.join(root, '1.2.3', 'more.js'), 'code of others'),
    ]) {
      await change();
      expect(await findInstalled(root, a.pinned)).toBeNull();
      expect(await installServer(options)).toEqual(installed);
      expect(await readFile(file, 'utf8')).toBe('code of the server');
    }
    await writeFile(path.join(root, '1.2.3', '.integrity'), '');
    expect(await findInstalled(root, a.pinned)).toBeNull();
    await markUsed(root, '1.2.3', process.pid);
    expect(await installServer(options)).toEqual(installed);
  });

  it.each([
    [0o6777, 0o755],
    [0o4711, 0o755],
    [0o2666, 0o644],
  ])('has a file of mode %o written as %o', async (mode, expected) => {
    const root = await aFolder();
    const a = await aPackage({ extra: { path: 'tool', mode } });
    const registry = await serve(a);
    await installServer({ ...quiet, root, pinned: a.pinned, registry: registry.url });
    const { mode: written } = await stat(path.join(root, '1.2.3', 'tool'));
    // A umask may take rights away.
    expect(written & 0o7777 & ~expected).toBe(0);
    expect(written & 0o100).toBe(expected & 0o100);
  });

  it('is downloaded once by two windows that install at the same time', async () => {
    const root = await aFolder();
    const a = await aPackage({ filler: randomBytes(300_000) });
    const registry = await serve(a, {
      misbehave(request, response) {
        if (!request.url?.endsWith('.tgz')) return false;
        setTimeout(() => response.end(sent(a)), 400);
        return true;
      },
    });
    const steps: string[] = [];
    const options: InstallOptions = {
      root,
      pinned: a.pinned,
      registry: registry.url,
      signal: quiet.signal,
      onStep: ({ kind }) => steps.push(kind),
    };
    const [one, other] = await Promise.all([installServer(options), installServer(options)]);
    expect(one).toEqual(other);
    expect(steps).toContain('waiting');
    expect(registry.asked.filter((place) => place.endsWith('.tgz'))).toHaveLength(1);
    expect(await readdir(root)).toEqual(['1.2.3']);
  });

  it('is installed after a window that was killed while it installed, of which nothing stays', async () => {
    const root = await aFolder();
    const a = await aPackage({ filler: randomBytes(300_000) });
    let hangs = true;
    const registry = await serve(a, {
      misbehave(request, response) {
        if (!hangs || !request.url?.endsWith('.tgz')) return false;
        response.setHeader('content-length', a.packed.length);
        response.write(sent(a).subarray(0, 1_000));
        return true;
      },
    });
    const options = { root, pinned: a.pinned, registry: registry.url };
    const window = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { installServer } from ${JSON.stringify(new URL('install.ts', import.meta.url).href)};
         await installServer({ ...${JSON.stringify(options)}, signal: new AbortController().signal,
           onStep: (step) => step.kind === 'downloading' && step.bytes > 0 && console.log('half') });`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await once(window.stdout, 'data');
    expect((await readdir(root)).some((name) => name.includes('.partial-'))).toBe(true);
    window.kill('SIGKILL');
    await once(window, 'exit');
    hangs = false;
    await installServer({ ...quiet, ...options });
    expect(await readdir(root)).toEqual(['1.2.3']);
  });

  it('does not wait for a lock that nobody renews, of whichever machine it is', async () => {
    const root = await aFolder();
    const lock = path.join(root, 'install.lock');
    await writeFile(lock, JSON.stringify({ id: 'x', pid: process.pid, host: 'another-machine' }));
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock, longAgo, longAgo);
    const a = await aPackage();
    const registry = await serve(a);
    await installServer({ ...quiet, root, pinned: a.pinned, registry: registry.url });
    expect(await readdir(root)).toEqual(['1.2.3']);
  });

  it('leaves nothing when it is cancelled, while it downloads and while it waits', async () => {
    const root = await aFolder();
    const a = await aPackage();
    const registry = await serve(a, {
      misbehave(request, response) {
        if (!request.url?.endsWith('.tgz')) return false;
        response.setHeader('content-length', a.packed.length);
        response.write(sent(a).subarray(0, 10));
        return true;
      },
    });
    const [first, second] = [new AbortController(), new AbortController()];
    const options = { root, pinned: a.pinned, registry: registry.url };
    const downloading = installServer({
      ...options,
      signal: first.signal,
      onStep: (step) => step.kind === 'downloading' && step.bytes > 0 && second.abort(),
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const waiting = installServer({ ...options, signal: second.signal, onStep: () => {} });
    await expect(waiting).rejects.toThrow('aborted');
    first.abort();
    await expect(downloading).rejects.toThrow('aborted');
    expect(await readdir(root)).toEqual([]);
  });
});

describe('A package that is not the pinned one', () => {
  const flipped = (a: APackage): Buffer => {
    const copy = Buffer.from(a.packed);
    copy[copy.length - 20] = (copy[copy.length - 20] ?? 0) ^ 1;
    return copy;
  };
  it.each<[string, RegExp, (a: APackage) => ARegistryOptions]>([
    [
      'another content of the same size',
      /is not the package that this extension was built with: its digest is sha512-/,
      (a) => ({ misbehave: (request, response) => isFile(request.url) && !!response.end(flipped(a)) }),
    ],
    [
      'more bytes',
      /bytes or more, and \d+ were expected/,
      (a) => ({
        misbehave: (request, response) => isFile(request.url) && !!response.end(Buffer.concat([a.packed, a.packed])),
      }),
    ],
    [
      'a connection that ends early',
      /interrupted after 0\.0 of 0\.\d MB\. Try again/,
      (a) => ({
        misbehave(request, response) {
          if (!isFile(request.url)) return false;
          response.setHeader('content-length', a.packed.length);
          response.write(a.packed.subarray(0, 100), () => setTimeout(() => response.destroy(), 50));
          return true;
        },
      }),
    ],
    [
      'another digest in the registry',
      /has another a-server 1\.2\.3 than/,
      () => ({ lists: { integrity: 'sha512-other' } }),
    ],
    [
      'another system',
      /runs on aix, and this is \w+, \w+\. Open the folder in WSL/,
      () => ({ lists: { os: ['aix'] } }),
    ],
    ['no such version', /has no version 1\.2\.3 of a-server/, () => ({ lists: { version: '1.2.4' } })],
    [
      'no such package',
      /has no package a-server\. Name a registry/,
      () => ({ misbehave: (_request, response) => !!response.writeHead(404).end('{}') }),
    ],
    [
      'a web page',
      /answered with a web page instead of a package/,
      () => ({
        misbehave: (_request, response) =>
          !!response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hotel</p>'),
      }),
    ],
    [
      'no JSON',
      /did not answer as an npm registry does/,
      () => ({ misbehave: (_request, response) => !!response.end('hello') }),
    ],
    ['a sign-in', /refused \(401\)/, () => ({ misbehave: (_request, response) => !!response.writeHead(401).end() })],
    ['an outage', /answered 503/, () => ({ misbehave: (_request, response) => !!response.writeHead(503).end() })],
    [
      'a redirect to http elsewhere',
      /leads to http:\/\/example\.org\/x, which is no https address/,
      () => ({
        misbehave: (_request, response) => !!response.writeHead(302, { location: 'http://example.org/x' }).end(),
      }),
    ],
    [
      'redirects without an end',
      /more than 5 times/,
      () => ({
        misbehave: (request, response, url) => !!response.writeHead(302, { location: `${url}${request.url}` }).end(),
      }),
    ],
    ['an address of a file', /leads to file:/, () => ({ lists: { tarball: 'file:///etc/passwd' } })],
    ['silence', /does not send anything any more/, () => ({ misbehave: (request) => isFile(request.url) })],
  ])('is refused with nothing left behind: %s', async (_what, words, options) => {
    const root = await aFolder();
    const a = await aPackage();
    const registry = await serve(a, options(a));
    const attempt = installServer({ ...quiet, root, pinned: a.pinned, registry: registry.url, stalledAfterMs: 500 });
    await expect(attempt).rejects.toThrow(words);
    expect(await readdir(root)).toEqual([]);
  });

  it.each([
    ['a link', { link: 'evil' }, /package\/evil \(SymbolicLink\): links, files outside/],
    [
      'a line end in a name',
      { extra: { path: 'a\nb' } },
      /package\/a⟨U\+000A⟩b \(File\): .*names with control characters/,
    ],
    ['an escape in a name', { extra: { path: 'lib/a\u001b[2J' } }, /package\/lib\/a⟨U\+001B⟩\[2J \(File\)/],
    ['its own list', { extra: { path: '.integrity' } }, /package\/\.integrity \(File\): .*files named \.integrity/],
    ['its own list below', { extra: { path: 'lib/.INTEGRITY' } }, /package\/lib\/\.INTEGRITY \(File\)/],
    [
      'another version in its manifest',
      { saysVersion: '9.9.9' },
      /says that it is a-server 9\.9\.9, and a-server 1\.2\.3/,
    ],
    ['no program', { withoutProgram: true }, /has no \.\/bin\/main\.js/],
  ])('is refused after it was compared: %s', async (_what, options, words) => {
    const root = await aFolder();
    const a = await aPackage(options);
    const registry = await serve(a);
    await expect(installServer({ ...quiet, root, pinned: a.pinned, registry: registry.url })).rejects.toThrow(words);
    expect(await readdir(root)).toEqual([]);
  });

  it('follows a redirect on the same machine', async () => {
    const root = await aFolder();
    const a = await aPackage();
    const mirror = await serve(a);
    const registry = await serve(a, {
      misbehave: (request, response) =>
        isFile(request.url) && !!response.writeHead(302, { location: `${mirror.url}${request.url}` }).end(),
    });
    await installServer({ ...quiet, root, pinned: a.pinned, registry: registry.url });
    expect(mirror.asked).toHaveLength(1);
  });

  it('says that nobody listens', async () => {
    const a = await aPackage();
    const registry = await serve(a);
    await registry.stop();
    await expect(
      installServer({ ...quiet, root: await aFolder(), pinned: a.pinned, registry: registry.url }),
    ).rejects.toThrow(/127\.0\.0\.1:\d+ is not reached \(ECONNREFUSED\)/);
  });
});

it('says that the disk is full and leaves nothing on it', async (context) => {
  const disk = await aFolder();
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk], {
    encoding: 'utf8',
  });
  if (status !== 0) context.skip(`this machine lets nobody mount a small disk: ${stderr.trim()}`);
  onTestFinished(() => void spawnSync('umount', ['--lazy', disk]));
  const a = await aPackage({ filler: randomBytes(600_000) });
  const registry = await serve(a);
  const root = path.join(disk, 'server');
  await expect(installServer({ ...quiet, root, pinned: a.pinned, registry: registry.url })).rejects.toThrow(
    `The disk of ${root} is full. Make room and try again`,
  );
  expect(await readdir(root)).toEqual([]);
});

it('removes older versions once nothing runs from them, and what is left of killed windows', async () => {
  const root = await aFolder();
  for (const name of [
    '0.9.0',
    '1.0.0',
    '1.2.3',
    `1.2.3.partial-${process.pid}-aa`,
    '1.1.0.partial-4194305-aa',
    'notes',
  ])
    await mkdir(path.join(root, name));
  await markUsed(root, '1.0.0', process.pid);
  await markUsed(root, '0.9.0', 4_194_305);
  expect((await removeOtherVersions(root, '1.2.3')).toSorted()).toEqual(['0.9.0', '1.1.0.partial-4194305-aa']);
  expect((await readdir(root)).toSorted()).toEqual(['1.0.0', '1.2.3', `1.2.3.partial-${process.pid}-aa`, 'notes']);
});

function isFile(place: string | undefined): boolean {
  return place?.endsWith('.tgz') === true;
}
