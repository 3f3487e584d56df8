/**
 * Marks the text of a page that its reader may not see, by the page's own style sheets and attributes. Linked style sheets are not loaded,
 * and no script runs. Styles of `html` and `body` hide nothing: a page whose whole text they hide is shown by a script.
 */
import {
  BLACK,
  decisive,
  FAINT,
  fontSize,
  fontSizeIn,
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
  strength,
  WHITE,
} from './hiding-values.ts';
import { type MatchedNode, matchedRules } from './matched-rules.ts';
import { type Declaration, type PageStyles, readStyle, readStyles } from './style-rules.ts';
import { markUnseen } from './unseen-marks.ts';

export interface MarkedElement extends MatchedNode {
  closest(selector: string): MarkedElement | null;
  removeAttribute(name: string): void;
  getAttributeNames(): readonly string[];
  remove(): void;
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
/** They have no text of the page. */
const NO_TEXT = new Set(['head', 'script', 'style', 'template']);
const SENTENCES = 'p, li, td, th, dd, dt, blockquote, h1, h2, h3, h4, h5, h6, figcaption';
/** Style sheets whose rules are not known here. */
const LINKED = 'link[rel~="stylesheet" i], link[as="style" i]';
/** Attributes without words. What others say may become text. */
const WORDLESS = new Set('class id style href src start type role colspan rowspan open'.split(' '));

interface Candidate {
  readonly value: string;
  readonly rank: readonly number[];
  readonly isCertain: boolean;
}

/** By property, the strongest first. */
type Styles = ReadonlyMap<string, readonly Candidate[]>;
/** Values that may apply, the strongest first: one, or several where that cannot be decided. */
type Values = (property: string) => readonly string[];

/** State that an element passes on to its children. */
interface Inherited {
  readonly isUnseen: boolean;
  /** By `visibility`, which a child may end. */
  readonly isHidden: boolean;
  /** Product of the opacities and scales of the element and of those around it, 0 to 1. */
  readonly strength: number;
  readonly variables: ReadonlyMap<string, string>;
  readonly fontPx: number;
  /** Of the text; `null`: not known. */
  readonly shade: Shade | null;
  /** Of the letters, where it is another one. */
  readonly fill: Shade | null;
  /** Beneath the text; `null`: not known, as of a picture. */
  readonly beneath: Shade | null;
}

/** @returns the text that its reader sees, without white space */
export function markUnseenPassages(document: MarkedDocument): string {
  const seen: string[] = [];
  const sheets = [...document.querySelectorAll('style')].map(({ textContent }) => textContent ?? '');
  const isLinked =
    [...document.querySelectorAll(LINKED)].length > 0 || sheets.some((sheet) => /@import\b/i.test(sheet));
  const stylesOf = stylesIn(document, readStyles(sheets));
  removeWordsForMachines(document);
  const notShown = new Set(document.querySelectorAll(NOT_SHOWN));

  function visit(element: MarkedElement, inherited: Inherited): void {
    const name = element.localName.toLowerCase();
    const { styles, hasWords } = stylesOf(element);
    const own = styles.size === 0 ? inherited : inheritedBy(element, inherited, styles, isLinked);
    const isClosed = name === 'details' && !element.hasAttribute('open');
    const state = { ...own, isUnseen: own.isUnseen || notShown.has(element) || hasWords };
    const isUnseen = isClosed || !isSeen(state);
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
  visit(document.documentElement, {
    isUnseen: false,
    isHidden: false,
    strength: 1,
    variables: new Map(),
    fontPx: 16,
    shade: BLACK,
    fill: null,
    beneath: isLinked ? null : WHITE,
  });
  return seen.join('');
}

function isElement(node: MatchedNode | { readonly nodeType: number }): node is MarkedElement {
  return node.nodeType === 1;
}

/** Removes words that an element says to machines alone, which may become text: formulas in TeX, descriptions, tooltips. */
function removeWordsForMachines(document: MarkedDocument): void {
  for (const element of document.querySelectorAll(FOR_MACHINES.map((name) => `[${name}]`).join()))
    for (const name of FOR_MACHINES)
      if (saysMore(element.getAttribute(name) ?? '', element.textContent ?? '')) element.removeAttribute(name);
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
  const letters = fill ?? shade;
  const isInvisible = isUnseen || isHidden || left < FAINT || fontPx < SMALLEST_FONT_PX;
  return !isInvisible && (letters === null || beneath === null || isLegible(letters, beneath));
}

/** Styles of an element, and whether they put words before or behind its own. */
function stylesIn(
  document: MarkedDocument,
  { rules, lastFrames }: PageStyles,
): (element: MarkedElement) => { readonly styles: Styles; readonly hasWords: boolean } {
  const own = new Map(
    [...document.querySelectorAll('[style]')].map(
      (each) => [each, readStyle(each.getAttribute('style') ?? '')] as const,
    ),
  );
  const isDecisive = decisive(
    [...rules, ...lastFrames.values(), ...own.values()].flatMap((each) =>
      'declarations' in each ? each.declarations : each,
    ),
  );
  const kept = rules.flatMap((rule, order) => {
    if (rule.pseudoElement !== null) return putsWords(rule) ? [{ ...rule, order }] : [];
    const declarations = rule.declarations.filter(isDecisive);
    return declarations.length === 0 ? [] : [{ ...rule, order, declarations }];
  });
  const elements = [...document.querySelectorAll('*')];
  const matched = matchedRules(elements, kept);
  const changed = new Set(
    elements.flatMap((element) =>
      matched(element).some(({ pseudoElement }) => pseudoElement !== null) ? (element.closest(SENTENCES) ?? []) : [],
    ),
  );
  const known = new Map<string, Styles>();
  return (element) => {
    const applying = matched(element);
    const hints = hintsOf(element);
    const attribute = own.get(element);
    const key = attribute === undefined && hints.length === 0 ? applying.map(({ order }) => order).join() : null;
    let styles = key === null ? undefined : known.get(key);
    if (styles === undefined) {
      const declared = new Cascade();
      for (const hint of hints) declared.add(hint, [-1], true);
      for (const { declarations, pseudoElement, layer, specificity, order, isCertain } of applying)
        if (pseudoElement === null)
          for (const [index, each] of declarations.entries())
            // Important layers are stronger than what stands outside of layers.
            declared.add(
              each,
              [each.isImportant ? 1 : 0, each.isImportant ? -layer : layer, specificity, order, index],
              isCertain,
            );
      for (const [index, each] of (attribute ?? []).entries())
        declared.add(each, [each.isImportant ? 1 : 0, Number.MAX_SAFE_INTEGER, index], true);
      styles = animated(declared.sorted(), lastFrames);
      if (key !== null) known.set(key, styles);
    }
    return { styles, hasWords: changed.has(element) };
  };
}

/** Words that a reader sees and the text lacks: `content: "It is not true that"`. */
function putsWords({ pseudoElement, declarations }: PageStyles['rules'][number]): boolean {
  const content = declarations.findLast(({ property }) => property === 'content')?.value ?? '';
  const isShown = !declarations.some(
    ({ property, value }) =>
      (property !== 'content' && mayHide(property, value)) || strength(property, value) < FAINT || value === 'hidden',
  );
  const words = content.match(/"[^"]*"|'[^']*'|\battr\(/g) ?? [];
  return (
    /^(?:before|after)$/.test(pseudoElement ?? '') && isShown && words.some((each) => /^attr|\p{L}{2}/u.test(each))
  );
}

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
    return value === undefined ? [] : [{ property, value, isImportant: false }];
  });
}

