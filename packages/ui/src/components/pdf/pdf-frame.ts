/**
 * The program of the frame that PDFs are drawn in: pdf.js, and nothing of ours that would matter if a document got the better of
 * it. It is built into one text and handed to the frame; see pdf-drawer.ts. Scripts, forms and links of a document do nothing.
 */
import { getDocument, type PDFDocumentProxy } from 'unpdf/pdfjs';
import type { PdfReply, PdfRequest } from './pdf-drawer.ts';

/** More pages than a report has. */
const MOST_PAGES = 500;
const MOST_TEXT = 20_000;
/** Drawn without the document's own annotations, which hold forms and links. */
const NO_ANNOTATIONS = 0;

let opened: PDFDocumentProxy | null = null;

addEventListener('message', ({ data, source }) => {
  if (source !== parent) return;
  // The parent of this frame is the page that made it.
  const request = data as PdfRequest;
  const done = request.kind === 'open' ? open(request.bytes) : draw(request);
  done.catch((error: unknown) => answer({ kind: 'refused', id: idOf(request), reason: reasonOf(error) }));
});
answer({ kind: 'ready' });

async function open(bytes: Uint8Array): Promise<void> {
  opened = await getDocument({
    data: bytes,
    disableAutoFetch: true,
    disableStream: true,
    enableXfa: false,
    useWasm: false,
    useWorkerFetch: false,
    // Images beyond this are left out of the drawing.
    maxImageSize: 32_000_000,
  }).promise;
  const count = Math.min(opened.numPages, MOST_PAGES);
  const pages: { readonly width: number; readonly height: number }[] = [];
  for (let number = 1; number <= count; number += 1) {
    const { width, height } = (await opened.getPage(number)).getViewport({ scale: 1 });
    pages.push({ width, height });
  }
  answer({ kind: 'opened', pages, total: opened.numPages });
}

async function draw({ id, page: number, scale }: Extract<PdfRequest, { kind: 'draw' }>): Promise<void> {
  if (opened === null) throw new Error('no document is open');
  const page = await opened.getPage(number);
  const viewport = page.getViewport({ scale });
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.floor(viewport.width));
  canvas.height = Math.max(1, Math.floor(viewport.height));
  await page.render({ canvas, viewport, annotationMode: NO_ANNOTATIONS }).promise;
  const { items } = await page.getTextContent();
  const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
  const drawing = canvas.getContext('2d');
  if (drawing === null) throw new Error('this browser gives no canvas');
  const { data } = drawing.getImageData(0, 0, canvas.width, canvas.height);
  page.cleanup();
  answer(
    { kind: 'drawn', id, width: canvas.width, height: canvas.height, pixels: data, text: text.slice(0, MOST_TEXT) },
    [data.buffer],
  );
}

function answer(reply: PdfReply, transferred: Transferable[] = []): void {
  // The page's origin is not known in here; what is said holds nothing but the drawing.
  parent.postMessage(reply, '*', transferred);
}

function idOf(request: PdfRequest): number {
  return request.kind === 'draw' ? request.id : 0;
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500);
}
