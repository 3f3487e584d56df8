/** The bibliography of sources in BibTeX. Pure. */
import { createHash } from 'node:crypto';
import { slugOf } from '../slug.ts';
import { texCode, texText, texUrl, webAddress } from './escape.ts';
import type { ReportSource } from './report-model.ts';

export type CitedSource = Pick<ReportSource, 'address' | 'title' | 'authors' | 'published' | 'fetchedAt'>;

export interface Bibliography {
  /** Text of `sources.bib`, ordered by key. */
  readonly bib: string;
  /** Keys by the address of the source: `[a-z0-9-]`, made from the source alone, so that they stay when others are added. */
  readonly keys: ReadonlyMap<string, string>;
}

const MOST_AUTHORS = 5;
/** natbib's style tells works of one author and year apart by a letter, and has no more of them after `z`. */
const MOST_OF_ONE_YEAR = 20;
const HASH_DIGITS = 10;
const NAME_LENGTH = 24;

/** @param sources each address once */
export function bibliographyOf(sources: readonly CitedSource[]): Bibliography {
  const keys = keysOf(sources);
  const ordered = sources.toSorted((a, b) => compare(keys.get(a.address) ?? '', keys.get(b.address) ?? ''));
  const used = new Map<string, number>();
  const entries = ordered.map((source) => {
    const names = authorsOf(source);
    const group = `${texText(names[0] ?? '').source}\n${yearOf(source) ?? ''}`.toLowerCase();
    const before = used.get(group) ?? 0;
    used.set(group, before + 1);
    return entryOf(source, keys.get(source.address) ?? '', names, 1 + Math.floor(before / MOST_OF_ONE_YEAR));
  });
  return { bib: entries.join('\n'), keys };
}

function keysOf(sources: readonly CitedSource[]): ReadonlyMap<string, string> {
  const short = sources.map((source) => keyOf(source, HASH_DIGITS));
  const count = Map.groupBy(short, (key) => key);
  return new Map(
    sources.map((source, index) => {
      const key = short[index] ?? '';
      // Addresses can be made to share the begin of their hash, yet not all of it.
      return [source.address, (count.get(key)?.length ?? 0) > 1 ? keyOf(source, 64) : key];
    }),
  );
}

function keyOf(source: CitedSource, digits: number): string {
  const [first = ''] = authorsOf(source);
  const [family = ''] = first.split(',', 1);
  const name = slugOf(family).slice(0, NAME_LENGTH).replace(/-$/, '');
  const hash = createHash('sha256').update(source.address).digest('hex').slice(0, digits);
  return [name, yearOf(source) ?? 'nd', hash].join('-');
}

/** Names of the authors; where none is known, the host or the path stands for them. */
function authorsOf({ authors, address }: CitedSource): readonly string[] {
  const known = authors.map((name) => name.trim()).filter((name) => /[\p{L}\p{N}]/u.test(name));
  if (known.length > 0) return known;
  const plain = webAddress(address);
  return [plain === null ? address : new URL(plain).hostname.replace(/^www\./, '')];
}

function yearOf({ published }: CitedSource): string | null {
  return /^\d{4}(?!\d)/.exec(published ?? '')?.[0] ?? null;
}

function entryOf(source: CitedSource, key: string, names: readonly string[], part: number): string {
  const fields = [
    ['author', `{${authorField(names, part)}}`],
    // Twice braced: the style leaves the case of the title as it is.
    ['title', `{{${texText(titleOf(source)).source}}}`],
    ['year', `{${yearOf(source) ?? 'n.d.'}}`],
    webAddress(source.address) === null
      ? ['howpublished', `{${texCode(source.address).source}}`]
      : ['url', `{${addressField(source.address)}}`],
    ['note', `{Accessed ${texText(source.fetchedAt.slice(0, 10)).source}}`],
  ];
  return `@misc{${key},\n${fields.map(([name, value]) => `  ${name} = ${value},`).join('\n')}\n}\n`;
}

/** What stands between the braces of `\url`, which the style adds. */
function addressField(address: string): string {
  return texUrl(address).source.slice('\\url{'.length, -1);
}

function titleOf({ title }: CitedSource): string {
  return title.trim() === '' ? 'Untitled' : title;
}

/** @param part above 1 where an author has more works of a year than there are letters */
function authorField(names: readonly string[], part: number): string {
  const shown = names
    .slice(0, MOST_AUTHORS)
    .map((name, index) => nameField(index === 0 && part > 1 ? `${name} (${part})` : name));
  return [...shown, ...(names.length > MOST_AUTHORS ? ['others'] : [])].join(' and ');
}

const PERSONAL = /^[\p{L}\p{M} .'’-]+$/u;
/** Behind the comma of a name that is no person's. */
const COMPANY = /^(?:AB|AG|BV|Co|Corp|GmbH|Inc|KG|LLC|LLP|Limited|Ltd|NV|PLC|SA|SAS|SE|SpA)\.?$/i;

/** Braces keep BibTeX from reading a name of its own making. */
function nameField(name: string): string {
  const parts = name.split(',').map((part) => part.trim());
  const [family = '', given = ''] = parts;
  const isPerson = parts.length === 2 && family !== '' && PERSONAL.test(given) && !COMPANY.test(given);
  return isPerson
    ? `{${texText(family).source}}, {${texText(given).source}}`
    : `{${texText(name.replaceAll(/\s+/g, ' ')).source}}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
