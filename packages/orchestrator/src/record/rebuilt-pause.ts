/**
 * The pause of a run that comes from its record in git. Whoever can push there could have written all of it, so it says what applies
 * when the run goes on. What acts is shown whole, or the run does not go on; all of it is plain text.
 */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import {
  Conflict,
  FINAL_STATUSES,
  type JsonObject,
  type JsonValue,
  type Project,
  type RunConfig,
  type RunView,
  showHiddenInLine,
  TerminalFailure,
} from '@autonomous/shared';
import type { WorkflowRegistry } from '../core/registry.ts';
import { isOwnEvent } from '../core/vocabulary.ts';
import { runIdOf } from '../core/run-id.ts';
import { outcomeOfChild } from '../engine/families/child-outcome.ts';
import type { LoggedEvent, PauseOf, PauseText, RecordedState } from '../engine/rebuilt/rebuilt-pause.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Repository, TreeChange } from '../repository/repository.ts';
import { recordedOutput } from './import-run.ts';
import { type RecordedChanges, recordedChanges, textsIn } from './recorded-changes.ts';

/** Most characters that are shown of a name, a decision or another value that does not act. */
const MOST_SHOWN = 300;
/** Most characters of all that applies, each value of which is shown whole. */
const MOST_APPLYING = 1_500_000;
/** Value of a setting that nobody has asked for, before a run is prepared. */
const NOT_SAID = 'as the project and the server say';
/** Most bytes of a file that is shown. Of a longer one, its length is. */
const MOST_OF_FILE = 100_000;
/** Characters of events that are read for it. They have numbers, digests and times beside what is shown. */
const MOST_READ = 4 * MOST_APPLYING;
const EVENTS_AT_ONCE = 200;
/** Fields within fields that are shown. */
const MOST_DEPTH = 100;
/** Decisions that are shown, the newest. */
const DECISIONS_SHOWN = 20;

export interface Rebuilt {
  readonly view: RunView;
  /** As it was stored; `null` where the workflow needs none. */
  readonly project: Project | null;
  readonly state: RecordedState;
  /** `null`: the run has no project. */
  readonly changes: RecordedChanges | null;
  /** Events that activities read, of the run and of others that its state names. `null`: more than can be shown. Default: none. */
  readonly read?: readonly ReadEvent[] | null;
  /** Files that agents get, by their ids. Default: none are there. */
  readonly files?: ReadonlyMap<string, string>;
}

interface ReadEvent {
  /** Type, after the run where it is another one. */
  readonly what: string;
  readonly payload: JsonObject;
}

export interface RecordReads {
  readonly store: Pick<EventStore, 'getProject' | 'listChildren' | 'loadView' | 'readRun' | 'tipOf'>;
  readonly repository: Parameters<typeof recordedChanges>[0] & Pick<Repository, 'branchHead'>;
  readonly workflows: Pick<WorkflowRegistry, 'find' | 'isRead'>;
  readonly uploads: { get(id: string): Promise<{ readonly path: string; readonly bytes: number } | null> };
}

/** The pause of a run of the store that comes from a record. */
export function pauseOfRecord(reads: RecordReads): PauseOf {
  const { store, repository } = reads;
  const known = new KnownRuns(reads);
  return async (recordedView, recorded) => {
    const view = { ...recordedView, config: actingConfig(recordedView, recorded) };
    const project = await store.getProject(view.projectId);
    const [children, starts] = [await childrenOf(known, view, recorded), await startCommits(reads, project, view)];
    if (children === null || starts === null) return tooMuch(view, decidedIn(view));
    const ended = children.filter(({ status }) => FINAL_STATUSES.has(status));
    const outcomes = await Promise.all(
      ended.map(async (child) => ({ [`child run ${child.id}`]: await known.outcomeOf(child) })),
    );
    const state = { ...recorded, inputs: [...recorded.inputs, ...outcomes] };
    const changes =
      project === null ? null : await recordedChanges(repository, project, { view, children, state, starts });
    const [read, files] = await Promise.all([eventsRead(known, reads, view, children, state), filesIn(reads, state)]);
    return rebuiltPause({ view, project, state, changes, read, files });
  };
}

/** Runs above a run, or before a fork, that are looked at. */
const MOST_RUNS = 50;

/**
 * The configuration as it acts: of a run that is not prepared, what was asked for alone. The project and the server say the rest when it
 * is.
 */
