/**
 * Values of CSS properties by which text may be invisible. Properties that hide nothing whatever their value are listed; of the others,
 * values that are known to hide nothing; all else may hide. Pure.
 */
import { calc } from '@csstools/css-calc';
import { color as readColor, serializeRGB } from '@csstools/css-color-parser';
import { type ComponentValue, isFunctionNode } from '@csstools/css-parser-algorithms';
import { type Declaration, pixels, valuesOf } from './style-rules.ts';

/** Properties that hide no text by themselves. Those of sizes, colours, clipping and faintness hide together with others. */
const HARMLESS =
  /^(?:font(?:-.+)?|animation(?:-.+)?|text-(?!indent$|fill-color$|security$).+|line-(?!clamp$).+|word-(?:break|wrap)|hyphen.*|white-space.*|tab-size|quotes|list-style.*|cursor|pointer-events|user-.+|touch-.+|resize|appearance|outline.*|box-.+|border-(?:collapse|.*(?:color|style|radius|image.*))|caption-side|empty-cells|table-layout|transition.*|will-change|scroll.*|overscroll.*|overflow-(?:wrap|anchor)|clear|float|align-.+|justify-.+|place-.+|flex(?:-(?:grow|shrink|basis|wrap))?|grid-auto-.+|column-(?:count|fill|rule.*|span|width)|columns|aspect-ratio|object-.+|page-break-.+|break-.+|orphans|widows|(?:print-)?color-adjust|color-scheme|counter-.+|fill.*|stroke.*|isolation|container.*|position|writing-mode|(?:min-|max-)?(?:width|height|inline-size|block-size)|contain-intrinsic-.+|line-clamp|overflow(?:-[xyib].*)?|backdrop-filter|background.*|(?:caret-|accent-)?color|text-fill-color|image-.+|shape-.+|initial-letter.*|hanging-punctuation|ruby-.+|speak.*|src|unicode-range|interpolate-size|tap-highlight-color|math-.+|perspective-origin|transform-(?:origin|style|box)|backface-visibility|interactivity|field-sizing|dominant-baseline|osx-font-smoothing|forced-color-adjust|high-contrast-adjust|layout-grid.*|page|filter-.+|margin-trim|nav-.+|paint-order|vector-effect|shape-rendering|z-index|visibility|opacity|zoom|scale|direction|order|flex-(?:direction|flow)|grid-(?:area|row|column)(?:-start|-end)?)$/;
/** Properties that count together with others, or with those of the elements around. */
const TOGETHER =
  /^(?:color|text-fill-color|background(?:-color|-image|-clip)?|font(?:-size)?|overflow.*|contain|(?:max-)?(?:width|height|inline-size|block-size)|line-clamp|text-indent|white-space|animation.*|visibility|opacity|zoom|scale|transform)$/;
const GLOBAL = /^(?:initial|inherit|unset|revert|revert-layer)$/;
const KEPT = /^(?:auto|none|normal|static|fill|contain|visible)$/;

/** True for a value that may hide the text of its element by itself. Variables are resolved before. */
export function mayHide(property: string, value: string): boolean {
  if (property.startsWith('--') || value === '' || GLOBAL.test(value)) return false;
  const test = TESTS.find(([pattern]) => pattern.test(property))?.[1];
  if (test !== undefined)
    return value.length > LONGEST_VALUE || !((KEPT.test(value) && property !== 'display') || test(value));
  return !HARMLESS.test(property) && !KEPT.test(value);
}

/** Part that a value moves out of the order of a sentence: its element or the children of it. */
export function moved(property: string, value: string): 'element' | 'word' | 'children' | null {
  if (GLOBAL.test(value)) return null;
  if (/^(?:float|position)$/.test(property)) return /^(?:right|inline-end|absolute|fixed)$/.test(value) ? 'word' : null;
  if (/^flex-(?:direction|flow)$/.test(property)) return value.includes('reverse') ? 'children' : null;
  if (!/^(?:order|grid-(?:area|row|column)(?:-start|-end)?)$/.test(property)) return null;
  return /^(?:0|1 ?\/ ?-1|(?:auto|span \d+)(?: ?\/ ?(?:auto|span \d+))?)$/.test(value) ? null : 'element';
}

/**
 * Declarations that may decide whether text is seen: those of a property that hides text by some declaration of the page, or together
 * with others, and the variables in them.
 */
export function decisive(all: readonly Declaration[]): (declaration: Declaration) => boolean {
  const hiding = new Set<string>();
  for (const { property, value } of all)
    if (
      !hiding.has(property) &&
      (TOGETHER.test(property) || mayHide(property, value) || moved(property, value) !== null)
    )
      hiding.add(property);
  const variables = new Set(
    all.flatMap(({ property, value }) =>
      hiding.has(property) || property.startsWith('--') ? (value.match(/--[\w-]+/g) ?? []) : [],
    ),
  );
  return ({ property }) => hiding.has(property) || variables.has(property);
}

