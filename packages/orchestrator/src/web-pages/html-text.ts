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

interface OpenedDocument {
  styleSheets?: unknown;
  URL: string;
  readonly defaultView: { getComputedStyle?: unknown } | null;
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
