/** Viewport of a drawing: zoom by buttons, keys and the wheel with Ctrl; pan by dragging, touching and scrolling. */
import { useEffect, useRef, useState } from 'react';
import { drawMarks, DRAWING_STYLES, type MarksOf } from './diagram-marks.ts';
import type { Drawn } from './drawing.ts';
import { Icon } from '../icon.tsx';

const ZOOM_STEP = 1.25;
const ZOOM = { least: 0.1, most: 5 };
/** Labels smaller than this are not read: a large diagram is scrolled rather than made to fit. */
const READABLE_ZOOM = 0.65;

export function Viewport({
  drawn,
  svg,
  title,
  marksOf,
}: {
  readonly drawn: Drawn;
  readonly svg: SVGSVGElement;
  readonly title: string;
  readonly marksOf: MarksOf | undefined;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const paper = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  /** Grows with each drawing, together with its zoom. */
  const [shownTimes, setShownTimes] = useState(0);
  const change = (factor: number): void => setZoom((now) => within(now * factor));
  const fit = (): void => {
    const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {};
    const { width, height } = sizeOf(paper.current);
    setZoom(within(Math.min(1, clientWidth / width, clientHeight / height)));
  };

  useEffect(() => {
    const [element, host] = [frame.current, paper.current];
    if (element === null || host === null) return;
    // A root of its own: the styles of a drawing reach nothing but the drawing.
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    const style = document.createElement('style');
    style.textContent = DRAWING_STYLES;
    // Marks are drawn into a copy, so that other marks begin with a clean one.
    const shown = svg.cloneNode(true) as SVGSVGElement;
    root.replaceChildren(style, shown);
    if (marksOf !== undefined) drawMarks(shown, drawn.prefix, drawn.graph, drawn.names, marksOf(drawn.graph));
  }, [drawn, svg, marksOf]);

  useEffect(() => {
    const [element, host] = [frame.current, paper.current];
    if (element === null || host === null) return;
    setZoom(within(Math.min(1, Math.max(READABLE_ZOOM, element.clientWidth / sizeOf(host).width))));
    setShownTimes((times) => times + 1);
  }, [svg]);

  // Of a statechart, what counts is where it stands. Its place is known once the drawing has its size.
  useEffect(() => {
    const [element, host] = [frame.current, paper.current];
    if (element === null || host === null) return;
    // The innermost of nested ones is the smallest.
    const current = [...(host.shadowRoot?.querySelectorAll('.current') ?? [])].toSorted(
      (one, other) => widthOf(one) - widthOf(other),
    )[0];
    if (current === undefined) return;
    const [place, around] = [current.getBoundingClientRect(), element.getBoundingClientRect()];
    element.scrollLeft += place.left + place.width / 2 - (around.left + around.width / 2);
    element.scrollTop += place.top + place.height / 2 - (around.top + around.height / 2);
  }, [shownTimes]);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    // React listens passively, and the page would zoom as well.
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      change(event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP);
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, []);

  return (
    <>
      <div className="zoom" role="toolbar" aria-label="Zoom">
        <IconButton icon="zoom-in" label="Zoom in" onClick={() => change(ZOOM_STEP)} />
        <IconButton icon="zoom-out" label="Zoom out" onClick={() => change(1 / ZOOM_STEP)} />
        <IconButton icon="screen-normal" label="Actual size" onClick={() => setZoom(1)} />
        <IconButton icon="screen-full" label="Fit" onClick={fit} />
        <output className="quiet" aria-label="Zoom">
          {Math.round(zoom * 100)} %
        </output>
      </div>
      {/* What it holds can be reached by keys, so that it is a group and no picture. */}
      <div
        ref={frame}
        className="viewport"
        tabIndex={0}
        role="group"
        aria-label={`${title}: + and − zoom, arrow keys move`}
        onPointerDown={(event) => {
          // A finger scrolls by itself.
          if (event.pointerType === 'mouse') drag(event.currentTarget, event.nativeEvent);
        }}
        onKeyDown={({ key }) => {
          if (key === '+' || key === '=') change(ZOOM_STEP);
          if (key === '-') change(1 / ZOOM_STEP);
          if (key === '0') setZoom(1);
        }}
      >
        <div ref={paper} className="paper" style={{ zoom }} />
      </div>
    </>
  );
}

const within = (zoom: number): number => Math.min(ZOOM.most, Math.max(ZOOM.least, zoom));
const widthOf = (element: Element): number => element.getBoundingClientRect().width;

/** Of the drawing at its actual size. */
function sizeOf(paper: HTMLElement | null): { readonly width: number; readonly height: number } {
  const svg = paper?.shadowRoot?.querySelector('svg');
  const { width = 0, height = 0 } = svg?.viewBox.baseVal ?? {};
  return { width: Math.max(1, width), height: Math.max(1, height) };
}

function drag(frame: HTMLElement, start: PointerEvent): void {
  if (start.button !== 0) return;
  const { scrollLeft, scrollTop } = frame;
  const move = (event: PointerEvent): void => {
    frame.scrollLeft = scrollLeft - (event.clientX - start.clientX);
    frame.scrollTop = scrollTop - (event.clientY - start.clientY);
  };
  const stop = (): void => {
    window.removeEventListener('pointermove', move);
    window.removeEventListener('pointerup', stop);
  };
  window.addEventListener('pointermove', move);
  window.addEventListener('pointerup', stop);
}

export function IconButton({
  icon,
  label,
  onClick,
}: {
  readonly icon: string;
  readonly label: string;
  readonly onClick: () => void;
}) {
  return (
    <button type="button" className="icon" title={label} aria-label={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
