/** A plot over time in the host's own colours, and the same figures as a table for whoever does not see it. */
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import UPlot from 'uplot';
import { FactsTable } from './facts-table.tsx';
import { axisUnit, type Measure, measureText } from './formatters.ts';

/** Colours of charts as the editor names them. */
export type Colour = 'blue' | 'green' | 'orange' | 'purple' | 'red' | 'yellow' | 'foreground';

export interface PlotSeries {
  readonly label: string;
  /** One a point in time; `null` where there is none. */
  readonly values: readonly (number | null)[];
  /** Absent: the next one. */
  readonly colour?: Colour;
}

interface PlotProps {
  readonly title: string;
  /** Description of the plot in one sentence. */
  readonly about: string;
  /** Lines beside each other, or bars on top of each other. */
  readonly kind: 'lines' | 'bars';
  readonly measure: Measure;
  /** Names of the points in time, for the axis and for the table. */
  readonly labels: readonly string[];
  readonly series: readonly PlotSeries[];
  /** Name of the points in time: the head of the table's first column. */
  readonly labelled: string;
  /** A line across at the value that decides something. Default: none. */
  readonly threshold?: { readonly label: string; readonly value: number } | undefined;
}

const HEIGHT_PX = 190;
const LINE_PX = 2;
const COLOURS: readonly Colour[] = ['blue', 'orange', 'green', 'purple', 'yellow', 'red'];
/** Where the system chooses all colours, these are told apart. */
const SYSTEM_COLOURS = ['CanvasText', 'LinkText', 'GrayText', 'Highlight'];
/** Lines differ in more than their colour. */
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

const THRESHOLD_DASH = [6, 4];

/** No half runs: 1, 2, 5, 10, … */
const COUNT_STEPS = Array.from({ length: 13 }, (_step, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

export function Plot(props: PlotProps) {
  const { title, about, kind, measure, labels, series, labelled, threshold } = props;
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const look = useLook(series);
  const [pointed, setPointed] = useState<number | null>(null);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const plot = new UPlot(optionsOf(props, look, element.clientWidth, setPointed), dataOf(props), element);
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height: HEIGHT_PX });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
    // The properties are these; a parent's next drawing has the same lists while nothing has changed.
  }, [kind, measure, labels, series, look, threshold]);

  const valueAt = (values: PlotSeries['values'], index: number): string => {
    const value = values[index];
    return value === null || value === undefined ? '–' : measureText(measure, value);
  };
  return (
    <figure className="plot" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <p className="quiet">{about}</p>
      <p className="legend" aria-hidden="true">
        {series.map(({ label, values }, index) => (
          <span key={label}>
            <Swatch kind={kind} colour={look.series[index] ?? ''} dash={dashAt(index)} /> {label}
            {pointed !== null && <b> {valueAt(values, pointed)}</b>}
          </span>
        ))}
        {threshold !== undefined && (
          <span>
            <Swatch kind="lines" colour={look.text} dash={THRESHOLD_DASH} /> {threshold.label}
          </span>
        )}
        {pointed !== null && <span className="when">{labels[pointed]}</span>}
      </p>
      <div ref={frame} className="drawing" aria-hidden="true" style={{ height: HEIGHT_PX }} />
      <details>
        <summary>As a table</summary>
        <FactsTable label={`${title}, as a table`} head={[labelled, ...series.map(({ label }) => label)]}>
          {labels.map((label, index) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {series.map(({ label: name, values }) => (
                <td key={name}>{valueAt(values, index)}</td>
              ))}
            </tr>
          ))}
        </FactsTable>
      </details>
    </figure>
  );
}

function Swatch({
  kind,
  colour,
  dash,
}: {
  readonly kind: PlotProps['kind'];
  readonly colour: string;
  readonly dash: readonly number[];
}) {
  return (
    <svg className="swatch" width="20" height="10" viewBox="0 0 20 10">
      {kind === 'bars' ? (
        <rect x="5" width="10" height="10" fill={colour} />
      ) : (
        <line x2="20" y1="5" y2="5" stroke={colour} strokeWidth={LINE_PX} strokeDasharray={dash.join(' ')} />
      )}
    </svg>
  );
}

/** Colours as they are now. */
interface Look {
  readonly text: string;
  readonly grid: string;
  readonly font: string;
  readonly series: readonly string[];
}

/** Another one with each theme of the host. */
function useLook(series: readonly PlotSeries[]): Look {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const changed = (): void => setTheme((count) => count + 1);
    // The editor writes its colours into the style of the root, and the kind of theme into the class of the body.
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributeFilter: ['style', 'class'] });
    observer.observe(document.body, { attributeFilter: ['class'] });
    const preferences = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)'].map(
      (query) => matchMedia(query),
    );
    for (const preference of preferences) preference.addEventListener('change', changed);
    return () => {
      observer.disconnect();
      for (const preference of preferences) preference.removeEventListener('change', changed);
    };
  }, []);
  return useMemo(() => lookNow(series), [series, theme]);
}

