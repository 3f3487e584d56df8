/** A git repository for the tests of the hooks, and their commands in it, without a server. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { runCli } from '../program.ts';

export interface Place {
  readonly folder: string;
  /** Has the folder `docs`, in which the commands are started. */
  readonly repository: string;
  /** State folder of the hooks. */
  readonly state: string;
}

export function makePlace(): Place {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'hook-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const repository = path.join(folder, 'shop');
  execFileSync('git', ['init', '--quiet', repository], { stdio: 'pipe' });
  mkdirSync(path.join(repository, 'docs'));
  return { folder, repository, state: path.join(folder, 'state') };
}

export async function command(
  { state, repository }: Place,
  words: readonly string[],
  stdin: Readable = Readable.from([]),
  env: Readonly<Record<string, string>> = {},
) {
  const written = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof written) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        written[name] += chunk.toString();
        done();
      },
    });
  const exitCode = await runCli(['hook', ...words], {
    stdin,
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: { ...env, XDG_STATE_HOME: state },
    cwd: path.join(repository, 'docs'),
    program: 'autonomous',
  });
  return { exitCode, ...written };
}
