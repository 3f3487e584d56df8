/**
 * The rules of a page's own style sheets that a reader's window applies at rest: a screen of 1280 by 720 pixels, in light colours, with
 * the pointer nowhere. A condition that cannot be decided counts as met, and its rules as ones that perhaps apply: they hide text, but
 * take back nothing that hides.
 */
import {
  type ComponentValue,
  isCommentNode,
  isSimpleBlockNode,
  isTokenNode,
  parseCommaSeparatedListOfComponentValues,
  parseListOfComponentValues,
} from '@csstools/css-parser-algorithms';
import { tokenize, TokenType } from '@csstools/css-tokenizer';
import { AttributeAction, isTraversal, parse as parseSelector, type Selector, SelectorType } from 'css-what';

export interface Declaration {
  /** In lower case. `-webkit-` is left out where browsers do. */
  readonly property: string;
  /** Without comments, escapes and repeated spaces; in lower case except for contents and animations, which are as they are written. */
  readonly value: string;
  readonly isImportant: boolean;
}

export interface StyleRule {
  /** Without pseudo-elements, and without pseudo-classes that cannot be decided. */
  readonly selector: Selector[];
  readonly pseudoElement: string | null;
  /** Tags, classes and ids (`p`, `.a`, `#b`) that the page needs if the selector is to match. */
  readonly needed: readonly string[];
  /** Those of them that the element itself needs. */
  readonly own: readonly string[];
  readonly specificity: number;
  /** Place of the cascade layer: that of each layer around it, then infinity. Later ones are stronger. */
  readonly layer: readonly number[];
  /** False where it depends on something that cannot be decided. */
  readonly isCertain: boolean;
  readonly declarations: readonly Declaration[];
}

export interface PageStyles {
  readonly rules: readonly StyleRule[];
  /** Frames of animations by name. */
  readonly keyframes: ReadonlyMap<string, Keyframes>;
  /** Initial values of the custom properties that the page registers. */
  readonly registered: ReadonlyMap<string, string>;
}

interface Keyframes {
  readonly all: readonly Declaration[];
  /** Empty where it is not certain that these are the frames. */
  readonly last: readonly Declaration[];
}

export interface StyleSheet {
  readonly text: string;
  readonly isCertain: boolean;
}

interface Place {
  /** Selector of the rule around it. */
  readonly parent: string | null;
  readonly layer: Layer;
  readonly isCertain: boolean;
}

interface Layer {
  readonly path: readonly number[];
  readonly inner: Map<string, Layer>;
}

/** At-rules that style no element of the window at rest. */
const NO_RULES = new Set(
  'charset import namespace font-face page counter-style font-feature-values font-palette-values starting-style view-transition'.split(
    ' ',
  ),
);

