/** The commands by which Claude Code starts the hooks on this machine. */
import path from 'node:path';
import { type Hook, type HookEvent, HOOKS } from './claude-hooks.ts';

const CHECKOUT = import.meta.url.endsWith('.ts') ? path.join(import.meta.dirname, '..', '..', 'main.ts') : null;

/** A command that `hookCommands` may have written, here or on another machine. */
const OURS =
  /(?:^|[\s'"/\\])(?:autonomous(?:-orchestrator|\.js)?|main\.ts)['"]? hook (stop|checkpoint|resume)(?: --max-blocks \d{1,3})?$/;

export interface HookProgram {
  /** How a person starts the program: `autonomous`, `npx` with its package, or `node` with its file. */
  readonly program: string;
  /** The program's file in a checkout, which is named with the Node that runs it; `null` for the published package. */
  readonly checkout: string | null;
  readonly node: string;
}

/** The command of each hook. */
export type HookCommands = Readonly<Record<HookEvent, string>>;

/** @returns the program as it was started now */
export function thisProgram(program: string): HookProgram {
  return { program, checkout: CHECKOUT, node: process.execPath };
}

/** @param maxBlocks refusals of a stop in a row; `null`: the default */
export function hookCommands({ program, checkout, node }: HookProgram, maxBlocks: number | null): HookCommands {
  const limit = maxBlocks === null ? '' : ` --max-blocks ${maxBlocks}`;
  const start = startOf();
  return {
    Stop: `${start} hook stop${limit}`,
    PreCompact: `${start} hook checkpoint`,
    SessionStart: `${start} hook resume`,
  };

  function startOf(): string {
    if (checkout !== null) return `${quoted(node)} ${quoted(checkout)}`;
    // Nobody is there to be asked whether the package may be fetched.
    return program.replace(/^npx /, 'npx --yes ');
  }
}

/** @returns the hook whose command this is; `null` for commands of others */
export function hookOfCommand(command: string): Hook | null {
  const [, subcommand] = OURS.exec(command.trim()) ?? [];
  return HOOKS.find((hook) => hook.subcommand === subcommand) ?? null;
}

/** As a word of a POSIX shell, which Claude Code uses. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
