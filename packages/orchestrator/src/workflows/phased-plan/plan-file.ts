/**
 * Reads a plan in Markdown: its phases by heading, the success criteria of each, and what each depends on. Pure; takes linear
 * time in the length of the text, for any text.
 */
import { inWorker } from '../../foreign-text/in-worker.ts';
import { type Block, blockAt, closes, isAfterItem } from '../parts/markdown-blocks.ts';

/** One phase of a plan. */
export interface PlanPhase {
  /** Number in its heading, from 0 to 9999. */
  readonly number: number;
  readonly title: string;
  /** Markdown of its section, without the heading. */
  readonly text: string;
  /** Items of its lists under "Success criteria", without their bullets. */
  readonly criteria: readonly string[];
  /** Numbers of the phases that have to be finished before, ascending, each once. */
  readonly dependsOn: readonly number[];
}

export interface PlanDocument {
  /** Front matter `title`, else the first heading that is no phase; `null` without either. */
  readonly title: string | null;
  /** By their numbers, ascending. */
  readonly phases: readonly PlanPhase[];
}

export type ReadPlan =
  | { readonly ok: true; readonly plan: PlanDocument }
  /** Each fault is a sentence that names the thing and the way out. */
  | { readonly ok: false; readonly faults: readonly string[] };

/** Characters of a plan, at most. */
export const MAX_PLAN_CHARACTERS = 500_000;
/** Phases of a plan, at most. */
export const MAX_PHASES = 100;
/** Highest number of a phase. */
export const MAX_PHASE_NUMBER = 9_999;
/** Characters of a phase's section, at most: its agents get all of it. */
export const MAX_PHASE_CHARACTERS = 50_000;
const LONGEST_TITLE = 200;
const MOST_CRITERIA = 100;
/** Faults of a plan that are named. */
const MOST_FAULTS = 20;

/**
 * Reads a plan. A phase without a marker depends on the phase before it; `Depends on: none` makes it independent. A marker is
 * "depends on Phase 2" in its section, or its entry in the front matter's `dependencies`; both count together. Ignored are
 * "does not depend on Phase 2", and "Phase 3 depends on Phase 2" outside the section of phase 3.
 */
export function readPlan(text: string): ReadPlan {
  if (text.length > MAX_PLAN_CHARACTERS)
    return fault(
      `The plan has ${text.length} characters; at most ${MAX_PLAN_CHARACTERS} are taken. Split it into several plans.`,
    );
  const { front, lines, open } = splitFrontMatter(text);
  const { title, sections, faults } = sectionsOf(lines);
  if (open !== null) faults.push(open);
  if (sections.length === 0)
    return fault("The plan has no phases. Give each phase a heading such as '## Phase 1: Data model'.", ...faults);
  if (sections.length > MAX_PHASES)
    return fault(
      `The plan has ${sections.length} phases; at most ${MAX_PHASES} are taken. Split it into several plans.`,
    );
  const all = [...faults, ...duplicateFaults(sections)];
  const named = readDependencies(front);
  all.push(...named.faults);
  const phases = phasesOf(sections, named.dependencies, all);
  all.push(...lengthFaults(phases), ...dependencyFaults(phases, named.dependencies));
  if (all.length === 0) all.push(...cycleFaults(phases));
  return all.length > 0
    ? fault(...all)
    : { ok: true, plan: { title: titleIn(front) ?? title, phases: phases.toSorted((a, b) => a.number - b.number) } };
}

/** The same in the worker. */
export const { readPlan: readPlanInWorker } = inWorker(import.meta.url, 'The plan', { readPlan });

/** Path of a plan in its repository, from a path as a person wrote it. */
export function repositoryPath(planPath: string): string {
  return planPath.replaceAll('\\', '/').replace(/^(?:\.?\/)+/, '');
}

/**
 * Phases in waves: each wave depends only on earlier ones.
 * @param phases without cycles
 */
