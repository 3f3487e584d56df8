/**
 * JSON that is written in the layout of the text that it was read from: lines that did not change stay, but for spaces of one's own within
 * a line.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Node, parseTree } from 'jsonc-parser';

const DEFAULT_INDENT = '  ';

/**
 * A value as JSON, in the indentation, line ends and order of fields of `source`. New fields come last. Elements of a list are taken for the
 * same ones by their `id`, else by their place. Fields that are `undefined` are left out.
 * @param source valid JSON, nested as deep as the stack allows; `null`: there is none, and two spaces are used
 */
export function writeLike(value: unknown, source: string | null): string {
  if (source === null) return `${JSON.stringify(value, null, DEFAULT_INDENT)}\n`;
  const text = withoutMark(source);
  const root = parseTree(text);
  if (root === undefined) throw new Error('the text to write like is not JSON');
  const place: Place = { node: root, was: JSON.parse(text) };
  const written = new Writer(text, root).render(value, place, { depth: 0, isInline: false });
  const mark = source.slice(0, source.length - text.length);
  return `${mark}${text.slice(0, root.offset)}${written}${text.slice(root.offset + root.length)}`;
}

/** Ways to the fields that stand more than once in one object, each named once. @param source valid JSON */
export function repeatedKeys(source: string): readonly (readonly (string | number)[])[] {
  const root = parseTree(withoutMark(source));
  return root === undefined ? [] : repeatedIn(root, []);
}

function withoutMark(source: string): string {
  return source.startsWith('\ufeff') ? source.slice(1) : source;
}

function repeatedIn(node: Node, way: readonly (string | number)[]): (readonly (string | number)[])[] {
  if (node.type === 'array') return childrenOf(node).flatMap((child, index) => repeatedIn(child, [...way, index]));
  if (node.type !== 'object') return [];
  const counts = new Map<string, number>();
  return membersOf(node).flatMap(([key, child]) => {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const inside = repeatedIn(child, [...way, key]);
    return count === 2 ? [[...way, key], ...inside] : inside;
  });
}

/** A value of the text. */
interface Place {
  readonly node: Node;
  readonly was: unknown;
}

interface Position {
  readonly depth: number;
  /** Does everything around stand in one line? */
  readonly isInline: boolean;
}

class Writer {
  private readonly text: string;
  private readonly indent: string;
  private readonly newline: string;
  private readonly gap: string;

  constructor(text: string, root: Node) {
    this.text = text;
    this.newline = text.includes('\r\n') ? '\r\n' : '\n';
    this.indent = indentOf(text, root);
    this.gap = isCompact(text, root) ? '' : ' ';
  }

  render(value: unknown, place: Place | undefined, position: Position): string {
    if (place !== undefined && isDeepStrictEqual(value, place.was)) return this.textOf(place.node);
    const isInline = this.isInline(place, position);
    const inside = { depth: position.depth + 1, isInline };
    const layout = { place, position, isInline };
    if (Array.isArray(value)) {
      const elements = elementPlaces(value, place);
      return this.bracketed(
        '[]',
        value.map((element: unknown, index) => this.render(element, elements[index], inside)),
        layout,
      );
    }
    if (!isObject(value)) return JSON.stringify(value);
    const members = memberPlaces(place);
    const entries = keysInOrder(value, members).map(
      (key) => `${JSON.stringify(key)}:${this.gap}${this.render(value[key], members.get(key), inside)}`,
    );
    return this.bracketed('{}', entries, layout);
  }

  private textOf(node: Node): string {
    return this.text.slice(node.offset, node.offset + node.length);
  }

  /** A list or an object that stood in one line stays in one line. */
  private isInline(place: Place | undefined, position: Position): boolean {
    if (position.isInline) return true;
    const hasEntries = place !== undefined && childrenOf(place.node).length > 0;
    return hasEntries && !this.textOf(place.node).includes('\n');
  }

  private bracketed(
    brackets: '[]' | '{}',
    entries: readonly string[],
    {
      place,
      position,
      isInline,
    }: { readonly place: Place | undefined; readonly position: Position; readonly isInline: boolean },
  ): string {
    const [open = '', close = ''] = brackets;
    if (entries.length === 0) return brackets;
    if (isInline) {
      const isPadded = place !== undefined && this.text[place.node.offset + 1] === ' ';
      const padding = isPadded ? ' ' : '';
      return `${open}${padding}${entries.join(`,${this.gap}`)}${padding}${close}`;
    }
    const outer = this.newline + this.indent.repeat(position.depth);
    return `${open}${entries.map((entry) => `${outer}${this.indent}${entry}`).join(',')}${outer}${close}`;
  }
}

/** White space before the first entry of the whole. */
function indentOf(text: string, root: Node): string {
  const [first] = childrenOf(root);
  if (first === undefined) return DEFAULT_INDENT;
  const before = text.slice(root.offset + 1, first.offset);
  const lineStart = before.lastIndexOf('\n');
  return lineStart === -1 ? DEFAULT_INDENT : before.slice(lineStart + 1);
}

/** Is there no space after the first colon, or without one after the first comma? */
function isCompact(text: string, root: Node): boolean {
  const [first, second] = childrenOf(root);
  const [key, value] = childrenOf(first);
  if (first?.type === 'property' && key !== undefined && value !== undefined)
    return value.offset === key.offset + key.length + 1;
  return first !== undefined && second !== undefined && text[second.offset - 1] === ',';
}

function elementPlaces(value: readonly unknown[], place: Place | undefined): readonly (Place | undefined)[] {
  const was = place !== undefined && Array.isArray(place.was) ? (place.was as readonly unknown[]) : []; // any list is one
  const nodes = childrenOf(place?.node);
  const byId = new Map<unknown, number>(was.flatMap((element, index) => entryOf(idOf(element), index)));
  return value.map((element, index) => {
    const id = idOf(element);
    const at = id === undefined ? index : (byId.get(id) ?? -1);
    const node = nodes[at];
    return node === undefined || was.length !== nodes.length ? undefined : { node, was: was[at] };
  });
}

function entryOf(id: string | undefined, index: number): [string, number][] {
  return id === undefined ? [] : [[id, index]];
}

function idOf(value: unknown): string | undefined {
  const id = isObject(value) ? value['id'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

function memberPlaces(place: Place | undefined): ReadonlyMap<string, Place> {
  if (place?.node.type !== 'object' || !isObject(place.was)) return new Map();
  const { was } = place;
  return new Map(membersOf(place.node).map(([key, node]) => [key, { node, was: was[key] }]));
}

function keysInOrder(value: Readonly<Record<string, unknown>>, before: ReadonlyMap<string, Place>): readonly string[] {
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  const has = new Set(keys);
  return [...[...before.keys()].filter((key) => has.has(key)), ...keys.filter((key) => !before.has(key))];
}

function membersOf(object: Node): readonly (readonly [string, Node])[] {
  return childrenOf(object).flatMap(({ children: [key, value] = [] }) =>
    key === undefined || value === undefined ? [] : [[String(key.value), value] as const],
  );
}

function childrenOf(node: Node | undefined): readonly Node[] {
  return node?.children ?? [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
