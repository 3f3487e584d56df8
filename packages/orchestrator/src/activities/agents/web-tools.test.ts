/** The tools with which an agent reads the web, and the log of what it read. */
import { RetryableFailure } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import type { FetchedPage, FetchResult, SearchHit, WebPages } from '../../web-pages/web-page.ts';
import { webTools } from './web-tools.ts';

const AT = '2026-03-01T10:00:00.000Z';
const page = (address: string, text: string): FetchedPage => ({
  kind: 'page',
  requested: address,
  address,
  at: AT,
  status: 200,
  hash: 'h',
  mediaType: 'text/html',
  title: 'Bells',
  author: 'Jane Doe',
  published: null,
  text,
  isCut: false,
});
const LONG = 'https://bells.test/long';
const UNSEEN = 'https://bells.test/unseen';
const LONG_UNSEEN = 'https://bells.test/long-unseen';
const TEXTS: Readonly<Record<string, string>> = {
  [LONG]: 'bell '.repeat(10_000),
  [UNSEEN]: 'A bell ⸨never⸩ rings.',
  [LONG_UNSEEN]: `${'bell '.repeat(3_900)}⸨${'hush '.repeat(400)}⸩${'bell '.repeat(8_000)}`,
};
const GONE = 'https://bells.test/gone';

function aWeb(hits: readonly SearchHit[] | null = null): WebPages & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    fetch: async ({ address }): Promise<FetchResult> => {
      asked.push(address);
      if (address === GONE)
        return { kind: 'refused', requested: GONE, at: AT, reason: 'status', status: 404, message: `${GONE} is gone.` };
      return page(address, TEXTS[address] ?? 'A bell rings.');
    },
    read: async () => null,
    search: hits === null ? null : async () => hits,
  };
}

const { signal } = new AbortController();
const call = async (web: WebPages, name: string, input: unknown) => {
  const { tools, log } = webTools(web);
  const tool = tools.find((each) => each.name === name);
  return { answer: await tool?.call(input, signal), log: log() };
};

describe('fetch', () => {
  it('shows a page with what is known of it, and logs it without its text', async () => {
    const { answer, log } = await call(aWeb(), 'fetch', { address: 'https://bells.test/' });
    expect(answer).toEqual({
      ok: true,
      text: 'Title: Bells\nAddress: https://bells.test/\nAuthor: Jane Doe\n\nA bell rings.\n\n[end of the page]',
    });
    const { text: _text, ...rest } = page('https://bells.test/', '');
    expect(log).toEqual([rest]);
  });

  it('says what marks around words mean', async () => {
    const { answer } = await call(aWeb(), 'fetch', { address: UNSEEN });
    expect(answer?.text).toContain('A bell ⸨never⸩ rings.\n\n[words within ⸨ ⸩ may be invisible to a reader');
  });

  it('opens a passage that began in an earlier piece, and says in each what marks mean', async () => {
    const { answer: second } = await call(aWeb(), 'fetch', { address: LONG_UNSEEN, from: 20_000 });
    expect(second?.text).toMatch(/\n\n⸨ ?h?u?s?h? hush/);
    const { answer: third } = await call(aWeb(), 'fetch', { address: LONG_UNSEEN, from: 40_000 });
    expect(third?.text).toMatch(/\n\n[bel ]+\n\n\[words within ⸨ ⸩/);
  });

  it('shows a long page in pieces, and fetches it once', async () => {
    const web = aWeb();
    const { tools } = webTools(web);
    const first = await tools[0]?.call({ address: LONG }, signal);
    expect(first?.text).toContain('[characters 0 to 20000 of 50000; go on with from: 20000]');
    const last = await tools[0]?.call({ address: LONG, from: 40_000 }, signal);
    expect(last?.text).toContain('[end of the page]');
    expect(web.asked).toEqual([LONG]);
  });

  it('says why a page cannot be read, and logs that', async () => {
    const { answer, log } = await call(aWeb(), 'fetch', { address: GONE });
    expect(answer).toEqual({ ok: false, text: `${GONE} is gone.` });
    expect(log).toMatchObject([{ kind: 'refused', requested: GONE }]);
  });

  it.each([{}, { address: '' }, { address: 7 }, { address: 'https://a.test/', from: -1 }, null])(
    'says what it takes where it is given %j',
    async (input) => {
      expect((await call(aWeb(), 'fetch', input)).answer?.ok).toBe(false);
    },
  );
});

describe('web_search', () => {
  it('is there only where a search is configured', () => {
    expect(webTools(aWeb()).tools.map(({ name }) => name)).toEqual(['fetch']);
    expect(webTools(aWeb([])).tools.map(({ name }) => name)).toEqual(['fetch', 'web_search']);
  });

  it('shows what was found, and that nothing was', async () => {
    const hit = { title: 'Bells', address: 'https://bells.test/', excerpt: 'They ring.', published: '2025-01-01' };
    expect((await call(aWeb([hit]), 'web_search', { query: 'bells' })).answer?.text).toBe(
      'Bells (2025-01-01)\nhttps://bells.test/\nThey ring.',
    );
    expect((await call(aWeb([]), 'web_search', { query: 'bells' })).answer?.text).toContain('Nothing was found');
    expect((await call(aWeb([]), 'web_search', { query: '' })).answer?.ok).toBe(false);
  });
});

describe('a limit of the search API', () => {
  const limited = (waits: readonly number[]) => {
    const left = [...waits];
    return {
      ...aWeb(),
      search: async (): Promise<readonly SearchHit[]> => {
        const retryAfterMs = left.shift();
        if (retryAfterMs === undefined) return [];
        throw new RetryableFailure('Too many requests', { reason: 'rate_limited', retryAfterMs });
      },
    };
  };

  it('is waited for where it ends soon', async () => {
    const { answer } = await call(limited([1, 1]), 'web_search', { query: 'bells' });
    expect(answer).toEqual({ ok: true, text: 'Nothing was found. Try other words.' });
  });

  it.each([[[60_000]], [[1, 1, 1]]])('is left to the run where it does not: %j', async (waits) => {
    await expect(call(limited(waits), 'web_search', { query: 'bells' })).rejects.toThrow('Too many requests');
  });
});
