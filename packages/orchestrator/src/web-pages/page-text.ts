/** Reads the body of an answer by its media type. */
import { decodeText, MAX_TEXT, type MediaType } from './decoded-text.ts';
import { shown } from './page-address.ts';
import type { PageReader } from './page-reader.ts';
import type { PageReading } from './read-page.ts';
import { withoutOwnMarks } from './unseen-marks.ts';

const HTML = new Set(['text/html', 'application/xhtml+xml']);
/** Kept as they are. */
const TEXTS = new Set(['text/plain', 'text/markdown', 'text/x-markdown', 'application/json', 'text/json']);
/** A server that does not know better. */
const UNKNOWN = new Set(['', 'application/octet-stream', 'binary/octet-stream']);
const PDF = 'application/pdf';

/** A body with its media type, which for a body without one comes from its first bytes. */
export interface PageBody {
  readonly address: string;
  readonly media: MediaType;
  readonly body: Buffer;
}

/** The media type by which a body is read. */
export function actualType({ media: { type }, body }: Pick<PageBody, 'media' | 'body'>): string {
  if (!UNKNOWN.has(type)) return type;
  const start = body.subarray(0, 1_024);
  if (start.includes('%PDF-')) return PDF;
  if (start.includes(0)) return type;
  if (/^\s*<(?:!doctype\s+html|html)/i.test(start.toString('latin1'))) return 'text/html';
  return type === '' ? 'text/plain' : type;
}

export async function readBody(page: PageBody, reader: PageReader, signal: AbortSignal): Promise<PageReading> {
  const { address, media, body } = page;
  const type = actualType(page);
  if (HTML.has(type)) return reader.readHtml(decodeText(body, media.charset, true), address, signal);
  if (type === PDF) return reader.readPdf(new Uint8Array(body), signal);
  if (!TEXTS.has(type) && !/^application\/[\w.-]{1,100}\+json$/.test(type))
    return { ok: false, why: `is of the media type ${shown(type) || '(none)'}, which is not read` };
  if (
    body.includes(0) &&
    !/^utf-16/i.test(media.charset ?? '') &&
    !/^(?:\xff\xfe|\xfe\xff)/.test(body.toString('latin1', 0, 2))
  )
    return { ok: false, why: 'is not a text, as its media type says' };
  const text = withoutOwnMarks(decodeText(body, media.charset, false));
  // Characters that are taken out do not count; a text of nothing else is cut here.
  const kept = text.slice(0, 2 * MAX_TEXT);
  return { ok: true, page: { title: '', author: '', published: '', text: kept, isCut: kept.length < text.length } };
}
