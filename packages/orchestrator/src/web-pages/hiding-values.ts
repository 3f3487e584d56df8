/**
 * Values of CSS properties by which text may be invisible. Properties that hide nothing whatever their value are listed; of the others,
 * values that are known to hide nothing; all else may hide. Pure.
 */
import { calc } from '@csstools/css-calc';
import { color as readColor, serializeRGB } from '@csstools/css-color-parser';
import {
  type ComponentValue,
  isFunctionNode,
  parseComponentValue,
  parseListOfComponentValues,
} from '@csstools/css-parser-algorithms';
import { tokenize } from '@csstools/css-tokenizer';
import { pixels } from './style-rules.ts';

/** Properties that hide no text. Those of sizes, colours and clipping hide together with others. */
const HARMLESS =
  /^(?:font(?:-.+)?|animation(?:-.+)?|text-(?!indent$|fill-color$|security$).+|line-(?!clamp$).+|word-(?:break|wrap)|hyphen.*|white-space.*|tab-size|quotes|list-style.*|cursor|pointer-events|user-.+|touch-.+|resize|appearance|outline.*|box-.+|border-(?:collapse|.*(?:color|style|radius|image.*))|caption-side|empty-cells|table-layout|transition.*|will-change|scroll.*|overscroll.*|overflow-(?:wrap|anchor)|clear|float|align-.+|justify-.+|place-.+|flex(?:-(?:grow|shrink|basis|wrap))?|grid-auto-.+|column-(?:count|fill|rule.*|span|width)|columns|aspect-ratio|object-.+|page-break-.+|break-.+|orphans|widows|(?:print-)?color-adjust|color-scheme|counter-.+|fill.*|stroke.*|isolation|container.*|position|writing-mode|(?:min-|max-)?(?:width|height|inline-size|block-size)|contain-intrinsic-.+|line-clamp|overflow(?:-[xyib].*)?|backdrop-filter|background.*|(?:caret-|accent-)?color|text-fill-color|image-.+|shape-.+|initial-letter.*|hanging-punctuation|ruby-.+|speak.*|src|unicode-range|interpolate-size|tap-highlight-color|math-.+|perspective-origin|transform-(?:origin|style|box)|backface-visibility|interactivity|field-sizing|dominant-baseline|osx-font-smoothing|forced-color-adjust|high-contrast-adjust|layout-grid.*|page|filter-.+|margin-trim|nav-.+|paint-order|vector-effect|shape-rendering)$/;
/** Properties that move text to another place of the page, which changes a sentence when they move a part of it. */
const MOVING = /^(?:order|flex-(?:direction|flow)|grid-(?:area|row|column)(?:-start|-end)?|direction)$/;
/** Properties that do so to words within a line. */
const MOVING_WORDS = /^(?:float|position)$/;
const KEPT = /^(?:initial|inherit|unset|revert|revert-layer|auto|none|normal|static|fill|contain|visible)$/;

/** True for a value that may hide the text of its element by itself. Variables are resolved before. */
export function mayHide(property: string, value: string): boolean {
  if (property.startsWith('--') || value === '') return false;
  const test = TESTS.find(([pattern]) => pattern.test(property))?.[1];
  if (test !== undefined)
    return value.length > LONGEST_VALUE || !((KEPT.test(value) && property !== 'display') || test(value));
  return !HARMLESS.test(property) && !KEPT.test(value);
}

/** True for a value that may move the text of its element, or of a part of it, out of its order. */
export function mayMove(property: string, value: string, isPhrase: boolean): boolean {
  if (isPhrase && MOVING_WORDS.test(property)) return /^(?:right|inline-end|absolute|fixed)$/.test(value);
  if (!MOVING.test(property)) return false;
  return property.startsWith('flex') || property === 'direction'
    ? /reverse|rtl/.test(value)
    : !/^(?:0|1 ?\/ ?-1|(?:auto|span \d+)(?: ?\/ ?(?:auto|span \d+))?)$/.test(value) && !KEPT.test(value);
}

