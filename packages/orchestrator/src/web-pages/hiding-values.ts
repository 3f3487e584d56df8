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
  /^(?:font(?!-size-adjust)(?:-.+)?|animation(?:-.+)?|text-(?!indent$|fill-color$|security$|stroke(?:-width)?$).+|line-(?!clamp$).+|word-(?:break|wrap)|hyphen.*|white-space.*|tab-size|list-style-(?:position|image)|app-region|locale|cursor|pointer-events|user-.+|touch-.+|resize|appearance|outline.*|box-.+|border-(?:collapse|.*(?:color|style|radius|image.*))|caption-side|empty-cells|table-layout|transition.*|will-change|scroll.*|overscroll.*|overflow-(?:wrap|anchor)|clear|float|align-.+|justify-.+|place-.+|flex-(?:grow|shrink|basis|wrap)|grid-auto-flow|column-(?:count|fill|rule.*|span|width)|columns|aspect-ratio|object-.+|page-break-.+|break-.+|orphans|widows|(?:print-)?color-adjust|color-scheme|counter-.+|fill.*|stroke.*|isolation|container-name|position|writing-mode|(?:min-|max-)?(?:height|block-size)|max-(?:width|inline-size)|contain-intrinsic-.+|line-clamp|overflow(?:-[xyib].*)?|backdrop-filter|background.*|(?:caret-|accent-)?color|text-fill-color|image-.+|shape-.+|initial-letter.*|hanging-punctuation|ruby-.+|speak.*|src|unicode-range|interpolate-size|tap-highlight-color|math-(?:style|shift)|perspective-origin|transform-(?:style|box)|backface-visibility|interactivity|field-sizing|dominant-baseline|osx-font-smoothing|forced-color-adjust|high-contrast-adjust|layout-grid.*|page|filter-.+|margin-trim|nav-.+|paint-order|vector-effect|shape-rendering|z-index|visibility|opacity|zoom|scale|direction|order|flex-(?:direction|flow)|grid-(?:area|row|column)(?:-start|-end)?)$/;
/** Properties that count together with others, or with those of the elements around. */
const TOGETHER =
  /^(?:display|color|color-scheme|text-fill-color|background(?:-color|-image|-clip)?|font(?:-size)?|overflow.*|contain|(?:max-)?(?:width|height|inline-size|block-size)|line-clamp|flex(?:-grow|-basis)?|text-indent|white-space|animation.*|visibility|opacity|zoom|scale|transform|filter)$/;
