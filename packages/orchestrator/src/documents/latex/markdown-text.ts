/** Text of others and prose of agents as Markdown that is neither HTML nor anything but what it says. Pure. */
import { inline, code, fenced } from '../quoted-markdown.ts';
import { webAddress } from './escape.ts';
import type { Block, Inline } from './prose.ts';
import { parseProse } from './prose.ts';

const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** At the begin of a line these make a list, a heading, a quote, a rule or a fence. */
const BLOCK_BEGIN = /^(?:[-+=>]|\d{1,9}(?=[.)]))/;

/** Gives the numbers of the sources of a finding; `null`: there is no such finding. */
export interface Numbers {
  of(id: string): readonly number[] | null;
  /** True for the address of a source. Others are shown as code. */
  isSource(address: string): boolean;
}

/** Text on one line. */
export function markdownText(text: string): string {
  const line = inline(seen(text));
  return line.replace(BLOCK_BEGIN, (begin) => (/\d/.test(begin) ? `${begin}\\` : `\\${begin}`));
}

/** A link to an address of the web; code for all others. */
export function markdownAddress(address: string): string {
  const plain = webAddress(address);
  return plain === null ? code(seen(address)) : `<${plain.replace(/[()*]/g, percentEncoded)}>`;
}

/** An address that nothing leads to. */
export function markdownPlainAddress(address: string): string {
  return code(seen(address));
}

export function markdownProse(text: string, numbers: Numbers): string {
  return parseProse(text)
    .map((block) => blockMarkdown(block, numbers))
    .join('\n\n');
}

/** Numbers of sources in brackets, as they stand in the list of sources. */
export function markdownCitation(ids: readonly string[], numbers: Numbers): string {
  const all = [...new Set(ids.flatMap((id) => numbers.of(id) ?? []))].toSorted((a, b) => a - b);
  return all.length === 0 ? '' : `\\[${all.join(', ')}\\]`;
}

function seen(text: string): string {
  return text.toWellFormed().replace(/\s+/g, ' ').replace(UNSEEN, '').normalize('NFC');
}

function blockMarkdown(block: Block, numbers: Numbers): string {
  switch (block.kind) {
    case 'paragraph':
      return atLineStart(inlineMarkdown(block.content, numbers));
    case 'heading':
      return `**${inlineMarkdown(block.content, numbers)}**`;
    case 'list':
      return block.items
        .map((item, index) => `${block.ordered ? `${index + 1}.` : '-'} ${atLineStart(inlineMarkdown(item, numbers))}`)
        .join('\n');
    case 'code':
      return fenced(block.lines.map((line) => line.toWellFormed().replace(UNSEEN, '')).join('\n'));
    default:
      return block satisfies never;
  }
}

function atLineStart(line: string): string {
  return line.replace(BLOCK_BEGIN, (begin) => (/\d/.test(begin) ? `${begin}\\` : `\\${begin}`));
}

function inlineMarkdown(inlines: readonly Inline[], numbers: Numbers): string {
  return inlines
    .map((part) => oneInline(part, numbers))
    .join('')
    .trim();
}

function oneInline(part: Inline, numbers: Numbers): string {
  switch (part.kind) {
    case 'text':
      return withSpaces(part.text);
    case 'code':
      return code(seen(part.text));
    case 'strong':
      return `**${inlineMarkdown(part.content, numbers)}**`;
    case 'emphasis':
      return `*${inlineMarkdown(part.content, numbers)}*`;
    case 'findings':
      return markdownCitation(part.ids, numbers);
    case 'address': {
      const shown = numbers.isSource(part.address) ? markdownAddress(part.address) : markdownPlainAddress(part.address);
      return part.label === undefined || part.label === part.address ? shown : `${inline(seen(part.label))} (${shown})`;
    }
    default:
      return part satisfies never;
  }
}

/** `inline` leaves out the spaces at the ends, which separate this text from what is beside it. */
function withSpaces(text: string): string {
  const line = seen(text);
  const shown = inline(line);
  if (shown === '') return line === '' ? '' : ' ';
  return `${line.startsWith(' ') ? ' ' : ''}${shown}${line.endsWith(' ') ? ' ' : ''}`;
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
