/**
 * Cassettes: every exchange of a run with its models and tools, as JSON lines. A cassette is played as `scripted:<its name>`,
 * without network, and the first request that is not the recorded one is named.
 */
import { createHash } from 'node:crypto';
import { InvalidRequest } from '@autonomous/shared';
import type { LanguageModel } from 'ai';
import { z } from 'zod';
import { faultOfFormat } from '../../core/stored-format.ts';
import { createScrubber } from '../../secrets/secrets.ts';
import { withoutVolatile } from '../../project-analysis/normalize-output.ts';
import { parseCallLine, type RoleCall } from '../../roles/role.ts';

type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: 'v4' }>;
export type ModelRequest = Parameters<LanguageModelV4['doStream']>[0];
type Message = ModelRequest['prompt'][number];

/** Format of the cassettes that this program records and plays, their `version`. Numbers are never used again. */
const CASSETTE_FORMAT = 2;

const headerSchema = z.object({
  type: z.literal('cassette'),
  version: z.literal(CASSETTE_FORMAT),
  /** The model's id is `scripted:<name>`. */
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
  recordedAt: z.string(),
});

const saidSchema = z.object({
  /** `instructions`, `prompt`, `message`, `tool <name>` for its description, or `result of <tool>`. */
  part: z.string(),
  text: z.string(),
});
/** One piece of what a model was told. */
export type Said = z.infer<typeof saidSchema>;

const contentSchema = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['text', 'reasoning']), text: z.string() }),
  z.object({ type: z.literal('tool-call'), toolCallId: z.string(), toolName: z.string(), input: z.string() }),
]);
export type RecordedContent = z.infer<typeof contentSchema>;

const modelExchangeSchema = z.object({
  type: z.literal('model'),
  role: z.string(),
  call: z.number(),
  /** Answers before this one in the conversation. */
  step: z.number(),
  model: z.string(),
  /** SHA-256 of the whole conversation up to here, without what differs each time and what looks like a secret. */
  conversation: z.string(),
  /** Messages of the request that are new since the previous answer. */
  told: z.array(saidSchema),
  answer: z.object({
    content: z.array(contentSchema),
    finishReason: z.enum(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'interrupted', 'other']),
    inputTokens: z.number(),
    outputTokens: z.number(),
  }),
});
export type ModelExchange = z.infer<typeof modelExchangeSchema>;

export interface Cassette {
  readonly name: string;
  /** Exchanges with models in their order. Tools are executed again when the cassette is played. */
  readonly exchanges: readonly ModelExchange[];
}

/** Identifies a request among all requests of a run. */
export interface Asked extends RoleCall {
  readonly step: number;
  readonly conversation: string;
  readonly told: readonly Said[];
}

/** The first line of a cassette. */
export function cassetteHeader(runId: string, at: string): string {
  return JSON.stringify({ type: 'cassette', version: CASSETTE_FORMAT, name: `cassette-${runId}`, recordedAt: at });
}

export function isCassette(text: string): boolean {
  return text.startsWith('{"type":"cassette"');
}

/**
 * Reads a cassette. A last line that was cut by the end of its server is passed over.
 * @param fileName only for messages
 * @throws {InvalidRequest} naming the line
 */
export function parseCassette(text: string, fileName: string): Cassette {
  const lines = text.split('\n');
  const parsed = lines.flatMap((line, index) => {
    if (line === '') return [];
    try {
      return [{ number: index + 1, json: JSON.parse(line) as unknown }];
    } catch {
      if (index === lines.length - 1) return [];
      throw malformed(fileName, index + 1, 'it is not valid JSON');
    }
  });
  const [first, ...rest] = parsed;
  const { version } = z.looseObject({}).catch({}).parse(first?.json);
  const fault = faultOfFormat(version, CASSETTE_FORMAT);
  if (fault !== null) throw malformed(fileName, 1, `it ${fault.replace(/\.$/, '')}`);
  const header = headerSchema.safeParse(first?.json);
  if (!header.success) throw malformed(fileName, 1, 'it is not the beginning of a cassette');
  const exchanges = rest.flatMap(({ number, json }) => {
    if (typeof json !== 'object' || json === null || !('type' in json) || json.type !== 'model') return [];
    const exchange = modelExchangeSchema.safeParse(json);
    if (exchange.success) return [exchange.data];
    const [issue] = exchange.error.issues;
    throw malformed(fileName, number, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  });
  return { name: header.data.name, exchanges };
}

/** Identifies a request; `null` when its prompt does not begin like a role's prompt. */
export function askedBy({ prompt, tools = [] }: ModelRequest): Asked | null {
  const call = parseCallLine(firstUserText(prompt));
  if (call === null) return null;
  const last = prompt.findLastIndex(({ role }) => role === 'assistant');
  const offered = tools.flatMap((tool): Said[] =>
    tool.type === 'function'
      ? [{ part: `tool ${tool.name}`, text: `${tool.description ?? ''}\n${JSON.stringify(tool.inputSchema)}` }]
      : [],
  );
  return {
    ...call,
    step: prompt.filter(({ role }) => role === 'assistant').length,
    conversation: hashOf([...offered, ...prompt.flatMap(saidIn)]),
    told: [...(last === -1 ? offered : []), ...prompt.slice(last + 1).flatMap(saidIn)],
  };
}

/** Do both say the same, apart from times, durations, ids, and what looks like a secret? */
export function saysTheSame(one: string, other: string): boolean {
  return lasting(one) === lasting(other);
}

export function firstUserText(prompt: ModelRequest['prompt']): string {
  const message = prompt.find(({ role }) => role === 'user');
  return message?.role === 'user' ? textOf(message) : '';
}

/** Reasoning is left out: providers sign it, and only the model itself can use it. */
function saidIn(message: Message): Said[] {
  switch (message.role) {
    case 'system':
      return [{ part: 'instructions', text: message.content }];
    case 'user': {
      const text = textOf(message);
      return [{ part: parseCallLine(text) === null ? 'message' : 'prompt', text }];
    }
    case 'assistant':
      return message.content.flatMap((part): Said[] => {
        if (part.type === 'text') return part.text.trim() === '' ? [] : [{ part: 'answer', text: part.text }];
        return part.type === 'tool-call'
          ? [{ part: `call of ${part.toolName}`, text: JSON.stringify(part.input) }]
          : [];
      });
    case 'tool':
      return message.content.flatMap((part): Said[] =>
        part.type === 'tool-result' ? [{ part: `result of ${part.toolName}`, text: resultText(part.output) }] : [],
      );
    default:
      return message satisfies never;
  }
}

function textOf(message: Extract<Message, { role: 'user' }>): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function resultText(output: { readonly type: string; readonly value?: unknown }): string {
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value ?? null);
}

function hashOf(said: readonly Said[]): string {
  return createHash('sha256')
    .update(JSON.stringify(said.map(({ part, text }) => [part, lasting(text)])))
    .digest('hex');
}

/** Recognises secrets by form alone: a player does not know the secrets of the server that recorded the cassette. */
const { scrub } = createScrubber([]);

/** Returns the part of a text that is the same when a cassette is played, where secrets are replaced by `[secret]`. */
function lasting(text: string): string {
  return withoutVolatile(scrub(text));
}

function malformed(fileName: string, line: number, what: string): InvalidRequest {
  const message = `${fileName}, line ${line}: ${what}`;
  return new InvalidRequest(`The cassette ${fileName} cannot be played: line ${line}: ${what}.`, {
    faults: [{ path: '', message }],
  });
}
