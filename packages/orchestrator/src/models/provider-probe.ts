/**
 * Asks providers whether they answer again, without asking a model: a list of models costs nothing. A provider whose list
 * answers while its models do not shows with the first run that goes on.
 */
import type { ModelSettings } from './registry.ts';

const PROBE_MS = 10_000;

/**
 * @returns `unknown` for what has no list: scripts and external agents
 */
export async function probeProvider(
  settings: Pick<ModelSettings, 'keys' | 'baseUrls' | 'endpoints'>,
  provider: string,
): Promise<'back' | 'away' | 'unknown'> {
  const list = modelListOf(settings, provider);
  if (list === null) return 'unknown';
  try {
    const answer = await fetch(list.url, {
      headers: list.headers,
      // As with every other request, the key goes to no other address.
      redirect: 'manual',
      signal: AbortSignal.timeout(PROBE_MS),
    });
    await answer.body?.cancel();
    const { status } = answer;
    // Many servers have no list; that they say so shows that they are there.
    return status >= 500 || status === 429 || REFUSED.has(status) ? 'away' : 'back';
  } catch {
    return 'away';
  }
}

/** A key that is no longer taken, or an account without credit. */
const REFUSED: ReadonlySet<number> = new Set([401, 402, 403]);

export interface ModelList {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Request for a provider's list of models; `null` for what has none and for a provider without an address. */
export function modelListOf(
  { keys, baseUrls = {}, endpoints = [] }: Parameters<typeof probeProvider>[0],
  provider: string,
): ModelList | null {
  const bearer = (key: string | undefined) => (key ? { authorization: `Bearer ${key}` } : {});
  const at = (base: string): string => `${base.replace(/(?<!\/)\/+$/, '')}/models`;
  switch (provider) {
    case 'anthropic':
      return {
        url: at(baseUrls.anthropic ?? 'https://api.anthropic.com/v1'),
        headers: { 'x-api-key': keys.anthropic ?? '', 'anthropic-version': '2023-06-01' },
      };
    case 'openai':
    case 'openai-chat':
      return { url: at(baseUrls.openai ?? 'https://api.openai.com/v1'), headers: bearer(keys.openai) };
    case 'deepseek':
      return { url: at(baseUrls.deepseek ?? 'https://api.deepseek.com'), headers: bearer(keys.deepseek) };
    case 'openai-compatible':
      return baseUrls.openaiCompatible === undefined
        ? null
        : { url: at(baseUrls.openaiCompatible), headers: bearer(keys.openaiCompatible) };
    default: {
      const endpoint = endpoints.find(({ name }) => name === provider);
      return endpoint === undefined ? null : { url: at(endpoint.baseUrl), headers: bearer(endpoint.apiKey) };
    }
  }
}
