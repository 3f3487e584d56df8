/**
 * Contract suite that every sandbox provider must pass. Each adapter's test calls it with a function that opens a
 * sandbox.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { InvalidRequest } from '@autonomous/shared';
import { afterEach, describe, expect, it } from 'vitest';
import type {
  CommandResult,
  ProcessRequest,
  Sandbox,
  SandboxLimits,
  SandboxProcess,
  SandboxProvider,
  SandboxSpec,
} from './sandbox.ts';
import { listSandboxFiles, readSandboxFile, searchSandbox, writeSandboxFile } from './sandbox-files.ts';

export interface SandboxTraits {
  /** Processes that leave their group and session end with the command too. */
  readonly endsEscapedProcesses: boolean;
  /** Host files can be shown read-only. */
  readonly mountsReadOnly: boolean;
  /** Commands work on the host's folder itself; otherwise on a copy, which `sync` brings back. */
  readonly sharesFolder: boolean;
  /** Has the very Node that runs the server, and not that of some template. */
  readonly hasServersNode: boolean;
}

export const TEST_LIMITS: SandboxLimits = {
  memoryBytes: 2 * 1024 ** 3,
  fileBytes: 32 * 1024 ** 2,
  processes: 128,
  cpuSeconds: 60,
};

const NAMES = [
  'plain.txt',
  'with space.txt',
  'it\'s "quoted".txt',
  'two\nlines.txt',
  '-rf',
  '$(touch x)`touch y`.txt',
  'ünï/cödé.txt',
];

