/**
 * Sandboxes whose server was killed before bwrap had told the kernel to end them with it. No command runs in them, see
 * `limitedCommand`; their first process waits for ever for the one that was to set it up.
 */
import { readdir, readFile } from 'node:fs/promises';
import { SAYS_UP } from './bubblewrap-profile.ts';

export async function endAbandonedSandboxes(): Promise<void> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      // Processes end meanwhile, and those of others are not this server's to end.
      if (await isAbandoned(pid).catch(() => false)) kill(Number(pid));
    }),
  );
}

/** The parent of a sandbox's first process is the bwrap that was launched, for as long as that lives. */
async function isAbandoned(pid: string): Promise<boolean> {
  if (!(await isOfSandbox(pid))) return false;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const isFirst = /^NSpid:.*\t1$/m.test(status);
  const parent = /^PPid:\t(\d+)$/m.exec(status)?.[1];
  return isFirst && parent !== undefined && !(await isOfSandbox(parent));
}

async function isOfSandbox(pid: string): Promise<boolean> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes(SAYS_UP);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone, or another user's.
  }
}
