/**
 * The conversation of one call: its messages, an estimate of the tokens that the next request takes, and what gives way where the
 * model's window fills. Its beginning stays the same to the byte between two such moments, so that providers find it in their caches.
 */
import type { ModelMessage } from 'ai';
import type { CallUsage } from '../../models/model.ts';
import { CHARACTERS_PER_TOKEN } from './model-step.ts';

/** Sizes in tokens at which a conversation is made shorter. */
export interface Room {
  /** Most of a request. `Infinity` where the window is not known. */
  readonly most: number;
  /** Old results are cleared from here on. */
  readonly clearAt: number;
  /** A handover note takes the place of the conversation from here on. */
  readonly compactAt: number;
  /** Newest messages that stay as they are. */
  readonly kept: number;
}

export interface MadeCall {
  readonly name: string;
  readonly input: unknown;
}

type ToolContent = Extract<ModelMessage, { role: 'tool' }>['content'][number];

/** Part of the window that an answer may take at most. */
const ANSWER_SHARE = 0.25;
const CLEAR_SHARE = 0.7;
const COMPACT_SHARE = 0.85;
const MOST_KEPT = 20_000;
/** Newest messages that stay, as a share of what is there when results are cleared: few clearings, each of much. */
const KEPT_SHARE = 0.25;

/**
 * @param window of the model in tokens, answer included; `null`: not known
 * @param answer most tokens of an answer
 * @param target tokens beyond which old results only cost
 */
export function roomIn(window: number | null, answer: number, target: number): Room {
  const most = window === null ? Number.POSITIVE_INFINITY : window - Math.min(answer, window * ANSWER_SHARE);
  const clearAt = Math.min(most * CLEAR_SHARE, target);
  return { most, clearAt, compactAt: most * COMPACT_SHARE, kept: Math.min(MOST_KEPT, clearAt * KEPT_SHARE) };
}

/** Shorter results are left: their line would be as long. */
const SHORT_RESULT = 400;
/** Clearing costs the provider's cache once; less than this share of the request is not worth it. */
const LEAST_CLEARED = 0.1;

export class Conversation {
  readonly #fixed: number;
  #messages: ModelMessage[] = [];
  #characters: number;
  /** Tokens of a character of the last request, as the provider counted. */
  #tokensPerCharacter = 1 / CHARACTERS_PER_TOKEN;
  /** Characters of the last request that was counted. */
  #counted = 0;
  #lastTokens = 0;

  /** @param fixed characters of the instructions and tools, which are in each request */
  constructor(fixed: number, prompt: string) {
    this.#fixed = fixed;
    this.#characters = fixed;
    this.begin(prompt);
  }

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  /** Tokens of the next request, rather too many: what is paid for at most. */
  get mostTokens(): number {
    return Math.ceil(this.#characters / CHARACTERS_PER_TOKEN);
  }

  /** Tokens of the next request, as near as the last count of the provider allows. */
  get tokens(): number {
    const known = Math.min(this.#counted, this.#characters);
    return Math.ceil(known * this.#tokensPerCharacter + (this.#characters - known) / CHARACTERS_PER_TOKEN);
  }

  /** Drops all messages and starts with a prompt. */
  begin(prompt: string, last: readonly ModelMessage[] = []): void {
    this.#messages = [];
    this.#characters = this.#fixed;
    this.#lastTokens = 0;
    for (const message of [{ role: 'user', content: prompt } as const, ...last]) this.add(message);
  }

  add(message: ModelMessage): void {
    this.#messages.push(message);
    this.#characters += lengthOf(message);
  }

  /**
   * Takes in the provider's count of the request that these messages were.
   * @returns false where it counted fewer tokens than for a shorter request before: the server has left out what was said first
   */
  count({ inputTokens }: CallUsage): boolean {
    const isWhole = inputTokens >= this.#lastTokens;
    this.#lastTokens = inputTokens;
    this.#counted = this.#characters;
    this.#tokensPerCharacter = inputTokens / this.#characters;
    return isWhole;
  }

  /** Calls of tools so far, oldest first. */
  get calls(): readonly MadeCall[] {
    return [...callsOf(this.#messages).values()];
  }

  /**
   * Replaces old results of tools by a line each, in one go.
   * @param kept tokens of the newest messages, which stay; the newest one stays whatever its size
   * @param nameOf call in a few words
   * @param isUrgent also where it frees little. Clearing costs the provider's cache once
   * @returns number of results
   */
  clear(kept: number, nameOf: (call: MadeCall) => string, isUrgent: boolean): number {
    const calls = callsOf(this.#messages);
    const messages: ModelMessage[] = [];
    let recent = 0;
    let freed = 0;
    let cleared = 0;
    for (const message of this.#messages.toReversed()) {
      const isRecent = messages.length === 0 || recent < kept;
      recent += lengthOf(message) * this.#tokensPerCharacter;
      messages.push(
        isRecent || message.role !== 'tool' ? message : { ...message, content: message.content.map(shortened) },
      );
    }
    if (freed <= (isUrgent ? 0 : this.#characters * LEAST_CLEARED)) return 0;
    this.#messages = messages.toReversed();
    this.#characters = this.#fixed + this.#messages.reduce((sum, message) => sum + lengthOf(message), 0);
    this.#counted = this.#characters;
    this.#lastTokens = 0;
    return cleared;

    function shortened<Part extends ToolContent>(part: Part): Part {
      if (part.type !== 'tool-result' || (part.output.type !== 'text' && part.output.type !== 'error-text'))
        return part;
      const { value } = part.output;
      if (value.length < SHORT_RESULT) return part;
      const call = calls.get(part.toolCallId) ?? { name: part.toolName, input: {} };
      const line = `[cleared to make room: ${nameOf(call)}. Call it again if you need the result.]`;
      freed += value.length - line.length;
      cleared += 1;
      return { ...part, output: { type: part.output.type, value: line } };
    }
  }

  /** Newest answers, each with the results of its calls, of at most so many tokens. */
  lastExchanges(tokens: number): readonly ModelMessage[] {
    let from = this.#messages.length;
    let sum = 0;
    for (let index = from - 1; index > 0; index--) {
      const message = this.#messages[index];
      if (message === undefined) break;
      sum += lengthOf(message) * this.#tokensPerCharacter;
      if (sum > tokens) break;
      if (message.role === 'assistant' && this.#messages[index + 1]?.role === 'tool') from = index;
    }
    return this.#messages.slice(from);
  }
}

const lengthOf = (message: ModelMessage): number => JSON.stringify(message).length;

function callsOf(messages: readonly ModelMessage[]): ReadonlyMap<string, MadeCall> {
  const calls = new Map<string, MadeCall>();
  for (const { role, content } of messages) {
    if (role !== 'assistant' || typeof content === 'string') continue;
    for (const part of content)
      if (part.type === 'tool-call') calls.set(part.toolCallId, { name: part.toolName, input: part.input });
  }
  return calls;
}