export function wavesOf(phases: readonly PlanPhase[]): readonly (readonly number[])[] {
  const waves: number[][] = [];
  const done = new Set<number>();
  let left = phases;
  while (left.length > 0) {
    const ready = left.filter(({ dependsOn }) => dependsOn.every((number) => done.has(number)));
    if (ready.length === 0) throw new Error('the phases depend on each other in a circle');
    waves.push(ready.map(({ number }) => number));
    for (const { number } of ready) done.add(number);
    left = left.filter(({ number }) => !done.has(number));
  }
  return waves;
}

function fault(...faults: readonly string[]): ReadPlan {
  const beyond = faults.length - MOST_FAULTS;
  return { ok: false, faults: beyond > 0 ? [...faults.slice(0, MOST_FAULTS), `… and ${beyond} more.`] : faults };
}

// ---- lines

interface Line {
  readonly text: string;
  /** In a fenced block or a comment in HTML, whose content is neither heading nor marker. */
  readonly isCode: boolean;
}

interface MarkedLines {
  readonly lines: readonly Line[];
  /** Fault of a fenced block or a comment that is open at the end; `null`: there is none. */
  readonly open: string | null;
}

/** Front matter as its lines, and the rest of the text. An unclosed one belongs to the text. */
function splitFrontMatter(text: string): MarkedLines & { readonly front: readonly string[] } {
  const all = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const end = all[0]?.trimEnd() === '---' ? all.findIndex((line, index) => index > 0 && line.trimEnd() === '---') : -1;
  return end === -1
    ? { front: [], ...marked(all, 1) }
    : { front: all.slice(1, end), ...marked(all.slice(end + 1), end + 2) };
}

/** @param firstLine number of the first line in its file */
function marked(texts: readonly string[], firstLine: number): MarkedLines {
  let open: Block | null = null;
  const lines = texts.map((text, index): Line => {
    if (open !== null && isAfterItem(text, open)) open = null;
    if (open === null) {
      open = blockAt(text, firstLine + index);
      if (open === null) return { text, isCode: false };
      if (open.bar === null && text.includes('-->')) open = null;
      return { text, isCode: true };
    }
    if (closes(text, open)) open = null;
    return { text, isCode: true };
  });
  return { lines, open: open === null ? null : unclosed(open) };
}

function unclosed({ bar, line }: Block): string {
  return bar === null
    ? `The comment that begins in line ${line} has no end, and hides the rest of the plan. End it with '-->'.`
    : `The block of code that begins in line ${line} has no end, and takes in the rest of the plan. End it with a line '${bar.slice(0, 20)}'.`;
}

interface Heading {
  readonly level: number;
  readonly text: string;
}

const BLANK: Line = { text: '', isCode: false };

function headingOf(line: Line): Heading | null {
  if (line.isCode) return null;
  const text = withPlainSpaces(line.text);
  const start = text.slice(0, 4).search(/[^ ]/);
  if (start < 0 || text[start] !== '#') return null;
  let level = 0;
  while (level < 7 && text[start + level] === '#') level += 1;
  const rest = text.slice(start + level);
  if (level > 6 || (rest !== '' && !/^[ \t]/.test(rest))) return null;
  return { level, text: withoutClosing(rest.trim()) };
}

/** A space that keeps a line together is a space. */
function withPlainSpaces(text: string): string {
  return text.replaceAll(/[\u00a0\u2007\u202f]/g, ' ');
}

/** `Title ##` is closed by its hashes. */
function withoutClosing(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === '#') end -= 1;
  if (end === 0) return '';
  return end < text.length && /[ \t]/.test(text[end - 1] ?? '') ? text.slice(0, end).trimEnd() : text;
}

// ---- sections

interface Section {
  readonly number: number;
  readonly title: string;
  readonly level: number;
  readonly lines: Line[];
}

