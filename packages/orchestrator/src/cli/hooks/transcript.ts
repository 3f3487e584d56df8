/** Finds the last message of the agent in a transcript of Claude Code, for versions that do not send it with the event. */
import { z } from 'zod';
import { readTail } from './bounded-file.ts';

/** Bytes from the end of the transcript that are looked at. */
const TAIL = 1_000_000;

const entrySchema = z.object({
  type: z.string(),
  isSidechain: z.boolean().optional().catch(undefined),
  message: z.object({ content: z.unknown() }).optional().catch(undefined),
});
const partSchema = z.object({ type: z.literal('text'), text: z.string() });

/** @returns the empty text when there is no such message, or no such file */
export async function lastMessageOf(transcript: string): Promise<string> {
  const read = await readTail(transcript, TAIL);
  return read.kind === 'read' ? lastMessageIn(read.text) : '';
}

/** @param lines entries of a transcript as JSON Lines, the first of them perhaps cut */
export function lastMessageIn(lines: string): string {
  for (const line of lines.split('\n').toReversed()) {
    const entry = entryOf(line);
    if (entry === null || entry.isSidechain === true) continue;
    // Words before the last prompt belong to an earlier turn.
    if (entry.type === 'user') return '';
    const said = entry.type === 'assistant' ? textOf(entry.message?.content) : '';
    if (said !== '') return said;
  }
  return '';
}

function entryOf(line: string): z.infer<typeof entrySchema> | null {
  if (line.trim() === '') return null;
  try {
    return entrySchema.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.flatMap((part: unknown) => partSchema.safeParse(part).data?.text ?? []).join('\n');
}
