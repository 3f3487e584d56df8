/** The text of a PDF by unpdf, page by page. Runs in the worker of `page-reader.ts` alone: a small file may unpack to gigabytes. */
import type { PageReading } from './read-page.ts';

/** Characters after which the rest of a document is not read. */
const ENOUGH_CHARACTERS = 500_000;

export async function readPdf(bytes: Uint8Array): Promise<PageReading> {
  const { getDocumentProxy } = await import('unpdf');
  let document: Awaited<ReturnType<typeof getDocumentProxy>>;
  try {
    document = await getDocumentProxy(bytes, { disableFontFace: true, verbosity: 0 });
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException';
    return { ok: false, why: isLocked ? 'is encrypted and asks for a password' : 'is not a PDF that can be read' };
  }
  const pages: string[] = [];
  let characters = 0;
  let number = 1;
  for (; number <= document.numPages && characters < ENOUGH_CHARACTERS; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
    page.cleanup();
    characters += text.length;
    pages.push(text.trim());
  }
  const text = pages.filter((page) => page !== '').join('\n\n');
  if (text === '') return { ok: false, why: 'has no text: its pages may be pictures' };
  const { title, author } = await describe(document);
  return { ok: true, page: { title, author, published: '', text, isCut: number <= document.numPages } };
}

/** The day on which the file was made is not the day on which its text was published. */
async function describe(document: { getMetadata(): Promise<{ readonly info: unknown }> }) {
  const { info } = await document.getMetadata().catch(() => ({ info: {} }));
  const { Title, Author } = (info ?? {}) as { readonly Title?: unknown; readonly Author?: unknown };
  return { title: typeof Title === 'string' ? Title : '', author: typeof Author === 'string' ? Author : '' };
}
