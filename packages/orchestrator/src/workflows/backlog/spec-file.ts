/**
 * Reads a spec in Markdown: its header, the files that a change may touch, and the environment that it needs. Changes its
 * header's status and its log, and keeps every other byte. Pure; takes linear time in the length of the text, for any text.
 */
import type { AllowedFiles } from '@autonomous/shared';
import { inline } from '../../documents/quoted-markdown.ts';
import { pathFault } from '../../repository/repository-paths.ts';
import { type ItemStatus, priorityOf, statusOf } from './backlog-table.ts';
import {
  firstFaults,
  headingAt,
  isListItem,
  isRuler,
  lineEnd,
  type MarkdownLine,
  markdownLines,
  quoted,
  withEdits,
} from './markdown-lines.ts';
import { codeSpans, tablesIn, wordsOf } from './markdown-table.ts';

/**
 * Paths are relative to the repository. A path names a file, or a folder with all below it. `*` stands for any characters of one
 * name, and one name may be `**`, any number of folders.
 */
export interface Spec {
  /** Its first heading of the highest level; `null`: it has none. */
  readonly title: string | null;
  /** Of its header; `null`: it has none. */
  readonly status: ItemStatus | null;
  /** Of its header, 0 is the most urgent; `null`: it has none. */
  readonly priority: number | null;
  /** Files that may be changed; `null`: the section is missing, so that nothing is limited. */
  readonly allowedFiles: readonly string[] | null;
  /** Files that may be added. */
  readonly newFiles: readonly string[];
  /** Paths that are forbidden by name, also where another path includes them. */
  readonly forbiddenFiles: readonly string[];
  /** Such as `{ nodejs: 'false' }`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Each is a sentence that names the line, the value and the way out. A path with a fault allows nothing. */
  readonly faults: readonly string[];
}

/** Characters of a spec, at most. */
export const MAX_SPEC_CHARACTERS = 500_000;
const LONGEST_TITLE = 200;

export function readSpec(text: string): Spec {
  if (text.length > MAX_SPEC_CHARACTERS) return tooLong(text);
  const { lines, unclosed } = markdownLines(text);
  const faults = unclosed === null ? [] : [unclosed];
  const header = headerOf(lines, faults);
  const files = filesOf(lines, faults);
  const environment = environmentOf(lines, faults);
  return { title: titleOf(lines), ...header, ...files, environment, faults: firstFaults(faults) };
}

/** The files that a run for a spec may change, as a parent names them to its child run; none: all. */
export function limitsOf({
  allowedFiles,
  newFiles,
  forbiddenFiles,
}: Pick<Spec, FileList>): readonly [AllowedFiles] | readonly [] {
  if (allowedFiles === null) return [];
  const forbidden = forbiddenFiles.length === 0 ? {} : { forbidden: [...forbiddenFiles] };
  return [{ changes: [...allowedFiles], newFiles: [...newFiles], ...forbidden }];
}

function tooLong(text: string): Spec {
  return {
    title: null,
    status: null,
    priority: null,
    allowedFiles: [],
    newFiles: [],
    forbiddenFiles: [],
    environment: {},
    faults: [
      `The spec has ${text.length} characters; at most ${MAX_SPEC_CHARACTERS} are taken. Divide it into several specs.`,
    ],
  };
}

// ---- header

function titleOf(lines: readonly MarkdownLine[]): string | null {
  const headings = lines.map((_, index) => headingAt(lines, index)).filter((heading) => heading !== null);
  const highest = headings.reduce((level, heading) => Math.min(level, heading.level), 6);
  const title = headings.find(({ level, text }) => level === highest && text !== '')?.text;
  return title?.slice(0, LONGEST_TITLE) ?? null;
}

interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Offset of the value in the text. */
  readonly start: number;
  readonly line: number;
}

function headerOf(lines: readonly MarkdownLine[], faults: string[]): Pick<Spec, 'status' | 'priority'> {
  const fields = headerFields(lines);
  const [status, priority] = ['status', 'priority'].map((name) => fields.find((field) => field.name === name));
  const readStatus = status === undefined || status.value === '' ? null : statusOf(status.value, {});
  const readPriority = priority === undefined ? null : priorityOf(priority.value);
  if (status !== undefined && status.value !== '' && readStatus === null)
    faults.push(
      `Line ${status.line}: the status ${quoted(status.value)} is unknown; write 'queued', 'in_progress', 'blocked' or 'done'.`,
    );
  if (priority !== undefined && readPriority === undefined)
    faults.push(`Line ${priority.line}: the priority ${quoted(priority.value)} is unknown; write P0, P1 and so on.`);
  return { status: readStatus, priority: readPriority ?? null };
}

