/** Finds faults of a playback by comparing it with the undisturbed one of the same scenario. */
import path from 'node:path';
import { renderEventLog, withChain } from '../src/documents/event-log.ts';
import { readContext } from '../src/documents/run-context.ts';
import { recordFolder } from '../src/record/record-check.ts';
import { readRecordedRun } from '../src/record/recorded-run.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import type { LedgerLine } from './ledger.ts';
import { type Playback, Unplayable } from './play.ts';
import type { Scenario } from './scenario.ts';
import { EFFECT_KINDS, type EffectKind } from './effects.ts';
import { isOfTheBooks, mirrorOf, type Story, tell } from './story.ts';
import { readRepository } from './repository-state.ts';
import { commitsNamedIn, RECORD_BRANCH } from './waits.ts';

export interface Fault {
  /** `unbooked`: a model was asked again although the store had no further attempt booked. */
  readonly kind: 'duplicate' | 'difference' | 'model' | 'unbooked' | 'unplayable';
  readonly what: string;
}

/** What an undisturbed playback came to, and how often it asked for what. */
export interface Reference {
  readonly story: Story;
  readonly calls: ReadonlyMap<string, number>;
  readonly requests: ReadonlyMap<string, number>;
  /** By activity and effect, over the whole run, and at most within one attempt. */
  readonly asks: ReadonlyMap<string, number>;
  readonly askedAtOnce: ReadonlyMap<string, number>;
  /** Requests in the books that were never settled: those that a cancelled run had under way. */
  readonly openInBooks: number;
  /** Boundaries in their order, each with the place of the run's machine then. */
  readonly passed: readonly Passed[];
}

export interface Passed {
  readonly boundary: string;
  /** The same boundary in the same state is the same situation, in whichever scenario. */
  readonly situation: string;
}

export interface Verdict {
  readonly faults: readonly Fault[];
  /** Calls of models that were begun again after a crash, and the requests that this took. */
  readonly repeatedCalls: number;
  readonly repeatedRequests: number;
  /** How often others saw each kind of effect, and how many names of effects came up too often. */
  readonly effects: Readonly<Record<EffectKind, { readonly seen: number; readonly duplicated: number }>>;
}

/** @throws {Unplayable} when the runs did not come to what they say, or not to the end that the scenario has */
export async function refer(scenario: Scenario, playback: Playback): Promise<Reference> {
  const [fault] = await brokenPromises(scenario, playback);
  if (fault) throw new Unplayable(fault.what);
  const ledger = playback.lives.flatMap((life) => life.ledger);
  return {
    story: await tell(scenario, playback),
    ...countModel(playback),
    asks: countAsks(ledger),
    askedAtOnce: countAsksAtOnce(ledger),
    openInBooks: countOpen(booksOf(playback)),
    passed: situations(ledger),
  };
}

export async function judge(scenario: Scenario, reference: Reference, playback: Playback): Promise<Verdict> {
  const crashes = playback.lives.filter(({ end }) => end === 'killed').length;
  const story = await tell(scenario, playback);
  const duplicates = countDuplicates(reference.story, story);
  const { calls, requests } = countModel(playback);
  const repeatedCalls = excess(calls, reference.calls);
  const repeatedRequests = excess(requests, reference.requests);
  const faults: Fault[] = [
    ...duplicates,
    ...missingEffects(reference.story, story),
    ...differences(reference.story, story),
    ...costFaults(scenario, reference, playback),
    ...repeatedEffects(reference, playback, crashes),
    ...(await brokenPromises(scenario, playback)),
    ...(await recordFaults(playback)),
    ...waitFaults(playback),
    ...heardFaults(playback),
    ...logFaults(playback),
  ];
  return {
    faults,
    repeatedCalls: sum(repeatedCalls),
    repeatedRequests: sum(repeatedRequests),
    effects: Object.fromEntries(
      EFFECT_KINDS.map((kind) => [
        kind,
        { seen: sum(story.effects[kind]), duplicated: duplicates.filter(({ effect }) => effect === kind).length },
      ]),
    ) as Verdict['effects'], // every kind is there
  };
}

