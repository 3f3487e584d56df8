/**
 * Follows the painting of a PDF page as far as it takes to say which of its characters nobody sees: invisible ones, those in the colour
 * of what lies beneath, tiny ones, those beside the page or a clip or within a soft mask, and those that a figure covers later. What
 * cannot be established counts as seen: patterns, pictures, fonts of drawings. Invisible text over a scanned page is its text. Pure.
 */

/** Operators of a page as pdf.js lists them. */
export interface PagePainting {
  readonly fnArray: readonly number[];
  readonly argsArray: readonly unknown[];
  /** Numbers of the operators by name. */
  readonly operators: Readonly<Record<string, number>>;
  /** Left, bottom, right and top of what is shown of the page. */
  readonly view: readonly number[];
  /** False for fonts of drawings (Type 3), and for those that are not known. */
  readonly isPlainFont: (name: string) => boolean;
  readonly isLayerShown: (layer: unknown) => boolean;
  /** @throws when following the painting has taken too long */
  readonly checkTime: () => void;
}

export interface PaintedCharacters {
  readonly characters: string;
  readonly isSeen: boolean;
}

type Matrix = readonly [number, number, number, number, number, number];
type Point = readonly [number, number];
type Box = readonly [left: number, bottom: number, right: number, top: number];
/** Red, green and blue of 0 to 255; `null`: not known. */
type Colour = readonly [number, number, number] | null;

interface Graphics {
  matrix: Matrix;
  fill: Colour;
  stroke: Colour;
  fillAlpha: number;
  strokeAlpha: number;
  lineWidth: number;
  /** Name of the canvas: `source-over` for none. */
  blend: string;
  isMasked: boolean;
  mode: number;
  font: string;
  size: number;
  leading: number;
  characterSpacing: number;
  wordSpacing: number;
  stretch: number;
  rise: number;
  clip: Box;
  /** Parts of the clip that are no rectangles. */
  clipFigures: readonly Figure[];
}

/** True for a point within. */
type Figure = (point: Point) => boolean;

interface Run {
  readonly characters: string;
  readonly points: readonly Point[];
  readonly order: number;
  isSeen: boolean;
  /** Invisible text, which belongs to a picture of a page or to nothing. */
  isInvisible: boolean;
}

interface Painted {
  readonly box: Box;
  /** Within the box. */
  readonly figures: readonly Figure[];
  readonly colour: Colour;
  readonly order: number;
  readonly covers: boolean;
  readonly isImage: boolean;
}

const PAPER: Colour = [255, 255, 255];
/** Difference of a channel below which two colours look alike. */
const ALIKE = 32;
/** Opacity from which a figure covers what lies beneath. */
const OPAQUE = 0.85;
const SMALLEST_PX = 2;
/** Lines that are thinner cover no text. */
const THICK = 2;
/** Width of white lines around letters, as a share of their size, that leaves nothing of the letters. */
const BROAD = 0.1;
/** Share of the points of a character that has to be seen. */
const MOST = 0.5;
/** Share of the page that its pictures fill when it is a scan. */
const SCANNED = 0.5;