/** Phases in the order of the text. A phase ends at the next phase, or at a heading of its own level or above. */
function sectionsOf(lines: readonly Line[]) {
  const sections: Section[] = [];
  const faults: string[] = [];
  let title: string | null = null;
  let open: Section | null = null;
  for (const [index, line] of lines.entries()) {
    const heading = headingOf(line);
    const phase = heading === null ? null : phaseHeading(heading.text);
    const isInside = open !== null && heading !== null && heading.level > open.level;
    const isPart = isInside && phase?.kind === 'fault' && phase.partOf === open?.number;
    if (phase?.kind === 'fault' && !isPart) faults.push(phase.message);
    if (phase === null && seemsPhase(line, heading, lines[index + 1])) faults.push(unread(heading?.text ?? line.text));
    if (heading !== null && phase?.kind === 'phase' && (phase.isSeparated || !isInside)) {
      open = { number: phase.number, title: phase.title, level: heading.level, lines: [] };
      sections.push(open);
      continue;
    }
    if (heading !== null && !isInside) open = null;
    if (heading !== null && heading.text !== '' && sections.length === 0)
      title ??= heading.text.slice(0, LONGEST_TITLE);
    open?.lines.push(line);
  }
  return { title, sections, faults };
}

type PhaseHeading =
  | { readonly kind: 'phase'; readonly number: number; readonly title: string; readonly isSeparated: boolean }
  /** `partOf`: number of the phase that "Phase 1.2" or "Phase 1b" may be a part of, in the section of that phase. */
  | { readonly kind: 'fault'; readonly message: string; readonly partOf: number | null };

/** `Phase 1: Title`, `Phase 2 - Title`, `Phase 3`; `null` for any other heading. */
function phaseHeading(heading: string): PhaseHeading | null {
  const match = /^[*_]{0,3}phase[ \t]{1,10}(\d{1,20})(.?)/i.exec(heading);
  if (match === null) return null;
  const [all, digits = '', next = ''] = match;
  const number = Number(digits);
  const after = heading.slice(all.length - next.length);
  const said = heading.slice(0, 60);
  const isPart = /^[.,]\d|^[A-Za-z]/.test(after);
  if (isPart || /^\p{N}/u.test(after) || number > MAX_PHASE_NUMBER)
    return {
      kind: 'fault',
      message: `The heading '${said}' has no whole number from 0 to ${MAX_PHASE_NUMBER}; number its phase anew.`,
      partOf: isPart ? number : null,
    };
  if (/^(?:[-\u2010-\u2015]|[ \t]?[/&+][ \t]?)\d/.test(after))
    return {
      kind: 'fault',
      message: `The heading '${said}' names several phases. Give each phase a heading of its own, such as '## Phase ${number}: Title'.`,
      partOf: null,
    };
  const trimmed = after.trimStart();
  const separator = /^(?:[*_]{0,3})(?:[:.)\u2013\u2014-]{1,3})/.exec(trimmed)?.[0] ?? '';
  const isSeparated = separator !== '' || trimmed === '' || /^[*_]{1,3}$/.test(trimmed);
  const title = trimmed.slice(separator.length).trim();
  return { kind: 'phase', number, title: withoutEmphasis(title).slice(0, LONGEST_TITLE), isSeparated };
}

function unread(heading: string): string {
  return `The heading '${heading.trim().slice(0, 60)}' seems to be that of a phase, and cannot be read as one. Write it as '## Phase 4: Title'.`;
}

/** Does a line that is no heading of a phase look like one, whatever the way in which it is made a heading? */
function seemsPhase(line: Line, heading: Heading | null, next: Line | undefined): boolean {
  if (line.isCode) return false;
  if (heading !== null) return isNumberedPhase(heading.text);
  const text = withPlainSpaces(line.text.slice(0, LONGEST_TITLE));
  const hashes = /^ {0,3}#{1,6}(?=[^\s#])/.exec(text)?.[0];
  if (hashes !== undefined) return isNumberedPhase(text.slice(hashes.length));
  const isUnderlined = next?.isCode === false && /^ {0,3}(?:=+|-+)[ \t]*$/.test(next.text);
  return isUnderlined && /^ {0,3}\S/.test(text) && !isItem(text) && isNumberedPhase(text.trim());
}

/** What may stand before the word: a picture, a link's bracket, a tag, a box to tick, a number of its own, any signs. */
const BEFORE_PHASE =
  /^(?:!\[[^\]]{0,80}\]\([^)]{0,200}\)|\[[ xX]\]|<[^<>]{0,100}>|\p{N}{1,4}(?=[^\p{L}\p{N}])|[^\p{L}\p{N}]){1,40}/u;
