/** Search APIs of this machine for tests: real HTTP servers that speak the wire formats of Exa and Brave over given documents. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, stop } from '../local-web.fixture.ts';
import type { SearchApiName } from './create-search.ts';

export interface SearchDocument {
  readonly title: string;
  readonly url: string;
  readonly text: string;
  readonly published?: string;
}

export interface LocalSearchApi {
  readonly api: SearchApiName;
  readonly baseUrl: string;
  readonly key: string;
  /** Queries that were asked, in order. */
  readonly queries: readonly string[];
  /** Answers the next requests with this and not from the documents, but for those to which it returns `false`; `null` ends that. */
  override: ((request: IncomingMessage, response: ServerResponse) => unknown) | null;
  close(): Promise<void>;
}

interface Query {
  readonly text: string;
  readonly limit: number;
}

const KEY = 'a-key-of-a-test';

/** A document is found when it has a word of the query. */
export async function startSearchApi(
  api: SearchApiName,
  documents: readonly SearchDocument[],
): Promise<LocalSearchApi> {
  const queries: string[] = [];
  const speaks = api === 'exa' ? exa : brave;
  const server = createServer(async (request, response) => {
    if (local.override !== null && local.override(request, response) !== false) return;
    const query = await speaks.read(request);
    if (query === 'unauthorized') return answer(response, api === 'exa' ? 401 : 422, speaks.unauthorized);
    if (query === 'unknown') return answer(response, 404, { error: 'there is nothing here' });
    queries.push(query.text);
    const words = query.text.toLowerCase().split(/\s+/);
    const found = documents.filter(({ title, text }) =>
      words.some((word) => word !== '' && `${title} ${text}`.toLowerCase().includes(word)),
    );
    return answer(response, 200, speaks.write(found.slice(0, query.limit), query.text));
  });
  const port = await listen(server);
  const local: LocalSearchApi = {
    api,
    baseUrl: `http://127.0.0.1:${port}`,
    key: KEY,
    queries,
    override: null,
    close: () => stop(server),
  };
  return local;
}

interface WireFormat {
  read(request: IncomingMessage): Promise<Query | 'unauthorized' | 'unknown'>;
  write(found: readonly SearchDocument[], query: string): unknown;
  readonly unauthorized: unknown;
}

const exa: WireFormat = {
  async read(request) {
    if (request.method !== 'POST' || request.url !== '/search') return 'unknown';
    if (request.headers['x-api-key'] !== KEY) return 'unauthorized';
    const body = JSON.parse(await bodyOf(request)) as { readonly query: string; readonly numResults?: number };
    return { text: body.query, limit: body.numResults ?? 10 };
  },
  write: (found) => ({
    requestId: 'b5947044c4b78efa9552a7c89b306d95',
    resolvedSearchType: 'neural',
    results: found.map(({ title, url, text, published }) => ({
      id: url,
      url,
      title,
      author: '',
      ...(published === undefined ? {} : { publishedDate: published }),
      text: text.slice(0, 800),
    })),
    costDollars: { total: 0.005 },
  }),
  unauthorized: { requestId: 'x', error: 'Invalid API key', tag: 'INVALID_API_KEY' },
};

const brave: WireFormat = {
  async read(request) {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (request.method !== 'GET' || url.pathname !== '/res/v1/web/search') return 'unknown';
    if (request.headers['x-subscription-token'] !== KEY) return 'unauthorized';
    return { text: url.searchParams.get('q') ?? '', limit: Number(url.searchParams.get('count') ?? '20') };
  },
  write: (found, query) => ({
    type: 'search',
    query: { original: query, more_results_available: false },
    ...(found.length === 0
      ? {}
      : {
          web: {
            type: 'search',
            results: found.map(({ title, url, text, published }) => ({
              type: 'search_result',
              title,
              url,
              description: text.slice(0, 300),
              ...(published === undefined ? {} : { page_age: published, age: published }),
              profile: { name: new URL(url).hostname },
            })),
          },
        }),
  }),
  unauthorized: {
    type: 'ErrorResponse',
    error: { id: 'x', status: 422, code: 'SUBSCRIPTION_TOKEN_INVALID', detail: 'The provided token is invalid.' },
  },
};

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
