/** Processes of a sandbox whose server was killed while it started them, with the real bubblewrap of this machine. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { TEST_LIMITS } from '../sandbox.contract.ts';
import { shellWord } from '@autonomous/shared/presentation';
import { endAbandonedSandboxes } from './abandoned-sandboxes.ts';
import { createBubblewrapProvider } from './bubblewrap.ts';
import { SAYS_UP, sandboxProfile } from './bubblewrap-profile.ts';

const { ok } = await createBubblewrapProvider().availability();

it.skipIf(!ok)('a first process is ended also where the server wrote none of its options', async () => {
  const spec = { runId: 'r', folder: '/tmp', network: 'none', readOnly: [], limits: TEST_LIMITS } as never; // none of it is written
  const { args } = sandboxProfile({
    spec,
    npm: null,
    packages: null,
    egressSocket: null,
    programs: { folders: [], path: [], first: [], environment: {} },
    hiddenFolders: [],
  });
  const name = randomUUID();
  const bwrap = ['bwrap', ...args, '--', '/bin/sh', '-c', `${SAYS_UP} : ${name}`].map(shellWord).join(' ');
  const withOptions = args.at(-1);
  // Nobody reads the status any more when bwrap says it, which ends bwrap (141: SIGPIPE) before its child is set up.
  const script = `set -o pipefail; { sleep 0.3; exec ${bwrap} 3>&1 ${withOptions}< /dev/null; } | true`;
  const [exitCode] = await once(spawn('/bin/bash', ['-c', script], { stdio: 'ignore' }), 'exit');
  expect(exitCode).toBe(141);
  // Other servers of this machine may have ended it by now.
  await endAbandonedSandboxes();
  await expect.poll(() => left(name)).toEqual([]);
});

/** Ids of the processes that bwrap made for a command with this name in it. */
function left(name: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return line.startsWith('bwrap\0') && line.includes(name);
    } catch {
      return false;
    }
  });
}
