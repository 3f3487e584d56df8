/** E2B's real SDK against a service on this machine that speaks its protocol: the contract, and all that can go wrong. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createBubblewrapProvider } from '../bubblewrap/bubblewrap.ts';
import { createE2bProvider, type E2bOptions } from './e2b.ts';
import { API_KEY, type E2bServer, startE2bServer } from './e2b-server.fixture.ts';
import { DANGLING_LINK_TARGET } from './folder-archive.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../sandbox.ts';
import { describeSandboxContract, TEST_LIMITS } from '../sandbox.contract.ts';

const realKey = process.env['E2B_API_KEY'] ?? '';
// oxlint-disable-next-line vitest/no-conditional-tests -- the service itself can only be asked by whoever has a key
if (realKey !== '') {
  const template = process.env['E2B_TEMPLATE'];
  describe('with the service itself', () => {
    describeSandboxContract(
      createE2bProvider({
        apiKey: realKey,
        timeoutMinutes: 10,
        server: `test-${process.pid}`,
        ...(template === undefined ? {} : { template }),
      }),
      { endsEscapedProcesses: true, mountsReadOnly: true, sharesFolder: false, hasServersNode: false },
    );
  });
}

const bubblewrap = await createBubblewrapProvider().availability();
// The machines of the service on this machine are bubblewraps.
if (!bubblewrap.ok) process.stderr.write(`E2B tests are skipped: ${bubblewrap.reason}. ${bubblewrap.remedy}\n`);

const server = await startE2bServer();
/** A machine takes a moment to start, on a machine that does other things a long one. */
const PATIENCE = { timeout: 120_000 };
afterAll(() => server.close());

