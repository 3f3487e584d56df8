/**
 * Story of a playback, in lines that are the same however often its servers ended: ids, times and the hashes that
 * depend on them are replaced by names in order of appearance.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Effects } from './effects.ts';
import { effectsAtForge, type PointForge, tellForge } from './forge.ts';
import type { LedgerLine } from './ledger.ts';
import type { EndedRun, Playback } from './play.ts';
import type { Scenario } from './scenario.ts';
import { countMoves, readRepository, type RepositoryState } from './repository-state.ts';
import { RECORD_BRANCH } from './waits.ts';

export interface Story {
  readonly lines: readonly string[];
  /** What others can see was done, and how often: to be compared one by one. */
  readonly effects: Effects;
}

export async function tell(scenario: Scenario, playback: Playback): Promise<Story> {
  const inAnyOrder = scenario.inAnyOrder === true;
  const { runs, lives, world } = playback;
  const { place } = world;
  const [remote, mirror, moves, letters, leftFolders] = await Promise.all([
    readRepository(place.remote),
    readRepository(mirrorOf(playback)),
    countMoves(place.remote),
    readFile(place.letters, 'utf8').catch(() => ''),
    readdir(path.join(place.data, 'work')).catch(() => []),
  ]);
  const counts = new Map(runs.map(({ view, events }) => [view.id, inAnyOrder ? uncounted : counterOf(events)]));
  const name = namer(playback, counts, inAnyOrder);
  const lines = [
    ...runs.flatMap((run) => tellRun(run, counts.get(run.view.id) ?? uncounted)),
    ...tellRepository('remote', remote, counts),
    ...tellRepository('mirror', mirror, counts),
    ...(world.forge === null ? [] : tellForge(world.forge)),
    `runs: ${playback.runIds.length}`,
    ...leftFolders.map((folder) => `left work folder: ${folder}`),
    ...(lives.at(-1)?.ledger ?? []).flatMap((line) => tellLeft(line)),
  ].map(name);
  return {
    lines: inAnyOrder ? lines.toSorted() : lines,
    effects: countEffects({ remote, mirror, moves, letters, forge: world.forge }, name),
  };
}

/** The server's own bare repository of the scenario's project. */
export function mirrorOf({ runs, world }: Pick<Playback, 'runs' | 'world'>): string {
  return path.join(world.place.data, 'mirrors', `${runs[0]?.view.projectId ?? ''}.git`);
}

function tellRun({ label, view, events }: EndedRun, count: Count): readonly string[] {
  const title = label === '' ? 'run' : `run ${label}`;
  const told = events.filter((event) => !isBeside(event));
  // What a repeated call has cost is in the books, which are looked at for themselves.
  const { cost: _cost, ...shown } = { ...view, lastSequence: count(view.lastSequence) };
  const json = (value: unknown): string => withoutOwnReuse(JSON.stringify(value), view.id);
  return [
    ...told.map(({ id: _id, position: _position, sequence, ...event }) => {
      return `${title}: event ${json({ ...event, sequence: count(sequence) })}`;
    }),
    // In which order a view got its fields is a matter of time.
    ...Object.entries(shown)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([field, value]) => `${title}: ${field} ${json(value)}`),
  ];
}

/** Checks whose outcome a crash kept from the log are not run again, and say so; a run that is left in peace has nothing to say. */
function withoutOwnReuse(json: string, runId: string): string {
  return json.replaceAll(`,"reusedFrom":"${runId}"`, '');
}

/** The number that an event would have if no call had been booked and no baseline been made. */
type Count = (sequence: number) => number;

/** Of events whose order is a matter of time. */
const uncounted: Count = () => 0;

/** A call that is repeated is booked once more, and all that follows moves on by two. */
function counterOf(events: EndedRun['events']): Count {
  const beside = events.filter(isBeside).map(({ sequence }) => sequence);
  return (sequence) => sequence - beside.filter((other) => other <= sequence).length;
}

export function isOfTheBooks({ type }: { readonly type: string }): boolean {
  return type === 'CALL_BOOKED' || type === 'CALL_SETTLED';
}

/** Books, and the baseline, whose checks run beside planning: at which event they end is a matter of time. */
function isBeside({ type, payload }: { readonly type: string; readonly payload?: unknown }): boolean {
  if (isOfTheBooks({ type }) || type === 'BASELINE_RECORDED') return true;
  return (
    type === 'ACTIVITY_COMPLETED' && (payload as { readonly activity?: string } | undefined)?.activity === 'baseline'
  );
}

