/**
 * "Solutions" in `.autonomous/memory.md`: problems that runs met, with cause, fix and files, for later runs that meet them
 * again. Those that a person wrote come first and are never removed. Pure.
 */
import { entryOf, flat, headings, join, type MemoryLine } from './memory-lines.ts';

/** A problem that a run met and solved. */
export interface Solution {
  readonly problem: string;
  readonly cause: string;
  readonly fix: string;
  /** Paths of the project. */
  readonly files: readonly string[];
}

export interface SolutionUpdate {
  /** `YYYY-MM-DD` */
  readonly date: string;
  readonly runId: string;
  readonly solutions?: readonly Solution[];
}

/** Entries of runs that are kept, the newest. */
export const MOST_OF_RUNS = 100;
/** Characters of all entries of runs. */
export const MAX_OF_RUNS = 48_000;
/** Entries, and their characters, that one prompt is given. */
const MOST_SELECTED = 10;
const MAX_SELECTED = 6_000;
/** Files of one entry that are looked for in the work. */
const MOST_FILES = 20;

/** Heading of the section. */
export const SOLUTIONS = /^##\s+Solutions\s*$/i;

/** Adds a run's solutions to the body of the file. Adding those of the same run again changes nothing. */
export function withSolutions(body: string, update: SolutionUpdate, eol: string): string {
  const solutions = update.solutions ?? [];
  if (solutions.length === 0) return body;
  const section = sectionOf(body);
  if (section?.entries.some(({ runId }) => runId === update.runId)) return body;
  const byProblem = new Map(solutions.map((solution) => [flat(solution.problem), solution]));
  const added = [...byProblem.values()].map((solution) => rendered(solution, update));
  if (section === null) return join(body, ['## Solutions', '', ...joined(bounded(added))], eol);
  const entries = bounded([...section.entries, ...added]);
  const after = section.after.length === 0 ? [] : ['', ...section.after];
  const lines = [...section.before, ...trimmed(section.preamble), '', ...joined(entries), ...after];
  return `${lines.join(eol).trimEnd()}${eol}`;
}

/** A heading under "Solutions" with the lines below it. */
interface Entry {
  readonly lines: readonly string[];
  /** `null` for an entry that a person wrote. */
  readonly runId: string | null;
}

interface Section {
  /** With its heading, without line ends, as below. */
  readonly before: readonly string[];
  /** Lines between the heading and the first entry. */
  readonly preamble: readonly string[];
  readonly entries: readonly Entry[];
  readonly after: readonly string[];
}

