/** Marks in the text of a page around passages that may be invisible: a reader of the page perhaps does not see them. Pure. */

export const UNSEEN_MARKS = { open: '⸨', close: '⸩' } as const;

/** A passage within marks. One that is cut off reaches to the end of the text. */
const PASSAGE = /⸨[^⸨⸩]*(?:⸩|$)/g;

export function markUnseen(text: string): string {
  return `${UNSEEN_MARKS.open}${text}${UNSEEN_MARKS.close}`;
}

/** Joins passages that only spaces and line marks of Markdown divide. */
export function joinUnseen(text: string): string {
  return text.replace(/⸩([ \t*_`]{0,9})⸨/g, '$1');
}

/** The text with the words of such passages, and without marks. */
export function withoutMarks(text: string): string {
  return text.replace(/[⸨⸩]/g, '');
}

/** The text in which an empty pair of marks stands for each passage: no quote reaches across it. */
export function seenText(text: string): string {
  return text.replace(PASSAGE, markUnseen(''));
}

/** The words of a page that uses the marks itself. */
export function withoutOwnMarks(text: string): string {
  return text.replaceAll(UNSEEN_MARKS.open, '((').replaceAll(UNSEEN_MARKS.close, '))');
}
