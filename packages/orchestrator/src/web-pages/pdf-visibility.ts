/**
 * Follows the painting of a PDF page as far as it takes to say which of its characters nobody sees: invisible ones, those in the colour
 * of what lies beneath, smaller than a pixel, beside the page or a clip, and those that a rectangle covers later. What cannot be
 * established counts as seen: patterns, pictures, soft masks, fonts of drawings. Invisible text over a scanned page is its text. Pure.
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
  isBlended: boolean;
  mode: number;
  font: string;
  size: number;
  leading: number;
  characterSpacing: number;
  wordSpacing: number;
  stretch: number;
  rise: number;
  clip: Box;
  /** The clip is no rectangle. */
  isClipVague: boolean;
  /** Text that clips what is painted later, and is seen by that. */
  clipping: readonly Run[];
}

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
  readonly colour: Colour;
  readonly order: number;
  readonly covers: boolean;
  readonly isImage: boolean;
}

const PAPER: Colour = [255, 255, 255];
/** Difference of a channel below which two colours look alike. */
const ALIKE = 16;
const LEAST_ALPHA = 0.1;
const SMALLEST_PX = 1;
const THICK = 4;
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
  let isClipNext = false;
  let maskDepth = 0;
  const groups: boolean[] = [];

  const paint = (box: Box, colour: Colour, isImage: boolean): void => {
    for (const run of state.clipping) run.isSeen = true;
    if (maskDepth > 0 || layers.includes(false)) return;
    const isVague = state.isClipVague || state.isBlended || state.fillAlpha < 1;
    const clipped = intersection(box, state.clip);
    const order = paints.length + runs.length;
    fills.set(String(colour), colour);
    paints.push({ box: clipped, colour: isVague ? null : colour, order, covers: !isVague && colour !== null, isImage });
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
    clip: () => (isClipNext = true),
    eoClip: () => (isClipNext = true),
    constructPath: ([kind, data, bounds]) => followPath(Number(kind), data, bounds),
    paintFormXObjectBegin: ([matrix, bounds]) => {
      stack.push({ ...state });
      if (matrix !== null && matrix !== undefined)
        state.matrix = product(state.matrix, numbers(matrix) as unknown as Matrix);
      if (bounds !== null && bounds !== undefined)
        clipTo(transformed(numbers(bounds), state.matrix), isUpright(state.matrix));
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
    shadingFill: () => paint(state.clip, null, false),
    rawFillPath: () => paint(state.clip, null, false),
  };
  for (const name of [
    'paintImageXObject',
    'paintInlineImageXObject',
    'paintImageMaskXObject',
    'paintSolidColorImageMask',
  ])
    Object.assign(steps, { [name]: () => paint(transformed([0, 0, 1, 1], state.matrix), null, true) });
  for (const name of [
    'paintImageMaskXObjectGroup',
    'paintInlineImageXObjectGroup',
    'paintImageXObjectRepeat',
    'paintImageMaskXObjectRepeat',
  ])
    Object.assign(steps, { [name]: () => paint(state.clip, null, true) });

  function clipTo(box: Box, isRectangle: boolean): void {
    state.clip = intersection(state.clip, box);
    if (!isRectangle) state.isClipVague = true;
  }

  function followPath(kind: number, data: unknown, bounds: unknown): void {
    const { stroke, closeStroke, fill, eoFill, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke } =
      painting.operators;
    const path = (data as readonly unknown[] | null)?.[0];
    if (bounds !== null && bounds !== undefined) {
      const box = transformed(numbers(bounds), state.matrix);
      const isRectangle = isUpright(state.matrix) && isRectanglePath(numbers(path));
      if ([fill, eoFill, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke].includes(kind))
        paint(box, isRectangle ? state.fill : null, false);
      if ([stroke, closeStroke, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke].includes(kind))
        paintStroke(box);
      if (isClipNext) clipTo(box, isRectangle);
    }
    isClipNext = false;
  }

  /** A line as thick as text may have text on it; where in its box it runs is not looked at. */
  function paintStroke([left, bottom, right, top]: Box): void {
    const [a, b, c, d] = state.matrix;
    const half = (state.lineWidth * Math.sqrt(Math.abs(a * d - b * c))) / 2;
    if (half >= THICK / 2) paint([left - half, bottom - half, right + half, top + half], null, false);
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
        const points = [0.15, 0.5, 0.85].map((part) => applied(whole, [part * width * stretch, rise + 0.25 * size]));
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
    const { mode, fill, stroke, fillAlpha, strokeAlpha, isBlended, clip } = state;
    const run: Run = { characters, points, order: paints.length + runs.length, isSeen: true, isInvisible: false };
    runs.push(run);
    if (runs.length % 100 === 0) painting.checkTime();
    if (layers.includes(false) || tiny || !points.some((point) => contains(clip, point))) run.isSeen = false;
    if (!isPlain) return;
    const paintsFill = [0, 2, 4, 6].includes(mode) && fillAlpha >= LEAST_ALPHA;
    const paintsStroke = [1, 2, 5, 6].includes(mode) && strokeAlpha >= LEAST_ALPHA;
    const colours = [...(paintsFill ? [fill] : []), ...(paintsStroke ? [stroke] : [])];
    if (mode === 3) run.isInvisible = true;
    if (mode >= 4) state.isClipVague = true;
    if (mode === 7) state.clipping = [...state.clipping, run];
    const isAlike =
      // Blending changes colours, and leaves none where there is none.
      !(isBlended && colours.length > 0) &&
      colours.every(hasLike) &&
      colours.every((colour) => points.every((point) => looksLike(colour, beneath(point, run.order))));
    if (isAlike) run.isSeen = false;
  }

  /** True when the paper or something that was painted has such a colour. */
  function hasLike(colour: Colour): boolean {
    return looksLike(colour, PAPER) || [...fills.values()].some((fill) => looksLike(colour, fill));
  }

  function beneath([x, y]: Point, order: number): Colour {
    const below = paints.findLast((each) => each.order < order && contains(each.box, [x, y]));
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
    const isOnScan = isInvisible && isScan && points.every((point) => images.some(({ box }) => contains(box, point)));
    const isCovered = covers.some((each) => each.order > order && points.every((point) => contains(each.box, point)));
    return { characters, isSeen: isOnScan || (isSeen && !isCovered) };
  });
}

