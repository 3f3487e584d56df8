/** Markdown without what its rendering hides. Code spans and fences stay as they are shown. Pure, in linear time. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const QUOTE_OR_LIST = /^[ \t]*(?:[>*+-]|\d{1,9}[.)])/;
/** An empty line, or the line before a fence. */
const PARAGRAPH_END = /\n(?=[ \t]*\n| {0,3}(?:`{3}|~{3}))/g;
const TAG_NAME = /<\/?[A-Za-z][A-Za-z0-9-]*(?=[\s/>])/y;
/** Begins and ends of what HTML hides. One without an end reaches to the end of the text. */
const HIDDEN = [
  ['<!--', '-->'],
  ['<?', '?>'],
  ['<![CDATA[', ']]>'],
  ['<!', '>'],
] as const;
const TITLE_ENDS: Readonly<Record<string, string>> = { '"': '"', "'": "'", '(': ')' };

/** The begin of a fence, without the name of its language and what follows it. */
function fenceOf(line: string): string | null {
  const found = FENCE.exec(line);
  if (found === null) return null;
  const [begin, marks = ''] = found;
  return marks.startsWith('`') && line.slice(begin.length).includes('`') ? null : begin;
}

/**
 * Leaves out HTML comments, processing instructions, declarations and tags, definitions of links, titles of links and
 * images, and what stands behind the begin of a fence.
 */
export function shownMarkdown(text: string): string {
  const runs = backtickRuns(text);
  let shown = '';
  let at = 0;
  let paragraphEnd = -1;
  while (at < text.length) {
    if (at > paragraphEnd) {
      PARAGRAPH_END.lastIndex = at;
      paragraphEnd = PARAGRAPH_END.exec(text)?.index ?? text.length;
    }
    const isLineStart = at === 0 || text[at - 1] === '\n';
    if (isLineStart) {
      const fenced = fencedAt(text, at);
      if (fenced !== null) {
        shown += fenced.shown;
        at = fenced.end;
        continue;
      }
      const end = endOfDefinition(text, at, paragraphEnd);
      if (end !== null) {
        at = end;
        continue;
      }
    }
    const character = text[at];
    let end: number | null = null;
    if (character === '\\') {
      shown += text.slice(at, at + 2);
      at += 2;
      continue;
    }
    if (character === '`') {
      const begin = at;
      while (text[at] === '`') at += 1;
      const ends = runs.get(at - begin) ?? [];
      while ((ends.at(-1) ?? at) < at) ends.pop();
      const close = ends.at(-1);
      if (close !== undefined && close < paragraphEnd) at = close + (at - begin);
      shown += text.slice(begin, at);
      continue;
    }
    if (character === '<') end = endOfHidden(text, at) ?? endOfTag(text, at, paragraphEnd, isLineStart);
    else if (character === ']' && text[at + 1] === '(') {
      const title = titleOf(text, at + 2, paragraphEnd);
      if (title !== null) {
        shown += text.slice(at, title.begin).trimEnd();
        end = title.end;
      }
    }
    if (end === null) {
      shown += character;
      at += 1;
    } else at = end;
  }
  return shown;
}

/** Begins of the runs of backticks, by their length, last one first. */
function backtickRuns(text: string): ReadonlyMap<number, number[]> {
  const runs = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const known = runs.get(run.length);
    if (known === undefined) runs.set(run.length, [index]);
    else known.push(index);
  }
  for (const each of runs.values()) each.reverse();
  return runs;
}

/** A fence that begins here, to its end or the end of the text. */
function fencedAt(text: string, at: number): { readonly shown: string; readonly end: number } | null {
  const lineEnd = (from: number): number => {
    const end = text.indexOf('\n', from);
    return end < 0 ? text.length : end;
  };
  let end = lineEnd(at);
  const fence = fenceOf(text.slice(at, end));
  if (fence === null) return null;
  const body = end;
  while (end < text.length) {
    const from = end + 1;
    end = lineEnd(from);
    const line = text.slice(from, end);
    const close = FENCE.exec(line)?.[1] ?? '';
    if (close.startsWith(fence.trim()) && line.trim() === close) break;
  }
  return { shown: fence + text.slice(body, end), end };
}

