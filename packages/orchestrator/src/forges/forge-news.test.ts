import { expect, it } from 'vitest';
import { ForgeNews } from './forge-news.ts';

const SHOP = { owner: 'acme', name: 'shop' };
const MINUTE_MS = 60_000;

it('wakes those who wait for this repository, whatever the case of its name', async () => {
  const news = new ForgeNews();
  const shop = news.next(SHOP, MINUTE_MS, AbortSignal.timeout(MINUTE_MS));
  const stop = new AbortController();
  const other = news.next({ owner: 'acme', name: 'till' }, MINUTE_MS, stop.signal);
  news.tell({ owner: 'Acme', name: 'Shop' });
  expect(await shop).toBe(true);
  stop.abort(new Error('enough'));
  await expect(other).rejects.toThrow('enough');
});

it('resolves after the time where there is no news', async () => {
  expect(await new ForgeNews().next(SHOP, 1, AbortSignal.timeout(MINUTE_MS))).toBe(false);
});

it('does not wait when it is aborted already', async () => {
  const over = new ForgeNews().next(SHOP, MINUTE_MS, AbortSignal.abort(new Error('over')));
  await expect(over).rejects.toThrow('over');
});
