/**
 * Tests the key of a provider by one call, its list of models, which costs nothing. The provider's own words are not passed
 * on: some of them quote the key.
 */
import { type ProviderStatus, showHidden } from '@autonomous/shared';
import { createScrubber } from '../secrets/secrets.ts';
import { isKeyedProvider, PROVIDERS } from './provider-catalog.ts';
import { modelListOf } from './provider-probe.ts';
import type { ModelSettings } from './registry.ts';

export interface ProviderCheck {
  readonly status: Exclude<ProviderStatus, 'no_key'>;
  /** Names of its models, without the provider; `null` where it has no list. */
  readonly models: readonly string[] | null;
  /** The fault and the way out; `null` when there is none. */
  readonly detail: string | null;
}

const CHECK_MS = 10_000;
/** Lists of large gateways have some hundred thousand characters. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** @param timeoutMs of the whole call */
export async function checkProvider(
  settings: Pick<ModelSettings, 'keys' | 'baseUrls' | 'endpoints'>,
  provider: string,
  timeoutMs = CHECK_MS,
): Promise<ProviderCheck> {
  const list = modelListOf(settings, provider);
  if (list === null) throw new Error(`The provider ${provider} has no address.`);
  const facts = isKeyedProvider(provider) ? PROVIDERS[provider] : null;
  const who: Who = {
    title: facts?.title ?? provider,
    host: new URL(list.url).host,
    address: list.url.replace(/\/models$/, ''),
    newKey: facts === null ? 'Ask the person who runs the server for a key.' : `Create a new key at ${facts.keysUrl}.`,
    variable: facts?.baseUrlVariable ?? null,
    hasKey: Object.keys(list.headers).length > 0,
  };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    // As with every other request, the key goes to no other address.
    const answer = await fetch(list.url, { headers: list.headers, redirect: 'manual', signal });
    const check = judge(answer.status, await readText(answer), answer.headers.get('location'), who);
    return { ...check, models: check.models === null ? null : withoutSecrets(check.models, keysOf(settings)) };
  } catch (error) {
    return unreachable(whyUnreachable(error, who, timeoutMs));
  }
}

function keysOf({ keys, endpoints = [] }: Pick<ModelSettings, 'keys' | 'endpoints'>): readonly string[] {
  return [...Object.values(keys), ...endpoints.map(({ apiKey }) => apiKey)].filter((key) => key !== undefined);
}

/**
 * Names of models that can be shown to everyone who may see the setup. Left out are those that hold one of the keys, look like a
 * token, or have characters that a screen does not show.
 */
export function withoutSecrets(models: readonly string[], keys: readonly string[]): readonly string[] {
  const { scrub } = createScrubber(keys);
  return models.filter((model) => !keys.includes(model) && scrub(model) === model && showHidden(model) === model);
}

interface Who {
  readonly title: string;
  readonly host: string;
  readonly address: string;
  readonly newKey: string;
  readonly variable: string | null;
  readonly hasKey: boolean;
}

const NO_CREDIT =
  /credit balance|insufficient[_ ](?:quota|balance|funds|credit)|billing[_ ](?:hard|not)|exceeded your current quota/i;
const EXPIRED = /\bexpired?\b/i;
const MISSING_SCOPE = /missing scopes?|api\.model\.read|insufficient permissions/i;

