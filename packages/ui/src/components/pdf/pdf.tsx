/** A PDF, page below page: drawn when it comes into view, with its text for whoever does not see it. */
import { createContext, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { valueOf } from '../elements.ts';
import { Loading, useLoaded } from '../loading.tsx';
import type { OpenPdf, PageSize, PdfOpener } from './pdf-drawer.ts';

const OpenerContext = createContext<PdfOpener | null>(null);
export const PdfOpenerProvider = OpenerContext.Provider;

const ZOOMS = ['fit', 1, 1.5, 2] as const;
type Zoom = (typeof ZOOMS)[number];
/** CSS pixels a point at 100 %: 96 an inch, as browsers count. */
const PIXELS_A_POINT = 96 / 72;
/** Pages that come into view within so much are drawn already. */
const AHEAD = '600px';

interface PdfProps {
  /** Another one for another document. */
  readonly id: string;
  /** Base64. */
  readonly content: string;
  /** Of the file that is saved. */
  readonly fileName: string;
  readonly title: string;
}

export function Pdf({ id, content, fileName, title }: PdfProps) {
  const bytes = useMemo(() => bytesOf(content), [content]);
  const [zoom, setZoom] = useState<Zoom>('fit');
  const opened = useOpen(id, bytes);
  return (
    <div className="pdf">
      <div className="toolbar">
        <label>
          Zoom{' '}
          <vscode-single-select label="Zoom" value={String(zoom)} onchange={(event) => setZoom(zoomOf(valueOf(event)))}>
            {ZOOMS.map((each) => (
              <vscode-option key={each} value={String(each)} selected={each === zoom}>
                {each === 'fit' ? 'Fit the width' : `${each * 100} %`}
              </vscode-option>
            ))}
          </vscode-single-select>
        </label>
        <Save bytes={bytes} fileName={fileName} />
      </div>
      <Loading of={opened} what={`The ${title}`}>
        {(pdf) => (
          <>
            <p className="quiet">{countOf(pdf)}</p>
            <div className="pdf-pages" tabIndex={0} role="region" aria-label={`Pages of the ${title}`}>
              {pdf.pages.map((size, index) => (
                <Page key={`page ${index + 1}`} pdf={pdf} number={index + 1} size={size} zoom={zoom} />
              ))}
            </div>
          </>
        )}
      </Loading>
    </div>
  );
}

/** The document is closed with the part of the screen that shows it. */
function useOpen(id: string, bytes: Uint8Array) {
  const open = useContext(OpenerContext);
  const closing = useRef<{ isGone: boolean; last: OpenPdf | null }>({ isGone: false, last: null });
  useEffect(() => {
    const { current } = closing;
    current.isGone = false;
    return () => {
      current.isGone = true;
      current.last?.close();
    };
  }, []);
  return useLoaded(open === null ? null : id, async () => {
    if (open === null) throw new Error('nothing here draws PDFs');
    closing.current.last?.close();
    const pdf = await open(bytes);
    if (closing.current.isGone) pdf.close();
    closing.current.last = pdf;
    return pdf;
  });
}

function Page({
  pdf,
  number,
  size,
  zoom,
}: {
  readonly pdf: OpenPdf;
  readonly number: number;
  readonly size: PageSize;
  readonly zoom: Zoom;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  const [width, setWidth] = useState(0);
  const [drawn, setDrawn] = useState<{ readonly text: string } | { readonly fault: string } | null>(null);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const near = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true);
      },
      { rootMargin: AHEAD },
    );
    near.observe(element);
    const sized = new ResizeObserver(() => setWidth(Math.round(element.clientWidth)));
    sized.observe(element);
    return () => {
      near.disconnect();
      sized.disconnect();
    };
  }, []);
  useEffect(() => {
    if (!isNear || width === 0) return undefined;
    let isOver = false;
    pdf.draw(number, (width / size.width) * Math.min(3, window.devicePixelRatio)).then(
      ({ image, text }) => {
        const element = canvas.current;
        if (isOver || element === null) return;
        element.width = image.width;
        element.height = image.height;
        element.getContext('2d')?.putImageData(image, 0, 0);
        setDrawn({ text });
      },
      (error: unknown) => {
        if (!isOver) setDrawn({ fault: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => {
      isOver = true;
    };
  }, [pdf, number, isNear, width, size.width]);
  const shownWidth = zoom === 'fit' ? '100%' : `${Math.round(size.width * PIXELS_A_POINT * zoom)}px`;
  return (
    <div ref={frame} className="pdf-page" style={{ width: shownWidth, aspectRatio: `${size.width} / ${size.height}` }}>
      <canvas ref={canvas} aria-hidden="true" />
      {drawn === null && <p className="waiting">Page {number} is drawn…</p>}
      {drawn !== null && 'text' in drawn && (
        <section className="hidden" aria-label={`Page ${number}`}>
          {drawn.text}
        </section>
      )}
      {drawn !== null && 'fault' in drawn && (
        <p className="fault" role="alert">
          Page {number} cannot be drawn: {drawn.fault}. Save the PDF to read it elsewhere.
        </p>
      )}
    </div>
  );
}

function Save({ bytes, fileName }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly fileName: string }) {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type: 'application/pdf' }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  if (address === null) return null;
  return (
    <a href={address} download={fileName}>
      Save the PDF
    </a>
  );
}

function countOf({ pages, total }: OpenPdf): string {
  const all = `${total} ${total === 1 ? 'page' : 'pages'}`;
  return pages.length === total ? all : `${all}; the first ${pages.length} are shown`;
}

function zoomOf(value: string): Zoom {
  return ZOOMS.find((zoom) => String(zoom) === value) ?? 'fit';
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
