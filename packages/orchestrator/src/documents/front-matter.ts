/** Markdown files that begin with YAML between two lines of dashes, as role files and skills do. Pure. */
import { parseDocument } from 'yaml';

export type FrontMatterFile =
  | { readonly ok: true; readonly fields: Readonly<Record<string, unknown>>; readonly body: string }
  /** The fault, as the rest of a sentence whose subject is the file. */
  | { readonly ok: false; readonly message: string };

const MAX_CHARACTERS = 16_000;
/** The parser's time grows with the cube of the depth. */
const MAX_DEPTH = 40;

/** Reads a file; one without front matter has no fields. */
export function parseFrontMatter(text: string): FrontMatterFile {
  const clean = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  if (!/^---[ \t]*\n/.test(clean)) return { ok: true, fields: {}, body: clean.trim() };
  const lines = clean.split('\n');
  const end = lines.findIndex((line, index) => index > 0 && /^---[ \t]*$/.test(line));
  if (end === -1) return { ok: false, message: 'has front matter that is not closed by a line ---' };
  const yaml = lines.slice(1, end).join('\n');
  const fault = yamlFault(yaml, MAX_CHARACTERS);
  if (fault !== null) return { ok: false, message: `has front matter that ${fault}` };
  const document = parseDocument(yaml);
  if (document.errors.length > 0) {
    const [line = ''] = document.errors[0]?.message.split('\n', 1) ?? [];
    return { ok: false, message: `has front matter that is not valid YAML: ${line}` };
  }
  let fields: unknown;
  try {
    fields = document.toJS() ?? {};
  } catch {
    // Aliases that multiply are refused by the library only when the values are made.
    return { ok: false, message: 'has front matter with too many aliases' };
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    return { ok: false, message: 'has front matter that is not a list of keys with values' };
  return {
    ok: true,
    fields: fields as Readonly<Record<string, unknown>>,
    body: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
  };
}

/**
 * Why YAML of a stranger is not parsed, as the rest of a sentence whose subject is the YAML; `null` when it may be. Within these
 * limits the parser takes seconds at the worst, beyond them hours: `? ` 4,000 times in one line.
 */
export function yamlFault(yaml: string, maxCharacters: number): string | null {
  if (yaml.length > maxCharacters) return `has more than ${maxCharacters} characters`;
  let depth = 0;
  for (const character of yaml) {
    if (character === '[' || character === '{') depth += 1;
    else if ((character === ']' || character === '}') && depth > 0) depth -= 1;
    if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  }
  const isDeep = (line: string): boolean =>
    line.split(/[ \t]/).filter((word) => /^[-?:]$/.test(word)).length > MAX_DEPTH;
  return yaml.split('\n').some(isDeep) ? `is nested deeper than ${MAX_DEPTH} levels` : null;
}
