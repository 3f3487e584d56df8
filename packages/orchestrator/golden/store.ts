/** Locations of golden histories. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import { folderOf } from './folders.ts';
import type { GoldenStep, Heading, History } from './history.ts';

/** The first line of a file; its first steps may stand in another file that begins alike. */
type FirstLine = Heading & { readonly like?: { readonly file: string; readonly steps: number } };

export interface StoredHistory {
  /** `<workflow>-<version>/<name>.jsonl`, as histories name each other; `pathOf` says where it lies. */
  readonly file: string;
  readonly history: History;
}

/** Histories of real runs: what a server stored, not what a script drove. */
const REAL = 'real-';

type Version = Pick<WorkflowDefinition, 'name' | 'version'>;

export function readHistories({ name, version }: Version): readonly StoredHistory[] {
  return globSync('*.jsonl', { cwd: path.join(folderOf(name), 'golden', String(version)) })
    .sort()
    .map((file) => `${name}-${version}/${file}`)
    .map((file) => ({ file, history: readHistory(file) }));
}

type Kind = 'driven' | 'real';

/** Replaces all histories of a version of one kind; the others stay. */
export function replaceHistories(version: Version, kind: Kind, histories: readonly History[]): void {
  for (const { file } of readHistories(version)) if (kindOf(file) === kind) rmSync(pathOf(file));
  write(version, kind, histories, []);
}

/** Adds the histories of a version that are not there yet. */
export function addHistories(version: Version, kind: Kind, histories: readonly History[]): void {
  const there = readHistories(version);
  const isNew = (history: History): boolean => there.every(({ file }) => file !== fileOf(version, kind, history));
  write(version, kind, histories.filter(isNew), there);
}

function write(version: Version, kind: Kind, histories: readonly History[], there: readonly StoredHistory[]): void {
  mkdirSync(path.join(folderOf(version.name), 'golden', String(version.version)), { recursive: true });
  const written = [...there];
  for (const history of histories) {
    const file = fileOf(version, kind, history);
    const { like, steps } = longestBeginning(history, written);
    writeLines(file, [
      { ...history.heading, ...(like ? { like: { file: like.file, steps } } : {}) },
      ...history.steps.slice(steps),
      history.ends,
    ]);
    written.push({ file, history });
  }
}

function fileOf({ name, version }: Version, kind: Kind, { heading }: History): string {
  return `${name}-${version}/${kind === 'real' ? REAL : ''}${slugOf(heading.shows)}.jsonl`;
}

function kindOf(file: string): Kind {
  return path.basename(file).startsWith(REAL) ? 'real' : 'driven';
}

/** Gives a history another end; its steps stay. */
export function rewriteEnds(file: string, ends: History['ends']): void {
  writeLines(file, [...readLines(file).slice(0, -1), ends]);
}

/** The history that begins like this one for the longest time, and for how many steps. */
function longestBeginning(
  { steps }: History,
  others: readonly StoredHistory[],
): { readonly like: StoredHistory | null; readonly steps: number } {
  let longest: { readonly like: StoredHistory | null; readonly steps: number } = { like: null, steps: 0 };
  for (const like of others) {
    const differs = steps.findIndex((step, index) => !isSameStep(step, like.history.steps[index]));
    const same = differs < 0 ? steps.length : differs;
    if (same > longest.steps) longest = { like, steps: same };
  }
  return longest;
}

/** The state that one of them may keep besides does not count. */
function isSameStep({ state, ...step }: GoldenStep, other: GoldenStep | undefined): boolean {
  if (other === undefined || state !== undefined) return false;
  const { state: _state, ...rest } = other;
  return JSON.stringify(step) === JSON.stringify(rest);
}

function readHistory(file: string): History {
  const lines = readLines(file);
  // The files are our own, written by `writeHistories`.
  const { like, ...heading } = lines[0] as FirstLine;
  const beginning = like ? readHistory(like.file).steps.slice(0, like.steps) : [];
  return {
    heading,
    steps: [...beginning, ...(lines.slice(1, -1) as readonly GoldenStep[])],
    ends: lines.at(-1) as History['ends'],
  };
}

/** A history lies in the folder of its workflow: `golden/<version>/<name>.jsonl`. */
function pathOf(file: string): string {
  const [, workflow = '', version = '', name = ''] = /^(.+)-(\d+)\/([^/]+)$/.exec(file) ?? [];
  return path.join(folderOf(workflow), 'golden', version, name);
}

function readLines(file: string): readonly unknown[] {
  const lines = readFileSync(pathOf(file), 'utf8').trimEnd().split('\n');
  return lines.map((line): unknown => JSON.parse(line));
}

function writeLines(file: string, lines: readonly unknown[]): void {
  writeFileSync(pathOf(file), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