function actingConfig({ config, baseCommit, parent }: RunView, { start, context, inputs }: RecordedState): RunConfig {
  // An activity that is open has what it was given, whatever the state says since.
  const asked = [...inputs, context, start]
    .filter((each) => isFields(each ?? undefined))
    .map((each) => (each as JsonObject)['requestedConfig'])
    .find((each) => each !== undefined);
  if (baseCommit !== undefined || !isFields(asked)) return config;
  const git = isFields(asked['git']) ? asked['git'] : {};
  const baseBranch = parent === undefined ? (git['baseBranch'] ?? '') : config.git.baseBranch;
  // A request has some of the fields of a configuration.
  return { commands: {}, ...asked, git: { ...git, baseBranch } } as unknown as RunConfig;
}

const isFields = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Commits at which the run begins, and at which those above it say that they started: agents get the guidance in them. `null`: there are
 * too many runs above it.
 */
async function startCommits(
  { store, repository }: RecordReads,
  project: Project | null,
  view: RunView,
): Promise<readonly string[] | null> {
  const commits: string[] = [];
  const parent = view.parent === undefined ? null : await store.loadView(view.parent.runId);
  // A child run that is not prepared begins where its parent is.
  if (parent !== null && view.baseCommit === undefined) {
    const inMirror =
      project === null || parent.branch === '' ? null : await repository.branchHead(project, parent.branch);
    for (const each of [inMirror, parent.headCommit, parent.baseCommit])
      if (typeof each === 'string') commits.push(each);
  }
  const seen = new Set<string>();
  for (let at: RunView | null = view; at !== null && !seen.has(at.id);) {
    if (seen.size === MOST_RUNS) return null;
    seen.add(at.id);
    for (const { type, payload } of await store.readRun(at.id, 0))
      if (type === 'RUN_CONFIGURED') commits.push(String(payload['baseCommit']));
    at = at.parent === undefined ? null : await store.loadView(at.parent.runId);
  }
  return commits;
}

/**
 * Child runs whose results the run can take: runs with it, or with a source of its fork, as parent, and runs under the keys of its open
 * activities, whatever their parent. Results that were delivered before are included. `null`: it was forked too often.
 */
async function childrenOf(
  known: KnownRuns,
  view: RunView,
  { open }: RecordedState,
): Promise<readonly RunView[] | null> {
  const ids = new Set(open.map(runIdOf));
  const seen = new Set<string>();
  for (let at: RunView | null = view; at !== null && !seen.has(at.id);) {
    if (seen.size === MOST_RUNS) return null;
    seen.add(at.id);
    for (const id of await known.childrenOf(at.id)) ids.add(id);
    at = at.forkedFrom === undefined ? null : await known.view(at.forkedFrom.runId);
  }
  const views = await Promise.all([...ids].map((id) => known.view(id)));
  return views.filter((child) => child !== null).filter(({ id }) => id !== view.id);
}

/** Runs that are kept for other pauses, and characters of the events of each. */
const MOST_KNOWN = 300;
const MOST_KEPT = 100_000;

interface KnownRun {
  readonly sequence: number;
  readonly view: RunView;
  outcome?: Promise<JsonValue>;
}

/** Other runs that pauses look at, as far as they are the same still: many may name the same ones, and each is read from its first event. */
class KnownRuns {
  readonly #reads: RecordReads;
  readonly #runs = new Map<string, KnownRun>();
  readonly #events = new Map<string, readonly LoggedEvent[]>();

  constructor(reads: RecordReads) {
    this.#reads = reads;
  }

