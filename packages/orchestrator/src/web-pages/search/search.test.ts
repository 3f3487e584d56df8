import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSearch, type SearchApiName } from './create-search.ts';
import { type LocalSearchApi, startSearchApi } from './search-apis.fixture.ts';
import { type Search, searchContract } from './search.contract.ts';

const signal = new AbortController().signal;
const DOCUMENTS = [
  { title: 'Why tides turn', url: 'https://tides.example/why', text: 'The moon pulls at the sea.\nIt moves on.' },
  {
    title: 'The \u202emoon',
    url: 'http://moon.example/',
    text: `Of the moon and all tides. ${'word '.repeat(500)}`,
    published: '2025-03-01T00:00:00.000Z',
  },
  { title: 'A moon of another kind', url: 'javascript:alert(1)', text: 'moon' },
];
const KEYS: Readonly<Record<SearchApiName, string>> = { exa: 'EXA_API_KEY', brave: 'BRAVE_API_KEY' };

function searchWith(settings: Parameters<typeof createSearch>[0]): Search {
  const search = createSearch(settings);
  if (search === null) throw new Error('no search API is configured');
  return search;
}

it('has no search where no API is configured', () => expect(createSearch(null)).toBeNull());

describe.each(['exa', 'brave'] as const)('a search by %s', (api) => {
  let local: LocalSearchApi;
  let search: Search;

  beforeAll(async () => {
    local = await startSearchApi(api, DOCUMENTS);
    search = searchWith({ api, key: local.key, baseUrl: `${local.baseUrl}/` });
  });
  afterAll(() => local.close());
  afterEach(() => {
    local.override = null;
  });

  searchContract(() => search);

  const failureOf = async (query: string = 'moon', by: Search = search): Promise<unknown> =>
    by({ query, limit: 5, signal }).then(
      (hits) => new Error(`${hits.length} hits`),
      (error: unknown) => error,
    );
  const answer = (status: number, body: string, headers: Record<string, string> = {}): void => {
    local.override = (_, response) => response.writeHead(status, headers).end(body);
  };

  it('gives hits in one line each, cut and without hidden characters, at addresses of the web', async () => {
    const hits = await search({ query: 'moon', limit: 5, signal });
    expect(hits).toMatchObject([
      { title: 'Why tides turn', address: 'https://tides.example/why', published: null },
      { title: 'The moon', address: 'http://moon.example/', published: '2025-03-01T00:00:00.000Z' },
    ]);
    expect(hits[0]?.excerpt).toBe('The moon pulls at the sea. It moves on.');
    expect(hits[1]?.excerpt.length).toBeLessThan(1_001);
  });

  it('that finds nothing is an empty list, and so is an empty query, which is not sent', async () => {
    expect(await search({ query: 'submarine', limit: 5, signal })).toEqual([]);
    const sent = local.queries.length;
    expect(await search({ query: ' ', limit: 5, signal })).toEqual([]);
    expect(local.queries).toHaveLength(sent);
  });

  it('waits for a limit of the rate as long as the API asks for', async () => {
    answer(429, '{"error":"slow down"}', { 'Retry-After': '7' });
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(RetryableFailure);
    expect(failure).toMatchObject({ reason: 'rate_limited', retryAfterMs: 7_000 });
    answer(429, '');
    expect(await failureOf()).toMatchObject({ reason: 'rate_limited', retryAfterMs: undefined });
  });

  it('needs a person where the key is refused, and names its variable and not the key', async () => {
    const failure = await failureOf('moon', searchWith({ api, key: 'a-wrong-key', baseUrl: local.baseUrl }));
    expect(failure).toBeInstanceOf(NeedsHuman);
    expect(failure).toMatchObject({ message: expect.stringContaining(KEYS[api]) });
    expect(failure).toMatchObject({ message: expect.not.stringContaining('a-wrong-key') });
  });

  it.each([
    [402, 'no credit left'],
    [400, 'refuses the request'],
    [302, 'SEARCH_API_URL'],
  ])('needs a person for %i', async (status, words) => {
    answer(status, 'x', status === 302 ? { Location: 'https://other.example/' } : {});
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(NeedsHuman);
    expect(failure).toMatchObject({ message: expect.stringContaining(words) });
  });

  it.each([
    [200, '<html><body>Please sign in</body></html>', 'Please sign in'],
    [200, '', 'an empty answer'],
    [200, '{"results": "none", "type": "search", "web": 3}', '"none"'],
    [200, '[]', '[]'],
    [500, 'it broke', 'answers 500: it broke'],
    [503, '', 'answers 503'],
  ])('may succeed later after %i with %j', async (status, body, words) => {
    answer(status, body);
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(RetryableFailure);
    expect(failure).toMatchObject({ reason: 'agent_failed', message: expect.stringContaining(words) });
  });

  it('may succeed later where the answer breaks off, is endless or does not come', async () => {
    local.override = (_, response) => {
      response.writeHead(200, { 'Content-Length': '1000' });
      response.write('{', () => response.destroy());
    };
    expect(await failureOf()).toBeInstanceOf(RetryableFailure);
    answer(200, ' '.repeat(5_000_000));
    expect(await failureOf()).toMatchObject({ message: expect.stringContaining('more than') });
    const gone = await startSearchApi(api, []);
    await gone.close();
    const failure = await failureOf('moon', searchWith({ api, key: 'x', baseUrl: gone.baseUrl }));
    expect(failure).toMatchObject({ reason: 'agent_failed', message: expect.stringContaining('ECONNREFUSED') });
  });
});

const withKey = (['exa', 'brave'] as const).filter((api) => (process.env[KEYS[api]] ?? '') !== '');

for (const api of withKey)
  describe(`the real API of ${api}`, () => {
    searchContract(() => searchWith({ api, key: process.env[KEYS[api]] ?? '', baseUrl: null }));
  });