/** `**Status:** queued | **Priority:** P1`, in one line or several, before the first heading of the second level. */
function headerFields(lines: readonly MarkdownLine[]): readonly HeaderField[] {
  const end = lines.findIndex((_, index) => (headingAt(lines, index)?.level ?? 1) > 1);
  return lines.slice(0, end === -1 ? lines.length : end).flatMap((line) => {
    if (line.kind !== 'text') return [];
    let start = line.start;
    return line.text.split('|').flatMap((part) => {
      const field = fieldIn(part, start, line.number);
      start += part.length + 1;
      return field === null ? [] : [field];
    });
  });
}

const FIELD = /^[ \t]{0,20}(?:[-*+>][ \t]{1,4})?(?:\*\*|__)(status|priority)(?:(?:\*\*|__)[ \t]?:|[ \t]?:(?:\*\*|__))/i;

function fieldIn(part: string, start: number, line: number): HeaderField | null {
  const [label, name] = FIELD.exec(part) ?? [];
  if (label === undefined || name === undefined) return null;
  const rest = part.slice(label.length);
  const value = rest.trim();
  const before = value === '' ? Math.min(1, rest.length) : rest.length - rest.trimStart().length;
  return { name: name.toLowerCase(), value, start: start + label.length + before, line };
}

/** Changes the status of the header and keeps every other byte. A spec without one stays as it is. */
export function withSpecStatus(text: string, status: ItemStatus): string {
  const field = headerFields(markdownLines(text).lines).find(({ name }) => name === 'status');
  if (field === undefined || field.value === status) return text;
  const isPlain = field.value !== '' || /\s/.test(text[field.start - 1] ?? '');
  const space = field.value === '' && text[field.start] === '|' ? ' ' : '';
  const edit = { start: field.start, end: field.start + field.value.length };
  return withEdits(text, [{ ...edit, text: `${isPlain ? '' : ' '}${status}${space}` }]);
}

// ---- sections

interface Section {
  /** Line of its heading, from 1. */
  readonly number: number;
  /** Index of its first line below the heading. */
  readonly start: number;
  /** Index behind its last line. */
  readonly end: number;
}

/** Sections by their headings. A section ends at the next heading of its level or a higher one. */
function sectionsOf(lines: readonly MarkdownLine[], name: RegExp): readonly Section[] {
  const sections: Section[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const heading = headingAt(lines, index);
    if (heading === null || !name.test(plainHeading(heading.text))) continue;
    let end = index + 1;
    while (end < lines.length && (headingAt(lines, end)?.level ?? 7) > heading.level) end += 1;
    sections.push({ number: index + 1, start: index + 1, end });
    index = end - 1;
  }
  return sections;
}

/** The section that a line such as `**Allowed Files:**` begins; it ends at the next heading. */
function labelledSection(lines: readonly MarkdownLine[], name: RegExp): Section | undefined {
  const start = lines.findIndex((line, index) => {
    const label = headingAt(lines, index) === null ? labelOf(line) : null;
    return label !== null && name.test(plainHeading(label.name));
  });
  const end = lines.findIndex((_, index) => index > start && headingAt(lines, index) !== null);
  return start === -1 ? undefined : { number: start + 1, start, end: end === -1 ? lines.length : end };
}

/** Lower case, without emphasis, a number of its own, and signs before it. */
function plainHeading(heading: string): string {
  return heading
    .slice(0, LONGEST_TITLE)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/^[^\p{L}]+/u, '');
}

interface Label {
  readonly name: string;
  /** Offset of the text behind it in its line. */
  readonly after: number;
}

