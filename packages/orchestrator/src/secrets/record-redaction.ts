/**
 * Replaces what looks like a secret in lines of JSON by `[secret: RULE]`, by the rules of `secret-scan.ts` and by values that are
 * known. Strings are read as they are, without the escapes of JSON, and a line stays valid JSON. Runs in the worker of
 * `foreign-text.ts`.
 */
import { createKnownValueSearch } from './known-values.ts';
import { findSpans, type ScannedText } from './secret-scan.ts';
import type { SecretSpan } from './secrets.ts';

export interface RedactionTask {
  /** JSON texts; one that is no JSON is read as plain text. */
  readonly lines: readonly string[];
  /** Values that are replaced wherever they stand, plain or in other dress. */
  readonly values: readonly string[];
  /** Whether the rules are applied as well. */
  readonly byRules: boolean;
}

export interface Redacted {
  /** The lines that were changed, by their index. */
  readonly changed: readonly (readonly [index: number, line: string])[];
  /** Values that the rules found, fit to be looked for elsewhere. */
  readonly found: readonly string[];
}

/** Of a value that is looked for elsewhere: shorter ones are parts of ordinary words, longer ones are looked for by their rules alone. */
const VALUE_LENGTH = { least: 8, most: 512 };
const KNOWN = 'found elsewhere';
/** A finding that reaches over several strings, such as a private key in pieces, leaves kinds, times and ids as they are. */
const LEAST_PIECE = 40;
/** Object keys that look like names in a program hold no secret. */
const PLAIN_KEY = /^[A-Za-z_]{1,24}$/;
/** Keys that mark their string as a secret. The rules see key and string on one line. */
const TELLING_KEY = /secret|token|passw|passphrase|pwd|api_?key|private_?key|credential/i;

/** The lines without secrets, as far as these rules and values know them. */
export async function redactLines({ lines, values, byRules }: RedactionTask): Promise<Redacted> {
  const text = new Gathered(lines);
  const byRule = byRules ? await findSpans(text.whole) : [];
  const marks = text.split([...byRule, ...knownSpans(text.whole, values)].sort((a, b) => a.start - b.start));
  return { changed: text.changed(marks), found: valuesOf(text.whole, byRule) };
}

/** The secrets themselves in files, fit to be looked for elsewhere. */
export async function findSecretValues(texts: readonly ScannedText[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const { content } of texts) {
    const text = typeof content === 'string' ? content : Buffer.from(content).toString('utf8');
    for (const value of valuesOf(text, await findSpans(text))) found.add(value);
  }
  return [...found];
}

function valuesOf(text: string, spans: readonly SecretSpan[]): readonly string[] {
  const values = spans
    .filter(({ start, end }) => end - start >= VALUE_LENGTH.least && end - start <= VALUE_LENGTH.most)
    .map(({ start, end }) => text.slice(start, end));
  // One of letters or of digits alone may well be a word or a number of somebody else.
  return [...new Set(values)].filter((value) => /[A-Za-z]/.test(value) && /\d/.test(value) && !value.includes('\n'));
}

function knownSpans(text: string, values: readonly string[]): readonly SecretSpan[] {
  if (values.length === 0) return [];
  const dressed = createKnownValueSearch(values)(text).map((span) => ({ ...span, rule: KNOWN }));
  const plain = values.flatMap((value) => {
    const spans: SecretSpan[] = [];
    for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length))
      spans.push({ rule: KNOWN, start: at, end: at + value.length });
    return spans;
  });
  return [...dressed, ...plain];
}

/** A string of a line, and where it stands in the text that is looked through. */
interface Piece {
  readonly line: number;
  readonly start: number;
  readonly text: string;
}

type Parsed = { readonly json: unknown } | null;

/** All strings of the lines as one text: one search for all of them. A quotation mark stands between two, over which no value reaches. */
class Gathered {
  readonly whole: string;
  readonly #lines: readonly string[];
  readonly #parsed: readonly Parsed[];
  readonly #pieces: readonly Piece[];

