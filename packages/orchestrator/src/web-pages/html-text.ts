/**
 * The main content of an HTML page as Markdown, by Defuddle on linkedom. Runs in the worker of `page-reader.ts` alone: a page that is
 * made for it takes as long and as much memory as it likes. No script runs, and nothing is fetched.
 */
import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import type { PageReading } from './read-page.ts';

/**
 * @param html decoded
 * @param address of the page, for its relative links
 */
export async function readHtmlPage(html: string, address: string): Promise<PageReading> {
  const document = openDocument(html, address);
  removeUnseen(document);
  const { title, author, published, content } = await Defuddle(document, address, {
    markdown: true,
    // Their addresses may hold the whole picture, and nobody quotes it.
    removeImages: true,
    // Extractors for some sites would ask other sites.
    useAsync: false,
    fetch: () => Promise.reject(new Error('Nothing is fetched while a page is read.')),
  });
  const text = content.trim();
  if (text === '') return { ok: false, why: 'has no text' };
  return { ok: true, page: { title, author, published, text, isCut: false } };
}

/** An element as far as this file asks for it. */
interface PageElement {
  readonly localName: string;
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
  remove(): void;
}

interface OpenedDocument {
  querySelectorAll(selector: string): Iterable<PageElement>;
  styleSheets?: unknown;
  URL: string;
  readonly defaultView: { getComputedStyle?: unknown } | null;
}

/** Declarations by which nobody sees the text of an element. Transparent ones are left to Defuddle: scripts fade whole articles in. */
const UNSEEN =
  /(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|font-size:(?:0|[01](?:\.\d{1,9})?px|0\.\d{1,9}r?em)|text-indent:-\d{3,9}[a-z]{0,3}|(?:left|right|top|bottom):-\d{3,9}[a-z]{0,3}|clip:rect\([01](?:px)?[, ][01](?:px)?[^)]{0,20}\)|clip-path:inset\((?:50|100)%\)|color:transparent)(?=[;!]|$)/;
const NO_HEIGHT = /(?:^|;)(?:max-)?height:0(?:px)?(?=[;!]|$)/;
const LONGEST_STYLE = 2_000;
/** Rules of a page's own style sheets that are read. */
const MOST_RULES = 3_000;
const MOST_HIDING = 200;

/**
 * Removes what a reader does not see: elements that a style hides, and text that is struck out. A passage that stands there is none of
 * the page. Only styles within the page are read, and of their selectors those of one class or id that the page names once: what
 * several rules are about, a script or a wider window may show.
 */
function removeUnseen(document: OpenedDocument): void {
  for (const element of document.querySelectorAll('[style]'))
    if (!/^(?:html|body)$/i.test(element.localName) && isUnseen(element.getAttribute('style') ?? '')) element.remove();
  const styles = [...document.querySelectorAll('style')].map(({ textContent }) => textContent ?? '').join('\n');
  for (const selector of [...hidingSelectors(styles), 'del', 's', 'strike'])
    for (const element of document.querySelectorAll(selector)) element.remove();
}

function isUnseen(style: string): boolean {
  const text = style
    .slice(0, LONGEST_STYLE)
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([:;,!]) ?/g, '$1')
    .trim();
  return UNSEEN.test(text) || (NO_HEIGHT.test(text) && text.includes('overflow:hidden'));
}

/** Selectors such as `.note` of rules that hide. Those within `@media` and the like are not read. */
function hidingSelectors(css: string): readonly string[] {
  const hiding: string[] = [];
  let from = 0;
  for (let rules = 0; rules < MOST_RULES; rules += 1) {
    const open = css.indexOf('{', from);
    if (open < 0) break;
    const selectors = css.slice(Math.max(from, open - LONGEST_STYLE), open);
    const end = endOfBlock(css, open);
    const inner = css.slice(open + 1, Math.min(end - 1, open + LONGEST_STYLE));
    if (!selectors.trimStart().startsWith('@') && isUnseen(inner))
      hiding.push(...selectors.split(',').map((each) => each.trim()));
    from = end;
  }
  return [...new Set(hiding)].filter((each) => ONE_NAME.test(each) && timesIn(css, each) === 1).slice(0, MOST_HIDING);
}

const ONE_NAME = /^[a-z]{0,20}[.#][\w-]{1,80}$/i;

function timesIn(css: string, selector: string): number {
  return css.split(selector.slice(selector.search(/[.#]/))).length - 1;
}

/** Index behind the block that opens at a brace. */
function endOfBlock(css: string, open: number): number {
  let depth = 0;
  for (let at = open; at < css.length; at += 1) {
    if (css[at] === '{') depth += 1;
    if (css[at] === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return css.length;
}

/** linkedom lacks three things of a browser's document that Defuddle asks for. */
function openDocument(html: string, address: string): OpenedDocument {
  // linkedom types its window as a browser's, which this package does not know.
  const open: (html: string) => { readonly document: unknown } = parseHTML;
  const document = open(html).document as OpenedDocument;
  document.styleSheets ??= [];
  document.URL = address;
  if (document.defaultView !== null) document.defaultView.getComputedStyle ??= () => ({ display: '' });
  return document;
}
