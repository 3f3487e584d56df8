/**
 * The pause of a run that comes from its record in git. Whoever can push there could have written all of it, so it says what applies
 * when the run goes on. Values of the record are shown as plain text of bounded length.
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

/** Fields of the pause of a run. */
export interface PauseText {
  readonly reason: 'rebuilt' | 'poisoned';
  /** One line. */
  readonly message: string;
  /** As a gate of kind `pause` shows them. */
  readonly details: JsonObject;
}

/** Most characters that are shown of a value. */
const MOST_SHOWN = 300;
/** Decisions that are shown, the newest. */
const DECISIONS_SHOWN = 20;

/**
 * @param project as it was stored; `null` where the workflow needs none
 * @param context of the run's machine; `null` where it cannot be had
 */
export function rebuiltPause(view: RunView, project: Project | null, context: JsonObject | null): PauseText {
  const { lastSequence, currentStage, gate } = view;
  const stage = currentStage === null ? '' : `, in stage ${shown(currentStage)}`;
  const open = gate === null ? '' : `, at its gate '${shown(gate.kind)}'`;
  const wayOn = FINAL_STATUSES.has(view.status)
    ? ''
    : ' Look at what applies and was decided, then retry to go on from there, or cancel the run.';
  return {
    reason: 'rebuilt',
    message: `The run was rebuilt from its record in git at event ${lastSequence}${stage}${open}, and anybody who can push there could have written it.${wayOn}`,
    details: { applies: applying(view, project, context ?? {}), decided: decidedIn(view) },
  };
}

/**
 * @param context has the commands and patterns that a preparation found in the project's files: they act, whatever these say
 */
function applying(view: RunView, project: Project | null, context: JsonObject): JsonObject[] {
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
  ].map(([what = '', value]) => ({ what: shown(what), value: shown(value ?? 'not said') }));
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
  return showHiddenInLine(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
}
