/**
 * Marks the text of a page that its reader may not see, by the page's own style sheets and attributes. Linked style sheets are not loaded,
 * and no script runs. Styles of `html` and `body` hide nothing: a page whose whole text they hide is shown by a script.
 */
import { isTokenNode } from '@csstools/css-parser-algorithms';
import { TokenType } from '@csstools/css-tokenizer';
import {
  BLACK,
  componentsOf,
  decisive,
  FAINT,
  fits,
  FONT,
  fontSize,
  fontSizeIn,
  GLOBAL,
  gradientShadesIn,
  isLegible,
  isValid,
  lengthIn,
  mayHide,
  moved,
  painted,
  plainShadeIn,
  type Shade,
  shadeOf,
  SHARING,
  sizeIn,
  strength,
  WHITE,
} from './hiding-values.ts';
import { type MatchedNode, matchedRules } from './matched-rules.ts';
import {
  type Declaration,
  mediaApplies,
  type PageStyles,
  pixels,
  readStyle,
  readStyles,
  type Registration,
  type StyleSheet,
} from './style-rules.ts';
import { markUnseen } from './unseen-marks.ts';

export interface MarkedElement extends MatchedNode {
  closest(selector: string): MarkedElement | null;
  removeAttribute(name: string): void;
  getAttributeNames(): readonly string[];
  prepend(text: string): void;
  append(text: string): void;
  remove(): void;
}

export interface MarkedDocument {
  querySelectorAll(selector: string): Iterable<MarkedElement>;
  readonly documentElement: MarkedElement;
}

/** Elements whose content is no text of the page, whatever their style. The text of drawings may be drawn in any way. */
const NOT_SHOWN =
  'dialog:not([open]), noscript, noframes, noembed, template, :has(> template[shadowrootmode]), object, video, audio, canvas, iframe, datalist, meter, progress, rp, marquee, svg, bdo, [popover], [hidden], [aria-hidden="true"]';
/** Places in which browsers read no style sheet. */
const NO_SHEETS = 'noscript, noframes, noembed, template, iframe, textarea, xmp';
const PHRASES = new Set(
  'a abbr b bdi big cite code em font i ins kbd label mark q s samp small span strong sub sup time tt u var'.split(' '),
);
/** They have no text of the page. */
const NO_TEXT = new Set(['head', 'script', 'style', 'template']);
const SENTENCES = 'p, li, td, th, dd, dt, blockquote, h1, h2, h3, h4, h5, h6, figcaption';
/** Style sheets whose rules are not known here. */
const LINKED = 'link[rel~="stylesheet" i], link[as="style" i]';
/** Attributes without words. What others say may become text. */
const WORDLESS = new Set('class id style href src start type role colspan rowspan open'.split(' '));

/** Of the whole page. */
interface Page {
  /** True with style sheets that are not loaded. */
  readonly isLinked: boolean;
  readonly registered: PageStyles['registered'];
}

interface Candidate {
  /** Property by whose grammar it is read: a shorthand, or the one itself. */
  readonly property: string;
  readonly value: string;
  readonly rank: readonly number[];
  readonly isCertain: boolean;
}

/** By property, the strongest first. */
type Styles = ReadonlyMap<string, readonly Candidate[]>;
/** A colour, or several where that cannot be decided; `null`: not known. */
type Shades = readonly (Shade | null)[];
/** Values that custom properties may have. Without one: that of the page's registration, or none. */
type Variables = ReadonlyMap<string, readonly (string | null)[]>;
/** Values that may apply, the strongest first: one, or several where that cannot be decided. `unset` if perhaps none does. */
type Values = (property: string) => readonly string[];

/** State that an element passes on to its children. */
interface Inherited {
  readonly isUnseen: boolean;
  /** By `visibility`, which a child may end. */
  readonly isHidden: boolean;
  /** Product of the opacities and scales of the element and of those around it, 0 to 1. */
  readonly strength: number;
  readonly variables: Variables;
  readonly fontPx: number;
  readonly shade: Shades;
  /** Of the letters, where it is another one. */
  readonly fill: Shades | null;
  /** Beneath the text; `null`: as of a picture. */
  readonly beneath: Shades;
  /** Pixels that the boxes around, which cut off what is outside of them, leave to the right and below. */
  readonly room: readonly [across: number, down: number];
}

/**
 * @param remove removes what is no text of the page, after the style sheets and selectors have been read: they ask for all of it
 * @returns the text that its reader sees, without white space
 */
