/**
 * Prose of agents: plain text with a small subset of Markdown (paragraphs, headings, lists, fenced code, strong and emphasised
 * text, inline code, links) in which `[F12]` cites a finding. Everything else is text. Pure, in linear time.
 */

export type Inline =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'emphasis'; readonly content: readonly Inline[] }
  /** One citation of several findings. */
  | { readonly kind: 'findings'; readonly ids: readonly string[] }
  /** `label` is the text of a link; absent for an address that stands by itself. */
  | { readonly kind: 'address'; readonly address: string; readonly label?: string };

export type Block =
  | { readonly kind: 'paragraph' | 'heading'; readonly content: readonly Inline[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly kind: 'code'; readonly lines: readonly string[] };

const FENCE = /^ {0,3}(```|~~~)/;
const HEADING = /^ {0,3}#{1,6} /;
const ITEM = /^ {0,8}(?:[-*+]|(\d{1,3})[.)]) /;

/** Blocks of the text, in order; lists are flat. A paragraph ends at an empty line, a heading, a list or a fence. */
export function parseProse(text: string): readonly Block[] {
  const blocks: Block[] = [];
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/);
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    if (line.trim() === '') {
      at += 1;
    } else if (FENCE.test(line)) {
      const end = endOfFence(lines, at);
      blocks.push({ kind: 'code', lines: lines.slice(at + 1, end) });
      at = end + 1;
    } else if (HEADING.test(line)) {
      blocks.push({ kind: 'heading', content: parseInline(line.replace(HEADING, '').trim()) });
      at += 1;
    } else if (ITEM.test(line)) {
      const list = listAt(lines, at);
      blocks.push(list.block);
      at = list.end;
    } else {
      const end = endOfParagraph(lines, at);
      blocks.push({ kind: 'paragraph', content: parseInline(lines.slice(at, end).join('\n')) });
      at = end;
    }
  }
  return blocks;
}

/** Ids of the findings that the text cites, each once, in the order of their first citation. */
export function findingsCitedIn(text: string): readonly string[] {
  const ids = inlinesOf(parseProse(text)).flatMap((inline) => (inline.kind === 'findings' ? inline.ids : []));
  return [...new Set(ids)];
}

/** Addresses of the web in the text, each once. */
export function addressesIn(text: string): readonly string[] {
  const found = inlinesOf(parseProse(text)).flatMap((inline) => (inline.kind === 'address' ? [inline.address] : []));
  return [...new Set(found)];
}

/** All inline parts of blocks, those inside of strong and emphasised text among them. */
export function inlinesOf(blocks: readonly Block[]): readonly Inline[] {
  const deep = (inlines: readonly Inline[]): readonly Inline[] =>
    inlines.flatMap((inline) =>
      inline.kind === 'strong' || inline.kind === 'emphasis' ? deep(inline.content) : [inline],
    );
  return blocks.flatMap((block) => {
    if (block.kind === 'code') return [];
    return deep(block.kind === 'list' ? block.items.flat() : block.content);
  });
}

/** Line of the closing fence, or the number of lines where there is none. */
function endOfFence(lines: readonly string[], begin: number): number {
  const mark = FENCE.exec(lines[begin] ?? '')?.[1] ?? '```';
  const end = lines.findIndex((line, index) => index > begin && line.trim().startsWith(mark));
  return end < 0 ? lines.length : end;
}

function endOfParagraph(lines: readonly string[], begin: number): number {
  const end = lines.findIndex((line, index) => index > begin && isParagraphEnd(line));
  return end < 0 ? lines.length : end;
}

function isParagraphEnd(line: string): boolean {
  return line.trim() === '' || FENCE.test(line) || HEADING.test(line) || ITEM.test(line);
}

function listAt(lines: readonly string[], begin: number): { readonly block: Block; readonly end: number } {
  const ordered = ITEM.exec(lines[begin] ?? '')?.[1] !== undefined;
  const items: string[][] = [];
  let at = begin;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const item = ITEM.exec(line);
    if (item !== null && (item[1] !== undefined) === ordered) items.push([line.slice(item[0].length)]);
    else if (item === null && !isParagraphEnd(line)) items.at(-1)?.push(line.trim());
    else if (line.trim() !== '' || !goesOn(lines[at + 1], ordered)) break;
  }
  return {
    block: { kind: 'list', ordered, items: items.map((item) => parseInline(item.join('\n').trim())) },
    end: at,
  };
}

/** Is the list of which this is the line after an empty one still the same? */
function goesOn(line: string | undefined, ordered: boolean): boolean {
  const item = ITEM.exec(line ?? '');
  return item !== null && (item[1] !== undefined) === ordered;
}

const FINDINGS = /\[(F\d{1,7}(?: ?[,;] ?F\d{1,7}){0,50})\]/y;
const BARE_ADDRESS = /https?:\/\/[^\s<>"`]{1,2000}/y;
const LINK = /\[([^\][\n]{1,300})\]\((https?:\/\/[^\s()<>]{1,2000})\)/y;
const ESCAPED = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}]/u;
const MARKS = ['**', '__', '*', '_'] as const;

