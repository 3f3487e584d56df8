/** The worker in which foreign text is read: real worker threads, tasks that end and tasks that do not. */
import { describe, expect, it } from 'vitest';
import { readForeignText } from './foreign-text.ts';

const lock = (packages: number): string =>
  Array.from({ length: packages }, (_, index) => `a${index}@1:\n  version "1"\n`).join('');
const slowLock = new Map([['yarn.lock', lock(200_000)]]);

describe('the worker for foreign text', () => {
  it('gives what its task gives', async () => {
    const read = await readForeignText('newDependencies', [new Map(), new Map([['yarn.lock', lock(2)]]), []]);
    expect(read).toMatchObject({ ok: true, value: [{ name: 'a0', version: '1' }, { name: 'a1' }] });
  });

  it('leaves the event loop free while it reads', async () => {
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    const before = process.threadCpuUsage();
    const started = performance.now();
    await readForeignText('newDependencies', [new Map(), slowLock, []]);
    const elapsedMs = performance.now() - started;
    clearInterval(counting);
    const { user } = process.threadCpuUsage(before);
    expect(turns).toBeGreaterThan(5);
    expect(user / 1_000).toBeLessThan(elapsedMs / 2);
  });

  it('gives up what takes too long, and reads the next text', async () => {
    const read = await readForeignText('newDependencies', [new Map(), slowLock, []], { maxMs: 5 });
    expect(read).toEqual({ ok: false, why: 'took longer than 0.005 seconds to read' });
    expect(await readForeignText('newDependencies', [new Map(), new Map(), ['x']])).toMatchObject({ ok: true });
  });

  it('gives up when its caller does, and rejects with the reason', async () => {
    const stopped = new AbortController();
    const reading = readForeignText('newDependencies', [new Map(), slowLock, []], { signal: stopped.signal });
    stopped.abort(new Error('cancelled'));
    await expect(reading).rejects.toThrow('cancelled');
    expect(await readForeignText('newDependencies', [new Map(), new Map(), []])).toEqual({ ok: true, value: [] });
  });
});
