/** The real program as child processes: a server on a free port, commands beside it, a repository with a bare remote. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../main.ts', import.meta.url));
const DEMO = fileURLToPath(new URL('../../demo/', import.meta.url));
export const SCRIPT = join(DEMO, 'login.script.yaml');

export type Env = Readonly<Record<string, string>>;

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Place {
  readonly folder: string;
  /** The server's data folder; not there yet. */
  readonly data: string;
  /** A small project, cloned from `remote`. */
  readonly clone: string;
  readonly remote: string;
  /** What a command needs to find a server of this place: no variable of whoever runs the tests. */
  readonly env: Env;
  /** Runs one command to its end. */
  command(args: readonly string[], env?: Env, cwd?: string): Promise<Finished>;
  /** Starts `serve --port 0` and waits until it has said where it listens, or has ended. */
  serve(env?: Env, args?: readonly string[]): Promise<ServerProcess>;
  git(...args: readonly string[]): string;
  /** Ends what still runs and removes all files. */
  remove(): Promise<void>;
}

export interface ServerProcess {
  /** Empty when it ended before it listened. */
  readonly url: string;
  readonly output: () => Finished;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

export function makePlace(): Place {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cli-')));
  const [data, clone, remote] = ['data', 'notes', 'notes.git'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  // Nothing that the program does depends on the cache but how soon it is there.
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder, AUTONOMOUS_DATA: data };
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { encoding: 'utf8', env: { ...env, GIT_CONFIG_NOSYSTEM: '1' } }).trim();
  const running: ChildProcessWithoutNullStreams[] = [];
  const start = (args: readonly string[], extra: Env = {}, cwd = folder) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], { cwd, env: { ...env, ...extra } });
    child.stdin.end();
    running.push(child);
    return watched(child);
  };

  cpSync(join(DEMO, 'project'), clone, { recursive: true });
  git('init', '-q', '-b', 'main', clone);
  git('-C', clone, 'add', '-A');
  git('-C', clone, '-c', 'user.name=Person', '-c', 'user.email=person@example.org', 'commit', '-qm', 'Start');
  git('clone', '-q', '--bare', clone, remote);
  git('-C', clone, 'remote', 'add', 'origin', remote);

  return {
    folder,
    data,
    clone,
    remote,
    env,
    git,
    command: (args, extra, cwd) => start(args, extra, cwd).ended,
    async serve(extra = {}, args = ['--port', '0']) {
      const server = start(['serve', ...args], { AUTONOMOUS_SCRIPT: SCRIPT, ...extra });
      const said = await Promise.race([server.heard(/^ {2}models .*$/m), server.ended]);
      const url = 'exitCode' in said ? '' : (/address +(\S+)/.exec(server.output().stdout)?.[1] ?? '');
      return {
        url,
        output: server.output,
        stop: async (signal = 'SIGTERM') => {
          server.child.kill(signal);
          return server.ended;
        },
      };
    },
    async remove() {
      for (const child of running) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill('SIGKILL');
        await once(child, 'close');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function watched(child: ChildProcessWithoutNullStreams) {
  const text = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (text.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (text.stderr += String(chunk)));
  const output = (): Finished => ({ exitCode: child.exitCode, ...text });
  return {
    child,
    output,
    ended: once(child, 'close').then(output),
    heard: (pattern: RegExp): Promise<RegExpExecArray> =>
      new Promise((resolve) => {
        const look = () => {
          const found = pattern.exec(text.stdout);
          if (found) resolve(found);
        };
        child.stdout.on('data', look);
        look();
      }),
  };
}
