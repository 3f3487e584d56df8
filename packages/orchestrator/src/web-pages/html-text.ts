/**
 * The main content of an HTML page as Markdown, by Defuddle on linkedom. Runs in the worker of `page-reader.ts` alone: a page that is
 * made for it takes as long and as much memory as it likes. No script runs, and nothing is fetched.
 */
import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import type { PageReading } from './read-page.ts';
import { withoutOddSpaces } from './style-rules.ts';
import { joinUnseen, withoutMarks, withoutWrittenMarks } from './unseen-marks.ts';
import { type MarkedDocument, type MarkedElement, markUnseenPassages } from './unseen-passages.ts';

/**
 * @param html decoded
 * @param address of the page, for its relative links
 */
export async function readHtmlPage(html: string, address: string): Promise<PageReading> {
  const document = openDocument(withPlainClasses(withoutWrittenMarks(html)), address);
  const seen = markUnseenPassages(document, () => removeUnseen(document));
  keepSeenDescriptions(document, seen);
  const { title, author, published, content } = await Defuddle(document, address, {
    markdown: true,
    // Their addresses may hold the whole picture, and nobody quotes it.
    removeImages: true,
    // Extractors for some sites would ask other sites.
    useAsync: false,
    fetch: () => Promise.reject(new Error('Nothing is fetched while a page is read.')),
  });
  const text = joinUnseen(content).trim();
  if (text === '') return { ok: false, why: 'has no text' };
  const [about, by, at] = [title, author, published].map(withoutMarks);
  return { ok: true, page: { title: about ?? '', author: by ?? '', published: at ?? '', text, isCut: false } };
}

interface OpenedDocument extends MarkedDocument {
  querySelectorAll(selector: string): Iterable<MarkedElement & { setAttribute(name: string, value: string): void }>;
  styleSheets?: unknown;
  URL: string;
  readonly defaultView: { getComputedStyle?: unknown } | null;
}

/** Declarations by which nobody sees the text of an element, whatever else its page says. Transparent ones are left to Defuddle. */
const UNSEEN =
  /(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|font-size:(?:0|[01](?:\.\d{1,9})?px|0\.\d{1,9}r?em)|text-indent:-\d{3,9}[a-z]{0,3}|(?:left|right|top|bottom):-\d{3,9}[a-z]{0,3}|clip:rect\([01](?:px)?[, ][01](?:px)?[^)]{0,20}\)|clip-path:inset\((?:50|100)%\)|color:transparent)(?=[;!]|$)/;
const NO_HEIGHT = /(?:^|;)(?:max-)?height:0(?:px)?(?=[;!]|$)/;
const LONGEST_STYLE = 2_000;

/** Removes elements that their own style plainly hides, and text that is struck out: they are no text of the page. */
function removeUnseen(document: OpenedDocument): void {
  for (const element of document.querySelectorAll('[style]'))
    if (!/^(?:html|body|col|colgroup)$/i.test(element.localName) && isUnseen(element.getAttribute('style') ?? ''))
      element.remove();
  for (const element of document.querySelectorAll('del, s, strike')) element.remove();
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

/**
 * Defuddle takes the text of a page from its description by schema.org where that is longer than the page's own. It stays only where it
 * is text that a reader sees.
 * @param seen without white space
 */
function keepSeenDescriptions(document: OpenedDocument, seen: string): void {
  const keepSeen = (key: string, value: unknown): unknown =>
    (key === 'articleBody' || key === 'text') &&
    !(typeof value === 'string' && seen.includes(value.replaceAll(/\s+/g, '')))
      ? undefined
      : value;
  for (const script of document.querySelectorAll('script[type="application/ld+json"]'))
    try {
      script.textContent = JSON.stringify(JSON.parse(script.textContent ?? '', keepSeen));
    } catch {
      script.textContent = '{}';
    }
}

const CLASS = /\bclass[\t\n\f\r ]*=[\t\n\f\r ]*(?:"[^"]*"|'[^']*'|[^\t\n\f\r >]*)/gi;
const SPACES = /&#x([\da-f]{1,6});?|&#(\d{1,7});?|&[a-z]+sp(?:ace|1[34])?\b;?/gi;

/** linkedom divides classes at spaces at which browsers do not. */
function withPlainClasses(html: string): string {
  return html.replace(CLASS, (written) =>
    withoutOddSpaces(
      written.replace(SPACES, (entity, hex?: string, decimal?: string) => {
        const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
        const isOdd = Number.isNaN(code) || withoutOddSpaces(String.fromCharCode(code)) === '\ufffd';
        return isOdd ? '\ufffd' : entity;
      }),
    ),
  );
}

/** Attributes in lower case, as browsers read them. Of several with one name they take the first. */
function lowerAttributes(document: OpenedDocument): void {
  for (const element of document.querySelectorAll('*')) {
    const names = element.getAttributeNames();
    if (names.every((name) => name === name.toLowerCase())) continue;
    const attributes = names.map((name) => [name.toLowerCase(), element.getAttribute(name) ?? ''] as const);
    for (const name of names) element.removeAttribute(name);
    for (const [name, value] of attributes) if (!element.hasAttribute(name)) element.setAttribute(name, value);
  }
}

/** linkedom lacks three things of a browser's document that Defuddle asks for. */
function openDocument(html: string, address: string): OpenedDocument {
  // linkedom types its window as a browser's, which this package does not know.
  const open: (html: string) => { readonly document: unknown } = parseHTML;
  const written = open(html).document as { readonly documentElement: unknown };
  // A text without an element is the body of a page.
  const document = (written.documentElement === null ? open(`<body>${html}`).document : written) as OpenedDocument;
  lowerAttributes(document);
  document.styleSheets ??= [];
  document.URL = address;
  if (document.defaultView !== null) document.defaultView.getComputedStyle ??= () => ({ display: '' });
  return document;
}