/** Lines of a file of a run's record, as if no call had been booked. */
function withoutBooks(file: string, lines: readonly string[], counts: ReadonlyMap<string, Count>): readonly string[] {
  const runId = /^\.autonomous\/runs\/([^/]+)\//.exec(file)?.[1] ?? '';
  const count = counts.get(runId);
  if (count === undefined) return lines;
  if (file.endsWith('/context.json')) {
    const counted = (key: string, value: unknown): unknown => {
      if (key === 'cost' || (key === 'reusedFrom' && value === runId)) return undefined;
      return key === 'sequence' && typeof value === 'number' ? count(value) : value;
    };
    return JSON.stringify(JSON.parse(lines.join('\n'), counted), null, 2).split('\n');
  }
  if (!file.endsWith('/events.jsonl')) return lines;
  return lines.flatMap((line) => {
    const event = JSON.parse(line) as RecordedLine;
    if (isBeside(event)) return [];
    const told = { ...event, sequence: count(event.sequence), ...chainOf(event, count) };
    return [withoutOwnReuse(JSON.stringify(told), runId)];
  });
}

interface RecordedLine {
  readonly type: string;
  readonly sequence: number;
  readonly payload?: unknown;
  readonly step?: { readonly first: number; readonly last: number; readonly context?: object };
}

/**
 * Place of a line in its step. Its hashes depend on ids and times, and on what is beside; the judge checks them by themselves.
 * The changes of a step depend on the order of events, where that is a matter of time.
 */
function chainOf({ step }: RecordedLine, count: Count) {
  if (step === undefined || count === uncounted) return { payloadHash: undefined, step: undefined };
  const { first, last, context } = step;
  const place = { first: count(first), last: count(last), ...(context && { context: Object.keys(context) }) };
  return { payloadHash: undefined, step: place };
}

/** A PDF holds the time at which it was made: that it is there is compared, and not its content. */
function linesOf(file: string, text: string, counts: ReadonlyMap<string, Count>): readonly string[] {
  if (file.endsWith('.pdf')) return ['a PDF'];
  // Its lines are told one by one.
  const told = text.replace(METRICS, '$10$20$30');
  return withoutBooks(file, told.trimEnd().split('\n'), counts);
}

/** Branches of engine-owned files end in the event that made them, and follow each other as these do. */
const inOrder = (branch: string): string =>
  branch.replace(/(?<=^autonomous-owned\/.*-)\d+(?=-\w+$)/, (sequence) => sequence.padStart(9, '0'));

function tellRepository(title: string, state: RepositoryState, counts: ReadonlyMap<string, Count>): readonly string[] {
  // The record last, whatever letter the id of a run begins with.
  const isRecord = (branch: string): number => (branch === RECORD_BRANCH ? 1 : 0);
  const branches = [...state.branches.keys()]
    .toSorted((a, b) => (inOrder(a) < inOrder(b) ? -1 : 1))
    .toSorted((a, b) => isRecord(a) - isRecord(b));
  return branches.flatMap((branch) => {
    const where = `${title}: ${branch}`;
    const history = state.historyOf(branch);
    const head = history.at(-1);
    const files = head === undefined ? [] : [...state.filesOf(head.tree)];
    const commits = branch === RECORD_BRANCH ? [] : history;
    return [
      ...commits.map(
        ({ subject, parents, effectKey, tree }) =>
          `${where}: commit '${subject}' on ${parents.length}, effect ${effectKey ?? 'none'}, files ${[...state.filesOf(tree).keys()].join(' ')}`,
      ),
      ...files
        // What agents said while they worked is said again when they begin again.
        .filter(([file]) => !file.endsWith('/transcript.jsonl'))
        .flatMap(([file, text]) => linesOf(file, text, counts).map((line) => `${where}: ${file}: ${line}`)),
    ];
  });
}

function tellLeft(line: LedgerLine): readonly string[] {
  if (!('left' in line)) return [];
  return [
    ...line.left.activities.map((key) => `left activity: ${key}`),
    ...line.left.timers.map((key) => `left timer: ${key}`),
  ];
}

/** What the outside has to show. */
interface Outside {
  readonly remote: RepositoryState;
  readonly mirror: RepositoryState;
  readonly moves: ReadonlyMap<string, number>;
  readonly letters: string;
  readonly forge: PointForge | null;
}