/** Share of its opacity or size that a value leaves to an element; 1 for other properties. */
export function strength(property: string, value: string): number {
  const list =
    property === 'transform'
      ? (/\bscale(?:3d|[xy])?\(([^()]*)\)/.exec(value)?.[1] ?? '')
      : /^(?:opacity|zoom|scale)$/.test(property)
        ? value
        : '';
  return Math.min(
    1,
    ...computed(list)
      .split(/[ ,]+/)
      .flatMap((each) => ratio(each) ?? []),
  );
}

/** Opacity and scale below which text counts as invisible: black on white then has hardly any contrast. */
export const FAINT = 0.2;

/** True for a value that browsers are known to accept, so that it takes the place of others. */
export function isValid(property: string, value: string): boolean {
  if (GLOBAL.test(value) || property.startsWith('--')) return true;
  return VALID.some(([pattern, test]) => pattern.test(property) && test(value));
}

const COLOUR = /(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?(?:-mix)?\([^()]*\)/g;

/** Longer values are not looked into. */
const LONGEST_VALUE = 2_000;

type Test = (value: string) => boolean;

/** By property: true for values that are known to be valid. */
const VALID: readonly (readonly [RegExp, Test])[] = [
  [
    /^display$/,
    (value) =>
      /^(?:none|contents|list-item|flow-root|(?:inline[- ])?(?:block|flex|grid|table)|(?:block|inline)(?: flow(?:-root)?)?|table-[a-z-]+|-webkit-(?:inline-)?(?:box|flex))$/.test(
        value,
      ),
  ],
  [/^visibility$/, (value) => /^(?:visible|hidden|collapse)$/.test(value)],
  [/^content-visibility$/, (value) => /^(?:visible|auto|hidden)$/.test(value)],
  [
    /^(?:opacity|zoom|scale)$/,
    (value) =>
      computed(value)
        .split(' ')
        .every((each) => ratio(each) !== null),
  ],
  [/^overflow/, (value) => /^(?:(?:visible|hidden|clip|scroll|auto) ?){1,2}$/.test(value)],
  [/^float$/, (value) => /^(?:none|left|right|inline-start|inline-end)$/.test(value)],
  [/^position$/, (value) => /^(?:static|relative|absolute|fixed|sticky)$/.test(value)],
  [/^order$/, (value) => /^-?\d+$/.test(value)],
  [/^white-space$/, (value) => /^(?:normal|nowrap|pre|pre-wrap|pre-line|break-spaces)$/.test(value)],
  [/^flex-direction$/, (value) => /^(?:row|column)(?:-reverse)?$/.test(value)],
  [/^clip$|^(?:left|right|top|bottom|inset|margin|(?:min-)?(?:width|height))/, (value) => value === 'auto'],
  [/^(?:letter|word)-spacing$/, (value) => value === 'normal'],
  [
    /^(?:clip-path|mask|transform|translate|rotate|scale|perspective|filter|contain|animation|max-|line-clamp$|background)/,
    (value) => value === 'none',
  ],
  [
    /^(?:transform|filter)$/,
    (value) => componentsOf(value).every((part) => isFunctionNode(part) || String(part).trim() === ''),
  ],
  [
    /^(?:left|right|top|bottom|inset|margin|padding|(?:min-|max-)?(?:width|height|inline-size|block-size)|text-indent|letter-spacing|word-spacing|font-size|gap|translate)/,
    (value) => componentsOf(value).every(isLength),
  ],
  [/^font-size$/, (value) => NAMED_SIZE.test(value)],
  [/^(?:color|text-fill-color|background-color)$/, (value) => value === 'currentcolor' || shadeOf(value) !== null],
  [/^background-image$/, (value) => /^(?:url|image-set|[a-z-]+gradient)\(/.test(value)],
];

function isLength(part: ComponentValue): boolean {
  if (isFunctionNode(part)) return /^(?:calc|min|max|clamp)$/i.test(part.getName());
  const text = part.toString().trim();
  return (
    text === '' ||
    text === 'auto' ||
    /^(?:[+-]?[\d.]+%|[+-]?0)$/.test(text) ||
    (/[a-z]$/.test(text) && pixels(text) !== null)
  );
}

/** By property: true for values that hide nothing. */
const TESTS: readonly (readonly [RegExp, Test])[] = [
  [/^display$/, (value) => !/^none$|^table-column/.test(value) && /^[a-z -]+$/.test(value)],
  [/^content-visibility$/, (value) => value === 'auto'],
  [/^margin/, (value) => isOpen(value) || areWithin(value, -100, 1_000, -60, 99.9)],
  [/^(?:inset.*|left|right|top|bottom)$/, (value) => areWithin(value, -100, 1_000, -60, 99.9)],
  [
    /^(?:border(?!.*(?:color|style|radius|image|collapse))(?:-.+)?|(?:row-|column-)?gap|grid-gap|text-indent|vertical-align|outline-offset)$/,
    (value) => areWithin(value.replace(COLOUR, ''), -100, 500, -60, 150),
  ],
  [/^padding/, (value) => isOpen(value) || areWithin(value, -100, 500, -60, 150)],
  [/^(?:letter|word)-spacing$/, (value) => areWithin(value, -4, 60, -60, 99.9)],
  [/^(?:transform|translate|rotate|perspective)$/, isMildTransform],
  [/^filter$/, (value) => /^["']|progid:|^alpha\(/.test(value) || isMildFilter(value)],
  [
    /^grid(?:-template.*)?$/,
    (value) => !/(?:^|[ (,])0(?:fr|px)?(?=$|[ ),])/.test(value.replaceAll(/minmax\(0/g, 'minmax(')),
  ],
  [/^contain$/, (value) => /^(?:layout|style|paint|content|inline-size| )+$/.test(value)],
  [/^unicode-bidi$/, (value) => /^(?:embed|isolate|plaintext)$/.test(value)],
  [/^all$/, () => false],
];

function ratio(value: string): number | null {
  const [, number, percent] = /^([+-]?[\d.]+)(%?)$/.exec(computed(value)) ?? [];
  return number === undefined ? null : Number(number) / (percent === '%' ? 100 : 1);
}

/** `calc()` and the like as far as they can be computed. */
function computed(value: string): string {
  try {
    return value.includes('(') ? calc(value) : value;
  } catch {
    return value;
  }
}

/** True where a part of the value depends on the size of the element around it. */
function isOpen(value: string): boolean {
  return /\b(?:calc|min|max|clamp)\(/.test(computed(value));
}

/** Pixels of a length; 0 for less than a hundredth of another one; `null` for anything else. */
export function lengthIn(value: string): number | null {
  const length = computed(value);
  return /^0*(?:\.\d+)?%$/.test(length) ? 0 : pixels(length);
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

const componentsOf = remembered(valuesOf);

/** Values are asked for again for each element. */
function remembered<Answer>(read: (value: string) => Answer): (value: string) => Answer {
  const known = new Map<string, Answer>();
  return (value) => {
    if (known.has(value)) return known.get(value) as Answer;
    if (known.size > 2_000) known.clear();
    const answer = read(value);
    known.set(value, answer);
    return answer;
  };
}

/** The first length of the shorthand `font`; numbers before it are weights. */
export function fontSizeIn(font: string): string | null {
  const words = componentsOf(font).map(String);
  return words.find((word) => /^0$|^[\d.]+(?:%|[a-z]+)$|^[a-z]+\(|^(?:inherit|initial|unset)$/.test(word)) ?? null;
}

const NAMED_SIZE = /^(?:(?:xx-|x-)?(?:small|large)|medium|xxx-large|smaller|larger)$/;

/** Pixels of a font size within a font of so many pixels. */
export function fontSize(value: string, inherited: number): number {
  const size = computed(value).trim();
  if (/^[\d.]+%$/.test(size)) return (inherited * Number.parseFloat(size)) / 100;
  if (/^[\d.]+em$/.test(size)) return inherited * Number.parseFloat(size);
  if (size === 'initial' || (NAMED_SIZE.test(size) && !size.endsWith('er'))) return 16;
  const numbers = size.split(/[ ,()+*/]/).flatMap((each) => pixels(each) ?? []);
  // Of `clamp()` and other sums, the largest part.
  return size.includes('(') ? Math.max(0, ...numbers) : (pixels(size) ?? inherited);
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
  field: WHITE,
  window: WHITE,
  canvastext: BLACK,
  transparent: { luminance: 0, alpha: 0 },
};

/** `null` where the value is no colour. */
export const shadeOf = remembered((value: string): Shade | null => {
  const light = /^light-dark\((.*),[^,]*\)$/.exec(value)?.[1] ?? value;
  const [component, ...more] = componentsOf(light.trim());
  return component === undefined || more.length > 0 ? null : shadeOfComponent(component);
});

/** The plain colour of a background; `null` where it has none. */
export function plainShadeIn(value: string): Shade | null {
  return componentsOf(value).flatMap((each) => shadeOfComponent(each) ?? [])[0] ?? null;
}

/** Colours of the gradients of a background. */
export function gradientShadesIn(value: string): readonly Shade[] {
  return componentsOf(value)
    .filter(isFunctionNode)
    .filter((each) => /gradient$/i.test(each.getName()))
    .flatMap(({ value: parts }) => parts.flatMap((part) => shadeOfComponent(part) ?? []));
}

function shadeOfComponent(component: ComponentValue): Shade | null {
  const system = SYSTEM[component.toString()];
  if (system !== undefined) return system;
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