const NUMBERED =
  /^phase(?:&nbsp;|[^\p{L}\p{N}]){0,20}(?:(?:no|nr|number)(?:&nbsp;|[^\p{L}\p{N}]){1,10})?(?:\p{N}|(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty)(?![-\p{L}\p{N}]))/iu;
const ROMAN = /^phase[ \t]{1,10}[IVX]{1,6}[ \t]{0,10}(?:$|[:.)\u2013\u2014-])/;

/** "🔒 Phase 2", "Phase Four", "[Phase 3](x)" and "Phase #4" are; "About the phases" and "Phase notes" are not. */
function isNumberedPhase(heading: string): boolean {
  const text = heading.slice(0, LONGEST_TITLE).normalize('NFKC');
  const word = text.replace(BEFORE_PHASE, '');
  return NUMBERED.test(word) || ROMAN.test(word.replace(/^phase/i, 'phase'));
}

function withoutEmphasis(text: string): string {
  let end = text.length;
  while (end > 0 && /[*_]/.test(text[end - 1] ?? '')) end -= 1;
  let start = 0;
  while (start < end && /[*_ ]/.test(text[start] ?? '')) start += 1;
  return text.slice(start, end).trim();
}

function duplicateFaults(sections: readonly Section[]): string[] {
  const counts = new Map<number, number>();
  for (const { number } of sections) counts.set(number, (counts.get(number) ?? 0) + 1);
  return [...counts].flatMap(([number, count]) =>
    count === 1 ? [] : [`The plan has ${count} phases with the number ${number}; give each a number of its own.`],
  );
}

function lengthFaults(phases: readonly PlanPhase[]): string[] {
  return phases.flatMap(({ number, text }) =>
    text.length <= MAX_PHASE_CHARACTERS
      ? []
      : [
          `The section of phase ${number} has ${text.length} characters; at most ${MAX_PHASE_CHARACTERS} are taken. Divide it into several phases.`,
        ],
  );
}

function phasesOf(
  sections: readonly Section[],
  named: ReadonlyMap<number, readonly number[]>,
  faults: string[],
): PlanPhase[] {
  const byTitle = new Map<string, number[]>();
  for (const { title, number } of sections) {
    const same = byTitle.get(title.toLowerCase());
    if (same !== undefined) same.push(number);
    else if (title !== '') byTitle.set(title.toLowerCase(), [number]);
  }
  const sorted = sections.toSorted((a, b) => a.number - b.number);
  return sorted.map(({ number, title, lines }, index) => {
    const marker = markersIn(number, [{ text: title, isCode: false }, BLANK, ...lines], byTitle, faults);
    const before = sorted[index - 1]?.number;
    const isMarked = marker !== null || named.has(number);
    const dependsOn = isMarked
      ? [...(marker ?? []), ...(named.get(number) ?? [])]
      : before === undefined || before === number
        ? []
        : [before];
    return {
      number,
      title,
      text: lines
        .map(({ text }) => text)
        .join('\n')
        .trim(),
      criteria: criteriaIn(lines),
      dependsOn: [...new Set(dependsOn)].sort((a, b) => a - b),
    };
  });
}

/** Items of all lists under a heading or a line "Success criteria", until the next heading or paragraph that names another list. */
function criteriaIn(lines: readonly Line[]): string[] {
  const criteria: string[] = [];
  let level: number | null = null;
  let isIn = false;
  for (const line of lines) {
    const heading = headingOf(line);
    const words = withoutEmphasis((heading?.text ?? line.text).trim()).toLowerCase();
    if (!line.isCode && (heading !== null || !isItem(line.text)) && isCriteriaTitle(words)) {
      isIn = true;
      level = heading?.level ?? null;
      continue;
    }
    if (heading !== null && (level === null || heading.level <= level)) isIn = false;
    else if (isIn && level === null && !line.isCode && isLabel(line.text)) isIn = isCriteriaKind(words);
    if (!isIn || line.isCode || !isItem(line.text) || criteria.length === MOST_CRITERIA) continue;
    const item = itemText(line.text);
    if (item !== '') criteria.push(item);
  }
  return criteria;
}

