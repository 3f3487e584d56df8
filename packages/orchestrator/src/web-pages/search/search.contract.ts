/** Holds for every search API, one of this machine and the real one alike. */
import { expect, it } from 'vitest';
import type { WebPages } from '../web-page.ts';

export type Search = NonNullable<WebPages['search']>;

/** @param search of an API that finds pages about tides and the moon */
export function searchContract(search: () => Search): void {
  const signal = new AbortController().signal;

  it('gives hits with title, address, excerpt and date', async () => {
    const hits = await search()({ query: 'tides moon', limit: 5, signal });
    expect(hits.length).toBeGreaterThan(0);
    for (const { title, address, excerpt, published } of hits) {
      expect(title).toMatch(/^[^\n]{1,300}…?$/);
      expect(new URL(address).protocol).toMatch(/^https?:$/);
      expect(excerpt).not.toContain('\n');
      expect(published === null || published.length > 0).toBe(true);
    }
    expect(hits.some(({ excerpt }) => excerpt.length > 20)).toBe(true);
  });

  it('gives no more hits than it is asked for', async () => {
    expect(await search()({ query: 'tides moon', limit: 1, signal })).toHaveLength(1);
  });

  it('takes queries with any characters, and long ones', async () => {
    const queries = ['tides & "moon" %20 # ? \u00e9 \u6f6e', 'moon '.repeat(200), '  '];
    for (const query of queries) expect(await search()({ query, limit: 2, signal })).toBeInstanceOf(Array);
  });

  it('is given up with the reason of its signal', async () => {
    const stopped = new AbortController();
    const searching = search()({ query: 'tides', limit: 1, signal: stopped.signal });
    stopped.abort(new Error('the run was cancelled'));
    await expect(searching).rejects.toThrow('the run was cancelled');
  });
}
