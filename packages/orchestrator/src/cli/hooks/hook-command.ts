/** The command by which Claude Code starts the Stop hook on this machine. */
import path from 'node:path';

const CHECKOUT = import.meta.url.endsWith('.ts') ? path.join(import.meta.dirname, '..', '..', 'main.ts') : null;

/** A command that `hookCommand` may have written, here or on another machine. */
const OURS = /(?:^|[\s'"/\\])(?:autonomous|autonomous-orchestrator|main\.ts)['"]? hook stop(?: --max-blocks \d{1,3})?$/;

export interface HookProgram {
  /** How a person starts the program: `autonomous`, or `npx` with its package. */
  readonly program: string;
  /** The program's file in a checkout, which is named with the Node that runs it; `null` for the published package. */
  readonly checkout: string | null;
  readonly node: string;
}

/** @returns the program as it was started now */
export function thisProgram(program: string): HookProgram {
  return { program, checkout: CHECKOUT, node: process.execPath };
}

/** @param maxBlocks `null`: the default */
export function hookCommand({ program, checkout, node }: HookProgram, maxBlocks: number | null): string {
  const limit = maxBlocks === null ? '' : ` --max-blocks ${maxBlocks}`;
  return `${startOf()} hook stop${limit}`;

  function startOf(): string {
    if (checkout !== null) return `${quoted(node)} ${quoted(checkout)}`;
    // Nobody is there to be asked whether the package may be fetched.
    return program.replace(/^npx /, 'npx --yes ');
  }
}

export function isHookCommand(command: string): boolean {
  return OURS.test(command.trim());
}

/** As a word of a POSIX shell, which Claude Code uses. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
