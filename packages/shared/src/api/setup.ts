/** Needs of a server before it can carry out runs with real models: keys of providers, or agents of this machine. */

export const PROVIDER_STATUSES = ['ready', 'no_key', 'refused', 'unreachable'] as const;
/** `ready` also holds for a key that was not tested yet. */
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number];

export const KEY_SOURCES = ['environment', 'file', 'memory'] as const;
/** `file` lasts over restarts of the server, `memory` does not. The environment wins over both. */
export type KeySource = (typeof KEY_SOURCES)[number];

export const AGENT_STATUSES = ['ready', 'not_signed_in', 'not_found', 'failed'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

export interface ProviderSetup {
  /** As in model ids: `anthropic` of `anthropic:claude-sonnet-5-5`. */
  readonly id: string;
  readonly title: string;
  readonly status: ProviderStatus;
  /** Where its key (or, without one, its address) comes from; `null` where there is none. */
  readonly source: KeySource | null;
  /** `…` and the last four characters of the key; `null` without a key. The key itself is never given. */
  readonly hint: string | null;
  /** Page on which the provider gives keys; empty where it gives none. */
  readonly keysUrl: string;
  /** Full ids of the models that can be chosen now; empty unless it is `ready`. */
  readonly models: readonly string[];
  /** The fault and the way out, or the source of the key; `null` when there is nothing to report. */
  readonly detail: string | null;
  /** Address of its API, where that is not the provider's own. */
  readonly baseUrl?: string | undefined;
  /** Whether a key may be given with the address of a server. */
  readonly takesBaseUrl?: boolean | undefined;
}

export interface AgentSetup {
  /** A role is sent to it by the model id `acp:<id>`. */
  readonly id: string;
  readonly title: string;
  readonly status: AgentStatus;
  /** As the program says it; `null` where it is not known. */
  readonly version: string | null;
  readonly detail: string | null;
  /** The way out for a person; `null` when nothing is to do. */
  readonly way: string | null;
}

export interface Setup {
  /** Every role has a usable model: a run can be launched without naming one. */
  readonly isReady: boolean;
  readonly providers: readonly ProviderSetup[];
  readonly agents: readonly AgentSetup[];
  /** Default model by role. */
  readonly defaultModels: Readonly<Record<string, string>>;
}

export interface NewKey {
  /** Empty only with `baseUrl`: servers on one's own machine mostly take none. */
  readonly key: string;
  readonly keep: 'file' | 'memory';
  /** Whether one call tests it first; a key that fails is not kept. Default: true. */
  readonly check?: boolean | undefined;
  /** Address of the server, for a provider whose `takesBaseUrl` is true. */
  readonly baseUrl?: string | undefined;
}