function endOfHidden(text: string, at: number): number | null {
  for (const [begin, close] of HIDDEN) {
    if (!text.startsWith(begin, at)) continue;
    if (begin === '<!' && !/[A-Za-z]/.test(text[at + 2] ?? '')) return null;
    const end = text.indexOf(close, at);
    return end < 0 ? text.length : end + close.length;
  }
  return null;
}

function endOfTag(text: string, at: number, limit: number, isLineStart: boolean): number | null {
  TAG_NAME.lastIndex = at;
  if (!TAG_NAME.test(text)) return null;
  const first = text.indexOf('>', at);
  if (first < 0 || first >= limit) return isLineStart ? limit : null;
  for (let end = at + 1; end < limit; end += 1) {
    const character = text[end];
    if (character === '>') return end + 1;
    if (character !== '"' && character !== "'") continue;
    end = text.indexOf(character, end + 1);
    if (end < 0) break;
  }
  return first + 1;
}

/** A definition of a link, such as `[name]: address "title"`, is never shown. A footnote is. */
function endOfDefinition(text: string, at: number, limit: number): number | null {
  const endOfLine = (from: number): number => {
    const end = text.indexOf('\n', from);
    return end < 0 ? text.length : end;
  };
  let end = endOfLine(at);
  let line = text.slice(at, end);
  for (let prefix = QUOTE_OR_LIST.exec(line); prefix !== null; prefix = QUOTE_OR_LIST.exec(line))
    line = line.slice(prefix[0].length);
  line = line.trimStart();
  if (!line.startsWith('[') || line.startsWith('[^')) return null;
  const close = line.indexOf(']:');
  if (close < 0 || line.slice(1, close).includes(']')) return null;
  let rest = line.slice(close + 2).trim();
  // The address may stand in the next line, and the title in the one after it.
  if (rest === '' && end < limit) {
    const from = end + 1;
    end = endOfLine(from);
    rest = text.slice(from, end).trim();
  }
  const gap = rest.search(/\s/);
  let title = gap < 0 ? '' : rest.slice(gap).trim();
  if (title === '' && end < limit && /["'(]/.test(text[end + 1] ?? '')) {
    const from = end + 1;
    end = endOfLine(from);
    title = text.slice(from, end).trim();
  }
  const mark = TITLE_ENDS[title[0] ?? ''];
  if (mark !== undefined && !title.slice(1).includes(mark)) {
    const closed = text.indexOf(mark, end);
    end = closed < 0 || closed > limit ? limit : endOfLine(closed);
  }
  return end;
}

const SPACE = /\s/g;

function isClosed(address: string): boolean {
  let depth = 0;
  for (const character of address) {
    if (character === '(') depth += 1;
    else if (character === ')' && (depth -= 1) < 0) return true;
  }
  return false;
}

/** The title in the parentheses of a link or an image. */
function titleOf(text: string, from: number, limit: number): { readonly begin: number; readonly end: number } | null {
  let at = from;
  while (/\s/.test(text[at] ?? '')) at += 1;
  if (text[at] === '<') {
    at = text.indexOf('>', at) + 1;
    if (at === 0) return null;
  } else {
    SPACE.lastIndex = at;
    at = SPACE.exec(text)?.index ?? limit;
    // The link ends before the space.
    if (at >= limit || !TITLE_ENDS[text.slice(at, at + 20).trimStart()[0] ?? '']) return null;
    if (isClosed(text.slice(from, at))) return null;
  }
  const begin = at;
  while (/\s/.test(text[at] ?? '')) at += 1;
  const mark = TITLE_ENDS[text[at] ?? ''];
  if (at === begin || mark === undefined) return null;
  const end = text.indexOf(mark, at + 1);
  if (end < 0 || end >= limit) return null;
  return /^\s*\)/.test(text.slice(end + 1, end + 20)) ? { begin, end: end + 1 } : null;
}
