import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { type LaunchedProgram, launchProgram, type ProgramRequest, runProgram } from './program.ts';
import { ProcessUnavailable } from './small-process.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'programs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = { PATH: process.env['PATH'] ?? '' };
const shell = (script: string, more: Partial<ProgramRequest> = {}) =>
  launchProgram({ file: '/bin/sh', args: ['-c', script], cwd: folder, env, ...more });

describe('A program that another process starts', () => {
  it('gets its arguments, folder and environment, and none of the server', async () => {
    const program = await launchProgram({
      file: '/bin/sh',
      args: ['-c', 'echo "$0 $PWD"; env | grep -v "^_=\\|^PWD=\\|^SHLVL="; echo said >&2; exit 3', 'a  b'],
      cwd: folder,
      env: { ...env, NAME: 'value' },
    });
    const [stdout, stderr, end] = await Promise.all([text(program.stdout), text(program.stderr), program.end]);
    expect(stdout.split('\n').sort()).toEqual(['', `PATH=${env.PATH}`, 'NAME=value', `a  b ${folder}`].sort());
    expect({ stderr, end }).toEqual({ stderr: 'said\n', end: { exitCode: 3, signal: null } });
  });

  it('reads and writes much, whatever bytes it is', async () => {
    const bytes = Buffer.alloc(
      5_000_003,
      Uint8Array.from({ length: 251 }, (_, index) => index),
    );
    const program = await launchProgram({ file: 'cat', args: [], cwd: '/', env, input: bytes });
    const [stdout] = await Promise.all([buffer(program.stdout), program.end, text(program.stderr)]);
    expect(stdout.equals(bytes)).toBe(true);
  });

  it('is spoken to while it runs, and a writer hears that it is gone', async () => {
    const program = await shell('read first; echo "heard $first"; read second; echo "and $second"', {
      isInputOpen: true,
    });
    program.stdin?.write('one\n');
    expect(String((await once(program.stdout, 'data'))[0])).toBe('heard one\n');
    program.stdin?.write('two\n');
    expect(await Promise.all([text(program.stdout), program.end, text(program.stderr)])).toMatchObject([
      'and two\n',
      { exitCode: 0 },
      '',
    ]);
    await expect.poll(() => program.stdin?.writable).toBe(false);
  });

  it('has an input that ends at once when there is none', async () => {
    expect(await runProgram('cat', [])).toEqual({ exitCode: 0, stdout: '', stderr: '', isLate: false });
  });

  it('has further descriptors: what it reads, what it writes, and an answer to that', async () => {
    const heard: string[] = [];
    const program = await shell('cat <&3; echo up >&4; echo status >&5; cat <&4', {
      descriptors: [{ write: 'content\n' }, { answer: 'go\n' }, { read: (said) => heard.push(said) }],
    });
    const [stdout] = await Promise.all([text(program.stdout), program.end, text(program.stderr)]);
    expect({ stdout, heard }).toEqual({ stdout: 'content\ngo\n', heard: ['status\n'] });
  });

  it('in a folder that is not there is told so', async () => {
    const gone = path.join(folder, 'gone');
    await expect(launchProgram({ file: 'true', args: [], cwd: gone, env })).rejects.toThrow(
      `there is no folder ${gone}`,
    );
  });

  it('in a file, or with arguments that are too long, is told so', async () => {
    await expect(launchProgram({ file: 'true', args: [], cwd: '/etc/passwd', env })).rejects.toThrow(
      '/etc/passwd is not a folder',
    );
    await expect(shell('x'.repeat(200_000))).rejects.toThrow(
      'arguments and variables are longer than the system takes',
    );
  });

  it('that is not there is an error with its name', async () => {
    const missing = { file: path.join(folder, 'missing'), args: [], cwd: '/', env };
    await expect(launchProgram(missing)).rejects.toThrow(`spawn ${missing.file} ENOENT`);
  });

  it.each([
    ['before it has started', 0],
    ['while it runs', 300],
  ])('is killed with all that it started when it is aborted %s', async (_when, ms) => {
    const note = path.join(folder, `pids-${ms}`);
    const signal = ms === 0 ? AbortSignal.abort() : AbortSignal.timeout(ms);
    const run = shell(`sleep 100 & echo "$! $$" > ${note}; wait`, { signal });
    if (ms === 0) await expect(run).rejects.toThrow('it was ended before it started');
    else {
      const program = await run;
      await Promise.all([text(program.stdout), text(program.stderr)]);
      expect(await program.end).toEqual({ exitCode: null, signal: 'SIGKILL' });
      await expect.poll(() => readFileSync(note, 'utf8').trim().split(' ').some(isAlive)).toBe(false);
    }
  });

  it('ends although a process that left its group holds its output', async () => {
    const program = await shell(
      `setsid sh -c 'echo $$ > ${folder}/left; exec sleep 100' & until [ -s ${folder}/left ]; do sleep 0.1; done`,
    );
    const read = text(program.stdout).catch(() => 'cut off');
    expect(await program.end).toMatchObject({ exitCode: 0 });
    await read;
    process.kill(Number(readFileSync(path.join(folder, 'left'), 'utf8')));
  });

  it('says that it was late, and what it said before', async () => {
    const late = await runProgram('sh', ['-c', 'echo early; exec sleep 100'], { timeoutMs: 300 });
    expect(late).toEqual({ exitCode: null, stdout: 'early\n', stderr: '', isLate: true });
  });
});

