/**
 * Markdown without what its rendering at GitHub hides. Pure. Most texts take linear time, the worst of 16,000 characters some
 * seconds: text of strangers is read in the worker for foreign text.
 */
import { Parser } from 'htmlparser2';
import { parse, postprocess, preprocess } from 'micromark';
import { gfm } from 'micromark-extension-gfm';

/** Parts that are never shown, with what stands in their place. */
const UNSEEN: ReadonlyMap<string, string> = new Map([
  ['definition', ''],
  ['reference', ''],
  ['resourceTitle', ''],
  ['codeFencedFenceInfo', ''],
  ['codeFencedFenceMeta', ''],
  ['image', '(image)'],
]);
/** Blocks, each of which begins with a tag in the rendering. */
const BLOCKS: ReadonlySet<string> = new Set(['paragraph', 'atxHeading', 'setextHeading', 'codeFenced', 'codeIndented']);
/** Tags that GitHub shows as text, with what stands in them. */
const SHOWN_TAGS = /<(?=\/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)\b)/gi;
/** Begins each mark of the shown text; one of the text itself becomes a mark of its own. */
const MARK = '\uE000';
const MARKS = /\uE000(\d+|!);/g;

/**
 * Leaves out HTML comments, processing instructions, declarations and tags, definitions, titles and names of links, links
 * without a text, images, footnotes without a reference, cells beyond the columns of their table, and what stands behind the
 * begin of a fence.
 */
export function shownMarkdown(text: string): string {
  const source = text.replace(/^\uFEFF/, '');
  const tokens = tokensOf(source);
  const isUnseen = unseenTokens(source, tokens);
  const shown: string[] = [];
  let rendered = '';
  // Raw HTML may leave a comment or a tag open, which hides what follows it in the rendering: the whole of it is read as HTML.
  const parser = new Parser({ ontext: (part) => void (rendered += part) }, { decodeEntities: false });
  let at = 0;
  const say = (part: string): void => {
    if (part !== '') parser.write(`${MARK}${shown.push(part) - 1};`);
  };
  const show = (to: number): void => {
    say(source.slice(at, to));
    at = Math.max(at, to);
  };
  for (const token of tokens) {
    if (token.start < at) continue;
    if (BLOCKS.has(token.type)) {
      show(token.start);
      parser.write('<p>');
    } else if (token.type === 'htmlFlow' || token.type === 'htmlText') {
      show(token.start);
      parser.write(token.html.replaceAll(MARK, `${MARK}!;`).replace(SHOWN_TAGS, '&lt;'));
      at = token.end;
    } else if (isUnseen.has(token)) {
      show(token.start);
      say(UNSEEN.get(token.type) ?? '');
      at = token.end;
    }
  }
  show(source.length);
  parser.end();
  return rendered.replace(MARKS, (_, index: string) => (index === '!' ? MARK : (shown[Number(index)] ?? '')));
}

interface MarkdownToken {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  /** Raw HTML of a token that is some, without the marks of the blocks around it. */
  html: string;
}

/** Tokens of GitHub's Markdown by their begin, outer ones before inner ones. */
function tokensOf(source: string): readonly MarkdownToken[] {
  const chunks = preprocess()(source, undefined, true);
  const tokens: MarkdownToken[] = [];
  let raw: MarkdownToken | null = null;
  for (const [kind, { type, start, end }] of postprocess(
    parse({ extensions: [gfm()] })
      .document()
      .write(chunks),
  )) {
    if (raw !== null && type === raw.type && kind === 'exit') raw = null;
    if (kind === 'exit') continue;
    if (raw !== null && (type === 'htmlFlowData' || type === 'htmlTextData'))
      raw.html += source.slice(start.offset, end.offset);
    else if (raw !== null && type === 'lineEnding') raw.html += '\n';
    else {
      const token: MarkdownToken = { type, start: start.offset, end: end.offset, html: '' };
      if (type === 'htmlFlow' || type === 'htmlText') raw = token;
      tokens.push(token);
    }
  }
  return tokens;
}

/** Tokens that are not shown, which hangs on others for notes and cells. */
function unseenTokens(source: string, tokens: readonly MarkdownToken[]): ReadonlySet<MarkdownToken> {
  return new Set([
    ...tokens.filter(({ type, start }) => UNSEEN.has(type) || (type === 'link' && source.startsWith('[]', start))),
    ...unreferencedNotes(source, tokens),
    ...surplusCells(tokens),
  ]);
}

/** Footnotes to which nothing leads that is shown itself. */
function unreferencedNotes(source: string, tokens: readonly MarkdownToken[]): readonly MarkdownToken[] {
  const nameOf = ({ start, end }: MarkdownToken): string => source.slice(start, end).replace(/\s+/g, ' ').toLowerCase();
  /** Names that each note calls; under `null` those that the text calls. */
  const calls = new Map<MarkdownToken | null, string[]>([[null, []]]);
  const named = new Map<string, MarkdownToken[]>();
  let note: MarkdownToken | null = null;
  for (const token of tokens) {
    if (note !== null && token.start >= note.end) note = null;
    if (token.type === 'gfmFootnoteDefinition') {
      note = token;
      calls.set(note, []);
    } else if (token.type === 'gfmFootnoteDefinitionLabelString' && note !== null) {
      const name = nameOf(token);
      named.set(name, [...(named.get(name) ?? []), note]);
    } else if (token.type === 'gfmFootnoteCallString') calls.get(note)?.push(nameOf(token));
  }
  const seen = new Set<MarkdownToken | null>([null]);
  for (const caller of seen) {
    for (const name of calls.get(caller) ?? []) {
      // Of several notes with one name, the first is shown.
      const [first] = named.get(name) ?? [];
      if (first !== undefined) seen.add(first);
    }
  }
  return [...calls.keys()].filter((each): each is MarkdownToken => each !== null && !seen.has(each));
}

/** Cells of a row that the head of its table has no column for. */
function surplusCells(tokens: readonly MarkdownToken[]): readonly MarkdownToken[] {
  const surplus: MarkdownToken[] = [];
  let columns = 0;
  let cells = 0;
  for (const token of tokens) {
    if (token.type === 'table') columns = 0;
    else if (token.type === 'tableRow') cells = 0;
    else if (token.type === 'tableHeader') columns += 1;
    else if (token.type === 'tableData' && (cells += 1) > columns) surplus.push(token);
  }
  return surplus;
}
