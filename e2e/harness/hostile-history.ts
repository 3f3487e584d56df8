/** A project whose newest commit has a hostile subject and author, and a remote that tells both when it refuses a push. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { DemoPlace } from '../../packages/orchestrator/demo/place.ts';
import { AUTHOR, SUBJECT } from './hostile-words.ts';

const execute = promisify(execFile);

/** As linters of commits do: the newest commits are named to whoever may not push them. */
const HOOK = `#!/bin/sh
while read old new ref; do
  case "$ref" in *refused*) git log -2 --format='%an: %s' "$new" -- >&2; exit 1;; esac
done
`;

/** @returns once a branch whose name has `refused` in it is not taken any more */
export async function makeHistoryHostile({ project, remote }: DemoPlace): Promise<void> {
  const author = ['-c', `user.name=${AUTHOR}`, '-c', 'user.email=ada@autonomous.invalid'];
  await execute('git', [...author, 'commit', '--quiet', '--allow-empty', `--message=${SUBJECT}`], { cwd: project });
  await execute('git', ['push', '--quiet', 'origin', 'HEAD'], { cwd: project });
  await writeFile(path.join(remote, 'hooks', 'pre-receive'), HOOK, { mode: 0o755 });
}
