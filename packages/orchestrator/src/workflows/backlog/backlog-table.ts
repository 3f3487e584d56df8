/**
 * Reads the items of a backlog from the tables of a Markdown file, changes the status of one, and merges two changes of the
 * file. All other text stays as it is. Pure; takes linear time in the length of the text, for any text.
 */
import type { ProjectConfig } from '@autonomous/shared';
import { type Edit, firstFaults, lineEnd, markdownLines, quoted, withEdits } from './markdown-lines.ts';
import { type MarkdownTable, type TableRow, tablesIn, wordsOf } from './markdown-table.ts';
import { pathsInCell } from './spec-links.ts';

export const ITEM_STATUSES = ['queued', 'in_progress', 'blocked', 'done'] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

export interface BacklogItem {
  /** Unique in the backlog; letters and digits with `.`, `_`, `-` and `#`. */
  readonly id: string;
  /** Empty where the table has no such column. */
  readonly title: string;
  readonly status: ItemStatus;
  /** 0 is the most urgent; `null`: none is given, which comes last. */
  readonly priority: number | null;
  /** Line of its row in the file, from 1. */
  readonly line: number;
  /** Path of its spec as the row writes it, relative to the backlog's folder or to the repository; `null`: the row names none. */
  readonly specPath: string | null;
  /** Ids of items that have to be done before, in the order of the row, each once. */
  readonly dependsOn: readonly string[];
}

export interface Backlog {
  /** In the order of the file. */
  readonly items: readonly BacklogItem[];
}

/** Names of the columns, in any case. A table is part of the backlog when it has the columns of the id and of the status. */
export interface BacklogColumns {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly priority: string;
  /** Column with the link or path of the spec; where it names none, the other cells of the row are looked through. */
  readonly spec: string;
  readonly dependsOn: string;
  /**
   * Other words of statuses, such as `{ '🟢 done': 'done' }`. The first one of a status is written; name the status itself first
   * where others are only read: `{ blocked: 'blocked', draft: 'blocked' }`. Absent: the statuses alone.
   */
  readonly statusWords?: Readonly<Record<string, ItemStatus>>;
}

export const BACKLOG_COLUMNS: BacklogColumns = {
  id: 'ID',
  title: 'Title',
  status: 'Status',
  priority: 'Priority',
  spec: 'Spec',
  dependsOn: 'Depends on',
};

/** Other names of the column of dependencies, where the configuration names none. */
const DEPENDS_ON: readonly string[] = [BACKLOG_COLUMNS.dependsOn, 'Depends', 'Dependencies'];

export type ReadBacklog =
  | { readonly ok: true; readonly backlog: Backlog }
  /** Each fault is a sentence that names the line, the value and the way out. */
  | { readonly ok: false; readonly faults: readonly string[] };

/** Characters of a backlog, at most. */
export const MAX_BACKLOG_CHARACTERS = 1_000_000;
const LONGEST_TITLE = 500;

/**
 * Names of the columns as a project configures them.
 * @param project `null`: there is no configuration, or it is malformed
 */
export function columnsOf(project: Pick<ProjectConfig, 'backlog'> | null): BacklogColumns {
  const { columns = {}, statusWords } = project?.backlog ?? {};
  const names = COLUMNS.map((column) => [column, columns[column] ?? BACKLOG_COLUMNS[column]] as const);
  return {
    ...BACKLOG_COLUMNS,
    ...Object.fromEntries(names),
    ...(statusWords === undefined ? {} : { statusWords }),
  };
}