export function paintedCharacters(painting: PagePainting): readonly PaintedCharacters[] {
  const page = boxOf([...pairs(painting.view)]);
  const runs: Run[] = [];
  const paints: Painted[] = [];
  /** Colours of rectangles, each once. */
  const fills = new Map<string, Colour>();
  const stack: Graphics[] = [];
  const layers: boolean[] = [];
  let state = startOf(page);
  let text: Matrix = IDENTITY;
  let line: Matrix = IDENTITY;
  let nextClip: Winding | null = null;
  let maskDepth = 0;
  const groups: boolean[] = [];

  const paint = (
    box: Box,
    colour: Colour,
    {
      figure,
      isImage = false,
      alpha = state.fillAlpha,
      order = paints.length + runs.length,
    }: { figure?: Figure | undefined; isImage?: boolean; alpha?: number; order?: number } = {},
  ): void => {
    if (maskDepth > 0 || layers.includes(false)) return;
    const isVague = state.blend !== NORMAL || state.isMasked || alpha < OPAQUE;
    fills.set(String(colour), colour);
    paints.push({
      box: intersection(box, state.clip),
      figures: figure === undefined ? state.clipFigures : [...state.clipFigures, figure],
      colour: isVague ? null : colour,
      order,
      covers: !isVague && !isImage,
      isImage,
    });
  };
  const moveLine = (x: number, y: number): void => {
    line = product(line, [1, 0, 0, 1, x, y]);
    text = line;
  };

  const steps: Readonly<Record<string, (args: readonly unknown[]) => void>> = {
    save: () => stack.push({ ...state }),
    restore: () => (state = stack.pop() ?? state),
    transform: (args) => (state.matrix = product(state.matrix, numbers(args) as unknown as Matrix)),
    setGState: ([entries]) => setGraphics(state, entries),
    setLineWidth: ([width]) => (state.lineWidth = Number(width)),
    setFont: ([font, size]) => Object.assign(state, { font, size }),
    setTextRenderingMode: ([mode]) => (state.mode = Number(mode)),
    setLeading: ([leading]) => (state.leading = -Number(leading)),
    setCharSpacing: ([spacing]) => (state.characterSpacing = Number(spacing)),
    setWordSpacing: ([spacing]) => (state.wordSpacing = Number(spacing)),
    setHScale: ([percent]) => (state.stretch = Number(percent) / 100),
    setTextRise: ([rise]) => (state.rise = Number(rise)),
    beginText: () => (text = line = IDENTITY),
    setTextMatrix: ([matrix]) => (text = line = numbers(matrix) as unknown as Matrix),
    moveText: ([x, y]) => moveLine(Number(x), Number(y)),
    setLeadingMoveText: ([x, y]) => {
      state.leading = Number(y);
      moveLine(Number(x), Number(y));
    },
    nextLine: () => moveLine(0, state.leading),
    showText: ([glyphs]) => showText(glyphs),
    showSpacedText: ([glyphs]) => showText(glyphs),
    nextLineShowText: ([glyphs]) => {
      moveLine(0, state.leading);
      showText(glyphs);
    },
    nextLineSetSpacingShowText: ([word, character, glyphs]) => {
      Object.assign(state, { wordSpacing: word, characterSpacing: character });
      moveLine(0, state.leading);
      showText(glyphs);
    },
    setFillRGBColor: ([colour]) => (state.fill = colourOf(colour)),
    setStrokeRGBColor: ([colour]) => (state.stroke = colourOf(colour)),
    setFillColorN: () => (state.fill = null),
    setStrokeColorN: () => (state.stroke = null),
    setFillTransparent: () => (state.fill = null),
    setStrokeTransparent: () => (state.stroke = null),
    clip: () => (nextClip = 'nonzero'),
    eoClip: () => (nextClip = 'evenodd'),
    constructPath: ([kind, data, bounds]) => followPath(Number(kind), data, bounds),
    paintFormXObjectBegin: ([matrix, bounds]) => {
      stack.push({ ...state });
      if (matrix !== null && matrix !== undefined)
        state.matrix = product(state.matrix, numbers(matrix) as unknown as Matrix);
      if (bounds !== null && bounds !== undefined) clipTo(transformed(numbers(bounds), state.matrix));
    },
    paintFormXObjectEnd: () => (state = stack.pop() ?? state),
    beginGroup: ([group]) => {
      const { smask = null } = (group ?? {}) as { readonly smask?: unknown };
      const isMask = smask !== null;
      groups.push(isMask);
      if (isMask) maskDepth += 1;
      stack.push({ ...state });
    },
    endGroup: () => {
      if (groups.pop() === true) maskDepth -= 1;
      state = stack.pop() ?? state;
    },
    beginMarkedContent: () => layers.push(true),
    beginMarkedContentProps: ([tag, layer]) => layers.push(tag !== 'OC' || painting.isLayerShown(layer)),
    endMarkedContent: () => layers.pop(),
    shadingFill: () => paint(state.clip, null),
    rawFillPath: () => paint(state.clip, null),
  };
  for (const name of [
    'paintImageXObject',
    'paintInlineImageXObject',
    'paintImageMaskXObject',
    'paintSolidColorImageMask',
  ])
    Object.assign(steps, { [name]: () => paint(transformed([0, 0, 1, 1], state.matrix), null, { isImage: true }) });
  for (const name of [
    'paintImageMaskXObjectGroup',
    'paintInlineImageXObjectGroup',
    'paintImageXObjectRepeat',
    'paintImageMaskXObjectRepeat',
  ])
    Object.assign(steps, { [name]: () => paint(state.clip, null, { isImage: true }) });

  function clipTo(box: Box, figure?: Figure): void {
    state.clip = intersection(state.clip, box);
    if (figure !== undefined) state.clipFigures = [...state.clipFigures, figure];
  }

  function followPath(kind: number, data: unknown, bounds: unknown): void {
    const { stroke, closeStroke, fill, eoFill, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke } =
      painting.operators;
    const path = (data as readonly unknown[] | null)?.[0];
    if (bounds !== null && bounds !== undefined) {
      const box = transformed(numbers(bounds), state.matrix);
      const { matrix } = state;
      const isRectangle = isUpright(matrix) && isRectanglePath(numbers(path));
      const lines = onlyOnce(() => linesOf(numbers(path), matrix));
      const figure = (winding: Winding): Figure | undefined =>
        isRectangle ? undefined : (point) => isWithin(lines(), point, winding);
      if ([fill, fillStroke, closeFillStroke].includes(kind)) paint(box, state.fill, { figure: figure('nonzero') });
      if ([eoFill, eoFillStroke, closeEOFillStroke].includes(kind))
        paint(box, state.fill, { figure: figure('evenodd') });
      if ([stroke, closeStroke, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke].includes(kind))
        paintStroke(box, lines);
      if (nextClip !== null) clipTo(box, figure(nextClip));
    }
    nextClip = null;
  }

  function halfLine(): number {
    const [a, b, c, d] = state.matrix;
    return (state.lineWidth * Math.sqrt(Math.abs(a * d - b * c))) / 2;
  }

  function paintStroke(box: Box, lines: () => Lines): void {
    const half = halfLine();
    if (half >= THICK / 2)
      paint(widened(box, half), state.stroke, {
        figure: (point) => lines().some(([from, to]) => distance(point, from, to) <= half),
        alpha: state.strokeAlpha,
      });
  }

  function showText(glyphs: unknown): void {
    const { size, stretch, characterSpacing, wordSpacing, rise } = state;
    const isPlain = painting.isPlainFont(state.font);
    for (const glyph of glyphs as readonly (number | Glyph | null)[]) {
      if (glyph === null) continue;
      const width =
        typeof glyph === 'number'
          ? -(glyph / 1000) * size
          : (glyph.width / 1000) * size + characterSpacing + (glyph.isSpace ? wordSpacing : 0);
      if (typeof glyph !== 'number' && glyph.unicode.trim() !== '' && maskDepth === 0) {
        const whole = product(state.matrix, text);
        const points = HEIGHTS.flatMap((height) =>
          [0.15, 0.5, 0.85].map((part) => applied(whole, [part * width * stretch, rise + height * size])),
        );
        const origin = applied(whole, [0, rise]);
        // pdf.js leaves out characters beside the page; this keeps both lists aligned.
        if (contains(page, origin)) addRun(glyph.unicode, points, isPlain && isTiny(whole), isPlain);
      }
      text = product(text, [1, 0, 0, 1, width * stretch, 0]);
    }
  }

  function isTiny(matrix: Matrix): boolean {
    const { size, stretch } = state;
    const [a, b, c, d] = matrix;
    return Math.min(Math.hypot(a, b) * Math.abs(size * stretch), Math.hypot(c, d) * Math.abs(size)) < SMALLEST_PX;
  }

  function addRun(characters: string, points: readonly Point[], tiny: boolean, isPlain: boolean): void {
    const { mode, fill, stroke, fillAlpha, strokeAlpha, blend, clip, clipFigures, isMasked, lineWidth, size } = state;
    const run: Run = { characters, points, order: paints.length + runs.length, isSeen: true, isInvisible: false };
    runs.push(run);
    if (runs.length % 100 === 0) painting.checkTime();
    const isOutside = !areMost(
      points,
      (point) => contains(clip, point) && clipFigures.every((figure) => figure(point)),
    );
    if (layers.includes(false) || tiny || isMasked || isOutside) run.isSeen = false;
    if (!isPlain) return;
    const paintsFill = [0, 2, 4, 6].includes(mode);
    const paintsStroke = [1, 2, 5, 6].includes(mode);
    if (mode === 3) run.isInvisible = true;
    const isAlike = (colour: Colour, alpha: number): boolean =>
      // Darkening leaves nothing of white; what other blending leaves is not known.
      blend === 'multiply' || blend === 'darken'
        ? looksLike(colour, PAPER, alpha)
        : blend !== NORMAL ||
          (hasLike(colour, alpha) && points.every((point) => looksLike(colour, beneath(point, run.order), alpha)));
    const isFillUnseen = !paintsFill || isAlike(fill, fillAlpha);
    const isStrokeUnseen = !paintsStroke || isAlike(stroke, strokeAlpha);
    const isPaintedOver = paintsStroke && isStrokeUnseen && strokeAlpha >= OPAQUE && lineWidth > BROAD * Math.abs(size);
    if ((isFillUnseen && isStrokeUnseen) || isPaintedOver) run.isSeen = false;
    // Broad lines around letters leave nothing of the text beneath.
    if (paintsStroke && lineWidth > BROAD * Math.abs(size))
      paint(widened(boxOf(points), halfLine()), stroke, { alpha: strokeAlpha, order: run.order });
  }

  /** True when the paper or something that was painted has such a colour. */
  function hasLike(colour: Colour, alpha: number): boolean {
    return looksLike(colour, PAPER, alpha) || [...fills.values()].some((fill) => looksLike(colour, fill, alpha));
  }

  function beneath(point: Point, order: number): Colour {
    const below = paints.findLast((each) => each.order < order && isPaintedAt(each, point));
    return below === undefined ? PAPER : below.colour;
  }

  const names = new Map(Object.entries(painting.operators).map(([name, number]) => [number, name]));
  for (const [index, operator] of painting.fnArray.entries()) {
    if (index % 100 === 0) painting.checkTime();
    steps[names.get(operator) ?? '']?.((painting.argsArray[index] ?? []) as readonly unknown[]);
  }

  const covers = paints.filter((each) => each.covers);
  const images = paints.filter(({ isImage }) => isImage);
  const isScan = images.reduce((sum, { box }) => sum + areaOf(box), 0) >= SCANNED * areaOf(page);
  return runs.map(({ characters, points, order, isSeen, isInvisible }, index) => {
    if (index % 100 === 0) painting.checkTime();
    const place = boxOf(points);
    const later = isSeen
      ? covers.filter((each) => each.order > order && areaOf(intersection(each.box, place)) > 0)
      : [];
    const isOnScan = isInvisible && isScan && points.every((point) => images.some(({ box }) => contains(box, point)));
    const isCovered = areMost(points, (point) => later.some((each) => isPaintedAt(each, point)));
    return { characters, isSeen: isOnScan || (isSeen && !isCovered) };
  });
}

