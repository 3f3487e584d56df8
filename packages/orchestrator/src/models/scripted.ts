/**
 * A language model that plays a script: for the demo and for tests, through the same tool loop as any other model.
 * It remembers nothing. Which call and turn come next follows from the conversation alone, so a call that is repeated
 * after a crash plays the same turns.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { NeedsHuman } from '@autonomous/shared';
import type { LanguageModel } from 'ai';
import { MESSAGE_FIRST } from '../roles/prompt-parts.ts';
import { parseCallLine } from '../roles/role.ts';
import { callsOf, findScriptCall, type Script, type ScriptTurn } from './script.ts';

type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: 'v4' }>;
type CallOptions = Parameters<LanguageModelV4['doStream']>[0];
type Prompt = CallOptions['prompt'];
type GenerateResult = Awaited<ReturnType<LanguageModelV4['doGenerate']>>;
type Content = GenerateResult['content'][number];
type StreamPart =
  Awaited<ReturnType<LanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** Rule of thumb of the providers: a token is about four characters. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * The model `scripted:<script.name>`.
 * It throws {NeedsHuman} `agent_failed` when the script has nothing for the call or the turn that is asked for.
 */
export function createScriptedModel(script: Script): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: script.name,
    supportedUrls: {},

    async doGenerate(options) {
      const { turn, content } = await play(script, options);
      return { content, finishReason: finishReasonOf(turn), usage: usageOf(options.prompt, content), warnings: [] };
    },

    async doStream(options) {
      const { turn, content } = await play(script, options);
      const parts: StreamPart[] = [
        { type: 'stream-start', warnings: [] },
        ...content.flatMap(streamParts),
        { type: 'finish', finishReason: finishReasonOf(turn), usage: usageOf(options.prompt, content) },
      ];
      return { stream: ReadableStream.from(untilAborted(parts, options.abortSignal)) };
    },
  };
}

async function play(script: Script, options: CallOptions): Promise<{ turn: ScriptTurn; content: Content[] }> {
  const number = turnsPlayed(options.prompt);
  const turn = findTurn(script, firstUserText(options.prompt), number);
  if (turn.delayMs !== undefined)
    await sleep(turn.delayMs, undefined, options.abortSignal && { signal: options.abortSignal });
  const text: Content[] = turn.text === undefined ? [] : [{ type: 'text', text: turn.text }];
  const tools = (turn.tools ?? []).map((tool, index): Content => ({
    type: 'tool-call',
    toolCallId: `scripted-${number + 1}-${index + 1}`,
    toolName: tool.name,
    input: JSON.stringify(tool.input),
  }));
  return { turn, content: [...text, ...tools] };
}

/** A turn whose end was not taken, since a person said something meanwhile, is played again. */
function turnsPlayed(prompt: Prompt): number {
  const answers = prompt.filter((message) => message.role === 'assistant').length;
  const repeated = prompt.filter(
    (message) =>
      message.role === 'tool' &&
      message.content.some(
        (part) => part.type === 'tool-result' && 'value' in part.output && part.output.value === MESSAGE_FIRST,
      ),
  );
  return answers - repeated.length;
}

/** @param number of the turn within its call, from 0 */
function findTurn(script: Script, prompt: string, number: number): ScriptTurn {
  const asked = parseCallLine(prompt);
  if (asked === null) {
    throw new NeedsHuman(
      'agent_failed',
      `The script "${script.name}" cannot tell which call to play: the first line of the prompt is not "Call: <role> <number>".`,
    );
  }
  const scripted = findScriptCall(script, asked.role, asked.call, prompt);
  if (scripted === undefined) {
    const count = callsOf(script, asked.role).filter((call) => call.when === undefined).length;
    throw new NeedsHuman(
      'agent_failed',
      `The script "${script.name}" has no call ${asked.call} for the role ${asked.role}; it has ${count}. ` +
        'Add the call to the script, or start a run with a real model.',
    );
  }
  const turn = scripted.turns[number];
  if (turn === undefined) {
    throw new NeedsHuman(
      'agent_failed',
      `The script "${script.name}" has no turn ${number + 1} in call ${asked.call} of the role ${asked.role}; it has ${scripted.turns.length}. ` +
        'Its last turn did not end the call: see what its tools answered.',
    );
  }
  return turn;
}

function firstUserText(prompt: Prompt): string {
  const message = prompt.find((candidate) => candidate.role === 'user');
  return message?.content.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
}

function streamParts(content: Content, index: number): StreamPart[] {
  if (content.type === 'text') {
    const id = `text-${index}`;
    return [
      { type: 'text-start', id },
      ...chunksOf(content.text).map((delta): StreamPart => ({ type: 'text-delta', id, delta })),
      { type: 'text-end', id },
    ];
  }
  if (content.type !== 'tool-call') return [];
  const id = content.toolCallId;
  return [
    { type: 'tool-input-start', id, toolName: content.toolName },
    ...chunksOf(content.input).map((delta): StreamPart => ({ type: 'tool-input-delta', id, delta })),
    { type: 'tool-input-end', id },
    content,
  ];
}

/** Pieces as a stream would bring them. */
function chunksOf(text: string): string[] {
  return text.match(/.{1,40}/gsu) ?? [];
}

async function* untilAborted(
  parts: readonly StreamPart[],
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamPart> {
  for (const part of parts) {
    signal?.throwIfAborted();
    yield part;
  }
}

function finishReasonOf(turn: ScriptTurn): GenerateResult['finishReason'] {
  return { unified: turn.tools === undefined ? 'stop' : 'tool-calls', raw: undefined };
}

function usageOf(prompt: Prompt, content: readonly Content[]): GenerateResult['usage'] {
  const input = tokensIn(JSON.stringify(prompt));
  const output = tokensIn(
    content.map((part) => (part.type === 'text' ? part.text : part.type === 'tool-call' ? part.input : '')).join(''),
  );
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}
