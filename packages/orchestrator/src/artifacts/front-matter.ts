/** Markdown files that begin with YAML between two lines of dashes, as role files and skills do. Pure. */
import { parseDocument } from 'yaml';

export type FrontMatterFile =
  | { readonly ok: true; readonly fields: Readonly<Record<string, unknown>>; readonly body: string }
  /** What is wrong, as the rest of a sentence whose subject is the file. */
  | { readonly ok: false; readonly message: string };

/** Reads a file; one without front matter has no fields. */
export function parseFrontMatter(text: string): FrontMatterFile {
  const clean = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  if (!/^---[ \t]*\n/.test(clean)) return { ok: true, fields: {}, body: clean.trim() };
  const match = /^---[ \t]*\n([\s\S]*?)^---[ \t]*(?:\n|$)/m.exec(clean);
  if (match === null) return { ok: false, message: 'has front matter that is not closed by a line ---' };
  const document = parseDocument(match[1] ?? '');
  if (document.errors.length > 0) {
    const [line = ''] = document.errors[0]?.message.split('\n', 1) ?? [];
    return { ok: false, message: `has front matter that is no YAML: ${line}` };
  }
  let fields: unknown;
  try {
    fields = document.toJS() ?? {};
  } catch {
    // Aliases that multiply are refused by the library only when the values are made.
    return { ok: false, message: 'has front matter with too many aliases' };
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    return { ok: false, message: 'has front matter that is no list of keys with values' };
  return { ok: true, fields: fields as Readonly<Record<string, unknown>>, body: clean.slice(match[0].length).trim() };
}
