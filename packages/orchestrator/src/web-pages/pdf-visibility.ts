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

/** Characters of a page in the order in which they are painted, each with whether a reader sees it. */
export function paintedCharacters(painting: PagePainting): readonly PaintedCharacters[] {
  const page = emptyPage(painting);
  const names = new Map(Object.entries(painting.operators).map(([name, number]) => [number, name]));
  for (const [index, operator] of painting.fnArray.entries()) {
    if (index % 100 === 0) painting.checkTime();
    STEPS[names.get(operator) ?? '']?.(page, (painting.argsArray[index] ?? []) as readonly unknown[]);
  }
  return charactersOn(page);
}

/** A page as it is being painted. */
interface Page {
  readonly painting: PagePainting;
  readonly view: Box;
  readonly runs: Run[];
  readonly paints: Painted[];
  /** Colours of the paints, each once. */
  readonly fills: Map<string, Colour>;
  readonly stack: Graphics[];
  state: Graphics;
  text: Matrix;
  line: Matrix;
  nextClip: Winding | null;
  /** Open marked contents: whether each is shown. */
  readonly layers: boolean[];
  /** Open groups: whether each is a soft mask. */
  readonly groups: boolean[];
}

function emptyPage(painting: PagePainting): Page {
  const view = boxOf([...pairs(painting.view)]);
  const lists = { runs: [], paints: [], fills: new Map(), stack: [], layers: [], groups: [] };
  return { painting, view, ...lists, state: startOf(view), text: IDENTITY, line: IDENTITY, nextClip: null };
}

type Step = (page: Page, args: readonly unknown[]) => unknown;

const paintClip: Step = (page) => paint(page, page.state.clip, null);
const paintImage: Step = (page) => paint(page, transformed([0, 0, 1, 1], page.state.matrix), null, { isImage: true });
/** Several images, anywhere within the clip. */
const paintImages: Step = (page) => paint(page, page.state.clip, null, { isImage: true });

/** Effects of the operators, by name. */
const STEPS: Readonly<Record<string, Step>> = {
  save,
  restore,
  transform: ({ state }, args) => (state.matrix = product(state.matrix, matrixOf(args))),
  setGState: ({ state }, [entries]) => setGraphics(state, entries),
  setLineWidth: ({ state }, [width]) => (state.lineWidth = Number(width)),
  setFont: ({ state }, [font, size]) => Object.assign(state, { font, size }),
  setTextRenderingMode: ({ state }, [mode]) => (state.mode = Number(mode)),
  setLeading: ({ state }, [leading]) => (state.leading = -Number(leading)),
  setCharSpacing: ({ state }, [spacing]) => (state.characterSpacing = Number(spacing)),
  setWordSpacing: ({ state }, [spacing]) => (state.wordSpacing = Number(spacing)),
  setHScale: ({ state }, [percent]) => (state.stretch = Number(percent) / 100),
  setTextRise: ({ state }, [rise]) => (state.rise = Number(rise)),
  beginText: (page) => (page.text = page.line = IDENTITY),
  setTextMatrix: (page, [matrix]) => (page.text = page.line = matrixOf(matrix)),
  moveText: (page, [x, y]) => moveLine(page, Number(x), Number(y)),
  setLeadingMoveText: (page, [x, y]) => {
    page.state.leading = Number(y);
    moveLine(page, Number(x), Number(y));
  },
  nextLine: (page) => moveLine(page, 0, page.state.leading),
  showText: (page, [glyphs]) => showText(page, glyphs),
  showSpacedText: (page, [glyphs]) => showText(page, glyphs),
  nextLineShowText: (page, [glyphs]) => {
    moveLine(page, 0, page.state.leading);
    showText(page, glyphs);
  },
  nextLineSetSpacingShowText: (page, [word, character, glyphs]) => {
    Object.assign(page.state, { wordSpacing: word, characterSpacing: character });
    moveLine(page, 0, page.state.leading);
    showText(page, glyphs);
  },
  setFillRGBColor: ({ state }, [colour]) => (state.fill = colourOf(colour)),
  setStrokeRGBColor: ({ state }, [colour]) => (state.stroke = colourOf(colour)),
  setFillColorN: ({ state }) => (state.fill = null),
  setStrokeColorN: ({ state }) => (state.stroke = null),
  setFillTransparent: ({ state }) => (state.fill = null),
  setStrokeTransparent: ({ state }) => (state.stroke = null),
  clip: (page) => (page.nextClip = 'nonzero'),
  eoClip: (page) => (page.nextClip = 'evenodd'),
  constructPath: (page, [kind, data, bounds]) => followPath(page, Number(kind), data, bounds),
  paintFormXObjectBegin: (page, [matrix, bounds]) => {
    save(page);
    const { state } = page;
    if (matrix !== null && matrix !== undefined) state.matrix = product(state.matrix, matrixOf(matrix));
    if (bounds !== null && bounds !== undefined) clipTo(state, transformed(numbers(bounds), state.matrix));
  },
  paintFormXObjectEnd: restore,
  beginGroup: (page, [group]) => {
    const { smask = null } = (group ?? {}) as { readonly smask?: unknown };
    page.groups.push(smask !== null);
    save(page);
  },
  endGroup: (page) => {
    page.groups.pop();
    restore(page);
  },
  beginMarkedContent: ({ layers }) => layers.push(true),
  beginMarkedContentProps: ({ layers, painting }, [tag, layer]) =>
    layers.push(tag !== 'OC' || painting.isLayerShown(layer)),
  endMarkedContent: ({ layers }) => layers.pop(),
  shadingFill: paintClip,
  rawFillPath: paintClip,
  paintImageXObject: paintImage,
  paintInlineImageXObject: paintImage,
  paintImageMaskXObject: paintImage,
  paintSolidColorImageMask: paintImage,
  paintImageMaskXObjectGroup: paintImages,
  paintInlineImageXObjectGroup: paintImages,
  paintImageXObjectRepeat: paintImages,
  paintImageMaskXObjectRepeat: paintImages,
};