function sectionOf(body: string): Section | null {
  const lines = headings(body);
  const start = lines.findIndex(({ line, isHeading }) => isHeading && SOLUTIONS.test(line));
  if (start === -1) return null;
  const next = lines.findIndex(({ line, isHeading }, index) => index > start && isHeading && /^##?\s/.test(line));
  const end = next === -1 ? lines.length : next;
  const preamble: string[] = [];
  const entries: { lines: string[]; runId: string | null }[] = [];
  for (const { line, isHeading } of lines.slice(start + 1, end)) {
    if (isHeading && /^###\s/.test(line)) entries.push({ lines: [line], runId: entryOf(line)?.runId ?? null });
    else (entries.at(-1)?.lines ?? preamble).push(line);
  }
  return {
    before: textOf(lines.slice(0, start + 1)),
    preamble,
    entries: entries.map(({ lines: own, runId }) => ({ lines: trimmed(own), runId })),
    after: textOf(lines.slice(end)),
  };
}

function textOf(lines: readonly MemoryLine[]): readonly string[] {
  return lines.map(({ line }) => line);
}

function rendered({ problem, cause, fix, files }: Solution, { date, runId }: SolutionUpdate): Entry {
  const title = flat(problem).replaceAll('(run:', '(');
  const lines = [`### ${date}: ${title} (run: ${runId})`, `- Cause: ${flat(cause)}`, `- Fix: ${flat(fix)}`];
  if (files.length > 0) lines.push(`- Files: ${files.map(flat).join(', ')}`);
  return { lines, runId };
}

/** Without the oldest entries of runs where there are too many. */
function bounded(entries: readonly Entry[]): readonly Entry[] {
  let [count, characters] = [0, 0];
  const kept = entries.toReversed().filter(({ lines, runId }) => {
    if (runId === null) return true;
    count += 1;
    characters += lines.join('\n').length;
    return count <= MOST_OF_RUNS && characters <= MAX_OF_RUNS;
  });
  return kept.toReversed();
}

function joined(entries: readonly Entry[]): readonly string[] {
  return entries.flatMap(({ lines }, index) => (index === 0 ? lines : ['', ...lines]));
}

function trimmed(lines: readonly string[]): readonly string[] {
  const end = lines.findLastIndex((line) => line.trim() !== '') + 1;
  return lines.slice(0, end);
}

/**
 * The file for a prompt: of its solutions only those that have words or files in common with the work, at the end.
 * @param about texts that say what the work is: the request, notes, the plan
 */
export function selectMemory(text: string, about: string): string {
  const section = sectionOf(text);
  if (section === null) return text;
  const chosen = selected(section.entries, about);
  const others = [...section.before.slice(0, -1), ...section.after];
  const shown = chosen.length === 0 ? [] : ['## Solutions of earlier work that may fit', '', ...joined(chosen)];
  return `${trimmed(others).join('\n')}\n\n${shown.join('\n')}`.trim();
}

function selected(entries: readonly Entry[], about: string): readonly Entry[] {
  const known = wordsOf(about);
  const named = fileNamesIn(about);
  const all = entries.map(({ lines }) => wordsOf(lines.join('\n')));
  const frequency = new Map<string, number>();
  for (const words of all) for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const rated = entries.map((entry, index) => {
    const common = [...(all[index] ?? [])].filter((word) => known.has(word));
    // A word that most entries have says little.
    const weight = common.reduce((sum, word) => sum + Math.log(1 + entries.length / (frequency.get(word) ?? 1)), 0);
    const files = filesOf(entry).filter((file) => named.has(file)).length;
    return { entry, isPersons: entry.runId === null, common: common.length, files, weight: weight + 3 * files, index };
  });
  const fitting = rated.filter(({ isPersons, common, files }) => files > 0 || common >= (isPersons ? 1 : 2));
  fitting.sort((a, b) => Number(b.isPersons) - Number(a.isPersons) || b.weight - a.weight || b.index - a.index);
  const chosen: Entry[] = [];
  let room = MAX_SELECTED;
  for (const { entry } of fitting) {
    const { length } = entry.lines.join('\n');
    // A long one leaves the room to those after it.
    if (length > room) continue;
    room -= length;
    chosen.push(entry);
    if (chosen.length === MOST_SELECTED) break;
  }
  return chosen;
}

/** Last parts of the paths that an entry names, of the first of them. */
function filesOf({ lines }: Entry): readonly string[] {
  const line = lines.find((each) => each.startsWith('- Files: ')) ?? '- Files: ';
  const paths = line
    .slice('- Files: '.length)
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each.length > 3)
    .slice(0, MOST_FILES);
  return paths.map(lastPartOf);
}

/** Last parts of all words of a text that may be paths. */
function fileNamesIn(text: string): ReadonlySet<string> {
  const words = text.split(/[\s,;()[\]{}<>"'`|=*]+/);
  // A path may have a line after it, and stand at the end of a sentence: `see src/total.ts:12.`
  const paths = words.flatMap((word) => [word, word.split(':')[0] ?? '']);
  return new Set(paths.flatMap((path) => [path, path.replace(/[.!?]$/, '')]).map(lastPartOf));
}

function lastPartOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Words that stand in any text about software. */
const COMMON_WORDS = new Set(
  'about after also and are because been before cause change code each else file files fix for from has have into its make must name new not now one only other run runs same set should test tests that the them then there they this use used uses was were what when where which will with work would add'.split(
    ' ',
  ),
);

function wordsOf(text: string): ReadonlySet<string> {
  const words = text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .match(/\p{L}[\p{L}\p{N}]{2,39}/gu);
  return new Set((words ?? []).map((word) => word.replace(/s$/, '')).filter((word) => !COMMON_WORDS.has(word)));
}
