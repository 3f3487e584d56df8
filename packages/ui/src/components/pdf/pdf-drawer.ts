/** Opens PDFs in a sandboxed frame and gives their pages as pixels: nothing of a document reaches the page but these. */
import { openFrame, type SandboxedFrame } from '../sandboxed-frame.ts';

const MAX_OPEN_MS = 30_000;
const MAX_PAGE_MS = 20_000;
/** Pixels of a page's longer side, whatever its zoom. */
const MAX_SIDE = 4_000;

export type PdfRequest =
  | { readonly kind: 'open'; readonly bytes: Uint8Array }
  /** `page` counts from 1; `scale` 1 is 72 dots an inch. */
  | { readonly kind: 'draw'; readonly id: number; readonly page: number; readonly scale: number };

export type PdfReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'opened'; readonly pages: readonly PageSize[]; readonly total: number }
  | {
      readonly kind: 'drawn';
      readonly id: number;
      readonly width: number;
      readonly height: number;
      readonly pixels: Uint8ClampedArray<ArrayBuffer>;
      readonly text: string;
    }
  | { readonly kind: 'refused'; readonly id: number; readonly reason: string };

export interface PageSize {
  /** Points, 72 an inch. */
  readonly width: number;
  readonly height: number;
}

export interface DrawnPage {
  readonly image: ImageData;
  readonly text: string;
}

export interface OpenPdf {
  /** Of the pages that can be drawn. */
  readonly pages: readonly PageSize[];
  readonly total: number;
  /** One page after the other. @throws {Error} saying why it cannot be drawn */
  draw(page: number, scale: number): Promise<DrawnPage>;
  close(): void;
}

/** @throws {Error} saying why it cannot be opened */
export type PdfOpener = (bytes: Uint8Array) => Promise<OpenPdf>;

/**
 * @param program gives that of pdf-frame.ts, as one text
 * @param nonce by which the page's policy lets that program run
 */
export function createPdfOpener(program: () => Promise<string>, nonce: string, page: Document = document): PdfOpener {
  return async (bytes) => {
    const frame = await openFrame<PdfRequest, PdfReply>({
      program: await program(),
      nonce,
      page,
      title: 'Where PDFs are drawn',
      isReady: ({ kind }) => kind === 'ready',
    });
    const opened = await frame.ask({ kind: 'open', bytes }, ({ kind }) => kind !== 'ready', MAX_OPEN_MS);
    if (opened?.kind !== 'opened') {
      frame.end();
      throw new Error(opened?.kind === 'refused' ? opened.reason : `it took longer than ${MAX_OPEN_MS / 1_000} s`);
    }
    return openPdf(frame, opened);
  };
}

function openPdf(
  frame: SandboxedFrame<PdfRequest, PdfReply>,
  { pages, total }: Extract<PdfReply, { kind: 'opened' }>,
): OpenPdf {
  let turn: Promise<unknown> = Promise.resolve();
  let lastId = 0;
  const drawInTurn = async (page: number, scale: number): Promise<DrawnPage> => {
    const id = ++lastId;
    const reply = await frame.ask(
      { kind: 'draw', id, page, scale: boundedScale(pages[page - 1], scale) },
      (given) => (given.kind === 'drawn' || given.kind === 'refused') && given.id === id,
      MAX_PAGE_MS,
    );
    if (reply?.kind !== 'drawn')
      throw new Error(reply?.kind === 'refused' ? reply.reason : `it took longer than ${MAX_PAGE_MS / 1_000} s`);
    return { image: new ImageData(reply.pixels, reply.width, reply.height), text: reply.text };
  };
  return {
    pages,
    total,
    draw(page, scale) {
      const mine = turn.then(() => drawInTurn(page, scale));
      turn = mine.catch(() => undefined);
      return mine;
    },
    close: () => frame.end(),
  };
}

/** A page that is large or zoomed in far is drawn coarser, not larger. */
export function boundedScale(size: PageSize | undefined, scale: number): number {
  const longest = Math.max(size?.width ?? 0, size?.height ?? 0);
  return longest * scale > MAX_SIDE ? MAX_SIDE / longest : scale;
}
