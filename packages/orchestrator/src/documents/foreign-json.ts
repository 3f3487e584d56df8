/**
 * Parses JSON that others may have written. Deep nesting is refused before it is parsed: later code follows each level by a call, and
 * the stack of the process ends at some thousand. Pure.
 */

/** Levels of objects and lists. Values of runs have a few dozen. */
const MAX_LEVELS = 500;

export type ForeignJson =
  | { readonly ok: true; readonly value: unknown }
  /** @property message to be read after the name of the text, such as "is not JSON" */
  | { readonly ok: false; readonly message: string };

export function parseForeignJson(text: string): ForeignJson {
  if (isDeep(text)) return { ok: false, message: `is JSON of more than ${MAX_LEVELS} levels` };
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false, message: 'is not JSON' };
  }
}

function isDeep(text: string): boolean {
  let levels = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) isInString = !isInString;
    else if (isInString) at += character === BACKSLASH ? 1 : 0;
    else if (character === BRACKET || character === BRACE) levels += 1;
    else if (character === CLOSING_BRACKET || character === CLOSING_BRACE) levels -= 1;
    if (levels > MAX_LEVELS) return true;
  }
  return false;
}

const [QUOTE, BACKSLASH, BRACKET, BRACE, CLOSING_BRACKET, CLOSING_BRACE] = Array.from('"\\[{]}', (character) =>
  character.charCodeAt(0),
);
