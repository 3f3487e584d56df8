/**
 * HTTP client for providers. A key is sent only to the address that the server's environment names. A response that is
 * too large for memory fails.
 */
import { NeedsHuman } from '@autonomous/shared';

/** The largest answers of models have some hundred thousand characters, each in an event of its own in the worst case. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/** Where Node's fetch looks for what sends its requests; there before the first one is sent. */
const USUAL = Symbol.for('undici.globalDispatcher.1');

/**
 * Sends requests as the process does, through its proxy where it has one, without the five minutes of silence at which Node's
 * fetch gives up by itself: how long a model may say nothing is for whoever asks it to say.
 */
const PATIENT = {
  dispatch: (...[options, handler]: Parameters<Dispatcher['dispatch']>): boolean => {
    const { [USUAL]: usual } = globalThis as unknown as { readonly [USUAL]: Dispatcher };
    return usual.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  },
  // Of all that a dispatcher has, fetch calls this alone.
} as Dispatcher;

/** @param variable environment variable with the provider's address, which the error names */
export function createProviderFetch(variable: string): typeof fetch {
  return async (input, init) => {
    // By itself `fetch` follows, and takes the key along where it stands in a header of the provider's own.
    const response = await fetch(input, { ...init, redirect: 'manual', dispatcher: PATIENT });
    if (response.status >= 300 && response.status < 400 && response.status !== 304) {
      await response.body?.cancel();
      throw new NeedsHuman(
        'model_unavailable',
        `The provider redirects to ${originOf(response)}, where its key is not sent. If that is the right address, set ${variable} to it, restart the server, then retry.`,
      );
    }
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(upTo(MAX_ANSWER_BYTES)), { status, statusText, headers });
  };
}

function originOf(response: Response): string {
  const location = response.headers.get('location') ?? '';
  return URL.canParse(location, response.url) ? new URL(location, response.url).origin : 'another address';
}

function upTo(limit: number): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, stream) {
      bytes += chunk.byteLength;
      if (bytes > limit) stream.error(new Error(`the answer has more than ${limit / 1024 / 1024} MB`));
      else stream.enqueue(chunk);
    },
  });
}