class Cascade {
  readonly #candidates = new Map<string, Candidate[]>();

  add({ property, value }: Declaration, rank: readonly number[], isCertain: boolean): void {
    for (const [name, part] of longhands(property, value)) {
      const all = this.#candidates.get(name) ?? [];
      all.push({ value: part, rank, isCertain });
      this.#candidates.set(name, all);
    }
  }

  sorted(): Map<string, readonly Candidate[]> {
    for (const all of this.#candidates.values()) all.sort((one, other) => compareRanks(other.rank, one.rank));
    return this.#candidates;
  }
}

/** Those shorthands that are asked for by their parts. */
function longhands(property: string, value: string): readonly (readonly [string, string])[] {
  if (property === 'font') return [['font-size', fontSizeIn(value) ?? value]];
  if (property !== 'background') return [[property, value]];
  // A shorthand sets both, also to nothing.
  return [
    ['background-color', value],
    ['background-image', value],
  ];
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, index) => each !== (other[index] ?? 0));
  return at < 0 ? one.length - other.length : (one[at] ?? 0) - (other[at] ?? 0);
}

/** With the last frames of animations that stay at them, begin soon, and run to them. */
function animated(styles: Map<string, readonly Candidate[]>, lastFrames: PageStyles['lastFrames']): Styles {
  const animation = [...styles]
    .flatMap(([property, [first]]) => (property.startsWith('animation') ? (first?.value ?? '') : []))
    .join(' ');
  const words = animation.split(/[ ,]+/);
  const isLate = words.some((word) => /\ds$/.test(word) && Number.parseFloat(word) >= 10);
  if (isLate || !/forwards|both/.test(animation) || /paused|reverse|alternate/.test(animation)) return styles;
  for (const name of words)
    for (const { property, value } of lastFrames.get(name) ?? []) {
      const isStronger = styles.get(property)?.some(({ rank }) => rank[0] === 1) !== true;
      if (isStronger) styles.set(property, [{ value, rank: [], isCertain: true }]);
    }
  return styles;
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

function inheritedBy(element: MarkedElement, inherited: Inherited, styles: Styles, isLinked: boolean): Inherited {
  const variables = variablesOf(styles, inherited.variables);
  const values: Values = (property) => applicable(property, styles.get(property) ?? [], variables);
  const fontPx = values('font-size').at(-1);
  const colours = coloursOf(values, inherited, isLinked);
  const handedDown = {
    ...inherited,
    variables,
    ...colours,
    fontPx: fontPx === undefined ? inherited.fontPx : fontSize(fontPx, inherited.fontPx),
  };
  if (/^(?:html|body)$/i.test(element.localName))
    return isSeen(handedDown) ? handedDown : { ...handedDown, beneath: null };
  const visibility = values('visibility').filter((value) => !/^(?:inherit|unset|revert.*)$/.test(value));
  const all = [...styles.keys()].flatMap((property) => values(property).map((value) => [property, value] as const));
  const leaves = (property: string): number =>
    Math.min(1, ...values(property).map((value) => strength(property, value)));
  return {
    ...handedDown,
    isHidden: visibility.length === 0 ? inherited.isHidden : visibility.some((value) => /hidden|collapse/.test(value)),
    strength:
      inherited.strength * ['opacity', 'zoom', 'scale', 'transform'].reduce((left, each) => left * leaves(each), 1),
    isUnseen:
      inherited.isUnseen ||
      all.some(([property, value]) => mayHide(property, value) || changesSentence(element, property, value)) ||
      mayClip(values, element),
  };
}

function variablesOf(styles: Styles, inherited: Inherited['variables']): Inherited['variables'] {
  const own = [...styles].flatMap(([property, [first]]) =>
    property.startsWith('--') && first !== undefined ? [[property, first.value] as const] : [],
  );
  return own.length === 0 ? inherited : new Map([...inherited, ...own]);
}

function applicable(
  property: string,
  candidates: readonly Candidate[],
  variables: Inherited['variables'],
): readonly string[] {
  const values: string[] = [];
  for (const { value, isCertain } of candidates) {
    const written = resolved(value, variables);
    if (written !== null) values.push(written);
    if (isCertain && (written === null || isValid(property, written))) break;
  }
  return values;
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
): Pick<Inherited, 'shade' | 'fill' | 'beneath'> {
  const written = (property: string): Shade | null => {
    const value = values(property).at(-1);
    return value === undefined ? null : value === 'initial' && property === 'color' ? BLACK : shadeOf(value);
  };
  const [shade, fill] = [written('color'), written('text-fill-color')];
  // A linked sheet may give the element that changes its colour another background.
  const beneath = isLinked && (shade ?? fill) !== null ? null : inherited.beneath;
  const ground = groundOf(values, beneath);
  const own = { shade: shade ?? inherited.shade, fill: fill ?? inherited.fill };
  const isClipped = values('background-clip').some((value) => value.includes('text')) && ground !== beneath;
  return isClipped ? { shade: ground, fill: null, beneath } : { ...own, beneath: ground };
}

/** The colour of an element's background over what lies beneath it; `null` where nobody knows it. */
function groundOf(values: Values, beneath: Shade | null): Shade | null {
  const over = (shade: Shade, under: Shade | null): Shade | null =>
    shade.alpha === 1 ? shade : under === null ? null : painted(shade, under);
  const plain = plainShadeIn(values('background-color').at(-1) ?? '');
  const ground = plain === null || plain.alpha === 0 ? beneath : over(plain, beneath);
  const image = values('background-image').at(-1) ?? '';
  const [first, ...others] = gradientShadesIn(image).map((shade) => over(shade, ground));
  if (first !== undefined)
    return first !== null && others.every((each) => each !== null && !isLegible(each, first)) ? first : null;
  // The colour that a page gives for a picture is that of the picture.
  return /\(/.test(image) && plain === null ? null : ground;
}

/** Characters of a line of the window, pixels between two lines, and of a character, at the least. */
const LINE = { characters: 200, px: 12, characterPx: 4 };
/** Widths up to which a line that is not broken is no line with its end cut off. */
const NARROW_PX = 100;

/** True for an element that cuts its text off. */
function mayClip(values: Values, element: MarkedElement): boolean {
  const overflow = ['overflow', 'overflow-x', 'overflow-y', 'overflow-block', 'overflow-inline']
    .flatMap(values)
    .join(' ');
  const isCut = /hidden|clip/.test(overflow) || values('contain').some((value) => /paint|content|strict/.test(value));
  if (!isCut && !/auto|scroll/.test(overflow)) return false;
  const sizes = (kinds: readonly string[]): readonly number[] =>
    kinds.flatMap((kind) => [kind, `max-${kind}`].flatMap(values)).flatMap((value) => lengthIn(value) ?? []);
  const lines = values('line-clamp').flatMap((value) => (/^\d+$/.test(value) ? [Number(value)] : []));
  const width = Math.min(Number.POSITIVE_INFINITY, ...sizes(['width', 'inline-size']));
  const height = Math.min(
    ...sizes(['height', 'block-size']),
    ...lines.map((count) => count * LINE.px),
    Number.POSITIVE_INFINITY,
  );
  if (width <= 20 || height < 8) return true;
  if (!isCut) return false;
  const isOneLine = values('white-space').includes('nowrap');
  if (isOneLine && values('text-indent').some((value) => /^(?:9\d|\d{3,})(?:\.\d+)?%$/.test(value))) return true;
  const across = Math.min(LINE.characters, width / LINE.characterPx);
  const down = isOneLine && width <= NARROW_PX ? 1 : Math.ceil(height / LINE.px);
  return Number.isFinite(down) && across * down < (element.textContent ?? '').length;
}
