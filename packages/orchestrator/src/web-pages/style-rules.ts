/**
 * The rules of a page's own style sheets that a reader's window applies at rest: a screen of 1280 by 720 pixels, in light colours, with
 * the pointer nowhere. A selector, condition or declaration is certain only in a small grammar that this program and browsers read alike.
 * A condition that cannot be decided counts as met. Rules that are not certain hide text, but take back nothing that hides.
 */
import {
  type ComponentValue,
  isFunctionNode,
  isSimpleBlockNode,
  isTokenNode,
  isWhitespaceNode,
  parseCommaSeparatedListOfComponentValues,
  parseListOfComponentValues,
} from '@csstools/css-parser-algorithms';
import { type CSSToken, tokenize, TokenType } from '@csstools/css-tokenizer';
import {
  AttributeAction,
  type AttributeSelector,
  isTraversal,
  parse as parseSelector,
  type Selector,
  SelectorType,
} from 'css-what';

export interface Declaration {
  /** In lower case. `-webkit-` is left out where browsers do. */
  readonly property: string;
  /** Without comments, escapes and repeated spaces; in lower case except for contents and animations, which are as they are written. */
  readonly value: string;
  readonly isImportant: boolean;
  /** False where browsers perhaps read another one, or none. */
  readonly isCertain: boolean;
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
  /** Custom properties that the page registers, with their initial values. */
  readonly registered: ReadonlyMap<string, Registration>;
  /** True where a font of the page perhaps makes letters so small that nobody reads them. */
  readonly hasTinyFont: boolean;
}

export interface Registration {
  readonly initial: string;
  /** Empty where it is not known. */
  readonly syntax: string;
  /** False where browsers perhaps do not register it. */
  readonly isCertain: boolean;
}

export interface Keyframes {
  readonly all: readonly Declaration[];
  /** Those that the animation perhaps ends with. */
  readonly last: readonly Declaration[];
  /** False where browsers perhaps take other ones of this name, or none. */
  readonly isCertain: boolean;
}