/** Reads all items. One fault in the file is enough that no item is given: a loop over half a backlog would do the wrong thing. */
export function readBacklog(text: string, columns: BacklogColumns): ReadBacklog {
  if (text.length > MAX_BACKLOG_CHARACTERS)
    return refused([
      `The backlog has ${text.length} characters; at most ${MAX_BACKLOG_CHARACTERS} are taken. Move finished items to another file.`,
    ]);
  const named = columnFaults(columns);
  if (named.length > 0) return refused(named);
  const { tables, others, unclosed } = backlogTables(text, columns);
  const faults = unclosed === null ? [] : [unclosed];
  if (tables.length === 0) return refused([...faults, noTable(others, columns)]);
  const read = tables.flatMap((table) => {
    faults.push(...tableFaults(table));
    return table.rows.filter(hasText).map((row) => itemOf(row, table, columns, faults));
  });
  const items = read.filter((item) => item !== null).sort((a, b) => a.line - b.line);
  faults.push(...duplicateFaults(items));
  if (faults.length === 0) faults.push(...dependencyFaults(items));
  if (faults.length === 0) faults.push(...circleFaults(items));
  return faults.length > 0 ? refused(faults) : { ok: true, backlog: { items } };
}

/** By priority, those without one last, then by their places in the file. */
export function byUrgency(items: readonly BacklogItem[]): readonly BacklogItem[] {
  const rank = ({ priority }: BacklogItem): number => priority ?? Number.MAX_SAFE_INTEGER;
  return items.toSorted((a, b) => rank(a) - rank(b) || a.line - b.line);
}

function refused(faults: readonly string[]): Extract<ReadBacklog, { ok: false }> {
  return { ok: false, faults: firstFaults(faults) };
}

// ---- tables

type Column = Exclude<keyof BacklogColumns, 'statusWords'>;
const COLUMNS = ['id', 'title', 'status', 'priority', 'spec', 'dependsOn'] as const satisfies readonly Column[];

interface BacklogTable extends MarkdownTable {
  /** Names of all its columns as they are written. */
  readonly names: readonly string[];
  /** The same, equal for columns of the same name in two versions of a file. */
  readonly keys: readonly string[];
  /** Index of each column that the configuration names. */
  readonly at: Readonly<Partial<Record<Column, number>>>;
  /** Names of columns, in quotes, of which there are several for one thing. */
  readonly doubled: readonly string[];
}

function backlogTables(text: string, columns: BacklogColumns) {
  const { lines, unclosed } = markdownLines(text);
  const all = tablesIn(lines).map((table) => withColumns(table, columns));
  const isBacklog = ({ at }: BacklogTable): boolean => at.id !== undefined && at.status !== undefined;
  return { tables: all.filter(isBacklog), others: all.filter((table) => !isBacklog(table)), unclosed };
}

/** One column cannot hold two things. */
function columnFaults(columns: BacklogColumns): string[] {
  const byName = Map.groupBy(COLUMNS, (column) => foldedName(columns[column]));
  return [...byName.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined || same.length === 1
      ? []
      : [
          `The column ${quoted(columns[first])} is named for ${same.join(' and ')}. Give each a column of its own: backlog.columns of .autonomous/config.json.`,
        ];
  });
}

function withColumns(table: MarkdownTable, columns: BacklogColumns): BacklogTable {
  const names = table.header.cells.map(({ raw }) => wordsOf(raw).text);
  const folded = names.map(foldedName);
  const at: Partial<Record<Column, number>> = {};
  const doubled: string[] = [];
  for (const column of COLUMNS) {
    const wanted = namesOf(column, columns);
    const found = folded.flatMap((name, index) => (name !== '' && wanted.has(name) ? [index] : []));
    const [index] = found;
    if (index === undefined) continue;
    at[column] = index;
    if (found.length > 1) doubled.push([...new Set(found.map((each) => names[each] ?? ''))].map(quoted).join(' and '));
  }
  return { ...table, names, keys: uniqueKeys(folded), at, doubled };
}

/** Names of a column, folded. */
function namesOf(column: Column, columns: BacklogColumns): ReadonlySet<string> {
  const own = foldedName(columns[column]);
  if (column !== 'dependsOn' || own !== foldedName(BACKLOG_COLUMNS.dependsOn)) return new Set([own]);
  const others = new Set(COLUMNS.filter((each) => each !== column).map((each) => foldedName(columns[each])));
  return new Set(DEPENDS_ON.map(foldedName).filter((name) => !others.has(name)));
}

