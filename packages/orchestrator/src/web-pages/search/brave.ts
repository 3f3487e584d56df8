/** Search by Brave: https://api-dashboard.search.brave.com/app/documentation/web-search */
import { z } from 'zod';
import type { SearchHit, SearchRequest } from '../web-page.ts';
import { callSearchApi, cleanHits, type SearchApi } from './search-api.ts';

const BRAVE: SearchApi = { title: 'Brave', keyVariable: 'BRAVE_API_KEY' };
/** Longer queries are refused. */
const MAX_QUERY_CHARACTERS = 400;
const MAX_QUERY_WORDS = 50;
const MAX_RESULTS = 20;

const answerSchema = z.object({
  /** Absent when nothing was found, as an answer of type `search` may have other sections. */
  web: z
    .object({
      results: z.array(
        z.object({
          url: z.string(),
          title: z.string(),
          description: z.string().nullish(),
          page_age: z.string().nullish(),
        }),
      ),
    })
    .nullish(),
  type: z.literal('search'),
});

/** @param baseUrl without a slash at its end */
export async function searchBrave(
  { baseUrl, key }: { readonly baseUrl: string; readonly key: string },
  { query, limit, signal }: SearchRequest,
): Promise<readonly SearchHit[]> {
  const words = query.split(/\s+/).slice(0, MAX_QUERY_WORDS).join(' ').slice(0, MAX_QUERY_CHARACTERS);
  const parameters = new URLSearchParams({
    q: words.toWellFormed(),
    count: String(Math.min(limit, MAX_RESULTS)),
    text_decorations: 'false',
    result_filter: 'web',
  });
  const { web } = await callSearchApi({
    api: BRAVE,
    address: `${baseUrl}/res/v1/web/search?${parameters.toString()}`,
    init: { method: 'GET', headers: { 'X-Subscription-Token': key, Accept: 'application/json' } },
    schema: answerSchema,
    signal,
  });
  return cleanHits(
    (web?.results ?? []).map(({ url, title, description, page_age: published }) => ({
      title,
      address: url,
      excerpt: description ?? '',
      published: published ?? null,
    })),
    limit,
  );
}
