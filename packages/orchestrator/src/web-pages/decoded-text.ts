/** Turns the body of an answer into characters, and what was read into a text that is stored. Pure. */
import { replaceHidden } from '@autonomous/shared';

/** Longest text of a page in characters. */
export const MAX_TEXT = 400_000;
const MAX_LINE = 300;
/** HTML states its encoding within its first bytes. */
const META_BYTES = 1_024;
// oxlint-disable-next-line autonomous/linear-expressions -- it is given 1,024 bytes at most, and looks 300 ahead
const META_CHARSET = /<meta\b[^>]{0,300}?\bcharset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})/i;

export interface MediaType {
  /** In lower case without parameters; empty where the answer names none. */
  readonly type: string;
  readonly charset: string | null;
}

export function parseMediaType(header: string | undefined): MediaType {
  const [type = '', ...parameters] = (header ?? '').slice(0, 500).split(';');
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([\w:.-]+)/i.exec(each)?.[1]).find(Boolean);
  return { type: type.trim().toLowerCase(), charset: charset ?? null };
}

/**
 * By a byte order mark, then the header, then the page itself. Without any of them it is UTF-8, or Windows-1252 where that
 * cannot be.
 */
export function decodeText(body: Uint8Array, charset: string | null, isHtml: boolean): string {
  const named = byteOrderMark(body) ?? charset ?? (isHtml ? charsetOfHtml(body) : null);
  const decoder = named === null ? null : decoderOf(named);
  if (decoder !== null) return decoder.decode(body);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return new TextDecoder('windows-1252').decode(body);
  }
}

/** Without control, zero-width and reordering characters, with newlines as line ends, in well-formed Unicode. */
export function cleanText(text: string): { readonly text: string; readonly isCut: boolean } {
  const clean = replaceHidden(text.replaceAll(/\r\n?/g, '\n').replaceAll('\r', ''), () => '').toWellFormed();
  if (clean.length <= MAX_TEXT) return { text: clean, isCut: false };
  // Not in the middle of a character.
  return { text: clean.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, ''), isCut: true };
}

/** A title or a name in one line; empty where nothing is left. */
export function cleanLine(text: string): string {
  const line = cleanText(text.slice(0, 10 * MAX_LINE))
    .text.replaceAll(/\s+/g, ' ')
    .trim();
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE).replace(/[\ud800-\udbff]$/, '')}…` : line;
}

function byteOrderMark(body: Uint8Array): string | null {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return 'utf-8';
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  return body[0] === 0xff && body[1] === 0xfe ? 'utf-16le' : null;
}

function charsetOfHtml(body: Uint8Array): string | null {
  const start = Buffer.from(body.subarray(0, META_BYTES)).toString('latin1');
  const named = META_CHARSET.exec(start)?.[1] ?? null;
  // A page whose first bytes can be read as they are is in neither form of UTF-16 (HTML standard, 13.2.3.2).
  return named !== null && /^utf-16/i.test(named) ? 'utf-8' : named;
}

/** `null` for a name that no browser knows. */
function decoderOf(charset: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(charset);
  } catch {
    return null;
  }
}
