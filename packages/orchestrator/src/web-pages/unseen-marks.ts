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

/** The same for HTML, in which they may be written as numbers: no text and no attribute of it has one. */
export function withoutWrittenMarks(html: string): string {
  return withoutOwnMarks(html)
    .replace(/&#(?:x0*2e28|0*11816)(?:;|(?![\da-f]))/gi, '((')
    .replace(/&#(?:x0*2e29|0*11817)(?:;|(?![\da-f]))/gi, '))');
}

/** True where a passage is open at this place of the text. */
export function isUnseenAt(text: string, at: number): boolean {
  const before = text.slice(0, at);
  return before.lastIndexOf(UNSEEN_MARKS.open) > before.lastIndexOf(UNSEEN_MARKS.close);
}
