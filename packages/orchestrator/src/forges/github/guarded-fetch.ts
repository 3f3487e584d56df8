/** Sends requests to the configured API alone: redirects are followed within its origin and nowhere else. */

const MAX_REDIRECTS = 3;
/** Status of the answer that stands for a redirect that was not followed; GitHub itself never sends it. */
export const MISDIRECTED = 421;

/**
 * A `fetch` for one API. It answers {@link MISDIRECTED} where a redirect leads to another origin, since the token does not go there.
 * @param timeoutMs of each request, until its answer has been read
 */
export function createGuardedFetch(apiUrl: string, timeoutMs: number): typeof fetch {
  const { origin } = new URL(apiUrl);
  return async (input, init = {}) => {
    let url = new URL(input instanceof Request ? input.url : input);
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(init.signal ? [init.signal] : [])]);
    const sent: RequestInit = { ...init, redirect: 'manual', signal };
    for (let redirects = 0; ; redirects += 1) {
      if (url.origin !== origin || redirects > MAX_REDIRECTS) return misdirected(url);
      const answer = await fetch(url, sent);
      const location = answer.headers.get('location');
      if (![301, 302, 303, 307, 308].includes(answer.status) || location === null) return answer;
      await answer.body?.cancel();
      url = new URL(location, url);
      // Repositories that were renamed answer 307 to writes; the others mean another page.
      if (![307, 308].includes(answer.status) && sent.method !== 'GET')
        Object.assign(sent, { method: 'GET', body: null });
    }
  };
}

function misdirected(url: URL): Response {
  return Response.json({ message: `redirects to ${url.origin}` }, { status: MISDIRECTED });
}
