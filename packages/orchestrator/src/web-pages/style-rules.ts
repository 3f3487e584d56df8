/**
 * The rules of a page's own style sheets that a reader's window applies at rest: a screen of 1280 by 720 pixels, in light colours, with
 * the pointer nowhere. A condition that cannot be decided counts as met, and its rules as ones that perhaps apply.
 */
import {
  type ComponentValue,
  isCommentNode,
  isSimpleBlockNode,
  isTokenNode,
  parseListOfComponentValues,
} from '@csstools/css-parser-algorithms';
import { tokenize, TokenType } from '@csstools/css-tokenizer';
import { AttributeAction, isTraversal, parse as parseSelector, type Selector, SelectorType } from 'css-what';

export interface Declaration {
  /** In lower case. `-webkit-` is left out where browsers do. */
  readonly property: string;
  /** In lower case, without comments, escapes and repeated spaces. */
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
  /** Of the cascade layer; rules outside layers have the highest. */
  readonly layer: number;
  /** False where it depends on something that cannot be decided. */
  readonly isCertain: boolean;
  readonly declarations: readonly Declaration[];
}

export interface PageStyles {
  readonly rules: readonly StyleRule[];
  /** Last frames of animations by name. */
  readonly lastFrames: ReadonlyMap<string, readonly Declaration[]>;
}

interface Place {
  /** Selector of the rule around it. */
  readonly parent: string | null;
  readonly layer: number;
  readonly isCertain: boolean;
}

const UNLAYERED = 1_000_000;
/** At-rules that style no element of the window at rest. */
const NO_RULES = new Set(
  'charset import namespace font-face page property counter-style font-feature-values font-palette-values starting-style view-transition'.split(
    ' ',
  ),
);

