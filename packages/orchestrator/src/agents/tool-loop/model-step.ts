/**
 * One answer of a model, complete or not at all. Tools are described to the model, but nothing here runs them: a stream
 * that is cut in the middle is asked for again from the same messages, and no tool call of a cut answer can have run.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { type AssistantModelMessage, type LanguageModel, type ModelMessage, streamText, type ToolSet } from 'ai';
import type { CallUsage } from '../../models/model.ts';
import { classifyModelError, RequestTooLong, StreamCut, wasRefused } from './model-errors.ts';

export interface StepTimeouts {
  /** Until the first piece of an answer. Models that think first can be silent for minutes. */
  readonly firstChunkMs: number;
  /** Between two pieces of an answer. */
  readonly idleMs: number;
  /** Over so long a time an answer must have 2 characters a second, where it comes in small pieces. Absent: it need not. */
  readonly slowMs?: number;
}

/** Where the configuration names no others. */
export const STEP_TIMEOUTS: StepTimeouts = { firstChunkMs: 300_000, idleMs: 180_000, slowMs: 120_000 };

export interface RetryDelays {
  readonly firstDelayMs: number;
  /** Longest wait where the server names none. */
  readonly maxDelayMs: number;
  /** Longest wait that a server may ask for. A longer one is not waited for; the failure says when to come back. */
  readonly maxAskedMs: number;
  /** Sum of the waits for a server that refuses. What it refuses costs nothing, and what was done so far stays. */
  readonly patienceMs: number;
}

export interface StepRequest {
  readonly model: LanguageModel;
  /** For messages. */
  readonly modelId: string;
  readonly keyVariable: string | undefined;
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  /** Without `execute`. */
  readonly tools: ToolSet;
  readonly maxOutputTokens: number | undefined;
  readonly timeouts: StepTimeouts;
  readonly delays: RetryDelays;
  readonly signal: AbortSignal;
  /**
   * Called before each request to the model, repeated ones included.
   * @returns a function to call with the usage of a request that brought no answer
   */
  readonly onCall: () => Promise<(usage: CallUsage) => void>;
  /** Estimated tokens of the conversation so far. */
  readonly inputTokens: number;
  /** Before a wait; `attempt` is the one that failed, from 1. */
  readonly onRetry: (attempt: number, waitMs: number, message: string) => void;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** Not checked against any schema; the raw text where it was no JSON. */
  readonly input: unknown;
}

export interface StepAnswer {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /** The answer as it goes into the conversation. */
  readonly message: AssistantModelMessage;
  /** True when it ends at the model's output limit: its last part is incomplete. */
  readonly cutByLimit: boolean;
  readonly usage: CallUsage;
}

/** Characters of text that count as one token where no count is known: low, so that the sum is rather too high. */
export const CHARACTERS_PER_TOKEN = 3;
/** Far more than any model says in one answer. */
const MAX_ANSWER_CHARACTERS = 4_000_000;

/** Tries for an answer that begins and cannot be used, each of which may cost. */
const MODEL_TRIES = 3;

/**
 * Asks for the next answer: up to three times where answers break off, and as long as the patience where requests are refused.
 * @throws {RetryableFailure} `rate_limited` or `model_unavailable`, after the last try or when the server asks for a
 *   longer wait
 * @throws {NeedsHuman} when the key, the model or the request is refused
 */
export async function askModel(request: StepRequest): Promise<StepAnswer> {
  let broken = 0;
  let waitedMs = 0;
  for (let attempt = 1; ; attempt++) {
    request.signal.throwIfAborted();
    const settle = await request.onCall();
    const received: Received = { characters: 0 };
    try {
      return await streamAnswer(request, received);
    } catch (error) {
      settle(lostUsage(error, request, received));
      request.signal.throwIfAborted();
      const failure = classifyModelError(error, request.modelId, request.keyVariable);
      if (!(failure instanceof RetryableFailure)) throw failure;
      const { maxAskedMs, patienceMs } = request.delays;
      const waitMs = Math.max(failure.retryAfterMs ?? 0, backOffMs(attempt, request.delays));
      waitedMs += waitMs;
      if (!wasRefused(error)) broken += 1;
      if (broken === MODEL_TRIES || waitMs > maxAskedMs || waitedMs >= patienceMs) throw failure;
      request.onRetry(attempt, waitMs, failure.message);
      await sleep(waitMs, undefined, { signal: request.signal });
    }
  }
}

