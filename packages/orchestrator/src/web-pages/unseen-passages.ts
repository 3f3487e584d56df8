/**
 * Marks the text of a page that its reader may not see, by the page's own style sheets and attributes. Linked style sheets are not loaded,
 * and no script runs. Styles of `html` and `body` hide nothing: a page whose whole text they hide is shown by a script.
 */
import {
  BLACK,
  fontSize,
  isLegible,
  mayHide,
  mayMove,
  painted,
  type Shade,
  shadeOf,
  shadesIn,
  WHITE,
} from './hiding-values.ts';
import {
  type Declaration,
  namesOf,
  type PageStyles,
  pixels,
  readStyle,
  readStyles,
  type StyleRule,
} from './style-rules.ts';
import { markUnseen, withoutOwnMarks } from './unseen-marks.ts';

/** A node as far as this file asks for it. */
interface PageNode {
  readonly nodeType: number;
  textContent: string | null;
}

export interface MarkedElement extends PageNode {
  readonly localName: string;
  readonly childNodes: Iterable<PageNode>;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  closest(selector: string): MarkedElement | null;
}

export interface MarkedDocument {
  querySelectorAll(selector: string): Iterable<MarkedElement>;
  readonly documentElement: MarkedElement;
}

/** Elements whose content is no text of the page, whatever their style. */
const NOT_SHOWN =
  'dialog:not([open]), noscript, noframes, noembed, template, object, video, audio, canvas, iframe, datalist, svg title, svg desc, svg metadata, bdo, [popover], [hidden], [aria-hidden="true"]';
const PHRASES = new Set(
  'a abbr b bdi big cite code em font i ins kbd label mark q s samp small span strong sub sup time tt u var'.split(' '),
);
/** Their markup is read as a formula, or not at all. */
const NO_TEXT = new Set(['script', 'style', 'template', 'math']);
const SENTENCES = 'p, li, td, th, dd, dt, blockquote, h1, h2, h3, h4, h5, h6, figcaption, section, article, div, body';
/** Text of an element whose order matters as that of one sentence. */
const SENTENCE_CHARACTERS = 300;
/** Pairs of a rule and an element; a page with more is marked as a whole. */
const MOST_MATCHES = 400_000;
const MAX_MS = 4_000;

interface Candidate {
  readonly value: string;
  readonly rank: readonly number[];
  readonly isCertain: boolean;
}

type Styles = ReadonlyMap<string, readonly string[]>;

/** What an element hands down to its children. */
interface Inherited {
  readonly isUnseen: boolean;
  readonly variables: ReadonlyMap<string, string>;
  readonly fontPx: number;
  /** Of the text; several where that cannot be decided. */
  readonly text: readonly Shade[];
  readonly beneath: readonly Shade[];
  /** A picture lies beneath, whose colours nobody knows. */
  readonly isOnPicture: boolean;
}

/** @returns the text that its reader sees, without white space */
export function markUnseenPassages(document: MarkedDocument): string {
  const seen: string[] = [];
  const sheets = [...document.querySelectorAll('style')].map(({ textContent }) => textContent ?? '');
  const styles = readStyles(sheets);
  const matched = matchedStyles(document, styles);
  const notShown = new Set(document.querySelectorAll(NOT_SHOWN));
  const changed = new Set<MarkedElement>();
  for (const element of elementsWithWords(matched?.pseudo ?? [])) changed.add(element);

  function visit(element: MarkedElement, inherited: Inherited): void {
    const name = element.localName.toLowerCase();
    const own = inheritedBy(element, inherited, stylesOf(element, matched?.styles.get(element) ?? [], styles));
    const isClosed = name === 'details' && !element.hasAttribute('open');
    const state = { ...own, isUnseen: own.isUnseen || notShown.has(element) || changed.has(element) };
    for (const child of element.childNodes) {
      if (child.nodeType === 1) {
        const inner = child as MarkedElement;
        const isSummary = inner.localName.toLowerCase() === 'summary';
        if (!NO_TEXT.has(inner.localName.toLowerCase()))
          visit(inner, isClosed && !isSummary ? { ...state, isUnseen: true } : state);
      } else if (child.nodeType === 3 && (child.textContent ?? '').trim() !== '') {
        const text = withoutOwnMarks(child.textContent ?? '');
        const isUnseen = state.isUnseen || isClosed || !isLegibleIn(state);
        if (!isUnseen) seen.push(text.replaceAll(/\s+/g, ''));
        const words = text.trim();
        const start = text.indexOf(words);
        if (isUnseen || text !== child.textContent)
          child.textContent = isUnseen
            ? `${text.slice(0, start)}${markUnseen(words)}${text.slice(start + words.length)}`
            : text;
      }
    }
  }
  visit(document.documentElement, {
    isUnseen: matched === null,
    variables: new Map(),
    fontPx: 16,
    text: [BLACK],
    beneath: [WHITE],
    isOnPicture: false,
  });
  return seen.join('');
}

function isLegibleIn({ text, beneath, isOnPicture, fontPx }: Inherited): boolean {
  return (
    fontPx >= SMALLEST_FONT_PX &&
    !isOnPicture &&
    text.every((shade) => beneath.every((under) => isLegible(shade, under)))
  );
}