const COLOUR = /(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?(?:-mix)?\([^()]*\)/g;

/** Longer values are not looked into. */
const LONGEST_VALUE = 2_000;

type Test = (value: string) => boolean;

/** By property: true for values that hide nothing. */
const TESTS: readonly (readonly [RegExp, Test])[] = [
  [/^display$/, (value) => !/^none$|^table-column/.test(value) && /^[a-z -]+$/.test(value)],
  [/^visibility$/, (value) => value === 'visible'],
  [/^content-visibility$/, (value) => value === 'auto'],
  [/^opacity$/, (value) => (ratio(value) ?? 0) >= FAINT],
  [/^(?:zoom|scale)$/, (value) => value.split(' ').every((each) => (ratio(each) ?? 0) >= FAINT)],
  [/^z-index$/, (value) => !value.startsWith('-')],
  [
    /^(?:margin.*|inset.*|left|right|top|bottom)$/,
    (value) => /50% - 50vw/.test(value) || areWithin(value, -100, 1_000, -60, 99.9),
  ],
  [
    /^(?:padding.*|border(?!.*(?:color|style|radius|image|collapse))(?:-.+)?|(?:row-|column-)?gap|grid-gap|text-indent|vertical-align|outline-offset)$/,
    (value) => areWithin(value.replace(COLOUR, ''), -100, 500, -60, 150),
  ],
  [/^(?:letter|word)-spacing$/, (value) => areWithin(value, -4, 60, -60, 99.9)],
  [/^(?:transform|translate|rotate|perspective)$/, isMildTransform],
  [/^filter$/, (value) => /^["']|progid:|^alpha\(/.test(value) || isMildFilter(value)],
  [MOVING, () => true],
  [
    /^grid(?:-template.*)?$/,
    (value) => !/(?:^|[ (,])0(?:fr|px)?(?=$|[ ),])/.test(value.replaceAll(/minmax\(0/g, 'minmax(')),
  ],
  [/^contain$/, (value) => /^(?:layout|style|paint|content|inline-size| )+$/.test(value)],
  [/^unicode-bidi$/, (value) => /^(?:embed|isolate|plaintext)$/.test(value)],
  [/^all$/, () => false],
];

/** Opacity and scale below which text counts as invisible. */
const FAINT = 0.3;

function ratio(value: string): number | null {
  const [, number, percent] = /^([+-]?[\d.]+)(%?)$/.exec(computed(value)) ?? [];
  return number === undefined ? null : Number(number) / (percent === '%' ? 100 : 1);
}

/** `calc()` and the like as far as they can be computed. */
function computed(value: string): string {
  return value.includes('(') ? calc(value) : value;
}

/** True when all lengths and percentages of a value are within bounds. */
function areWithin(value: string, least: number, most: number, leastPercent: number, mostPercent: number): boolean {
  const numbers =
    computed(value).match(/(?<![\w#.-])[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?:%|[a-z]+)?(?![\w(])/g) ?? [];
  return (
    numbers.every((each) => {
      if (each.endsWith('%')) return Number.parseFloat(each) >= leastPercent && Number.parseFloat(each) <= mostPercent;
      const px = pixels(each);
      return px !== null && px >= least && px <= most;
    }) && !/\b(?:var|attr|env|if)\(/.test(value)
  );
}

function isMildTransform(value: string): boolean {
  return partsOf(computed(value)).every(({ name, list }) => {
    const numbers = list.split(/[ ,]+/);
    if (name === null) return areWithin(list, -100, 500, -60, 99.9) || /^[\d.+-]+(?:deg|turn|rad|grad)$/.test(list);
    if (name.startsWith('translate')) return areWithin(list, -100, 500, -60, 99.9);
    if (name.startsWith('scale')) return numbers.every((number) => (ratio(number) ?? 0) >= FAINT);
    if (/^(?:skew[xy]?|rotate[xy])$/.test(name))
      return numbers.every((number) => Math.abs(Number.parseFloat(number)) <= 45 && /deg$|^0$/.test(number));
    if (name !== 'matrix') return /^(?:rotate|rotatez|perspective)$/.test(name);
    return numbers.every((number, index) =>
      index === 0 || index === 3 ? Number(number) >= FAINT : Math.abs(Number(number)) <= 100,
    );
  });
}

function isMildFilter(value: string): boolean {
  return partsOf(value).every(({ name, list }) => {
    if (name === 'opacity') return (ratio(list) ?? 0) >= FAINT;
    if (name === 'blur') return areWithin(list, 0, 0.5, 0, 0);
    if (name === 'brightness' || name === 'contrast') return Math.abs((ratio(list) ?? 0) - 1) <= 0.5;
    return /^(?:drop-shadow|hue-rotate|saturate|grayscale|sepia)$/.test(name ?? '');
  });
}

interface ValuePart {
  readonly name: string | null;
  readonly list: string;
}

/** Functions of a value with their arguments, and its other words, whose name is `null`. */
function partsOf(value: string): readonly ValuePart[] {
  return componentsOf(value).flatMap((component): readonly ValuePart[] => {
    if (isFunctionNode(component))
      return [{ name: component.getName().toLowerCase(), list: component.value.join('').trim() }];
    const list = component.toString().trim();
    return list === '' ? [] : [{ name: null, list }];
  });
}

function componentsOf(value: string): readonly ComponentValue[] {
  return parseListOfComponentValues(tokenize({ css: value }));
}

/** Pixels of a font size within a font of so many pixels; `null` where the value sets none. */
export function fontSize(property: string, value: string, inherited: number): number | null {
  const words = componentsOf(computed(value)).map(String);
  // The first length of the shorthand; numbers before it are weights.
  const size =
    property === 'font'
      ? words.find((word) => /^0$|^[\d.]+(?:%|[a-z]+)$|^[a-z]+\(/.test(word))
      : words.find((word) => word.trim() !== '');
  if (size === undefined) return null;
  const named = /^(?:xx-|x-)?(?:small|large)$|^medium$|^xxx-large$/.test(size) ? 16 : null;
  if (/^[\d.]+%$/.test(size)) return (inherited * Number.parseFloat(size)) / 100;
  if (/^[\d.]+em$/.test(size)) return inherited * Number.parseFloat(size);
  if (named !== null || /^(?:inherit|initial|unset|revert|smaller|larger|math)$/.test(size)) return named ?? inherited;
  const numbers = size.split(/[ ,()+*/]/).flatMap((each) => pixels(each) ?? []);
  // Of `clamp()` and other sums, the largest part.
  return size.includes('(') ? Math.max(0, ...numbers) : (pixels(size) ?? 0);
}

/** A colour as far as contrast needs it. */
export interface Shade {
  /** Relative luminance (WCAG 2), 0 to 1. */
  readonly luminance: number;
  /** 0 is transparent. */
  readonly alpha: number;
}

export const WHITE: Shade = { luminance: 1, alpha: 1 };
export const BLACK: Shade = { luminance: 0, alpha: 1 };
const SYSTEM: Readonly<Record<string, Shade>> = {
  canvas: WHITE,
  canvastext: BLACK,
  transparent: { luminance: 0, alpha: 0 },
};

/** `null` where the value is no colour. */
export function shadeOf(value: string): Shade | null {
  const system = SYSTEM[value];
  if (system !== undefined) return system;
  const light = /^light-dark\((.*),[^,]*\)$/.exec(value)?.[1] ?? value;
  const component = parseComponentValue(tokenize({ css: light.trim() }));
  return component === undefined ? null : shadeOfComponent(component);
}

/** Colours of a value, also those of its gradients. */
export function shadesIn(value: string): readonly Shade[] {
  const inComponent = (component: ComponentValue): readonly Shade[] => {
    const shade = SYSTEM[component.toString()] ?? shadeOfComponent(component);
    if (shade !== null) return [shade];
    return isFunctionNode(component) && component.getName() !== 'url' ? component.value.flatMap(inComponent) : [];
  };
  return componentsOf(value).flatMap(inComponent);
}

function shadeOfComponent(component: ComponentValue): Shade | null {
  const read = readColor(component);
  if (read === false || typeof read.alpha !== 'number') return null;
  const channels =
    serializeRGB(read)
      .toString()
      .match(/[\d.]+/g)
      ?.slice(0, 3)
      .map((each) => Number(each) / 255) ?? [];
  const [red = 0, green = 0, blue = 0] = channels.map((each) =>
    each <= 0.040_45 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4,
  );
  return { luminance: 0.2126 * red + 0.7152 * green + 0.0722 * blue, alpha: read.alpha };
}

/** The colour that stands over another one. */
export function painted({ luminance, alpha }: Shade, over: Shade): Shade {
  return { luminance: luminance * alpha + over.luminance * (1 - alpha), alpha: 1 };
}

/** Contrast (WCAG 2) below which text counts as invisible. The least legible text of usual pages has 2. */
const LEAST_CONTRAST = 1.5;

export function isLegible(text: Shade, beneath: Shade): boolean {
  const { luminance } = painted(text, beneath);
  const [dark, light] = [Math.min(luminance, beneath.luminance), Math.max(luminance, beneath.luminance)];
  return (light + 0.05) / (dark + 0.05) >= LEAST_CONTRAST;
}
