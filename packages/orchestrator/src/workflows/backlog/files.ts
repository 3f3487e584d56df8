/** Reads and updates a backlog and its specifications. Pure; activities call these functions in the worker. */
import { NeedsHuman, type OwnedFiles, showHidden, showHiddenInLine } from '@autonomous/shared';
import type { OwnedUpdate } from '../../activities/git/commit-owned-files.ts';
import { inWorker } from '../../foreign-text/in-worker.ts';
import { LIMITS } from '../../foreign-text/limits.ts';
import {
  BACKLOG_COLUMNS,
  type BacklogColumns,
  type BacklogItem,
  byUrgency,
  readBacklog,
  rowFaults,
  statusOf,
  statusWordsOf,
  withStatus,
} from './backlog-table.ts';
import { needsOf } from './environment.ts';
import { nextItem } from './next-item.ts';
import { progressPlaceOf, withIgnoredLog, withTemplate } from './progress-place.ts';
import { limitsOf, readSpec, type Spec, withLogEntry, withSpecStatus } from './spec-file.ts';
import { findSpec, type SpecFile } from './spec-links.ts';
import {
  type BacklogActivities,
  type BacklogContext,
  type Choice,
  type ChooseInput,
  type ChosenItem,
  MAX_TOLD_SPEC,
  type NewStatus,
  type SetStatusInput,
} from './types.ts';

/** Characters of a specification among which its title is looked for. */
export const LONGEST_BEGINNING = 4_000;

/** The functions on text of the project, as activities call them. */
export const readInWorker = inWorker(import.meta.url, 'The backlog or a specification', {
  choiceIn,
  specsToRead,
  readAgainIn,
  withStatuses,
  withNewLog,
});

/**
 * Chooses the next item from the latest text of the backlog.
 * @param text `null`: there is no such file
 * @param specs texts of the specifications by path; `null`: not read
 * @param columns names in the table
 * @param keptIn where the server commits the statuses
 */
export function choiceIn(
  input: ChooseInput,
  text: string | null,
  specs: ReadonlyMap<string, string | null>,
  columns: BacklogColumns = BACKLOG_COLUMNS,
  keptIn: 'base' | 'branch' = 'base',
): Omit<Choice, 'codeTree'> {
  const nothing = { counts: { total: 0, done: 0 }, skipped: [], item: null };
  const unusable = (...faults: readonly string[]) => ({ ...nothing, end: { kind: 'faults', faults } }) as const;
  if (text === null)
    return unusable(
      `${input.baseBranch} has no file '${input.file}'. Commit the backlog and push it, or name another file.`,
    );
  const read = readBacklog(text, columns);
  if (!read.ok) return unusable(...read.faults);
  const withdrawn = withdrawnIn(input, text, columns, keptIn);
  if (withdrawn.length > 0) return unusable(...withdrawn);
  const items = withMerged(read.backlog.items, input.merged);
  const counts = countsOf(items);
  const next = nextItem({ items }, { ...input, only: input.item, waiting: [] });
  switch (next.kind) {
    case 'item': {
      const found = chosen(next.item, input, specs);
      return 'faults' in found ? unusable(...found.faults) : { ...nothing, counts, item: found, end: null };
    }
    case 'blocked': {
      const skipped = next.skipped.map(({ id }) => id);
      const { id, title } = next.item;
      return { ...nothing, counts, skipped, end: { kind: 'blocked', item: title === '' ? id : `${id}: ${title}`, id } };
    }
    case 'refused':
      return unusable(next.message);
    case 'iterations':
      return { ...nothing, counts, end: { kind: 'iterations' } };
    case 'waiting':
    case 'done':
      return { ...nothing, counts, end: { kind: 'done' } };
  }
  return next satisfies never;
}

/**
 * The specifications that have to be read for the next item: the one of its row or name, else those whose title may name it.
 * @param specs beginnings of the specifications by path, for their titles; `null`: not read
 */
export function specsToRead(
  input: ChooseInput,
  text: string,
  specs: ReadonlyMap<string, string | null>,
  columns: BacklogColumns,
): readonly string[] {
  const read = readBacklog(text, columns);
  if (!read.ok) return [];
  const items = withMerged(read.backlog.items, input.merged);
  const next = nextItem({ items }, { ...input, only: input.item, waiting: [] });
  if (next.kind !== 'item') return [];
  const found = findSpec(next.item, input.file, filesOf(specs));
  if (found.kind === 'missing') return [...specs.keys()];
  return found.kind === 'found' ? [found.path] : found.paths;
}

function filesOf(specs: ReadonlyMap<string, string | null>): readonly SpecFile[] {
  return [...specs].map(([path, text]) => ({ path, title: text === null ? null : titleIn(text) }));
}

/**
 * Reads the latest text of the backlog before the items that are merged are published. Faults of other rows do not matter.
 * @param text `null`: there is no such file any more, and with it no status
 */
