/** Words of a claim or a passage, with what stands around them. Pure. */
import { readable, SPACELESS } from './normalised-text.ts';

export interface Word {
  readonly text: string;
  /** Characters between the previous word and this one; before the first word, those from the beginning. */
  readonly gap: string;
  /** Characters between this word and the next one, or to the end. */
  readonly after: string;
  /** True for the first word of a sentence, also behind a colon. */
  readonly startsSentence: boolean;
}

/** Letters and digits, with marks that join them: `1,500`, `v2.3`, `AT&T`, `Node.js`, `Jean-Luc`, `10:30`, `C++`. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:[-.,'/&_:^][\p{L}\p{N}\p{M}]+)*(?:\+\+|#)?/gu;

/** The words of a text in the form of `readable`, in order. */
export function wordsOf(text: string): readonly Word[] {
  const plain = withSpacedFigures(readable(text));
  const matches = [...plain.matchAll(WORD)];
  return matches.map((match, index) => {
    const before = matches[index - 1];
    const gap = plain.slice(before === undefined ? 0 : before.index + before[0].length, match.index);
    return {
      text: match[0],
      gap,
      after: plain.slice(match.index + match[0].length, matches[index + 1]?.index ?? plain.length),
      startsSentence: before === undefined || endsSentence(before[0], gap),
    };
  });
}

// oxlint-disable-next-line autonomous/linear-expressions -- a digit, and one character beside it
const BESIDE_FIGURES = new RegExp(`(?<=${SPACELESS.source})(?=\\d)|(?<=\\d)(?=${SPACELESS.source})`, 'gu');

/** Figures of a script without spaces as words of their own, and so are the multipliers behind them: `50億円` is `50 億 円`. */
function withSpacedFigures(text: string): string {
  return text.replace(BESIDE_FIGURES, ' ').replace(/(?<=\d )[千万億亿兆]+/g, '$& ');
}

const ABBREVIATIONS: ReadonlySet<string> = new Set(
  'al approx ca cf co corp dr etc fig gen gov inc jr ltd mr mrs ms no prof rep sen sr st vol vs'.split(' '),
);

/** `Dr. Smith`, `J. Smith` and `U.S. law` go on behind the point. */
function endsSentence(word: string, gap: string): boolean {
  if (/[!?:]/.test(gap)) return true;
  const isShort = word.length === 1 || word.includes('.') || ABBREVIATIONS.has(word.toLowerCase());
  return gap.includes('.') && !(isShort && gap.startsWith('.'));
}
