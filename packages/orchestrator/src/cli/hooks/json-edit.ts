/** Adds entries to JSON with comments and takes them out again. Nothing else of the text changes: comments stay beside their entries. */
import { createScanner, findNodeAtLocation, type JSONPath, type Node, parseTree } from 'jsonc-parser';

const DEFAULT_INDENT = '  ';

/**
 * Adds an entry at the end of a list or an object.
 * @param text JSON; comments and commas after last entries may stand in it
 * @param way to the list or object
 * @param key `null` in a list
 */
export function withEntry(text: string, way: JSONPath, key: string | null, value: unknown): string {
  const root = rootOf(text);
  const container = nodeAt(root, way);
  const entries = container.children ?? [];
  const inside = insideOf(text, container);
  const isInline = !inside.includes('\n') && (entries.length > 0 || isOneLine(text, root));
  const layout = layoutOf(text, root, way.length);
  const name = key === null ? '' : `${JSON.stringify(key)}: `;
  if (isInline) {
    const entry = `${name}${JSON.stringify(value)}`;
    const last = entries.at(-1);
    return last === undefined ? inserted(text, container.offset + 1, entry) : inserted(text, endOf(last), `, ${entry}`);
  }
  const lines = JSON.stringify(value, null, layout.unit).replaceAll('\n', layout.newline + layout.inner);
  return withLines(text, container, `${layout.newline}${layout.inner}${name}${lines}`, layout);
}

/** Takes out an entry that is there, with its comma. @param way to the entry */
export function withoutEntry(text: string, way: JSONPath): string {
  const value = nodeAt(rootOf(text), way);
  const entry = value.parent?.type === 'property' ? value.parent : value;
  const container = entry.parent;
  if (container === undefined) throw new Error('the whole text is no entry');
  const entries = container.children ?? [];
  const before = entries[entries.indexOf(entry) - 1];
  if (entries.length === 1 && isBlankAround(text, container, entry))
    return spliced(text, container.offset + 1, container.offset + container.length - 1, '');
  const comma = commaAfter(text, entry);
  const cut = withoutRange(text, entry.offset, comma === null ? endOf(entry) : comma + 1);
  const commaBefore = comma === null && before !== undefined ? commaAfter(text, before) : null;
  return commaBefore === null ? cut : spliced(cut, commaBefore, commaBefore + 1, '');
}

/** @param value a text, number or truth value */
export function withValue(text: string, way: JSONPath, value: unknown): string {
  const node = nodeAt(rootOf(text), way);
  return spliced(text, node.offset, endOf(node), JSON.stringify(value));
}

interface Layout {
  readonly newline: string;
  readonly unit: string;
  /** Before the entries of the container. */
  readonly inner: string;
  /** Before its closing bracket. */
  readonly outer: string;
}

function layoutOf(text: string, root: Node, depth: number): Layout {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const [first] = root.children ?? [];
  const before = first === undefined ? '' : text.slice(root.offset + 1, first.offset);
  const lineStart = before.lastIndexOf('\n');
  const white = lineStart === -1 ? '' : before.slice(lineStart + 1);
  const unit = white.trim() === '' && white !== '' ? white : DEFAULT_INDENT;
  return { newline, unit, inner: unit.repeat(depth + 1), outer: unit.repeat(depth) };
}

function withLines(text: string, container: Node, lines: string, { newline, outer }: Layout): string {
  const inside = insideOf(text, container);
  const at = container.offset + 1 + inside.trimEnd().length;
  const last = container.children?.at(-1);
  const isClosedBelow = text.slice(at, container.offset + container.length).includes('\n');
  const end = isClosedBelow ? '' : `${newline}${outer}`;
  if (last === undefined) return inserted(text, at, `${lines}${end}`);
  // A text with a comma after its last entries keeps to that.
  if (commaAfter(text, last) !== null) return inserted(text, at, `${lines},${end}`);
  return inserted(inserted(text, at, `${lines}${end}`), endOf(last), ',');
}

/** Takes the white space before the range along, unless a comment in the line above would swallow what follows. */
function withoutRange(text: string, start: number, end: number): string {
  const from = text.slice(0, start).trimEnd().length;
  const rest = text.slice(end);
  const whiteAfter = rest.slice(0, rest.length - rest.trimStart().length);
  const joinsLines = text.slice(from, start).includes('\n') && !whiteAfter.includes('\n');
  return spliced(text, joinsLines ? start : from, end, '');
}

/** Offset of the comma behind an entry, comments between them left aside; `null`: there is none. */
function commaAfter(text: string, entry: Node): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(endOf(entry));
  scanner.scan();
  return text.charAt(scanner.getTokenOffset()) === ',' ? scanner.getTokenOffset() : null;
}

function isBlankAround(text: string, container: Node, entry: Node): boolean {
  const before = text.slice(container.offset + 1, entry.offset);
  const after = text.slice(endOf(entry), container.offset + container.length - 1);
  return before.trim() === '' && (after.trim() === '' || after.trim() === ',');
}

function isOneLine(text: string, root: Node): boolean {
  return (root.children ?? []).length > 0 && !insideOf(text, root).includes('\n');
}

function insideOf(text: string, { offset, length }: Node): string {
  return text.slice(offset + 1, offset + length - 1);
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function inserted(text: string, offset: number, addition: string): string {
  return spliced(text, offset, offset, addition);
}

function spliced(text: string, start: number, end: number, replacement: string): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function rootOf(text: string): Node {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new Error('the text is not JSON');
  return root;
}

function nodeAt(root: Node, way: JSONPath): Node {
  const node = findNodeAtLocation(root, way);
  if (node === undefined) throw new Error(`the text has nothing at ${way.join('.')}`);
  return node;
}
