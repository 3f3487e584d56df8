import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runChild } from './child.ts';
import { familyOf } from './processes.ts';

const PROGRAM = path.join(import.meta.dirname, 'child.fixture.ts');

interface Said {
  readonly pids: readonly number[];
}

describe('a measuring process', () => {
  it('is heard to its end', async () => {
    const said: Said[] = [];
    const failure = await runChild<Said>(PROGRAM, { ending: 'end' }, { silenceS: 60, onMessage: (m) => said.push(m) });
    expect(failure).toBeUndefined();
    expect(said).toHaveLength(1);
  });

  it('that fails says why by its last words', async () => {
    const failure = await runChild(PROGRAM, { ending: 'fail' }, { silenceS: 60, onMessage: () => undefined });
    expect(failure).toMatch(/^ended with code 3: .*this is why$/s);
  });

  it('is killed with all that it started', async ({ skip }) => {
    if (process.platform !== 'linux') skip('descendants are found in /proc');
    let said: Said = { pids: [] };
    let family: readonly number[] = [];
    const failure = await runChild<Said>(
      PROGRAM,
      { ending: 'wait' },
      {
        silenceS: 60,
        onMessage: (message, kill) => {
          said = message;
          family = familyOf(message.pids[0] ?? 0);
          kill();
        },
      },
    );
    expect(failure).toBeUndefined();
    expect(said.pids).toHaveLength(2);
    expect(family).toEqual(said.pids);
    for (const pid of said.pids) await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('that says nothing is ended', async () => {
    const failure = await runChild(PROGRAM, { ending: 'wait' }, { silenceS: 1, onMessage: () => undefined });
    expect(failure).toBe('nothing for 1 s, so it was ended');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