  constructor(lines: readonly string[]) {
    const pieces: Piece[] = [];
    const parts: string[] = [];
    let length = 0;
    const say = (part: string): void => {
      parts.push(part);
      length += part.length;
    };
    this.#lines = lines;
    this.#parsed = lines.map(parse);
    for (const [line, parsed] of this.#parsed.entries()) {
      const add = (text: string, key: string | null): string => {
        if (key !== null && TELLING_KEY.test(key) && text.length <= VALUE_LENGTH.most) say(`${key}: "`);
        pieces.push({ line, start: length, text });
        say(`${text}"\n"\n`);
        return text;
      };
      if (parsed === null) add(lines[line] ?? '', null);
      else mapStrings(parsed.json, add);
    }
    this.#pieces = pieces;
    this.whole = parts.join('');
  }

  /** The spans of each piece, relative to it, by its index; spans come in order of their starts. */
  split(spans: readonly SecretSpan[]): ReadonlyMap<number, readonly SecretSpan[]> {
    const marks = new Map<number, SecretSpan[]>();
    let first = 0;
    for (const { rule, start, end } of spans) {
      while (first < this.#pieces.length && endOf(this.#pieces[first]) <= start) first += 1;
      for (let index = first; index < this.#pieces.length; index += 1) {
        const piece = this.#pieces[index];
        if (piece === undefined || piece.start >= end) break;
        const isInside = piece.start <= start && end <= endOf(piece);
        if (!isInside && piece.text.length < LEAST_PIECE && end - start > VALUE_LENGTH.most) continue;
        const mark = {
          rule,
          start: Math.max(0, start - piece.start),
          end: Math.min(piece.text.length, end - piece.start),
        };
        const known = marks.get(index);
        if (known) known.push(mark);
        else marks.set(index, [mark]);
      }
    }
    return marks;
  }

  changed(marks: ReadonlyMap<number, readonly SecretSpan[]>): readonly (readonly [index: number, line: string])[] {
    const lines = new Set([...marks.keys()].map((index) => this.#pieces[index]?.line ?? 0));
    const firstPiece = new Map<number, number>();
    for (const [index, { line }] of this.#pieces.entries())
      if (lines.has(line) && !firstPiece.has(line)) firstPiece.set(line, index);
    return [...lines].map((line) => {
      let index = firstPiece.get(line) ?? 0;
      const redacted = (text: string): string => marked(text, marks.get(index++) ?? []);
      const parsed = this.#parsed[line] ?? null;
      if (parsed === null) return [line, redacted(this.#lines[line] ?? '')] as const;
      return [line, JSON.stringify(mapStrings(parsed.json, redacted))] as const;
    });
  }
}

function endOf(piece: Piece | undefined): number {
  return piece === undefined ? 0 : piece.start + piece.text.length;
}

function marked(text: string, spans: readonly SecretSpan[]): string {
  let kept = '';
  let at = 0;
  for (const { rule, start, end } of spans) {
    if (end <= at) continue;
    // Findings that overlap are one.
    kept += start < at ? '' : `${text.slice(at, start)}[secret: ${rule}]`;
    at = end;
  }
  return kept + text.slice(at);
}

function parse(line: string): Parsed {
  try {
    return { json: JSON.parse(line) as unknown };
  } catch {
    return null;
  }
}

/** The value with each of its strings, and the keys that are no plain names, replaced; in the order in which JSON has them. */
function mapStrings(
  value: unknown,
  map: (text: string, key: string | null) => string,
  key: string | null = null,
): unknown {
  if (typeof value === 'string') return map(value, key);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: unknown) => mapStrings(each, map, key));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]: [string, unknown]) => {
      const mapped = PLAIN_KEY.test(name) ? name : map(name, null);
      return [mapped, mapStrings(each, map, name)];
    }),
  );
}
