/** Comments beside the lines of a result, as words of the decision that sends them. */

export interface ReviewNote {
  readonly path: string;
  /** Of the file after the change, from 1; 0 where the comment is about the file as a whole. */
  readonly line: number;
  readonly text: string;
}

/** All comments of a run that are not sent yet have at most so many characters, so that general words have room beside them. */
export const MAX_COMMENTS_CHARACTERS = 16_000;

/** General words first, then one paragraph a comment, in the order of files and lines. Empty when there is nothing to say. */
export function feedbackOf(general: string, notes: readonly ReviewNote[]): string {
  const inOrder = notes.toSorted((one, other) =>
    one.path === other.path ? one.line - other.line : one.path < other.path ? -1 : 1,
  );
  const paragraphs = inOrder.map(paragraphOf);
  return [general.trim(), ...paragraphs].filter((part) => part !== '').join('\n\n');
}

/** Whether these words, made by {@link feedbackOf}, hold the comment. */
export function holdsNote(words: string | undefined, note: ReviewNote): boolean {
  return words !== undefined && `\n\n${words}\n\n`.includes(`\n\n${paragraphOf(note)}\n\n`);
}

function paragraphOf({ path, line, text }: ReviewNote): string {
  return `${line > 0 ? `${path}:${line}` : path}: ${text.trim()}`;
}