interface Glyph {
  readonly unicode: string;
  readonly width: number;
  readonly isSpace: boolean;
}

const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

function startOf(page: Box): Graphics {
  return {
    matrix: IDENTITY,
    fill: [0, 0, 0],
    stroke: [0, 0, 0],
    fillAlpha: 1,
    strokeAlpha: 1,
    lineWidth: 1,
    isBlended: false,
    mode: 0,
    font: '',
    size: 0,
    leading: 0,
    characterSpacing: 0,
    wordSpacing: 0,
    stretch: 1,
    rise: 0,
    clip: page,
    isClipVague: false,
    clipping: [],
  };
}

/** Entries of a graphics state dictionary: `[['ca', 0.5], …]`. */
function setGraphics(state: Graphics, entries: unknown): void {
  for (const [name, value] of entries as readonly (readonly [string, unknown])[]) {
    if (name === 'ca') state.fillAlpha = Number(value);
    if (name === 'LW') state.lineWidth = Number(value);
    if (name === 'CA') state.strokeAlpha = Number(value);
    if (name === 'BM' || name === 'SMask')
      state.isBlended = !(value === 'source-over' || value === false || value === null);
    if (name === 'Font') [state.font, state.size] = value as [string, number];
  }
}

function colourOf(written: unknown): Colour {
  const digits = typeof written === 'string' ? /^#([0-9a-f]{6})$/i.exec(written)?.[1] : undefined;
  if (digits === undefined) return null;
  const number = Number.parseInt(digits, 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function looksLike(one: Colour, other: Colour): boolean {
  return (
    one !== null && other !== null && one.every((channel, index) => Math.abs(channel - (other[index] ?? 0)) <= ALIKE)
  );
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

function contains([left, bottom, right, top]: Box, [x, y]: Point): boolean {
  return x >= left && x <= right && y >= bottom && y <= top;
}

function areaOf([left, bottom, right, top]: Box): number {
  return Math.max(0, right - left) * Math.max(0, top - bottom);
}
