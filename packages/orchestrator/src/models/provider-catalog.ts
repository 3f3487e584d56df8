/** The providers of models that this product knows by name: what their keys look like and which of their models are current. */

export const KEYED_PROVIDERS = ['anthropic', 'openai', 'deepseek'] as const;
/** Providers with an address of their own, to which nothing but a key has to be given. */
export type KeyedProvider = (typeof KEYED_PROVIDERS)[number];

export interface ProviderFacts {
  readonly title: string;
  /** Environment variable of the key. */
  readonly keyVariable: 'ANTHROPIC_API_KEY' | 'OPENAI_API_KEY' | 'DEEPSEEK_API_KEY';
  readonly baseUrlVariable: string;
  readonly keysUrl: string;
  /** Bare names of its models. */
  readonly family: RegExp;
  /** Current models, the one for roles without a model of their own first. The first has a list price. */
  readonly models: readonly [string, ...string[]];
}

/** Models: the providers' own lists in autumn 2026. */
export const PROVIDERS: Readonly<Record<KeyedProvider, ProviderFacts>> = {
  anthropic: {
    title: 'Anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    baseUrlVariable: 'ANTHROPIC_BASE_URL',
    keysUrl: 'https://platform.claude.com/settings/keys',
    family: /^claude-/,
    models: ['claude-sonnet-5-5', 'claude-opus-5-5', 'claude-haiku-5-5', 'claude-sonnet-4-5'],
  },
  openai: {
    title: 'OpenAI',
    keyVariable: 'OPENAI_API_KEY',
    baseUrlVariable: 'OPENAI_BASE_URL',
    keysUrl: 'https://platform.openai.com/api-keys',
    family: /^(?:gpt-|chatgpt-|o[1-9](?:-|$))/,
    models: ['gpt-6-sol', 'gpt-6.1-sol', 'gpt-6.1-terra', 'gpt-6-luna'],
  },
  deepseek: {
    title: 'DeepSeek',
    keyVariable: 'DEEPSEEK_API_KEY',
    baseUrlVariable: 'DEEPSEEK_BASE_URL',
    keysUrl: 'https://platform.deepseek.com/api_keys',
    family: /^deepseek-/,
    models: ['deepseek-v4-pro', 'deepseek-v4-flash', 'deepseek-reasoner'],
  },
};

export function isKeyedProvider(id: string): id is KeyedProvider {
  return (KEYED_PROVIDERS as readonly string[]).includes(id);
}

/**
 * Why a text cannot be a key of a provider, in two sentences; `null` where it may be one. The text itself is not shown.
 * @param provider absent: any server, whose keys may look like anything
 */
export function whyNoKey(text: string, provider?: KeyedProvider): string | null {
  if (text.trim() === '') return 'The key is empty. Paste the key itself.';
  if (text !== text.trim()) return 'The key has white space around it. Paste it without the white space.';
  if (/^["'`‘’“”].*|["'`‘’“”]$/su.test(text)) return 'The key has quotation marks around it. Paste it without them.';
  if (/^(?:export\s+)?[A-Z][A-Z0-9_]*=/.test(text))
    return 'The text is the setting of a variable. Paste only what stands behind the equals sign.';
  if (/^(?:bearer|authorization:|x-api-key:)\s/i.test(text))
    return 'The text is a header with a key in it. Paste only the key.';
  if (/\s/.test(text))
    return 'The key has white space in it, as more than one key or a whole sentence has. Paste one key.';
  if (/[*•…]|\.\.\./u.test(text))
    return 'The text is a key with its middle hidden, as lists of keys show it. Create a new key: providers show a key only once.';
  if (!/^[\x21-\x7e]+$/.test(text))
    return 'The key has characters that no key has. Copy it again from the provider’s page.';
  if (provider === undefined) return null;
  const { title, keysUrl } = PROVIDERS[provider];
  const kind = KINDS.find(({ pattern }) => pattern.test(text));
  const wanted = `Paste a key of ${title}; it gives them at ${keysUrl}.`;
  if (kind !== undefined && (kind.of !== provider || kind.isNoModelKey === true))
    return kind.of === provider
      ? `This looks like ${kind.name}, which cannot call models. ${wanted}`
      : `This looks like ${kind.name}, not like a key of ${title}. ${kind.way ?? wanted}`;
  if (text.length < 20) return `The key has ${text.length} characters, fewer than any key of ${title}. ${wanted}`;
  return null;
}

interface KeyKind {
  readonly pattern: RegExp;
  /** With its article. */
  readonly name: string;
  readonly of: KeyedProvider | null;
  readonly isNoModelKey?: true;
  readonly way?: string;
}

const COMPATIBLE = (url: string): string => `Use it as openai-compatible with the address ${url}.`;

/** The first that fits counts. */
const KINDS: readonly KeyKind[] = [
  { pattern: /^sk-ant-admin/, name: 'an Anthropic admin key', of: 'anthropic', isNoModelKey: true },
  { pattern: /^sk-ant-o[ar]t/, name: 'a sign-in token of Claude Code', of: 'anthropic', isNoModelKey: true },
  { pattern: /^sk-ant-/, name: 'an Anthropic key', of: 'anthropic' },
  { pattern: /^sk-admin-/, name: 'an OpenAI admin key', of: 'openai', isNoModelKey: true },
  { pattern: /^sk-or-/, name: 'an OpenRouter key', of: null, way: COMPATIBLE('https://openrouter.ai/api/v1') },
  { pattern: /^sk-(?:proj|svcacct|service|None)-|^sk-\w{10,100}T3BlbkFJ/, name: 'an OpenAI key', of: 'openai' },
  { pattern: /^sk-[0-9a-f]{32}$/, name: 'a DeepSeek key', of: 'deepseek' },
  { pattern: /^gsk_/, name: 'a Groq key', of: null, way: COMPATIBLE('https://api.groq.com/openai/v1') },
  { pattern: /^xai-/, name: 'an xAI key', of: null, way: COMPATIBLE('https://api.x.ai/v1') },
  { pattern: /^AIza/, name: 'a Google key', of: null },
  { pattern: /^hf_/, name: 'a Hugging Face token', of: null },
  { pattern: /^(?:gh[opsu]_|github_pat_)/, name: 'a GitHub token', of: null },
  { pattern: /^e2b_/, name: 'an E2B key', of: null },
  { pattern: /^AKIA/, name: 'an AWS access key', of: null },
];