/** `**FORBIDDEN:** …`, and a line of its own such as `New files allowed:`. */
function labelOf(line: MarkdownLine | undefined): Label | null {
  if (line?.kind !== 'text' || isListItem(line.text)) return null;
  const bold = /^[ \t]{0,3}(?:\*\*|__)([^*_`]{1,200})(?:\*\*|__)[ \t]?:?/.exec(line.text);
  if (bold !== null) return { name: bold[1] ?? '', after: bold[0].length };
  const plain = /^[ \t]{0,3}([^*_`:]{1,200}):(?=\s|$)/.exec(line.text);
  const [all, name = ''] = plain ?? [];
  const isAlone = all !== undefined && line.text.slice(all.length).trim() === '';
  return all !== undefined && (isAlone || FILE_LIST.test(plainHeading(name))) ? { name, after: all.length } : null;
}

// ---- files

type FileList = 'allowedFiles' | 'newFiles' | 'forbiddenFiles';
type Files = Pick<Spec, FileList>;

const ALLOWED = /^allowed files?(?!\p{L})/u;
/** Labels whose own line can name paths. */
const FILE_LIST = /^(?:allowed|new|forbidden|only these|files?|existing|modif)/;
const NO_LIMIT: Files = { allowedFiles: null, newFiles: [], forbiddenFiles: [] };

function filesOf(lines: readonly MarkdownLine[], faults: string[]): Files {
  const [section = labelledSection(lines, ALLOWED), second] = sectionsOf(lines, ALLOWED);
  if (section === undefined) {
    const forbidden = lines.find((line) => labelOf(line)?.name.toLowerCase().startsWith('forbidden') === true);
    if (forbidden !== undefined)
      faults.push(
        `Line ${forbidden.number}: files are forbidden, and there is no section 'Allowed Files', so that this would limit nothing. Add the section above it, with '- \`**\`' for all other files.`,
      );
    return NO_LIMIT;
  }
  if (second !== undefined)
    faults.push(
      `Line ${second.number}: the section 'Allowed Files' is there already (line ${section.number}), and this one is not read. Join them.`,
    );
  const { allowedFiles, newFiles, forbiddenFiles, faults: own } = fileLists(lines, section);
  faults.push(...own);
  if (allowedFiles.size + newFiles.size + own.length === 0)
    faults.push(
      `Line ${section.number}: the section 'Allowed Files' names no path, so that nothing may be changed. List paths in backticks, such as '- \`src/a.ts\` — modify'.`,
    );
  return {
    allowedFiles: [...allowedFiles],
    newFiles: [...newFiles],
    forbiddenFiles: [...forbiddenFiles],
  };
}

function fileLists(lines: readonly MarkdownLine[], { start, end }: Section) {
  const files = { allowedFiles: new Set<string>(), newFiles: new Set<string>(), forbiddenFiles: new Set<string>() };
  const faults: string[] = [];
  let list: FileList = 'allowedFiles';
  let parent = Number.POSITIVE_INFINITY;
  const rows = tableRows(lines.slice(start, end));
  for (let index = start; index < end; index += 1) {
    const line = lines[index];
    if (line?.kind !== 'text') continue;
    const row = rows.get(line.number);
    if (row !== undefined) {
      if (row?.length === 0 && list !== 'forbiddenFiles') faults.push(noPath(line));
      keepPaths(row ?? [], line, files[list], faults);
      continue;
    }
    const heading = headingAt(lines, index);
    const label = heading === null ? labelOf(line) : { name: heading.text, after: line.text.length };
    if (label !== null) {
      list = listOf(label.name);
      parent = Number.POSITIVE_INFINITY;
      if (list !== 'allowedFiles' || FILE_LIST.test(plainHeading(label.name)))
        keepPaths(codeIn(line.text.slice(label.after)), line, files[list], faults);
    } else if (isListItem(line.text)) {
      const indent = line.text.search(/[^ \t]/);
      // Items below one with a path are notes about it.
      if (indent > parent) continue;
      const found = codeIn(withoutMarker(line.text));
      parent = found.length > 0 ? indent : Number.POSITIVE_INFINITY;
      if (found.length === 0 && needsPath(line.text) && list !== 'forbiddenFiles') faults.push(noPath(line));
      keepPaths(found, line, files[list], faults);
    }
  }
  return { ...files, faults };
}