function countEffects({ remote, mirror, moves, letters, forge }: Outside, name: (text: string) => string): Effects {
  const commits = new Map<string, number>();
  // A commit that no branch leads to was made twice all the same.
  for (const { effectKey } of new Map([...mirror.commits, ...remote.commits]).values()) {
    if (effectKey === null) continue;
    const effect = name(withoutHashes(effectKey));
    commits.set(effect, (commits.get(effect) ?? 0) + 1);
  }
  const atForge = forge === null ? null : effectsAtForge(forge);
  const named = (counts: ReadonlyMap<string, number> = new Map()): ReadonlyMap<string, number> =>
    new Map([...counts].map(([what, count]) => [name(what), count]));
  const moved = [...moves].map(([branch, count]): [string, number] => [name(branch), count]);
  return {
    commit: commits,
    push: new Map(moved.filter(([branch]) => branch !== 'main' && branch !== RECORD_BRANCH)),
    merge: new Map(moved.filter(([branch]) => branch === 'main')),
    'pull request': named(atForge?.['pull request']),
    comment: named(atForge?.comment),
    'resolved thread': named(atForge?.['resolved thread']),
    'effect of an own workflow': new Map(
      [...Map.groupBy(letters.split('\n').slice(0, -1), name)].map(([key, times]) => [key, times.length]),
    ),
  };
}

/** Effects on another head have another key; told apart by their hashes, they could not be compared. */
function withoutHashes(key: string): string {
  return key.replace(HASH, '…');
}

const HASH = /\b[0-9a-f]{12,64}\b/g;
/** Ids of the stand-in, which counts over all points. */
const FORGE_ID =
  /(\b(?:PRRT|PRRC|PRR|PR|IC|E)_|\b#(?:discussion_r|issuecomment-|pullrequestreview-)|"forgeId": ?")\d+\b/g;
const TIME = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** In the log of a specification. */
const MINUTE = /\b20\d\d-\d\d-\d\d \d\d:\d\d\b/g;
/** Sums in a roadmap: a call that was cut off is made again, and costs again. */
const METRICS = /("metrics": \{\s{1,20}"costUsd": )[\d.]+(,\s{1,20}"inputTokens": )\d+(,\s{1,20}"outputTokens": )\d+/g;
const DAY = /\b20\d\d-\d\d-\d\d\b/g;
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
/** End of a key of a bibliography, which is made from an address. */
const BIBLIOGRAPHY_KEY = /(?<=-\d{4})-[0-9a-f]{10}\b/g;
/** How long something took, in the fields that tell it. */
const DURATION = /("(?:durationMs|elapsedMs|preparedMs|waitedMs)": ?)\d+/g;

/** Work that was under way at the end of a time limit. It is not stored, so a server that was killed does not know it. */
const UNDER_WAY = /,"during": ?\[[^\]]*\]|(?<=\{)"during": ?\[[^\]]*\],?| Under way was [^"]*? for the next ones\./g;

/** The same in the tables of reports. */
const SECONDS = /\| \d+\.\d \|/g;

/** Gives the same names to the same things, text by text; in any order, all hashes have one name. */
function namer(
  { runs, world }: Playback,
  counts: ReadonlyMap<string, Count>,
  inAnyOrder: boolean,
): (text: string) => string {
  const known: readonly (readonly [string, string])[] = [
    [world.place.folder, '<place>'],
    [new URL(world.models.baseUrl).host, '<models>'],
    [world.forge?.host ?? '<forge>', '<forge>'],
    [world.web?.origin.slice('http://'.length) ?? '<web>', '<web>'],
    [runs[0]?.view.projectId || '<project>', '<project>'],
    ...runs.map(({ view, label }) => [view.id, label === '' ? '<run>' : `<run ${label}>`] as const),
  ];
  const hashes = new Map<string, string>();
  const nameOf = (hash: string): string => {
    // Names of branches and folders have the first digits only.
    const start = hash.slice(0, 12);
    const given = hashes.get(start) ?? `<hash ${hashes.size + 1}>`;
    hashes.set(start, given);
    return given;
  };
  // Activities, gates and artifacts are named after the event that made them.
  const counted = (text: string): string =>
    runs.reduce(
      (named, { view: { id } }) =>
        named.replace(
          new RegExp(`${id}(/owned/|[/.]|-(?=\\d+-))(\\d+)\\b`, 'g'),
          (_whole, separator: string, sequence: string) => {
            return `${id}${separator}${counts.get(id)?.(Number(sequence)) ?? sequence}`;
          },
        ),
      text,
    );
  return (text) =>
    known
      .reduce((named, [what, as]) => named.replaceAll(what, as), counted(text))
      .replace(FORGE_ID, '$1<id>')
      .replace(BIBLIOGRAPHY_KEY, '-<key>')
      .replace(UUID, '<uuid>')
      .replace(TIME, '<time>')
      .replace(MINUTE, '<minute>')
      .replace(DAY, '<day>')
      .replace(UNDER_WAY, '')
      .replace(DURATION, '$10')
      .replace(SECONDS, '| 0.0 |')
      .replace(HASH, inAnyOrder ? () => '<hash>' : nameOf);
}

/** Short, for telling whether two stories are the same. */
export function fingerprint({ lines }: Story): string {
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 12);
}