  async view(id: string): Promise<RunView | null> {
    return (await this.#run(id))?.view ?? null;
  }

  /** Ids of the runs that it started. */
  async childrenOf(id: string): Promise<readonly string[]> {
    return (await this.#reads.store.listChildren(id)).map((child) => child.id);
  }

  /** The outcome of a child run that has ended. */
  async outcomeOf(child: RunView): Promise<JsonValue> {
    const run = await this.#run(child.id);
    if (run === null) return outcomeOf(this.#reads, child);
    if (run.outcome !== undefined) return run.outcome;
    const outcome = outcomeOf(this.#reads, child);
    run.outcome = outcome;
    outcome.catch(() => delete run.outcome);
    return outcome;
  }

  /** Its own events of the record that activities read; `null`: more than are read. */
  async eventsOf(id: string): Promise<readonly LoggedEvent[] | null> {
    const { store, workflows } = this.#reads;
    const { rebuiltUpTo = 0 } = (await this.view(id)) ?? {};
    const before = this.#events.get(`${id}/${rebuiltUpTo}`);
    if (before !== undefined) return before;
    const events: LoggedEvent[] = [];
    let length = 0;
    for (let after = 0; after < rebuiltUpTo; after += EVENTS_AT_ONCE) {
      for (const event of await store.readRun(id, after, Math.min(EVENTS_AT_ONCE, rebuiltUpTo - after))) {
        if (!isOwnEvent(event.type) || !workflows.isRead(event.type)) continue;
        events.push(event);
        length += lengthOf(event);
      }
      if (length > MOST_READ) return null;
    }
    if (length <= MOST_KEPT) keep(this.#events, `${id}/${rebuiltUpTo}`, events);
    return events;
  }

  async #run(id: string): Promise<KnownRun | null> {
    const { store } = this.#reads;
    const sequence = (await store.tipOf(id))?.sequence;
    if (sequence === undefined) return null;
    const known = this.#runs.get(id);
    if (known?.sequence === sequence) return known;
    const view = await store.loadView(id);
    if (view === null) return null;
    const run: KnownRun = { sequence, view };
    keep(this.#runs, id, run);
    return run;
  }
}

const lengthOf = ({ payload }: LoggedEvent): number => JSON.stringify(payload).length;

/** Keeps a value in place of the oldest ones. */
function keep<Value>(known: Map<string, Value>, key: string, value: Value): void {
  known.delete(key);
  known.set(key, value);
  for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest);
}

async function outcomeOf({ store, workflows }: RecordReads, child: RunView): Promise<JsonValue> {
  try {
    return await outcomeOfChild(store, child, () => recordedOutput(store, workflows, child));
  } catch (error) {
    if (error instanceof TerminalFailure || error instanceof Conflict) return { failure: error.message };
    throw error;
  }
}

/**
 * Events that activities read as they are, of the run, of its child runs, and of other runs that its state names. What this server made
 * is left out of other runs.
 */
async function eventsRead(
  known: KnownRuns,
  { workflows }: RecordReads,
  view: RunView,
  children: readonly RunView[],
  { context, inputs, events }: RecordedState,
): Promise<readonly ReadEvent[] | null> {
  const ids = new Set([...children.map(({ id }) => id), ...[...textsIn([context, ...inputs])].filter(isShort)]);
  ids.delete(view.id);
  const own = events.filter(({ type }) => workflows.isRead(type));
  const read: ReadEvent[] = own.map(({ type, payload }) => ({ what: type, payload }));
  let length = own.reduce((sum, event) => sum + lengthOf(event), 0);
  for (const id of ids) {
    const ofRun = await known.eventsOf(id);
    if (ofRun === null) return null;
    for (const event of ofRun) {
      read.push({ what: `run ${id}: ${event.type}`, payload: event.payload });
      length += lengthOf(event);
    }
    if (length > MOST_READ) return null;
  }
  return length > MOST_READ ? null : read;
}

/** Texts of the files that people gave with their answers, or a word why one cannot be shown, by id. */
async function filesIn({ uploads }: RecordReads, { context, inputs }: RecordedState): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const id of new Set([...textsIn([context, ...inputs])].filter(isDigest))) {
    const file = await uploads.get(id);
    if (file !== null) texts.set(id, await shownFile(file));
  }
  return texts;
}

const isShort = (text: string): boolean => text.length <= 100;
const isDigest = (text: string): boolean => /^[\da-f]{64}$/.test(text);

async function shownFile({ path, bytes }: { readonly path: string; readonly bytes: number }): Promise<string> {
  const unseen = `not shown: ${bytes} bytes`;
  if (bytes > MOST_OF_FILE) return unseen;
  const content = await readFile(path);
  return isUtf8(content) && !content.includes(0) ? content.toString('utf8') : `${unseen} that are no text`;
}

export function rebuiltPause({ view, project, state, changes, read = [], files = new Map() }: Rebuilt): PauseText {
  const rows = new Rows();
  for (const row of applying(view, project, state.context ?? {})) rows.add(row);
  for (const row of otherwiseInState(view, project, state)) rows.add(row);
  for (const row of changedFiles(view, changes)) rows.add(row);
  addOtherData(rows, view, state, read ?? [], files);
  for (const line of state.told) rows.add(['told to agents', line]);
  const decided = decidedIn(view);
  if (rows.isTooMuch || read === null || changes?.isTooMuch === true) return tooMuch(view, decided);
  const wayOn = FINAL_STATUSES.has(view.status)
    ? ''
    : ' Look at what applies and was decided, then retry to go on from there, or cancel the run.';
  return {
    reason: 'rebuilt',
    message: `${originOf(view)}${wayOn}`,
    details: { applies: [...rows.shown], decided },
    ...(changes === null || changes.missing.length === 0 ? {} : { missing: changes.missing }),
  };
}

function tooMuch(view: RunView, decided: JsonObject[]): PauseText {
  return {
    reason: 'rebuilt',
    message: `${originOf(view)} More applies than the ${MOST_APPLYING} characters that a person can be shown: it cannot go on. Cancel it and start another run.`,
    details: { decided },
    isTooLong: true,
  };
}

function originOf({ lastSequence, currentStage, gate, forkedFrom }: RunView): string {
  const stage = currentStage === null ? '' : `, in stage ${shown(currentStage)}`;
  const open = gate === null ? '' : `, at its gate '${shown(gate.kind)}'`;
  const source = forkedFrom === undefined ? 'The run' : `The run goes on from run ${shown(forkedFrom.runId)}, which`;
  return `${source} was rebuilt from its record in git at event ${forkedFrom?.at ?? lastSequence}${stage}${open}, and anybody who can push there could have written it.`;
}

type Row = readonly [what: string, value: string];

/** All that applies, up to what a person can be shown. */
class Rows {
  readonly shown: { readonly what: string; readonly value: string }[] = [];
  readonly values = new Set<string>();
  isTooMuch = false;
  #length = 0;

  add([what, value]: Row): void {
    this.isTooMuch ||= this.#length + what.length + value.length > MOST_APPLYING;
    if (this.isTooMuch) return;
    const row = { what: whole(what), value: whole(value) };
    // Hidden characters are shown by their names, so that the row may be longer than its text.
    this.#length += row.what.length + row.value.length;
    this.isTooMuch = this.#length > MOST_APPLYING;
    this.shown.push(row);
    this.values.add(value);
  }
}

function changedFiles({ baseCommit, headCommit }: RunView, changes: Rebuilt['changes']): readonly Row[] {
  if (changes === null) return [];
  const { baseBranch, isBesideBase, files, missing } = changes;
  const count = files.length === 0 ? 'none' : `${files.length} files that ${baseBranch} does not have so`;
  return [
    ['base commit', `${baseCommit ?? 'none yet'}${isBesideBase ? `, which is not in ${baseBranch}` : ''}`],
    ['commit so far', headCommit ?? 'none yet'],
    ...missing.map((commit) => ['changes so far', `unknown: commit ${commit} is not here`] as const),
    ['changes so far', count],
    ...files.map(({ path, before, after }): Row => {
      if (after === null) return [`removed ${kindOf(before)}`, path];
      if (before === null) return [`added ${kindOf(after)}`, path];
      const was = kindOf(before) === kindOf(after) ? '' : `, which was a ${kindOf(before)}`;
      return [`changed ${kindOf(after)}${was}`, path];
    }),
  ];
}

const KINDS: Readonly<Record<string, string>> = {
  '100755': 'executable file',
  '120000': 'link',
  '160000': 'submodule',
};
const kindOf = (side: TreeChange['before']): string => KINDS[side?.mode ?? ''] ?? 'file';

/**
 * All that no other row shows of the configuration, of what the request asks of it, and of the state of the run: plans, requests, commands,
 * addresses, remarks, whatever a field calls them. Of the state, numbers, digests and times are left out, but for digests of files that
 * agents get.
 */
function addOtherData(
  rows: Rows,
  view: RunView,
  { start, context, inputs }: RecordedState,
  read: readonly ReadEvent[],
  files: ReadonlyMap<string, string>,
): void {
  // A place that has the same twice, as the start and the state have, is shown once.
  const shownAt = new Map<string, string>(
    Object.entries({
      runId: view.id,
      projectId: view.projectId,
      request: view.originalRequest,
      branch: view.branch,
      'workflow.name': view.workflow.name,
    }),
  );
  const add = (what: string, place: string, value: JsonValue, isSetting: boolean): void => {
    for (const [at, text, acts] of leavesOf(rows, place, value, 0)) {
      if (!(isSetting || acts) || shownAt.get(at) === text) continue;
      shownAt.set(at, text);
      rows.add([`${what}${at}`, text]);
      const content = isFileAt(at) ? files.get(text) : undefined;
      if (content !== undefined) rows.add([`${what}${at.replace(/id$/, 'content')}`, content]);
    }
  };
  const { config: machines = {}, requestedConfig: asked = {}, input: taken = {}, ...data } = { ...context };
  const { config: first = {}, requestedConfig = {}, input: given = {}, ...begun } = start;
  for (const config of [view.config as unknown as JsonObject, machines, first]) add('', 'config', config, true);
  for (const request of [requestedConfig, asked])
    if (Object.keys(request ?? {}).length > 0) add('asked for: ', '', request, true);
  // Numbers and switches of the workflow's input act, too.
  for (const values of [given, taken]) if (Object.keys(values ?? {}).length > 0) add('', 'input', values, true);
  add('', '', data, false);
  for (const input of inputs) add('next: ', '', input, false);
  add('start: ', '', begun, false);
  // The state has most of what its events say.
  const known = new Set(rows.values);
  for (const [index, { what, payload }] of read.entries())
    for (const [at, text, acts] of leavesOf(rows, '', payload, 0))
      if (acts && !known.has(text)) rows.add([`${what} ${index + 1}: ${at}`, text]);
}

/** Values within a value, each with its place, and whether it is a text or a switch that is on. None once there are too many to be shown. */
function* leavesOf(
  rows: Rows,
  place: string,
  value: JsonValue,
  depth: number,
): Generator<readonly [place: string, text: string, acts: boolean]> {
  rows.isTooMuch ||= depth > MOST_DEPTH;
  if (rows.isTooMuch) return;
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
    for (const [name, each] of Object.entries(value))
      if (each !== undefined) yield* leavesOf(rows, place === '' ? name : `${place}.${name}`, each, depth + 1);
    return;
  }
  const text = typeof value === 'object' && value !== null ? 'none' : String(value);
  yield [
    place,
    text,
    value === true || (typeof value === 'string' && value !== '' && (isFileAt(place) || !isMark(text))),
  ];
}

const isFileAt = (place: string): boolean => /(?:^|\.)uploads\.\d{1,9}\.id$/.test(place);

/** A digest, an id of git, or a time. */
const isMark = (text: string): boolean =>
  /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.]+Z)$/.test(text);