export function describeSandboxContract(provider: SandboxProvider, traits: SandboxTraits): void {
  const opened: Sandbox[] = [];
  const folders: string[] = [];

  const aFolder = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'sandbox-contract-'));
    folders.push(folder);
    return folder;
  };
  /** @param files what the folder holds when it is opened, by path */
  const open = async (
    spec: Partial<SandboxSpec> = {},
    files: Readonly<Record<string, string>> = {},
  ): Promise<{ sandbox: Sandbox; folder: string }> => {
    const folder = spec.folder ?? (await aFolder());
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    const sandbox = await provider.open({
      key: 'r-1/1/test',
      folder,
      readOnly: [],
      network: 'none',
      limits: TEST_LIMITS,
      ...spec,
    });
    opened.push(sandbox);
    return { sandbox, folder };
  };
  const run = async (
    command: string,
    more: { stdin?: string; maxOutputBytes?: number } = {},
  ): Promise<CommandResult> => {
    const { sandbox } = await open();
    return sandbox.run({ command, timeoutMs: 20_000, ...more });
  };

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((sandbox) => sandbox.dispose()));
    await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
  });

  describe(`sandbox contract: ${provider.name}`, () => {
    it('says that it is available', async () => {
      expect(await provider.availability()).toMatchObject({ ok: true });
    });

    it('names its provider on each sandbox', async () => {
      const { sandbox } = await open();
      expect(sandbox.provider).toBe(provider.name);
    });

    it('gives the exit code, stdout and stderr of a command', async () => {
      const result = await run('echo out; echo err >&2; exit 7');
      expect(result).toMatchObject({ exitCode: 7, stdout: 'out\n', stderr: 'err\n', timedOut: false });
      expect(result.durationMs).toBeGreaterThanOrEqual(0);
    });

    it('gives 128 and the signal number when a command kills itself, as a shell does', async () => {
      expect((await run('kill -9 $$')).exitCode).toBe(137);
    });

    it('hands over stdin and closes it', async () => {
      expect((await run('cat', { stdin: 'héllo\n' })).stdout).toBe('héllo\n');
    });

    it('gives an empty stdin where none is passed', async () => {
      expect(await run('cat; echo end')).toMatchObject({ exitCode: 0, stdout: 'end\n' });
    });

    it('does not mind a command that reads none of a long stdin', async () => {
      expect((await run('exit 3', { stdin: 'x'.repeat(4_000_000) })).exitCode).toBe(3);
    });

    it('streams output while the command runs, whole characters at a time', async () => {
      const { sandbox } = await open();
      const chunks: string[] = [];
      const goOn = { command: 'touch go', timeoutMs: 20_000 };
      let going: Promise<unknown> | undefined;
      // The command goes on only after its first output arrived here, cut inside a character.
      const result = await sandbox.run({
        command: "printf 'a\\303'; while [ ! -e go ]; do sleep 0.02; done; printf '\\251b'",
        timeoutMs: 20_000,
        onOutput: (chunk) => {
          chunks.push(chunk);
          if (chunks.join('') === 'a') going = sandbox.run(goOn);
        },
      });
      await going;
      expect(result.stdout).toBe('aéb');
      expect(chunks).toEqual(['a', 'éb']);
    });

    it('rejects with the fault of a listener that throws', async () => {
      const { sandbox } = await open();
      const boom = new Error('listener broke');
      const running = sandbox.run({
        command: 'echo x; sleep 60',
        timeoutMs: 20_000,
        onOutput: () => {
          throw boom;
        },
      });
      await expect(running).rejects.toBe(boom);
    });

    it('drops the middle of long output and says how much', async () => {
      const result = await run('echo first; seq 1 100000; echo last', { maxOutputBytes: 1000 });
      expect(result.stdout.startsWith('first\n1\n2\n')).toBe(true);
      expect(result.stdout.endsWith('100000\nlast\n')).toBe(true);
      // seq writes 588,895 bytes here, the two words 11.
      expect(result.stdout).toContain(`[… ${588_895 + 11 - 1000} bytes dropped …]`);
    });

    it('ends a command whose output never ends', async () => {
      const result = await run('yes');
      expect(result).toMatchObject({ exitCode: null, timedOut: false });
      expect(result.stderr).toContain('[ended by the sandbox: more than 64 MB of output]');
      expect(result.stdout.length).toBeLessThan(1_100_000);
    });

    it('ends a command at its time limit with all that ignores SIGTERM', async () => {
      const { sandbox, folder } = await open();
      const result = await sandbox.run({
        command: `(trap '' TERM HUP INT; ${ticking('trapped')}) & ${ticking('plain')}`,
        timeoutMs: 1_500,
      });
      expect(result).toMatchObject({ exitCode: null, timedOut: true });
      expect(result.stderr).toContain('[ended by the sandbox: time limit of 1500 ms]');
      await expectStill(sandbox, folder, ['trapped', 'plain']);
    });

    it('ends background processes with the command that started them', async () => {
      const { sandbox, folder } = await open();
      const command = `(${ticking('background')}) & while [ ! -s background ]; do sleep 0.02; done`;
      expect((await sandbox.run({ command, timeoutMs: 20_000 })).exitCode).toBe(0);
      await expectStill(sandbox, folder, ['background']);
    });

    // oxlint-disable-next-line vitest/no-conditional-tests -- what an adapter does not promise is no test of it, rather than a skipped one
    if (traits.endsEscapedProcesses) {
      it('ends processes that left their group and session', async () => {
        const { sandbox, folder } = await open();
        const command = `setsid sh -c "trap '' TERM; ${ticking('escaped')}" > /dev/null 2>&1 & (setsid nohup sh -c "${ticking('orphan')}" &) ; sleep 60`;
        expect((await sandbox.run({ command, timeoutMs: 1_500 })).timedOut).toBe(true);
        await expectStill(sandbox, folder, ['escaped', 'orphan']);
      });
    }

    it('ends a command when its signal is aborted', async () => {
      const { sandbox, folder } = await open();
      const controller = new AbortController();
      const result = await sandbox.run({
        command: `echo tick > ticks; echo started; ${ticking('ticks')}`,
        timeoutMs: 20_000,
        signal: controller.signal,
        onOutput: () => controller.abort(),
      });
      expect(result).toMatchObject({ exitCode: null, timedOut: false, stdout: 'started\n' });
      await expectStill(sandbox, folder, ['ticks']);
    });

    it('starts nothing when the signal is aborted beforehand', async () => {
      const { sandbox, folder } = await open();
      const result = await sandbox.run({ command: 'touch ran', timeoutMs: 20_000, signal: AbortSignal.abort() });
      expect(result).toMatchObject({ exitCode: null, timedOut: false });
      await sandbox.sync();
      expect(existsSync(join(folder, 'ran'))).toBe(false);
    });

    it('ends running commands on dispose, may be disposed twice, and runs nothing afterwards', async () => {
      const { sandbox, folder } = await open();
      let started = (): void => {};
      const whenStarted = new Promise<void>((resolve) => {
        started = resolve;
      });
      const running = sandbox.run({
        command: `echo tick > ticks; echo up; ${ticking('ticks')}`,
        timeoutMs: 20_000,
        onOutput: () => started(),
      });
      await whenStarted;
      await sandbox.dispose();
      await sandbox.dispose();
      expect((await running).exitCode).toBeNull();
      // Elsewhere the folder is gone with all that wrote to it: see the provider's own tests.
      if (traits.sharesFolder) await expectStill(null, folder, ['ticks']);
      await expect(sandbox.run({ command: 'true', timeoutMs: 1_000 })).rejects.toThrow('disposed');
    });

    it('shows the files of the folder and leaves what commands write in it', async () => {
      const { sandbox, folder } = await open({}, { 'in.txt': 'from the host' });
      const result = await sandbox.run({
        command: 'cat in.txt; mkdir -p sub && echo made > sub/out.txt',
        timeoutMs: 20_000,
      });
      await sandbox.sync();
      expect(result.stdout).toBe('from the host');
      expect(await readFile(join(folder, 'sub/out.txt'), 'utf8')).toBe('made\n');
    });

    it('gives back what was changed, made executable and removed, and nothing else', async () => {
      const before = {
        'changed.txt': 'before',
        'gone/deep/x.txt': 'x',
        'kept.txt': 'kept',
        'turned/x.txt': 'x',
        file: '',
      };
      const { sandbox, folder } = await open({}, before);
      const command = [
        'cp -p changed.txt stamp && echo after > changed.txt && touch -r stamp changed.txt && rm stamp',
        'rm -r gone turned file; mkdir -p empty file && echo y > file/y; echo new > turned',
        'echo "#!/bin/sh" > run.sh; chmod 755 run.sh',
      ].join('\n');
      expect((await sandbox.run({ command, timeoutMs: 20_000 })).exitCode).toBe(0);
      await sandbox.sync();
      const paths = (await readdir(folder, { recursive: true })).sort();
      expect(paths).toEqual(['changed.txt', 'empty', 'file', 'file/y', 'kept.txt', 'run.sh', 'turned']);
      expect(await readFile(join(folder, 'changed.txt'), 'utf8')).toBe('after\n');
      expect(await readFile(join(folder, 'turned'), 'utf8')).toBe('new\n');
      const executable = await Promise.all(
        ['run.sh', 'kept.txt'].map(async (path) => ((await stat(join(folder, path))).mode & 0o100) !== 0),
      );
      expect(executable).toEqual([true, false]);
      expect((await sandbox.run({ command: 'rm run.sh', timeoutMs: 20_000 })).exitCode).toBe(0);
      await sandbox.sync();
      expect(existsSync(join(folder, 'run.sh'))).toBe(false);
    });

    it('runs several commands at once', async () => {
      const { sandbox } = await open();
      const results = await Promise.all(
        [1, 2, 3, 4].map((n) => sandbox.run({ command: `echo ${n}`, timeoutMs: 20_000 })),
      );
      expect(results.map(({ stdout }) => stdout.trim())).toEqual(['1', '2', '3', '4']);
    });

    it('passes none of the server’s environment on', async () => {
      process.env['SANDBOX_CANARY'] = 'canary-4711';
      try {
        const { sandbox } = await open();
        const { stdout } = await sandbox.run({ command: 'env', timeoutMs: 20_000 });
        const names = stdout
          .trim()
          .split('\n')
          .map((line) => line.split('=')[0]);
        expect(stdout).not.toContain('canary-4711');
        // The shell itself sets the last four. Where the server's home has Rust, its folder is named.
        const known = /^((RUSTUP_HOME|RUSTUP_AUTO_INSTALL|CI|HOME|LANG|PATH|TERM|TMPDIR|PWD|OLDPWD|SHLVL|_)( |$))+$/;
        expect(names.join(' ')).toMatch(known);
      } finally {
        delete process.env['SANDBOX_CANARY'];
      }
    });

    it('keeps HOME between sandboxes where a folder is given for it', async () => {
      const home = await aFolder();
      const first = await open({ home });
      await first.sandbox.run({ command: 'echo kept > ~/cache', timeoutMs: 20_000 });
      await first.sandbox.sync();
      await first.sandbox.dispose();
      const second = await open({ home });
      expect((await second.sandbox.run({ command: 'cat ~/cache', timeoutMs: 20_000 })).stdout).toBe('kept\n');
    });

    it('has Node', async () => {
      const version = traits.hasServersNode ? `${process.version}\n` : expect.stringMatching(/^v\d+\./);
      expect(await run('node --version')).toMatchObject({ exitCode: 0, stdout: version });
    });

    it('refuses a command that no shell can be given', async () => {
      await expect(run(`: ${'x'.repeat(200_000)}`)).rejects.toBeInstanceOf(InvalidRequest);
      await expect(run('echo \0')).rejects.toBeInstanceOf(InvalidRequest);
    });

    // oxlint-disable-next-line vitest/no-conditional-tests -- what an adapter does not promise is no test of it, rather than a skipped one
    if (traits.mountsReadOnly) {
      it('shows read-only files that cannot be written', async () => {
        const host = await aFolder();
        await writeFile(join(host, 'upload.txt'), 'as uploaded');
        const { sandbox } = await open({ readOnly: [{ host, inside: '/uploads' }] });
        const command =
          'cat /uploads/upload.txt; echo changed > /uploads/upload.txt; touch /uploads/new; rm -f /uploads/upload.txt; true';
        expect((await sandbox.run({ command, timeoutMs: 20_000 })).stdout).toBe('as uploaded');
        expect(await readFile(join(host, 'upload.txt'), 'utf8')).toBe('as uploaded');
        expect(existsSync(join(host, 'new'))).toBe(false);
      });
    }

    describe('a process that stays', () => {
      const start = async (
        command: string,
        request: Partial<ProcessRequest> = {},
      ): Promise<{ started: SandboxProcess; sandbox: Sandbox; folder: string; output: Output; say: Say }> => {
        const { sandbox, folder } = await open();
        const started = await sandbox.start({ command, ...request });
        const writer = started.stdin.getWriter();
        const say: Say = { line: (text) => writer.write(Buffer.from(`${text}\n`)), end: () => writer.close() };
        return { started, sandbox, folder, output: new Output(started.stdout), say };
      };

      const read = async (sandbox: Sandbox, command: string): Promise<string> =>
        (await sandbox.run({ command, timeoutMs: 20_000 })).stdout;

      it('is spoken to line by line until its input ends', async () => {
        const { started, output, say } = await start(
          'while read line; do echo "got $line"; done; echo bye; echo err >&2; exit 3',
        );
        await say.line('héllo');
        await output.until('got héllo\n');
        await say.line('again');
        await output.until('got again\n');
        await say.end();
        expect(await output.end()).toBe('got héllo\ngot again\nbye\n');
        expect(await started.done).toEqual({ exitCode: 3, stderr: 'err\n', endedBecause: null });
      });

      it('works on the folder, with variables that no other command has', async () => {
        const { started, sandbox, folder, output } = await start('echo "$EXTRA|$EMPTY|"; pwd > out.txt', {
          env: { EXTRA: 'canary \'n "quotes" $HOME', EMPTY: '' },
        });
        expect(await output.end()).toBe('canary \'n "quotes" $HOME||\n');
        await started.done;
        await sandbox.sync();
        const { stdout } = await sandbox.run({ command: 'pwd; env', timeoutMs: 20_000 });
        expect(stdout).not.toContain('canary');
        expect(stdout.startsWith(await readFile(join(folder, 'out.txt'), 'utf8'))).toBe(true);
      });

      it('may write more than any command could', async () => {
        const { started, output } = await start('head -c 80000000 /dev/zero');
        expect(await output.bytes()).toBe(80_000_000);
        expect((await started.done).exitCode).toBe(0);
      });

      it('keeps the beginning and the end of what it writes to stderr', async () => {
        const { started, output } = await start('seq 1 10000 >&2; echo last >&2', { maxStderrBytes: 100 });
        await output.end();
        expect((await started.done).stderr).toMatch(/^1\n2\n[\s\S]*\[… \d+ bytes dropped …\][\s\S]*10000\nlast\n$/);
      });

      it('says how it ended where nobody ended it', async () => {
        const { started, output } = await start('echo up; kill -9 $$');
        expect(await output.end()).toBe('up\n');
        expect(await started.done).toMatchObject({ exitCode: 137, endedBecause: null });
      });

      it('is ended with all that it started, and what is said to it then fails', async () => {
        const { started, sandbox, folder, output, say } = await start(
          `(trap '' TERM HUP; ${ticking('child')}) & echo tick > main; echo up; ${ticking('main')}`,
        );
        await output.until('up\n');
        await expect.poll(() => read(sandbox, 'cat child')).toContain('tick');
        started.end('enough');
        started.end('again');
        expect(await started.done).toMatchObject({ exitCode: null, endedBecause: 'enough' });
        await expectStill(sandbox, folder, ['child', 'main']);
        const saying = (async () => {
          while (true) await say.line('x'.repeat(100_000));
        })();
        await expect(saying).rejects.toBeInstanceOf(Error);
      });

      it('is ended by its signal, and never started when that is aborted beforehand', async () => {
        const controller = new AbortController();
        const { started, sandbox, folder, output } = await start(`echo tick > main; echo up; ${ticking('main')}`, {
          signal: controller.signal,
        });
        await output.until('up\n');
        controller.abort();
        expect(await started.done).toMatchObject({ exitCode: null, endedBecause: 'aborted' });
        await expectStill(sandbox, folder, ['main']);
        const never = await start('touch ran', { signal: AbortSignal.abort() });
        expect(await never.started.done).toMatchObject({ exitCode: null, endedBecause: 'aborted' });
        expect(await never.output.end()).toBe('');
        expect(existsSync(join(never.folder, 'ran'))).toBe(false);
      });

      it('is ended when the sandbox is disposed', async () => {
        const { started, sandbox, folder, output } = await start(`echo tick > main; echo up; ${ticking('main')}`);
        await output.until('up\n');
        await sandbox.dispose();
        expect((await started.done).exitCode).toBeNull();
        if (traits.sharesFolder) await expectStill(null, folder, ['main']);
        await expect(sandbox.start({ command: 'true' })).rejects.toThrow('disposed');
      });

      // oxlint-disable-next-line vitest/no-conditional-tests -- what an adapter does not promise is no test of it, rather than a skipped one
      if (traits.endsEscapedProcesses) {
        it('is ended with what left its group and session', async () => {
          const { started, sandbox, folder, output } = await start(
            `echo tick > escaped; setsid sh -c "${ticking('escaped')}" & echo up; sleep 600`,
          );
          await output.until('up\n');
          started.end('enough');
          expect((await started.done).endedBecause).toBe('enough');
          await expectStill(sandbox, folder, ['escaped']);
        });
      }
    });

    describe('files', () => {
      it.each(NAMES)('writes, reads, lists and finds %j', async (name) => {
        const { sandbox, folder } = await open();
        const content = `\ufeffline one\nneedle 'n "quotes" $HOME \\n\n`;
        await writeSandboxFile(sandbox, name, content);
        expect(await readSandboxFile(sandbox, name)).toBe(content);
        await sandbox.sync();
        expect(await readFile(join(folder, name), 'utf8')).toBe(content);
        expect(await listSandboxFiles(sandbox)).toEqual({ paths: [name], truncated: false });
        expect(await searchSandbox(sandbox, "^needle '")).toEqual({
          matches: [{ path: name, line: 2, text: 'needle \'n "quotes" $HOME \\n' }],
          truncated: false,
        });
      });

      it('answers null for a file that is not there', async () => {
        const { sandbox } = await open();
        expect(await readSandboxFile(sandbox, 'absent.txt')).toBeNull();
      });

      it('refuses folders, files that are too large, and places that cannot be written', async () => {
        const { sandbox } = await open({}, { 'sub/file.txt': '', 'big.txt': 'x'.repeat(3 * 1024 * 1024) });
        await expect(readSandboxFile(sandbox, 'sub')).rejects.toThrow('"sub" is a folder');
        await expect(writeSandboxFile(sandbox, 'sub', '')).rejects.toThrow('"sub" is a folder');
        await expect(readSandboxFile(sandbox, 'big.txt')).rejects.toThrow('more than 2097152 bytes');
        await expect(writeSandboxFile(sandbox, 'big.txt/child', '')).rejects.toBeInstanceOf(InvalidRequest);
        await expect(listSandboxFiles(sandbox, 'nowhere')).rejects.toThrow('no folder "nowhere"');
      });

      it.each([
        '../../etc/cron.d/x',
        '/etc/x',
        '..\\..\\x',
        'C:\\x',
        '~/x',
        '%2e%2e/x',
        'a/./../../x',
        'a/..',
        'x\0.png',
        '',
        'x'.repeat(4096),
      ])('refuses the path %j before any command runs', async (path) => {
        const { sandbox } = await open();
        await sandbox.dispose();
        await expect(readSandboxFile(sandbox, path)).rejects.toBeInstanceOf(InvalidRequest);
        await expect(writeSandboxFile(sandbox, path, '')).rejects.toBeInstanceOf(InvalidRequest);
        await expect(listSandboxFiles(sandbox, path)).rejects.toBeInstanceOf(InvalidRequest);
        await expect(searchSandbox(sandbox, 'x', { folder: path })).rejects.toBeInstanceOf(InvalidRequest);
      });

      it('keeps the mode of a file that it writes anew', async () => {
        const { sandbox } = await open();
        await sandbox.run({ command: 'echo old > run.sh && chmod 755 run.sh', timeoutMs: 20_000 });
        await writeSandboxFile(sandbox, 'run.sh', 'echo new\n');
        expect((await sandbox.run({ command: './run.sh', timeoutMs: 20_000 })).stdout).toBe('new\n');
      });

      it('leaves out what is installed, binary files and what lies outside the asked folder', async () => {
        const paths = ['src/a.ts', 'lib/b.ts', 'node_modules/p/index.js', '.git/config'];
        const files = Object.fromEntries(paths.map((path) => [path, 'needle\n']));
        const { sandbox } = await open({}, { ...files, 'src/binary': 'needle\0\n' });
        expect((await listSandboxFiles(sandbox)).paths).toEqual(['lib/b.ts', 'src/a.ts', 'src/binary']);
        expect((await listSandboxFiles(sandbox, 'src')).paths).toEqual(['src/a.ts', 'src/binary']);
        expect((await searchSandbox(sandbox, 'need(le)+')).matches.map(({ path }) => path).sort()).toEqual([
          'lib/b.ts',
          'src/a.ts',
        ]);
        expect((await searchSandbox(sandbox, 'needle', { folder: 'src' })).matches.map(({ path }) => path)).toEqual([
          'src/a.ts',
        ]);
        expect((await searchSandbox(sandbox, 'nothing such')).matches).toEqual([]);
      });

      it('says when there are more matches than asked for, and what is wrong with a pattern', async () => {
        const { sandbox } = await open();
        await writeSandboxFile(sandbox, 'many.txt', 'hit\n'.repeat(50));
        const found = await searchSandbox(sandbox, 'hit', { limit: 10 });
        expect(found.matches).toHaveLength(10);
        expect(found.truncated).toBe(true);
        await expect(searchSandbox(sandbox, '(')).rejects.toThrow('not an extended regular expression');
        expect((await searchSandbox(sandbox, '-v')).matches).toEqual([]);
      });
    });
  });
}

