/** Placeholders that were left in a command: printed commands have `"…"` for words of the person, and the help has `<text>`. */
import type { Command } from 'commander';
import { UsageError } from './exit.ts';

const PLACEHOLDER = /^(?:[.…][\s.…]*|<[^<>]+>)$/;
/** Arguments that are words of the person. */
const WORDS: ReadonlySet<string> = new Set(['text', 'question', 'response', 'request', 'topic']);
/** Options whose values are words of the person. */
const WORD_OPTION = /<(?:text|decision)>$/;

/** @throws {UsageError} when words of the person are only dots, or only a name in angle brackets */
export function refusePlaceholders(command: Command): void {
  const refuse = (name: string, value: unknown): void => {
    const text = (Array.isArray(value) ? value.join(' ') : String(value)).trim();
    if (PLACEHOLDER.test(text)) throw new UsageError(`'${text}' is a placeholder: write the ${name} in its place.`);
  };
  for (const [index, argument] of command.registeredArguments.entries())
    if (WORDS.has(argument.name())) refuse(argument.name(), command.processedArgs[index]);
  for (const option of command.options)
    if (WORD_OPTION.test(option.flags)) refuse(option.name(), command.getOptionValue(option.attributeName()));
}