/**
 * @param context has the commands and patterns that a preparation found in the project's files: they act, whatever these say
 */
function applying(view: RunView, project: Project | null, context: JsonObject): readonly Row[] {
  // A record of others may lack any of it.
  const config: Partial<RunConfig> = view.config;
  const { git, commands } = config;
  return [
    ['request', view.originalRequest],
    ['project', project === null ? 'none' : `${project.name}, ${project.repository}`],
    ['base branch', git?.baseBranch || project?.baseBranch],
    ['branch', view.branch === '' ? 'none' : view.branch],
    ...each('trust', config.trustMode),
    ['autoMerge', onOff(git?.autoMerge)],
    ['mergeStrategy', git?.mergeStrategy],
    ['createPR', onOff(git?.createPR)],
    ['push', whatIsPushed(view)],
    ['install command', foundCommand(context['setup']) ?? commandOf(commands?.setup)],
    ['install scripts', onOff(commands?.installScripts)],
    ['check command', foundCommand(context['test']) ?? commandOf(commands?.test)],
    ['lint command', foundCommand(context['lint']) ?? commandOf(commands?.lint)],
    ...each('command', otherCommands(commands)),
    ...patternsIn(context['excludePaths']).map((pattern) => ['kept from agents and checks', pattern] as const),
    ...(config.egress === undefined
      ? [['network', 'all hosts that the server allows'] as const]
      : each('network', config.egress)),
    ['budgets', budgetsOf(config)],
    ['spent, as the record says', spentIn(view)],
    ...each('model', config.modelRouting),
  ].map(([what = '', value]) => [what, value ?? NOT_SAID]);
}

