/** Comments that a person wrote beside the lines of a result, as the feedback of a rejection. */

export interface ReviewNote {
  readonly path: string;
  /** Of the file after the change, from 1; 0 where the comment is about the file as a whole. */
  readonly line: number;
  readonly text: string;
}

/** General words first, then one paragraph a comment, in the order of files and lines. Empty when there is nothing to say. */
export function feedbackOf(general: string, notes: readonly ReviewNote[]): string {
  const inOrder = notes.toSorted((one, other) =>
    one.path === other.path ? one.line - other.line : one.path < other.path ? -1 : 1,
  );
  const paragraphs = inOrder.map(({ path, line, text }) => `${line > 0 ? `${path}:${line}` : path}: ${text.trim()}`);
  return [general.trim(), ...paragraphs].filter((part) => part !== '').join('\n\n');
}
