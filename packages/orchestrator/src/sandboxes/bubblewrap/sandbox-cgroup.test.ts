import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSandboxCgroup } from './sandbox-cgroup.ts';

const limits = { processes: 20, memoryBytes: 64 * 1024 ** 2 };
const first = createSandboxCgroup(limits);
await first?.remove();

/** Ends as the shell does that ran `command` in the group. */
function runIn(joinFiles: readonly string[], command: string): Promise<number | null> {
  const join = joinFiles.map((file) => `echo $$ > ${file}`).join(' && ');
  const child = spawn('sh', ['-c', `${join} && ${command}`], { stdio: 'ignore' });
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once('exit', resolve);
  return promise;
}

describe('The control group of a sandbox', () => {
  // Whether one can be made is the machine's business: nobody but root makes any, and not every kernel lets root.
  it.each(typeof first?.memoryBytes === 'number' ? [limits] : [])(
    'ends what takes its memory faster than anybody looks: %j',
    async (tight) => {
      const group = createSandboxCgroup(tight);
      if (group === null) throw new Error('no group could be made');
      expect(group.memoryBytes).toBe(96 * 1024 ** 2);
      expect(await runIn(group.joinFiles, 'head -c 50000000 /dev/zero | tail -c 50000000')).toBe(0);
      expect(group.ranOutOfMemory()).toBe(false);
      expect(await runIn(group.joinFiles, 'head -c 400000000 /dev/zero | tail -c 400000000')).not.toBe(0);
      expect(group.ranOutOfMemory()).toBe(true);
      await group.remove();
    },
  );

  it('leaves nothing behind where nobody joined it', async () => {
    const group = createSandboxCgroup(limits);
    const folders = group?.joinFiles.map((file) => dirname(file)) ?? [];
    expect(folders.every((folder) => existsSync(folder))).toBe(true);
    await group?.remove();
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
  });

  it('is not there for a server that is not root', () => {
    const { getuid } = process;
    process.getuid = () => 1000;
    try {
      expect(createSandboxCgroup(limits)).toBeNull();
    } finally {
      if (getuid !== undefined) process.getuid = getuid;
    }
  });
});
