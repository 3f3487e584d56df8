/** A Mermaid diagram, drawn here: strict, from nothing but its source, and its source where it cannot be drawn. */
import { useEffect, useId, useRef, useState } from 'react';

/** As much as the server takes of one diagram. */
const MAX_BYTES = 50_000;
const MAX_MS = 3_000;
const ZOOM_STEP = 1.25;
const ZOOM = { least: 0.2, most: 5 };
/** Labels smaller than this are not read: a large diagram is scrolled rather than made to fit. */
const READABLE_ZOOM = 0.65;

type Drawing =
  | { readonly state: 'drawing' }
  | { readonly state: 'drawn'; readonly svg: string }
  | { readonly state: 'failed'; readonly reason: string };

export function Diagram({ source, title }: { readonly source: string; readonly title: string }) {
  const id = `diagram-${useId().replaceAll(/[^\w-]/g, '')}`;
  const dark = useDarkTheme();
  const [tries, setTries] = useState(0);
  const [drawing, setDrawing] = useState<Drawing>({ state: 'drawing' });
  const [showsSource, setShowsSource] = useState(false);

  useEffect(() => {
    let isOver = false;
    setDrawing({ state: 'drawing' });
    draw(`${id}-${tries}`, source, dark).then(
      (svg) => isOver || setDrawing({ state: 'drawn', svg }),
      (error: unknown) =>
        isOver || setDrawing({ state: 'failed', reason: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isOver = true;
    };
  }, [id, source, dark, tries]);

  if (drawing.state === 'failed') {
    return (
      <figure className="diagram failed">
        <p role="alert">This diagram cannot be drawn: {drawing.reason.split('\n')[0]}</p>
        <Source text={source} />
        <vscode-button secondary onClick={() => setTries(tries + 1)}>
          Retry render
        </vscode-button>
      </figure>
    );
  }
  return (
    <figure className="diagram" aria-label={title}>
      {drawing.state === 'drawing' ? <p className="quiet">Drawing…</p> : <Viewport svg={drawing.svg} title={title} />}
      <figcaption>
        <button type="button" className="link" aria-expanded={showsSource} onClick={() => setShowsSource(!showsSource)}>
          {showsSource ? 'Hide source' : 'Show source'}
        </button>
      </figcaption>
      {showsSource && <Source text={source} />}
    </figure>
  );
}

function Source({ text }: { readonly text: string }) {
  return (
    <pre className="source" tabIndex={0} aria-label="Source of the diagram">
      <code>{text}</code>
    </pre>
  );
}

/** Zoom by buttons, keys and the wheel with Ctrl; pan by dragging and by scrolling. */
function Viewport({ svg, title }: { readonly svg: string; readonly title: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const change = (factor: number): void => setZoom((now) => Math.min(ZOOM.most, Math.max(ZOOM.least, now * factor)));

  useEffect(() => {
    const element = frame.current;
    const drawn = element?.querySelector('svg');
    if (!element || !drawn) return;
    const fitting = element.clientWidth / Math.max(1, drawn.getBoundingClientRect().width);
    setZoom(Math.min(1, Math.max(READABLE_ZOOM, fitting)));
    // Of a statechart, what counts is where it stands.
    requestAnimationFrame(() => {
      // The innermost of nested ones is the smallest.
      const current = [...element.querySelectorAll('.current')].toSorted(
        (one, other) => widthOf(one) - widthOf(other),
      )[0];
      if (current === undefined) return;
      const [place, within] = [current.getBoundingClientRect(), element.getBoundingClientRect()];
      element.scrollLeft += place.left + place.width / 2 - (within.left + within.width / 2);
      element.scrollTop += place.top + place.height / 2 - (within.top + within.height / 2);
    });
  }, [svg]);

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
      </div>
      <div
        ref={frame}
        className="viewport"
        tabIndex={0}
        role="img"
        aria-label={title}
        onPointerDown={(event) => drag(event.currentTarget, event.nativeEvent)}
        onKeyDown={({ key }) => {
          if (key === '+' || key === '=') change(ZOOM_STEP);
          if (key === '-') change(1 / ZOOM_STEP);
          if (key === '0') setZoom(1);
        }}
      >
        {/* Mermaid's own output under its strict level, which takes labels for text and drops scripts. */}
        <div style={{ zoom }} dangerouslySetInnerHTML={{ __html: svg }} />
      </div>
    </>
  );
}

const widthOf = (element: Element): number => element.getBoundingClientRect().width;

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
      <vscode-icon name={icon} aria-hidden="true" />
    </button>
  );
}

async function draw(id: string, source: string, dark: boolean): Promise<string> {
  const bytes = new TextEncoder().encode(source).length;
  if (bytes > MAX_BYTES) throw new Error(`it has ${bytes} bytes; at most ${MAX_BYTES} are drawn`);
  const { default: mermaid } = await import('mermaid');
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    // Mermaid's other one is 8 MB large and not in this bundle.
    layout: 'dagre',
    theme: dark ? 'dark' : 'default',
    // Labels as text of the SVG: HTML in it would need styles of its own.
    htmlLabels: false,
    flowchart: { useMaxWidth: false },
    state: { useMaxWidth: false },
    sequence: { useMaxWidth: false },
    class: { useMaxWidth: false },
    er: { useMaxWidth: false },
    suppressErrorRendering: true,
  });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`it took longer than ${MAX_MS / 1_000} s`)), MAX_MS);
  try {
    const { svg } = await Promise.race([mermaid.render(id, source), late]);
    return svg;
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the host's colours are dark: the editor says so in a class, a browser by its preference. */
function useDarkTheme(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const look = (): void => setDark(isDark());
    const observer = new MutationObserver(look);
    observer.observe(document.body, { attributeFilter: ['class'] });
    const preference = matchMedia('(prefers-color-scheme: dark)');
    preference.addEventListener('change', look);
    return () => {
      observer.disconnect();
      preference.removeEventListener('change', look);
    };
  }, []);
  return dark;
}

function isDark(): boolean {
  const { classList } = document.body;
  if (classList.contains('vscode-light') || classList.contains('vscode-high-contrast-light')) return false;
  if (classList.contains('vscode-dark') || classList.contains('vscode-high-contrast')) return true;
  return matchMedia('(prefers-color-scheme: dark)').matches;
}