describe.skipIf(!bubblewrap.ok)('with a service on this machine', () => {
  describeSandboxContract(aProvider(), {
    endsEscapedProcesses: true,
    mountsReadOnly: true,
    sharesFolder: false,
    hasServersNode: true,
  });

  let base: string;
  let folder: string;
  let provider: SandboxProvider;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'e2b-test-'));
    folder = join(base, 'folder');
    await mkdir(folder);
    provider = aProvider();
  });
  afterEach(async () => {
    for (const name of Object.keys(server.faults)) delete server.faults[name as keyof E2bServer['faults']];
    await Promise.all(server.machines().map(({ id }) => server.lose(id)));
    await rm(base, { recursive: true, force: true });
  });

  const open = (spec: Partial<SandboxSpec> = {}, from = provider): Promise<Sandbox> =>
    from.open({ key: 'r-1/7/implementer', folder, readOnly: [], network: 'none', limits: TEST_LIMITS, ...spec });
  const run = (sandbox: Sandbox, command: string, timeoutMs = 20_000) => sandbox.run({ command, timeoutMs });
  const machine = () => {
    const [found, ...others] = server.machines();
    if (found === undefined || others.length > 0)
      throw new Error(`${others.length + (found ? 1 : 0)} machines, not one`);
    return found;
  };

  describe('a machine', () => {
    it('names its server, run and activity, and has the network only where it is open', async () => {
      await open();
      expect(machine()).toMatchObject({
        template: 'base',
        internet: false,
        metadata: { autonomousServer: 'server-1', autonomousRun: 'r-1', autonomousActivity: 'r-1/7/implementer' },
      });
      await open({ key: 'r-1/setup', network: 'open' });
      expect(server.machines().map(({ internet }) => internet)).toEqual([false, true]);
    });

    it('reaches the hosts of its allow-list and no others; one without hosts reaches nothing', async () => {
      await open({ network: { allow: ['registry.test', 'docs.test'] } });
      expect(machine()).toMatchObject({
        network: { allowOut: ['docs.test', 'registry.test'], denyOut: ['0.0.0.0/0'] },
        metadata: { autonomousNetwork: 'docs.test,registry.test' },
      });
      await open({ key: 'r-1/9/validator', network: { allow: [] } });
      expect(server.machines().map(({ internet }) => internet)).toEqual([true, false]);
    });

    it.each(['docs.test:8443', 'internal:10.0.0.5', '203.0.113.7', 'internal:docs.test'])(
      'is not made where E2B would let through more than the allow-list says: %s',
      async (entry) => {
        await expect(open({ network: { allow: ['docs.test', entry] } })).rejects.toMatchObject({
          reason: 'sandbox_unavailable',
          message: expect.stringMatching(new RegExp(`cannot apply ${entry} of EGRESS_ALLOW.*SANDBOX_PROVIDER`)),
        });
        expect(server.machines()).toEqual([]);
      },
    );

    it('gives a command no network that needs none', async () => {
      const sandbox = await open({ network: { allow: ['docs.test'] } });
      const command = 'ls /sys/class/net /proc/net/dev >/dev/null; grep -c : /proc/net/dev';
      const outside = await run(sandbox, command);
      const inside = await sandbox.run({ command, timeoutMs: 20_000, offline: true });
      expect(Number(inside.stdout)).toBe(1);
      expect(Number(outside.stdout)).toBeGreaterThan(1);
    });

    it('is made from the template that the server names', async () => {
      await open({}, aProvider({ template: 'our-team' }));
      expect(machine().template).toBe('our-team');
    });

    it('is gone when the sandbox is disposed, with all that ran in it', async () => {
      const sandbox = await open();
      const running = run(sandbox, 'setsid sleep 3612 & sleep 3612');
      await expect.poll(() => processesWith('sleep 3612')).not.toEqual([]);
      await sandbox.dispose();
      await running;
      expect(server.machines()).toEqual([]);
      await expect.poll(() => processesWith('sleep 3612')).toEqual([]);
    });

    it('is gone where the files cannot be brought there', async () => {
      const opening = open({ readOnly: [{ host: join(base, 'absent'), inside: '/uploads/x' }] });
      await expect(opening).rejects.toMatchObject({
        reason: 'sandbox_unavailable',
        message: expect.stringContaining('absent'),
      });
      expect(server.machines()).toEqual([]);
    });

    it('outlives its time while a sandbox is open', async () => {
      const sandbox = await open({}, aProvider({ timeoutMinutes: 0.03 }));
      const { endAt } = machine();
      expect((await run(sandbox, 'sleep 3; echo alive')).stdout).toBe('alive\n');
      expect(machine().endAt).toBeGreaterThan(endAt);
    });

    it('sleeps while no command runs, as when a person is awaited, and wakes with the next', async () => {
      const sandbox = await open({}, aProvider({ pauseAfterMs: 50 }));
      await run(sandbox, 'echo kept > file.txt');
      await expect.poll(() => machine().state).toBe('paused');
      expect((await run(sandbox, 'cat file.txt; sleep 0.2')).stdout).toBe('kept\n');
      await expect.poll(() => machine().state).toBe('paused');
      await sandbox.sync();
      expect(await readFile(join(folder, 'file.txt'), 'utf8')).toBe('kept\n');
      await expect.poll(() => machine().state).toBe('paused');
      await sandbox.dispose();
      expect(server.machines()).toEqual([]);
    });

    it('that sleeps is ended in the end where E2B cannot end it at once: by itself it would never', async () => {
      const sandbox = await open({}, aProvider({ pauseAfterMs: 1 }));
      await expect.poll(() => machine().state).toBe('paused');
      server.faults.refuseEnds = 1;
      await sandbox.dispose();
      expect(server.faults.refuseEnds).toBe(0);
      expect(server.machines()).toEqual([]);
    });

    it('goes on where it cannot be paused', async () => {
      server.faults.refusePause = true;
      const sandbox = await open({}, aProvider({ pauseAfterMs: 1 }));
      await expect.poll(() => server.requests.join('\n')).toContain('/pause');
      expect((await run(sandbox, 'echo on')).stdout).toBe('on\n');
    });

    it('gives a command neither root nor the way to it', async () => {
      const sandbox = await open();
      const { stdout } = await run(
        sandbox,
        'id -un; grep -hE "CapEff|NoNewPrivs" /proc/self/status; ls /proc | grep -c "^[0-9]"',
      );
      const [user, effective, privileges, processes] = stdout.split('\n');
      expect([user, effective, privileges]).toEqual(['user', 'CapEff:\t0000000000000000', 'NoNewPrivs:\t1']);
      // Its own and the one that waits for it: nothing of other commands.
      expect(Number(processes)).toBeLessThan(6);
    });

    it('runs no install scripts of npm where the network is open', async () => {
      const sandbox = await open({ network: 'open' });
      expect((await run(sandbox, 'env')).stdout).toContain('npm_config_ignore_scripts=true\n');
    });

    it('holds a command to its time also while its input is on the way', async () => {
      const sandbox = await open();
      const { promise, resolve } = Promise.withResolvers<void>();
      server.faults.holdFiles = promise;
      const result = await sandbox.run({ command: 'cat', stdin: 'text', timeoutMs: 500 });
      expect(result).toMatchObject({ exitCode: null, timedOut: true, stdout: '' });
      expect(result.stderr).toContain('[ended by the sandbox: time limit of 500 ms]');
      resolve();
      expect((await sandbox.run({ command: 'cat', stdin: 'text', timeoutMs: 20_000 })).stdout).toBe('text');
    });

    it('holds a command to its limits', async () => {
      const sandbox = await open();
      const { stdout } = await run(
        sandbox,
        'head -c 200000000 /dev/zero > big; stat -c %s big; grep -E "Max (processes|core)" /proc/self/limits',
      );
      const [size, ...limits] = stdout.trim().split('\n');
      expect(size).toBe(String(TEST_LIMITS.fileBytes));
      expect(limits.map((line) => line.split(/ {2,}/)[1])).toEqual(['0', String(TEST_LIMITS.processes)]);
    });
  });

  describe('a process that stays', () => {
    it('stands still while nobody reads what it writes, and loses nothing of it', async () => {
      const sandbox = await open();
      const written = async (): Promise<number> => Number((await run(sandbox, 'cat written || echo 0')).stdout);
      const process = await sandbox.start({
        command: 'for part in $(seq 60); do head -c 1000000 /dev/zero; echo $part > written; done',
      });
      let last = 0;
      const standsStill = async (): Promise<boolean> => {
        const before = last;
        last = await written();
        return last > 0 && last === before;
      };
      await expect.poll(standsStill, { interval: 1_000, timeout: 120_000 }).toBe(true);
      expect(last).toBeLessThan(45);
      let bytes = 0;
      for await (const chunk of process.stdout) bytes += chunk.length;
      expect(bytes).toBe(60_000_000);
      expect(await process.done).toMatchObject({ exitCode: 0, endedBecause: null });
    });

    it('goes on where nobody wants to read any more', async () => {
      const sandbox = await open();
      const process = await sandbox.start({ command: 'head -c 15000000 /dev/zero; touch through' });
      await process.stdout.cancel();
      expect((await process.done).exitCode).toBe(0);
      expect((await run(sandbox, 'ls')).stdout).toBe('through\n');
    });

    it('can be ended while it stands still', async () => {
      const sandbox = await open();
      const process = await sandbox.start({ command: 'touch up; yes' });
      await expect.poll(async () => (await run(sandbox, 'ls')).stdout, PATIENCE).toBe('up\n');
      process.end('enough');
      expect(await process.done).toMatchObject({ exitCode: null, endedBecause: 'enough' });
    });

    it('fills no memory with what was read long ago', async () => {
      const { Sandbox: Machine } = await import('e2b');
      const creations = vi.spyOn(Machine, 'create');
      const sandbox = await open();
      const machines = await Promise.all(creations.mock.results.map(({ value }) => value));
      creations.mockRestore();
      const starts = vi.spyOn(machines[0].commands, 'run');
      const process = await sandbox.start({ command: 'head -c 10000000 /dev/zero; yes | head -c 10000000 >&2' });
      let bytes = 0;
      for await (const chunk of process.stdout) bytes += chunk.length;
      expect(bytes).toBe(10_000_000);
      expect((await process.done).exitCode).toBe(0);
      // What the SDK itself has kept of it.
      const [handle] = await Promise.all(starts.mock.results.map(({ value }) => value));
      expect(handle.stdout.length + handle.stderr.length).toBeLessThan(1_000_000);
    });
  });

  describe('a machine that is lost', () => {
    const LOST = {
      name: 'RetryableFailure',
      reason: 'sandbox_unavailable',
      message: expect.stringContaining('r-1/7/implementer'),
    };

    it('in the middle of a command is a failure that time mends, and stays lost', async () => {
      const sandbox = await open();
      const said: string[] = [];
      const running = sandbox.run({
        command: 'echo half > half.txt; echo up; sleep 60',
        timeoutMs: 60_000,
        onOutput: (chunk) => said.push(chunk),
      });
      running.catch(() => {});
      await expect.poll(() => said.join('')).toBe('up\n');
      await server.lose(machine().id);
      await expect(running).rejects.toMatchObject(LOST);
      await expect(run(sandbox, 'true')).rejects.toMatchObject(LOST);
      await expect(sandbox.sync()).rejects.toMatchObject(LOST);
      await sandbox.dispose();
      expect(await readdir(folder)).toEqual([]);
    });

    it('between two commands is one too', async () => {
      const sandbox = await open();
      await server.lose(machine().id);
      await expect(run(sandbox, 'true')).rejects.toMatchObject(LOST);
    });

    it('while it slept is one too', async () => {
      const sandbox = await open({}, aProvider({ pauseAfterMs: 1 }));
      await expect.poll(() => machine().state).toBe('paused');
      await server.lose(machine().id);
      await expect(run(sandbox, 'true')).rejects.toMatchObject(LOST);
    });

    it('is what a connection that is cut counts as: what a command did meanwhile is unknown', async () => {
      const sandbox = await open();
      const said: string[] = [];
      const running = sandbox.run({
        command: 'echo up; sleep 60',
        timeoutMs: 60_000,
        onOutput: (chunk) => said.push(chunk),
      });
      running.catch(() => {});
      await expect.poll(() => said.join('')).toBe('up\n');
      server.cutStreams(machine().id);
      await expect(running).rejects.toMatchObject(LOST);
      await sandbox.dispose();
      expect(server.machines()).toEqual([]);
    });

    it('can be disposed while nobody answers', async () => {
      const sandbox = await open();
      server.faults.away = true;
      await sandbox.dispose();
      await expect(run(sandbox, 'true')).rejects.toThrow('disposed');
    });
  });

  describe('what a machine gives back', () => {
    it('is no link that leads out, no pipe and no name that is no text; what stands there on the host is not followed', async () => {
      const outside = join(base, 'outside');
      await mkdir(outside);
      await writeFile(join(outside, 'secret.txt'), 'untouched');
      await symlink(outside, join(folder, 'dir'));
      await writeFile(join(folder, 'was.txt'), 'x');
      const sandbox = await open();
      const { stderr, exitCode } = await run(
        sandbox,
        [
          'rm dir && mkdir dir && echo evil > dir/secret.txt',
          `ln -s ${outside}/secret.txt absolute; ln -s ../outside above; ln -s /etc/passwd passwd; mkfifo pipe`,
          `rm was.txt && ln -s ../../outside was.txt; mkdir -p x/y top; ln -s ../../top x/y/s; ln -s s/../../outside x/y/chain`,
          `echo in > inside.txt; ln -s inside.txt link; mkdir bin; ln -s ../inside.txt bin/tool; ln inside.txt hard.txt`,
          `printf odd > "$(printf 'odd\\377')"; chmod 0 inside.txt`,
        ].join('\n'),
      );
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
      await sandbox.sync();
      const taken = [
        'bin',
        'bin/tool',
        'dir',
        'dir/secret.txt',
        'hard.txt',
        'inside.txt',
        'link',
        'top',
        'x',
        'x/y',
        'x/y/s',
      ];
      const broken = ['above', 'absolute', 'passwd', 'pipe', 'was.txt', 'x/y/chain'];
      expect((await readdir(folder, { recursive: true })).sort()).toEqual([...taken, ...broken].sort());
      for (const path of broken) expect(await readlink(join(folder, path))).toBe(DANGLING_LINK_TARGET);
      expect(await readlink(join(folder, 'bin/tool'))).toBe('../inside.txt');
      expect(await readFile(join(folder, 'hard.txt'), 'utf8')).toBe('in\n');
      expect(await readdir(outside)).toEqual(['secret.txt']);
      expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('untouched');
    });

    it('is the same byte by byte, there and back, and comes once', async () => {
      const content = randomBytes(3_000_000);
      await writeFile(join(folder, 'there.bin'), content);
      const sandbox = await open();
      await run(sandbox, 'cat there.bin there.bin > back.bin');
      await sandbox.sync();
      expect((await readFile(join(folder, 'back.bin'))).equals(Buffer.concat([content, content]))).toBe(true);
      const before = downloads();
      await sandbox.sync();
      expect(downloads() - before).toBe(1);
    });

    it('is what a command had written when it was ended, and nothing of what it did meanwhile is torn', async () => {
      const sandbox = await open();
      const controller = new AbortController();
      const running = sandbox.run({
        command: 'date +%N > busy.txt; echo up; while :; do date +%N > busy.txt; done',
        timeoutMs: 20_000,
        signal: controller.signal,
        onOutput: () => controller.abort(),
      });
      await new Promise((resolve) => controller.signal.addEventListener('abort', resolve));
      await sandbox.sync();
      expect(await readFile(join(folder, 'busy.txt'), 'utf8')).toMatch(/^(\d{9}\n)?$/);
      expect((await running).exitCode).toBeNull();
    });

    it('is nothing where the machine lies about what it has', async () => {
      const sandbox = await open();
      await run(sandbox, 'echo x > aa-evil; echo y > b.txt');
      server.faults.onDownload = (path, content) =>
        path.endsWith('listing')
          ? Buffer.from(content.toString('latin1').replace('aa-evil', '../evil'), 'latin1')
          : content;
      await sandbox.sync();
      expect(await readdir(base)).toEqual(['folder']);
      expect(await readdir(folder)).toEqual(['b.txt']);
    });

    it('is not waited for by what is cancelled, and comes the next time', async () => {
      const sandbox = await open();
      await run(sandbox, 'echo x > a.txt');
      const { promise, resolve } = Promise.withResolvers<void>();
      server.faults.holdFiles = promise;
      const before = downloads();
      const cancelling = new AbortController();
      const syncing = sandbox.sync(cancelling.signal);
      await expect.poll(downloads, PATIENCE).toBe(before + 1);
      cancelling.abort(new Error('cancelled'));
      await expect(syncing).rejects.toThrow('cancelled');
      resolve();
      await sandbox.sync();
      expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('x\n');
    });

    it('is nothing where the machine could not say all that it has: what it did not name is not gone', async () => {
      await writeFile(join(folder, 'kept.txt'), 'kept');
      const sandbox = await open();
      const { Sandbox: Machine } = await import('e2b');
      const options = { apiKey: API_KEY, apiUrl: server.url, sandboxUrl: server.url };
      const inside = await Machine.connect(machine().id, options);
      const find = '/opt/node/bin/find';
      const broken = `printf '#!/bin/sh\\nkill -9 $$\\n' > ${find} && chmod 755 ${find}`;
      await inside.commands.run(broken, { user: 'root' });
      await expect(sandbox.sync()).rejects.toMatchObject({ name: 'RetryableFailure', reason: 'sandbox_unavailable' });
      expect(await readdir(folder)).toEqual(['kept.txt']);
    });

    it('is nothing where the archive is not what was said, or is cut', async () => {
      const sandbox = await open();
      await run(sandbox, 'echo x > a.txt');
      server.faults.onDownload = (path, content) => (path.endsWith('.tar') ? content.subarray(0, 513) : content);
      await expect(sandbox.sync()).rejects.toMatchObject({ name: 'RetryableFailure', reason: 'sandbox_unavailable' });
      delete server.faults.onDownload;
      await sandbox.sync();
      expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('x\n');
    });
  });

  describe('what an earlier process has left', () => {
    it('is ended where nobody goes on with it, and taken up with fresh files where somebody does', async () => {
      await writeFile(join(folder, 'start.txt'), 'start');
      const killed = aProvider();
      const old = await open({}, killed);
      await open({ key: 'r-2/3/check' }, killed);
      const strangers = await open({}, aProvider({ server: 'server-2' }));
      const [goesOn, abandoned, anothers] = server.machines().map(({ id }) => id);
      void run(old, 'echo half > half.txt; rm start.txt; echo junk > ~/junk; sleep 3613', 60_000).catch(() => {});
      await expect.poll(() => processesWith('sleep 3613')).not.toEqual([]);

      await provider.endAbandoned?.(new Set(['r-1/7/implementer']));
      expect(server.machines().map(({ id }) => id)).toEqual([goesOn, anothers]);
      expect(abandoned).toBeDefined();
      const sandbox = await open();
      expect(server.machines().map(({ id }) => id)).toEqual([goesOn, anothers]);
      await expect.poll(() => processesWith('sleep 3613')).toEqual([]);
      expect((await run(sandbox, 'ls; ls -A ~')).stdout).toBe('start.txt\n');

      // Another of the same name begins anew: two at once never share a machine.
      await open();
      expect(server.machines()).toHaveLength(3);
      await provider.close?.();
      expect(server.machines().map(({ id }) => id)).toEqual([anothers]);
      expect((await run(strangers, 'echo on')).stdout).toBe('on\n');
    });

    it('is woken where it slept, and begun anew where it is gone', async () => {
      await open({}, aProvider({ pauseAfterMs: 1 }));
      await expect.poll(() => machine().state).toBe('paused');
      const { id } = machine();
      await provider.endAbandoned?.(new Set(['r-1/7/implementer']));
      expect((await run(await open(), 'echo woken')).stdout).toBe('woken\n');
      expect(machine().id).toBe(id);

      const third = aProvider();
      await third.endAbandoned?.(new Set(['r-1/7/implementer']));
      await server.lose(id);
      expect((await run(await open({}, third), 'echo anew')).stdout).toBe('anew\n');
    });

    it('is ended in the end where E2B cannot end it at once', async () => {
      await open({}, aProvider({ pauseAfterMs: 1 }));
      await expect.poll(() => machine().state).toBe('paused');
      server.faults.refuseEnds = 1;
      await provider.endAbandoned?.(new Set());
      expect(server.machines()).toEqual([]);
    });

    it('with another network is not taken up', async () => {
      await open({ network: 'open' });
      const next = aProvider();
      await next.endAbandoned?.(new Set(['r-1/7/implementer']));
      await open({}, next);
      expect(server.machines().map(({ internet }) => internet)).toEqual([true, false]);
      await next.close?.();
      expect(server.machines()).toEqual([]);
    });

    it('does not stop a server from working while nobody answers', async () => {
      server.faults.away = true;
      await expect(provider.endAbandoned?.(new Set())).rejects.toMatchObject({ name: 'RetryableFailure' });
      delete server.faults.away;
      expect((await run(await open(), 'echo on')).stdout).toBe('on\n');
    });
  });

  describe('availability', () => {
    it('is found out by really starting one, which is ended, and is kept for a while', async () => {
      const before = creations();
      expect(await provider.availability()).toMatchObject({
        ok: true,
        detail: expect.stringContaining('template "base"'),
      });
      expect(await provider.availability()).toMatchObject({ ok: true });
      expect(creations() - before).toBe(1);
      expect(server.machines()).toEqual([]);
    });

    it.each([
      ['a wrong key', {}, { apiKey: API_KEY.replace('0', '1') }, 'Invalid API key', 'E2B_API_KEY'],
      ['something that is no key', {}, { apiKey: 'hunter2' }, 'key', 'E2B_API_KEY'],
      ['an unknown template', {}, { template: 'missing' }, "template 'missing' not found", 'E2B_TEMPLATE'],
      ['a template that lacks something', {}, { template: 'bare' }, 'it has no program setpriv', 'E2B_TEMPLATE'],
      ['too many requests', { rateLimit: 600 }, {}, 'Rate limit', 'MAX_CONCURRENT_RUNS_PER_USER'],
      ['a service that is down', { away: true }, {}, 'fetch failed', 'E2B_API_URL'],
    ])('says what is wrong and the way out: %s', async (_what, faults, options, reason, way) => {
      Object.assign(server.faults, faults);
      const answer = await aProvider(options).availability();
      expect(answer).toMatchObject({
        ok: false,
        reason: expect.stringContaining(reason),
        remedy: expect.stringContaining(way),
      });
      expect(JSON.stringify(answer)).not.toContain('hunter2');
    });

    it('is looked at every ten minutes, since it costs something, and anew when a machine could not be started', async () => {
      onTestFinished(() => void vi.useRealTimers());
      vi.useFakeTimers({ toFake: ['performance'] });
      const before = creations();
      const looks = async (): Promise<number> => {
        expect(await provider.availability()).toMatchObject({ ok: true });
        return creations() - before;
      };
      expect(await looks()).toBe(1);
      vi.advanceTimersByTime(9 * 60_000);
      expect(await looks()).toBe(1);
      vi.advanceTimersByTime(2 * 60_000);
      expect(await looks()).toBe(2);
      server.faults.rateLimit = 600;
      await expect(open()).rejects.toMatchObject({ reason: 'sandbox_unavailable' });
      delete server.faults.rateLimit;
      expect(await looks()).toBe(4);
    });

    it('is not looked at for each question where the machine comes and is of no use', async () => {
      const before = creations();
      const bare = aProvider({ template: 'bare' });
      for (const _question of [1, 2, 3]) expect(await bare.availability()).toMatchObject({ ok: false });
      expect(creations() - before).toBe(1);
    });

    it('is asked anew where there was none', async () => {
      server.faults.away = true;
      expect(await provider.availability()).toMatchObject({ ok: false });
      delete server.faults.away;
      expect(await provider.availability()).toMatchObject({ ok: true });
    });
  });

  describe('opening', () => {
    it('waits for a machine that is slow to come', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.faults.holdCreate = promise;
      const before = creations();
      const opening = open();
      await expect.poll(creations).toBe(before + 1);
      resolve();
      expect((await run(await opening, 'echo here')).stdout).toBe('here\n');
    });

    it('is given up at once where the machine is slow to come, which is ended when it does', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.faults.holdCreate = promise;
      const before = creations();
      const cancelling = new AbortController();
      const opening = open({ signal: cancelling.signal });
      await expect.poll(creations, PATIENCE).toBe(before + 1);
      cancelling.abort(new Error('cancelled'));
      await expect(opening).rejects.toThrow('cancelled');
      const closing = provider.close?.();
      resolve();
      await closing;
      expect(server.machines()).toEqual([]);
    });

    it('is given up at once where the files are slow to go, and leaves nothing here or there', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.faults.holdFiles = promise;
      await writeFile(join(folder, 'a.txt'), 'a');
      const before = uploads();
      const cancelling = new AbortController();
      const opening = open({ signal: cancelling.signal });
      await expect.poll(uploads, PATIENCE).toBe(before + 1);
      cancelling.abort(new Error('cancelled'));
      await expect(opening).rejects.toThrow('cancelled');
      await expect.poll(() => server.machines(), PATIENCE).toEqual([]);
      expect(await readdir(base)).toEqual(['folder']);
      resolve();
    });

    it('is not begun for what is cancelled already', async () => {
      const before = creations();
      await expect(open({ signal: AbortSignal.abort(new Error('cancelled')) })).rejects.toThrow('cancelled');
      await provider.close?.();
      expect(creations()).toBe(before);
    });

    it.each([
      ['a person for a wrong key', {}, { apiKey: API_KEY.replace('0', '1') }, 'NeedsHuman'],
      ['a person for an unknown template', {}, { template: 'missing' }, 'NeedsHuman'],
      ['a person for a template that lacks something', {}, { template: 'bare' }, 'NeedsHuman'],
      ['time for too many requests', { rateLimit: 600 }, {}, 'RetryableFailure'],
      ['time for a service that is down', { away: true }, {}, 'RetryableFailure'],
    ])('asks %s (D07)', async (_what, faults, options, name) => {
      Object.assign(server.faults, faults);
      await expect(open({}, aProvider(options))).rejects.toMatchObject({ name, reason: 'sandbox_unavailable' });
      expect(server.machines()).toEqual([]);
    });
  });
});

function aProvider(options: Partial<E2bOptions> = {}): SandboxProvider {
  return createE2bProvider({
    apiKey: API_KEY,
    apiUrl: server.url,
    sandboxUrl: server.url,
    timeoutMinutes: 10,
    server: 'server-1',
    ...options,
  });
}

function downloads(): number {
  return server.requests.filter((request) => request === 'GET /files').length;
}

function uploads(): number {
  return server.requests.filter((request) => request === 'POST /files').length;
}

function creations(): number {
  return server.requests.filter((request) => request === 'POST /v2/sandboxes').length;
}

/** Processes of this host whose command line holds a text. */
async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.map((line) => line.replaceAll('\0', ' ').trim()).filter((line) => line === text);
}