/** Rows of what applies that the state of the run has in another way than its log: activities act on the one or on the other. */
function otherwiseInState(view: RunView, project: Project | null, { context }: RecordedState): readonly Row[] {
  const config = context?.['config'];
  if (!isFields(config) || !isFields(config['git']) || view.baseCommit === undefined) return [];
  const said = new Set(applying(view, project, context ?? {}).map((row) => row.join('\0')));
  return applying({ ...view, config: config as unknown as RunConfig }, project, context ?? {})
    .filter((row) => !said.has(row.join('\0')))
    .map(([what, value]) => [`${what}, as the state of the run has it`, value]);
}

/** A row for each name, so that a long one hides no other. */
function each(what: string, values: Readonly<Record<string, unknown>> | undefined): (readonly [string, string])[] {
  return Object.entries(values ?? {}).map(([name, value]) => [
    `${what}: ${name}`,
    Array.isArray(value) ? value.map(textOf).join(' ') || 'none' : textOf(value),
  ]);
}

function decidedIn({ gates }: RunView): JsonObject[] {
  const newest = gates.slice(-DECISIONS_SHOWN).map(({ kind, decision, by, at }) => ({
    what: shown(kind),
    decision: shown(decision),
    by: shown(`by ${by}`),
    at: shown(at),
  }));
  if (newest.length === 0) return [{ what: 'The record has no decisions of people' }];
  const before = gates.length - newest.length;
  return before === 0 ? newest : [{ what: `${before} decisions before these` }, ...newest];
}