function isCriteriaTitle(words: string): boolean {
  return words.startsWith('success criteria') || words.startsWith('acceptance criteria');
}

/** "Automated verification:" below "Success criteria:" divides the same list. */
function isCriteriaKind(words: string): boolean {
  return /\b(?:automated|manual|verification|criteria)\b/.test(words.slice(0, 200));
}

/** A line of its own that ends with a colon. */
function isLabel(text: string): boolean {
  return !isItem(text) && withoutEmphasis(text.trim()).endsWith(':');
}

function isItem(text: string): boolean {
  return /^[ \t]{0,20}(?:[-*+]|\d{1,9}[.)])[ \t]/.test(text);
}

function itemText(text: string): string {
  const item = text.trim().replace(/^(?:[-*+]|\d{1,9}[.)])[ \t]/, '');
  return item
    .trim()
    .replace(/^\[[ xX]\]/, '')
    .trim();
}

// ---- dependencies

/** Markers in one line, at most. */
const MOST_MARKERS = 50;

/**
 * Phase numbers of all "depends on …" markers of a phase; `[]` for "none", `null` without a marker. Sentences that deny a
 * dependency or state that of another phase are no markers.
 */
function markersIn(
  owner: number,
  lines: readonly Line[],
  byTitle: ReadonlyMap<string, readonly number[]>,
  faults: string[],
): number[] | null {
  const found = new Set<number>();
  let isMarked = false;
  let paragraph = '';
  for (const line of lines) {
    const { text, isCode } = line;
    const isHeading = headingOf(line) !== null;
    if (isCode || text.trim() === '' || isItem(text) || isHeading) paragraph = '';
    if (isCode) continue;
    let left = MOST_MARKERS;
    for (const { 0: words, index } of text.matchAll(/\bdepend(?:(?:s|ent|ing)? on|enc(?:y|ies))\b/gi)) {
      if (left-- === 0) break;
      const rest = text.slice(index + words.length);
      const isLine = isMarkerLine(text.slice(0, index), rest);
      // "Dependencies: …" may be about packages.
      const isList = /c(?:y|ies)$/i.test(words);
      if (isList && !isLine) continue;
      const before = text.slice(Math.max(0, index - CLAUSE), index);
      const isSentence = words.startsWith('D') && /^[\s>*_+-]*$/.test(before);
      if (!isLine && !isSentence && isProse(`${paragraph} ${before}`, owner)) continue;
      const value = isLine ? rest.slice(0, 2_000).replace(/^[\s*_:]{1,10}/, '') : rest;
      const named = isLine ? withoutEmphasis(value.slice(0, LONGEST_TITLE)) : '';
      const titled = byTitle.get(named.toLowerCase()) ?? [];
      const isNumbers = isLine && (!isList || /^\d[\d\s,&]*\.?$/.test(value));
      const numbers = numbersAfter(value, isNumbers) ?? (titled.length === 1 ? titled : null);
      if (numbers !== null) {
        isMarked = true;
        for (const number of numbers) found.add(number);
      } else if (titled.length > 1)
        faults.push(
          `Phase ${owner} depends on '${named.slice(0, 60)}', which is the title of the phases ${titled.slice(0, 20).join(', ')}; name phases by their numbers.`,
        );
      else if (isLine && !isList)
        faults.push(
          `Phase ${owner} depends on '${named.slice(0, 60)}', which the plan does not have; name phases by their numbers, or write 'none'.`,
        );
    }
    paragraph = isHeading ? '' : `${paragraph} ${text.slice(-CLAUSE)}`.slice(-CLAUSE);
  }
  return isMarked ? [...found] : null;
}

/** Characters before a marker that are read. */
const CLAUSE = 200;
/** Words between a denial and its verb, at most: "does not in any way depend on". */
const DENIAL_REACH = 6;
const CLAUSE_ENDS =
  /^(?:[.,;:!?()|\u2013\u2014-]|and|but|so|then|because|since|as|for|if|when|while|where|though|although|which|that)$/;