function save({ stack, state }: Page): void {
  stack.push({ ...state });
}

function restore(page: Page): void {
  page.state = page.stack.pop() ?? page.state;
}

function moveLine(page: Page, x: number, y: number): void {
  page.text = page.line = product(page.line, [1, 0, 0, 1, x, y]);
}

function clipTo(state: Graphics, box: Box, figure?: Figure): void {
  state.clip = intersection(state.clip, box);
  if (figure !== undefined) state.clipFigures = [...state.clipFigures, figure];
}

function paint(
  { runs, paints, fills, layers, groups, state }: Page,
  box: Box,
  colour: Colour,
  {
    figure,
    isImage = false,
    alpha = state.fillAlpha,
    order = paints.length + runs.length,
  }: { figure?: Figure | undefined; isImage?: boolean; alpha?: number; order?: number } = {},
): void {
  if (groups.includes(true) || layers.includes(false)) return;
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
}

function followPath(page: Page, kind: number, data: unknown, bounds: unknown): void {
  const { stroke, closeStroke, fill, eoFill, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke } =
    page.painting.operators;
  const path = (data as readonly unknown[] | null)?.[0];
  if (bounds !== null && bounds !== undefined) {
    const { state, nextClip } = page;
    const { matrix } = state;
    const box = transformed(numbers(bounds), matrix);
    const isRectangle = isUpright(matrix) && isRectanglePath(numbers(path));
    const lines = onlyOnce(() => linesOf(numbers(path), matrix));
    const figure = (winding: Winding): Figure | undefined =>
      isRectangle ? undefined : (point) => isWithin(lines(), point, winding);
    if ([fill, fillStroke, closeFillStroke].includes(kind)) paint(page, box, state.fill, { figure: figure('nonzero') });
    if ([eoFill, eoFillStroke, closeEOFillStroke].includes(kind))
      paint(page, box, state.fill, { figure: figure('evenodd') });
    if ([stroke, closeStroke, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke].includes(kind))
      paintStroke(page, box, lines);
    if (nextClip !== null) clipTo(state, box, figure(nextClip));
  }
  page.nextClip = null;
}

function paintStroke(page: Page, box: Box, lines: () => Lines): void {
  const half = halfLine(page.state);
  if (half >= THICK / 2)
    paint(page, widened(box, half), page.state.stroke, {
      figure: (point) => lines().some(([from, to]) => distance(point, from, to) <= half),
      alpha: page.state.strokeAlpha,
    });
}

function halfLine({ matrix: [a, b, c, d], lineWidth }: Graphics): number {
  return (lineWidth * Math.sqrt(Math.abs(a * d - b * c))) / 2;
}