/** Rows of tables by their lines, with the paths of each; `null` for headers and for rows of files that are kept as they are. */
function tableRows(lines: readonly MarkdownLine[]): ReadonlyMap<number, readonly string[] | null> {
  const found = new Map<number, readonly string[] | null>();
  for (const { header, alignment, rows, uneven } of tablesIn(lines)) {
    const names = header.cells.map(({ raw }) => wordsOf(raw).text.toLowerCase());
    const file = names.findIndex((name) => /^(?:files?|paths?)(?!\p{L})/u.test(name));
    const action = names.findIndex((name) => /^(?:action|change)/.test(name));
    for (const { line } of [header, alignment]) found.set(line.number, null);
    for (const { line } of uneven) found.set(line.number, []);
    for (const { line, cells } of rows) {
      const isKept = /^(?:keep|read|none|no change|unchanged)/i.test(wordsOf(cells[action]?.raw ?? '').text);
      const paths = cells.map(({ raw }) => codeIn(raw));
      found.set(
        line.number,
        isKept ? null : ((file === -1 ? paths.find((each) => each.length > 0) : paths[file]) ?? []),
      );
    }
  }
  return found;
}

/** Of a label or a heading in the section. Other words divide the allowed files into groups. */
function listOf(name: string): FileList {
  const words = plainHeading(name);
  if (
    /(?:forbidden|prohibited|(?:not|never|n't|n’t) (?:be |to )?(?:allowed|touch|modif|change|edit)|off[- ]limits|read[- ]only|out of scope)/.test(
      words,
    )
  )
    return 'forbiddenFiles';
  return /^(?:new|added|created)(?!\p{L})/u.test(words) ? 'newFiles' : 'allowedFiles';
}

function withoutMarker(text: string): string {
  return text.trim().replace(/^(?:[-*+]|\d{1,9}[.)])[ \t]{0,20}(?:\[[ xX]\])?/, '');
}

/** An item that ends with a colon is the title of those below it; "none" needs no path. */
function needsPath(text: string): boolean {
  const words = withoutMarker(text).trim().replaceAll(/[*_]/g, '').toLowerCase();
  return !words.endsWith(':') && !/^(?:none|nothing|no|нет|n\/a|-|–|—)?[.)]?$/.test(words);
}

function noPath({ number, text }: MarkdownLine): string {
  return `Line ${number}: ${quoted(text.trim())} names no path in backticks, and allows nothing. Write it as '- \`src/a.ts\` — modify'.`;
}

/** Code at the beginning, behind nothing but a word such as "Modify"; and more of it behind `,`, `and`, a note in brackets and the like. */
function codeIn(text: string): readonly string[] {
  const found: string[] = [];
  let after = 0;
  for (const { start, end } of codeSpans(text)) {
    const before = text.slice(after, start);
    const between = (found.length === 0 ? before : before.replaceAll(NOTE, withoutNote))
      .replaceAll(/[\s,;:+&*_()]/g, '')
      .toLowerCase();
    if (!(found.length === 0 ? BEFORE_PATH : BETWEEN_PATHS).test(between)) break;
    found.push(text.slice(start, end).replaceAll('`', '').trim());
    after = end;
  }
  return found;
}

const BEFORE_PATH =
  /^(?:new|creates?|adds?|modify|modifies|updates?|edits?|changes?|extends?|deletes?|removes?|renames?|moves?|tests?|files?|folder)?$/;
const BETWEEN_PATHS = /^(?:and|or|to)?$/;
/** A note behind a path, such as `(moves)`. */
const NOTE = /\([^()`]*\)/g;

/** A note that takes something back stays, and ends the paths. */
function withoutNote(note: string): string {
  return /\b(?:no|not|never|except|without|keep|read)\b|n['’]t\b/i.test(note) ? note : '';
}

function keepPaths(found: readonly string[], { number }: MarkdownLine, into: Set<string>, faults: string[]): void {
  for (const each of found) {
    const path = plainPath(each);
    const fault = patternFault(path);
    if (fault === null) into.add(path);
    else
      faults.push(
        `Line ${number}: the path ${quoted(each)} allows nothing: ${fault}. Write it from the root of the repository.`,
      );
  }
}

/** Without `./` before it, a slash behind it, and a line number. */
function plainPath(path: string): string {
  const plain = path.replace(/^(?:\.\/){1,5}/, '').replace(/:\d{1,7}(?:-\d{1,7})?$/, '');
  return plain.length > 1 && plain.endsWith('/') ? plain.slice(0, -1) : plain;
}

function patternFault(path: string): string | null {
  if (/^(?:[a-z]:|~(?:\/|$))/i.test(path)) return 'it is absolute';
  const fault = pathFault(path);
  if (fault !== null) return fault;
  const wild = path.split('/').filter((name) => name.includes('**'));
  if (wild.some((name) => name !== '**')) return "'**' stands for whole folders and is a name of its own";
  return wild.length > 1 ? "'**' may stand in it once" : null;
}

// ---- environment

const SETTING = /^[ \t]{0,20}(?:[-*+][ \t]{1,4})?[*_`]{0,3}([a-z][a-z0-9._+-]{0,60})[*_`]{0,3}[ \t]?:(?=[\s*_`]|$)/i;

