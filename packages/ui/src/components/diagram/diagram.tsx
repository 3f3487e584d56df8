/** A Mermaid diagram, drawn here: strict, from nothing but its source, and its source where it cannot be drawn. */
import { createContext, useContext, useEffect, useState } from 'react';
import type { MarksOf } from './diagram-marks.ts';
import type { Drawer, Drawn } from './drawing.ts';
import { readSvg } from './svg.ts';
import { Viewport } from './viewport.tsx';

export type Drawing =
  | { readonly state: 'drawing' }
  | { readonly state: 'drawn'; readonly source: string; readonly drawn: Drawn; readonly svg: SVGSVGElement }
  | { readonly state: 'failed'; readonly source: string; readonly reason: string; readonly again: () => void };

const DrawerContext = createContext<Drawer | null>(null);
export const DrawerProvider = DrawerContext.Provider;

export function Diagram({
  source,
  title,
  marksOf,
  isOwn = false,
}: {
  readonly source: string;
  readonly title: string;
  /** The server has made it, of a workflow: it is no agent's text. */
  readonly isOwn?: boolean;
  /** The same function as long as the marks are the same. */
  readonly marksOf?: MarksOf | undefined;
}) {
  return <DrawnDiagram drawing={useDrawing(source, isOwn)} source={source} title={title} marksOf={marksOf} />;
}

/** A diagram whose drawing is known to whoever shows it. */
export function DrawnDiagram({
  drawing,
  source,
  title,
  marksOf,
}: {
  readonly drawing: Drawing;
  readonly source: string;
  readonly title: string;
  readonly marksOf?: MarksOf | undefined;
}) {
  const [showsSource, setShowsSource] = useState(false);
  const isBusy = drawing.state === 'drawing' || drawing.source !== source;
  const isLate = useLate(isBusy);
  if (drawing.state === 'failed' && !isBusy) {
    return (
      <figure className="diagram failed" aria-label={title}>
        <p role="alert">This diagram cannot be drawn: {drawing.reason}.</p>
        <vscode-button secondary onClick={drawing.again}>
          Retry render
        </vscode-button>
        <Source text={source} />
      </figure>
    );
  }
  return (
    <figure className="diagram" aria-label={title} aria-busy={isBusy}>
      {isBusy && (isLate || drawing.state !== 'drawn') && (
        <p className="quiet">{isLate ? 'Still drawing… It is shown as soon as it is ready.' : 'Drawing…'}</p>
      )}
      {drawing.state === 'drawn' && (
        <Viewport drawn={drawing.drawn} svg={drawing.svg} title={title} marksOf={marksOf} />
      )}
      <figcaption>
        <button type="button" className="link" aria-expanded={showsSource} onClick={() => setShowsSource(!showsSource)}>
          {showsSource ? 'Hide source' : 'Show source'}
        </button>
      </figcaption>
      {showsSource && <Source text={source} />}
    </figure>
  );
}

/** Draws what is given; what was drawn stays until the next is, since a source that is being written changes at every key. */
export function useDrawing(source: string | null, isOwn = false): Drawing {
  const drawer = useContext(DrawerContext);
  const dark = useDarkTheme();
  const [tries, setTries] = useState(0);
  const [drawing, setDrawing] = useState<Drawing>({ state: 'drawing' });
  useEffect(() => {
    if (drawer === null || source === null) return undefined;
    const left = new AbortController();
    setDrawing((now) => (now.state === 'drawn' ? now : { state: 'drawing' }));
    const { fontFamily } = getComputedStyle(document.body);
    drawer.draw(source, { isDark: dark, fontFamily }, { isOwn, signal: left.signal }).then(
      (drawn) => {
        if (left.signal.aborted) return;
        try {
          setDrawing({ state: 'drawn', source, drawn, svg: readSvg(drawn.svg) });
        } catch (error) {
          fail(error);
        }
      },
      (error: unknown) => left.signal.aborted || fail(error),
    );
    const fail = (error: unknown): void =>
      setDrawing({
        state: 'failed',
        source,
        reason: error instanceof Error ? error.message : String(error),
        again: () => setTries(tries + 1),
      });
    return () => left.abort();
  }, [drawer, source, isOwn, dark, tries]);
  return drawing;
}

/** After so long a person asks whether anything still happens. */
const LATE_MS = 3_000;

/** Whether something has been busy for {@link LATE_MS}. */
function useLate(isBusy: boolean): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    if (!isBusy) return undefined;
    const timer = setTimeout(() => setLate(true), LATE_MS);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [isBusy]);
  return isLate;
}

/** Longer ones are cut on the screen: laying out a line of a million characters stops the page. */
const MAX_SHOWN = 200_000;

function Source({ text }: { readonly text: string }) {
  return (
    <pre className="source" tabIndex={0} aria-label="Source of the diagram">
      <code>
        {text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n… ${text.length - MAX_SHOWN} more characters` : text}
      </code>
    </pre>
  );
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
