/** Placeholders that were left in a command: printed commands have `"…"` for words of the person, and the help has `<text>`. */
import type { Command } from 'commander';
import { UsageError } from './exit.ts';

const DOTS = /^[.…][\s.…]*$/;
/** Arguments that are words of the person. */
const WORDS: ReadonlySet<string> = new Set(['text', 'question', 'response', 'request', 'topic']);
/** Options whose values are words of the person. */
const WORD_OPTION = /<(text|decision)>$/;

/** @throws {UsageError} when words of the person are only dots, or only the name that the help has in their place */
export function refusePlaceholders(command: Command): void {
  const refuse = (name: string, value: unknown, shown = name): void => {
    const text = (Array.isArray(value) ? value.join(' ') : String(value)).trim();
    if (DOTS.test(text) || text === `<${shown}>`)
      throw new UsageError(`'${text}' is a placeholder: write the ${name} in its place.`);
  };
  for (const [index, argument] of command.registeredArguments.entries())
    if (WORDS.has(argument.name())) refuse(argument.name(), command.processedArgs[index]);
  for (const option of command.options) {
    const [, shown] = WORD_OPTION.exec(option.flags) ?? [];
    if (shown !== undefined) refuse(option.name(), command.getOptionValue(option.attributeName()), shown);
  }
}
