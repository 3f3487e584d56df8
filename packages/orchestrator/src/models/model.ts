/** The port to models: ids `provider:model` become language models of the AI SDK, and their calls have a price. */
import type { ModelSummary } from '@autonomous/shared';
import type { LanguageModel } from 'ai';

export interface ResolvedModel {
  /** Full id, `provider:model`. */
  readonly id: string;
  readonly model: LanguageModel;
  /** True when it only plays a script; every place that shows its output says so. */
  readonly scripted: boolean;
  /** Environment variable that holds the provider's key: what a person looks at when the key is refused. */
  readonly keyVariable?: string;
  /** Most tokens of one answer, where that is known. */
  readonly maxOutputTokens?: number;
}

/** Writes down what is asked of models and what they answer. */
export interface CallRecorder {
  /** The same model, whose exchanges are recorded for a run. */
  record(model: ResolvedModel, runId: string): ResolvedModel;
}

export interface Models {
  /**
   * @param id `provider:model`, or a bare name of a known family (`deepseek-…`, `claude-…`, `gpt-…`, `o…`)
   * @returns a fault in words when the id is unknown or not usable on this server (no key), naming the way out
   */
  check(id: string): { readonly ok: true; readonly id: string } | { readonly ok: false; readonly message: string };
  /** @throws {NeedsHuman} `model_unavailable` with the message of `check` */
  resolve(id: string): ResolvedModel;
  list(defaults: Readonly<Record<string, string>>): readonly ModelSummary[];
}

/** Tokens of one call, as the provider counted them. */
export interface CallUsage {
  /** All of them, cached ones included. */
  readonly inputTokens: number;
  /** All of them, those for reasoning included. */
  readonly outputTokens: number;
  /** Of the input: read from what the provider had kept. */
  readonly cachedInputTokens?: number;
  /** Of the input: written into what the provider keeps, which some charge for. */
  readonly cacheWriteTokens?: number;
  /** Of the output: of which nothing is shown. */
  readonly reasoningTokens?: number;
  /** US dollars, as somebody else reckons them. What costs more counts: that, or the price of the tokens. */
  readonly costUsd?: number;
  /** Of the price of these tokens, what was counted before they were known, US dollars. */
  readonly countedUsd?: number;
}

/** US dollars for a million tokens. */
export interface CustomPrice {
  readonly inputUsdPerMillion: number;
  readonly outputUsdPerMillion: number;
}

export interface Prices {
  /**
   * @param modelId full id, `provider:model`
   * @returns US dollars; `null` where the price is not known
   */
  priceOf(modelId: string, usage: CallUsage): number | null;
}
