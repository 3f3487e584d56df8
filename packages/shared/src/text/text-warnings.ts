/** Hints about a text for the person who decides on it, in clauses without a full stop. */
import { countHidden } from './hidden-characters.ts';
import { reorderedLines } from '../review/reordered-lines.ts';
import { lookAlikeMarks, lookAlikeWords, spelledOut } from './look-alikes.ts';

/** Kinds and words that are named; the rest is a number. */
const NAMED = 5;

/**
 * Hidden characters, words of mixed alphabets, marks that look like plain ones, and lines in which letters that are read from
 * the right reorder others, in a text.
 * @param where such as `in added lines`
 */
export function textWarnings(text: string, where: string): readonly string[] {
  const warnings = new TextWarnings();
  warnings.add(text);
  return warnings.of(where);
}

/** The same of a text that comes in parts, so that a long one can be read with pauses. */
export class TextWarnings {
  readonly #hidden = new Map<string, number>();
  readonly #words = new Set<string>();
  readonly #marks = new Set<string>();
  readonly #reordered = new Set<string>();

  /** @param lines whole lines: no part ends within one */
  add(lines: string): void {
    for (const [kind, count] of countHidden([lines])) this.#hidden.set(kind, (this.#hidden.get(kind) ?? 0) + count);
    const most = NAMED + 1;
    if (this.#words.size < most) for (const word of lookAlikeWords(lines, most)) this.#words.add(word);
    if (this.#marks.size < most) for (const mark of lookAlikeMarks(lines, most)) this.#marks.add(mark);
    if (this.#reordered.size < most) for (const line of reorderedLines(lines, most)) this.#reordered.add(line);
  }

  /** @param where such as `in added lines` */
  of(where: string): readonly string[] {
    return [
      ...hiddenIn([...this.#hidden], where),
      ...lookAlikeWarning([...this.#words], where),
      ...markWarning([...this.#marks].slice(0, NAMED + 1), where),
      ...reorderingWarning([...this.#reordered].slice(0, NAMED + 1), where),
    ];
  }
}

/** The same of hidden characters alone. */
export function hiddenWarning(text: string, where: string): readonly string[] {
  return hiddenIn([...countHidden([text])], where);
}

function hiddenIn(kinds: readonly (readonly [name: string, count: number])[], where: string): readonly string[] {
  const all = kinds.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return [];
  const named = kinds.slice(0, NAMED).map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  const rest = kinds.length > NAMED ? [`${kinds.length - NAMED} other kinds`] : [];
  return [`${all} hidden ${all === 1 ? 'character' : 'characters'} ${where} (${[...named, ...rest].join(', ')})`];
}

function markWarning(marks: readonly string[], where: string): readonly string[] {
  if (marks.length === 0) return [];
  const named = marks.slice(0, NAMED).map((mark) => `'${spelledOut(mark)}'`);
  const rest = marks.length > NAMED ? ' and others' : '';
  return [
    `${marks.length === 1 ? 'a mark or blank' : 'marks or blanks'} that only look like plain ones ${where}: ${named.join(', ')}${rest}`,
  ];
}

function reorderingWarning([line, ...more]: readonly string[], where: string): readonly string[] {
  if (line === undefined) return [];
  const rest =
    more.length === 0
      ? ''
      : ` and ${more.length < NAMED ? more.length : 'more'} other ${more.length === 1 ? 'line' : 'lines'}`;
  return [
    `letters that are read from the right, between which some programs show marks and figures in another order ${where}: '${line}'${rest}`,
  ];
}

function lookAlikeWarning(words: readonly string[], where: string): readonly string[] {
  if (words.length === 0) return [];
  const named = words.slice(0, NAMED).map((word) => `'${spelledOut(word)}'`);
  const rest = words.length > NAMED ? ' and others' : '';
  const what = words.length === 1 ? 'a word that mixes' : 'words that mix';
  return [`${what} letters of several alphabets ${where}: ${named.join(', ')}${rest}`];
}