function environmentOf(lines: readonly MarkdownLine[], faults: string[]): Readonly<Record<string, string>> {
  const [section] = sectionsOf(lines, /^environment(?!\p{L})/u);
  const found = new Map<string, string>();
  for (const { kind, text, number } of section === undefined ? [] : lines.slice(section.start, section.end)) {
    const [label, name] = kind === 'comment' ? [] : (SETTING.exec(text) ?? []);
    if (label === undefined || name === undefined) continue;
    if (found.has(name)) faults.push(`Line ${number}: the setting '${name}' is there already; leave one of both out.`);
    else found.set(name, settingValue(text.slice(label.length)));
  }
  return Object.fromEntries(found);
}

/** Without emphasis, quotes and a comment behind it. */
function settingValue(text: string): string {
  const plain = (text.split(' #', 1)[0] ?? '').replace(/^[\s*_`]{0,20}/, '').trim();
  const value = /^(?:"[^"]*"|'[^']*'|`[^`]*`)$/.test(plain) ? plain.slice(1, -1) : plain;
  return value.replace(/[*_`]{1,3}$/, '').trim();
}

// ---- log

const LOG = /^autopilot log(?!\p{L})/u;
const PLACEHOLDER = '(filled by autopilot during execution)';
const LONGEST_ENTRY = 1_000;

/**
 * Adds an entry to the end of the section "Autopilot Log", in place of its placeholder, and keeps every other byte. The section
 * is made where it is missing.
 * @param entry plain text of any origin; it becomes one line that Markdown shows as it is. An empty one changes nothing.
 */
export function withLogEntry(text: string, entry: string): string {
  const item = logItem(entry);
  if (item === null) return text;
  const { lines } = markdownLines(text);
  const [section] = sectionsOf(lines, LOG);
  const eol = lineEnd(text);
  if (section === undefined) return `${text}${gapBehind(text, eol)}## Autopilot Log${eol}${eol}${item}${eol}`;
  const inside = lines.slice(section.start, section.end);
  const placeholder = inside.find(({ kind, text: line }) => kind === 'text' && isPlaceholder(line));
  if (placeholder !== undefined) return withEdits(text, [{ ...placeOf(placeholder), text: item }]);
  const last = inside.findLast(({ text: line }) => line.trim() !== '' && !isRuler(line)) ?? lines[section.start - 1];
  const at = last?.end ?? text.length;
  const isList = last !== undefined && last.kind === 'text' && last.number > section.number && isItemOrPart(last.text);
  return withEdits(text, [{ start: at, end: at, text: `${isList ? eol : `${eol}${eol}`}${item}` }]);
}

function placeOf({ start, end }: MarkdownLine): { readonly start: number; readonly end: number } {
  return { start, end };
}

function isPlaceholder(line: string): boolean {
  return line.replaceAll(/[*_]/g, '').trim().toLowerCase() === PLACEHOLDER;
}

function isItemOrPart(line: string): boolean {
  return isListItem(line) || /^(?: {2}|\t)/.test(line);
}

function gapBehind(text: string, eol: string): string {
  if (text.trim() === '') return '';
  const before = text.replace(/(?:\r\n|\n|\r)$/, '');
  if (before === text) return `${eol}${eol}`;
  return /[\r\n]$/.test(before) ? '' : eol;
}

/** @returns `null` for a text without any sign that is seen */
function logItem(entry: string): string | null {
  const plain = entry
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (plain === '') return null;
  const letters = Array.from(plain);
  const cut = letters.length > LONGEST_ENTRY ? `${letters.slice(0, LONGEST_ENTRY - 1).join('')}…` : plain;
  // In a list, these would begin a list, a quotation or a ruler of their own.
  return `- ${inline(cut).replace(/^(?=[-+>=])|(?<=^\d{1,9})(?=[.)])/, '\\')}`;
}