const SMALLEST_FONT_PX = 5;

interface Matched {
  readonly declaration: Declaration;
  readonly rank: readonly number[];
  readonly isCertain: boolean;
}

/** Declarations of the page's rules by element, and elements with words of a pseudo-element; `null` where there are too many. */
function matchedStyles(
  document: MarkedDocument,
  { rules }: PageStyles,
): {
  readonly styles: ReadonlyMap<MarkedElement, readonly Matched[]>;
  readonly pseudo: readonly MarkedElement[];
} | null {
  const styles = new Map<MarkedElement, Matched[]>();
  const pseudo: MarkedElement[] = [];
  const names = namesIn(document);
  const deadline = performance.now() + MAX_MS;
  let matches = 0;
  for (const [order, rule] of rules.entries()) {
    const declarations =
      rule.pseudoElement === null
        ? rule.declarations
        : rule.declarations.filter(({ property, value }) => property === 'content' && hasWords(value));
    if (declarations.length === 0 || !rule.names.every((name) => names.has(name))) continue;
    if (rule.pseudoElement !== null && !/^(?:before|after)$/.test(rule.pseudoElement)) continue;
    for (const element of elementsOf(document, rule)) {
      matches += 1;
      if (rule.pseudoElement !== null) pseudo.push(element);
      else {
        const list = styles.get(element) ?? [];
        for (const declaration of declarations)
          list.push({
            declaration,
            rank: [declaration.isImportant ? 1 : 0, rule.layer, rule.specificity, order],
            isCertain: rule.isCertain,
          });
        styles.set(element, list);
      }
    }
    if (matches > MOST_MATCHES || performance.now() > deadline) return null;
  }
  return { styles, pseudo };
}

function namesIn(document: MarkedDocument): ReadonlySet<string> {
  const names = new Set<string>();
  for (const element of document.querySelectorAll('[class], [id]')) {
    for (const name of (element.getAttribute('class') ?? '').split(/\s+/)) names.add(`.${name}`);
    names.add(`#${element.getAttribute('id') ?? ''}`);
  }
  return names;
}

function elementsOf(document: MarkedDocument, { selector }: StyleRule): Iterable<MarkedElement> {
  try {
    return document.querySelectorAll(selector);
  } catch {
    // What the page's reader does not know may match whatever has one of its names.
    return document.querySelectorAll([...namesOf(selector), 'x-none'].join(', '));
  }
}