interface CollectedKeyframes extends Keyframes {
  readonly all: Declaration[];
  readonly last: Declaration[];
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

/** Layers in each other beyond which their order counts as not known. */
const MOST_LAYERS = 50;

export function readStyles(sheets: readonly StyleSheet[]): PageStyles {
  const rules: StyleRule[] = [];
  const keyframes = new Map<string, CollectedKeyframes>();
  const registered = new Map<string, Registration>();
  let isOrderCertain = true;
  let hasTinyFont = false;

  function layerIn({ layer: outer, isCertain }: Place, name: string): Layer {
    let layer = outer;
    // One without a name is another one each time.
    const parts = name === '' ? [` ${outer.inner.size}`] : name.split('.');
    const left = MOST_LAYERS - outer.path.length;
    isOrderCertain &&= parts.length <= left;
    for (const part of parts.slice(0, left)) {
      const known = layer.inner.get(part);
      if (known === undefined) isOrderCertain &&= isCertain;
      const next: Layer = known ?? { path: [...layer.path, layer.inner.size], inner: new Map() };
      layer.inner.set(part, next);
      layer = next;
    }
    return layer;
  }

  function add({ declarations, blocks }: Content, place: Place): void {
    const selectors = place.parent === null || declarations.length === 0 ? [] : selectorsOf(place.parent);
    const layer = [...place.layer.path, Number.POSITIVE_INFINITY];
    let added = 0;
    function addDeclarations(end: number, isCertain: boolean): void {
      const own = declarations.slice(added, end);
      if (own.length > 0)
        for (const selector of selectors)
          rules.push({ ...selector, layer, isCertain: isCertain && selector.isCertain, declarations: own });
      added = end;
    }
    for (const [index, { name, prelude, isPlain, values, block, at }] of blocks.entries()) {
      addDeclarations(at, place.isCertain && index === 0);
      if (name !== null) addAtRule(name, unescaped(prelude).trim(), block, place, isPlain);
      else if (block !== null) {
        const parent = nested(prelude.replaceAll(COMMENT, ''), place.parent);
        const isCertain = place.isCertain && isPlainSelector(values, place.parent !== null);
        if (parent !== null) add(contentOf(block), { ...place, parent, isCertain });
      }
    }
    // Older browsers take those behind a nested rule as if they stood before it.
    addDeclarations(declarations.length, place.isCertain && blocks.length === 0);
  }

  function addAtRule(prefixed: string, written: string, block: Values | null, place: Place, isPlain: boolean): void {
    const name = prefixed.replace(/^-[a-z]+-(?=keyframes$)/, '');
    const isCertain = place.isCertain && isPlain && name === prefixed;
    if (name === 'layer' && block === null) {
      const names = written.split(',').map((each) => each.trim());
      isOrderCertain &&= isPlain && names.every(isLayerName);
      for (const each of names) layerIn(place, each);
    }
    // The layer of another sheet takes a place among those of this one.
    if (name === 'import' && /layer/i.test(written)) isOrderCertain = false;
    if (block === null) return;
    const content = contentOf(block);
    if (name === 'font-face') hasTinyFont ||= isTinyFont(content);
    if (NO_RULES.has(name)) return;
    if (name === 'property') {
      registered.set(written, registrationOf(content, isCertain, registered.has(written)));
    } else if (name === 'keyframes') {
      const title = written.replaceAll(/["']/g, '');
      const known = keyframes.get(title);
      const { all, last }: Omit<CollectedKeyframes, 'isCertain'> = known ?? { all: [], last: [] };
      for (const frame of content.blocks)
        for (const { declaration, isLast } of frame.block === null ? [] : framesIn(frame.prelude, frame.block)) {
          all.push(declaration);
          if (isLast) last.push(declaration);
        }
      keyframes.set(title, { all, last, isCertain: known === undefined && isCertain && NAME.test(written) });
    } else {
      const met = isPlain ? conditionApplies(name, written) : null;
      if (met === false) return;
      const layer = name === 'layer' ? layerIn(place, written) : place.layer;
      add(content, { ...place, layer, isCertain: isCertain && met === true });
    }
  }

  const layer: Layer = { path: [], inner: new Map() };
  for (const { text, isCertain } of sheets) {
    const { blocks, ...content } = contentOf(valuesOf(text));
    // Behind it, selectors are perhaps those of drawings.
    const isOfPage = blocks.every(({ name }) => name !== 'namespace');
    add({ ...content, blocks }, { parent: null, layer, isCertain: isCertain && isOfPage });
  }
  return {
    // Without that order nobody knows which layer is the stronger one.
    rules: isOrderCertain ? rules : rules.map((rule) => (rule.layer.length > 1 ? { ...rule, isCertain: false } : rule)),
    keyframes,
    registered,
    hasTinyFont,
  };
}

/** True for a font that is perhaps shown at less than 40 % of its size. */
function isTinyFont({ declarations }: Content): boolean {
  return declarations.some(
    ({ property, value }) =>
      property === 'size-adjust' && !/^(?:normal|[4-9]\d(?:\.\d+)?%|\d{3,}(?:\.\d+)?%)$/.test(value),
  );
}

/** @param isAgain the property has another registration before this one */
function registrationOf({ declarations }: Content, isCertain: boolean, isAgain: boolean): Registration {
  const valueOf = (property: string): string | undefined =>
    declarations.find((each) => each.property === property)?.value;
  const syntax = isAgain ? '' : (valueOf('syntax') ?? '');
  return {
    initial: valueOf('initial-value') ?? 'initial',
    syntax: syntax.slice(1, -1),
    isCertain: isCertain && /^(?:true|false)$/.test(valueOf('inherits') ?? ''),
  };
}

/** Features that browsers have had for years. */
const SUPPORTED =
  /^\((?:display: ?(?:block|flex|grid|contents|flow-root|inline-(?:block|flex|grid))|position: ?sticky|overflow: ?clip|gap: ?\d+(?:px|r?em)|object-fit: ?(?:cover|contain))\)$/;

function isSupported(condition: string): boolean | null {
  if (condition.startsWith('not ')) return SUPPORTED.test(condition.slice(4)) ? false : null;
  const answers = condition.split(' and ').map((part) => {
    const [, denied] = /^\(not (.*)\)$/.exec(part) ?? [];
    return SUPPORTED.test(denied ?? part) ? denied === undefined : null;
  });
  return answers.includes(null) ? null : answers.every((answer) => answer);
}

function conditionApplies(name: string, written: string): boolean | null {
  const condition = plain(written);
  if (name === 'media') return mediaApplies(written);
  if (name === 'layer') return written === '' || isLayerName(written) || null;
  if (name === 'container') {
    // As for the whole window, which is larger than a container.
    const query = condition.replace(/^[\w-]+ (?=\()/, '');
    return query.startsWith('(') && mediaApplies(query) === false ? false : null;
  }
  return name === 'supports' ? isSupported(condition) : null;
}

const NAME = /^-{0,2}[a-z_][\w-]*$/i;

function isLayerName(written: string): boolean {
  return written
    .split('.')
    .every((part) => NAME.test(part) && !/^(?:initial|inherit|unset|default|revert|revert-layer)$/i.test(part));
}

/** Declarations of a `style` attribute. */
export function readStyle(style: string): readonly Declaration[] {
  return contentOf(valuesOf(style)).declarations;
}

type Values = readonly ComponentValue[];

interface Content {
  readonly declarations: readonly Declaration[];
  readonly blocks: readonly Block[];
}

/** A rule or an at-rule. */
interface Block {
  /** In lower case; `null` for a rule. */
  readonly name: string | null;
  /** Without the name. */
  readonly prelude: string;
  readonly values: Values;
  /** True for a prelude that this program and browsers read alike, if it is one of an at-rule. */
  readonly isPlain: boolean;
  /** `null` for an at-rule that ends in a semicolon. */
  readonly block: Values | null;
  /** Number of the declarations before it. */
  readonly at: number;
}

/** Stands for a comment that divides two words. */
const COMMENT = '/**/';
/** Beside them a comment divides nothing. */
const DIVIDERS: ReadonlySet<TokenType | undefined> = new Set([
  TokenType.Whitespace,
  TokenType.Semicolon,
  TokenType.Colon,
  TokenType.Comma,
  TokenType.OpenCurly,
  TokenType.CloseCurly,
  TokenType.EOF,
  undefined,
]);

/** Empty for a text whose brackets are nested too deeply. */
export function valuesOf(text: string): Values {
  try {
    const tokens = tokensOf(text);
    return parseListOfComponentValues(
      tokens.flatMap((token, index): CSSToken[] => {
        const isRemark = token[0] === TokenType.CDO || token[0] === TokenType.CDC;
        if (!isRemark && token[0] !== TokenType.Comment) return [token];
        const isApart = DIVIDERS.has(tokens[index - 1]?.[0]) || DIVIDERS.has(tokens[index + 1]?.[0]);
        return isApart && !isRemark ? [] : [[TokenType.Comment, COMMENT, token[2], token[3], undefined]];
      }),
    );
  } catch {
    return [];
  }
}

function tokensOf(css: string): CSSToken[] {
  const limit = Error.stackTraceLimit;
  // The stacks of its errors, which nobody reads, would take most of the time.
  Error.stackTraceLimit = 0;
  try {
    return tokenize({ css });
  } finally {
    Error.stackTraceLimit = limit;
  }
}

const textOf = (values: Values): string => values.map((each) => each.toString()).join('');

/** True for a text of plain characters without escapes and comments. */
const isPlainText = (text: string): boolean => /^[\t\n\f\r -[\]-~]*$/.test(text) && !text.includes('/*');

/** Declarations and rules in the order in which they stand (CSS Syntax Module 3, 5.4). */
function contentOf(values: Values): Content {
  const declarations: Declaration[] = [];
  const blocks: Block[] = [];
  let begun: ComponentValue[] = [];
  const end = (block: Values | null): void => {
    const written = textOf(begun);
    const first = begun.findIndex((each) => !isWhitespaceNode(each));
    const name = keywordOf(begun[first]);
    const declaration = block === null && name === null ? declarationOf(written) : null;
    if (declaration !== null) declarations.push(declaration);
    else if (block !== null || name !== null) {
      const prelude = name === null ? written.trim() : textOf(begun.slice(first + 1));
      blocks.push({ name, prelude, values: begun, isPlain: isPlainText(written), block, at: declarations.length });
    }
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

/** Name of the at-rule that begins so. */
function keywordOf(value: ComponentValue | undefined): string | null {
  return value !== undefined && isTokenNode(value) && value.value[0] === TokenType.AtKeyword
    ? lower(value.value[4].value)
    : null;
}

function declarationOf(written: string): Declaration | null {
  const text = written.replaceAll(COMMENT, ' ');
  const colon = text.indexOf(':');
  const name = unescaped(text.slice(0, colon)).trim();
  const property = name.startsWith('--') ? name : lower(name).replace(ALIAS, '');
  // Names such as `*zoom` and `-ms-filter` are for browsers that nobody has.
  if (colon < 0 || !/^(?:--|-webkit-|[a-z])/.test(property)) return null;
  const raw = text.slice(colon + 1).trim();
  const value = /^(?:content|animation.*)$/.test(property) ? raw : plain(raw);
  // Contents are read as browsers read them.
  const read = property === 'content' ? written.slice(0, colon) : written;
  return {
    property,
    value: value.replace(/!\s*important$/i, '').trimEnd(),
    isImportant: /!\s*important$/i.test(value),
    isCertain: isPlainText(read) && !OF_SOME.test(lower(name)),
  };
}

/** Before properties that browsers also know by this name. */
const ALIAS =
  /^-webkit-(?=(?:opacity|clip-path|mask|transform|filter|perspective|animation|background-clip|text-fill-color|text-security|line-clamp|order|flex)(?:-|$))/;
/** Names that not all browsers know. */
const OF_SOME = /^(?:text-fill-color|text-security|line-clamp|-webkit-(?:opacity|clip-path))$/;

const lower = (text: string): string => text.replace(/[A-Z]+/g, (word) => word.toLowerCase());

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

interface Frame {
  readonly declaration: Declaration;
  readonly isLast: boolean;
}

/** Browsers ignore important declarations in them. */
function framesIn(prelude: string, block: Values): readonly Frame[] {
  const places = prelude.split(',').map((each) => each.trim().toLowerCase());
  const isPlain = places.every((each) => /^(?:from|to|(?:\d{1,2}(?:\.\d+)?|100)%)$/.test(each));
  const isLast = !isPlain || places.some((each) => each === 'to' || each === '100%');
  return contentOf(block)
    .declarations.filter(({ isImportant }) => !isImportant)
    .map((each) => ({ declaration: { ...each, isCertain: isPlain && each.isCertain }, isLast }));
}

const LONGEST_NESTED = 2_000;

/** `null` for one that is too long: each level may double it. */
function nested(selector: string, parent: string | null): string | null {
  if (parent === null) return selector;
  if (selector.length > LONGEST_NESTED) return null;
  const around = `:is(${parent})`;
  const tokens = tokenize({ css: selector });
  for (const token of tokens) if (token[0] === TokenType.Delim && token[4].value === '&') token[1] = around;
  const whole = parseCommaSeparatedListOfComponentValues(tokens)
    .map(textOf)
    .map((each) => (each.includes(around) ? each : `${around} ${each.trim()}`))
    .join(', ');
  return whole.length > LONGEST_NESTED ? null : whole;
}

/** Names with the escapes of usual class names, such as `md\:w-1\/2`. */
const SELECTOR_NAME = /^-{0,2}(?:[a-z_]|\\[!#%()*+,./:=@[\]])(?:[\w-]|\\[!#%()*+,./:=@[\]])*$/i;
const ATTRIBUTE = /^\[ ?-{0,2}[a-z_][\w-]*(?: ?[~|^$*]?= ?(?:"[^"\\&\n]*"|'[^'\\&\n]*'|-{0,2}[a-z_][\w-]*))? ?\]$/i;
const PLACE = /^(?:odd|even|[+-]?\d*n(?: ?[+-] ?\d+)?|[+-]?\d+)$/i;
/** A compound selector by the shapes of its parts. */
const COMPOUND = /^(?:[i*]|(?=[ha&.:]))(?:[ha&]|\.i|::?[if])*$/;

/** True for a list of selectors in a grammar that this program and browsers read alike. */
function isPlainSelector(values: Values, isNested: boolean, isRelative = isNested, isInHas = false): boolean {
  const shape = values
    .map((each) => {
      if (isWhitespaceNode(each)) return ' ';
      if (isSimpleBlockNode(each)) return ATTRIBUTE.test(plainSpaces(each.toString())) ? 'a' : '?';
      if (isFunctionNode(each)) {
        const name = lower(each.name[1].slice(0, -1));
        if (name.startsWith('nth-')) return PLACE.test(plainSpaces(textOf(each.value))) ? 'f' : '?';
        const isHas = name === 'has';
        if (!/^(?:not|is|where|has)$/.test(name) || (isHas && isInHas)) return '?';
        return isPlainSelector(each.value, isNested, isHas, isHas || isInHas) ? 'f' : '?';
      }
      if (!isTokenNode(each)) return '?';
      const [type, text] = each.value;
      if (type === TokenType.Ident) return SELECTOR_NAME.test(text) ? 'i' : '?';
      if (type === TokenType.Hash) return SELECTOR_NAME.test(text.slice(1)) ? 'h' : '?';
      return '.:>+~*,'.includes(text) || (isNested && text === '&') ? text : '?';
    })
    .join('');
  return plainSpaces(shape)
    .split(',')
    .every((one) => {
      const complex = isRelative ? one.trim().replace(/^[>+~] ?/, '') : one.trim();
      return complex.split(/ ?[>+~] ?| /).every((compound) => COMPOUND.test(compound));
    });
}

const plainSpaces = (text: string): string => text.replace(/ +/g, ' ').trim();

type ReadSelector = Pick<StyleRule, 'selector' | 'pseudoElement' | 'needed' | 'own' | 'specificity' | 'isCertain'>;

/** Pseudo-classes of a state in which no element is at rest. */
const NEVER_AT_REST =
  /^(?:hover|active|focus|focus-within|focus-visible|target|target-within|visited|fullscreen|modal|popover-open|autofill|host|host-context|open|-.*)$/;
const DECIDED =
  /^(?:not|is|where|has|first-child|last-child|only-child|nth-child|nth-last-child|first-of-type|last-of-type|only-of-type|nth-of-type|nth-last-of-type|empty|root|checked)$/;
const KNOWN_PARTS =
  /^(?:before|after|first-line|first-letter|marker|selection|placeholder|backdrop|file-selector-button)$/;
/** Pseudo-elements that may be written with one colon. */
const ELEMENTS_OF_OLD = /^(?:before|after|first-line|first-letter)$/;
/** Links as browsers know them. */
const LINKS = parseSelector('a[href], area[href]');
/** Elements that may be enabled or disabled. */
const CONTROLS = parseSelector('button, input, select, textarea, optgroup, option, fieldset');
/** Parts beyond which browsers do not count the specificity of a selector alike. */
const MOST_COUNTED = 255;
/** Spaces at which linkedom divides classes, and browsers do not, as characters of a class. */
export const withoutOddSpaces = (text: string): string => text.replaceAll(/[^\S\t\n\f\r ]/g, '\ufffd');
/** In place of `class`: its words as browsers divide them, each between spaces. */
export const CLASSES = ' class';
const ALWAYS = parseSelector(':not(x-none)')[0]?.[0];
const NEVER = parseSelector(':is(x-none)')[0]?.[0];

/** Those that may match; none where the list cannot be read. Browsers drop a whole list for one selector that they do not know. */
function selectorsOf(list: string): readonly ReadSelector[] {
  try {
    // The parser knows these characters as escapes alone.
    const readable = list.replace(/\\?([\u0080-\u00af])/g, (_, one: string) => `\\${one.charCodeAt(0).toString(16)} `);
    const all = parseSelector(readable).map(readSelector);
    const isCertain = all.every((each) => each.isCertain);
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
  let count = 0;

  function decided(parts: readonly Selector[], isNegated: boolean): Selector[] {
    count += parts.length;
    return parts.flatMap((part, index): Selector[] => {
      if (part.type === SelectorType.Pseudo && Array.isArray(part.data)) {
        const data = part.data.map((each) => decided(each, part.name === 'not' ? !isNegated : isNegated));
        return DECIDED.test(part.name) ? [{ ...part, data }] : undecided(part.name, isNegated);
      }
      if (
        part.type === SelectorType.PseudoElement ||
        (part.type === SelectorType.Pseudo && ELEMENTS_OF_OLD.test(part.name))
      ) {
        pseudoElement = part.name;
        isCertain &&= KNOWN_PARTS.test(part.name) && parts === written && index === parts.length - 1;
        return [];
      }
      if (part.type === SelectorType.Attribute && part.action === AttributeAction.Element)
        return wordOf(part, isNegated);
      if (part.type === SelectorType.Attribute && part.name === 'class') return [wholeOf(part)];
      if (part.type !== SelectorType.Pseudo) return [part];
      if (/^(?:any-)?link$/.test(part.name)) return [{ ...part, name: 'is', data: LINKS }];
      const isRight = part.name.startsWith('nth-')
        ? /^(?:[\dn+ -]+|odd|even)$/i.test(String(part.data))
        : part.data === null;
      return isRight && DECIDED.test(part.name) ? [part] : undecided(part.name, isNegated);
    });
  }

  /** One of the words of an attribute, which css-select divides in another way than browsers. */
  function wordOf(part: AttributeSelector, isNegated: boolean): Selector[] {
    if (/^$|[\t\n\f\r ]/.test(part.value)) return NEVER === undefined ? [] : [NEVER];
    if (part.name === 'class')
      return [{ ...part, name: CLASSES, action: AttributeAction.Any, value: ` ${withoutOddSpaces(part.value)} ` }];
    return isNegated ? undecided('', true) : [{ ...part, action: AttributeAction.Exists }, ...undecided('', false)];
  }

  /** `class` as it is written is not known, only its words. */
  function wholeOf(part: AttributeSelector): Selector {
    isCertain &&= /^(?:exists|any)$/.test(part.action) && !part.value.includes(' ');
    const value = withoutOddSpaces(part.value).replace(/\s+/g, ' ');
    if (part.action === AttributeAction.Equals)
      return { ...part, value: [...new Set(value.trim().split(' '))].join(' ') };
    return { ...part, value: /^(?:exists|any|end)$/.test(part.action) ? value : value.trimStart() };
  }

  function undecided(name: string, isNegated: boolean): Selector[] {
    // Scripts define the elements of a page.
    if (name === 'defined') return ALWAYS === undefined ? [] : [ALWAYS];
    isCertain &&= NEVER_AT_REST.test(name) && !name.startsWith('-');
    if (/^(?:en|dis)abled$/.test(name) && !isNegated)
      return [{ type: SelectorType.Pseudo, name: 'is', data: CONTROLS }];
    const met = NEVER_AT_REST.test(name) || isNegated ? NEVER : ALWAYS;
    return met === undefined ? [] : [met];
  }

  const parts = decided(written, false);
  isCertain &&= count <= MOST_COUNTED;
  const last = parts.findLastIndex(isTraversal);
  // A pseudo-element may be all that stands behind the last space.
  const selector = last === parts.length - 1 && ALWAYS !== undefined ? [...parts, ALWAYS] : parts;
  return {
    selector,
    pseudoElement,
    needed: written.flatMap(nameOf),
    own: written.slice(written.findLastIndex(isTraversal) + 1).flatMap(nameOf),
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
  if (part.name === 'class' && part.action === AttributeAction.Element && part.ignoreCase !== true)
    return [`.${withoutOddSpaces(part.value)}`];
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

const WINDOW: ReadonlyMap<string, number> = new Map([
  ['width', 1_280],
  ['height', 720],
  ['device-width', 1_280],
  ['device-height', 720],
]);
/** Values of the features of media queries; the first one is that of the window. */
const FEATURES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    orientation: ['landscape', 'portrait'],
    hover: ['hover', 'none'],
    'any-hover': ['hover', 'none'],
    pointer: ['fine', 'coarse', 'none'],
    'any-pointer': ['fine', 'coarse', 'none'],
    'prefers-color-scheme': ['light', 'dark'],
    'prefers-reduced-motion': ['no-preference', 'reduce'],
    'prefers-contrast': ['no-preference', 'more', 'less', 'custom'],
    'forced-colors': ['none', 'active'],
    'display-mode': ['browser', 'minimal-ui', 'standalone', 'fullscreen', 'window-controls-overlay'],
    scripting: ['enabled', 'initial-only', 'none'],
    update: ['fast', 'slow', 'none'],
  }),
);

/** Decides a list of media queries for the window; `null` where that cannot be decided. */
export function mediaApplies(written: string): boolean | null {
  if (!isPlainText(written)) return null;
  const list = plain(written);
  const answers = new Set(list === '' ? [true] : list.split(',').map((each) => queryApplies(each.trim())));
  if (answers.has(true)) return true;
  return answers.has(null) ? null : false;
}

/** A media query of one kind that is certainly valid. */
const QUERY =
  /^(?:(?:(?:not|only) )?[a-z-]+(?: and \([^()]*\)|(?<=\))and \([^()]*\))*|\([^()]*\)(?: ?and \([^()]*\))*|not \([^()]*\))$/;
/** Kinds of devices that are no screens. */
const OTHER_TYPES = /^(?:print|speech|aural|braille|embossed|handheld|projection|tty|tv)$/;

function queryApplies(query: string): boolean | null {
  if (!QUERY.test(query)) return null;
  const isNegated = query.startsWith('not ');
  const parts = query.replace(/^(?:not|only) /, '').split(/(?: |(?<=\)))and /);
  const answers = new Set(
    parts.map((part) => {
      if (part.startsWith('(')) return featureApplies(part);
      if (part === 'all' || part === 'screen') return true;
      // Words such as `layer` are no types, and the query is none.
      return isNegated && !OTHER_TYPES.test(part) ? null : false;
    }),
  );
  const answer = answers.has(false) ? false : answers.has(null) ? null : true;
  return answer === null ? null : answer !== isNegated;
}

function featureApplies(feature: string): boolean | null {
  const [, bound, name = '', value] = /^\( ?(?:(min|max)-)?([a-z-]+)(?: ?: ?([\w.-]+))? ?\)$/.exec(feature) ?? [];
  if (bound !== undefined) {
    const [size, limit] = [WINDOW.get(name), mediaLength(value ?? '')];
    return size === undefined || limit === null ? null : bound === 'min' ? size >= limit : size <= limit;
  }
  const [answer, ...others] = FEATURES.get(name) ?? [];
  if (answer !== undefined)
    return value === undefined
      ? answer !== 'none' && answer !== 'no-preference'
      : answer === value || (others.includes(value) ? false : null);
  const [, left = '', sign = '', right = ''] = /^\( ?([\w.-]+) ?([<>]=?) ?([\w.-]+) ?\)$/.exec(feature) ?? [];
  const [a, b] = [WINDOW.get(left) ?? mediaLength(left), WINDOW.get(right) ?? mediaLength(right)];
  if (a === null || b === null || WINDOW.has(left) === WINDOW.has(right)) return null;
  return sign === '<' ? a < b : sign === '<=' ? a <= b : sign === '>' ? a > b : a >= b;
}

function mediaLength(value: string): number | null {
  return /^(?:0|(?:\d+|\d*\.\d+)(?:px|r?em))$/.test(value) ? pixels(value) : null;
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