/** Properties that move text out of a box which cuts it off, and pixels from which they do. */
const MOVING = /^(?:margin|padding|inset|left|top|translate|text-indent|line-height)/;
const FAR_PX = 40;
export const GLOBAL = /^(?:initial|inherit|unset|revert|revert-layer)$/;
/** Functions that give any value: of an attribute, of the browser, of a style query. */
const ANY = /(?:^|[\s,(*/])(?:attr|env(?!\(safe-area-)|if|inherit|--[\w-]+)\(/;
const KEPT = /^(?:auto|none|normal|static|fill|contain|visible)$/;

/** True for a value that may hide the text of its element by itself. Variables are resolved before. */
export function mayHide(name: string, value: string): boolean {
  if (name.startsWith('--') || value === '' || GLOBAL.test(value)) return false;
  const property = name.replace('-webkit-', '');
  if (TOGETHER.test(property) && ANY.test(value)) return true;
  const test = TESTS.find(([pattern]) => pattern.test(property))?.[1];
  if (test !== undefined)
    return value.length > LONGEST_VALUE || !((KEPT.test(value) && property !== 'display') || test(value));
  return !HARMLESS.test(property) && !KEPT.test(value);
}

/** Part that a value moves out of the order of a sentence: its element or the children of it. */
export function moved(property: string, value: string): 'element' | 'word' | 'children' | null {
  if (GLOBAL.test(value)) return null;
  if (/^(?:float|position)$/.test(property)) return /^(?:right|inline-end|absolute|fixed)$/.test(value) ? 'word' : null;
  if (/^flex-(?:direction|flow|wrap)$/.test(property)) return value.includes('reverse') ? 'children' : null;
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
      (TOGETHER.test(property) ||
        (MOVING.test(property) && value.split(' ').some((each) => (lengthIn(each) ?? 0) >= FAR_PX)) ||
        mayHide(property, value) ||
        moved(property, value) !== null)
    )
      hiding.add(property);
  const variables = new Set(
    all.flatMap(({ property, value }) =>
      hiding.has(property) || property.startsWith('--') ? (value.match(/--[\w-]+/g) ?? []) : [],
    ),
  );
  return ({ property }) => hiding.has(property) || variables.has(property);
}

const SHARES: ReadonlyMap<string, RegExp> = new Map([
  ['opacity', /^(.*)$/],
  ['zoom', /^(.*)$/],
  ['scale', /^(.*)$/],
  ['transform', /\bscale(?:3d|[xy])?\(([^()]*)\)/],
  ['filter', /\bopacity\(([^()]*)\)/],
]);

/** Properties whose values add up over nested elements. */
export const SHARING = [...SHARES.keys()];

/** Share of its opacity or size that a value leaves to an element; 1 for other properties, 0 for one that cannot be computed. */
export function strength(property: string, value: string): number {
  const list = SHARES.get(property)?.exec(computed(value))?.[1] ?? '';
  if (list.includes('(')) return 0;
  return Math.min(1, ...list.split(/[ ,]+/).flatMap((each) => ratio(each) ?? []));
}

/** Opacity and scale below which text counts as invisible: black on white then has hardly any contrast. */
export const FAINT = 0.2;

/** True for a value that browsers certainly accept, so that it takes the place of others. */
export function isValid(property: string, value: string): boolean {
  if (GLOBAL.test(value) || property.startsWith('--')) return true;
  if (/^(?:color|text-fill-color|background-color)$/.test(property)) return value === 'currentcolor' || isColour(value);
  if (property === 'background') return isBackground(value);
  if (property === 'background-image') return lettersOf(value).every((letters) => letters === 'i');
  return VALID.some(([pattern, values]) => pattern.test(property) && values.test(value));
}

const COLOUR = /(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?(?:-mix)?\([^()]*\)/g;

/** Longer values are not looked into. */
const LONGEST_VALUE = 2_000;

type Test = (value: string) => boolean;

const UNSIGNED = String.raw`(?:0|\+?(?:\d+|\d*\.\d+)(?:%|px|r?em|ch|ex|vw|vh|pt|in|cm|mm))`;
const SIGNED = UNSIGNED.replace(String.raw`\+?`, '[+-]?');
const NUMBER = String.raw`(?:\d+|\d*\.\d+)%?`;
const ANGLE = String.raw`(?:0|[+-]?(?:\d+|\d*\.\d+)(?:deg|turn))`;

// oxlint-disable-next-line autonomous/linear-expressions -- anchored; no neighbours of a list of values take the same characters
const whole = (values: string): RegExp => new RegExp(`^(?:${values})$`);

/** By property: the values that browsers are known to accept. Those that are missing here take back nothing. */
const VALID: readonly (readonly [RegExp, RegExp])[] = [
  [
    /^display$/,
    /^(?:none|contents|list-item|flow-root|block|(?:inline-)?(?:flex|grid|table)|inline(?:-block)?|table-(?:row|cell|column|caption|(?:row|header|footer|column)-group)|-webkit-(?:inline-)?(?:box|flex))$/,
  ],
  [/^visibility$/, /^(?:visible|hidden|collapse)$/],
  [/^content-visibility$/, /^(?:visible|auto|hidden)$/],
  [/^(?:opacity|zoom)$/, whole(NUMBER)],
  [/^scale$/, whole(`none|${NUMBER}(?: ${NUMBER}){0,2}`)],
  [/^overflow$/, /^(?:visible|hidden|clip|scroll|auto)(?: (?:visible|hidden|clip|scroll|auto))?$/],
  [/^overflow-[xy]$/, /^(?:visible|hidden|clip|scroll|auto)$/],
  [/^float$/, /^(?:none|left|right|inline-start|inline-end)$/],
  [/^position$/, /^(?:static|relative|absolute|fixed|sticky)$/],
  [/^order$/, /^-?\d+$/],
  [/^white-space$/, /^(?:normal|nowrap|pre|pre-wrap|pre-line|break-spaces)$/],
  [/^flex-direction$/, /^(?:row|column)(?:-reverse)?$/],
  [/^clip$/, /^auto$/],
  [/^(?:clip-path|mask|mask-image|rotate|perspective|filter|contain|animation|line-clamp)$/, /^none$/],
  [/^(?:left|right|top|bottom|margin-(?:left|right|top|bottom))$/, whole(`auto|${SIGNED}`)],
  [/^(?:inset|margin)$/, whole(`(?:auto|${SIGNED})(?: (?:auto|${SIGNED})){0,3}`)],
  [/^padding$/, whole(`${UNSIGNED}(?: ${UNSIGNED}){0,3}`)],
  [/^padding-(?:left|right|top|bottom)$/, whole(UNSIGNED)],
  [/^(?:min-)?(?:width|height|inline-size|block-size)$/, whole(`auto|${UNSIGNED}|(?:min|max|fit)-content`)],
  [/^max-(?:width|height|inline-size|block-size)$/, whole(`none|${UNSIGNED}|(?:min|max|fit)-content`)],
  [/^text-indent$/, whole(SIGNED)],
  [/^(?:letter|word)-spacing$/, whole(`normal|${SIGNED.replace('%|', '')}`)],
  [/^font-size$/, whole(`(?:xx-|x-)?(?:small|large)|medium|xxx-large|smaller|larger|${UNSIGNED}`)],
  [/^translate$/, whole(`none|${SIGNED}(?: ${SIGNED})?`)],
  [
    /^transform$/,
    whole(
      String.raw`none|translate[xy]?\(${SIGNED}\)|translate\(${SIGNED}, ?${SIGNED}\)|scale[xy]?\(${NUMBER}\)|rotate\(${ANGLE}\)|translatez\(0\)|translate3d\(0, ?0, ?0\)`,
    ),
  ],
  [/^background-clip$/, /^(?:(?:border|padding|content)-box|text)(?:, ?(?:(?:border|padding|content)-box|text))*$/],
  [/^color-scheme$/, /^(?:normal|(?:only )?(?:light|dark)|light dark|dark light)$/],
];

/** Words of backgrounds by the letters of their shape. */
const BACKGROUND: readonly (readonly [RegExp, string])[] = [
  [/^none$/, 'i'],
  [/^(?:(?:no-)?repeat|space|round)$/, 'r'],
  [/^repeat-[xy]$/, 'R'],
  [/^(?:left|right)$/, 'x'],
  [/^(?:top|bottom)$/, 'y'],
  [/^center$/, 'm'],
  [/^(?:cover|contain)$/, 's'],
  [/^auto$/, 'u'],
  [/^(?:fixed|scroll|local)$/, 'a'],
  [/^(?:border|padding|content)-box$/, 'b'],
  [/^text$/, 't'],
  [/^(?:0|-?(?:\d+|\d*\.\d+)(?:%|px|r?em|vw|vh))$/, 'l'],
  [/^[,/]$/, ''],
];
/** Parts of one background, each of which it has once. */
const BACKGROUND_PARTS = /c|i|a|b[bt]?|t|R|r{1,2}|(?:(?:xl?|m)(?:yl?|m)|mx|y[xm]?|[xml][yml]?)(?:\/(?:s|[lu]{1,2}))?/g;

/** Shapes of the layers of a background. */
function lettersOf(value: string): readonly string[] {
  return partsOf(value).map(backgroundLetter).join('').split(',');
}

function isBackground(value: string): boolean {
  return lettersOf(value).every((layer, index, layers) => {
    const parts = layer.match(BACKGROUND_PARTS) ?? [];
    const kinds = new Set(parts.map((part) => (part[0] ?? '').replace(/[xyl]/, 'm').replace('t', 'b').toLowerCase()));
    const isLast = index === layers.length - 1;
    return layer !== '' && parts.join('') === layer && kinds.size === parts.length && (isLast || !layer.includes('c'));
  });
}

function backgroundLetter({ name, list, written }: ValuePart): string {
  if (isColour(written)) return 'c';
  if (name !== null) return name === 'url' || isGradient(name, list) ? 'i' : '?';
  const letter = BACKGROUND.find(([pattern]) => pattern.test(list))?.[1] ?? '?';
  return letter === '' ? list : letter;
}

/** A colour that all browsers know. Newer ones mix other numbers of colours than two. */
function isColour(value: string): boolean {
  if (shadeOf(value) === null || value.startsWith('-')) return false;
  const mixed = partsOf(value).flatMap(({ name, list }) => (name === 'color-mix' ? partsOf(list) : []));
  return mixed.length === 0
    ? !value.includes('color-mix(')
    : mixed.filter(({ list }) => list === ',').length === 2 && mixed.every(({ list }) => !list.includes('color-mix('));
}

const LENGTH = String.raw`(?:\d+|\d*\.\d+)(?:%|px|r?em|vw|vh)`;
/** Words of gradients by the letters of their shape. */
const GRADIENT: readonly (readonly [RegExp, string])[] = [
  [/^(?:\d+|\d*\.\d+)%$/, 'p'],
  [whole(`0|${LENGTH}`), 'l'],
  [whole(String.raw`-${LENGTH}|calc\(${LENGTH} [+-] ${LENGTH}\)`), 'n'],
  [whole(ANGLE.replace('0|', '')), 'a'],
  [/^(?:left|right)$/, 'x'],
  [/^(?:top|bottom)$/, 'y'],
  [/^center$/, 'm'],
  [/^ellipse$/, 'e'],
  [/^circle$/, 'o'],
  [/^(?:closest|farthest)-(?:side|corner)$/, 's'],
  [/^(?:ok(?:lab|lch)|srgb(?:-linear)?|hsl|lab|lch)$/, 'k'],
  [/^to$/, 'T'],
  [/^from$/, 'F'],
  [/^at$/, 'A'],
  [/^in$/, 'I'],
  [/^,$/, ','],
];
const AT = '(?:A[xmlpn][ymlpn]?)?';
/** Grammar of gradients by their kind: an optional beginning, such as an angle, then colours with their places. */
const GRADIENTS: Readonly<Record<string, readonly [before: RegExp, stop: RegExp, hint: RegExp]>> = {
  linear: [/^(?:a|T(?:xy?|yx?))?(?:Ik)?$/, /^c[lpn]{0,2}$/, /^[lpn]$/],
  radial: [whole(`(?:[eo]?s?|e?[lp]{2})${AT}(?:Ik)?`), /^c[lpn]{0,2}$/, /^[lpn]$/],
  conic: [whole(`(?:Fa)?${AT}(?:Ik)?`), /^c[ap]{0,2}$/, /^[ap]$/],
};

/** True for two colours at the least, in the grammar of their kind. */
function isGradient(name: string, list: string): boolean {
  const [, kind = ''] = /^(?:repeating-)?(linear|radial|conic)-gradient$/.exec(name) ?? [];
  const [before, stop, hint] = GRADIENTS[kind] ?? [];
  if (before === undefined) return false;
  const [first = '', ...others] = partsOf(list)
    .map(({ written }) => (isColour(written) ? 'c' : (GRADIENT.find(([pattern]) => pattern.test(written))?.[1] ?? '?')))
    .join('')
    .split(',');
  const stops = first !== '' && before.test(first) ? others : [first, ...others];
  const isStop = (at: number): boolean => stop?.test(stops[at] ?? '') === true;
  return (
    stops.length > 1 &&
    stops.every((each, at) => isStop(at) || (hint?.test(each) === true && isStop(at - 1) && isStop(at + 1)))
  );
}

/** By property: true for values that hide nothing. */
const TESTS: readonly (readonly [RegExp, Test])[] = [
  [/^display$/, (value) => !/^none$|^table-column/.test(value) && /^[a-z -]+$/.test(value)],
  [/^content-visibility$/, (value) => value === 'auto'],
  [/^margin/, (value) => isOpen(value) || areWithin(value, -50, 1_000, -60, 99.9)],
  [/^(?:inset.*|left|right|top|bottom)$/, (value) => areWithin(value, -30, 1_000, -5, 90)],
  [/^(?:min-)?(?:width|inline-size)$/, (value) => isOpen(value) || areWithin(value, 0, 3_000, 0, 300)],
  [
    /^(?:border(?!.*(?:color|style|radius|image|collapse))(?:-.+)?|(?:row-|column-)?gap|grid-gap|text-indent|vertical-align|outline-offset)$/,
    (value) => areWithin(value.replace(COLOUR, ''), -100, 500, -60, 150),
  ],
  [/^padding/, (value) => isOpen(value) || areWithin(value, -100, 500, -60, 150)],
  [/^(?:letter|word)-spacing$/, (value) => areWithin(value, -2, 60, -60, 99.9)],
  [/^(?:transform|translate)$/, isMildTransform],
  [/^rotate$/, (value) => /^(?:z )?[+-]?[\d.]+(?:deg|turn|rad|grad)$/.test(computed(value))],
  [/^transform-origin$/, (value) => areWithin(value, -20, 200, 0, 100)],
  [/^perspective$/, (value) => areWithin(value, 200, 9_999, 0, 0)],
  [/^text-stroke(?:-width)?$/, (value) => areWithin(value.replace(COLOUR, ''), 0, 2, 0, 0)],
  [/^text-decoration(?:-line)?$/, (value) => !value.includes('line-through')],
  [/^font-size-adjust$/, (value) => /^(?:from-font|0?\.[3-9]\d*)$/.test(value)],
  [/^container(?:-type)?$/, (value) => !/\bsize$/.test(value) || value.endsWith('inline-size')],
  [/^flex$/, (value) => !/^0 [\d.]+ 0(?:px|%)?$/.test(value)],
  // Words that stand before an element: of a list, or of a quotation.
  [/^quotes$/, (value) => !/[\p{L}\p{N}]/u.test(value)],
  [
    /^list-style(?:-type)?$/,
    (value) => !/["'][^"']*\p{L}{2}/u.test(value) && partsOf(value).every(({ written }) => LIST.test(written)),
  ],
  [/^filter$/, (value) => /^["']|progid:|^alpha\(/.test(value) || isMildFilter(value)],
  [
    /^grid(?:-template.*|-auto-(?:rows|columns))?$/,
    (value) =>
      !/(?:^|[ (,])(?:0(?:fr|px)?|0?\.\d+(?!fr|\d)[a-z%]*|[0-7](?:\.\d+)?px)(?=$|[ ),])/.test(
        value.replaceAll(/minmax\(0/g, 'minmax('),
      ),
  ],
  [/^contain$/, (value) => /^(?:layout|style|paint|content| )+$/.test(value)],
  [/^unicode-bidi$/, (value) => /^(?:embed|isolate|plaintext)$/.test(value)],
  [/^all$/, () => false],
];

const LIST =
  /^(?:inside|outside|disc|circle|square|disclosure-(?:open|closed)|url\(.*\)|["'].*["']|(?:[a-z]+-)*(?:decimal|roman|alpha|latin|greek|armenian|georgian|hebrew|bengali|cambodian|khmer|devanagari|gujarati|gurmukhi|kannada|lao|malayalam|mongolian|myanmar|oriya|persian|tamil|telugu|thai|tibetan|ideographic|hiragana|katakana|iroha|informal|formal|branch|stem|numeric|hangul|consonant|zero|indic)(?:-[a-z]+)*)$/;

function ratio(value: string): number | null {
  const [, number, percent] = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(%?)$/.exec(computed(value)) ?? [];
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

/**
 * Pixels of a size, with percentages as of a box of 600 pixels; 0 for one that cannot be computed, `null` for one of its content or
 * surroundings.
 */
export function sizeIn(value: string): number | null {
  if (!computed(value).includes('(')) return lengthIn(value);
  const sum = computed(
    value
      .replaceAll(/env\(safe-area-[^()]*\)/g, '0px')
      .replace(/(?<![\w.-])([\d.]+)(%|[a-z]+)/g, (each, number: string, unit: string) => {
        const px = unit === '%' ? Number(number) * 6 : pixels(each);
        return px === null ? each : `${px}px`;
      }),
  );
  return sum.includes('(') ? 0 : pixels(sum);
}

/** Pixels of a length; 0 for less than three hundredths of another one; `null` for anything else. */
export function lengthIn(value: string): number | null {
  const length = computed(value);
  return /^0*[0-2]?(?:\.\d+)?%$/.test(length) ? 0 : pixels(length);
}

const SYNTAXES: ReadonlyMap<string, RegExp> = new Map([
  ['*', /^/],
  ['<number>', whole(`[+-]?${NUMBER.replace('%?', '')}`)],
  ['<integer>', /^[+-]?\d+$/],
  ['<percentage>', /^[+-]?[\d.]+%$/],
  ['<length>', whole(SIGNED.replace('%|', ''))],
  ['<length-percentage>', whole(SIGNED)],
  ['<angle>', whole(ANGLE)],
]);

/** True for a value that a custom property of this syntax certainly takes. */
export function fits(syntax: string, value: string): boolean {
  return syntax === '<color>' ? shadeOf(value) !== null : SYNTAXES.get(syntax)?.test(value) === true;
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

/** Mild functions that are repeated add up. */
function isMildTransform(value: string): boolean {
  const all = partsOf(computed(value));
  const kinds = all.flatMap(({ name }) => name?.replace(/(?:3d|[xyz])$/, '') ?? []);
  if (new Set(kinds).size < kinds.length) return false;
  return all.every(({ name, list }) => {
    const numbers = list.split(/[ ,]+/);
    if (name === null) return areWithin(list, -50, 500, -60, 99.9) || /^[\d.+-]+(?:deg|turn|rad|grad)$/.test(list);
    if (/^translate(?:z|3d)$/.test(name) && !/^(?:[^,]+,[^,]+, ?)?0(?:px)?$/.test(list)) return false;
    if (name.startsWith('translate')) return areWithin(list, -50, 500, -60, 99.9);
    if (name === 'perspective') return areWithin(list, 200, 9_999, 0, 0);
    if (name.startsWith('scale')) return numbers.every((number) => (ratio(number) ?? 0) >= FAINT);
    if (/^(?:skew[xy]?|rotate[xy])$/.test(name))
      return numbers.every((number) => Math.abs(Number.parseFloat(number)) <= 45 && /deg$|^0$/.test(number));
    if (name !== 'matrix') return /^(?:rotate|rotatez)$/.test(name);
    return numbers.every((number, index) =>
      index === 0 || index === 3 ? Number(number) >= FAINT : Math.abs(Number(number)) <= 100,
    );
  });
}

function isMildFilter(value: string): boolean {
  const names = partsOf(value).map(({ name }) => name);
  if (new Set(names).size < names.length) return false;
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
  readonly written: string;
}

/** Functions of a value with their arguments, and its other words, whose name is `null`. */
function partsOf(value: string): readonly ValuePart[] {
  return componentsOf(value).flatMap((component): readonly ValuePart[] => {
    const written = component.toString().trim();
    if (isFunctionNode(component))
      return [{ name: component.getName().toLowerCase(), list: component.value.join('').trim(), written }];
    // `url(a.png)` without quotes is one word.
    const name = written.startsWith('url(') ? 'url' : null;
    return written === '' ? [] : [{ name, list: written, written }];
  });
}

export const componentsOf = remembered(valuesOf);

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

/** A shorthand `font` that browsers certainly accept. */
export const FONT =
  /^(?:(?:normal|italic|oblique|bold|bolder|lighter|small-caps|[1-9]00) ){0,4}[\d.]+(?:%|px|r?em|pt)(?: ?\/ ?(?:normal|[\d.]+(?:%|px|r?em|pt)?))? ["'a-z]/;

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
  ...Object.fromEntries(
    'background buttonface buttonhighlight buttonborder highlight highlighttext selecteditem selecteditemtext accentcolortext infobackground menu scrollbar threedface threedhighlight threedlightshadow'
      .split(' ')
      .map((name) => [name, WHITE]),
  ),
};

/** `null` where the value is no colour. */
export const shadeOf = remembered((value: string): Shade | null => {
  const [, light, dark] = /^light-dark\((.*),([^,]*)\)$/.exec(value) ?? [];
  if (dark !== undefined && shadeOf(dark.trim()) === null) return null;
  const [component, ...more] = componentsOf((light ?? value).trim());
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