function foldedName(name: string): string {
  return name.normalize('NFC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}

/** Columns of one name are told apart by their order. */
function uniqueKeys(folded: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  return folded.map((name) => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return `${count} ${name}`;
  });
}

function noTable(others: readonly BacklogTable[], { id, status }: BacklogColumns): string {
  const found = others
    .slice(0, 3)
    .map(({ header, names }) => `that in line ${header.line.number} has ${names.slice(0, 8).map(quoted).join(', ')}`);
  const tables = found.length === 0 ? '' : ` (${found.join('; ')})`;
  return `No table of the file has the columns ${quoted(id)} and ${quoted(status)}${tables}. Add such a table, or name its columns in backlog.columns of .autonomous/config.json.`;
}

function tableFaults({ header, doubled, uneven }: BacklogTable): string[] {
  const { number } = header.line;
  const count = header.cells.length;
  return [
    ...doubled.map((name) => `Line ${number}: the table has several columns ${name}; give each a name of its own.`),
    ...uneven.map(
      ({ line, cells }) =>
        `Line ${line.number}: the row ${quoted(line.text.trim())} has ${cells.length} cells, and its table has ${count} columns (line ${number}). Write '\\|' for a pipe in a cell, and leave an empty line between a table and other text.`,
    ),
  ];
}

function hasText({ cells }: TableRow): boolean {
  return cells.some(({ raw }) => raw.trim() !== '');
}

// ---- items

const ID = /^[\p{L}\p{N}#][\p{L}\p{N}._#-]{0,99}$/u;
const NOTHING = new Set(['', '-', '–', '—', 'none', 'n/a']);

function itemOf(row: TableRow, table: BacklogTable, columns: BacklogColumns, faults: string[]): BacklogItem | null {
  const line = row.line.number;
  const cell = (column: Column): string => rawOf(row, table, column);
  const words = (column: Column): string => wordsOf(cell(column)).text;
  const id = words('id');
  if (id === '') {
    faults.push(
      `Line ${line}: the row ${quoted(row.line.text.trim())} has no id; write one in the column ${quoted(columns.id)}.`,
    );
    return null;
  }
  if (!ID.test(id)) {
    faults.push(
      `Line ${line}: the id ${quoted(id)} is invalid; use at most 100 letters, digits and . _ - #, without spaces.`,
    );
    return null;
  }
  const status = statusOf(words('status'), columns);
  if (status === null)
    faults.push(
      `Line ${line}: the status ${quoted(words('status'))} of ${id} is unknown; write ${statusChoice(columns)}.`,
    );
  const priority = priorityOf(words('priority'));
  if (priority === undefined)
    faults.push(
      `Line ${line}: the priority ${quoted(words('priority'))} of ${id} is unknown; write P0, P1 and so on, or leave the cell empty.`,
    );
  return {
    id,
    title: words('title').slice(0, LONGEST_TITLE),
    status: status ?? 'queued',
    priority: priority ?? null,
    line,
    specPath: specPathOf(row, table),
    dependsOn: idsIn(cell('dependsOn')),
  };
}

function rawOf(row: TableRow, table: BacklogTable, column: Column): string {
  const index = table.at[column];
  return index === undefined ? '' : (row.cells[index]?.raw ?? '');
}

/** Words of an item's status cell, whatever they are; `null`: there is not exactly one row of the item. */
export function statusWordsOf(text: string, columns: BacklogColumns, id: string): string | null {
  const { tables } = backlogTables(text, columns);
  const [cell, ...others] = tables.flatMap((table) =>
    rowsWithId(table, id).map((row) => wordsOf(rawOf(row, table, 'status')).text),
  );
  return cell === undefined || others.length > 0 ? null : cell;
}

/** Why the row of an item may be there and cannot be read, or is not the only one; none: there is no such row. */
export function rowFaults(text: string, columns: BacklogColumns, id: string): readonly string[] {
  const { tables, others, unclosed } = backlogTables(text, columns);
  const rows = tables.flatMap((table) => rowsWithId(table, id));
  return firstFaults([
    ...(unclosed === null ? [] : [unclosed]),
    ...(tables.length === 0 ? [noTable(others, columns)] : []),
    ...tables.flatMap(tableFaults),
    ...(rows.length > 1 ? [severalRows(id, rows)] : []),
  ]);
}

/** @returns `null` for other words */
export function statusOf(words: string, { statusWords = {} }: Pick<BacklogColumns, 'statusWords'>): ItemStatus | null {
  const plain = ITEM_STATUSES.find((status) => status === words);
  return plain ?? (Object.hasOwn(statusWords, words) ? (statusWords[words] ?? null) : null);
}

function statusChoice({ statusWords = {} }: BacklogColumns): string {
  return `${[...ITEM_STATUSES, ...Object.keys(statusWords)].map(quoted).join(', ')}, or name the word in backlog.statusWords of .autonomous/config.json`;
}

/** @returns `null` where none is given, `undefined` for other words */
export function priorityOf(words: string): number | null | undefined {
  if (NOTHING.has(words.toLowerCase())) return null;
  const digits = /^P(\d{1,4})$/i.exec(words)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** The spec's own column counts first, then the id's, then the title's; of the other cells, a path that is the only one. */
function specPathOf(row: TableRow, table: BacklogTable): string | null {
  for (const column of ['spec', 'id', 'title'] as const) {
    const [path] = pathsInCell(rawOf(row, table, column));
    if (path !== undefined) return path;
  }
  const others = row.cells.filter((_, index) => index !== table.at.dependsOn).flatMap(({ raw }) => pathsInCell(raw));
  const [only, ...more] = new Set(others);
  return only !== undefined && more.length === 0 ? only : null;
}

function idsIn(raw: string): readonly string[] {
  const text = raw
    .replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replaceAll(/<br ?\/?>|&|\\(?=[_#*-])/gi, ' ')
    .replaceAll(/[*`~[\]]/g, ' ');
  const words = text.split(/[\s,;]+/).filter((word) => !NOTHING.has(word.toLowerCase()) && word !== 'and');
  return [...new Set(words)];
}

function duplicateFaults(items: readonly BacklogItem[]): string[] {
  const lines = new Map<string, number>();
  return items.flatMap(({ id, line }) => {
    const first = lines.get(id);
    if (first === undefined) lines.set(id, line);
    return first === undefined
      ? []
      : [`Line ${line}: the id '${id}' is in line ${first} already; give each item an id of its own.`];
  });
}

function dependencyFaults(items: readonly BacklogItem[]): string[] {
  const known = new Set(items.map(({ id }) => id));
  return items.flatMap(({ id, line, dependsOn }) =>
    dependsOn.flatMap((other) => {
      if (other === id) return [`Line ${line}: ${id} depends on itself; take that out.`];
      return known.has(other)
        ? []
        : [
            `Line ${line}: ${id} depends on ${quoted(other)}, which the backlog does not have; write ids of its items, or leave the cell empty.`,
          ];
    }),
  );
}

function circleFaults(items: readonly BacklogItem[]): string[] {
  const left = itemsInCircles(items);
  const [first] = left.values();
  if (first === undefined) return [];
  const way = new Map<string, BacklogItem>();
  let at: BacklogItem | undefined = first;
  while (at !== undefined && !way.has(at.id)) {
    way.set(at.id, at);
    const other: string | undefined = at.dependsOn.find((id) => left.has(id));
    at = other === undefined ? undefined : left.get(other);
  }
  const met = at ?? first;
  const ids = [...way.keys()];
  const circle = [...ids.slice(ids.indexOf(met.id)), met.id];
  const shown = circle.length > 12 ? [...circle.slice(0, 10), '…', ...circle.slice(-1)] : circle;
  return [
    `Line ${met.line}: items depend on each other in a circle: ${shown.join(' → ')}. Take one of these dependencies out.`,
  ];
}

/** Items that are never free, because they are in a circle or depend on one. */
function itemsInCircles(items: readonly BacklogItem[]): Map<string, BacklogItem> {
  const left = new Map(items.map((item) => [item.id, item]));
  const waiting = new Map(items.map(({ id, dependsOn }) => [id, dependsOn.length]));
  const dependants = new Map<string, string[]>();
  for (const { id } of items) dependants.set(id, []);
  for (const { id, dependsOn } of items) for (const other of dependsOn) dependants.get(other)?.push(id);
  const free = items.filter(({ dependsOn }) => dependsOn.length === 0).map(({ id }) => id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    left.delete(id);
    for (const dependant of dependants.get(id) ?? []) {
      const count = (waiting.get(dependant) ?? 0) - 1;
      waiting.set(dependant, count);
      if (count === 0) free.push(dependant);
    }
  }
  return left;
}

// ---- changes

export type ChangedBacklog =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly faults: readonly string[] };

/**
 * Changes the status cell of one item and keeps every other byte. A column that is padded to one width stays so where the word
 * fits. Faults of other rows do not matter.
 */
export function withStatus(text: string, columns: BacklogColumns, id: string, status: ItemStatus): ChangedBacklog {
  const { tables } = backlogTables(text, columns);
  const rows = tables.flatMap((table) => rowsWithId(table, id).map((row) => ({ table, row })));
  const [first] = rows;
  if (first === undefined)
    return refused([`The backlog has no row of the item ${quoted(id)}; add it, or choose another item.`]);
  if (rows.length > 1)
    return refused([
      severalRows(
        id,
        rows.map(({ row }) => row),
      ),
    ]);
  const index = first.table.at.status ?? 0;
  const raw = first.row.cells[index]?.raw ?? '';
  const { text: now, start, end } = wordsOf(raw);
  if (statusOf(now, columns) === status) return { ok: true, text };
  const cell = `${raw.slice(0, start)}${wordOf(status, columns)}${raw.slice(end)}`.trim();
  return { ok: true, text: withEdits(text, [cellEdit(first.table, first.row, index, cell)]) };
}

function severalRows(id: string, rows: readonly TableRow[]): string {
  const lines = rows.map(({ line }) => line.number).slice(0, 5);
  return `The id ${quoted(id)} is in the lines ${lines.join(', ')}; give each item an id of its own.`;
}

function rowsWithId(table: BacklogTable, id: string): readonly TableRow[] {
  return table.rows.filter((row) => wordsOf(rawOf(row, table, 'id')).text === id);
}

function wordOf(status: ItemStatus, { statusWords = {} }: BacklogColumns): string {
  return Object.keys(statusWords).find((word) => statusWords[word] === status) ?? status;
}

/** @param value of the cell, without padding */
function cellEdit(table: BacklogTable, row: TableRow, index: number, value: string): Edit {
  const { raw = '', start = row.line.end } = row.cells[index] ?? {};
  const before = raw.trim() === '' ? (raw === '' ? '' : ' ') : raw.slice(0, raw.length - raw.trimStart().length);
  const after = raw.trim() === '' ? before : raw.slice(raw.trimEnd().length);
  const isPadded = after.length > 1 || isOneWidth(table, index);
  const room = raw.length - before.length - value.length;
  const least = Math.min(after.length, 1);
  const padding = isPadded ? ' '.repeat(Math.max(room, least)) : after;
  return { start, end: start + raw.length, text: `${before}${value}${padding}` };
}

function isOneWidth({ header, alignment, rows }: BacklogTable, index: number): boolean {
  const widths = new Set([header, alignment, ...rows].map(({ cells }) => cells[index]?.raw.length));
  return widths.size === 1;
}

// ---- merge

/** A cell that both sides changed, each in its own way. */
export interface CellConflict {
  readonly id: string;
  /** Name of the column as the file writes it. */
  readonly column: string;
  /** Markdown of the cell; `null`: the side has no such row or column. */
  readonly ours: string | null;
  readonly theirs: string | null;
}

export interface MergedBacklogs {
  /** Where there are conflicts, it has their side of each and must not be stored before they are decided. */
  readonly text: string;
  readonly conflicts: readonly CellConflict[];
}

/**
 * Merges two changes of a backlog by row and cell. Rows belong together by their ids, wherever they stand; their order and all
 * text around the tables is that of `theirs`. A row that one side removed and the other changed is a conflict of each changed
 * cell. Padding is no change, and an empty cell is the same as a column that is not there.
 */
export function mergeBacklogs(base: string, ours: string, theirs: string, columns: BacklogColumns): MergedBacklogs {
  const before = rowsById(base, columns);
  const own = rowsById(ours, columns);
  const other = rowsById(theirs, columns);
  const merged = [...new Set([...other.rows.keys(), ...own.rows.keys()])].map((id) => {
    const [was, mine, found] = [before.rows.get(id), own.rows.get(id), other.rows.get(id)];
    if (mine !== undefined && found !== undefined) return mergedRow(id, was, mine, found);
    if (mine !== undefined) return was === undefined ? insertedRow(id, mine, own, other) : removedByThem(id, was, mine);
    return was === undefined || found === undefined ? NO_CHANGE : removedByUs(id, was, found, other);
  });
  return {
    text: withEdits(
      theirs,
      merged.flatMap(({ edits }) => edits),
    ),
    conflicts: merged.flatMap(({ conflicts }) => conflicts),
  };
}

interface MergeRow {
  readonly table: BacklogTable;
  readonly row: TableRow;
  /** Trimmed cells by the key of their column. */
  readonly cells: ReadonlyMap<string, string>;
  /** Other rows have the same id. */
  readonly isAmbiguous: boolean;
}

interface MergeSide {
  readonly text: string;
  readonly tables: readonly BacklogTable[];
  readonly rows: ReadonlyMap<string, MergeRow>;
}

interface MergedRow {
  readonly edits: readonly Edit[];
  readonly conflicts: readonly CellConflict[];
}

const NO_CHANGE: MergedRow = { edits: [], conflicts: [] };

function rowsById(text: string, columns: BacklogColumns): MergeSide {
  const { tables } = backlogTables(text, columns);
  const rows = new Map<string, MergeRow>();
  for (const table of tables)
    for (const row of table.rows) {
      const id = wordsOf(rawOf(row, table, 'id')).text;
      if (id === '') continue;
      const cells = new Map(row.cells.map(({ raw }, index) => [table.keys[index] ?? '', raw.trim()]));
      const known = rows.get(id);
      rows.set(id, known === undefined ? { table, row, cells, isAmbiguous: false } : { ...known, isAmbiguous: true });
    }
  return { text, tables, rows };
}

function mergedRow(id: string, was: MergeRow | undefined, ours: MergeRow, theirs: MergeRow): MergedRow {
  const edits: Edit[] = [];
  const conflicts: CellConflict[] = [];
  for (const key of keysOf(theirs, ours)) {
    const [before, own, other] = [cellOf(was, key), cellOf(ours, key), cellOf(theirs, key)];
    if (own === before || own === other) continue;
    const index = theirs.table.keys.indexOf(key);
    if (other === before && index !== -1 && !theirs.isAmbiguous)
      edits.push(cellEdit(theirs.table, theirs.row, index, own));
    else conflicts.push(conflict(id, key, ours, theirs));
  }
  return { edits, conflicts };
}

function removedByThem(id: string, was: MergeRow, ours: MergeRow): MergedRow {
  const changed = keysOf(ours, was).filter((key) => cellOf(ours, key) !== cellOf(was, key));
  return { edits: [], conflicts: changed.map((key) => conflict(id, key, ours, undefined)) };
}

function removedByUs(id: string, was: MergeRow, theirs: MergeRow, { text }: MergeSide): MergedRow {
  const keys = keysOf(theirs, was);
  const changed = theirs.isAmbiguous ? keys : keys.filter((key) => cellOf(theirs, key) !== cellOf(was, key));
  return changed.length === 0
    ? { edits: [lineRemoval(theirs.row, text)], conflicts: [] }
    : { edits: [], conflicts: changed.map((key) => conflict(id, key, undefined, theirs)) };
}

/** A new row goes behind the row that it stands behind in `ours`; without one, before the next, or to the end of a table. */
function insertedRow(id: string, ours: MergeRow, own: MergeSide, other: MergeSide): MergedRow {
  const place = placeIn(other, ours, own);
  const lost = keysOf(ours).filter((key) => cellOf(ours, key) !== '' && place?.table.keys.includes(key) !== true);
  if (place === null || lost.length > 0)
    return { edits: [], conflicts: lost.map((key) => conflict(id, key, ours, undefined)) };
  const isSameForm = place.table.keys.join('|') === ours.table.keys.join('|');
  const cells = place.table.keys.map((key) => cellOf(ours, key));
  const line = isSameForm ? ours.row.line.text : `| ${cells.join(' | ')} |`;
  const eol = lineEnd(other.text);
  return {
    edits: [{ start: place.at, end: place.at, text: place.isBefore ? `${line}${eol}` : `${eol}${line}` }],
    conflicts: [],
  };
}

interface InsertPlace {
  readonly table: BacklogTable;
  readonly at: number;
  /** The new row goes before the line that begins there, not behind the line that ends there. */
  readonly isBefore: boolean;
}

function placeIn(other: MergeSide, ours: MergeRow, own: MergeSide): InsertPlace | null {
  const { rows } = ours.table;
  const index = rows.indexOf(ours.row);
  const known = (row: TableRow): MergeRow | undefined => other.rows.get(wordsOf(rawOf(row, ours.table, 'id')).text);
  const before = rows.slice(0, index).findLast((row) => known(row) !== undefined);
  const previous = before === undefined ? undefined : known(before);
  if (previous !== undefined) return { table: previous.table, at: previous.row.line.end, isBefore: false };
  const after = rows.slice(index + 1).find((row) => known(row) !== undefined);
  const next = after === undefined ? undefined : known(after);
  if (next !== undefined) return { table: next.table, at: next.row.line.start, isBefore: true };
  const table = other.tables[own.tables.indexOf(ours.table)] ?? other.tables.at(-1);
  if (table === undefined) return null;
  return { table, at: (table.rows.at(-1) ?? table.alignment).line.end, isBefore: false };
}

function keysOf(...rows: readonly MergeRow[]): readonly string[] {
  return [...new Set(rows.flatMap(({ cells }) => [...cells.keys()]))];
}

function cellOf(row: MergeRow | undefined, key: string): string {
  return row?.cells.get(key) ?? '';
}

function conflict(id: string, key: string, ours: MergeRow | undefined, theirs: MergeRow | undefined): CellConflict {
  const table = (theirs?.cells.has(key) === true ? theirs : (ours ?? theirs))?.table;
  const column = table?.names[table.keys.indexOf(key)] ?? key;
  return { id, column, ours: ours?.cells.get(key) ?? null, theirs: theirs?.cells.get(key) ?? null };
}

/** The line with its end; for the last line of a file, with the end of the line before. */
function lineRemoval({ line: { start, end } }: TableRow, text: string): Edit {
  const ending = (at: number): number => (text.startsWith('\r\n', at) ? 2 : 1);
  if (end < text.length) return { start, end: end + ending(end), text: '' };
  return { start: start - (start >= 2 ? ending(start - 2) : 0), end, text: '' };
}
