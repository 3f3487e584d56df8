/** A provider of models on this machine that plays a script over the wire format of a real one: HTTP, streams, tool calls. */
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from '@copilotkit/aimock';
import { findScriptCall, type Script, type ScriptTurn } from '../src/models/script.ts';
import { parseCallLine } from '../src/roles/role.ts';

/** Which turn of the script a request is for; it follows from the conversation alone. */
export interface Asked {
  readonly role: string;
  readonly call: number;
  /** From 1. */
  readonly turn: number;
  /** How often this turn has been asked for, this time included. */
  readonly attempt: number;
}

/** Anthropic's messages, OpenAI's responses, or the chat completions that all others speak. */
export type WireFormat = 'messages' | 'responses' | 'chat/completions';

/**
 * What comes instead of the turn; `cut` ends the stream in the middle of it, after its first tool call is whole; `refused`
 * says that the key is not taken.
 */
export type Fault = 'rate_limit' | 'server_error' | 'refused' | 'cut';

export interface Served extends Asked {
  readonly path: string;
  readonly model: string;
  readonly streamed: boolean;
  /** HTTP status. */
  readonly status: number;
  /** The connection was closed before the end of the answer. */
  readonly cut: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Bytes of the conversation: the instructions, the prompt, and what followed. */
  readonly bytes: number;
}

export interface ScriptedProvider {
  readonly baseUrl: string;
  /** Requests for a turn in the order in which they came. */
  served(): readonly Served[];
  stop(): Promise<void>;
}

export interface ScriptedProviderOptions {
  readonly script: Script;
  readonly format: WireFormat;
  /** The only key that is taken; every other one gets a 401. */
  readonly apiKey: string;
  readonly faultFor: (asked: Asked) => Fault | null;
  /** Told of a request for a turn when it has come; the answer waits for what this returns. */
  readonly onAsked?: (asked: Asked & { readonly model: string }) => Promise<void>;
}

/** What the provider says that each turn cost. */
export const TURN_TOKENS = { input: 1_000, output: 100 } as const;
/** Seconds that a rate limit asks to wait: more than a client waits by itself. */
export const RETRY_AFTER_SECONDS = 2;

/** Characters of one piece of a streamed answer. */
const PIECE = 200;
/** Without a pause nothing of an answer that is cut would have left the provider. */
const MS_BETWEEN_PIECES = 2;
/** Pieces after which the implementer's first write and edit are whole and its last write is not, in larger pieces. */
const CUT: Readonly<Record<WireFormat, { readonly chunkSize: number; readonly truncateAfterChunks: number }>> = {
  messages: { chunkSize: 1_000, truncateAfterChunks: 17 },
  responses: { chunkSize: 1_000, truncateAfterChunks: 25 },
  'chat/completions': { chunkSize: 1_000, truncateAfterChunks: 9 },
};

export async function startScriptedProvider(options: ScriptedProviderOptions): Promise<ScriptedProvider> {
  const server = new LLMock({
    port: 0,
    host: '127.0.0.1',
    strict: true,
    chunkSize: PIECE,
    latency: MS_BETWEEN_PIECES,
    auth: { apiKeys: [options.apiKey] },
  });
  const before = (request: ChatCompletionRequest) =>
    server.getRequests().filter(({ body }) => isRequest(body) && turnKey(body) === turnKey(request)).length;
  const faultOf = (request: ChatCompletionRequest): Fault | null => {
    const asked = findAsked(options.script, request);
    return asked === null ? null : options.faultFor({ ...asked, attempt: before(request) + 1 });
  };
  const answer = async (request: ChatCompletionRequest): Promise<FixtureResponse> => {
    const asked = findAsked(options.script, request);
    if (asked !== null) await options.onAsked?.({ ...asked, attempt: before(request) + 1, model: request.model });
    const fault = faultOf(request);
    return fault === null || fault === 'cut'
      ? wholeAnswer(options.script, request)
      : errorAnswer(fault, options.apiKey);
  };
  server.on({ predicate: (request) => faultOf(request) === 'cut' }, answer, CUT[options.format]);
  server.on({ predicate: (request) => findAsked(options.script, request) !== null }, answer);
  await server.start();

  return {
    baseUrl: `${server.url}/v1`,
    served() {
      const attempts = new Map<string, number>();
      return server.getRequests().flatMap(({ body, path, response, timestamp }): Served[] => {
        const asked = isRequest(body) ? findAsked(options.script, body) : null;
        if (asked === null || !isRequest(body)) return [];
        const attempt = (attempts.get(turnKey(body)) ?? 0) + 1;
        attempts.set(turnKey(body), attempt);
        const { status, interrupted = false } = response;
        return [
          {
            ...asked,
            attempt,
            path,
            model: body.model,
            streamed: body.stream === true,
            status,
            cut: interrupted,
            at: timestamp,
            bytes: Buffer.byteLength(body.messages.map(textOf).join('')),
          },
        ];
      });
    },
    stop: () => server.stop(),
  };
}

