/**
 * Keys of model providers in the editor's secret storage, for the server that this extension starts: it keeps them in memory and
 * is given them at each start.
 */
import type { NewKey } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';

/** The part of `vscode.SecretStorage` that is needed. */
export interface SecretStore {
  get(name: string): PromiseLike<string | undefined>;
  store(name: string, value: string): PromiseLike<void>;
  delete(name: string): PromiseLike<void>;
}

export type KeptKey = Pick<NewKey, 'key' | 'baseUrl'>;

export interface ModelKeys {
  /** By the id of the provider. */
  all(): Promise<Readonly<Record<string, KeptKey>>>;
  keep(provider: string, key: KeptKey): Promise<void>;
  forget(provider: string): Promise<void>;
}

/** One secret for all of them: the storage of older editors cannot be listed. */
const NAME = 'autonomous.modelKeys';

export function createModelKeys(secrets: SecretStore): ModelKeys {
  const all = async (): Promise<Record<string, KeptKey>> => parse(await secrets.get(NAME));
  return {
    all,
    async keep(provider, key) {
      await secrets.store(NAME, JSON.stringify({ ...(await all()), [provider]: key }));
    },
    async forget(provider) {
      const others = Object.entries(await all()).filter(([id]) => id !== provider);
      if (others.length === 0) await secrets.delete(NAME);
      else await secrets.store(NAME, JSON.stringify(Object.fromEntries(others)));
    },
  };
}

/**
 * Gives a server that was just started every key, without a test: the server says by itself which of them is refused.
 * @returns a line for the log for each key that it did not take, without the key
 */
export async function handKeys(keys: ModelKeys, client: Pick<Client, 'setKey'>): Promise<string[]> {
  const faults: string[] = [];
  for (const [provider, { key, baseUrl }] of Object.entries(await keys.all())) {
    try {
      const place = baseUrl === undefined ? {} : { baseUrl };
      await client.setKey(provider, { key, ...place, keep: 'memory', check: false });
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      faults.push(`The key of ${provider} was not taken: ${withoutKey(words, key)}`);
    }
  }
  return faults;
}

/** The key as a provider gave it: without white space, quotes and the name of a variable around it. */
export function cleanKey(text: string): string {
  const value = /^\s*(?:export\s+)?[A-Z][A-Z0-9_]*=(.*)$/s.exec(text)?.[1] ?? text;
  const trimmed = value.trim();
  const quoted = /^(["'`])(.*)\1$/s.exec(trimmed)?.[2];
  return (quoted ?? trimmed).trim();
}

/** Id of the provider whose keys begin like this one; `null` where several share the beginning. */
export function recognizeProvider(key: string): string | null {
  if (key.startsWith('sk-ant-')) return 'anthropic';
  if (/^sk-(?:proj|svcacct|admin|None)-/.test(key)) return 'openai';
  return null;
}

/** A text of somebody else for a log or a message, in which the key may stand. */
export function withoutKey(text: string, key: string): string {
  return key === '' ? text : text.replaceAll(key, '…');
}

function parse(text: string | undefined): Record<string, KeptKey> {
  if (text === undefined) return {};
  try {
    const kept: unknown = JSON.parse(text);
    if (typeof kept !== 'object' || kept === null) return {};
    const entries = Object.entries(kept as Readonly<Record<string, { key?: unknown; baseUrl?: unknown } | null>>);
    return Object.fromEntries(
      entries.flatMap(([provider, value]) => {
        if (typeof value?.key !== 'string') return [];
        return [
          [provider, { key: value.key, ...(typeof value.baseUrl === 'string' ? { baseUrl: value.baseUrl } : {}) }],
        ];
      }),
    );
  } catch {
    // Values that another program wrote there are ignored.
    return {};
  }
}
