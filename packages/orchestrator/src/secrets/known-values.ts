/**
 * Finds values that are known in a text, however they are dressed: in other case, backwards, in hex, percent or base64 form,
 * wrapped at any width or spaced out, base64 twice over. Letters and digits alone are compared, and one pass of a rolling
 * hash looks for all forms of all values at once, so that time grows with the text alone. Pure.
 */

export interface Span {
  /** Index of the first character. */
  readonly start: number;
  /** Index behind the last. */
  readonly end: number;
}

/** Characters of a form that are hashed; every form is longer. */
const WINDOW = 10;
/** Letters and digits that a value has at least to be looked for in other dress: fewer are too likely in ordinary words. */
const MIN_LENGTH = 12;
const LINE_WIDTH = 76;
const TABLE_BITS = 16;
const FACTOR = 0x01000193;

/** Compiles the search once for many texts. Spans are in order and do not overlap. */
export function createKnownValueSearch(values: readonly string[]): (text: string) => readonly Span[] {
  const forms = [...new Set(values.flatMap(formsOf))].filter((form) => form.length >= MIN_LENGTH);
  if (forms.length === 0) return () => [];
  const byHash = Map.groupBy(forms, (form) => hashOf(form));
  const table = new Uint8Array(1 << TABLE_BITS);
  for (const hash of byHash.keys()) table[hash >>> (32 - TABLE_BITS)] = 1;
  return (text) => {
    const folded = fold(text);
    const spans: Span[] = [];
    let hash = 0;
    let next = 0;
    for (let at = 0; at < folded.length; at += 1) {
      hash = (Math.imul(hash, FACTOR) + folded.codes.charCodeAt(at)) | 0;
      if (at >= WINDOW) hash = (hash - Math.imul(folded.codes.charCodeAt(at - WINDOW), OLDEST)) | 0;
      const start = at - WINDOW + 1;
      if (start < next || table[hash >>> (32 - TABLE_BITS)] === 0) continue;
      const form = byHash.get(hash)?.find((each) => folded.codes.startsWith(each, start));
      if (form === undefined) continue;
      next = start + form.length;
      spans.push({ start: folded.positions[start] ?? 0, end: (folded.positions[next - 1] ?? 0) + 1 });
    }
    return spans;
  };
}

/** Factor of the oldest character when it leaves the window: `FACTOR` to the power of `WINDOW`, in 32 bits. */
const OLDEST = Array.from({ length: WINDOW }).reduce<number>((power) => Math.imul(power, FACTOR), 1);

function hashOf(form: string): number {
  let hash = 0;
  for (let at = 0; at < WINDOW; at += 1) hash = (Math.imul(hash, FACTOR) + form.charCodeAt(at)) | 0;
  return hash;
}

interface Folded {
  /** Lower-case letters and digits of the text; a quotation mark or brace stands for itself, so that no form reaches over it. */
  readonly codes: string;
  readonly length: number;
  /** Where each of them stands in the text. */
  readonly positions: Int32Array;
}

/** Escapes that stand between the digits of a form: `\n` in JSON, `\x41` and `0x41` in dumps. */
const ESCAPES = new Set(['\\n', '\\r', '\\t', '\\x', '0x', '0X']);

function fold(text: string): Folded {
  const bytes = Buffer.allocUnsafe(text.length);
  const positions = new Int32Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code === BACKSLASH || code === ZERO) && ESCAPES.has(text.slice(at, at + 2))) {
      at += 1;
      continue;
    }
    const folded = code < FOLDED.length ? (FOLDED[code] ?? 0) : 0;
    if (folded === 0) continue;
    bytes[length] = folded;
    positions[length] = at;
    length += 1;
  }
  return { codes: bytes.toString('latin1', 0, length), length, positions };
}

const BACKSLASH = 92;
const ZERO = 48;
const FOLDED = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[A-Za-z0-9"{}]/.test(character) ? character.toLowerCase().charCodeAt(0) : 0;
});

/** Only letters and digits, in lower case: what a text is compared in. */
function formsOf(value: string): readonly string[] {
  const once = [0, 1, 2].map((offset) => base64At(value, offset));
  const twice = once
    .flatMap((inner) => [inner, wrapped(inner)])
    .flatMap((inner) => [0, 1, 2].map((offset) => base64At(inner, offset)));
  const plain = lettersOf(value);
  // Of a value that is half punctuation too little is left to know it by.
  const own = plain.length * 4 >= value.length * 3 ? [plain, Array.from(plain).toReversed().join('')] : [];
  return [...own, Buffer.from(value, 'utf8').toString('hex'), ...[...once, ...twice].map(lettersOf)];
}

/** Base64 of the value inside a longer text that has `offset` bytes (modulo 3) before it, without the digits that its neighbours share. */
function base64At(value: string, offset: number): string {
  const shifted = Buffer.concat([Buffer.alloc(offset), Buffer.from(value, 'utf8')]);
  return shifted.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
}

function wrapped(text: string): string {
  const lines = Array.from({ length: Math.ceil(text.length / LINE_WIDTH) }, (_, index) =>
    text.slice(index * LINE_WIDTH, (index + 1) * LINE_WIDTH),
  );
  return lines.join('\n');
}

function lettersOf(text: string): string {
  return fold(text).codes.replaceAll(/["{}]/g, '');
}