interface Say {
  readonly line: (text: string) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** What a process writes, as it comes. */
class Output {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = '';

  constructor(stdout: ReadableStream<Uint8Array>) {
    this.#reader = stdout.getReader();
  }

  async until(text: string): Promise<void> {
    while (!this.#text.includes(text)) {
      const { done, value } = await this.#reader.read();
      if (done) throw new Error(`The output ended without ${JSON.stringify(text)}: ${this.#text}`);
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** All of it. */
  async end(): Promise<string> {
    for (let part = await this.#reader.read(); !part.done; part = await this.#reader.read())
      this.#text += this.#decoder.decode(part.value, { stream: true });
    return this.#text;
  }

  async bytes(): Promise<number> {
    let count = 0;
    for (let part = await this.#reader.read(); !part.done; part = await this.#reader.read()) count += part.value.length;
    return count;
  }
}

/** A loop that makes a file grow for as long as it lives. */
function ticking(file: string): string {
  return `while :; do echo tick >> ${file}; sleep 0.02; done`;
}

/**
 * The files were written to, and no process is left to write to them.
 * @param sandbox `null` where the folder is shared and the sandbox gone
 */
async function expectStill(sandbox: Sandbox | null, folder: string, files: readonly string[]): Promise<void> {
  const read = async () => {
    await sandbox?.sync();
    return Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  };
  const before = await read();
  for (const content of before) expect(content).toContain('tick');
  // Ten ticks of a process that should be dead: the absence of an event has no event to wait for.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await read()).toEqual(before);
}