export function readAgainIn(
  input: Pick<ChooseInput, 'file' | 'merged'>,
  text: string | null,
  columns: BacklogColumns = BACKLOG_COLUMNS,
  keptIn: 'base' | 'branch' = 'base',
): BacklogActivities['readAgain']['output'] {
  if (text === null) return { faults: [], counts: null };
  const read = readBacklog(text, columns);
  return {
    faults: withdrawnIn(input, text, columns, keptIn),
    counts: read.ok ? countsOf(withMerged(read.backlog.items, input.merged)) : null,
  };
}

/** Faults of items that are merged and that people have set to another status; their rows may be taken out. */
function withdrawnIn(
  { file, merged }: Pick<ChooseInput, 'file' | 'merged'>,
  text: string,
  columns: BacklogColumns,
  keptIn: 'base' | 'branch',
): readonly string[] {
  return merged.flatMap((id) => {
    const words = statusWordsOf(text, columns, id);
    if (words === null) return rowFaults(text, columns, id).map((fault) => `${file}, of ${id}: ${fault}`);
    const status = statusOf(words, columns) ?? words;
    // There, a merge may have taken the table of the base, where it is still queued.
    if (status === 'in_progress' || status === 'done' || (status === 'queued' && keptIn === 'branch')) return [];
    return [
      `${file} says that ${id} is '${status}', and its result is on the run's branch already: somebody has changed it meanwhile. Set it to in_progress there to have the result published, or cancel the run.`,
    ];
  });
}

/** Items that are merged count as done, whatever the table says of them until they are published. */
function withMerged(items: readonly BacklogItem[], merged: readonly string[]): readonly BacklogItem[] {
  return items.map((item) => (merged.includes(item.id) ? { ...item, status: 'done' } : item));
}

function countsOf(items: readonly BacklogItem[]): BacklogContext['counts'] {
  return { total: items.length, done: items.filter(({ status }) => status === 'done').length };
}

/**
 * Items that are to be done, in the order in which they are begun; those that wait for a blocked one stand last.
 * @param only id of the only one
 */
export function inOrder({ items }: { readonly items: readonly BacklogItem[] }, only?: string): readonly BacklogItem[] {
  const open = byUrgency(items).filter(
    ({ id, status }) => (only === undefined || id === only) && (status === 'queued' || status === 'in_progress'),
  );
  const begun = open.filter(({ status }) => status === 'in_progress');
  const waiting = [...begun, ...open.filter(({ status }) => status !== 'in_progress')];
  const done = new Set(items.filter(({ status }) => status === 'done').map(({ id }) => id));
  const missingOf = ({ dependsOn }: BacklogItem) => [...new Set(dependsOn)].filter((id) => !done.has(id));
  const missing = waiting.map((item) => missingOf(item).length);
  /** Places in `waiting`, by the id that is missing there. */
  const dependents = Map.groupBy(
    waiting.flatMap((item, place) => missingOf(item).map((id) => ({ id, place }))),
    ({ id }) => id,
  );
  // The foremost one stands last, from where it is taken at once.
  const ready = [...missing.keys()].filter((place) => missing[place] === 0).toReversed();
  const taken = new Set<BacklogItem>();
  for (let place = ready.pop(); place !== undefined; place = ready.pop()) {
    const item = waiting[place];
    if (item === undefined) continue;
    taken.add(item);
    for (const { place: next } of dependents.get(item.id) ?? []) {
      missing[next] = (missing[next] ?? 0) - 1;
      if (missing[next] === 0) ready.splice(placeIn(ready, next), 0, next);
    }
  }
  return [...taken, ...waiting.filter((item) => !taken.has(item))];
}

/** Where a number belongs in a list that falls. */
function placeIn(falling: readonly number[], value: number): number {
  let [from, to] = [0, falling.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((falling[middle] ?? 0) > value) from = middle + 1;
    else to = middle;
  }
  return from;
}

function chosen(
  item: BacklogItem,
  { file, specs: folder }: ChooseInput,
  specs: ReadonlyMap<string, string | null>,
): ChosenItem | { readonly faults: readonly string[] } {
  const found = findSpec(item, file, filesOf(specs));
  const { id } = item;
  const title = showHiddenInLine(item.title);
  if (found.kind === 'ambiguous') return { faults: [found.message] };
  // A title such as "Update README.md" names no specification.
  if (found.kind === 'missing' && item.specPath?.includes('/') === true)
    return {
      faults: [
        `The row of ${id} names '${item.specPath}', and there is no such file in ${folder}. Put it there, or name its folder with --specs.`,
      ],
    };
  if (found.kind === 'missing') return { id, title, specPath: null, environment: [] };
  const text = specs.get(found.path) ?? null;
  if (text === null)
    return {
      faults: [
        `${found.path} is no file of at most ${LIMITS.specs.fileBytes / 2 ** 20} MB. Divide it into several specifications.`,
      ],
    };
  const spec = readSpec(text);
  if (spec.faults.length > 0) return { faults: spec.faults.map((fault) => `${found.path}: ${fault}`) };
  const [allowedFiles] = limitsOf(spec);
  const needs = needsOf(spec.environment);
  return {
    id,
    title,
    specPath: found.path,
    ...(allowedFiles === undefined ? {} : { allowedFiles }),
    environment: environmentOf(spec),
    ...(needs.length === 0 ? {} : { needs }),
    text: toldText(text),
  };
}