function judge(status: number, body: string, location: string | null, who: Who): ProviderCheck {
  const { title, host, address, newKey } = who;
  if (status === 200) return listIn(body, who);
  if ([400, 402, 403, 429].includes(status) && (status === 402 || NO_CREDIT.test(body)))
    return refused(
      `${title} takes the key, but its account is out of credit. Add credit there, then test the key again.`,
    );
  if (status === 429)
    return {
      status: 'ready',
      models: null,
      detail: `${title} limits the rate of requests now. Runs wait until it ends.`,
    };
  if (status === 403 && MISSING_SCOPE.test(body))
    return {
      status: 'ready',
      models: null,
      detail: `The key may not list models of ${title}; whether it may call them shows with the first run.`,
    };
  if (status === 401 || status === 403) {
    if (!who.hasKey)
      return refused(`${title} wants a key (${status}). Give it the one that the server at ${address} takes.`);
    if (EXPIRED.test(body)) return refused(`${title} refuses the key: it has expired. ${newKey}`);
    if (status === 401) return refused(`${title} refuses the key: it is wrong or was deleted. ${newKey}`);
    return refused(
      `${title} refuses the key for this account, place or address (403). Look at its limits there, or use another key.`,
    );
  }
  if (status >= 300 && status < 400) {
    const to =
      location !== null && URL.canParse(location, address) ? new URL(location, address).origin : 'another address';
    return unreachable(
      `${host} redirects to ${to}, where the key is not sent. Set the address itself, or the proxy of this machine in HTTPS_PROXY.`,
    );
  }
  if (status === 404 || status === 405) {
    // Servers of one's own need not have a list.
    if (who.variable === null)
      return { status: 'ready', models: null, detail: `${title} has no list of models; name one as ${title}:MODEL.` };
    return unreachable(`${address} has no list of models (${status}). Look whether ${who.variable} is right.`);
  }
  return unreachable(`${title} answers with an error (${status}), which says nothing of the key. Try again later.`);
}

function listIn(body: string, { title, host }: Who): ProviderCheck {
  const models = modelsIn(body);
  if (models !== null) return { status: 'ready', models, detail: null };
  return unreachable(
    `${host} answers with something else than a list of models, as a proxy’s sign-in page is. Look whether this machine reaches ${title} by a browser, or set HTTPS_PROXY.`,
  );
}

/** `null` for what is no list of models. */
function modelsIn(body: string): readonly string[] | null {
  let content: unknown;
  try {
    content = JSON.parse(body);
  } catch {
    return null;
  }
  const list = typeof content === 'object' && content !== null && 'data' in content ? content.data : content;
  if (!Array.isArray(list)) return null;
  return list.flatMap((item: unknown) => {
    const id = typeof item === 'object' && item !== null && 'id' in item ? item.id : null;
    return typeof id === 'string' && /^\S{1,190}$/.test(id) ? [id] : [];
  });
}

function whyUnreachable(error: unknown, { title, host, address }: Who, timeoutMs: number): string {
  // `fetch` takes 407 for a failure, and a refused tunnel says it in words only.
  if (/\b407\b|proxy authentication/i.test(wordsOf(error)))
    return 'The proxy of this machine asks for a user name and password (407). Put them into HTTPS_PROXY and restart the server.';
  const code = codeOf(error);
  if (code === 'TimeoutError')
    return `${title} did not answer at ${host} within ${timeoutMs / 1_000} s. Look at the network and the proxy of this machine (HTTPS_PROXY), then test again.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `The name ${host} cannot be looked up: this machine is offline, or reaches the internet by a proxy. Set HTTPS_PROXY and NODE_USE_ENV_PROXY=1 for the server where there is one.`;
  if (code === 'ECONNREFUSED') return `Nothing answers at ${address}. Start the server there, or correct the address.`;
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code))
    return `${host} shows a certificate that this machine does not trust (${code}), as proxies that read along do. Name theirs in NODE_EXTRA_CA_CERTS and restart the server.`;
  return `${title} cannot be reached at ${host} (${code}). Look at the network and the proxy of this machine, then test again.`;
}

/** Messages of an error and its causes. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${wordsOf(error.cause)}` : '';
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  if (error.name === 'TimeoutError') return error.name;
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors.length > 0) return codeOf(cause.errors[0]);
  if (cause instanceof Error) return codeOf(cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : 'no answer';
}

async function readText(answer: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  // The platform's types say nothing of the chunks; the body of an answer consists of bytes.
  const body: AsyncIterable<Uint8Array> | null = answer.body;
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_ANSWER_BYTES) break;
  }
  return text;
}

const refused = (detail: string): ProviderCheck => ({ status: 'refused', models: null, detail });
const unreachable = (detail: string): ProviderCheck => ({ status: 'unreachable', models: null, detail });
