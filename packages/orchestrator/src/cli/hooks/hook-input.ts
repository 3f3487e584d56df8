/** Reads the inputs of the hooks: JSON as Claude Code sends it, and for the Stop hook plain text as well. */
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { HookEvent } from './claude-hooks.ts';

/** Bytes of the input, at most. */
export const MAX_INPUT = 8_000_000;

const TOO_LARGE = `it has more than ${MAX_INPUT / 1_000_000} MB`;

export type HookInput =
  /** The words of an agent of which nothing else is known. */
  | { readonly kind: 'text'; readonly said: string }
  | {
      readonly kind: 'stop';
      /** Last message of the agent; `null`: it has to be read from the transcript. */
      readonly said: string | null;
      readonly sessionId: string | null;
      readonly promptId: string | null;
      readonly isContinuation: boolean | null;
      /** Folder in which the agent stands. */
      readonly cwd: string | null;
      readonly transcript: string | null;
    }
  /** A hook for another event. */
  | { readonly kind: 'other' }
  | { readonly kind: 'unreadable'; readonly fault: string };

/** The beginning of a compaction, or of a session. */
export type SessionInput =
  | {
      readonly kind: 'session';
      readonly sessionId: string | null;
      /** Folder in which the agent stands. */
      readonly cwd: string | null;
      readonly transcript: string | null;
      /** By whom the compaction was started: `manual` or `auto`. */
      readonly trigger: string | null;
    }
  | { readonly kind: 'other' }
  | { readonly kind: 'unreadable'; readonly fault: string };

// A field of another type counts as absent: a newer Claude Code may send what this one does not know.
const text = z.string().nullable().catch(null);
const inputSchema = z.object({
  hook_event_name: z.string().catch('Stop'),
  last_assistant_message: text,
  session_id: text,
  prompt_id: text,
  stop_hook_active: z.boolean().nullable().catch(null),
  cwd: text,
  transcript_path: text,
});

const sessionSchema = z.object({
  hook_event_name: text,
  session_id: text,
  cwd: text,
  transcript_path: text,
  trigger: text,
});

/** @returns `null` when the stream has more than `maxBytes`; it is read to its end nevertheless, since its writer waits for that */
export async function readStream(stream: Readable, maxBytes: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Buffer | string); // a byte stream has no other chunks
    length += bytes.length;
    if (length <= maxBytes) chunks.push(bytes);
  }
  return length > maxBytes ? null : Buffer.concat(chunks).toString('utf8');
}

/** @param input `null`: it was too large */
export function parseHookInput(input: string | null): HookInput {
  if (input === null) return { kind: 'unreadable', fault: TOO_LARGE };
  if (!input.trimStart().startsWith('{')) return { kind: 'text', said: input };
  let json: unknown;
  try {
    json = JSON.parse(input);
  } catch {
    return { kind: 'unreadable', fault: 'it begins with { and is not JSON' };
  }
  const fields = inputSchema.parse(json);
  if (fields.hook_event_name !== 'Stop') return { kind: 'other' };
  return {
    kind: 'stop',
    said: fields.last_assistant_message,
    sessionId: fields.session_id,
    promptId: fields.prompt_id,
    isContinuation: fields.stop_hook_active,
    cwd: fields.cwd,
    transcript: fields.transcript_path,
  };
}

/** @param input `null`: it was too large @param event the one that the hook is for; others are `other` */
export function parseSessionInput(input: string | null, event: HookEvent): SessionInput {
  if (input === null) return { kind: 'unreadable', fault: TOO_LARGE };
  let json: unknown;
  try {
    json = JSON.parse(input);
  } catch {
    return { kind: 'unreadable', fault: 'it is not JSON' };
  }
  const fields = sessionSchema.safeParse(json);
  if (!fields.success) return { kind: 'unreadable', fault: 'it is not a JSON object' };
  const { hook_event_name: name, session_id: sessionId, cwd, transcript_path: transcript, trigger } = fields.data;
  if (name !== null && name !== event) return { kind: 'other' };
  return { kind: 'session', sessionId, cwd, transcript, trigger };
}