const DENIALS = /^(?:not|cannot|never|no|nothing|none|neither|nor|without|[a-z]{1,10}n['\u2019]t)$/;
const NO_DENIAL = /^(?:only|just|merely|solely|simply)$/;
/** Words between a subject and its verb: "Phase 3 (search), which will also depend on". */
const BETWEEN =
  /^(?:[,:|*_`"'\])\u2013\u2014-]|which|that|also|too|itself|alone|still|therefore|thus|then|now|later|will|would|may|might|must|should|can|could|shall|is|are|be|does|do|[a-z]{1,20}ly)$/;
const IN_A_SUBJECT = /^(?:\d+|phases?|and|or|to|through|[,&*_`"'[\u2013-])$/;
/** "After Phase 1, this …": the phase that is named is not the subject. */
const NO_SUBJECT_AFTER = /^(?:after|before|like|unlike|besides|beside|with|since|as|once|until|to|from|by)$/;

/** @param before text up to a "depends on": does it deny the dependency, or state that of another phase? */
function isProse(before: string, owner: number): boolean {
  const words = before.slice(-CLAUSE).match(/\d{1,20}|[a-zA-Z'\u2019]{1,40}|[^\s\da-zA-Z]/g) ?? [];
  const lower = words.map((word) => word.toLowerCase());
  return isDenied(lower) || isOfAnother(lower, owner);
}

function isDenied(words: readonly string[]): boolean {
  const clause = words.slice(words.findLastIndex((word) => CLAUSE_ENDS.test(word)) + 1).slice(-DENIAL_REACH);
  return clause.some((word, index) => DENIALS.test(word) && !NO_DENIAL.test(clause[index + 1] ?? ''));
}

function isOfAnother(words: readonly string[], owner: number): boolean {
  const end = subjectEnd(words);
  if (!/^\d+$/.test(words[end - 1] ?? '')) return false;
  let start = end;
  while (start > 0 && IN_A_SUBJECT.test(words[start - 1] ?? '')) start -= 1;
  const first = words.findIndex((word, index) => index >= start && index < end && /^phases?$/.test(word));
  if (first === -1) return false;
  const isAside = words[end] === ',' && (end + 1 === words.length || NO_SUBJECT_AFTER.test(words[start - 1] ?? ''));
  return !isAside && numbersAfter(words.slice(first, end).join(' '), false)?.includes(owner) === false;
}

/** End of the words that may be the subject of a "depends on" after all of them. */
function subjectEnd(words: readonly string[]): number {
  let end = words.length;
  while (end > 0 && BETWEEN.test(words[end - 1] ?? '')) {
    const open = words[end - 1] === ')' ? words.lastIndexOf('(', end - 1) : -1;
    end = open === -1 ? end - 1 : open;
  }
  return end;
}

/** "Depends on: …" and "- **Depends on:** …" are markers whatever follows; other words may be prose. */
function isMarkerLine(before: string, after: string): boolean {
  return /^[\s>*_+-]*$/.test(before.slice(-40)) && before.length <= 40 && /^[*_]{0,3}[ \t]?:/.test(after);
}

/** `: Phase 1, 2 and 4`, ` Phases 1–3`, `: none`; `null` for other words. */
function numbersAfter(text: string, isLine: boolean): number[] | null {
  const words = text.slice(0, 2_000).match(/\d{1,20}|[a-zA-Z]{1,40}|[^\s\da-zA-Z]/g) ?? [];
  const numbers: number[] = [];
  let isNamed = isLine;
  let range = false;
  for (const [index, word] of words.entries()) {
    const lower = word.toLowerCase();
    if (/^\d/.test(word)) {
      if (!isNamed) break;
      const last = numbers.at(-1);
      const number = Number(word);
      if (range && last !== undefined && number > last && number - last <= MAX_PHASES)
        for (let next = last + 1; next < number; next++) numbers.push(next);
      numbers.push(number);
      range = false;
    } else if (lower === 'phase' || lower === 'phases') isNamed = true;
    else if (['none', 'nothing'].includes(lower) && numbers.length === 0) return isLine || index === 0 ? [] : null;
    else if (lower === 'and' || /^[,&+#:*_`([]$/.test(word)) range = false;
    else if (lower === 'to' || lower === 'through' || /^[-\u2013]$/.test(word)) range = numbers.length > 0;
    else break;
  }
  return numbers.length === 0 ? null : numbers;
}

interface NamedDependencies {
  readonly dependencies: ReadonlyMap<number, readonly number[]>;
  readonly faults: readonly string[];
}

/** `dependencies: {3: [1], 4: [2, 3]}`, or the same as indented lines. */
function readDependencies(front: readonly string[]): NamedDependencies {
  const dependencies = new Map<number, number[]>();
  const at = front.findIndex((line) => line.startsWith('dependencies:'));
  if (at === -1) return { dependencies, faults: [] };
  const after = front.findIndex((line, index) => index > at && /^[^\s#}\]-]/.test(line));
  const block = front.slice(at, after === -1 ? front.length : after);
  const text = block
    .map((line) => line.split(' #', 1)[0] ?? '')
    .join('\n')
    .slice('dependencies:'.length);
  const tokens = text.match(/\d{1,20}|[a-zA-Z]{1,40}|[^\s]/g) ?? [];
  let entry: number[] | null = null;
  for (const [index, token] of tokens.entries()) {
    const rest = tokens[index + 1] === '"' || tokens[index + 1] === "'" ? tokens[index + 2] : tokens[index + 1];
    if (/^\d/.test(token)) {
      const number = Number(token);
      if (rest === ':') dependencies.set(number, (entry = dependencies.get(number) ?? []));
      else if (entry !== null) entry.push(number);
      else return { dependencies, faults: [unreadable(token)] };
    } else if (!/^(?:phases?|[-:,[\]{}"'])$/i.test(token)) return { dependencies, faults: [unreadable(token)] };
  }
  return { dependencies, faults: [] };
}

function unreadable(token: string): string {
  return `The front matter's 'dependencies' cannot be read at '${token}'; write them as {3: [1], 4: [2, 3]}.`;
}

function titleIn(front: readonly string[]): string | null {
  const line = front.find((each) => each.startsWith('title:'));
  const title = line?.slice('title:'.length).trim() ?? '';
  const plain = /^(["']).*\1$/.test(title.slice(0, LONGEST_TITLE + 2)) ? title.slice(1, -1) : title;
  return plain === '' ? null : plain.slice(0, LONGEST_TITLE);
}

function dependencyFaults(phases: readonly PlanPhase[], named: ReadonlyMap<number, readonly number[]>): string[] {
  const known = new Set(phases.map(({ number }) => number));
  const has = `the plan has ${[...known].slice(0, 20).join(', ')}${known.size > 20 ? ', …' : ''}`;
  const unknown = [...named.keys()].filter((number) => !known.has(number));
  return [
    ...unknown.map((number) => `The front matter's 'dependencies' name phase ${number}, which is not there; ${has}.`),
    ...phases.flatMap(({ number, dependsOn }) =>
      dependsOn.flatMap((other) => {
        if (other === number) return [`Phase ${number} depends on itself; take that out.`];
        return known.has(other) ? [] : [`Phase ${number} depends on phase ${other}, which is not there; ${has}.`];
      }),
    ),
  ];
}

function cycleFaults(phases: readonly PlanPhase[]): string[] {
  const left = new Map(phases.map(({ number, dependsOn }) => [number, dependsOn]));
  for (let isFree = true; isFree;) {
    const free = [...left].filter(([, dependsOn]) => !dependsOn.some((number) => left.has(number)));
    for (const [number] of free) left.delete(number);
    isFree = free.length > 0;
  }
  const [first] = left.keys();
  if (first === undefined) return [];
  const way: number[] = [];
  let at: number | undefined = first;
  while (at !== undefined && !way.includes(at)) {
    way.push(at);
    at = left.get(at)?.find((number) => left.has(number));
  }
  const circle = [...way.slice(way.indexOf(at ?? first)), at ?? first];
  return [
    `Phases depend on each other in a circle: ${circle.map((number) => `Phase ${number}`).join(' → ')}. Take one of these dependencies out.`,
  ];
}
