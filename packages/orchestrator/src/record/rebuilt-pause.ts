/**
 * The pause of a run that comes from its record in git. Whoever can push there could have written all of it, so it says what applies
 * when the run goes on. What acts is shown whole, or the run does not go on; all of it is plain text.
 */
import {
  FINAL_STATUSES,
  type JsonObject,
  type JsonValue,
  type Project,
  type RunConfig,
  type RunView,
  showHiddenInLine,
} from '@autonomous/shared';
import type { PauseText } from '../engine/rebuilt-pause.ts';
import type { RemoteProject, Repository, TreeChange } from '../repository/repository.ts';

/** Most characters that are shown of a name, a decision or another value that does not act. */
const MOST_SHOWN = 300;
/** Most characters of all that applies, each value of which is shown whole. */
const MOST_APPLYING = 100_000;
/** Changed files that are named. */
const FILES_NAMED = 100;
/** Decisions that are shown, the newest. */
const DECISIONS_SHOWN = 20;

export interface Rebuilt {
  readonly view: RunView;
  /** As it was stored; `null` where the workflow needs none. */
  readonly project: Project | null;
  /** Of the run's machine; `null` where it cannot be had. */
  readonly context: JsonObject | null;
  /** The run's changes so far; `null` where its commits are not there. */
  readonly changes: readonly Pick<TreeChange, 'path' | 'before' | 'after'>[] | null;
}

/** Changes that the record's commits make to the project; `null` where they are not there. */
export async function recordedChanges(
  repository: Pick<Repository, 'changes' | 'missingCommits'>,
  project: RemoteProject,
  { baseCommit, headCommit }: RunView,
): Promise<readonly TreeChange[] | null> {
  if (baseCommit === undefined || headCommit === undefined) return [];
  const missing = await repository.missingCommits(project, [baseCommit, headCommit]);
  return missing.size > 0 ? null : repository.changes(project, baseCommit, headCommit);
}

export function rebuiltPause({ view, project, context, changes }: Rebuilt): PauseText {
  const { lastSequence, currentStage, gate, forkedFrom } = view;
  const stage = currentStage === null ? '' : `, in stage ${shown(currentStage)}`;
  const open = gate === null ? '' : `, at its gate '${shown(gate.kind)}'`;
  const wayOn = FINAL_STATUSES.has(view.status)
    ? ''
    : ' Look at what applies and was decided, then retry to go on from there, or cancel the run.';
  const source = forkedFrom === undefined ? 'The run' : `The run goes on from run ${forkedFrom.runId}, which`;
  const rebuilt = `${source} was rebuilt from its record in git at event ${forkedFrom?.at ?? lastSequence}${stage}${open}, and anybody who can push there could have written it.`;
  const rows = [...applying(view, project, context ?? {}), ...changedFiles(view, changes)];
  const length = rows.reduce((sum, [what, value]) => sum + what.length + value.length, 0);
  const decided = decidedIn(view);
  if (length > MOST_APPLYING)
    return {
      reason: 'rebuilt',
      message: `${rebuilt} What applies has ${length} characters, more than the ${MOST_APPLYING} that a person can be shown: it cannot go on. Cancel it and start another run.`,
      details: { decided },
      isTooLong: true,
    };
  return {
    reason: 'rebuilt',
    message: `${rebuilt}${wayOn}`,
    details: { applies: rows.map(([what, value]) => ({ what: whole(what), value: whole(value) })), decided },
  };
}

type Row = readonly [what: string, value: string];

function changedFiles({ headCommit = '' }: RunView, changes: Rebuilt['changes']): readonly Row[] {
  if (changes === null) return [['changes so far', `unknown: commit ${headCommit} is not here`]];
  const named = changes.slice(0, FILES_NAMED).map(({ path, before, after }): Row => {
    return [before === null ? 'added file' : after === null ? 'removed file' : 'changed file', path];
  });
  const rest = changes.length - named.length;
  return [
    ['changes so far', changes.length === 0 ? 'none' : `${changes.length} files, in commit ${headCommit}`],
    ...named,
    ...(rest === 0 ? [] : [['changed files', `${rest} more`] as const]),
  ];
}

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
    ['base branch', git?.baseBranch ?? project?.baseBranch],
    ['branch', view.branch === '' ? 'none' : view.branch],
    ...each('trust', config.trustMode),
    ['autoMerge', onOff(git?.autoMerge)],
    ['mergeStrategy', git?.mergeStrategy],
    ['createPR', onOff(git?.createPR)],
    ['push', whatIsPushed(view)],
    ['install command', foundCommand(context['setup']) ?? commandOf(commands?.setup)],
    ['install scripts', onOff(commands?.installScripts)],
    ['check command', foundCommand(context['test']) ?? commandOf(commands?.test)],
    ['lint command', commandOf(commands?.lint)],
    ...each('command', otherCommands(commands)),
    ...textsIn(context['excludePaths']).map((pattern) => ['kept from agents and checks', pattern] as const),
    ...(config.egress === undefined
      ? [['network', 'all hosts that the server allows'] as const]
      : each('network', config.egress)),
    ['budgets', budgetsOf(config)],
    ...each('model', config.modelRouting),
  ].map(([what = '', value]) => [what, value ?? 'not said']);
}

/** A row for each name, so that a long one hides no other. */
function each(what: string, values: Readonly<Record<string, unknown>> | undefined): (readonly [string, string])[] {
  return Object.entries(values ?? {}).map(([name, value]) => [
    `${what}: ${name}`,
    Array.isArray(value) ? value.join(' ') || 'none' : String(value),
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

function whatIsPushed({ branch, config }: RunView): string {
  if (branch === '') return 'nothing';
  const { git }: Partial<RunConfig> = config;
  return git?.autoMerge ? 'its branch, and the base branch by the merge' : 'its branch';
}

function foundCommand(found: JsonValue | undefined): string | undefined {
  // Before its preparation a run has none.
  if (typeof found !== 'object' || found === null || !('command' in found)) return undefined;
  return String(found['command']);
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
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

function pairs(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(', ');
}

/** As it acts: what is neither absent nor false is on. */
function onOff(value: boolean | undefined): string {
  return value ? 'on' : 'off';
}

function shown(value: unknown): string {
  const text = String(value);
  return whole(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
}

/** The text in one line, in which no row of spaces pushes anything out of sight. */
function whole(text: string): string {
  return showHiddenInLine(text).replace(/ {4,}/g, (spaces) => `⟨${spaces.length} spaces⟩`);
}
