/** The Stop hook: refuses that an agent stops while the roadmap of its repository has an item in progress. */
import path from 'node:path';
import { z } from 'zod';
import { EXIT } from '../exit.ts';
import { type CliIo, note, sayJson } from '../io.ts';
import { type HookInput, MAX_INPUT, parseHookInput, readStream } from './hook-input.ts';
import { readState, stateFileOf, writeState } from './hook-state.ts';
import { plainLine } from './plain-line.ts';
import { readRoadmapPhases } from './roadmap-phases.ts';
import { decideStop, type ItemInPhase, type LastAnswer } from './stop-decision.ts';
import { lastMessageOf } from './transcript.ts';

/** Refusals in a row where the person names no other number: the iterations of a phase. */
export const DEFAULT_MAX_BLOCKS = 20;

/** By which Claude Code knows that the agent has to go on, with the error output as the reason. */
const BLOCKS = 2;
const LONGEST_LINE = 300;
const LONGEST_QUOTATION = 100;

const answerSchema = z.object({
  itemId: z.string(),
  phase: z.string(),
  promptId: z.string().nullable(),
  refusals: z.number().int().min(0),
});

type Asked = Extract<HookInput, { readonly kind: 'text' | 'stop' }>;

/**
 * @param maxBlocks refusals in a row, at most, for one prompt, item and phase
 * @returns 0 allows the stop, 2 refuses it; a fault of the hook or of what it reads allows it with a warning
 */
export async function stopHook(io: CliIo, maxBlocks: number = DEFAULT_MAX_BLOCKS): Promise<number> {
  try {
    // A person at a terminal types nothing.
    const input = parseHookInput(io.stdin.isTTY === true ? '' : await readStream(io.stdin, MAX_INPUT));
    if (input.kind === 'other') return EXIT.done;
    if (input.kind === 'unreadable') return warned(io, input, `Could not read the hook's input: ${input.fault}`);
    return await answer(io, input, maxBlocks);
  } catch (error) {
    return warned(io, null, `Could not decide: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function answer(io: CliIo, input: Asked, maxBlocks: number): Promise<number> {
  const event = input.kind === 'stop' ? input : null;
  const roadmap = await readRoadmapPhases(path.resolve(io.cwd, event?.cwd ?? '.'));
  if (roadmap.kind === 'unreadable') return warned(io, input, `Could not read roadmap: ${roadmap.fault}`);
  const sessionId = event?.sessionId ?? null;
  const sessionFile = sessionId === null ? null : stateFileOf(io, 'session', sessionId);
  const decision = decideStop({
    items: roadmap.kind === 'absent' ? [] : roadmap.items,
    said: await saidIn(input),
    promptId: event?.promptId ?? null,
    isContinuation: event?.isContinuation ?? null,
    earlier: sessionFile === null ? null : await readState(sessionFile, answerSchema),
    maxBlocks,
  });
  const isKept = sessionFile !== null && 'answer' in decision && (await isWritten(sessionFile, decision.answer));
  if (decision.allows) {
    if (decision.because !== 'limit') return EXIT.done;
    const { title, phase } = decision.item;
    return warned(
      io,
      input,
      `Stop allowed after ${maxBlocks} refusals in a row: ${quoted(title)} is still in phase ${phase}`,
    );
  }
  // Without a count, Claude Code's own word is all there is to tell a loop.
  if (event?.isContinuation === true && !isKept)
    return warned(
      io,
      input,
      `Stop allowed, since refusals cannot be counted: ${quoted(decision.item.title)} is in progress`,
    );
  block(io, decision.item);
  return BLOCKS;
}

async function saidIn(input: Asked): Promise<string> {
  if (input.kind === 'text') return input.said;
  return input.said ?? (input.transcript === null ? '' : lastMessageOf(input.transcript));
}

async function isWritten(file: string, answer: LastAnswer): Promise<boolean> {
  return writeState(file, answer).then(
    () => true,
    () => false,
  );
}

function block(io: CliIo, { title, phase }: ItemInPhase): void {
  check(io, `Work in progress: ${quoted(title)}`);
  check(io, `Phase: ${/^[a-z-]{1,40}$/.test(phase) ? phase : quoted(phase)}`);
  check(io, 'Complete the phase or output <promise>ABORT</promise> to stop');
}

/** Quotes a text from the repository, so that an agent does not read it as an instruction. */
function quoted(text: string): string {
  return JSON.stringify(plainLine(text, LONGEST_QUOTATION));
}

/** Allows the stop. Claude Code shows the person what stands in `systemMessage`, and not the error output of a hook that ends with 0. */
function warned(io: CliIo, input: HookInput | null, text: string): number {
  const line = check(io, `Warning: ${text}`);
  if (input !== null && input.kind !== 'text') sayJson(io, { systemMessage: line });
  return EXIT.done;
}

/** Writes one line, whatever others wrote into the text. */
function check(io: CliIo, text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  const line = `[autonomous-check] ${flat.length > LONGEST_LINE ? `${flat.slice(0, LONGEST_LINE)}…` : flat}`;
  note(io, line);
  return line;
}
