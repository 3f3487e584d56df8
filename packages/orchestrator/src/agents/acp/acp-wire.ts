/**
 * The lines of an external agent as messages of the protocol. What is no message is passed over: an agent may print by mistake.
 * Only what somebody waits for goes on to the SDK, which writes everything else to the console of the server.
 */
import { type AnyMessage, methods, type Stream } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import type { SandboxProcess } from '../../sandboxes/sandbox.ts';

/** Update that a session sends; each kind has its own fields. */
export type SessionUpdate = z.output<typeof updateSchema>['update'];

export interface WireListener {
  readonly onUpdate: (sessionId: string, update: SessionUpdate) => void;
  /** Called with each line that is not a message, or is an unexpected one. */
  readonly onMalformedLine: (line: string) => void;
}

/** Longest line, in characters. A longer one would fill the server's memory. */
const LONGEST_LINE_CHARACTERS = 32 * 1024 * 1024;

const updateSchema = z.object({ sessionId: z.string(), update: z.looseObject({ sessionUpdate: z.string() }) });

const messageSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
});

export function agentStream(
  { stdin, stdout }: Pick<SandboxProcess, 'stdin' | 'stdout'>,
  listener: WireListener,
): Stream {
  const encoder = new TextEncoder();
  const writer = stdin.getWriter();
  /** Requests of ours that have no answer yet. */
  const awaited = new Set<unknown>();
  return {
    readable: ReadableStream.from(messagesOf(stdout, awaited, listener)),
    writable: new WritableStream<AnyMessage>({
      write: (message) => {
        if ('method' in message && 'id' in message) awaited.add(message.id);
        return writer.write(encoder.encode(`${JSON.stringify(message)}\n`));
      },
    }),
  };
}

async function* messagesOf(
  stdout: ReadableStream<Uint8Array>,
  awaited: Set<unknown>,
  { onUpdate, onMalformedLine }: WireListener,
): AsyncGenerator<AnyMessage> {
  for await (const line of linesOf(stdout)) {
    const message = parseMessage(line);
    const update = message?.method === methods.client.session.update ? updateSchema.safeParse(message.params) : null;
    if (update?.success) onUpdate(update.data.sessionId, update.data.update);
    else if (message !== null && update === null && (message.method !== undefined || awaited.delete(message.id))) {
      // The SDK itself checks what a message of each method has to hold.
      yield message as AnyMessage;
    } else if (line.trim() !== '') onMalformedLine(line);
  }
}

async function* linesOf(stdout: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending: string[] = [];
  let length = 0;
  for await (const bytes of stdout) {
    const [first = '', ...rest] = decoder.decode(bytes, { stream: true }).split('\n');
    pending.push(first);
    length += first.length;
    if (length > LONGEST_LINE_CHARACTERS)
      throw new Error(`the agent wrote a line of more than ${LONGEST_LINE_CHARACTERS} characters`);
    for (const next of rest) {
      yield pending.join('');
      pending = [next];
      length = next.length;
    }
  }
}

function parseMessage(line: string): z.output<typeof messageSchema> | null {
  if (!line.trimStart().startsWith('{')) return null;
  try {
    const parsed = messageSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