export function readStyles(sheets: readonly StyleSheet[]): PageStyles {
  const rules: StyleRule[] = [];
  const keyframes = new Map<string, Keyframes>();
  const registered = new Map<string, string>();
  let isOrderCertain = true;

  function layerIn({ layer: outer, isCertain }: Place, name: string): Layer {
    let layer = outer;
    // One without a name is another one each time.
    for (const part of name === '' ? [` ${outer.inner.size}`] : name.split('.')) {
      const known = layer.inner.get(part);
      if (known === undefined) isOrderCertain &&= isCertain;
      const next: Layer = known ?? { path: [...layer.path, layer.inner.size], inner: new Map() };
      layer.inner.set(part, next);
      layer = next;
    }
    return layer;
  }

  function add({ declarations, blocks }: Content, place: Place): void {
    if (place.parent !== null && declarations.length > 0)
      for (const selector of selectorsOf(place.parent))
        rules.push({
          ...selector,
          layer: [...place.layer.path, Number.POSITIVE_INFINITY],
          isCertain: place.isCertain && selector.isCertain,
          declarations,
        });
    for (const { prelude, block } of blocks) {
      const end = prelude.search(/[\s("']|$/);
      if (prelude.startsWith('@')) addAtRule(plain(prelude.slice(1, end)), unescaped(prelude.slice(end)), block, place);
      else if (block !== null) {
        const parent = nested(prelude, place.parent);
        if (parent !== null) add(contentOf(block), { ...place, parent });
      }
    }
  }

  function addAtRule(prefixed: string, written: string, block: Values | null, place: Place): void {
    const name = prefixed.replace(/^-[a-z]+-/, '');
    const condition = plain(written);
    if (name === 'layer' && block === null) for (const each of written.split(',')) layerIn(place, each.trim());
    if (block === null || NO_RULES.has(name)) return;
    const content = contentOf(block);
    if (name === 'property') {
      const initial = content.declarations.find(({ property }) => property === 'initial-value');
      registered.set(written.trim(), initial?.value ?? 'initial');
    } else if (name === 'keyframes') {
      const known = keyframes.get(written.trim());
      const isOnlyOne = known === undefined && name === prefixed && place.isCertain;
      const all = content.blocks.flatMap((frame) => (frame.block === null ? [] : contentOf(frame.block).declarations));
      keyframes.set(written.trim(), {
        all: [...(known?.all ?? []), ...all],
        last: isOnlyOne ? lastFrameOf(content) : [],
      });
    } else {
      const met = conditionApplies(name, condition);
      if (met === false) return;
      const layer = name === 'layer' ? layerIn(place, written.trim()) : place.layer;
      add(content, { ...place, layer, isCertain: place.isCertain && met === true });
    }
  }

  const layer: Layer = { path: [], inner: new Map() };
  for (const { text, isCertain } of sheets)
    add(contentOf(valuesOf(text.replace(/<!--|-->/g, ' '))), { parent: null, layer, isCertain });
  return {
    // Without that order nobody knows which layer is the stronger one.
    rules: isOrderCertain ? rules : rules.map((rule) => (rule.layer.length > 1 ? { ...rule, isCertain: false } : rule)),
    keyframes,
    registered,
  };
}

/** Features that browsers have had for years. */
const SUPPORTED =
  /^\((?:display: ?(?:flex|grid|contents)|position: ?sticky|gap: ?[\w.]+|object-fit: ?(?:cover|contain))\)$/;

function conditionApplies(name: string, condition: string): boolean | null {
  if (name === 'media') return mediaApplies(condition);
  if (name === 'layer') return true;
  // As for the whole window, which is larger than a container.
  if (name === 'container') return mediaApplies(condition.replace(/^[\w-]+ (?=\()/, '')) === false ? false : null;
  if (name !== 'supports') return null;
  if (SUPPORTED.test(condition)) return true;
  return condition.startsWith('not ') && SUPPORTED.test(condition.slice(4)) ? false : null;
}

/** Declarations of a `style` attribute. */
export function readStyle(style: string): readonly Declaration[] {
  return contentOf(valuesOf(style)).declarations;
}

type Values = readonly ComponentValue[];

interface Content {
  readonly declarations: readonly Declaration[];
  /** Rules and at-rules; without a block: an at-rule that ends in a semicolon. */
  readonly blocks: readonly { readonly prelude: string; readonly block: Values | null }[];
}

/** Empty for a text whose brackets are nested too deeply. */
export function valuesOf(text: string): Values {
  try {
    return parseListOfComponentValues(tokenize({ css: text }));
  } catch {
    return [];
  }
}

const textOf = (values: Values): string => values.map((each) => each.toString()).join('');

/** Declarations and rules in the order in which they stand (CSS Syntax Module 3, 5.4). */
function contentOf(values: Values): Content {
  const declarations: Declaration[] = [];
  const blocks: { prelude: string; block: Values | null }[] = [];
  let begun: ComponentValue[] = [];
  const end = (block: Values | null): void => {
    const text = textOf(begun.filter((each) => !isCommentNode(each))).trim();
    const declaration = block === null && !text.startsWith('@') ? declarationOf(text) : null;
    if (declaration !== null) declarations.push(declaration);
    else if (block !== null || text.startsWith('@')) blocks.push({ prelude: text, block });
    begun = [];
  };
  for (const value of values) {
    const isBlock = isSimpleBlockNode(value) && value.startToken[0] === TokenType.OpenCurly;
    if (isTokenNode(value) && value.value[0] === TokenType.Semicolon) end(null);
    // The value of a custom property may be a block.
    else if (isBlock && !/^\s*--[^:]*:/.test(textOf(begun))) end(value.value);
    else begun.push(value);
  }
  end(null);
  return { declarations, blocks };
}

function declarationOf(text: string): Declaration | null {
  const colon = text.indexOf(':');
  const name = unescaped(text.slice(0, colon)).trim();
  const property = name.startsWith('--') ? name : name.toLowerCase().replace(ALIAS, '');
  // Names such as `*zoom` and `-ms-filter` are for browsers that nobody has.
  if (colon < 0 || !/^(?:--|-webkit-|[a-z])/.test(property)) return null;
  const written = text.slice(colon + 1).trim();
  const value = /^(?:content|animation.*)$/.test(property) ? written : plain(written);
  return {
    property,
    value: value.replace(/\s?!\s?important$/i, ''),
    isImportant: /!\s?important$/i.test(value),
  };
}

/** Before properties that browsers also know by this name. */
const ALIAS =
  /^-webkit-(?=(?:opacity|clip-path|mask|transform|filter|perspective|animation|background-clip|text-fill-color|text-security|line-clamp)(?:-|$))/;

export function plain(value: string): string {
  return unescaped(value)
    .replace(/--[\w-]+|[A-Z]+/g, (word) => (word.startsWith('--') ? word : word.toLowerCase()))
    .replace(/\s+/g, ' ')
    .trim();
}

function unescaped(text: string): string {
  return text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gis, (_, hex?: string, other?: string) => {
    const code = hex === undefined ? null : Number.parseInt(hex, 16);
    return code === null ? (other ?? '') : code > 0x10_ff_ff ? '\ufffd' : String.fromCodePoint(code);
  });
}

function lastFrameOf({ blocks }: Content): readonly Declaration[] {
  return blocks.flatMap(({ prelude, block }) =>
    block !== null && /(?:^|,)\s*(?:to|100%)/i.test(prelude) ? contentOf(block).declarations : [],
  );
}

const LONGEST_NESTED = 2_000;

/** `null` for one that is too long: each level may double it. */
function nested(selector: string, parent: string | null): string | null {
  if (parent === null) return selector;
  if (selector.length > LONGEST_NESTED) return null;
  const whole = parseCommaSeparatedListOfComponentValues(tokenize({ css: selector }))
    .map(textOf)
    .map((each) => (each.includes('&') ? each.replaceAll('&', `:is(${parent})`) : `:is(${parent}) ${each.trim()}`))
    .join(', ');
  return whole.length > LONGEST_NESTED ? null : whole;
}

type ReadSelector = Pick<StyleRule, 'selector' | 'pseudoElement' | 'needed' | 'own' | 'specificity' | 'isCertain'>;

/** Pseudo-classes of a state in which no element is at rest. */
const NEVER_AT_REST =
  /^(?:hover|active|focus|focus-within|focus-visible|target|target-within|visited|fullscreen|modal|popover-open|autofill|host|host-context|open|-.*)$/;
const DECIDED =
  /^(?:not|is|where|has|first-child|last-child|only-child|nth-child|nth-last-child|first-of-type|last-of-type|only-of-type|nth-of-type|nth-last-of-type|empty|root|checked|disabled|enabled|link|any-link)$/;
const KNOWN_PARTS =
  /^(?:before|after|first-line|first-letter|marker|selection|placeholder|backdrop|file-selector-button)$/;
/** Pseudo-elements that may be written with one colon. */
const ELEMENTS_OF_OLD = /^(?:before|after|first-line|first-letter)$/;
/** Selectors that this program and browsers read alike: no names that begin with a digit, no values without quotes that do. */
const PLAIN = /^(?!.*[.#=]-?\d)(?:[^|!@$^\\]|\|=|[$^]=|\\.)*$/s;
const ALWAYS = parseSelector(':not(x-none)')[0]?.[0];
const NEVER = parseSelector(':is(x-none)')[0]?.[0];

/** Those that may match; none where the list cannot be read. Browsers drop a whole list for one selector that they do not know. */
function selectorsOf(list: string): readonly ReadSelector[] {
  try {
    const all = parseSelector(list).map(readSelector);
    const isCertain = PLAIN.test(list) && all.every((each) => each.isCertain);
    return all
      .filter(({ selector }) => NEVER === undefined || !selector.includes(NEVER))
      .map((each) => ({ ...each, isCertain }));
  } catch {
    return [];
  }
}

function readSelector(written: Selector[]): ReadSelector {
  let pseudoElement: string | null = null;
  let isCertain = true;

  function decided(parts: readonly Selector[], isNegated: boolean): Selector[] {
    return parts.flatMap((part): Selector[] => {
      if (part.type === SelectorType.Pseudo && Array.isArray(part.data)) {
        const data = part.data.map((each) => decided(each, part.name === 'not' ? !isNegated : isNegated));
        return DECIDED.test(part.name) ? [{ ...part, data }] : undecided(part.name, isNegated);
      }
      if (
        part.type === SelectorType.PseudoElement ||
        (part.type === SelectorType.Pseudo && ELEMENTS_OF_OLD.test(part.name))
      ) {
        pseudoElement = part.name;
        isCertain &&= KNOWN_PARTS.test(part.name);
        return [];
      }
      if (part.type !== SelectorType.Pseudo) return [part];
      const isRight = part.name.startsWith('nth-')
        ? /^(?:[\dn+ -]+|odd|even)$/i.test(String(part.data))
        : part.data === null;
      return isRight && DECIDED.test(part.name) ? [part] : undecided(part.name, isNegated);
    });
  }

  function undecided(name: string, isNegated: boolean): Selector[] {
    // Scripts define the elements of a page.
    if (name === 'defined') return ALWAYS === undefined ? [] : [ALWAYS];
    isCertain &&= NEVER_AT_REST.test(name) && !name.startsWith('-');
    const met = NEVER_AT_REST.test(name) || isNegated ? NEVER : ALWAYS;
    return met === undefined ? [] : [met];
  }

  const parts = decided(written, false);
  const last = parts.findLastIndex(isTraversal);
  // A pseudo-element may be all that stands behind the last space.
  const selector = last === parts.length - 1 && ALWAYS !== undefined ? [...parts, ALWAYS] : parts;
  return {
    selector,
    pseudoElement,
    needed: parts.flatMap(nameOf),
    own: parts.slice(last + 1).flatMap(nameOf),
    specificity: weightOf(written),
    isCertain,
  };
}

const isId = (part: Selector): boolean =>
  part.type === SelectorType.Attribute &&
  part.name === 'id' &&
  part.action === AttributeAction.Equals &&
  part.ignoreCase === 'quirks';

function nameOf(part: Selector): readonly string[] {
  if (part.type === SelectorType.Tag) return [part.name.toLowerCase()];
  if (part.type !== SelectorType.Attribute) return [];
  if (part.name === 'class' && part.action === AttributeAction.Element) return [`.${part.value}`];
  return isId(part) ? [`#${part.value}`] : [];
}

/** Specificity (Selectors 4, 17). */
function weightOf(parts: readonly Selector[]): number {
  return parts.reduce((sum, part) => sum + weightOfPart(part), 0);
}

function weightOfPart(part: Selector): number {
  if (part.type === SelectorType.Tag || part.type === SelectorType.PseudoElement) return 1;
  if (part.type === SelectorType.Attribute) return isId(part) ? 1_000_000 : 1_000;
  if (part.type !== SelectorType.Pseudo || part.name === 'where') return 0;
  if (ELEMENTS_OF_OLD.test(part.name)) return 1;
  return Array.isArray(part.data) ? Math.max(0, ...part.data.map(weightOf)) : 1_000;
}

const WINDOW: Readonly<Record<string, number>> = {
  width: 1_280,
  height: 720,
  'device-width': 1_280,
  'device-height': 720,
};
/** Answers of the window to the features of media queries. */
const FEATURES: Readonly<Record<string, string>> = {
  orientation: 'landscape',
  hover: 'hover',
  'any-hover': 'hover',
  pointer: 'fine',
  'any-pointer': 'fine',
  'prefers-color-scheme': 'light',
  'prefers-reduced-motion': 'no-preference',
  'prefers-contrast': 'no-preference',
  'forced-colors': 'none',
  'display-mode': 'browser',
  scripting: 'enabled',
  update: 'fast',
};

/** Decides a list of media queries for the window; `null` where that cannot be decided. */
export function mediaApplies(list: string): boolean | null {
  const answers = new Set(list.split(',').map((each) => queryApplies(each.trim())));
  if (answers.has(true)) return true;
  return answers.has(null) ? null : false;
}

/** A media query of one kind that is certainly valid. */
const QUERY = /^(?:(?:(?:not|only) )?[a-z-]+|(?:not )?\([^()]*\)|\(\([^()]*\)\))(?: and \([^()]*\))*$/;

function queryApplies(query: string): boolean | null {
  if (query === '') return true;
  if (!QUERY.test(query)) return null;
  const isNegated = /^not\b/.test(query);
  const parts = query
    .replace(/^(?:not|only)\b ?/, '')
    .split(/ ?\band\b ?/)
    .map((part) => part.trim());
  const answers = new Set(parts.map((part) => (part.startsWith('(') ? featureApplies(part) : typeApplies(part))));
  const answer = answers.has(false) ? false : answers.has(null) ? null : true;
  return answer === null ? null : answer !== isNegated;
}

function typeApplies(type: string): boolean | null {
  if (type === 'all' || type === 'screen') return true;
  return /^[a-z-]+$/.test(type) ? false : null;
}

function featureApplies(spaced: string): boolean | null {
  const feature = spaced.replaceAll(' ', '');
  const [, name = '', value = ''] = /^\(([a-z-]+)(?::([^()]*))?\)$/.exec(feature) ?? [];
  const [, bound = '', of = ''] = /^(min|max)-([a-z-]+)$/.exec(name) ?? [];
  const size = WINDOW[of];
  if (size !== undefined) {
    const limit = withUnit(value);
    return limit === null ? null : bound === 'min' ? size >= limit : size <= limit;
  }
  const answer = FEATURES[name];
  if (answer !== undefined) return value === '' ? answer !== 'none' && answer !== 'no-preference' : answer === value;
  const [, left = '', sign = '', right = ''] = /^\(([\w.-]+)([<>]=?)([\w.-]+)\)$/.exec(feature) ?? [];
  const [a, b] = [WINDOW[left] ?? withUnit(left), WINDOW[right] ?? withUnit(right)];
  if (a === null || b === null) return null;
  return sign === '<' ? a < b : sign === '<=' ? a <= b : sign === '>' ? a > b : a >= b;
}

function withUnit(length: string): number | null {
  return /^[\d.]*[1-9]$/.test(length) ? null : pixels(length);
}

const PIXELS: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  em: 16,
  rem: 16,
  ex: 8,
  ch: 8,
  ic: 16,
  lh: 20,
  rlh: 20,
  pt: 4 / 3,
  pc: 16,
  in: 96,
  cm: 37.8,
  mm: 3.78,
  q: 0.945,
  vw: 12.8,
  vh: 7.2,
  vmin: 7.2,
  vmax: 12.8,
  vi: 12.8,
  vb: 7.2,
  svw: 12.8,
  svh: 7.2,
  lvw: 12.8,
  lvh: 7.2,
  dvw: 12.8,
  dvh: 7.2,
};

/** A length in pixels of the window; `null` for anything else. */
export function pixels(length: string): number | null {
  const [, number, unit = ''] = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)([a-z]*)$/.exec(length) ?? [];
  const factor = PIXELS[unit];
  return number === undefined || factor === undefined ? null : Number(number) * factor;
}