interface Glyph {
  readonly unicode: string;
  readonly width: number;
  readonly isSpace: boolean;
}

const NORMAL = 'source-over';
/** Shares of the size of a font at which it is looked whether a character is seen. */
const HEIGHTS = [0.08, 0.25, 0.42];
const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

function startOf(page: Box): Graphics {
  return {
    matrix: IDENTITY,
    fill: [0, 0, 0],
    stroke: [0, 0, 0],
    fillAlpha: 1,
    strokeAlpha: 1,
    lineWidth: 1,
    blend: NORMAL,
    isMasked: false,
    mode: 0,
    font: '',
    size: 0,
    leading: 0,
    characterSpacing: 0,
    wordSpacing: 0,
    stretch: 1,
    rise: 0,
    clip: page,
    clipFigures: [],
  };
}

/** Entries of a graphics state dictionary: `[['ca', 0.5], …]`. */
function setGraphics(state: Graphics, entries: unknown): void {
  for (const [name, value] of entries as readonly (readonly [string, unknown])[]) {
    if (name === 'ca') state.fillAlpha = Number(value);
    if (name === 'LW') state.lineWidth = Number(value);
    if (name === 'CA') state.strokeAlpha = Number(value);
    if (name === 'BM') state.blend = String(value);
    if (name === 'SMask') state.isMasked = value !== false && value !== null;
    if (name === 'Font') [state.font, state.size] = value as [string, number];
  }
}

