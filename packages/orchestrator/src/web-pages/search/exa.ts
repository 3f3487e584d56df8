/** Search by Exa: https://exa.ai/docs/reference/search */
import { z } from 'zod';
import type { SearchHit, SearchRequest } from '../web-page.ts';
import { callSearchApi, cleanHits, type SearchApi } from './search-api.ts';

const EXA: SearchApi = { title: 'Exa', keyVariable: 'EXA_API_KEY' };
const EXCERPT_CHARACTERS = 800;

const answerSchema = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      publishedDate: z.string().nullish(),
      text: z.string().nullish(),
      highlights: z.array(z.string()).nullish(),
    }),
  ),
});

/** @param baseUrl without a slash at its end */
export async function searchExa(
  { baseUrl, key }: { readonly baseUrl: string; readonly key: string },
  { query, limit, signal }: SearchRequest,
): Promise<readonly SearchHit[]> {
  const { results } = await callSearchApi({
    api: EXA,
    address: `${baseUrl}/search`,
    init: {
      method: 'POST',
      headers: { 'x-api-key': key, 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify({
        query,
        numResults: limit,
        contents: { text: { maxCharacters: EXCERPT_CHARACTERS } },
      }),
    },
    schema: answerSchema,
    signal,
  });
  return cleanHits(
    results.map(({ url, title, publishedDate, text, highlights }) => ({
      title: title ?? '',
      address: url,
      excerpt: highlights?.join(' … ') ?? text ?? '',
      published: publishedDate ?? null,
    })),
    limit,
  );
}
