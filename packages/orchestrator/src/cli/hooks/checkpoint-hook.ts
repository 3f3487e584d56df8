/** The PreCompact hook: keeps the transcript of a session and the state of its topic before Claude Code shortens its context. */
import path from 'node:path';
import { EXIT } from '../exit.ts';
import { type CliIo, note } from '../io.ts';
import { readLastLines } from './bounded-file.ts';
import { shortId, writeCheckpoint } from './checkpoint-files.ts';
import { MAX_INPUT, parseSessionInput, readStream, type SessionInput } from './hook-input.ts';
import { openTopicOf } from './open-topic.ts';
import { plainLine } from './plain-line.ts';
import { scrubbedLines } from './scrubbed-lines.ts';

/** Bytes of a transcript that are kept, from its end. */
const MAX_TRANSCRIPT = 8_000_000;
/** Milliseconds for taking secrets out, which the person waits for. */
const MAX_SCRUB_MS = 20_000;
const LONGEST_TRIGGER = 20;
const LONGEST_FAULT = 300;

type Session = Extract<SessionInput, { readonly kind: 'session' }>;

/**
 * Writes nothing to stdout, which Claude Code would take for instructions to its summary.
 * @returns 0, also when the checkpoint cannot be written; 1 for an input that cannot be read. Never 2, which would stop the compaction
 */
export async function checkpointHook(io: CliIo): Promise<number> {
  try {
    const input = parseSessionInput(io.stdin.isTTY === true ? '' : await readStream(io.stdin, MAX_INPUT), 'PreCompact');
    if (input.kind === 'unreadable')
      return complain(io, `Could not read the hook's input: ${input.fault}`, EXIT.notDone);
    if (input.kind === 'session') await keep(io, input);
    return EXIT.done;
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    return complain(io, `No checkpoint was written: ${fault}`, EXIT.done);
  }
}

async function keep(io: CliIo, session: Session): Promise<void> {
  const topic = await openTopicOf(path.resolve(io.cwd, session.cwd ?? '.'));
  if (topic === null) return;
  const transcript = await transcriptOf(io, session);
  const at = new Date();
  const { sessionId, trigger } = session;
  const by = trigger === null ? '' : ` (${plainLine(trigger, LONGEST_TRIGGER)})`;
  const phase = topic.phase === null ? '' : `, ${topic.phase}`;
  const kept = (file: string): string =>
    transcript.lines === null ? `no transcript: ${transcript.fault}` : `${file}, ${transcript.about}`;
  await writeCheckpoint(topic, {
    at,
    sessionId,
    lines: transcript.lines,
    logLine: (file) =>
      `${at.toISOString()} Checkpoint before compaction${by}, session ${shortId(sessionId)}${phase}: ${kept(file)}`,
  });
}

type Transcript =
  | { readonly lines: readonly string[]; readonly about: string }
  | { readonly lines: null; readonly fault: string };

async function transcriptOf({ env, cwd }: CliIo, { transcript }: Session): Promise<Transcript> {
  if (transcript === null) return { lines: null, fault: 'Claude Code named none' };
  const read = await readLastLines(path.resolve(cwd, transcript), MAX_TRANSCRIPT);
  if (read.kind === 'absent') return { lines: null, fault: `${plainLine(transcript, LONGEST_FAULT)} is not there` };
  if (read.kind === 'unreadable') return { lines: null, fault: plainLine(read.fault, LONGEST_FAULT) };
  const { lines, isCut } = scrubbedLines(wholeOf(read.lines), env, MAX_SCRUB_MS);
  const count = `${lines.length} line${lines.length === 1 ? '' : 's'}`;
  return { lines, about: isCut || read.isCut ? `its last ${count}` : count };
}

/** Without a last line that Claude Code has not written to its end yet. */
function wholeOf(lines: readonly string[]): readonly string[] {
  try {
    JSON.parse(lines.at(-1) ?? '{}');
    return lines;
  } catch {
    return lines.slice(0, -1);
  }
}

function complain(io: CliIo, text: string, exitCode: number): number {
  note(io, `[autonomous-checkpoint] ${plainLine(text, LONGEST_FAULT)}`);
  return exitCode;
}