/** Commands of single workflows, such as a release. A record of others may name any. */
function otherCommands(commands: Partial<RunConfig>['commands']): Readonly<Record<string, unknown>> {
  const { setup: _setup, installScripts: _scripts, test: _test, lint: _lint, ...others } = { ...commands };
  return others;
}

function whatIsPushed({ branch, config, ownedFiles }: RunView): string {
  if (branch === '') return 'nothing';
  const { git }: Partial<RunConfig> = config;
  if (git?.autoMerge) return 'its branch, and the base branch by the merge';
  const owned = ownedFiles?.paths ?? [];
  return owned.length === 0 || ownedFiles?.to === 'branch'
    ? 'its branch'
    : `its branch, and in the base branch the files that only the server writes: ${owned.join(' ')}`;
}

function foundCommand(found: JsonValue | undefined): string | undefined {
  // Before its preparation a run has none.
  if (typeof found !== 'object' || found === null || !('command' in found)) return undefined;
  return textOf(found['command']);
}

function patternsIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(textOf) : [];
}

function commandOf(command: string | null | undefined): string {
  if (command === undefined) return "found in the project's files";
  return command ?? 'none';
}

function budgetsOf(config: Partial<RunConfig>): string {
  const { maxCostUsd, maxTokens, maxToolCalls, maxTreeCostUsd, maxTreeTokens, maxTreeToolCalls } = config;
  const budgets = { maxCostUsd, maxTokens, maxToolCalls, maxTreeCostUsd, maxTreeTokens, maxTreeToolCalls };
  const set = Object.fromEntries(Object.entries(budgets).filter(([, budget]) => budget !== undefined));
  return Object.keys(set).length === 0 ? 'no limit' : pairs(set);
}

function spentIn({ cost: { inputTokens, outputTokens, calls, toolCalls = 0, costUsd = 0 } }: RunView): string {
  return pairs({ tokens: inputTokens + outputTokens, calls, toolCalls, costUsd });
}

function pairs(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join(', ');
}

/** A value as text, also one that is no text where a server writes one: an object may say of itself that it is none. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none'));

/** As it acts: what is neither absent nor false is on. */
function onOff(value: boolean | undefined): string | undefined {
  if (value === undefined) return undefined;
  return value ? 'on' : 'off';
}

function shown(value: unknown): string {
  const text = textOf(value);
  return whole(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
}

/** The text in one line, in which no row of spaces pushes anything out of sight, and no other character is taken for a space. */
function whole(text: string): string {
  return showHiddenInLine(text).replace(/\p{Zs}+/gu, (spaces) => {
    const rows: { readonly space: string; count: number }[] = [];
    for (const space of spaces) {
      const last = rows.at(-1);
      if (last?.space === space) last.count += 1;
      else rows.push({ space, count: 1 });
    }
    return rows.map(shownSpaces).join('');
  });
}

function shownSpaces({ space, count }: { readonly space: string; readonly count: number }): string {
  if (space === ' ') return count < 4 ? ' '.repeat(count) : `⟨${count} spaces⟩`;
  const code = `U+${space.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  return count === 1 ? `⟨${code}⟩` : `⟨${count} × ${code}⟩`;
}
