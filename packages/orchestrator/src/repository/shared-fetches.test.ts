import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { NOON } from '../event-store/sqlite/steps.fixture.ts';
import { SharedFetches, StillFetching } from './shared-fetches.ts';

const PROJECT = { id: 'p', name: 'far', repository: '/srv/far', baseBranch: 'main', createdAt: NOON };

/** Fetches that end when a test ends them, or are told to. */
function slowFetches({ head }: { readonly head: string | null }) {
  const begun: { readonly end: () => void; readonly signal: AbortSignal | undefined }[] = [];
  const fetches = new SharedFetches({
    remoteHead: async () => head,
    fetch: (_project, signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        begun.push({ end: resolve, signal });
      }),
  });
  return { fetches, begun };
}

it('shares a fetch with who asks meanwhile, and begins another one after it', async () => {
  const { fetches, begun } = slowFetches({ head: null });
  const both = [fetches.fetch(PROJECT, 60_000), fetches.fetch(PROJECT, 60_000)];
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await Promise.all(both);
  void fetches.fetch(PROJECT, 60_000).catch(() => undefined);
  expect(begun).toHaveLength(2);
  begun[1]?.end();
});

it('lets the first fetch of a project go on when nobody waits any more', async () => {
  const { fetches, begun } = slowFetches({ head: null });
  await expect(fetches.fetch(PROJECT, 10)).rejects.toThrow(StillFetching);
  const next = fetches.fetch(PROJECT, 60_000);
  expect(begun).toMatchObject([{ signal: { aborted: false } }]);
  begun[0]?.end();
  await next;
});

it('ends another fetch once the last who waits has no patience left', async () => {
  const { fetches, begun } = slowFetches({ head: 'a'.repeat(40) });
  const other = fetches.fetch(PROJECT, 60_000).catch((error: unknown) => error);
  await expect(fetches.fetch(PROJECT, 10)).rejects.toThrow('did not answer within 0.01 seconds');
  await sleep(1);
  expect(begun).toMatchObject([{ signal: { aborted: false } }]);
  begun[0]?.end();
  await other;
  await expect(fetches.fetch(PROJECT, 10)).rejects.toThrow(StillFetching);
  await expect.poll(() => begun.map(({ signal }) => signal?.aborted)).toEqual([false, true]);
});

it('ends a fetch whose mirror is not wanted any more, and says what a fetch fails with', async () => {
  const { fetches, begun } = slowFetches({ head: null });
  const waiting = fetches.fetch(PROJECT, 60_000).catch((error: unknown) => error);
  await fetches.end(PROJECT);
  expect(begun[0]?.signal?.aborted).toBe(true);
  expect(await waiting).toBe(begun[0]?.signal?.reason);
  await fetches.end(PROJECT);
});

it('gives the reason of its stop to who waits and who asks later, and ends the fetch', async () => {
  const { fetches, begun } = slowFetches({ head: null });
  const reason = new Error('The server is stopping.');
  const waiting = fetches.fetch(PROJECT, 60_000).catch((error: unknown) => error);
  fetches.stop(reason);
  expect(await waiting).toBe(reason);
  expect(begun).toMatchObject([{ signal: { aborted: true } }]);
  await expect(fetches.fetch(PROJECT, 60_000)).rejects.toBe(reason);
});
