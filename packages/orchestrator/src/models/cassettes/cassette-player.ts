/** A language model that answers as another one did when a cassette was recorded, and names what it is asked differently. */
import { NeedsHuman } from '@autonomous/shared';
import type { LanguageModel } from 'ai';
import {
  type Asked,
  askedBy,
  type Cassette,
  type ModelExchange,
  type RecordedContent,
  saysTheSame,
} from './cassette.ts';

type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: 'v4' }>;
type GenerateResult = Awaited<ReturnType<LanguageModelV4['doGenerate']>>;
type StreamPart =
  Awaited<ReturnType<LanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

const SHOWN_CHARACTERS = 160;

/**
 * The model `scripted:<cassette.name>`.
 * It throws {NeedsHuman} `agent_failed` for a request that is not on the cassette, with the part that differs.
 */
export function createCassetteModel(cassette: Cassette): LanguageModelV4 {
  const find = (asked: Asked | null): ModelExchange => {
    if (asked === null) {
      throw new NeedsHuman(
        'agent_failed',
        `The cassette "${cassette.name}" cannot tell which call to play: the first line of the prompt is not "Call: <role> <number>".`,
      );
    }
    // The cassette also contains attempts from before a crash; the last attempt reached the end.
    const found = cassette.exchanges.findLast(
      (exchange) => isSameCall(exchange, asked) && exchange.conversation === asked.conversation,
    );
    if (found !== undefined) return found;
    throw new NeedsHuman('agent_failed', describeDifference(cassette, asked));
  };
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: cassette.name,
    supportedUrls: {},

    async doGenerate(options) {
      const { answer } = find(askedBy(options));
      return { content: answer.content, finishReason: finishOf(answer), usage: usageOf(answer), warnings: [] };
    },

    async doStream(options) {
      const { answer } = find(askedBy(options));
      const parts: StreamPart[] = [
        { type: 'stream-start', warnings: [] },
        ...answer.content.flatMap(streamParts),
        { type: 'finish', finishReason: finishOf(answer), usage: usageOf(answer) },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  };
}

function isSameCall(exchange: ModelExchange, asked: Asked): boolean {
  return exchange.role === asked.role && exchange.call === asked.call;
}

/** Where a request is another than the recorded one, in the words of a person who changed something. */
function describeDifference(cassette: Cassette, asked: Asked): string {
  const ofCall = cassette.exchanges.filter((exchange) => isSameCall(exchange, asked));
  const recorded = ofCall.findLast(({ step }) => step === asked.step);
  if (recorded === undefined) {
    const has = ofCall.length === 0 ? 'has no such call' : `has ${ofCall.length} exchanges of that call`;
    return `The cassette "${cassette.name}" ${has}: ${asked.role} ${asked.call}, step ${asked.step + 1}. Record it again.`;
  }
  const number = cassette.exchanges.indexOf(recorded) + 1;
  const where = `exchange ${number} (${asked.role} ${asked.call}, step ${asked.step + 1})`;
  for (let index = 0; index < Math.max(recorded.told.length, asked.told.length); index++) {
    const before = recorded.told[index];
    const now = asked.told[index];
    if (before !== undefined && now !== undefined && before.part === now.part && saysTheSame(before.text, now.text))
      continue;
    const part = now?.part ?? before?.part ?? '';
    const difference = firstDifference(before?.text ?? '', now?.text ?? '');
    const inside =
      part === 'prompt' && difference.section !== null ? `the prompt's part "${difference.section}"` : part;
    return `The cassette "${cassette.name}" was recorded with another request: ${where} differs in ${inside}.\n- ${difference.before}\n+ ${difference.now}\nRecord it again, or undo the change.`;
  }
  return `The cassette "${cassette.name}" was recorded in another conversation: the messages before ${where} differ. Record it again.`;
}

interface Difference {
  /** The fenced section of the prompt that it lies in. */
  readonly section: string | null;
  readonly before: string;
  readonly now: string;
}

function firstDifference(before: string, now: string): Difference {
  const [old, young] = [before.split('\n'), now.split('\n')];
  const length = Math.max(old.length, young.length);
  let section: string | null = null;
  for (let index = 0; index < length; index++) {
    const [was = '(nothing)', is = '(nothing)'] = [old[index], young[index]];
    if (!saysTheSame(was, is)) return { section, before: shown(was), now: shown(is) };
    const begin = /^=+ BEGIN (.+) =+$/.exec(is);
    if (begin) section = begin[1] ?? null;
    else if (/^=+ END .+ =+$/.test(is)) section = null;
  }
  return { section: null, before: shown(before), now: shown(now) };
}

function shown(line: string): string {
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}

function streamParts(content: RecordedContent, index: number): StreamPart[] {
  if (content.type === 'tool-call') return [content];
  const id = `${content.type}-${index}`;
  return [
    { type: `${content.type}-start`, id },
    { type: `${content.type}-delta`, id, delta: content.text },
    { type: `${content.type}-end`, id },
  ];
}

function finishOf({ finishReason }: ModelExchange['answer']): GenerateResult['finishReason'] {
  return { unified: finishReason, raw: finishReason };
}

function usageOf({ inputTokens, outputTokens }: ModelExchange['answer']): GenerateResult['usage'] {
  return {
    inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
  };
}