export function readStyles(sheets: readonly string[]): PageStyles {
  const rules: StyleRule[] = [];
  const lastFrames = new Map<string, readonly Declaration[]>();
  const layers: string[] = [];
  const layerOf = (name: string): number => {
    if (!layers.includes(name)) layers.push(name);
    return layers.indexOf(name);
  };

  function add({ declarations, blocks }: Content, place: Place): void {
    if (place.parent !== null && declarations.length > 0)
      for (const selector of selectorsOf(place.parent))
        rules.push({
          ...selector,
          layer: place.layer,
          isCertain: place.isCertain && selector.isCertain,
          declarations,
        });
    for (const { prelude, block } of blocks) {
      const end = prelude.search(/[\s("']|$/);
      if (prelude.startsWith('@'))
        addAtRule(plain(prelude.slice(1, end)).replace(/^-[a-z]+-/, ''), plain(prelude.slice(end)), block, place);
      else if (block !== null) {
        const parent = nested(prelude, place.parent);
        if (parent !== null) add(contentOf(block), { ...place, parent });
      }
    }
  }

  function addAtRule(name: string, condition: string, block: Values | null, place: Place): void {
    if (name === 'layer' && block === null) for (const each of condition.split(',')) layerOf(each.trim());
    if (block === null || NO_RULES.has(name)) return;
    if (name === 'keyframes') lastFrames.set(condition, lastFrameOf(contentOf(block)));
    const met = conditionApplies(name, condition);
    if (name === 'keyframes' || met === false) return;
    const layer = name === 'layer' ? layerOf(condition) : place.layer;
    add(contentOf(block), { ...place, layer, isCertain: place.isCertain && met === true });
  }

  const rest = { parent: null, layer: UNLAYERED, isCertain: true };
  for (const sheet of sheets) add(contentOf(valuesOf(sheet.replace(/<!--|-->/g, ' '))), rest);
  return { rules, lastFrames };
}

function conditionApplies(name: string, condition: string): boolean | null {
  if (name === 'media') return mediaApplies(condition);
  // As for the whole window, without the name of the container.
  if (name === 'container') return mediaApplies(condition.replace(/^[\w-]+ (?=\()/, ''));
  // Browsers are taken to support each property that a page asks for.
  if (name === 'supports') return !condition.startsWith('not');
  return name === 'layer' ? true : null;
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
  const property = name.toLowerCase().replace(ALIAS, '');
  // Names such as `*zoom` and `-ms-filter` are for browsers that nobody has.
  if (colon < 0 || !/^(?:--|[a-z])/.test(property)) return null;
  const value = plain(text.slice(colon + 1));
  return {
    property,
    value: value.replace(/ ?! ?important$/, ''),
    isImportant: /! ?important$/.test(value),
  };
}

/** Before properties that browsers also know by this name. */
const ALIAS =
  /^-webkit-(?=(?:opacity|clip-path|mask|transform|filter|perspective|animation|background-clip|text-fill-color|text-security|line-clamp)(?:-|$))/;

function plain(value: string): string {
  return unescaped(value).toLowerCase().replace(/\s+/g, ' ').trim();
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
  const whole = selector.includes('&') ? selector.replaceAll('&', `:is(${parent})`) : `:is(${parent}) ${selector}`;
  return whole.length > LONGEST_NESTED ? null : whole;
}

type ReadSelector = Pick<StyleRule, 'selector' | 'pseudoElement' | 'needed' | 'own' | 'specificity' | 'isCertain'>;

/** Pseudo-classes of a state in which no element is at rest. */
const NEVER_AT_REST =
  /^(?:hover|active|focus|focus-within|focus-visible|target|target-within|visited|fullscreen|modal|popover-open|autofill|host|host-context|open|-.*)$/;
const DECIDED =
  /^(?:not|is|where|has|first-child|last-child|only-child|nth-child|nth-last-child|first-of-type|last-of-type|only-of-type|nth-of-type|nth-last-of-type|empty|root|checked|disabled|enabled|link|any-link)$/;
/** Pseudo-elements that may be written with one colon. */
const ELEMENTS_OF_OLD = /^(?:before|after|first-line|first-letter)$/;
const ALWAYS = parseSelector(':not(x-none)')[0]?.[0];
const NEVER = parseSelector(':is(x-none)')[0]?.[0];

/** Those that may match; none where the list cannot be read. */
function selectorsOf(list: string): readonly ReadSelector[] {
  try {
    return parseSelector(list)
      .map(readSelector)
      .filter(({ selector }) => NEVER === undefined || !selector.includes(NEVER));
  } catch {
    return [];
  }
}

function readSelector(written: Selector[]): ReadSelector {
  let pseudoElement: string | null = null;
  let isCertain = true;
  let specificity = 0;

  function decided(parts: readonly Selector[], isNegated: boolean, counts: boolean): Selector[] {
    return parts.flatMap((part): Selector[] => {
      if (counts) specificity += weightOf(part);
      if (part.type === SelectorType.Pseudo && Array.isArray(part.data)) {
        const negates = part.name === 'not' ? !isNegated : isNegated;
        const data = part.data.map((each) => decided(each, negates, counts && part.name !== 'where'));
        return DECIDED.test(part.name) ? [{ ...part, data }] : undecided(part.name, isNegated);
      }
      if (
        part.type === SelectorType.PseudoElement ||
        (part.type === SelectorType.Pseudo && ELEMENTS_OF_OLD.test(part.name))
      ) {
        pseudoElement = part.name;
        return [];
      }
      return part.type === SelectorType.Pseudo && !DECIDED.test(part.name) ? undecided(part.name, isNegated) : [part];
    });
  }

  function undecided(name: string, isNegated: boolean): Selector[] {
    // Scripts define the elements of a page.
    if (name === 'defined') return ALWAYS === undefined ? [] : [ALWAYS];
    isCertain &&= NEVER_AT_REST.test(name);
    const met = NEVER_AT_REST.test(name) || isNegated ? NEVER : ALWAYS;
    return met === undefined ? [] : [met];
  }

  const parts = decided(written, false, true);
  const last = parts.findLastIndex(isTraversal);
  // A pseudo-element may be all that stands behind the last space.
  const selector = last === parts.length - 1 && ALWAYS !== undefined ? [...parts, ALWAYS] : parts;
  return {
    selector,
    pseudoElement,
    needed: parts.flatMap(nameOf),
    own: parts.slice(last + 1).flatMap(nameOf),
    specificity,
    isCertain,
  };
}

function nameOf(part: Selector): readonly string[] {
  if (part.type === SelectorType.Tag) return [part.name.toLowerCase()];
  if (part.type !== SelectorType.Attribute) return [];
  if (part.name === 'class' && part.action === AttributeAction.Element) return [`.${part.value}`];
  return part.name === 'id' && part.action === AttributeAction.Equals ? [`#${part.value}`] : [];
}

function weightOf(part: Selector): number {
  if (part.type === SelectorType.Tag) return 1;
  if (part.type === SelectorType.Attribute)
    return part.name === 'id' && part.action === AttributeAction.Equals ? 1_000_000 : 1_000;
  return part.type === SelectorType.Pseudo && !/^(?:not|is|where|has)$/.test(part.name) ? 1_000 : 0;
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

function queryApplies(query: string): boolean | null {
  if (query === '') return true;
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
    const limit = pixels(value);
    return limit === null ? null : bound === 'min' ? size >= limit : size <= limit;
  }
  const answer = FEATURES[name];
  if (answer !== undefined) return value === '' ? answer !== 'none' && answer !== 'no-preference' : answer === value;
  const [, left = '', sign = '', right = ''] = /^\(([\w.-]+)([<>]=?)([\w.-]+)\)$/.exec(feature) ?? [];
  const [a, b] = [WINDOW[left] ?? pixels(left), WINDOW[right] ?? pixels(right)];
  if (a === null || b === null) return null;
  return sign === '<' ? a < b : sign === '<=' ? a <= b : sign === '>' ? a > b : a >= b;
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
