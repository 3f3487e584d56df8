import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProcessUnavailable } from '../../processes/small-process.ts';
import { askLaunched, launchGit } from './git-launcher.ts';

const MUCH_BYTES = 17_000_000;
const env = { PATH: process.env['PATH'] ?? '' };
const gitDir = mkdtempSync(path.join(tmpdir(), 'git-launcher-'));

beforeAll(() => git(['init', '--quiet', '--bare', '.']));
afterAll(() => rmSync(gitDir, { recursive: true, force: true, maxRetries: 5 }));

describe('The process that starts git is another one, as each start costs in proportion to its memory,', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['input', () => git(['hash-object', '--stdin'], Buffer.alloc(MUCH_BYTES))],
    ['output', () => git(['-c', `alias.much=!head -c ${MUCH_BYTES} /dev/zero`, 'much'])],
    [
      'objects',
      async () => {
        const name = await git(['hash-object', '-w', '--stdin'], Buffer.alloc(MUCH_BYTES / 2));
        const requests = [{ name, withContent: true }];
        await askLaunched({ gitDir, env: { ...env, GIT_DIR: gitDir }, requests, timeoutMs: 60_000 });
      },
    ],
  ])('after much %s; what is under way in it comes to its end', async (_what, carryMuch) => {
    const first = await launcherOfGit();
    expect(await launcherOfGit()).toBe(first);
    const goOn = path.join(gitDir, `go-on-${first}`);
    const long = git(['-c', `alias.long=!until [ -e '${goOn}' ]; do sleep 0.1; done; echo heard`, 'long']);
    await carryMuch();
    await expect.poll(launcherOfGit).not.toBe(first);
    expect(isAlive(first)).toBe(true);
    writeFileSync(goOn, '');
    expect(await long).toBe('heard');
    await expect.poll(() => isAlive(first)).toBe(false);
  });
});

it('Git in a folder that is not there is told so', async () => {
  const gone = path.join(gitDir, 'gone');
  await expect(launchGit({ args: ['version'], cwd: gone, env, input: '' })).rejects.toThrow(
    `there is no folder ${gone}`,
  );
});

it('The process that starts git may stand still: it is killed, and the next command has another', async () => {
  const first = await launcherOfGit();
  process.kill(first, 'SIGSTOP');
  const failed = git(['version']);
  await expect(failed).rejects.toThrow('The process that starts git did not answer for 10 seconds and was killed');
  await expect(failed).rejects.toThrow(ProcessUnavailable);
  expect(await launcherOfGit()).not.toBe(first);
  await expect.poll(() => isAlive(first)).toBe(false);
});

describe('Where the system has no room for another open file or thread,', () => {
  /** Lines that a program prints which may open few files. */
  function withFewFiles(script: string): readonly string[] {
    const source = `
      import processes from 'node:child_process';
      import { openSync } from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const { fork } = processes;
      const started = [];
      let isHung = false;
      processes.fork = (...given) => {
        const child = fork(...given);
        started.push(child.pid);
        if (isHung) child.kill('SIGSTOP');
        return child;
      };
      syncBuiltinESMExports();
      const { askLaunched, launchGit } = await import(${JSON.stringify(new URL('./git-launcher.ts', import.meta.url).href)});
      const git = (args, input = '') => launchGit({ args, cwd: ${JSON.stringify(gitDir)}, env: ${JSON.stringify(env)}, input });
      const ask = () => askLaunched({ gitDir: ${JSON.stringify(gitDir)}, env: ${JSON.stringify({ ...env, GIT_DIR: gitDir })}, requests: [], timeoutMs: 10_000 });
      const told = (outcome) => outcome.reason?.constructor.name ?? outcome.value.exitCode;
      const tell = async (asked) => console.log((await Promise.allSettled(asked)).map(told).join(' '));
      const useUp = () => { try { for (;;) openSync('/dev/null'); } catch (error) { return error.code; } };
      ${script}`;
    const limited = ['-c', 'ulimit -n 96; exec "$0" --input-type=module --eval "$1"', process.execPath, source];
    const { stdout, stderr, status } = spawnSync('sh', limited, { timeout: 60_000, encoding: 'utf8' });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    return stdout.trim().split('\n');
  }

  it('the former process goes on when another one cannot be started', () => {
    const script = `
      await tell([git(['hash-object', '--stdin'], Buffer.alloc(${MUCH_BYTES}))]);
      console.log(useUp());
      await tell([git(['version'])]);`;
    expect(withFewFiles(script)).toEqual(['0', 'EMFILE', '0']);
  });

  it('the former process goes on beside one that hangs at its start, which ends with the program', async () => {
    const script = `
      await tell([git(['hash-object', '--stdin'], Buffer.alloc(${MUCH_BYTES}))]);
      isHung = true;
      await tell([git(['version'])]);
      await tell([git(['version'])]);
      console.log(started.slice(1).join(' '));`;
    const [first, second, third, hung] = withFewFiles(script);
    expect([first, second, third, hung]).toEqual(['0', '0', '0', expect.stringMatching(/^\d+$/)]);
    await expect.poll(() => isAlive(Number(hung))).toBe(false);
  });

  it('a command without any fails as one that can be tried again', () => {
    const script = `
      console.log(useUp());
      await tell([git(['version']), git(['version'])]);`;
    expect(withFewFiles(script)).toEqual(['EMFILE', 'ProcessUnavailable ProcessUnavailable']);
  });

  it('commands that find none in it fail, and it goes on', () => {
    const script = `
      await tell([git(['version'])]);
      const many = Array.from({ length: 60 }, () => git(['-c', 'alias.long=!sleep 3', 'long']));
      const outcomes = await Promise.allSettled([...many, ask()]);
      console.log([...new Set(outcomes.map(told))].sort().join(' '));
      await tell([git(['version'])]);`;
    expect(withFewFiles(script)).toEqual(['0', '0 Error ProcessUnavailable', '0']);
  });
});

async function git(args: readonly string[], input: string | Uint8Array = ''): Promise<string> {
  const { stdout } = await launchGit({ args, cwd: gitDir, env, input });
  return Buffer.from(stdout).toString('utf8').trim();
}

async function launcherOfGit(): Promise<number> {
  return Number(await git(['-c', 'alias.launcher=!ps -o ppid= -p $PPID', 'launcher']));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
