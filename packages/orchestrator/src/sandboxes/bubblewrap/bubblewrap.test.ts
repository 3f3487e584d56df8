/** The contract, and hostile commands that must fail, against the real bubblewrap of this machine. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { getCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runProgram } from '../../processes/program.ts';
import { type BubblewrapOptions, createBubblewrapProvider } from './bubblewrap.ts';
import { findHomePrograms } from './home-programs.ts';
import type { CommandResult, SandboxSpec } from '../sandbox.ts';
import { describeSandboxContract, TEST_LIMITS } from '../sandbox.contract.ts';
import { readSandboxFile } from '../sandbox-files.ts';
import { asMounted } from '../mounted-folder.fixture.ts';

const provider = createBubblewrapProvider();
const available = await provider.availability();
// Only a machine that cannot run bubblewrap at all skips this file, and says why.
if (!available.ok) process.stderr.write(`bubblewrap tests are skipped: ${available.reason}. ${available.remedy}\n`);

/** Of the session of a command, where this kernel knows such a thing. */
const PRIORITY = existsSync('/proc/self/autogroup') ? / nice 5\n$/ : /^$/;

describe.skipIf(!available.ok)('bubblewrap', () => {
  describeSandboxContract(provider, {
    endsEscapedProcesses: true,
    mountsReadOnly: true,
    sharesFolder: true,
    hasServersNode: true,
  });

  let root: string;
  let folder: string;
  let server: Server;
  let port: number;
  let requests: string[];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'bubblewrap-'));
    folder = join(root, 'run');
    await mkdir(folder);
    requests = [];
    server = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.end('reached');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });

  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(root, { recursive: true, force: true });
  });

  const run = async (
    command: string,
    spec: Partial<SandboxSpec> = {},
    options: BubblewrapOptions & { timeoutMs?: number } = {},
  ): Promise<CommandResult> => {
    const { timeoutMs = 30_000, ...rest } = options;
    const sandbox = await createBubblewrapProvider(rest).open({
      key: 'r-1/1/test',
      folder,
      readOnly: [],
      network: 'none',
      limits: TEST_LIMITS,
      ...spec,
    });
    try {
      return await sandbox.run({ command, timeoutMs });
    } finally {
      await sandbox.dispose();
    }
  };

  describe('network', () => {
    const connect = (host: string, toPort: number): string =>
      `node -e '
        const socket = require("net").connect({ host: ${JSON.stringify(host)}, port: ${toPort}, timeout: 3000 });
        const end = (text) => { console.log(text); process.exit(0); };
        socket.on("connect", () => end("CONNECTED")).on("error", (e) => end("failed " + e.code)).on("timeout", () => end("failed timeout"));
      '`;

    it.each([
      ['the internet', '1.1.1.1', 443],
      ['a cloud’s metadata service', '169.254.169.254', 80],
      ['the internet over IPv6', '2606:4700:4700::1111', 443],
      ['a name', 'example.com', 443],
    ])('does not reach %s', async (_what, host, toPort) => {
      expect((await run(connect(host, toPort))).stdout).toMatch(
        /^failed (ENETUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|EADDRNOTAVAIL)/,
      );
    });

    it('does not reach a server on the host’s loopback, which the host itself reaches', async () => {
      expect(await (await fetch(`http://127.0.0.1:${port}/host`)).text()).toBe('reached');
      for (const host of ['127.0.0.1', '::1', 'localhost']) {
        expect((await run(connect(host, port))).stdout).toContain('failed');
      }
      expect(requests).toEqual(['/host']);
    });

    it('does not reach unix sockets of the host, neither by path nor by abstract name', async () => {
      const abstract = `\0autonomous-test-${process.pid}`;
      const sockets = await Promise.all(
        [join(root, 'server.sock'), abstract].map(async (path) => {
          const listener = createServer();
          await new Promise<void>((resolve) => listener.listen(path, resolve));
          return listener;
        }),
      );
      const tryPath = (path: string) =>
        `node -e 'require("net").connect(JSON.parse(process.argv[1])).on("connect",()=>{console.log("CONNECTED");process.exit()}).on("error",e=>console.log("failed",e.code))' '${JSON.stringify({ path })}'`;
      expect((await run(tryPath(join(root, 'server.sock')))).stdout).toContain('failed');
      expect((await run(tryPath(abstract))).stdout).toContain('failed');
      await Promise.all(sockets.map((listener) => new Promise((resolve) => listener.close(resolve))));
    });

    it('lets programs inside talk to each other over localhost', async () => {
      const { stdout } = await run(`node -e '
        const server = require("http").createServer((_, r) => r.end("inner")).listen(0, "localhost", async () => {
          console.log(await (await fetch("http://localhost:" + server.address().port)).text());
          server.close();
        });'`);
      expect(stdout).toBe('inner\n');
    });

    it('reaches the host where the network is open', async () => {
      const { stdout } = await run(
        `node -e 'fetch("http://127.0.0.1:${port}/open").then((r) => r.text()).then(console.log)'`,
        {
          network: 'open',
        },
      );
      expect(stdout).toBe('reached\n');
      expect(requests).toEqual(['/open']);
    });

    it('passes npm’s registry on to an install step, with install scripts off', async () => {
      vi.stubEnv('npm_config_registry', `http://127.0.0.1:${port}/registry/`);
      onTestFinished(() => void vi.unstubAllEnvs());
      const command =
        'cat "$npm_config_userconfig"; npm config get registry; npm config get ignore-scripts; echo x >> "$npm_config_userconfig"; npm view some-package --fetch-retries=0';
      const { stdout } = await run(command, { network: 'open' });
      expect(stdout).toContain(`registry=http://127.0.0.1:${port}/registry/\n`);
      expect(stdout).toContain(`\nhttp://127.0.0.1:${port}/registry/\ntrue\n`);
      expect(requests).toContain('/registry/some-package');
    });

    it('passes the certificates that npm trusts on to tools that read no npmrc', async () => {
      const [certificate = ''] = getCACertificates('bundled');
      const cafile = join(tmpdir(), `cafile-${process.pid}.pem`);
      await writeFile(cafile, certificate);
      onTestFinished(() => rm(cafile));
      vi.stubEnv('npm_config_cafile', cafile);
      onTestFinished(() => void vi.unstubAllEnvs());
      const { stdout } = await run('cat "$NODE_EXTRA_CA_CERTS"', { network: 'open' });
      expect(stdout).toContain(certificate.trim());
    });
  });

  describe('what is visible', () => {
    it('is no environment of the server, not even that of the first process', async () => {
      vi.stubEnv('SANDBOX_CANARY', 'canary-4711');
      onTestFinished(() => void vi.unstubAllEnvs());
      const { stdout } = await run(
        "cat /proc/1/environ /proc/self/environ /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; env",
      );
      expect(stdout).toContain('HOME=/home/agent');
      expect(stdout).not.toContain('canary-4711');
    });

    it('is a variable of a process that stays, yet on no command line of the host', async () => {
      const sandbox = await provider.open({
        key: 'r-1/1/test',
        folder,
        readOnly: [],
        network: 'none',
        limits: TEST_LIMITS,
      });
      const started = await sandbox.start({ command: 'echo "$KEY"; sleep 600', env: { KEY: 'canary-4712' } });
      const { value } = await started.stdout.getReader().read();
      expect(Buffer.from(value ?? []).toString()).toBe('canary-4712\n');
      const lines = await Promise.all(
        (await processesNaming(folder)).map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
      );
      expect(lines.join('\n')).toContain('bwrap');
      expect(lines.join('\n')).not.toContain('canary-4712');
      await sandbox.dispose();
    });

    it('is no secret file, no other folder and nobody’s home', async () => {
      await writeFile(join(root, 'database.sqlite'), 'canary-4711');
      await mkdir(join(root, 'other-run'));
      await writeFile(join(root, 'other-run/secret.txt'), 'canary-4711');
      const paths = [
        '/etc/shadow',
        '~root/.ssh',
        '~root/.config',
        '~root/.npmrc',
        '~root/.cargo/credentials.toml',
        '/var/lib',
        '/run',
        '/sys',
        '/boot',
        '/srv',
        root,
        join(root, 'database.sqlite'),
        join(root, 'other-run/secret.txt'),
      ];
      const { stdout } = await run(
        paths.map((path) => `if ls -d ${path} > /dev/null 2>&1; then echo "VISIBLE ${path}"; fi`).join('\n'),
      );
      expect(stdout).toBe('');
      // Of a home folder, those of installed programs alone.
      const shown = (await run('ls -A ~root 2> /dev/null')).stdout.split('\n').filter((name) => name !== '');
      const programs = findHomePrograms({ isTaken: () => false }).folders;
      const names = new Set(programs.map((program) => relative(homedir(), program).split('/')[0]));
      expect(shown.filter((name) => !names.has(name))).toEqual([]);
      expect((await run('cat ../other-run/secret.txt; cat /proc/1/root/etc/shadow; ls /home')).stdout).toBe('agent\n');
    });

    it('is only what lies inside when a symlink leads out of the folder', async () => {
      await writeFile(join(root, 'secret.txt'), 'canary-4711');
      const sandbox = await provider.open({
        key: 'r-1/1/test',
        folder,
        readOnly: [],
        network: 'none',
        limits: TEST_LIMITS,
      });
      await sandbox.run({
        command: `ln -s ${join(root, 'secret.txt')} out; ln -s /etc/passwd passwd`,
        timeoutMs: 10_000,
      });
      expect(await readSandboxFile(sandbox, 'out')).toBeNull();
      expect(await readSandboxFile(sandbox, 'passwd')).toContain('agent:x:1000');
      await sandbox.dispose();
    });

    it('is nothing of folders that are to be hidden, even inside /usr', async () => {
      const { stdout } = await run('ls /usr/share/doc /usr/src | grep -v :', {}, { hiddenFolders: ['/usr/share/doc'] });
      expect(stdout.trim()).toBe('');
      expect((await run('ls /usr/share')).stdout).toContain('doc');
    });

    it('is no process but its own', async () => {
      const { stdout } = await run('ls /proc | grep -c "^[0-9]"; cat /proc/[0-9]*/comm');
      expect(Number(stdout.split('\n')[0])).toBeLessThan(10);
      expect(stdout).not.toContain('vitest');
    });

    it('is an ordinary user without any capability, who cannot make namespaces', async () => {
      const { stdout, stderr } = await run(
        'id -u; grep -E "Cap(Eff|Bnd|Prm)|NoNewPrivs" /proc/self/status; unshare -U true && echo NAMESPACE; hostname',
      );
      expect(stdout).toBe(
        '1000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nsandbox\n',
      );
      expect(stderr).toContain('unshare');
    });
  });

  describe('what can be written', () => {
    it('is neither the system nor kernel settings', async () => {
      const pattern = await readFile('/proc/sys/kernel/core_pattern', 'utf8');
      const paths = [
        '/x',
        '/usr/x',
        '/usr/bin/x',
        '/etc/x',
        '/etc/passwd',
        '/opt/x',
        '/dev/x',
        '/lib/x',
        '/proc/sys/kernel/core_pattern',
        '/proc/sysrq-trigger',
      ];
      const { stdout } = await run(
        paths
          .map(
            (path) => `if (cat /proc/sys/kernel/core_pattern >> ${path}) 2> /dev/null; then echo "WRITTEN ${path}"; fi`,
          )
          .join('\n'),
      );
      expect(stdout).toBe('');
      expect(await readFile('/proc/sys/kernel/core_pattern', 'utf8')).toBe(pattern);
    });

    it('is /tmp, HOME, /dev/shm and the folder, of which only the folder stays', async () => {
      const files = '/tmp/x ~/x /dev/shm/x ./x';
      expect((await run(`touch ${files} && echo written`)).stdout).toBe('written\n');
      expect((await run(`ls ${files} 2> /dev/null`)).stdout).toBe('./x\n');
    });
  });

  describe('limits', () => {
    it('let Node with eight threads, WebAssembly, a child process and npm run in 1 GB', async () => {
      const { exitCode, stdout, stderr } = await run(
        `node -e '
          const memories = Array.from({ length: 8 }, () => new WebAssembly.Memory({ initial: 16, maximum: 65536 }));
          const { Worker } = require("worker_threads");
          let up = 0;
          for (let n = 0; n < 8; n += 1) new Worker("require(\\"worker_threads\\").parentPort.postMessage(1)", { eval: true }).on("message", () => {
            up += 1;
            if (up === 8) console.log(up, memories.length, require("child_process").execSync("echo child").toString().trim());
          });
        ' && npm --version`,
        { limits: { ...TEST_LIMITS, memoryBytes: 1024 ** 3 } },
      );
      expect(stderr).toBe('');
      expect(stdout).toMatch(/^8 8 child\n\d+\./);
      expect(exitCode).toBe(0);
    });

    it('end a fork bomb with all of its processes', async () => {
      // `exec`, since the shell itself can start nothing any more.
      const result = await run('bash -c ":(){ :|:& };:"; exec sleep 60', {}, { timeoutMs: 3_000 });
      expect(result.exitCode).toBeNull();
      await expect.poll(() => processesNaming(folder)).toEqual([]);
    });

    it('stop a process that takes more memory than it may', async () => {
      const result = await run("node -e 'const all = []; for (;;) all.push(Buffer.alloc(64e6, 1))'");
      expect(result.exitCode).toBeNull();
      expect(result.stderr).toMatch(/ended by the sandbox: .* MB of memory; the limit is 2,048 MB/);
      expect((await run('node -e "new Uint8Array(64e9)"')).stderr).toContain('Array buffer allocation failed');
    });

    it('end a process that takes its memory as shared mappings, which the kernel does not count', async () => {
      const limits = { ...TEST_LIMITS, memoryBytes: 1024 ** 3 };
      // /dev/shm and /tmp have a size of their own.
      const written = await run(
        'head -c 3000000000 /dev/zero > /dev/shm/x; for i in 1 2 3 4; do head -c 30000000 /dev/zero > /tmp/$i; done; du -sm /dev/shm | cut -f1',
        { limits },
      );
      expect(Number(written.stdout)).toBeLessThan(40);
      const hog = 'import mmap; m = mmap.mmap(-1, 6 << 30)\nfor i in range(0, 6 << 30, 4096): m[i] = 1';
      const result = await run(`python3 -c '${hog}'`, { limits });
      expect(result.exitCode).toBeNull();
      expect(result.stderr).toMatch(/ended by the sandbox: .* MB of memory; the limit is 1,024 MB/);
    });

    it('give way to the server where processors are short, also where the kernel shares them between sessions', async () => {
      const { stdout } = await run('sleep 1; cat /proc/self/autogroup 2> /dev/null');
      expect(stdout).toMatch(PRIORITY);
    });

    it('stop a file from growing beyond its size', async () => {
      const result = await run('head -c 200000000 /dev/zero > big; echo "status $?"');
      expect(result.stdout).toMatch(/^status (?!0)/);
      expect(statSync(join(folder, 'big')).size).toBeLessThanOrEqual(TEST_LIMITS.fileBytes);
    });

    it('end a command that uses up the disk, as storage_full', async () => {
      const running = run('sleep 60', {}, { reservedDiskBytes: Number.MAX_SAFE_INTEGER });
      await expect(running).rejects.toMatchObject({ name: 'NeedsHuman', reason: 'storage_full' });
    });

    it('stop a process that computes for too long', async () => {
      const result = await run('sh -c "while :; do :; done"; echo "status $?"', {
        limits: { ...TEST_LIMITS, cpuSeconds: 1 },
      });
      expect(result.stdout).toMatch(/status (137|152)/);
    });
  });

  describe('of a server that is killed', () => {
    /**
     * A server with one command; its standard output is what the command prints.
     * @param before run when the sandbox is open
     */
    const startServer = (command: string, before = '') => {
      const spec = { key: 'k', folder, readOnly: [], network: 'none', limits: TEST_LIMITS };
      const source = `
        import { createBubblewrapProvider } from ${JSON.stringify(fileURLToPath(new URL('./bubblewrap.ts', import.meta.url)))};
        import { writeFileSync } from 'node:fs';
        import { ChildProcess } from 'node:child_process';
        const sandbox = await createBubblewrapProvider().open(${JSON.stringify(spec)});
        ${before}
        await sandbox.run({ command: ${JSON.stringify(command)}, timeoutMs: 600_000, onOutput: (text) => console.log(text) }).catch(({ name }) => console.log(name));
      `;
      return spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
    };

    it('leaves no process', async () => {
      const server = startServer('setsid sleep 600 & echo up; sleep 600');
      await new Promise((resolve) => server.stdout.once('data', resolve));
      expect(await processesNaming(folder)).not.toEqual([]);
      const closed = new Promise((resolve) => server.once('close', resolve));
      server.kill('SIGKILL');
      await closed;
      await expect.poll(() => processesNaming(folder)).toEqual([]);
    });

    it.each([
      ['the server is killed', 'process'],
      ['what starts its commands is killed', 'this'],
    ])(
      'leaves nothing for longer than its next start, where %s as soon as the first process is there',
      async (_, who) => {
        const status = join(root, 'status');
        const server = startServer(
          'sleep 600',
          `const { emit } = ChildProcess.prototype;
        ChildProcess.prototype.emit = function (name, report, ...rest) {
          if (name === 'message' && String(report.text).includes('child-pid')) {
            writeFileSync(${JSON.stringify(status)}, report.text);
            process.kill(${who}.pid, 'SIGKILL');
          }
          return emit.call(this, name, report, ...rest);
        };`,
        );
        await new Promise((resolve) => server.once('close', resolve));
        const first = Number(/"child-pid": (\d+)/.exec(readFileSync(status, 'utf8'))?.[1]);
        expect(first).toBeGreaterThan(1);
        await createBubblewrapProvider().availability();
        await expect.poll(() => existsSync(`/proc/${first}`)).toBe(false);
        expect(await processesNaming(folder)).toEqual([]);
      },
    );
  });

  it.each([
    ['TMPDIR has a long path', 'long'.repeat(20)],
    ['its folder of temporary files is swept', 'short'],
  ])('with an allow-list runs commands also where %s', async (_what, name) => {
    const TMPDIR = join(root, name);
    await mkdir(TMPDIR);
    vi.stubEnv('TMPDIR', TMPDIR);
    onTestFinished(() => void vi.unstubAllEnvs());
    const spec = { key: 'r-1/1/test', folder, readOnly: [], network: { allow: [] }, limits: TEST_LIMITS };
    const sandbox = await createBubblewrapProvider().open(spec);
    for (const word of ['first', 'second']) {
      expect(await sandbox.run({ command: `echo ${word}`, timeoutMs: 60_000 })).toMatchObject({ stdout: `${word}\n` });
      for (const left of await readdir(TMPDIR)) await rm(join(TMPDIR, left), { recursive: true });
    }
    await sandbox.dispose();
  });

  it('is told as missing where no folder of temporary files takes a socket, with each folder and the way out', async () => {
    const TMPDIR = join(root, 'long'.repeat(20));
    await mkdir(TMPDIR);
    const script = `
      import { createBubblewrapProvider } from ${JSON.stringify(new URL('./bubblewrap.ts', import.meta.url))};
      process.stdout.write(JSON.stringify(await createBubblewrapProvider().availability()));`;
    const readOnly = ['--dev-bind', '/', '/', '--ro-bind', '/tmp', '/tmp', '--', process.execPath];
    const { stdout } = await promisify(execFile)('bwrap', [...readOnly, '--input-type=module', '-e', script], {
      env: { ...process.env, TMPDIR },
    });
    const { reason, ...rest } = JSON.parse(stdout) as { readonly reason: string };
    expect(reason).toContain(`the path ${TMPDIR} is too long`);
    expect(reason).toContain("'/tmp/autonomous-socket-");
    expect(rest).toEqual({ ok: false, remedy: expect.stringContaining('Set TMPDIR to a folder that can be written') });
  });

  it('holds its time limit, and ends what others began, where what starts its commands stands still', async () => {
    const spec = { key: 'r-1/1/test', folder, readOnly: [], network: 'none', limits: TEST_LIMITS } as const;
    const sandbox = await createBubblewrapProvider().open(spec);
    const starter = Number((await runProgram('sh', ['-c', 'echo $PPID'])).stdout);
    const limited = sandbox.run({ command: 'touch begun; sleep 600', timeoutMs: 1_500 });
    const other = sandbox.run({ command: 'sleep 601', timeoutMs: 600_000 });
    await expect.poll(() => existsSync(join(folder, 'begun'))).toBe(true);
    process.kill(starter, 'SIGSTOP');
    await Promise.all([
      expect(limited).resolves.toMatchObject({ exitCode: null, timedOut: true }),
      expect(other).rejects.toMatchObject({
        name: 'RetryableFailure',
        message: expect.stringMatching(/^A command was lost and may have run: .*did not answer/),
      }),
    ]);
    await expect.poll(() => processesNaming(folder)).toEqual([]);
    expect(await sandbox.run({ command: 'echo works', timeoutMs: 60_000 })).toMatchObject({ stdout: 'works\n' });
    await sandbox.dispose();
  });

  it('names the cause where its folder is gone, or a variable is too long', async () => {
    const spec = { key: 'r-1/1/test', folder, readOnly: [], network: 'none', limits: TEST_LIMITS } as const;
    const sandbox = await createBubblewrapProvider().open(spec);
    const { done } = await sandbox.start({ command: 'true', env: { LONG: 'x'.repeat(140_000) } });
    await expect(done).rejects.toThrow(/could not be started: the command and its variables are too long\. Shorten/);
    await rm(folder, { recursive: true });
    const run = sandbox.run({ command: 'true', timeoutMs: 60_000 });
    await expect(run).rejects.toThrow(`the folder ${folder} cannot be used: No such file or directory. Restore it`);
    await sandbox.dispose();
  });

  it('is told as missing with the folder where TMPDIR is a file', async () => {
    const TMPDIR = join(root, 'file');
    await writeFile(TMPDIR, '');
    vi.stubEnv('TMPDIR', TMPDIR);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await createBubblewrapProvider().availability()).toEqual({
      ok: false,
      reason: `the folder ${TMPDIR} cannot be used: Not a directory`,
      remedy: `Set TMPDIR to a folder that is there and can be written; it is ${TMPDIR}.`,
    });
  });

  it('pauses with a reason when bubblewrap is not installed, and never runs the command', async () => {
    const missing = createBubblewrapProvider({ path: '/nonexistent/bwrap' });
    expect(await missing.availability()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('not installed'),
      remedy: expect.stringContaining('bubblewrap'),
    });
    await expect(run('touch ran', {}, { path: '/nonexistent/bwrap' })).rejects.toMatchObject({
      name: 'NeedsHuman',
      reason: 'sandbox_unavailable',
    });
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it('is told as missing by a server without file descriptors, and found by it again', async () => {
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { createBubblewrapProvider } from ${JSON.stringify(new URL('./bubblewrap.ts', import.meta.url))};
      const { availability } = createBubblewrapProvider();
      const taken = [];
      try {
        for (;;) taken.push(openSync('/dev/null', 'r'));
      } catch {}
      const told = [await availability()];
      for (const descriptor of taken) closeSync(descriptor);
      told.push(await availability());
      process.stdout.write(JSON.stringify(told));`;
    const limited = `ulimit -n 64; exec "$0" --disable-warning=ExperimentalWarning --input-type=module -e "$1"`;
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', limited, process.execPath, script]);
    expect(JSON.parse(stdout)).toEqual([
      { ok: false, reason: expect.stringContaining('EMFILE'), remedy: expect.stringContaining('open files') },
      { ok: true, detail: expect.any(String) },
    ]);
  });

  it("inherits no open file of the server's shell, and gets the server's limits where they are lower", async () => {
    const script = `
      import { createBubblewrapProvider } from ${JSON.stringify(new URL('./bubblewrap.ts', import.meta.url))};
      const limits = ${JSON.stringify({ ...TEST_LIMITS, fileBytes: 2 ** 30, cpuSeconds: 3_600 })};
      const spec = { key: 'r-1/1/test', folder: ${JSON.stringify(folder)}, readOnly: [], network: 'none', limits };
      const sandbox = await createBubblewrapProvider().open(spec);
      const { exitCode, stdout } = await sandbox.run({
        command: 'ls /proc/self/fd | tr "\\n" " "; ulimit -f; ulimit -t',
        timeoutMs: 30_000,
      });
      await sandbox.dispose();
      process.stdout.write(JSON.stringify({ exitCode, said: stdout.split(/\\s+/).filter(Boolean) }));`;
    const limited = `exec 25< / 40< / 197< /; exec prlimit --fsize=512000000 --cpu=1800 "$0" --disable-warning=ExperimentalWarning --input-type=module -e "$1"`;
    const { stdout } = await promisify(execFile)('/bin/bash', ['-c', limited, process.execPath, script]);
    // 3 is that of the list itself.
    expect(JSON.parse(stdout)).toEqual({ exitCode: 0, said: ['0', '1', '2', '3', String(512_000_000 / 512), '1800'] });
  });

  it.each(['A=B', '', 'A'])('refuses the variable %j with a value that would be an option of its own', async (name) => {
    const sandbox = await createBubblewrapProvider().open({
      key: 'r-1/1/test',
      folder,
      readOnly: [],
      network: 'none',
      limits: TEST_LIMITS,
    });
    const env = { [name]: 'a\0--bind\0/\0/hostroot' };
    await expect(sandbox.start({ command: 'true', env })).rejects.toThrow(
      `The variable ${JSON.stringify(name)} cannot`,
    );
    await sandbox.dispose();
  });

  it.each(['/workspace/docs', '/home/agent/.npmrc', '/home/agent'])(
    'mounts nothing at %s, which commands write',
    async (inside) => {
      await expect(run('true', { readOnly: [{ host: root, inside }] })).rejects.toThrow(`"${inside}" is in a folder`);
    },
  );

  it('pauses with a reason when a folder to mount is gone', async () => {
    const running = run('touch ran', { readOnly: [{ host: join(root, 'gone'), inside: '/gone' }] });
    await expect(running).rejects.toMatchObject({
      reason: 'sandbox_unavailable',
      message: expect.stringContaining('gone'),
    });
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });
});

/** Processes of this machine that have the folder on their command line (bwrap does) or as their `/workspace`. */
async function processesNaming(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      const inside = mounts.split('\n').some((line) => line.includes(`${asMounted(folder)} /workspace `));
      return inside || (command.includes('bwrap') && command.includes(folder)) ? pid : null;
    }),
  );
  return found.filter((pid) => pid !== null);
}