/** Faults of model calls: more repetitions than the crashes explain, calls without a reservation, wrong bookings. */
export function costFaults(scenario: Scenario, reference: Reference, playback: Playback): readonly Fault[] {
  const crashes = playback.lives.filter(({ end }) => end === 'killed').length;
  return [
    ...modelFaults(scenario, reference, playback, crashes),
    ...bookingFaults(playback),
    ...bookFaults(reference, playback, crashes),
  ];
}

/** Boundaries that one server life passed, each with its run's state; a boundary without a run has no state. */
export function situations(ledger: readonly LedgerLine[]): readonly Passed[] {
  const states = new Map<string, string>();
  const passed: Passed[] = [];
  for (const line of ledger) {
    if ('entered' in line) states.set(labelOf(line.entered), withoutLabel(line.entered));
    if (!('passed' in line)) continue;
    const boundary = line.passed;
    const kind = withoutLabel(boundary).replace(/#\d+$/, '');
    passed.push({ boundary, situation: `${states.get(labelOf(boundary)) ?? ''} ${kind}` });
  }
  return passed;
}

function labelOf(name: string): string {
  return /^([a-z0-9-]+)\//.exec(name)?.[1] ?? '';
}

function withoutLabel(name: string): string {
  return name.replace(/^[a-z0-9-]+\//, '');
}

function countDuplicates(expected: Story, told: Story): readonly (Fault & { readonly effect: EffectKind })[] {
  return EFFECT_KINDS.flatMap((effect) =>
    [...told.effects[effect]]
      .filter(([name, count]) => count > (expected.effects[effect].get(name) ?? 0))
      .map(([name, count]) => ({
        kind: 'duplicate' as const,
        effect,
        what: `${effect} ${name}: ${count} times instead of ${expected.effects[effect].get(name) ?? 0}`,
      })),
  );
}

function missingEffects(expected: Story, told: Story): readonly Fault[] {
  return EFFECT_KINDS.flatMap((effect) =>
    [...expected.effects[effect]]
      .filter(([name, count]) => (told.effects[effect].get(name) ?? 0) < count)
      .map(([name, count]): Fault => ({
        kind: 'difference',
        what: `${effect} ${name}: ${told.effects[effect].get(name) ?? 0} times instead of ${count}`,
      })),
  );
}

/** The first lines that differ, in both directions. */
const SHOWN = 4;

function differences(expected: Story, told: Story): readonly Fault[] {
  const missing = without(expected.lines, told.lines);
  const added = without(told.lines, expected.lines);
  const moved =
    missing.length + added.length === 0 ? told.lines.findIndex((line, index) => line !== expected.lines[index]) : -1;
  const lines = [
    ...missing.slice(0, SHOWN).map((line) => `- ${cut(line)}`),
    ...added.slice(0, SHOWN).map((line) => `+ ${cut(line)}`),
    ...(moved === -1
      ? []
      : [
          'the same lines in another order, from here on:',
          `- ${cut(expected.lines[moved] ?? '')}`,
          `+ ${cut(told.lines[moved] ?? '')}`,
        ]),
  ];
  if (lines.length === 0) return [];
  return [
    { kind: 'difference', what: [`${missing.length} lines missing, ${added.length} added`, ...lines].join('\n') },
  ];
}

/** Lines that are there more often than in `others`. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

function cut(line: string): string {
  return line.length <= 600 ? line : `${line.slice(0, 600)}…`;
}

/** A call is a role's conversation, known by its first request; a request by its place in it. */
function countModel({ world }: Playback): Pick<Reference, 'calls' | 'requests'> {
  const calls = new Map<string, number>();
  const requests = new Map<string, number>();
  for (const { model, role, call, turn } of world.requests) {
    const name = `${model} ${role} ${call}`;
    if (turn === 1) add(calls, name);
    add(requests, `${name} turn ${turn}`);
  }
  return { calls, requests };
}

/** A crash repeats the call that was under way in a run and no other, each of its requests once. */
function modelFaults(scenario: Scenario, reference: Reference, playback: Playback, crashes: number): readonly Fault[] {
  const { calls, requests } = countModel(playback);
  const faults: string[] = [];
  const repeated = sum(excess(calls, reference.calls));
  const allowed = crashes * playback.runs.length;
  if (repeated > allowed) faults.push(`${repeated} model calls were repeated for ${crashes} crashes`);
  for (const [name, count] of excess(requests, reference.requests)) {
    if (count > crashes) faults.push(`the model request ${name} was repeated ${count} times for ${crashes} crashes`);
  }
  for (const [name, count] of reference.calls) {
    if (scenario.endsOnTime !== true && (calls.get(name) ?? 0) < count)
      faults.push(`the model call ${name} is missing`);
  }
  return faults.map((what) => ({ kind: 'model', what }));
}

/** Each server that asks a model for an activity has booked an attempt of its own for it before. */
function bookingFaults({ lives }: Playback): readonly Fault[] {
  const faults: Fault[] = [];
  const booked = new Map<string, number>();
  for (const { ledger } of lives) {
    const asked = new Map<string, number>();
    for (const line of ledger) {
      if (!('asks' in line)) continue;
      const { key, attempt } = line.asks;
      if (attempt <= (booked.get(key) ?? 0))
        faults.push({
          kind: 'unbooked',
          what: `the model was asked for ${key} while attempt ${attempt} was booked, as before the crash`,
        });
      asked.set(key, attempt);
    }
    for (const [key, attempt] of asked) booked.set(key, attempt);
  }
  return faults;
}

/** Each request to a model is in the books of its run; only a crash leaves one there that was not sent, or of which nobody knows. */
function bookFaults({ openInBooks }: Reference, playback: Playback, crashes: number): readonly Fault[] {
  const { runs, world } = playback;
  const books = booksOf(playback);
  const booked = countBooked(books);
  const open = countOpen(books);
  const sent = world.requests.length;
  const most = crashes * runs.length;
  const faults = [
    ...(booked < sent ? [`${sent} requests were sent to models and ${booked} are in the books`] : []),
    ...(booked > sent + most
      ? [`${booked} requests are in the books and ${sent} were sent, for ${crashes} crashes`]
      : []),
    ...(open > openInBooks + most ? [`${open} requests in the books were never settled, for ${crashes} crashes`] : []),
  ];
  return faults.map((what) => ({ kind: 'unbooked', what }));
}

function booksOf({ runs }: Playback) {
  return runs.flatMap(({ events }) => events.filter(isOfTheBooks));
}

function countBooked(books: ReturnType<typeof booksOf>): number {
  return books.filter(({ type }) => type === 'CALL_BOOKED').length;
}

function countOpen(books: ReturnType<typeof booksOf>): number {
  return 2 * countBooked(books) - books.length;
}

/** How often each activity began each effect. */
function countAsks(ledger: readonly LedgerLine[]): ReadonlyMap<string, number> {
  const asks = new Map<string, number>();
  for (const name of effectsBegun(ledger)) if (name.effect !== null) add(asks, name.effect);
  return asks;
}

/** The most that one attempt of an activity began an effect. */
function countAsksAtOnce(ledger: readonly LedgerLine[]): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  let attempt = new Map<string, number>();
  for (const { activity, effect } of effectsBegun(ledger)) {
    if (effect === null) attempt = new Map([...attempt].filter(([name]) => !name.startsWith(`${activity}.`)));
    else {
      add(attempt, effect);
      most.set(effect, Math.max(most.get(effect) ?? 0, attempt.get(effect) ?? 0));
    }
  }
  return most;
}

/** Attempts, and the effects that they begin: `effect` is `null` where an attempt begins. */
function* effectsBegun(
  ledger: readonly LedgerLine[],
): Generator<{ readonly activity: string; readonly effect: string | null }> {
  for (const line of ledger) {
    const [, activity = '', what] =
      /^(.+)\.(commit|push|fetch|perform|forge\.[\w-]+)\.before(?:#\d+)?$/.exec('passed' in line ? line.passed : '') ??
      [];
    if (what !== undefined && activity !== 'api' && activity !== 'issues')
      yield { activity, effect: what === 'perform' ? null : `${activity}.${what}` };
  }
}

/** An effect that is asked for again is found to be there, but a crash makes an activity ask for it once more and no oftener. */
function repeatedEffects(reference: Reference, { lives }: Playback, crashes: number): readonly Fault[] {
  const asks = countAsks(lives.flatMap(({ ledger }) => ledger));
  return [...excess(asks, reference.asks)].flatMap(([name, count]): Fault[] =>
    count > crashes * (reference.askedAtOnce.get(name) ?? 1)
      ? [{ kind: 'difference', what: `${name} was asked for ${count} times more, for ${crashes} crashes` }]
      : [],
  );
}

/** Whatever the undisturbed playback came to: a run ends as it should, and what it says of the remote is there. */
export async function brokenPromises(scenario: Scenario, { runs, world }: Playback): Promise<readonly Fault[]> {
  const [remote, mirror] = await Promise.all([
    readRepository(world.place.remote),
    readRepository(mirrorOf({ runs, world })),
  ]);
  const has = (branch: string, commit: string): boolean => remote.historyOf(branch).some(({ id }) => id === commit);
  const endOf = (wanted: string): string =>
    scenario.children?.find(({ label }) => label === wanted)?.ends ?? scenario.ends ?? 'completed';
  const promises = runs.flatMap(({ label, view: { id, projectId, status, published, merged } }) => [
    { what: `run ${id} ended ${status}`, kept: status === endOf(label) },
    { what: `run ${id} pushed nothing`, kept: status !== 'completed' || projectId === '' || published !== undefined },
    {
      what: `run ${id} says that it ${published?.pushed === false ? 'left' : 'pushed'} ${published?.commit ?? ''}, and the ${published?.pushed === false ? "mirror's" : "remote's"} branch is elsewhere`,
      kept:
        published === undefined ||
        (published.pushed ? remote : mirror).branches.get(published.branch) === published.commit,
    },
    {
      what: `run ${id} says that it merged ${merged?.commit ?? ''}, and the remote's base has no such commit`,
      kept: merged === undefined || has(merged.baseBranch, merged.commit),
    },
  ]);
  return promises.filter(({ kept }) => !kept).map(({ what }): Fault => ({ kind: 'difference', what }));
}

/**
 * The record in git has each event as the server stores it, with its link of the hash chain, and leads to the commits of its
 * runs. No commit of it changes nothing.
 */
export async function recordFaults({ runs, world }: Playback): Promise<readonly Fault[]> {
  const [remote, mirror, written] = await Promise.all([
    readRepository(world.place.remote),
    readRepository(mirrorOf({ runs, world })),
    logsOf({ runs, world }),
  ]);
  const record = remote.firstParentsOf(RECORD_BRANCH);
  const idle = record.filter(({ tree }, index) => index > 0 && record[index - 1]?.tree === tree);
  const files = remote.filesOf(record.at(-1)?.tree ?? '');
  const reached = new Set(remote.historyOf(RECORD_BRANCH).map(({ id }) => id));
  // Without a project there is no git to record a run in.
  const differences = runs
    .filter(({ view }) => view.projectId !== '')
    .flatMap(({ view: { id }, events }) => [
      ...faultsOfRecord(id, files, written.get(id)),
      ...record
        .filter(({ tree }) => !(written.get(id) ?? '').startsWith(remote.filesOf(tree).get(logPath(id)) ?? ''))
        .map((commit) => `the record's commit ${commit.id} has other events of run ${id} than the last one`),
      ...[...commitsNamedIn(events)]
        .filter((commit) => mirror.commits.has(commit) && !reached.has(commit))
        .map((commit) => `the record does not lead to commit ${commit} of run ${id}`),
    ]);
  return [
    ...idle.map(({ id }): Fault => ({ kind: 'duplicate', what: `the record's commit ${id} changes nothing` })),
    ...differences.map((what): Fault => ({ kind: 'difference', what })),
  ];
}

function* faultsOfRecord(
  runId: string,
  files: ReadonlyMap<string, string>,
  written: string | undefined,
): Generator<string> {
  const log = files.get(logPath(runId)) ?? '';
  if (log !== written)
    yield `the record of run ${runId} in git is not its events: ${firstDifference(log, written ?? '')}`;
  const context = readContext(files.get(`${recordFolder(runId)}/context.json`) ?? '');
  const read = context.ok ? readRecordedRun(runId, log, context.tip) : context;
  if (!read.ok) yield `the record of run ${runId} in git cannot be read back: ${read.message}`;
}

function logPath(runId: string): string {
  return `${recordFolder(runId)}/events.jsonl`;
}

function firstDifference(recorded: string, written: string): string {
  const [ours, theirs] = [recorded.split('\n'), written.split('\n')];
  const at = theirs.findIndex((line, index) => line !== ours[index]);
  const line = at === -1 ? theirs.length : at;
  return `line ${line + 1} is ${cut(ours[line] ?? '')} instead of ${cut(theirs[line] ?? '')}`;
}

/** `events.jsonl` of each run as it follows from what the clients were told and from the chain in the database. */
async function logsOf({ runs, world }: Pick<Playback, 'runs' | 'world'>): Promise<ReadonlyMap<string, string>> {
  const store = openSqliteEventStore({ file: path.join(world.place.data, 'orchestrator.db') });
  try {
    const logs = runs.map(async ({ view: { id }, events }): Promise<[string, string]> => {
      const rendered = renderEventLog(events);
      return [id, withChain(rendered, rendered, await store.readSteps(id))];
    });
    return new Map(await Promise.all(logs));
  } finally {
    await store.close();
  }
}

/** A run that waits, for people or for the next server, has its commits on the remote. */
export function waitFaults({ lives }: Playback): readonly Fault[] {
  return lives.flatMap(({ waits }) => waits.map((what): Fault => ({ kind: 'difference', what })));
}

/** The feed told each event once and in order, over all servers. */
export function heardFaults({ heard, runs }: Playback): readonly Fault[] {
  const told = heard.map(({ id }) => id).join(' ');
  const stored = runs
    .flatMap(({ events }) => events)
    .toSorted((a, b) => a.position - b.position)
    .map(({ id }) => id)
    .join(' ');
  return told === stored
    ? []
    : [{ kind: 'difference', what: `the feed told ${heard.length} events, not each stored one once and in order` }];
}

const ERROR = 50;

/** An error in the log is nothing that a crash may leave behind. */
export function logFaults({ lives }: Playback): readonly Fault[] {
  return lives.flatMap(({ log }) =>
    log
      .split('\n')
      .filter((line) => line !== '')
      .filter((line) => !line.startsWith('{') || (JSON.parse(line) as { level: number }).level >= ERROR)
      .map((line): Fault => ({ kind: 'difference', what: `a server logged: ${cut(line)}` })),
  );
}

function excess(
  counts: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  return new Map(
    [...counts]
      .map(([name, count]): [string, number] => [name, count - (expected.get(name) ?? 0)])
      .filter(([, count]) => count > 0),
  );
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