/** @returns `null` for a conversation that the script does not know, such as one with a tool result missing */
function findAsked(
  script: Script,
  request: ChatCompletionRequest,
): (Omit<Asked, 'attempt'> & { readonly play: ScriptTurn }) | null {
  const prompt = firstUserText(request);
  const line = parseCallLine(prompt);
  const turns = line === null ? [] : (findScriptCall(script, line.role, line.call, prompt)?.turns ?? []);
  let results = 0;
  for (const [index, turn] of turns.entries()) {
    if (line !== null && results === toolResults(request)) return { ...line, turn: index + 1, play: turn };
    results += turn.tools?.length ?? 0;
  }
  return null;
}

function wholeAnswer(script: Script, request: ChatCompletionRequest): FixtureResponse {
  const asked = findAsked(script, request);
  if (asked === null) throw new Error('The script has no turn for this conversation.');
  const { text = '', tools = [] } = asked.play;
  return {
    content: text,
    toolCalls: tools.map(({ name, input }) => ({ name, arguments: JSON.stringify(input) })),
    // Sent only for models that think aloud; it has to come back with the conversation.
    reasoning: `Turn ${asked.turn} of the ${asked.role}, as the script has it.`,
    usage: {
      input_tokens: TURN_TOKENS.input,
      output_tokens: TURN_TOKENS.output,
      prompt_tokens: TURN_TOKENS.input,
      completion_tokens: TURN_TOKENS.output,
      total_tokens: TURN_TOKENS.input + TURN_TOKENS.output,
    },
  };
}

/** Its words hold the key, as those of careless gateways do. */
function errorAnswer(fault: Exclude<Fault, 'cut'>, apiKey: string): FixtureResponse {
  const answers: Readonly<Record<typeof fault, FixtureResponse>> = {
    rate_limit: {
      status: 429,
      retryAfter: RETRY_AFTER_SECONDS,
      error: { message: `Too many requests with ${apiKey}`, type: 'rate_limit_error' },
    },
    refused: { status: 401, error: { message: `Not a key: ${apiKey}`, type: 'authentication_error' } },
    server_error: { status: 500, error: { message: `No upstream for ${apiKey}`, type: 'api_error' } },
  };
  return answers[fault];
}

function isRequest(body: unknown): body is ChatCompletionRequest {
  return typeof body === 'object' && body !== null && 'messages' in body;
}

function turnKey(request: ChatCompletionRequest): string {
  const [line = ''] = firstUserText(request).split('\n', 1);
  return `${request.model} ${line} ${toolResults(request)}`;
}

function toolResults(request: ChatCompletionRequest): number {
  return request.messages.filter((message) => message.role === 'tool').length;
}

function firstUserText(request: ChatCompletionRequest): string {
  const message = request.messages.find(({ role }) => role === 'user');
  return message === undefined ? '' : textOf(message);
}

function textOf({ content }: ChatCompletionRequest['messages'][number]): string {
  return typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');
}