export function markUnseenPassages(document: MarkedDocument, remove: () => void): string {
  const seen: string[] = [];
  const sheets = sheetsOf(document);
  const isLinked =
    [...document.querySelectorAll(LINKED)].length > 0 || sheets.some(({ text }) => /@import\b/i.test(text));
  const styles = readStyles(sheets);
  const page: Page = { isLinked, registered: styles.registered };
  const stylesOf = stylesIn(document, styles);
  /** Names of the open `<details>` of which one alone is open. */
  const opened = new Set<string>();
  remove();
  removeWordsForMachines(document);
  const notShown = new Set<unknown>(document.querySelectorAll(NOT_SHOWN));

  function visit(element: MarkedElement, inherited: Inherited): void {
    const name = element.localName.toLowerCase();
    const { styles, parts, hasWords } = stylesOf(element);
    const own = styles.size === 0 ? inherited : inheritedBy(element, inherited, styles, page);
    const isClosed = name === 'details' && (!element.hasAttribute('open') || isSecond(element));
    const isPartUnseen = parts.some((part) => !isSeen(inheritedBy(element, own, part, page)));
    const state = { ...own, isUnseen: own.isUnseen || notShown.has(element) || hasWords || isPartUnseen };
    const isUnseen = isClosed || !isSeen(state);
    // A column that is collapsed takes cells of each row with it.
    if (/^col(?:group)?$/.test(name) && state.isHidden)
      for (const row of element.closest('table')?.childNodes ?? []) notShown.add(row);
    // Its markup is read as a formula, in which no mark can stand. One without words belongs to a drawing of it.
    if (name === 'math') return isUnseen && saysMore(element.textContent ?? '', '') ? element.remove() : undefined;
    if (isUnseen)
      for (const attribute of element.getAttributeNames())
        if (!WORDLESS.has(attribute)) element.removeAttribute(attribute);
    const children = [...element.childNodes];
    for (const child of children) {
      if (isElement(child)) {
        const inner = child.localName.toLowerCase();
        if (!NO_TEXT.has(inner)) visit(child, isClosed && inner !== 'summary' ? { ...state, isUnseen: true } : state);
        else if (isUnseen && inner !== 'head') child.remove();
      } else if (child.nodeType === 3) {
        const text = child.textContent ?? '';
        if (!isUnseen) seen.push(text.replaceAll(/\s+/g, ''));
        // A mark around text without a word would only divide the sentence.
        else if (/[\p{L}\p{N}]/u.test(text)) child.textContent = text.replace(/\S(?:.*\S)?/s, markUnseen);
      }
    }
  }
  function isSecond(element: MarkedElement): boolean {
    const name = element.getAttribute('name') ?? '';
    const isKnown = opened.has(name);
    opened.add(name);
    return isKnown && name !== '';
  }

  visit(document.documentElement, {
    isUnseen: styles.hasTinyFont,
    isHidden: false,
    strength: 1,
    variables: new Map([...styles.registered].map(([name, each]) => [name, initialOf(each)])),
    fontPx: 16,
    shade: [BLACK],
    fill: null,
    beneath: [isLinked ? null : WHITE],
    room: [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  });
  return seen.join('');
}

/** Those that browsers read. One that perhaps does not apply is not certain: of other media, or with a title, by which it is chosen. */
function sheetsOf(document: MarkedDocument): readonly StyleSheet[] {
  const groups = [...document.querySelectorAll('input[type="radio" i][checked]')].map((each) =>
    each.getAttribute('name'),
  );
  // Of several radio buttons and options of one group that are checked, browsers take the last one.
  const isCheckedKnown =
    new Set(groups).size === groups.length && [...document.querySelectorAll('option')].length === 0;
  return [...document.querySelectorAll('style')].flatMap((style) => {
    const written = style.textContent ?? '';
    const text = isCheckedKnown ? written : written.replaceAll(/:checked\b/gi, ':perhaps-checked');
    const applies = mediaApplies(style.getAttribute('media') ?? '');
    const isRead = /^(?:text\/css)?$/i.test(style.getAttribute('type') ?? '') && style.closest(NO_SHEETS) === null;
    // Within drawings and formulas, browsers read another text, or none.
    const isCertain = applies === true && !style.hasAttribute('title') && style.closest('math, svg') === null;
    return isRead && applies !== false ? [{ text, isCertain }] : [];
  });
}

function isElement(node: MatchedNode | { readonly nodeType: number }): node is MarkedElement {
  return node.nodeType === 1;
}

/** Removes words that an element says to machines alone, which may become text: formulas in TeX, descriptions, tooltips. */
function removeWordsForMachines(document: MarkedDocument): void {
  for (const element of document.querySelectorAll(FOR_MACHINES.map((name) => `[${name}]`).join()))
    for (const name of FOR_MACHINES)
      if (saysMore(element.getAttribute(name) ?? '', element.textContent ?? '')) element.removeAttribute(name);
  for (const element of document.querySelectorAll('mphantom')) element.remove();
  for (const element of document.querySelectorAll('annotation, annotation-xml, script[type^="math/"]')) {
    const formula = element.closest('math')?.textContent?.replace(element.textContent ?? '', '');
    if (saysMore(element.textContent ?? '', formula ?? '')) element.remove();
  }
}

const FOR_MACHINES = ['alt', 'alttext', 'title', 'data-latex', 'data-tex', 'data-math', 'data-mathml'];
/** Commands of TeX, with arguments that are not shown. */
const COMMANDS = /\\(?:begin|end|label|class|href|(?:text)?color)\{[^{}]*\}|\\[a-z]+/gi;

/** True where a formula or description has words that are not among those shown. */
function saysMore(text: string, shown: string): boolean {
  const words = text.replaceAll(COMMANDS, ' ').match(/\p{L}{4,}/gu) ?? [];
  return words.some((word) => !shown.includes(word));
}

const SMALLEST_FONT_PX = 5;

function isSeen({ isUnseen, isHidden, strength: left, shade, fill, beneath, fontPx }: Inherited): boolean {
  if (isUnseen || isHidden || left < FAINT || fontPx < SMALLEST_FONT_PX) return false;
  return (fill ?? shade).every((letters) =>
    beneath.every((ground) => letters === null || ground === null || isLegible(letters, ground)),
  );
}

/** Pseudo-elements that are no part of the text of an element. */
const NO_PARTS = /^(?:before|after|marker|selection|placeholder|backdrop|file-selector-button|-.*)$/;
const GENERATED = /^(?:before|after|marker)$/;

const MOST_PARTS = 8;

interface ElementStyles {
  readonly styles: Styles;
  /** Of its first line and other parts. */
  readonly parts: readonly Styles[];
  /** True where a style puts words into its sentence that are not known. */
  readonly hasWords: boolean;
}

/** Styles of an element. Known words that they put before or behind it become its text. */
function stylesIn(
  document: MarkedDocument,
  { rules, keyframes }: PageStyles,
): (element: MarkedElement) => ElementStyles {
  const own = new Map(
    [...document.querySelectorAll('[style]')].map(
      (each) => [each, readStyle(each.getAttribute('style') ?? '')] as const,
    ),
  );
  const isDecisive = decisive(
    [
      ...rules.map(({ declarations }) => declarations),
      ...[...keyframes.values()].map(({ last }) => last),
      ...own.values(),
    ].flat(),
  );
  const kept = rules.flatMap((rule, order) => {
    const isGenerated = GENERATED.test(rule.pseudoElement ?? '');
    if (rule.pseudoElement !== null && !isGenerated && NO_PARTS.test(rule.pseudoElement)) return [];
    const declarations = rule.declarations.filter((each) =>
      isGenerated ? /^(?:content|display|visibility|opacity)$/.test(each.property) : isDecisive(each),
    );
    return declarations.length === 0 ? [] : [{ ...rule, order, declarations }];
  });
  const elements = [...document.querySelectorAll('*')];
  const matched = matchedRules(elements, kept);

  function cascadeOf(element: MarkedElement, part: string | null): Cascade {
    const declared = new Cascade();
    for (const { declarations, pseudoElement, layer, specificity, order, isCertain } of matched(element))
      if (pseudoElement === part)
        for (const [index, each] of declarations.entries()) {
          // Important layers are stronger than what stands outside of layers.
          const place = each.isImportant ? layer.map((number) => -number) : layer;
          declared.add(each, [each.isImportant ? 1 : 0, ...place, specificity, order, index], isCertain);
        }
    return declared;
  }

  const hasParts = kept.some(({ pseudoElement }) => pseudoElement !== null);
  const keyOf = (element: MarkedElement): string =>
    matched(element)
      .map(({ order }) => order)
      .join();
  const knownParts = new Map<string, ReadonlyMap<string, Styles>>();
  function partsOf(element: MarkedElement): ReadonlyMap<string, Styles> {
    const key = hasParts ? keyOf(element) : '';
    const names = new Set(hasParts ? matched(element).flatMap(({ pseudoElement }) => pseudoElement ?? []) : []);
    const found = knownParts.get(key) ?? new Map([...names].map((part) => [part, cascadeOf(element, part).sorted()]));
    knownParts.set(key, found);
    return found;
  }
  const changed = new Set(
    elements.flatMap((element) =>
      [...partsOf(element)].every(([part, styles]) => !GENERATED.test(part) || addWords(element, part, styles))
        ? []
        : (element.closest(SENTENCES) ?? element),
    ),
  );
  const known = new Map<string, Omit<ElementStyles, 'hasWords'>>();
  return (element) => {
    const hints = hintsOf(element);
    const attribute = own.get(element);
    const key = attribute === undefined && hints.length === 0 ? keyOf(element) : null;
    let found = key === null ? undefined : known.get(key);
    if (found === undefined) {
      const declared = cascadeOf(element, null);
      for (const hint of hints) declared.add(hint, [-1], true);
      const last = Number.POSITIVE_INFINITY;
      for (const [index, each] of (attribute ?? []).entries())
        declared.add(each, [each.isImportant ? 1 : 0, last, last, index], true);
      found = {
        styles: animated(declared.sorted(), keyframes),
        parts: [...partsOf(element)]
          .flatMap(([part, each]) => (GENERATED.test(part) ? [] : [each]))
          .slice(0, MOST_PARTS),
      };
      if (key !== null) known.set(key, found);
    }
    return { ...found, hasWords: changed.has(element) || partsOf(element).size > MOST_PARTS };
  };
}

/**
 * Puts the words of a `content` into the text of its element, where a reader reads them.
 * @returns false where they are not known
 */
function addWords(element: MarkedElement, part: string, styles: Styles): boolean {
  const valuesOf = (property: string): readonly string[] => applicable(styles.get(property) ?? [], new Map());
  const isHidden =
    valuesOf('display').join() === 'none' ||
    valuesOf('visibility').join() === 'hidden' ||
    valuesOf('opacity').join() === '0';
  if (isHidden) return true;
  const all = (styles.get('content') ?? []).map(({ value }) => contentOf(value, element));
  // Two rules give it contents, and either may be the one that is seen.
  const [words = '', ...others] = styles.get('content')?.[0]?.isCertain === true ? all.slice(0, 1) : all;
  if (words === null || others.some((each) => each !== words)) return false;
  if (!/[\p{L}\p{N}]/u.test(words)) return true;
  const isApart = valuesOf('display').length > 0;
  if (part === 'after') element.append(isApart ? ` ${words}` : words);
  else element.prepend(isApart ? `${words} ` : words);
  return true;
}

/** The words of a value of `content`; `null` where they are not known. Numbers of counters are left out. */
function contentOf(value: string, element: MarkedElement): string | null {
  let words = '';
  for (const part of componentsOf(value)) {
    const written = part.toString();
    const [, attribute] = /^attr\(\s*([\w-]+)\s*\)$/i.exec(written) ?? [];
    if (isTokenNode(part) && part.value[0] === TokenType.String) words += part.value[4].value;
    else if (attribute !== undefined) words += element.getAttribute(attribute) ?? '';
    // Behind it stands what is read aloud.
    else if (written === '/') return words;
    else if (!PLAIN_CONTENT.test(written)) return null;
  }
  return words;
}

const PLAIN_CONTENT =
  /^(?:\s*|none|normal|inherit|initial|unset|(?:no-)?(?:open|close)-quote|url\(.*\)|-webkit-.*|[a-z-]*gradient\(.*\)|counters?\([^,()]*(?:, *(?:"[^"\p{L}]*"|'[^'\p{L}]*'))?(?:, *(?:[a-z-]*(?:decimal|roman|alpha|latin|greek)[a-z-]*))?\))$/iu;

const HINTS = [
  ['color', 'color'],
  ['text', 'color'],
  ['bgcolor', 'background-color'],
] as const;

/** Colours by the attributes of old pages. */
function hintsOf(element: MarkedElement): readonly Declaration[] {
  if (!/^(?:font|body|table|tr|td|th)$/i.test(element.localName)) return [];
  return HINTS.flatMap(([attribute, property]) => {
    const value = element.getAttribute(attribute)?.toLowerCase();
    if (value === undefined) return [];
    return [{ property, value, isImportant: false, isCertain: /^(?:#(?:[\da-f]{3}){1,2}|[a-z]+)$/.test(value) }];
  });
}

/** Candidates for a property beyond which none is looked at. */
const MOST_CANDIDATES = 50;
const UNSEEN: readonly Candidate[] = [{ property: 'display', value: 'none', rank: [], isCertain: true }];

class Cascade {
  readonly #added = new Map<string, Candidate[]>();

  add({ property, value, isCertain }: Declaration, rank: readonly number[], isRuleCertain: boolean): void {
    for (const [name, part] of longhands(property, value)) {
      const all = this.#added.get(name) ?? [];
      all.push({ ...part, rank, isCertain: isRuleCertain && isCertain && (property !== 'font' || FONT.test(value)) });
      this.#added.set(name, all);
    }
  }

  sorted(): Map<string, readonly Candidate[]> {
    const sorted = new Map<string, readonly Candidate[]>();
    for (const [name, all] of this.#added) {
      all.sort((one, other) => compareRanks(other.rank, one.rank));
      const end = all.findIndex(({ isCertain }) => isCertain);
      sorted.set(name, all.slice(0, MOST_CANDIDATES));
      // Nobody styles a passage in so many ways that cannot be decided.
      if (end < 0 ? all.length > MOST_CANDIDATES : end >= MOST_CANDIDATES) sorted.set('display', UNSEEN);
    }
    return sorted;
  }
}

/** Those shorthands that are asked for by their parts. */
function longhands(
  property: string,
  value: string,
): readonly (readonly [string, Pick<Candidate, 'property' | 'value'>])[] {
  if (property === 'font') return [['font-size', { property: 'font-size', value: fontSizeIn(value) ?? value }]];
  // A shorthand sets both, also to nothing.
  const names = property === 'background' ? ['background-color', 'background-image'] : [property];
  return names.map((name) => [name, { property, value }] as const);
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, index) => each !== (other[index] ?? 0));
  return at < 0 ? one.length - other.length : (one[at] ?? 0) - (other[at] ?? 0);
}

const TIME = /^(?:\d+|\d*\.\d+)m?s$/;
/** Words of animations that run to their end, by their longhands. */
const ANIMATION: ReadonlyMap<string, RegExp> = new Map([
  ['animation-duration', TIME],
  ['animation-delay', TIME],
  ['animation-iteration-count', /^[1-9]\d*$/],
  ['animation-fill-mode', /^(?:forwards|both)$/],
  ['animation-direction', /^normal$/],
  ['animation-play-state', /^running$/],
  [
    'animation-timing-function',
    /^(?:linear|ease(?:-in)?(?:-out)?|cubic-bezier\((?:0|1|0?\.\d+), ?-?(?:\d+|\d*\.\d+), ?(?:0|1|0?\.\d+), ?-?(?:\d+|\d*\.\d+)\))$/,
  ],
]);

type Animations = readonly (readonly [property: string, candidates: readonly Candidate[]])[];

/** The words of one animation that is certain; `null` for others. */
function plainAnimation(all: Animations, keyframes: PageStyles['keyframes']): readonly string[] | null {
  const names: string[] = [];
  const words = all.flatMap(([property, [candidate]]) => {
    const own = candidate?.isCertain === true ? wordsOf(candidate.value) : [null];
    const open = new Set(property === 'animation' ? ANIMATION.keys() : [property]);
    return own.map((word) => {
      if (word === null) return null;
      const kind = [...open].find((each) => ANIMATION.get(each)?.test(word));
      if (kind !== undefined) open.delete(kind);
      else if (/^animation(?:-name)?$/.test(property) && keyframes.has(word)) names.push(word);
      else return null;
      return word;
    });
  });
  const short = all.find(([property]) => property === 'animation')?.[1][0];
  // A shorthand resets what stands before it.
  const isReset = all.some(
    ([, [each]]) => each !== undefined && short !== undefined && compareRanks(each.rank, short.rank) < 0,
  );
  return names.length !== 1 || isReset || words.includes(null) ? null : words.flatMap((word) => word ?? []);
}

const wordsOf = (value: string): readonly string[] =>
  componentsOf(value)
    .map(String)
    .filter((word) => /\S/.test(word));

/** Declarations in the frames of an element's animations beyond which they are not looked into. */
const MOST_FRAMES = 500;

/** With the last frames of animations that stay at them, begin soon, and run to them; unseen by others that hide. */
function animated(styles: Map<string, readonly Candidate[]>, keyframes: PageStyles['keyframes']): Styles {
  const all = [...styles].filter(([property]) => property.startsWith('animation'));
  if (all.length === 0) return styles;
  const certain = plainAnimation(all, keyframes);
  const words = certain ?? all.flatMap(([, candidates]) => candidates.flatMap(({ value }) => wordsOf(value)));
  const frames = words.flatMap((word) => keyframes.get(word.replaceAll(/["']/g, '')) ?? []);
  if (frames.reduce((sum, each) => sum + each.all.length, 0) > MOST_FRAMES) return styles.set('display', UNSEEN);
  const isLong = words.some(
    (word) => /^[\d.]+(?:s|ms)?$/i.test(word) && Number.parseFloat(word) * (/ms$/i.test(word) ? 0.001 : 1) >= 10,
  );
  const isEndless =
    isLong || words.some((word) => /^(?:infinite|paused|reverse|alternate.*|scroll\(.*|view\(.*|--.*)$/i.test(word));
  if (isEndless && frames.some((each) => each.all.some(hidesAlone))) styles.set('display', UNSEEN);
  const stays = words.some((word) => /^(?:forwards|both)$/i.test(word)) && !isEndless;
  for (const each of stays ? frames : [])
    for (const { property, value, isCertain } of each.last)
      for (const [name, part] of longhands(property, value)) {
        const others = styles.get(name) ?? [];
        const isStronger = others.some(({ rank }) => rank[0] === 1);
        const isSure = certain !== null && each.isCertain && isCertain;
        if (!isStronger) styles.set(name, [{ ...part, rank: [], isCertain: isSure }, ...others]);
      }
  return styles;
}

function hidesAlone({ property, value }: Declaration): boolean {
  const shade = property === 'color' || property === 'text-fill-color' ? shadeOf(value) : null;
  return (
    mayHide(property, value) ||
    strength(property, value) < FAINT ||
    (property === 'visibility' && value !== 'visible') ||
    (property === 'font-size' && fontSize(value, 16) < SMALLEST_FONT_PX) ||
    (/^(?:max-)?(?:width|height)$/.test(property) && (sizeIn(value) ?? 99) < 8) ||
    (shade !== null && !isLegible(shade, WHITE))
  );
}

/** Readings of a value beyond which it is not looked into. */
const MOST_READINGS = 8;
const LONGEST_READING = 5_000;

/** A value without its variables in all its readings; `null` for one in which a variable has no value. */
function resolved(value: string, variables: Variables, depth = 0): readonly (string | null)[] {
  const open = value.lastIndexOf('var(');
  if (open < 0) return [value];
  const end = closingOf(value, open + 4);
  if (end < 0 || depth > 40 || value.length > LONGEST_READING) return [null];
  const [name = '', ...fallback] = value.slice(open + 4, end).split(',');
  const found = variables.get(name.trim()) ?? [null];
  const all = found.flatMap((each) => {
    const put = each ?? (fallback.length > 0 ? fallback.join(',').trim() : null);
    return put === null
      ? [null]
      : resolved(joined(joined(value.slice(0, open), put), value.slice(end + 1)), variables, depth + 1);
  });
  return distinct(all, String);
}

/** Place of the bracket that ends what begins here; less than 0 without one. */
function closingOf(value: string, from: number): number {
  let depth = 1;
  for (let at = from; at < Math.min(value.length, LONGEST_READING); at += 1) {
    if (value[at] === '(') depth += 1;
    else if (value[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** Words of a variable and beside it are no one word. */
function joined(before: string, behind: string): string {
  return /[^\s,(]$/.test(before) && /^[^\s,)]/.test(behind) ? `${before} ${behind}` : `${before}${behind}`;
}

function distinct<Item>(all: readonly Item[], key: (item: Item) => string): readonly Item[] {
  return all.length < 2 ? all : [...new Map(all.map((each) => [key(each), each])).values()].slice(0, MOST_READINGS);
}

function inheritedBy(element: MarkedElement, inherited: Inherited, styles: Styles, page: Page): Inherited {
  const { isLinked } = page;
  const { own: variables, handed } = variablesOf(styles, inherited.variables, page);
  const known = new Map<string, readonly string[]>();
  const values: Values = (property) => {
    const found = known.get(property) ?? applicable(styles.get(property) ?? [], variables);
    known.set(property, found);
    return found;
  };
  const isPage = /^(?:html|body)$/i.test(element.localName);
  const isDark = isPage && values('color-scheme').some((value) => /^(?:only )?dark(?: only)?$/.test(value));
  const around = isDark ? { ...inherited, shade: [WHITE], beneath: [isLinked ? null : BLACK] } : inherited;
  const sizes = values('font-size').map((value) => fontSize(value, inherited.fontPx));
  const fontPx = sizes.length === 0 ? inherited.fontPx : Math.min(...sizes);
  const visibility = values('visibility').filter((value) => !/^(?:inherit|unset|revert.*)$/.test(value));
  const isHidden =
    visibility.length === 0 ? inherited.isHidden : visibility.some((value) => /hidden|collapse|\(/.test(value));
  const isBare = (): boolean => !isPage && (isHidden || mayLackGround(values, element));
  const handedDown = { ...around, variables: handed, ...coloursOf(values, around, isLinked, isBare), fontPx };
  if (isPage) return isSeen(handedDown) ? handedDown : { ...handedDown, beneath: [null] };
  const all = [...styles.keys()].flatMap((property) => values(property).map((value) => [property, value] as const));
  const leaves = (property: string): number =>
    Math.min(1, ...values(property).map((value) => strength(property, value)));
  const room = roomIn(values, handedDown);
  return {
    ...handedDown,
    room,
    isHidden,
    strength: inherited.strength * SHARING.reduce((left, each) => left * leaves(each), 1),
    isUnseen:
      inherited.isUnseen ||
      Math.min(...room) < LEAST_ROOM_PX ||
      all.some(([property, value]) => mayHide(property, value) || changesSentence(element, property, value)) ||
      mayClip(values, element),
  };
}

interface OwnVariables {
  readonly inherited: Variables;
  readonly own: Variables;
  /** Those of its children. */
  readonly handed: Variables;
}

/** Those of elements whose styles and surroundings are the same. */
const knownVariables = new WeakMap<Styles, OwnVariables>();

function variablesOf(styles: Styles, inherited: Variables, { registered }: Page): OwnVariables {
  const known = knownVariables.get(styles);
  if (known?.inherited === inherited) return known;
  const remember = (found: OwnVariables): OwnVariables => {
    knownVariables.set(styles, found);
    return found;
  };
  const computed = computedVariables(styles, inherited);
  const names = [...styles.keys()].filter((name) => registered.has(name));
  if (names.length === 0) return remember({ inherited, own: computed, handed: computed });
  const [own, handed] = [new Map(computed), new Map(computed)];
  // A registered one perhaps is not handed down, and has its first value in place of one that does not fit.
  for (const name of names) {
    const registration = registered.get(name);
    const values = computed.get(name) ?? [];
    const all = distinct([...(registration === undefined ? [] : initialOf(registration)), ...values], String);
    handed.set(name, all);
    if (!values.every((each) => each !== null && fits(registration?.syntax ?? '', each))) own.set(name, all);
  }
  return remember({ inherited, own, handed });
}

/** Computed where they are declared, as browsers do. */
function computedVariables(styles: Styles, inherited: Variables): Variables {
  const own = [...styles].filter(([property]) => property.startsWith('--'));
  if (own.length === 0) return inherited;
  const found = new Map(inherited);
  for (const [property, candidates] of own) {
    const end = candidates.findIndex(({ isCertain }) => isCertain);
    const used = end < 0 ? candidates : candidates.slice(0, end + 1);
    const before = inherited.get(property) ?? [null];
    found.set(property, [
      ...used.flatMap(({ value }) => (/^(?:inherit|unset)$/.test(value) ? before : valueOf(value))),
      ...(end < 0 ? before : []),
    ]);
  }
  const computed = own.map(([property]) => {
    const values = found.get(property) ?? [];
    // One that leads back to itself has no value.
    found.delete(property);
    const all = values.flatMap((each) => (each === null ? [null] : resolved(each, found)));
    found.set(property, values);
    return [property, distinct(all, String)] as const;
  });
  return new Map([...inherited, ...computed]);
}

/** Values of a registered property that nothing has set. */
function initialOf({ initial, syntax, isCertain }: Registration): readonly (string | null)[] {
  return isCertain && fits(syntax, initial) ? valueOf(initial) : [...valueOf(initial), null];
}

function valueOf(value: string): readonly (string | null)[] {
  return [value === 'initial' ? null : value];
}

function applicable(candidates: readonly Candidate[], variables: Variables): readonly string[] {
  const values: string[] = [];
  for (const { property, value, isCertain } of candidates) {
    const readings = resolved(value, variables);
    for (const written of readings) values.push(written ?? 'unset');
    // With a variable that has no right value it counts as `unset`, and not as the declaration before.
    const isRight = readings.every((written) => written !== null && isValid(property, written));
    if (!isRight && /\bvar\(/.test(value)) values.push('unset');
    if (isCertain && (isRight || /\bvar\(/.test(value))) return values;
  }
  return values.length === 0 ? values : [...values, 'unset'];
}

const LEAST_ROOM_PX = 8;
/** Properties by which text moves to the right and down, and the place of that among the values of a shorthand. */
const MOVES: readonly (readonly [property: string, across: number | null, down: number | null])[] = [
  ['margin', 1, 0],
  ['padding', 1, 0],
  ['inset', 1, 0],
  ['translate', 0, 1],
  ...['margin-', 'padding-', '', 'inset-'].flatMap(
    (name) =>
      [
        [`${name}left`, 0, null],
        [`${name}inline-start`, 0, null],
        [`${name}inline`, 0, null],
        [`${name}top`, null, 0],
        [`${name}block-start`, null, 0],
        [`${name}block`, null, 0],
      ] as const,
  ),
  ['text-indent', 0, null],
];

/** Room that is left when its own moves are taken off, and within the element if it cuts off its text itself. */
function roomIn(values: Values, { room, fontPx }: Inherited): Inherited['room'] {
  const isCut = /hidden|clip/.test(OVERFLOW.flatMap(values).join(' '));
  const size = (kinds: readonly string[]): number =>
    Math.min(Number.POSITIVE_INFINITY, ...kinds.flatMap(values).flatMap((value) => sizeIn(value) ?? []));
  const across = isCut ? Math.min(room[0], size(['width', 'max-width', 'inline-size', 'max-inline-size'])) : room[0];
  const down = isCut ? Math.min(room[1], size(['height', 'max-height', 'block-size', 'max-block-size'])) : room[1];
  if (!Number.isFinite(across) && !Number.isFinite(down)) return room;
  const moves = (axis: 1 | 2): number =>
    MOVES.reduce((sum, move) => {
      const at = move[axis];
      if (at === null) return sum;
      const shifts = values(move[0]).map((value) => {
        const parts = value.split(' ');
        return lengthIn(parts[at] ?? parts[0] ?? '') ?? 0;
      });
      return sum + Math.max(0, ...shifts);
    }, 0);
  const lines = values('line-height').map((value) =>
    /^[\d.]+$/.test(value) ? Number(value) * fontPx : (pixels(value) ?? 0),
  );
  return [across - moves(1), down - moves(2) - Math.max(0, ...lines) / 2 + (lines.length > 0 ? LEAST_ROOM_PX : 0)];
}

/** True where a word, or a part of a sentence among others, stands in another place than in the text. */
function changesSentence(element: MarkedElement, property: string, value: string): boolean {
  const what = moved(property, value);
  // Numbers of notes stand where they like.
  if (what === null || !/\p{L}/u.test(element.textContent ?? '')) return false;
  if (what === 'children') return isSentence(element);
  const isPhrase = PHRASES.has(element.localName.toLowerCase());
  return isPhrase && (what === 'word' || isSentence(element.parentNode));
}

/** True for an element whose children are parts of one sentence. */
function isSentence(element: MatchedNode | null): boolean {
  if (element === null || !SENTENCES.split(', ').includes(element.localName.toLowerCase())) return false;
  const parts = [...element.childNodes].filter(
    (node) =>
      /\p{L}/u.test(node.textContent ?? '') &&
      (node.nodeType === 3 || (isElement(node) && PHRASES.has(node.localName.toLowerCase()))),
  );
  return parts.length > 1;
}

function coloursOf(
  values: Values,
  inherited: Inherited,
  isLinked: boolean,
  isBare: () => boolean,
): Pick<Inherited, 'shade' | 'fill' | 'beneath'> {
  const written = (property: string, unset: Shades): Shades =>
    values(property).flatMap((value): Shades => {
      if (/^(?:initial|revert.*)$/.test(value) && property === 'color') return [BLACK];
      return GLOBAL.test(value) || value === 'currentcolor' ? unset : [shadeOf(value)];
    });
  const isSame = ['color', 'text-fill-color', 'background-color', 'background-image', 'background-clip'].every(
    (property) => values(property).length === 0,
  );
  if (isSame) return { shade: inherited.shade, fill: inherited.fill, beneath: inherited.beneath };
  const colour = distinct(written('color', inherited.shade), shadeKey);
  const shade = colour.length === 0 ? inherited.shade : colour;
  const letters = distinct(written('text-fill-color', inherited.fill ?? shade), shadeKey);
  const fill = letters.length === 0 ? inherited.fill : letters;
  // A linked sheet may give the element that changes its colour another background.
  const beneath = isLinked && colour.length + letters.length > 0 ? [null] : inherited.beneath;
  const grounds = distinct(groundsOf(values, beneath), shadeKey);
  if (grounds === beneath) return { shade, fill, beneath };
  // The background is in the letters alone, beneath their colour.
  if (values('background-clip').some((value) => value.includes('text')))
    return {
      shade: grounds.flatMap((ground) => (fill ?? shade).map((each) => over(each, ground))),
      fill: null,
      beneath,
    };
  return { shade, fill, beneath: isBare() ? distinct([...beneath, ...grounds], shadeKey) : grounds };
}

/** The colour that stands over another one; `null` where it is not known. */
function over(shade: Shade | null, under: Shade | null): Shade | null {
  if (shade === null || shade.alpha === 1) return shade;
  return under === null ? null : painted(shade, under);
}

const shadeKey = (shade: Shade | null): string => (shade === null ? '' : `${shade.luminance} ${shade.alpha}`);

/** Colours that an element's background may have over what lies beneath it. */
function groundsOf(values: Values, beneath: Shades): Shades {
  const orUnset = (property: string): readonly string[] =>
    values(property).length === 0 ? ['unset'] : values(property);
  const [colours, images] = [orUnset('background-color'), orUnset('background-image')];
  if ([...colours, ...images].every((each) => GLOBAL.test(each))) return beneath;
  return beneath.flatMap((under) => colours.flatMap((colour) => images.map((image) => groundOf(colour, image, under))));
}

function groundOf(colour: string, image: string, beneath: Shade | null): Shade | null {
  const plainShade = plainShadeIn(colour);
  const ground = plainShade === null || plainShade.alpha === 0 ? beneath : over(plainShade, beneath);
  const [first, ...others] = gradientShadesIn(image).map((shade) => over(shade, ground));
  if (first !== undefined)
    return first !== null && others.every((each) => each !== null && !isLegible(each, first)) ? first : null;
  // The colour that a page gives for a picture is that of the picture.
  return /\(/.test(image) && plainShade === null ? null : ground;
}

/** Characters of a line of the window, pixels between two lines, and of a character, at the least. */
const LINE = { characters: 200, px: 12, characterPx: 4 };
/** Widths up to which a line that is not broken is no line with its end cut off. */
const NARROW_PX = 100;

const OVERFLOW = ['overflow', 'overflow-x', 'overflow-y', 'overflow-block', 'overflow-inline'];

/** True for an element that cuts its text off. */
function mayClip(values: Values, element: MarkedElement): boolean {
  const overflow = OVERFLOW.flatMap(values).join(' ');
  const isCut = /hidden|clip/.test(overflow) || values('contain').some((value) => /paint|content|strict/.test(value));
  return (isCut || /auto|scroll/.test(overflow)) && isTooLarge(values, element, isCut, sizeIn);
}

/** Elements that are as large as their text at the least. */
const OF_TABLES = /^(?:table|thead|tbody|tfoot|tr|td|th)$/i;

/** True for an element whose background perhaps is not painted, or not behind its text. */
function mayLackGround(values: Values, element: MarkedElement): boolean {
  const displays = values('display');
  const isOfTable =
    displays.length === 0 ? OF_TABLES.test(element.localName) : displays.every((value) => value.includes('table'));
  return (
    displays.includes('contents') ||
    !values('background-clip').every((value) => isValid('background-clip', value)) ||
    (!isOfTable && isTooLarge(values, element, !/auto|scroll/.test(OVERFLOW.flatMap(values).join(' ')), lengthIn))
  );
}

/** True for an element whose box is perhaps smaller than its text: than any text if it does not end it. */
function isTooLarge(
  values: Values,
  element: MarkedElement,
  isEnd: boolean,
  pixelsOf: (value: string) => number | null,
): boolean {
  const sizes = (kinds: readonly string[]): readonly number[] =>
    kinds.flatMap((kind) => [kind, `max-${kind}`].flatMap(values)).flatMap((value) => pixelsOf(value) ?? []);
  const lines = values('line-clamp').flatMap((value) => (/^\d+$/.test(value) ? [Number(value)] : []));
  const width = Math.min(Number.POSITIVE_INFINITY, ...sizes(['width', 'inline-size']));
  const height = Math.min(
    ...sizes(['height', 'block-size']),
    ...lines.map((count) => count * LINE.px),
    Number.POSITIVE_INFINITY,
  );
  const text = (element.textContent ?? '').trim();
  if (width <= Math.min(20, text.length * 7) || height < 8) return true;
  if (!isEnd) return false;
  const grows = [...values('flex-grow'), ...values('flex')].some((value) => Number.parseFloat(value) > 0);
  if (!grows && values('flex-basis').some((value) => (pixelsOf(value) ?? LEAST_ROOM_PX) < LEAST_ROOM_PX)) return true;
  const isOneLine = values('white-space').includes('nowrap');
  if (isOneLine && values('text-indent').some((value) => /^(?:9\d|\d{3,})(?:\.\d+)?%$/.test(value))) return true;
  const across = Math.min(LINE.characters, width / LINE.characterPx);
  const down = isOneLine && width <= NARROW_PX ? 1 : Math.ceil(height / LINE.px);
  return Number.isFinite(down) && across * down < text.length;
}
