/**
 * Sandboxes whose server was killed before bwrap had told the kernel to end them with it. No command runs in them, see
 * `limitedCommand`; their first process waits for ever for the one that was to set it up.
 */
import { readdir, readFile } from 'node:fs/promises';
import { SAYS_UP } from './bubblewrap-profile.ts';

/** Parent of processes whose own is gone. */
const INIT = 1;

export async function endAbandonedSandboxes(): Promise<void> {
  // As the first process of a container, this server is itself the parent of its sandboxes, and none of them outlives it.
  if (process.pid === INIT) return;
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      // Processes end meanwhile, and those of others are not this server's to end.
      if (await isAbandoned(pid).catch(() => false)) kill(Number(pid));
    }),
  );
}

async function isAbandoned(pid: string): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
  if (!command.includes(SAYS_UP)) return false;
  return (await readFile(`/proc/${pid}/status`, 'utf8')).includes(`\nPPid:\t${INIT}\n`);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone, or another user's.
  }
}