describe.skipIf(process.platform !== 'linux')('What a program runs on in', () => {
  it('inherits no file descriptor of the shell that started the server', async () => {
    const script = `import { runProgram } from ${JSON.stringify(new URL('./program.ts', import.meta.url))};
      const { stdout } = await runProgram('/bin/sh', ['-c', 'ls /proc/self/fd']);
      process.stdout.write(stdout.trim().split('\\n').join(' '));`;
    const shellScript =
      'exec 25< / 40< / 197< /; exec "$0" --disable-warning=ExperimentalWarning --input-type=module -e "$1"';
    expect(execFileSync('/bin/bash', ['-c', shellScript, process.execPath, script], { encoding: 'utf8' })).toBe(
      '0 1 2 3',
    );
  });

  it('may be killed: the program ends with it, and the next one has another', async () => {
    const program = await shell('echo $PPID; exec sleep 100');
    const [starter] = String((await once(program.stdout, 'data'))[0]).split('\n');
    process.kill(Number(starter), 'SIGKILL');
    await expect(program.end).rejects.toThrow(ProcessUnavailable);
    expect((await runProgram('sh', ['-c', 'echo $PPID'])).stdout.trim()).not.toBe(starter);
  });

  it('may stand still: it is killed with its programs when a start or an end is due, and the next one has another', async () => {
    const starterOf = async ({ stdout }: LaunchedProgram) => Number(String((await once(stdout, 'data'))[0]));
    const aborted = new AbortController();
    const asks = [() => shell('true'), async () => aborted.abort()];
    for (const ask of asks) {
      const program = await shell(`echo $PPID; echo $$ > ${folder}/beside; exec sleep 100`, { signal: aborted.signal });
      const starter = await starterOf(program);
      process.kill(starter, 'SIGSTOP');
      await Promise.all([
        expect(program.end).rejects.toThrow(ProcessUnavailable),
        ask().catch((error: unknown) =>
          expect(error).toMatchObject({ message: expect.stringContaining('did not answer for 10 seconds') }),
        ),
      ]);
      const beside = readFileSync(path.join(folder, 'beside'), 'utf8').trim();
      await expect.poll(() => isAlive(`${starter}`) || isAlive(beside)).toBe(false);
      const next = await shell('echo $PPID');
      expect(await starterOf(next)).not.toBe(starter);
    }
  });

  it('says what is missing where /proc is not mounted, without a stack trace', () => {
    const source = `
      const { runProgram } = await import(${JSON.stringify(new URL('./program.ts', import.meta.url).href)});
      await runProgram('true', []).catch((error) => console.log(error.message));`;
    const args = ['--dev-bind', '/', '/', '--tmpfs', '/proc', '--', process.execPath, '--input-type=module', '--eval'];
    const { stdout, stderr } = spawnSync('bwrap', [...args, source], { encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({
      stdout: expect.stringMatching(
        /^The process that starts programs cannot work: \/proc cannot be read .*; mount it/,
      ),
      stderr: '',
    });
  });

  it('is killed at the end of this program where it stands still', async () => {
    const source = `
      const { runProgram } = await import(${JSON.stringify(new URL('./program.ts', import.meta.url).href)});
      const { stdout } = await runProgram('sh', ['-c', 'echo $PPID']);
      process.kill(Number(stdout), 'SIGSTOP');
      const { readFileSync } = await import('node:fs');
      while (!readFileSync('/proc/' + stdout.trim() + '/stat', 'utf8').includes(') T ')) {}
      process.stdout.write(stdout);`;
    const starter = execFileSync(process.execPath, ['--input-type=module', '--eval', source], { encoding: 'utf8' });
    await expect.poll(() => isAlive(starter.trim())).toBe(false);
  });

  it('finds another place when the folder of temporary files is swept, or has too long a path', async () => {
    const source = `
      import { readdirSync, rmSync } from 'node:fs';
      import { tmpdir } from 'node:os';
      const { runProgram } = await import(${JSON.stringify(new URL('./program.ts', import.meta.url).href)});
      const run = async () => console.log((await runProgram('echo', ['works'])).stdout.trim());
      await run();
      for (const name of readdirSync(tmpdir())) rmSync(tmpdir() + '/' + name, { recursive: true });
      await run();
      console.log(readdirSync(tmpdir()).length);`;
    const runIn = (name: string) => {
      const TMPDIR = path.join(folder, name);
      mkdirSync(TMPDIR);
      const env = { ...process.env, TMPDIR };
      return execFileSync(process.execPath, ['--input-type=module', '--eval', source], { env, encoding: 'utf8' });
    };
    expect(runIn('short')).toBe('works\nworks\n1\n');
    expect(runIn('long'.repeat(25))).toBe('works\nworks\n0\n');
  });

  it('ends with this program, with all that it started and its folder', async () => {
    const source = `
      const { launchProgram } = await import(${JSON.stringify(new URL('./program.ts', import.meta.url).href)});
      const program = await launchProgram({ file: '/bin/sh', args: ['-c', 'echo "$PPID $$"; exec sleep 100'], cwd: '/', env: {} });
      program.stdout.pipe(process.stdout);`;
    const server = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: folder },
    });
    const pids = String((await once(server.stdout, 'data'))[0]).split(/\s/);
    expect(readdirSync(folder).filter((name) => name.startsWith('autonomous-socket-'))).toHaveLength(1);
    server.kill('SIGKILL');
    await expect.poll(() => pids.filter(Boolean).some(isAlive), { timeout: 10_000 }).toBe(false);
    await expect.poll(() => readdirSync(folder).some((name) => name.startsWith('autonomous-socket-'))).toBe(false);
  });
});

function isAlive(pid: string): boolean {
  return existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
}