function colourOf(written: unknown): Colour {
  const digits = typeof written === 'string' ? /^#([0-9a-f]{6})$/i.exec(written)?.[1] : undefined;
  if (digits === undefined) return null;
  const number = Number.parseInt(digits, 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** @param alpha opacity of the one over the other */
function looksLike(one: Colour, other: Colour, alpha: number): boolean {
  if (alpha * 255 <= ALIKE) return true;
  return (
    one !== null &&
    other !== null &&
    one.every((channel, index) => Math.abs(channel - (other[index] ?? 0)) * alpha <= ALIKE)
  );
}

function areMost(points: readonly Point[], test: Figure): boolean {
  return points.filter(test).length > MOST * points.length;
}

function isPaintedAt({ box, figures }: Painted, point: Point): boolean {
  return contains(box, point) && figures.every((figure) => figure(point));
}

type Winding = 'nonzero' | 'evenodd';
type Lines = readonly (readonly [Point, Point])[];

/** Straight parts that stand for a curve. */
const PARTS = 8;

/** Lines of a path of pdf.js, each figure of which is closed: 0 moves, 1 draws a line, 2 and 3 curves, 4 closes. */
function linesOf(path: readonly number[], matrix: Matrix): Lines {
  const lines: (readonly [Point, Point])[] = [];
  let start: Point = [0, 0];
  let last: Point = start;
  const draw = (to: Point): void => {
    lines.push([last, to]);
    last = to;
  };
  for (let at = 0; at < path.length;) {
    const kind = path[at] ?? 4;
    const count = [2, 2, 6, 4, 0][kind] ?? 0;
    const points = [...pairs(path.slice(at + 1, at + 1 + count))].map((point) => applied(matrix, point));
    const from = last;
    if (kind === 0 || kind === 4) draw(start);
    if (kind === 0) start = last = points[0] ?? last;
    else if (kind !== 4)
      for (let part = 1; part <= (kind === 1 ? 1 : PARTS); part += 1)
        draw(onCurve([from, ...points], kind === 1 ? 1 : part / PARTS));
    at += 1 + count;
  }
  draw(start);
  return lines;
}

/** A point of a Bézier curve (de Casteljau). */
function onCurve(points: readonly Point[], share: number): Point {
  const [first = [0, 0], ...others] = points;
  if (others.length === 0) return first;
  return onCurve(
    others.map(([x, y], index) => {
      const [left, bottom] = points[index] ?? first;
      return [left + (x - left) * share, bottom + (y - bottom) * share];
    }),
    share,
  );
}

function isWithin(lines: Lines, [x, y]: Point, winding: Winding): boolean {
  let turns = 0;
  for (const [[left, bottom], [right, top]] of lines) {
    if (bottom <= y === top <= y) continue;
    if (left + ((y - bottom) / (top - bottom)) * (right - left) > x) turns += top > bottom ? 1 : -1;
  }
  return winding === 'nonzero' ? turns !== 0 : turns % 2 !== 0;
}

function distance([x, y]: Point, [left, bottom]: Point, [right, top]: Point): number {
  const [across, up] = [right - left, top - bottom];
  const long = across ** 2 + up ** 2;
  const share = long === 0 ? 0 : Math.min(1, Math.max(0, ((x - left) * across + (y - bottom) * up) / long));
  return Math.hypot(x - left - share * across, y - bottom - share * up);
}

function onlyOnce<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** The path of `re`, or four lines like it: move, line, line, line, and perhaps a line back, each with its point. */
function isRectanglePath(path: readonly number[]): boolean {
  const points: Point[] = [];
  for (let at = 0; at < path.length; at += 3) {
    const kind = path[at];
    if (kind === 4 && at === path.length - 1) break;
    if (kind !== (at === 0 ? 0 : 1)) return false;
    points.push([path[at + 1] ?? 0, path[at + 2] ?? 0]);
  }
  const [left, bottom, right, top] = boxOf(points);
  return (
    (points.length === 4 || points.length === 5) &&
    points.every(([x, y]) => (x === left || x === right) && (y === bottom || y === top)) &&
    new Set(points.map(String)).size === 4
  );
}

function numbers(values: unknown): readonly number[] {
  return Array.from((values ?? []) as ArrayLike<number>, Number);
}

function* pairs(values: readonly number[]): Generator<Point> {
  for (let at = 0; at + 1 < values.length; at += 2) yield [values[at] ?? 0, values[at + 1] ?? 0];
}

function product(one: Matrix, other: Matrix): Matrix {
  const [a, b, c, d, e, f] = one;
  const [g, h, i, j, k, l] = other;
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

function applied([a, b, c, d, e, f]: Matrix, [x, y]: Point): Point {
  return [a * x + c * y + e, b * x + d * y + f];
}

function isUpright([a, b, c, d]: Matrix): boolean {
  return (b === 0 && c === 0) || (a === 0 && d === 0);
}

/** The box around a box that a matrix has moved. */
function transformed([left = 0, bottom = 0, right = 0, top = 0]: readonly number[], matrix: Matrix): Box {
  const corners: readonly Point[] = [
    [left, bottom],
    [left, top],
    [right, bottom],
    [right, top],
  ];
  return boxOf(corners.map((corner) => applied(matrix, corner)));
}

function boxOf(points: readonly Point[]): Box {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

function intersection(one: Box, other: Box): Box {
  return [
    Math.max(one[0], other[0]),
    Math.max(one[1], other[1]),
    Math.min(one[2], other[2]),
    Math.min(one[3], other[3]),
  ];
}

function widened([left, bottom, right, top]: Box, by: number): Box {
  return [left - by, bottom - by, right + by, top + by];
}

function contains([left, bottom, right, top]: Box, [x, y]: Point): boolean {
  return x >= left && x <= right && y >= bottom && y <= top;
}

function areaOf([left, bottom, right, top]: Box): number {
  return Math.max(0, right - left) * Math.max(0, top - bottom);
}
