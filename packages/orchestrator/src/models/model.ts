/** Port to models: resolves ids `provider:model` to language models of the AI SDK, and prices their calls. */
import type { ModelSummary } from '@autonomous/shared';
import type { LanguageModel } from 'ai';

export interface ResolvedModel {
  /** Full id, `provider:model`. */
  readonly id: string;
  readonly model: LanguageModel;
  /** True if it only plays a script. Its output is marked wherever it is shown. */
  readonly scripted: boolean;
  /** Environment variable with the provider's key, named in messages about a refused key. */
  readonly keyVariable?: string;
  /** Maximum number of tokens of one answer. Absent: unknown. */
  readonly maxOutputTokens?: number;
  /** Window of the model: tokens of a request and its answer together. Absent: unknown. */
  readonly windowTokens?: number;
}

/** Records requests to models and their answers. */
export interface CallRecorder {
  /** Wraps a model so that its exchanges are recorded for a run. */
  record(model: ResolvedModel, runId: string): ResolvedModel;
}

export interface Models {
  /**
   * @param id `provider:model`, or a bare name of a known family (`deepseek-…`, `claude-…`, `gpt-…`, `o…`)
   * @returns the full id, or a message with the way out if the id is unknown or not usable on this server (no key)
   */
  check(id: string): { readonly ok: true; readonly id: string } | { readonly ok: false; readonly message: string };
  /** @throws {NeedsHuman} `model_unavailable` with the message of `check` */
  resolve(id: string): ResolvedModel;
  list(defaults: Readonly<Record<string, string>>): readonly ModelSummary[];
}

/** Usage of one call, as the provider counted it. */
export interface CallUsage {
  /** All input tokens, including cached ones. */
  readonly inputTokens: number;
  /** All output tokens, including those for reasoning. */
  readonly outputTokens: number;
  /** Part of the input that was read from the provider's cache. */
  readonly cachedInputTokens?: number;
  /** Part of the input that was written to the provider's cache, which some providers charge for. */
  readonly cacheWriteTokens?: number;
  /** Part of the output that is reasoning and not shown. */
  readonly reasoningTokens?: number;
  /** Cost in US dollars as the provider or agent reports it. The larger of this and the price of the tokens counts. */
  readonly costUsd?: number;
  /** Part of the tokens' price that was already counted before the tokens were known, US dollars. */
  readonly countedUsd?: number;
}

/** Price in US dollars per million tokens. */
export interface CustomPrice {
  readonly inputUsdPerMillion: number;
  readonly outputUsdPerMillion: number;
}

export interface Prices {
  /**
   * @param modelId full id, `provider:model`
   * @returns US dollars; `null` if the price is unknown
   */
  priceOf(modelId: string, usage: CallUsage): number | null;
}