/** Doubles with each attempt; half of it is chance, so that many runs do not come back at the same moment. */
function backOffMs(attempt: number, delays: RetryDelays): number {
  const full = Math.min(delays.firstDelayMs * 2 ** (attempt - 1), delays.maxDelayMs);
  return full / 2 + (Math.random() * full) / 2;
}

/** The part of an answer that has arrived, whatever its form. */
interface Received {
  characters: number;
  /** Usage, if the provider reported it before the answer proved unusable. */
  usage?: CallUsage;
}

/** Usage of an answer that broke off: reported, or else estimated. Zero when the request was refused before any text came. */
function lostUsage(error: unknown, request: StepRequest, { characters, usage }: Received): CallUsage {
  if (usage !== undefined) return usage;
  if (characters === 0 && wasRefused(error)) return { inputTokens: 0, outputTokens: 0 };
  return estimatedUsage(request, characters);
}

function estimatedUsage({ inputTokens }: StepRequest, characters: number): CallUsage {
  return { inputTokens, outputTokens: Math.ceil(characters / CHARACTERS_PER_TOKEN) };
}

async function streamAnswer(request: StepRequest, received: Received): Promise<StepAnswer> {
  const watchdog = createWatchdog(request.timeouts, request.signal);
  try {
    const result = streamText({
      model: request.model,
      instructions: request.instructions,
      messages: [...request.messages],
      tools: request.tools,
      // Own retries: the SDK's have no jitter, do not repeat a cut stream, and ignore a long Retry-After.
      maxRetries: 0,
      abortSignal: watchdog.signal,
      // Errors are read from the stream; the SDK would print them.
      onError: () => {},
      ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
    });

    let failure: unknown;
    for await (const part of result.stream) {
      if (part.type === 'error') failure ??= part.error;
      else if (part.type === 'abort') throw watchdog.signal.reason;
      else if (CONTENT_PARTS.has(part.type)) {
        received.characters += charactersOf(part);
        if (received.characters <= MAX_ANSWER_CHARACTERS) watchdog.feed(charactersOf(part));
        else watchdog.giveUp(new StreamCut(`the answer did not end within ${MAX_ANSWER_CHARACTERS} characters`));
      }
    }
    if (failure !== undefined)
      throw failure instanceof Error ? failure : new Error('the stream failed', { cause: failure });
    const step = (await result.steps).at(-1);
    // Some servers send a tool call whole, without the pieces that are counted as they come.
    if (step) received.characters = Math.max(received.characters, step.text.length + lengthOfCalls(step));
    if (step?.usage.inputTokens) received.usage = usageOf(step.usage, estimatedUsage(request, received.characters));
    return completeAnswer(step, request, received);
  } finally {
    watchdog.stop();
  }
}

/** Parts that show that the model itself is answering; the others can come from a server that keeps a line open. */
const CONTENT_PARTS: ReadonlySet<string> = new Set([
  'text-delta',
  'reasoning-delta',
  'tool-input-start',
  'tool-input-delta',
  'tool-call',
]);

/** At least one, so that an answer that began is known from one that did not. */
function charactersOf(part: object): number {
  const text = 'text' in part ? part.text : 'delta' in part ? part.delta : undefined;
  return typeof text === 'string' ? Math.max(1, text.length) : 1;
}

function lengthOfCalls({ toolCalls }: Step): number {
  return toolCalls.reduce((sum, { input }) => sum + (JSON.stringify(input) ?? '').length, 0);
}

type Step = Awaited<ReturnType<typeof streamText>['steps']>[number];

