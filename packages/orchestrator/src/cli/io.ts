/** Environment of a command: its streams, variables and working directory. */
import type { Readable, Writable } from 'node:stream';
import { plainJson } from '@autonomous/shared/presentation';
import { formatTimeline, printable, type TimelineEntry } from './follow/timeline.ts';

export interface CliIo {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  /** Environment variables, those of the `.env` file included. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute folder in which the person stands: relative arguments begin there. */
  readonly cwd: string;
  /** How the person starts this program, for lines that tell them what to type. */
  readonly program: string;
}

export type Output = Writable & { readonly isTTY?: boolean };

/** One line, or several, on stdout. Control characters of others' text are escapes; a terminal's colours in it are taken out. */
export function say(io: CliIo, text: string): void {
  io.stdout.write(`${printable(text)}\n`);
}

/** A line beside the output proper. */
export function note(io: CliIo, text: string): void {
  io.stderr.write(`${printable(text)}\n`);
}

/** JSON on stdout, in which characters that are not seen are escapes: a program reads the same, and a terminal obeys none. */
export function sayJson(io: CliIo, value: unknown, indent: number = 0): void {
  io.stdout.write(`${plainJson(value, indent)}\n`);
}

export function sayEntry(io: CliIo, entry: TimelineEntry & { readonly atMs: number }): void {
  io.stdout.write(`${formatTimeline(entry, { color: hasColor(io.stdout, io.env) })}\n`);
}

/** Is there a person who reads and can answer? */
export function hasPerson(io: CliIo): boolean {
  return io.stdin.isTTY === true && io.stdout.isTTY === true;
}

/** Colour is for terminals that have it and people who have not said no (no-color.org). */
export function hasColor(output: Output, env: CliIo['env']): boolean {
  return output.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}