/** @param without marks of emphasis that are text here, because this stands inside of them */
function parseInline(text: string, without: readonly string[] = []): readonly Inline[] {
  const inlines: Inline[] = [];
  const closers = new Map(MARKS.map((mark) => [mark, closersOf(text, mark)]));
  const ticks = new Map([
    ['``', placesOf(text, '``')],
    ['`', placesOf(text, '`')],
  ]);
  let plain = '';
  const push = (inline: Inline): void => {
    if (plain !== '') inlines.push({ kind: 'text', text: plain });
    plain = '';
    inlines.push(inline);
  };
  for (let at = 0; at < text.length;) {
    const character = text[at] ?? '';
    if (character === '\\' && ESCAPED.test(text[at + 1] ?? '')) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    const found = codeAt(text, at, ticks) ?? bracketAt(text, at) ?? addressAt(text, at);
    if (found !== null) {
      push(found.inline);
      at = found.end;
      continue;
    }
    const mark = MARKS.find((each) => text.startsWith(each, at) && !without.includes(each));
    const end = mark === undefined ? null : closeOf(text, at, mark, closers.get(mark) ?? []);
    if (mark !== undefined && end !== null) {
      const content = parseInline(text.slice(at + mark.length, end), [...without, mark]);
      push({ kind: mark.length === 2 ? 'strong' : 'emphasis', content });
      at = end + mark.length;
      continue;
    }
    // A mark that opens nothing is passed whole: the second star of a pair is no emphasis.
    plain += mark ?? character;
    at += (mark ?? character).length;
  }
  if (plain !== '') inlines.push({ kind: 'text', text: plain });
  return merged(inlines);
}

interface Found {
  readonly inline: Inline;
  readonly end: number;
}

/** @param ticks places of backticks, first one last, from which those that were passed are removed */
function codeAt(text: string, at: number, ticks: ReadonlyMap<string, number[]>): Found | null {
  const mark = text.startsWith('``', at) ? '``' : text[at] === '`' ? '`' : null;
  if (mark === null) return null;
  const end = nextOf(ticks.get(mark) ?? [], at + mark.length + 1);
  return end === null
    ? null
    : { inline: { kind: 'code', text: text.slice(at + mark.length, end).trim() }, end: end + mark.length };
}

function bracketAt(text: string, at: number): Found | null {
  if (text[at] !== '[') return null;
  FINDINGS.lastIndex = at;
  const cited = FINDINGS.exec(text);
  if (cited?.[1] !== undefined)
    return {
      inline: { kind: 'findings', ids: cited[1].split(/[,;]/).map((id) => id.trim()) },
      end: FINDINGS.lastIndex,
    };
  LINK.lastIndex = at;
  const link = LINK.exec(text);
  if (link?.[1] === undefined || link[2] === undefined) return null;
  return { inline: { kind: 'address', address: link[2], label: link[1] }, end: LINK.lastIndex };
}

function addressAt(text: string, at: number): Found | null {
  if (text[at] !== 'h' || WORD.test(text[at - 1] ?? '')) return null;
  BARE_ADDRESS.lastIndex = at;
  const [found] = BARE_ADDRESS.exec(text) ?? [];
  if (found === undefined) return null;
  const address = withoutEnd(found);
  return URL.canParse(address) ? { inline: { kind: 'address', address }, end: at + address.length } : null;
}

/** Without marks at its end that belong to the sentence around it. */
function withoutEnd(address: string): string {
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1] ?? '';
    if (last === ')' && address.lastIndexOf('(', end) >= 0) break;
    if (!/[.,;:!?'*_)\]}]/.test(last)) break;
  }
  return address.slice(0, end);
}

/** Where a mark of emphasis that opens here is closed; `null` where it opens nothing. */
function closeOf(text: string, at: number, mark: string, closers: number[]): number | null {
  const next = text[at + mark.length] ?? ' ';
  if (/\s/.test(next) || next === mark[0] || WORD.test(text[at - 1] ?? '')) return null;
  return nextOf(closers, at + mark.length + 1);
}

/** Places where a mark can close, last one first: behind what is no space, before what is no word. */
function closersOf(text: string, mark: string): number[] {
  return placesOf(text, mark).filter((at) => {
    const after = text[at + mark.length] ?? '';
    return !/\s/.test(text[at - 1] ?? ' ') && !WORD.test(after) && (mark.length === 2 || after !== mark);
  });
}

function placesOf(text: string, mark: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + mark.length)) places.push(at);
  return places.toReversed();
}

/** The first place that is not before `from`; those before it are removed. */
function nextOf(places: number[], from: number): number | null {
  while ((places.at(-1) ?? from) < from) places.pop();
  return places.at(-1) ?? null;
}

/** Citations that stand beside each other become one. */
function merged(inlines: readonly Inline[]): readonly Inline[] {
  const result: Inline[] = [];
  for (const inline of inlines) {
    const last = result.at(-1);
    const beforeLast = result.at(-2);
    if (inline.kind !== 'findings') result.push(inline);
    else if (last?.kind === 'findings') result.splice(-1, 1, joined(last.ids, inline.ids));
    else if (last?.kind === 'text' && /^[ \n]$/.test(last.text) && beforeLast?.kind === 'findings')
      result.splice(-2, 2, joined(beforeLast.ids, inline.ids));
    else result.push(inline);
  }
  return result;
}

function joined(first: readonly string[], second: readonly string[]): Inline {
  return { kind: 'findings', ids: [...new Set([...first, ...second])] };
}