function showText(page: Page, glyphs: unknown): void {
  const { font, size, stretch, characterSpacing, wordSpacing, rise } = page.state;
  const isPlain = page.painting.isPlainFont(font);
  for (const glyph of glyphs as readonly (number | Glyph | null)[]) {
    if (glyph === null) continue;
    const width =
      typeof glyph === 'number'
        ? -(glyph / 1000) * size
        : (glyph.width / 1000) * size + characterSpacing + (glyph.isSpace ? wordSpacing : 0);
    if (typeof glyph !== 'number' && glyph.unicode.trim() !== '' && !page.groups.includes(true)) {
      const whole = product(page.state.matrix, page.text);
      const points = HEIGHTS.flatMap((height) =>
        [0.15, 0.5, 0.85].map((part) => applied(whole, [part * width * stretch, rise + height * size])),
      );
      const origin = applied(whole, [0, rise]);
      // pdf.js leaves out characters beside the page; this keeps both lists aligned.
      if (contains(page.view, origin))
        addRun(page, glyph.unicode, points, isPlain && isTiny(page.state, whole), isPlain);
    }
    page.text = product(page.text, [1, 0, 0, 1, width * stretch, 0]);
  }
}

function isTiny({ size, stretch }: Graphics, [a, b, c, d]: Matrix): boolean {
  return Math.min(Math.hypot(a, b) * Math.abs(size * stretch), Math.hypot(c, d) * Math.abs(size)) < SMALLEST_PX;
}

function addRun(page: Page, characters: string, points: readonly Point[], tiny: boolean, isPlain: boolean): void {
  const { painting, runs, paints, layers, state } = page;
  const { mode, stroke, strokeAlpha, clip, clipFigures, isMasked } = state;
  const run: Run = { characters, points, order: paints.length + runs.length, isSeen: true, isInvisible: false };
  runs.push(run);
  if (runs.length % 100 === 0) painting.checkTime();
  const isOutside = !areMost(points, (point) => contains(clip, point) && clipFigures.every((figure) => figure(point)));
  if (layers.includes(false) || tiny || isMasked || isOutside) run.isSeen = false;
  if (!isPlain) return;
  if (mode === 3) run.isInvisible = true;
  if (!standsOut(page, run)) run.isSeen = false;
  // Broad lines around letters leave nothing of the text beneath.
  if (hasBroadOutline(state))
    paint(page, widened(boxOf(points), halfLine(state)), stroke, { alpha: strokeAlpha, order: run.order });
}

/** True when letters or the lines around them differ from what lies beneath, and those lines hide no letters. */
function standsOut(page: Page, { points, order }: Run): boolean {
  const { mode, fill, stroke, fillAlpha, strokeAlpha, blend } = page.state;
  const isAlike = (colour: Colour, alpha: number): boolean =>
    // Darkening leaves nothing of white; what other blending leaves is not known.
    blend === 'multiply' || blend === 'darken'
      ? looksLike(colour, PAPER, alpha)
      : blend !== NORMAL ||
        (hasLike(page, colour, alpha) &&
          points.every((point) => looksLike(colour, beneath(page, point, order), alpha)));
  const isFillSeen = FILLING_MODES.has(mode) && !isAlike(fill, fillAlpha);
  const isStrokeSeen = STROKING_MODES.has(mode) && !isAlike(stroke, strokeAlpha);
  const isPaintedOver = hasBroadOutline(page.state) && !isStrokeSeen && strokeAlpha >= OPAQUE;
  return (isFillSeen || isStrokeSeen) && !isPaintedOver;
}

function hasBroadOutline({ mode, lineWidth, size }: Graphics): boolean {
  return STROKING_MODES.has(mode) && lineWidth > BROAD * Math.abs(size);
}

/** True when the paper or something that was painted has such a colour. */
function hasLike({ fills }: Page, colour: Colour, alpha: number): boolean {
  return looksLike(colour, PAPER, alpha) || [...fills.values()].some((fill) => looksLike(colour, fill, alpha));
}

function beneath({ paints }: Page, point: Point, order: number): Colour {
  const below = paints.findLast((each) => each.order < order && isPaintedAt(each, point));
  return below === undefined ? PAPER : below.colour;
}

/** Characters of the finished page, of which later figures cover some. */
function charactersOn({ painting, view, runs, paints }: Page): readonly PaintedCharacters[] {
  const covers = paints.filter((each) => each.covers);
  const images = paints.filter(({ isImage }) => isImage);
  const isScan = images.reduce((sum, { box }) => sum + areaOf(box), 0) >= SCANNED * areaOf(view);
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
/** Rendering modes of text that paint letters, and those that paint lines around them. */
const FILLING_MODES = new Set([0, 2, 4, 6]);
const STROKING_MODES = new Set([1, 2, 5, 6]);
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

function matrixOf(values: unknown): Matrix {
  return numbers(values) as unknown as Matrix;
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