/** A title stands at the beginning. */
function titleIn(text: string): string | null {
  return readSpec(text.slice(0, LONGEST_BEGINNING)).title;
}

/** The text as agents read it: without a byte order mark, and with an escape in place of each character that no screen shows. */
function toldText(text: string): string {
  const plain = text.replace(/^\ufeff/, '').replaceAll(/\r\n?/g, '\n');
  return showHidden(plain.slice(0, MAX_TOLD_SPEC)).slice(0, MAX_TOLD_SPEC).toWellFormed();
}

function environmentOf({ environment }: Spec): readonly string[] {
  return Object.entries(environment).map(([name, value]) => showHiddenInLine(`${name}: ${value}`));
}

/**
 * The change of the files that new statuses are.
 * @param at ISO 8601 time of the log's entries
 * @param columns names in the table
 * @param bringsTemplate the commit also has what the progress log needs, where it is absent
 * @throws {NeedsHuman} `merge_conflict` where people have set another status meanwhile
 */
export function statusUpdate(
  { file, statuses }: SetStatusInput,
  at: string,
  columns: BacklogColumns = BACKLOG_COLUMNS,
  bringsTemplate = false,
): OwnedUpdate {
  const [{ item, status } = { item: '', status: 'done' }, ...others] = statuses;
  const table = async (text: string | null, to: OwnedFiles['to']): Promise<string | null> =>
    text === null
      ? null
      : readInWorker.withStatuses(file, text, to === 'base' ? statuses : statuses.map(seenOnBranch), columns);
  const specs = statuses.flatMap((set): [string, (text: string | null) => Promise<string | null>][] =>
    set.specPath === null
      ? []
      : [[set.specPath, async (text) => (text === null ? null : readInWorker.withNewLog(text, set, at))]],
  );
  const message =
    others.length === 0 ? `${item}: ${status}` : `${statuses.map((set) => set.item).join(', ')}: ${status}`;
  const { template, ignore } = progressPlaceOf(file);
  return {
    message: message.slice(0, 200).toWellFormed(),
    files: {
      ...(bringsTemplate ? { [template]: withTemplate, [ignore]: withIgnoredLog } : {}),
      [file]: table,
      ...Object.fromEntries(specs),
    },
  };
}

/** On the run's branch an item is still queued where the base has its other statuses. */
function seenOnBranch(set: NewStatus): NewStatus {
  return { ...set, expected: [...set.expected, 'queued'] };
}

export function withStatuses(
  file: string,
  text: string,
  statuses: readonly NewStatus[],
  columns: BacklogColumns,
): string {
  return statuses.reduce((changed, set) => withNewStatus(file, changed, set, columns), text);
}

/** An item whose row people have taken out has no status any more. A row that cannot be read is still there. */
function withNewStatus(
  file: string,
  text: string,
  { item, status, expected }: NewStatus,
  columns: BacklogColumns,
): string {
  const words = statusWordsOf(text, columns, item);
  const now = words === null ? null : (statusOf(words, columns) ?? words);
  if (now === status) return text;
  if (now === null) {
    const faults = rowFaults(text, columns, item);
    if (faults.length === 0) return text;
    throw new NeedsHuman(
      'merge_conflict',
      `${file} cannot be used, so that ${item} cannot be set to ${status}: ${faults.join(' ')} Correct it there and push, then retry.`,
    );
  }
  if (!expected.some((each) => each === now))
    throw new NeedsHuman(
      'merge_conflict',
      `${file} says that ${item} is '${now}', and this run would set it to ${status}: somebody has changed it meanwhile. Set it to ${status} or to ${expected[0] ?? 'queued'} there and push, then retry; or cancel the run.`,
    );
  const changed = withStatus(text, columns, item, status);
  if (!changed.ok) throw new NeedsHuman('merge_conflict', `${file}: ${changed.faults.join(' ')} Then retry.`);
  return changed.text;
}

export function withNewLog(text: string, { status, reason, iteration }: NewStatus, at: string): string {
  const isBegun = (status === 'in_progress' && reason === '') || status === 'queued';
  const changed = withSpecStatus(text, status);
  if (isBegun) return changed;
  const [why = ''] = reason.split('\n');
  const attempt = iteration === undefined ? '' : ` attempt ${iteration}`;
  const entry = `${at.slice(0, 16).replace('T', ' ')}${attempt}: ${status}${why === '' ? '' : ` (${why})`}`;
  return withLogEntry(changed, entry);
}
