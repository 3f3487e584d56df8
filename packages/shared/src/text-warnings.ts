/** What a person should know of a text before they decide on it, in clauses without a full stop. */
import { countHidden } from './hidden-characters.ts';
import { reorderedLines } from './reordered-lines.ts';
import { lookAlikeMarks, lookAlikeWords, spelledOut } from './look-alikes.ts';

/** Kinds and words that are named; the rest is a number. */
const NAMED = 5;

/**
 * Hidden characters, words of mixed alphabets, marks that look like plain ones, and lines in which letters that are read from
 * the right reorder others, in a text.
 * @param where such as `in added lines`
 */
export function textWarnings(text: string, where: string): readonly string[] {
  return [
    ...hiddenWarning(text, where),
    ...lookAlikeWarning(text, where),
    ...markWarning(text, where),
    ...reorderingWarning(text, where),
  ];
}

/** The same of hidden characters alone. */
export function hiddenWarning(text: string, where: string): readonly string[] {
  const kinds = [...countHidden([text])];
  const all = kinds.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return [];
  const named = kinds.slice(0, NAMED).map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  const rest = kinds.length > NAMED ? [`${kinds.length - NAMED} other kinds`] : [];
  return [`${all} hidden ${all === 1 ? 'character' : 'characters'} ${where} (${[...named, ...rest].join(', ')})`];
}

function markWarning(text: string, where: string): readonly string[] {
  const marks = lookAlikeMarks(text, NAMED + 1);
  if (marks.length === 0) return [];
  const named = marks.slice(0, NAMED).map((mark) => `'${spelledOut(mark)}'`);
  const rest = marks.length > NAMED ? ' and others' : '';
  return [
    `${marks.length === 1 ? 'a mark or blank' : 'marks or blanks'} that only look like plain ones ${where}: ${named.join(', ')}${rest}`,
  ];
}

function reorderingWarning(text: string, where: string): readonly string[] {
  const [line, ...more] = reorderedLines(text, NAMED + 1);
  if (line === undefined) return [];
  const rest =
    more.length === 0
      ? ''
      : ` and ${more.length < NAMED ? more.length : 'more'} other ${more.length === 1 ? 'line' : 'lines'}`;
  return [
    `letters that are read from the right, between which some programs show marks and figures in another order ${where}: '${line}'${rest}`,
  ];
}

function lookAlikeWarning(text: string, where: string): readonly string[] {
  const words = lookAlikeWords(text, NAMED + 1);
  if (words.length === 0) return [];
  const named = words.slice(0, NAMED).map((word) => `'${spelledOut(word)}'`);
  const rest = words.length > NAMED ? ' and others' : '';
  const what = words.length === 1 ? 'a word that mixes' : 'words that mix';
  return [`${what} letters of several alphabets ${where}: ${named.join(', ')}${rest}`];
}