/** Words that a reader sees and the text lacks: `content: "It is not true that"`. */
function hasWords(content: string): boolean {
  return /\battr\(/.test(content) || (content.match(/"[^"]*"|'[^']*'/g) ?? []).some((each) => /\p{L}{2}/u.test(each));
}

function elementsWithWords(elements: readonly MarkedElement[]): readonly MarkedElement[] {
  return elements.flatMap((element) => element.closest(SENTENCES) ?? []);
}

/** Values that may apply to an element, by property: one, or several where that cannot be decided. */
function stylesOf(element: MarkedElement, matched: readonly Matched[], { lastFrames }: PageStyles): Styles {
  const candidates = new Map<string, Candidate[]>();
  const add = ({ property, value }: Declaration, rank: readonly number[], isCertain: boolean): void => {
    const name = property === 'text-fill-color' ? 'color' : property;
    candidates.set(name, [...(candidates.get(name) ?? []), { value, rank, isCertain }]);
  };
  for (const [attribute, property] of HINTS) {
    const value = element.getAttribute(attribute);
    if (value !== null && /^(?:font|body|table|tr|td|th)$/i.test(element.localName))
      add({ property, value: value.toLowerCase(), isImportant: false }, [-1], true);
  }
  for (const { declaration, rank, isCertain } of matched) add(declaration, rank, isCertain);
  for (const declaration of readStyle(element.getAttribute('style') ?? ''))
    add(declaration, [declaration.isImportant ? 1 : 0, Number.MAX_SAFE_INTEGER], true);
  const values = new Map([...candidates].map(([property, all]) => [property, applicable(all)] as const));
  // An animation that stays at its last frame, or one that may hide there.
  for (const animation of [...(values.get('animation') ?? []), ...(values.get('animation-name') ?? [])])
    for (const name of animation.split(/[ ,]+/))
      for (const { property, value } of lastFrames.get(name) ?? [])
        if (/forwards|both/.test(animation) || mayHide(property, value)) values.set(property, [value]);
  return values;
}

const HINTS = [
  ['color', 'color'],
  ['text', 'color'],
  ['bgcolor', 'background-color'],
] as const;

function applicable(candidates: readonly Candidate[]): readonly string[] {
  const sorted = candidates.toSorted((one, other) => compareRanks(other.rank, one.rank));
  const certain = sorted.findIndex(({ isCertain }) => isCertain);
  return sorted.slice(0, certain < 0 ? undefined : certain + 1).map(({ value }) => value);
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  for (let index = 0; index < one.length; index += 1) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The value without its variables; `null` where one of them has no value, so that the declaration does not apply. */
function resolved(value: string, variables: ReadonlyMap<string, string>, depth = 0): string | null {
  const open = value.lastIndexOf('var(');
  if (open < 0) return value;
  const end = value.indexOf(')', open);
  if (end < 0 || depth > 40 || value.length > 5_000) return null;
  const [name = '', ...fallback] = value.slice(open + 4, end).split(',');
  const found = variables.get(name.trim()) ?? (fallback.length > 0 ? fallback.join(',').trim() : null);
  return found === null
    ? null
    : resolved(`${value.slice(0, open)}${found}${value.slice(end + 1)}`, variables, depth + 1);
}

function inheritedBy(element: MarkedElement, inherited: Inherited, styles: Styles): Inherited {
  if (styles.size === 0) return inherited;
  const variables = new Map(inherited.variables);
  for (const [property, [value]] of styles)
    if (property.startsWith('--') && value !== undefined) variables.set(property, value);
  const values = (property: string): readonly string[] =>
    (styles.get(property) ?? []).flatMap((value) => resolved(value, variables) ?? []);
  const isRoot = /^(?:html|body)$/i.test(element.localName);
  const isPhrase = PHRASES.has(element.localName.toLowerCase());
  const length = (element.textContent ?? '').length;
  const isUnseen =
    inherited.isUnseen ||
    (!isRoot &&
      ([...styles.keys()].some((property) =>
        values(property).some(
          (value) => mayHide(property, value) || (length <= SENTENCE_CHARACTERS && mayMove(property, value, isPhrase)),
        ),
      ) ||
        mayClip(values, length)));
  const sizes = ['font', 'font-size'].flatMap((property) =>
    values(property).flatMap((value) => fontSize(property, value, inherited.fontPx) ?? []),
  );
  return {
    ...inherited,
    isUnseen,
    variables,
    fontPx: sizes.length === 0 ? inherited.fontPx : Math.min(...sizes),
    ...coloursOf(values, inherited, isRoot),
  };
}

function coloursOf(
  values: (property: string) => readonly string[],
  inherited: Inherited,
  isRoot: boolean,
): Pick<Inherited, 'text' | 'beneath' | 'isOnPicture'> {
  const backgrounds = ['background', 'background-color', 'background-image'].flatMap(values);
  const shades = backgrounds.flatMap(shadesIn).filter(({ alpha }) => alpha > 0);
  const isPlain = shades.some(({ alpha }) => alpha === 1);
  const painting = shades.flatMap((shade) => inherited.beneath.map((under) => painted(shade, under)));
  const isPicture =
    !isRoot && backgrounds.some((value) => /url\(|image-set\(/.test(value)) && isFilling(backgrounds, values);
  const written = values('color').filter(
    (value) => !/^(?:inherit|unset|currentcolor|revert|revert-layer)$/.test(value),
  );
  const text = written.flatMap(
    (value) => shadeOf(value === 'initial' ? 'canvastext' : value) ?? (value.includes('(') ? inherited.beneath : []),
  );
  if (values('background-clip').some((value) => value.includes('text')) && painting.length > 0)
    return { text: painting, beneath: inherited.beneath, isOnPicture: inherited.isOnPicture };
  return {
    text: text.length === 0 ? inherited.text : text,
    beneath: painting.length === 0 ? inherited.beneath : painting,
    isOnPicture: isPicture || (inherited.isOnPicture && !isPlain),
  };
}

/** A picture that is not repeated is an ornament beside the text, unless it is as large as its element. */
function isFilling(backgrounds: readonly string[], values: (property: string) => readonly string[]): boolean {
  const all = [...backgrounds, ...values('background-repeat'), ...values('background-size')].join(' ');
  return !/no-repeat|repeat-[xy]/.test(all) || /cover|contain|100%/.test(all);
}

/** Characters of a line of the window, and pixels between two lines, at the least. */
const LINE = { characters: 200, px: 12 };

/** True for an element that cuts its text off. */
function mayClip(values: (property: string) => readonly string[], length: number): boolean {
  const overflows = ['overflow', 'overflow-x', 'overflow-y', 'overflow-block', 'overflow-inline'].flatMap(values);
  const isCut =
    /hidden|clip/.test(overflows.join(' ')) || values('contain').some((value) => /paint|content|strict/.test(value));
  if (!isCut && !/auto|scroll/.test(overflows.join(' '))) return false;
  const sizes = (kinds: readonly string[]): readonly number[] =>
    kinds
      .flatMap((kind) => [kind, `max-${kind}`].flatMap(values))
      .flatMap((value) => pixels(value.replace(/^0%$/, '0')) ?? []);
  const lines = values('line-clamp').flatMap((value) => (/^\d+$/.test(value) ? [Number(value)] : []));
  if (sizes(['width', 'inline-size']).some((px) => px <= 20)) return true;
  const heights = [...sizes(['height', 'block-size']), ...lines.map((count) => count * LINE.px)];
  return heights.some((px) => px < 8 || (isCut && Math.ceil(px / LINE.px) * LINE.characters < length));
}
