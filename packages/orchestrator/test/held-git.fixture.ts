/**
 * The git that a server finds first in its PATH: the machine's own, which waits where a test holds it. So a server can be
 * ended between an effect and the news of it: the held process has done its work, and nobody has heard of it yet.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { watch } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

export interface HeldGit {
  /** What belongs before the other folders of the PATH. */
  readonly folder: string;
  /**
   * Holds the next git process whose arguments, joined by spaces, fit the shell pattern. One hold at a time.
   * @param when before its work, or after it
   */
  hold(when: 'before' | 'after', pattern: string): Promise<Held>;
}

export interface Held {
  /** Resolves when a process waits here. */
  readonly reached: Promise<void>;
  /** Lets the waiting process go on, or does its work where it has ended with its server; resolves with the exit code. */
  release(): Promise<number>;
  /** Ends the waiting process where it is, as a failing machine would. */
  kill(): Promise<void>;
}

const script = (git: string): string => `#!/bin/sh
here=\${0%/*}
if [ -e "$here/hold" ] && read -r when pattern < "$here/hold"; then
  case "$*" in
  $pattern)
    if [ "$when" = after ]; then ${git} "$@"; code=$?; fi
    printf '%s\\n' "$GIT_DIR" "$@" > "$here/arguments"
    if mv "$here/hold" "$here/held.$$" 2> /dev/null; then
      while [ -e "$here/held.$$" ]; do sleep 0.02; done
      if [ "$when" = before ]; then ${git} "$@"; code=$?; fi
      : > "$here/ended.$code"
      exit $code
    fi
    if [ "$when" = after ]; then exit $code; fi
    ;;
  esac
fi
exec ${git} "$@"
`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** @param folder absolute; made here */
export async function installHeldGit(folder: string): Promise<HeldGit> {
  const git = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  await mkdir(folder);
  await writeFile(path.join(folder, 'git'), script(git));
  await chmod(path.join(folder, 'git'), 0o755);

  /** Runs the command of a held process in a new one: the held process has ended with its server. */
  const runLate = async (): Promise<number> => {
    const [gitDir, ...args] = (await readFile(path.join(folder, 'arguments'), 'utf8')).trimEnd().split('\n');
    return spawnSync(git, args, { env: { ...process.env, GIT_DIR: gitDir }, stdio: 'ignore' }).status ?? 128;
  };

  return {
    folder,
    async hold(when, pattern) {
      const held = Promise.withResolvers<number>();
      const ended = Promise.withResolvers<number>();
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        const [, what, number] = /^(held|ended)\.(\d+)$/.exec(name ?? '') ?? [];
        if (what === 'held') held.resolve(Number(number));
        if (what === 'ended') ended.resolve(Number(number));
      });
      await writeFile(path.join(folder, 'hold.draft'), `${when} ${pattern}\n`);
      await rename(path.join(folder, 'hold.draft'), path.join(folder, 'hold'));
      const letGo = async (pid: number): Promise<void> => rm(path.join(folder, `held.${pid}`));
      return {
        reached: held.promise.then(() => undefined),
        async release() {
          const pid = await held.promise;
          await letGo(pid);
          if (!isAlive(pid)) return runLate();
          const code = await ended.promise;
          watcher.close();
          await rm(path.join(folder, `ended.${code}`));
          return code;
        },
        async kill() {
          const pid = await held.promise;
          // It may have ended with its server.
          if (isAlive(pid)) process.kill(pid, 'SIGKILL');
          watcher.close();
          await letGo(pid);
        },
      };
    },
  };
}
