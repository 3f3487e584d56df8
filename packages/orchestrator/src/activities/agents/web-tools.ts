/** The tools with which an agent reads the web through the server, and the log of what it read. */
import { setTimeout as wait } from 'node:timers/promises';
import { RetryableFailure } from '@autonomous/shared';
import { z } from 'zod';
import { CALL_TOOL_NAMES } from '../../roles/role.ts';
import type { CallTool } from '../../agents/agent.ts';
import { isUnseenAt, UNSEEN_MARKS } from '../../web-pages/unseen-marks.ts';
import type { FetchedPage, RefusedPage, WebPages } from '../../web-pages/web-page.ts';

const [FETCH, SEARCH] = CALL_TOOL_NAMES;
const { open, close } = UNSEEN_MARKS;

/** Characters of a page that one call shows. */
const SHOWN = 20_000;
const HITS = 10;
/** Longest wait of one search for the limit of its API. */
const LONGEST_WAIT_MS = 10_000;
const MAX_TRIES = 3;

const fetchInput = z.object({
  address: z.string().trim().min(1).max(2_000),
  from: z.number().int().min(0).max(400_000).default(0),
});
const searchInput = z.object({ query: z.string().trim().min(1).max(400) });

export interface WebTools {
  readonly tools: readonly CallTool[];
  /** All that was asked for, oldest first; a page once however often it was shown. */
  log(): readonly (Omit<FetchedPage, 'text'> | RefusedPage)[];
}

/** Tools for one call of an agent. Its log has only what this call fetched. */
export function webTools(pages: WebPages): WebTools {
  const fetched = new Map<string, FetchedPage | RefusedPage>();
  const fetchTool: CallTool = {
    name: FETCH,
    description: `Reads a page, a PDF or a text of the web. Shows ${SHOWN} characters at a time; "from" is where to go on.`,
    inputSchema: z.toJSONSchema(fetchInput, { io: 'input' }),
    async call(input, signal) {
      const parsed = fetchInput.safeParse(input);
      if (!parsed.success) return { ok: false, text: 'Give the address of a page, such as https://example.org/page.' };
      const { address, from } = parsed.data;
      const page = fetched.get(address) ?? (await pages.fetch({ address, signal }));
      fetched.set(address, page);
      if (page.kind === 'refused') return { ok: false, text: page.message };
      return { ok: true, text: shownPage(page, from) };
    },
  };
  const { search } = pages;
  const searchTool: readonly CallTool[] =
    search === null
      ? []
      : [
          {
            name: SEARCH,
            description:
              'Searches the web. Shows titles, addresses and excerpts. An excerpt is no passage of a page: read the page.',
            inputSchema: z.toJSONSchema(searchInput, { io: 'input' }),
            async call(input, signal) {
              const parsed = searchInput.safeParse(input);
              if (!parsed.success) return { ok: false, text: 'Give a query of 1 to 400 characters.' };
              const hits = await patiently(() => search({ query: parsed.data.query, limit: HITS, signal }), signal);
              if (hits.length === 0) return { ok: true, text: 'Nothing was found. Try other words.' };
              return {
                ok: true,
                text: hits
                  .map(({ title, address, excerpt, published }) =>
                    [
                      `${title}${published === null ? '' : ` (${published})`}`,
                      address,
                      excerpt.slice(0, 600).toWellFormed(),
                    ]
                      .filter((line) => line !== '')
                      .join('\n'),
                  )
                  .join('\n\n'),
              };
            },
          },
        ];
  return { tools: [fetchTool, ...searchTool], log: () => [...fetched.values()].map(withoutText) };
}

/** A search whose API asks to wait a moment is asked again within the call; longer waits are the run's. */
async function patiently<Hits>(search: () => Promise<Hits>, signal: AbortSignal): Promise<Hits> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await search();
    } catch (error) {
      const waitMs =
        error instanceof RetryableFailure && error.reason === 'rate_limited' ? error.retryAfterMs : undefined;
      if (waitMs === undefined || waitMs > LONGEST_WAIT_MS || tries === MAX_TRIES) throw error;
      await wait(waitMs, undefined, { signal });
    }
  }
}

function withoutText(page: FetchedPage | RefusedPage): Omit<FetchedPage, 'text'> | RefusedPage {
  if (page.kind === 'refused') return page;
  const { text: _text, ...rest } = page;
  return rest;
}

function shownPage({ title, address, author, published, text, isCut }: FetchedPage, from: number): string {
  const part = text.slice(from, from + SHOWN).toWellFormed();
  const end = from + part.length;
  const about = [`Title: ${title}`, `Address: ${address}`]
    .concat(author === null ? [] : [`Author: ${author}`])
    .concat(published === null ? [] : [`Published: ${published}`]);
  const rest =
    end < text.length
      ? `[characters ${from} to ${end} of ${text.length}; go on with from: ${end}]`
      : isCut
        ? '[the page is longer; the rest is not kept]'
        : '[end of the page]';
  const unseen = text.includes(open)
    ? [`[words within ${open} ${close} may be invisible to a reader of the page, and a quote of them is not taken]`]
    : [];
  return [about.join('\n'), `${isUnseenAt(text, from) ? open : ''}${part}`, ...unseen, rest].join('\n\n');
}
