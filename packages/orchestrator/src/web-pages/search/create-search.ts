/** Makes the search of the API that the server's configuration names. */
import type { SearchHit, SearchRequest, WebPages } from '../web-page.ts';
import { searchBrave } from './brave.ts';
import { searchExa } from './exa.ts';

export interface SearchSettings {
  readonly api: SearchApiName;
  readonly key: string;
  /** Address of the API instead of its own, such as a proxy's; `null`: its own. */
  readonly baseUrl: string | null;
}

export type SearchApiName = 'exa' | 'brave';

const APIS = {
  exa: { baseUrl: 'https://api.exa.ai', search: searchExa },
  brave: { baseUrl: 'https://api.search.brave.com', search: searchBrave },
} as const satisfies Record<SearchApiName, object>;
const MAX_LIMIT = 20;

/** @param settings `null`: no search API is configured */
export function createSearch(settings: SearchSettings | null): WebPages['search'] {
  if (settings === null) return null;
  const { api, key } = settings;
  const baseUrl = (settings.baseUrl ?? APIS[api].baseUrl).replace(/\/$/, '');
  return async ({ query, limit, signal }: SearchRequest): Promise<readonly SearchHit[]> => {
    signal.throwIfAborted();
    if (query.trim() === '') return [];
    return APIS[api].search({ baseUrl, key }, { query, limit: Math.max(1, Math.min(limit, MAX_LIMIT)), signal });
  };
}
