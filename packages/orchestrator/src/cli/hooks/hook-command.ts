/** The commands by which Claude Code starts the hooks on this machine. */
import path from 'node:path';
import { shellWord } from '@autonomous/shared/presentation';
import { type Hook, type HookEvent, HOOKS } from './claude-hooks.ts';

const CHECKOUT = import.meta.url.endsWith('.ts') ? path.join(import.meta.dirname, '..', '..', 'main.ts') : null;

/** A word of a command as `shellWord` writes it, with the blank after it. */
const WORD = /([\w@%+=:,./-]+|'(?:[^']|'\\'')*')(?: +|$)/y;
const NAMES: ReadonlySet<string> = new Set(['autonomous', 'autonomous-orchestrator']);

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
    if (checkout !== null) return `${shellWord(node)} ${shellWord(checkout)}`;
    // Nobody is there to be asked whether the package may be fetched.
    return program.replace(/^npx /, 'npx --yes ');
  }
}

/** @returns the hook whose command this is, as `hookCommands` may have written it, here or on another machine; `null` for others */
export function hookOfCommand(command: string): Hook | null {
  const words = wordsOf(command.trim());
  const at = words.lastIndexOf('hook');
  const [subcommand, option, limit, ...more] = words.slice(at + 1);
  const isLimited = option === '--max-blocks' && /^\d{1,3}$/.test(limit ?? '') && more.length === 0;
  if (at < 0 || (option !== undefined && !isLimited) || !startsThisProgram(words.slice(0, at))) return null;
  return HOOKS.find((hook) => hook.subcommand === subcommand) ?? null;
}

/** @returns none where the command has anything but plain and quoted words */
function wordsOf(command: string): readonly string[] {
  const words: string[] = [];
  WORD.lastIndex = 0;
  while (WORD.lastIndex < command.length) {
    const [, word = ''] = WORD.exec(command) ?? [];
    if (word === '') return [];
    words.push(word.startsWith("'") ? word.slice(1, -1).replaceAll(String.raw`'\''`, "'") : word);
  }
  return words;
}

function startsThisProgram(words: readonly string[]): boolean {
  const file = words.at(-1) ?? '';
  const starter = words.slice(0, -1);
  if (NAMES.has(path.posix.basename(file))) return ['', 'npx', 'npx --yes'].includes(starter.join(' '));
  const isOurFile = file.endsWith('/src/main.ts') || /[\\/]autonomous\.js$/.test(file);
  return isOurFile && starter.length === 1 && /(?:^|[\\/ ])node(?:js)?(?:\.exe)?$/.test(starter[0] ?? '');
}