function lookNow(series: readonly PlotSeries[]): Look {
  const probe = document.body.appendChild(document.createElement('span'));
  // As it is computed, which is another one where the system chooses all colours.
  const computed = (colour: string): string => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  try {
    const isForced = matchMedia('(forced-colors: active)').matches;
    const { fontFamily } = getComputedStyle(document.body);
    return {
      text: computed('var(--vscode-descriptionForeground)'),
      grid: computed('var(--vscode-panel-border, var(--vscode-descriptionForeground))'),
      font: `12px ${fontFamily}`,
      series: series.map(({ colour }, index) => {
        if (isForced) return SYSTEM_COLOURS[index % SYSTEM_COLOURS.length] ?? 'CanvasText';
        const name = colour ?? COLOURS[index % COLOURS.length] ?? 'foreground';
        return computed(name === 'foreground' ? 'var(--vscode-descriptionForeground)' : `var(--vscode-charts-${name})`);
      }),
    };
  } finally {
    probe.remove();
  }
}

function dashAt(index: number): readonly number[] {
  return DASHES[index % DASHES.length] ?? [];
}

/** Bars stand on top of each other: each is as high as all up to it, and the highest is drawn first. */
function dataOf({ kind, measure, labels, series, threshold }: PlotProps): UPlot.AlignedData {
  const { size } = axisUnit(measure, mostShown({ kind, series, threshold }));
  const scaled = series.map(({ values }) => values.map((value) => (value === null ? null : value / size)));
  const points = labels.map((_label, index) => index);
  if (kind === 'lines') return [points, ...scaled];
  const heights = scaled.map((_values, last) =>
    points.map((index) => scaled.slice(0, last + 1).reduce((sum, values) => sum + (values[index] ?? 0), 0)),
  );
  return [points, ...heights.toReversed()];
}

/** The highest of what is drawn, the threshold among it. */
function mostShown({ kind, series, threshold }: Pick<PlotProps, 'kind' | 'series' | 'threshold'>): number {
  return Math.max(mostOf(kind, series), threshold?.value ?? 0);
}

function mostOf(kind: PlotProps['kind'], series: readonly PlotSeries[]): number {
  const heights = (series[0]?.values ?? []).map((_value, index) => {
    const values = series.map(({ values: all }) => all[index] ?? 0);
    return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
  return Math.max(0, ...heights);
}

function optionsOf(
  { kind, measure, labels, series, threshold }: PlotProps,
  look: Look,
  width: number,
  point: (index: number | null) => void,
): UPlot.Options {
  const most = mostShown({ kind, series, threshold });
  const unit = axisUnit(measure, most);
  const bars = UPlot.paths.bars?.({ size: [0.7, 48] });
  const drawn = series.map((_series, index): UPlot.Series => {
    const stroke = look.series[index] ?? look.text;
    return kind === 'bars'
      ? { stroke, fill: stroke, width: 0, points: { show: false }, ...(bars === undefined ? {} : { paths: bars }) }
      : {
          stroke,
          width: LINE_PX,
          dash: [...dashAt(index)],
          spanGaps: true,
          points: { show: true, size: 6, fill: stroke, stroke },
        };
  });
  return {
    width,
    height: HEIGHT_PX,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
    scales: {
      x: { time: false, range: [-0.5, labels.length - 0.5] },
      y: { range: [0, measure === 'percent' ? 100 : topOf(most / unit.size, measure)] },
    },
    axes: [
      {
        stroke: look.text,
        font: look.font,
        grid: { show: false },
        ticks: { stroke: look.grid, size: 4 },
        space: 64,
        size: 34,
        incrs: [1, 2, 3, 5, 7, 14, 28, 56],
        values: (_plot, steps) => steps.map((step) => labels[step] ?? ''),
      },
      {
        stroke: look.text,
        font: look.font,
        grid: { stroke: look.grid, width: 1 },
        ticks: { show: false },
        space: 32,
        size: (_plot, texts) => 14 + 7 * Math.max(0, ...(texts ?? []).map((text) => text.length)),
        values: (_plot, steps) => steps.map(unit.text),
        ...(measure === 'count' ? { incrs: COUNT_STEPS } : {}),
      },
    ],
    series: [{}, ...(kind === 'bars' ? drawn.toReversed() : drawn)],
    hooks: {
      setCursor: [(plot) => point(plot.cursor.idx ?? null)],
      draw: threshold === undefined ? [] : [(plot) => drawThreshold(plot, threshold.value / unit.size, look.text)],
    },
  };
}

/** Above the bars, so that it is seen across all of them. */
function drawThreshold(plot: UPlot, value: number, colour: string): void {
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(value, 'y', true));
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = LINE_PX * devicePixelRatio;
  ctx.setLineDash(THRESHOLD_DASH.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** A little above the highest, and something where all is nothing. */
function topOf(most: number, measure: Measure): number {
  const top = most === 0 ? 1 : most * 1.08;
  return measure === 'count' ? Math.max(2, Math.ceil(top)) : top;
}