function completeAnswer(step: Step | undefined, request: StepRequest, received: Received): StepAnswer {
  if (step === undefined) throw new StreamCut('the answer ended before it began');
  const { finishReason, rawFinishReason, text } = step;
  // Some providers report `other` without a reason of their own for a stream that simply ended.
  if (
    finishReason === 'error' ||
    finishReason === 'interrupted' ||
    (finishReason === 'other' && rawFinishReason === undefined)
  ) {
    throw new StreamCut('the answer was cut off');
  }
  if (finishReason === 'content-filter') {
    throw new NeedsHuman(
      'agent_failed',
      `The provider of ${request.modelId} withheld the answer (content filter). Rephrase the request or fork the run with another model.`,
    );
  }
  // Anthropic's word for an answer that the window ended, which is no limit of the answer's own.
  if (rawFinishReason === 'model_context_window_exceeded')
    throw new RequestTooLong(
      request.modelId,
      'the answer reached the end of its window',
      received.usage?.inputTokens ?? null,
    );
  const cutByLimit = finishReason === 'length';
  const message = step.response.messages.find((candidate) => candidate.role === 'assistant');
  if (!cutByLimit && (message === undefined || (text.trim() === '' && step.toolCalls.length === 0))) {
    throw new StreamCut('the answer was empty');
  }
  const usage = usageOf(step.usage, estimatedUsage(request, received.characters));
  if (cutByLimit || message === undefined) {
    // Only its text is whole: a half tool call must not run, and reasoning without what it led to is refused.
    return {
      text,
      toolCalls: [],
      message: { role: 'assistant', content: text.trim() === '' ? '(cut off)' : text },
      cutByLimit,
      usage,
    };
  }
  const toolCalls = step.toolCalls.map((call) => ({
    id: call.toolCallId,
    name: call.toolName,
    input: call.input as unknown,
  }));
  return { text, toolCalls, message, cutByLimit, usage };
}

/**
 * Usage of an answer. Some servers report nothing, or 0 for a request that cannot have been empty. The estimate takes its
 * place: without it no budget would ever be used up.
 */
function usageOf({ inputTokens, outputTokens, ...details }: Step['usage'], estimated: CallUsage): CallUsage {
  const { cacheReadTokens, cacheWriteTokens } = details.inputTokenDetails;
  const { reasoningTokens } = details.outputTokenDetails;
  return {
    inputTokens: inputTokens || estimated.inputTokens,
    outputTokens: outputTokens || estimated.outputTokens,
    ...(cacheReadTokens ? { cachedInputTokens: cacheReadTokens } : {}),
    ...(cacheWriteTokens ? { cacheWriteTokens } : {}),
    ...(reasoningTokens ? { reasoningTokens } : {}),
  };
}

interface Watchdog {
  /** Aborted by the caller's signal or by silence. */
  readonly signal: AbortSignal;
  /** An answer of so many characters more. */
  feed(characters: number): void;
  /** Ends the answer at once. */
  giveUp(reason: StreamCut): void;
  stop(): void;
}

/** The SDK's own time limits begin only once the server has sent its headers. */
function createWatchdog(timeouts: StepTimeouts, callerSignal: AbortSignal): Watchdog {
  const silence = new AbortController();
  const slowness = watchSlowness(timeouts.slowMs ?? Infinity, (reason) => silence.abort(reason));
  const bark = (ms: number, what: string, variable: string) => () =>
    silence.abort(new StreamCut(`${what} for ${ms / 1000} s, which is the limit of ${variable}`));
  let timer = setTimeout(
    bark(timeouts.firstChunkMs, 'no answer began', 'MODEL_FIRST_TOKEN_SECONDS'),
    timeouts.firstChunkMs,
  );
  return {
    signal: AbortSignal.any([callerSignal, silence.signal]),
    feed(characters) {
      slowness.feed(characters);
      clearTimeout(timer);
      timer = setTimeout(bark(timeouts.idleMs, 'the answer stood still', 'MODEL_IDLE_SECONDS'), timeouts.idleMs);
    },
    giveUp: (reason) => silence.abort(reason),
    stop: () => clearTimeout(timer),
  };
}

/**
 * Ends an answer that comes too slowly. A provider that sends one character a second would take hours for an answer that
 * never counts as standing still. An answer in few large pieces with long waits between them is not ended.
 */
function watchSlowness(windowMs: number, giveUp: (reason: StreamCut) => void): Pick<Watchdog, 'feed'> {
  const fewest = (windowMs / 1_000) * LEAST_CHARACTERS_PER_SECOND;
  let window = { from: performance.now(), characters: 0, pieces: 0 };
  return {
    feed(characters) {
      window.characters += characters;
      window.pieces += 1;
      if (performance.now() - window.from < windowMs) return;
      if (window.characters < fewest && window.pieces >= fewest / MOST_CHARACTERS_OF_A_DROP) {
        giveUp(
          new StreamCut(
            `only ${window.characters} characters came within ${windowMs / 1_000} s, fewer than ${LEAST_CHARACTERS_PER_SECOND} a second`,
          ),
        );
      }
      window = { from: performance.now(), characters: 0, pieces: 0 };
    },
  };
}

/** The slowest models on people's own machines give some tokens, of about four characters each, a second. */
const LEAST_CHARACTERS_PER_SECOND = 2;
const MOST_CHARACTERS_OF_A_DROP = 8;
