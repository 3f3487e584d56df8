/** Texts that the reading commands print: runs, gates, plans, reports, differences. */
import {
  type Artifact,
  CHANGES_TYPE,
  documentInfoOf,
  documentWordOf,
  type Evidence,
  FINAL_STATUSES,
  type Gate,
  gateInfoOf,
  hashWordOf,
  type JsonObject,
  moneyText,
  presentedAt,
  progressOf,
  type RecordPlace,
  type RunDiff,
  type RunView,
  showHidden,
  stageTitleOf,
  type WorkflowInfo,
  type WorkflowSummary,
  wordsOf,
} from '@autonomous/shared';
import {
  baselineText,
  changeNotes,
  firstLineOf,
  gateDetailsOf,
  reviewDiff,
  sanitizeText,
  failedChecksAt,
  failedChecksText,
  outcomeText,
  testCountText,
  textWarnings,
  withAttempt,
} from '@autonomous/shared/presentation';
import { type Client, workflowOf } from '@autonomous/shared/client';
import { CommandFailure } from './exit.ts';
import { workflowOfRun } from './run-workflow.ts';
import { modelName, testLines } from './follow/timeline.ts';

/** Documents for which `show` has an option of its own; it shows any other one with `--document`. */
export const DOCUMENT_OPTIONS = ['plan', 'report'] as const;

/** Kind of the gate of an ordinary pause, for which the stage says more than its name. */
const PAUSE_KIND = 'pause';

/**
 * Status in words, with the stage where there is one.
 * @param workflow the workflow of the run; absent: the stage is titled after its name
 */
export function statusOf(run: RunView, workflow?: WorkflowInfo): string {
  return withAttempt(run, standingOf(run, workflow)).replace(/^Attempt/, 'attempt');
}

function standingOf(run: RunView, workflow?: WorkflowInfo): string {
  const { status, currentStage, queuePosition, progress } = run;
  const done = progress === undefined ? '' : `, ${progressOf(progress, workflow)}`;
  if (status === 'awaiting_children') return `waiting for its child runs${done}`;
  const own = run.gate === null ? undefined : workflow?.gates[run.gate.kind]?.waiting;
  if (status === 'paused' && own !== undefined && run.gate?.kind !== PAUSE_KIND) return `${wordsOf(own)}${done}`;
  const place = queuePosition === undefined ? '' : `, place ${queuePosition}`;
  const stage = currentStage === null ? '' : ` in ${wordsOf(stageTitleOf(workflow, currentStage))}`;
  const failures = run.failures === undefined ? '' : ' with failures';
  return `${status.replaceAll('_', ' ')}${failures}${stage}${place}${done}`;
}

/** The status of a run that a command has changed, with the command that follows a run which goes on. */
export function statusLine(run: RunView, program: string): string {
  const way = FINAL_STATUSES.has(run.status) ? '' : `; follow it with: ${program} watch ${run.id}`;
  return `the run is ${statusOf(run)}${way}`;
}

/**
 * The line that is printed when a person stops following a run: whether it continues or waits.
 * @param gates those that wait, of the run or its child runs; their commands are printed below
 */
export function leftLine(runId: string, gates: readonly Gate[], program: string): string {
  const [gate] = gates;
  const state =
    gate === undefined
      ? 'The run continues.'
      : `Run ${gate.runId} waits for a decision; the commands below show and decide it.`;
  return `${state} Follow it with: ${program} watch ${runId}`;
}

/**
 * One run in a list.
 * @param depth how many runs it stands below in the list; 0 is the top
 * @param workflow the workflow of the run; absent: the stage is titled after its name
 * @param above its parent: the line names the workflow of a run that has another one. Default: it names none
 */
export function runLine(run: RunView, depth = 0, workflow?: WorkflowInfo, above?: Pick<RunView, 'workflow'>): string {
  const place = depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `;
  const parent = depth === 0 && run.parent !== undefined ? ` (child run of ${run.parent.runId})` : '';
  const kind = above === undefined || above.workflow.name === run.workflow.name ? '' : `${run.workflow.name}: `;
  const created = run.createdAt.slice(0, 16).replace('T', ' ');
  return `${run.id}  ${statusOf(run, workflow).padEnd(40)}  ${created}  ${place}${kind}${requestOf(run)}${parent}`;
}

/** The first line of the request, at most 70 characters. */
export function requestOf({ originalRequest }: Pick<RunView, 'originalRequest'>): string {
  return cut(firstLineOf(sanitizeText(originalRequest)), 70);
}

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;

/** From this many completed child runs of a run on, a list has one line for all of them. */
const FOLDED_FROM = 6;

/**
 * Lines of a list, in its order. Child runs stand below their parents, oldest first; those that wait for a person, or have a run
 * below them that does, come before the others. A child whose parent is not in the list stands at the top and names it.
 * @param all each completed child run has a line of its own. Default: more than five of a run have one line together
 */
export function runLines(
  runs: readonly RunView[],
  workflows: readonly WorkflowSummary[] = [],
  { all = false }: { readonly all?: boolean } = {},
): readonly string[] {
  const listed = new Set(runs.map(({ id }) => id));
  const isBelow = ({ parent }: RunView): boolean => parent !== undefined && listed.has(parent.runId);
  const below = Map.groupBy(runs.filter(isBelow), ({ parent }) => parent?.runId ?? '');
  const childrenOf = ({ id }: RunView): readonly RunView[] => below.get(id) ?? [];
  const waits = (run: RunView): boolean => run.gate !== null || childrenOf(run).some(waits);
  const isDone = (run: RunView): boolean =>
    run.status === 'completed' && run.failures === undefined && childrenOf(run).every(isDone);
  const lines = (run: RunView, depth: number, above?: RunView): readonly string[] => {
    const children = childrenOf(run).toSorted(
      (one, other) =>
        Number(waits(other)) - Number(waits(one)) ||
        compare(one.createdAt, other.createdAt) ||
        compare(one.id, other.id),
    );
    const done = children.filter(isDone);
    const isFolded = !all && done.length >= FOLDED_FROM;
    const shown = isFolded ? children.filter((child) => !isDone(child)) : children;
    return [
      runLine(run, depth, workflowOf({ workflows }, run.workflow.name), above),
      ...shown.flatMap((child) => lines(child, depth + 1, run)),
      ...(isFolded ? [`${'  '.repeat(depth)}└ ${done.length} completed child runs (--all lists each)`] : []),
    ];
  };
  return runs.filter((run) => !isBelow(run)).flatMap((run) => lines(run, 0));
}

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/**
 * One gate in a list, and below it its concerns and the options that name what it shows.
 * @param workflow the workflow of its run; absent: the gate is titled after its kind
 * @param run its run and the parent of that; absent: their names are not in the line
 */
export function gateLine(
  gate: Gate,
  workflow?: WorkflowInfo,
  run?: { readonly name: string; readonly parent: string },
): string {
  const { title } = gateInfoOf(workflow, gate.kind);
  const of = run === undefined ? '' : `“${run.name}” of “${run.parent}”: `;
  const line = `${gate.runId}  ${wordsOf(title).padEnd(14)}  ${of}${gate.summary.replaceAll(/\s+/g, ' ')}  (${gate.decisions.join(', ')})`;
  return [line, ...[...concernLines(gate), shownOptions(gate)].map((each) => `    ${each}`)].join('\n');
}

/**
 * All concerns that a person accepts with an approval or acceptance of the gate: one line for each title, its items below.
 * The further lines of a text begin with `|`, so that they cannot pass for lines of ours.
 * @returns an empty text when the gate has no concerns
 */
export function concernText(gate: Pick<Gate, 'concerns'>): string {
  return concernLines(gate).join('\n');
}

function concernLines({ concerns = [] }: Pick<Gate, 'concerns'>): readonly string[] {
  return concerns.flatMap(({ title, items }) => [
    ...linesOf(title),
    ...items.flatMap(({ path, line, reason }) => {
      const place = path === undefined ? '' : `${path}${line === undefined ? '' : `:${line}`}: `;
      return linesOf(`${place}${reason}`).map((each, index) => `${index === 0 ? '- ' : '  '}${each}`);
    }),
  ]);
}

/** Details of a gate that its workflow shows: the title of each, its lines below. */
function detailLines(gate: Gate, workflow: WorkflowInfo | undefined): readonly string[] {
  return gateDetailsOf(gate, gateInfoOf(workflow, gate.kind)).flatMap(({ title, lines, isList }) => [
    title,
    ...lines
      .flatMap(linesOf)
      .map((line, index) => (isList ? `${index + 1}  ${line}` : `| ${line.replace(/^\| /, '')}`)),
  ]);
}

/** Splits a text that others wrote into lines, and marks all but the first with `|`. */
function linesOf(text: string): readonly string[] {
  return sanitizeText(text)
    .split('\n')
    .map((line, index) => (index === 0 ? line : `| ${line}`));
}

/** Characters of a field of the input on the page of a run. */
const LONGEST_FIELD = 300;

/**
 * A run on one screen.
 * @param workflow the workflow of the run; absent: its stages and documents are titled after their names
 * @param input of the run's workflow. Default: it is not shown
 */
export function runPage(run: RunView, workflow?: WorkflowInfo, input: JsonObject = {}): string {
  const failed = failedChecksAt(run);
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['run', run.id],
    ['workflow', `${run.workflow.name} ${run.workflow.version}`],
    ['request', run.originalRequest === '' ? undefined : run.originalRequest.replaceAll(/\s+/g, ' ')],
    ...Object.entries(input).map(([name, value], index): readonly [string, string] => [
      index === 0 ? 'input' : '',
      `${name}: ${cut(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_FIELD)}`.replaceAll(
        /\s+/g,
        ' ',
      ),
    ]),
    ['status', statusOf(run, workflow)],
    ['waits for', run.gate ? `${run.gate.summary} (${run.gate.decisions.join(', ')})` : undefined],
    ['because', failed?.tests && failedChecksText(failed)],
    ['decide', run.gate ? shownOptions(run.gate) : undefined],
    ...(run.gate === null ? [] : detailLines(run.gate, workflow)).map((line, index): readonly [string, string] => [
      index === 0 ? 'details' : '',
      line,
    ]),
    ...(run.gate === null ? [] : concernLines(run.gate)).map((line, index): readonly [string, string] => [
      index === 0 ? 'see' : '',
      line,
    ]),
    ['base', run.baseline && baselineText(run.baseline)],
    ['failure', run.failure],
    ['failures', run.failures?.join('\n')],
    ['forked', run.forkedFrom && `from ${run.forkedFrom.runId} at event ${run.forkedFrom.at}`],
    ['branch', run.branch === '' ? undefined : run.branch],
    ['record', RECORD_LINES[run.recordPlace ?? 'remote']],
    ['head', run.headCommit],
    ['code tree', run.codeTree],
    [
      'models',
      run.branch === '' ? undefined : [...new Set(Object.values(run.config.modelRouting))].map(modelName).join(', '),
    ],
    ['tokens', `${run.cost.inputTokens} in, ${run.cost.outputTokens} out, ${run.cost.calls} calls`],
    ['cost', costOf(run)],
    ...run.artifacts.map((artifact): readonly [string, string] => [
      `${documentWordOf(workflow, artifact.type)} ${artifact.version}`,
      `${artifact.gitPath ?? artifact.hash}${artifact.scripted ? ' (scripted)' : ''}`,
    ]),
    ...run.evidence.flatMap((evidence): readonly (readonly [string, string])[] => [
      [
        'evidence',
        `${evidence.mode.replaceAll('_', ' ')}: ${outcomeText(evidence, evidence.passed ? 'passed' : 'failed')}, ${evidence.commands
          .map(({ command, exitCode }) => `\`${command}\` exit code ${exitCode ?? 'none (killed)'}`)
          .join(', ')}${testsOf(evidence, run)}, sandbox ${evidence.sandbox}`,
      ],
      ...testLines(evidence).map((line) => ['', line] as const),
    ]),
    ['published', run.published && `${run.published.branch} at ${run.published.commit}`],
    ['pull', run.published?.pullRequest?.url],
    ['merged', run.merged && `into ${run.merged.baseBranch} at ${run.merged.commit} (${run.merged.strategy})`],
    ...run.notices.map((notice): readonly [string, string] => ['notice', notice]),
  ];
  return rows
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(10)} ${indented(value)}`]))
    .join('\n');
}

const RECORD_LINES: Readonly<Record<RecordPlace, string | undefined>> = {
  remote: undefined,
  pending: 'not on the remote yet: only the server has the run',
  server: 'stays on the server: no remote has the run',
};

/** A value of several lines cannot pass for further rows. */
function indented(value: string): string {
  return linesOf(value).join(`\n${' '.repeat(11)}`);
}

function testsOf(evidence: Evidence, { baseline }: RunView): string {
  const text = testCountText(evidence, baseline);
  return text === null ? '' : `, ${text}`;
}

/** Cost of the run, the estimated part of it, and its budget. `undefined` when it has neither cost nor budget. */
function costOf({ cost, config: { maxCostUsd } }: RunView): string | undefined {
  const { costUsd, unpricedCalls = 0 } = cost;
  if (costUsd === undefined && unpricedCalls === 0 && maxCostUsd === undefined) return undefined;
  return moneyText(cost, maxCostUsd);
}

/**
 * The changes of a run.
 * @throws {CommandFailure} when there are none yet
 */
export async function changesOf(client: Client, runId: string): Promise<string> {
  const diff = await client.getDiff(runId);
  if (diff.files.length === 0) throw new CommandFailure(`Run ${runId} has changed nothing yet.`);
  return diffText(diff);
}

/**
 * The newest document of a run that has a name.
 * @param name type of the document, its title, or its word such as `report`; upper and lower case are the same
 * @throws {CommandFailure} when there is none yet
 */
export async function documentOf(client: Client, runId: string, name: string): Promise<string> {
  const workflow = await workflowOfRun(client, await client.getRun(runId));
  const wanted = name.toLowerCase();
  const isNamed = (type: string): boolean =>
    [type, documentInfoOf(workflow, type).title, documentWordOf(workflow, type)].some(
      (each) => each.toLowerCase() === wanted,
    );
  const artifacts = (await client.listArtifacts(runId)).filter(({ type }) => type !== CHANGES_TYPE);
  const artifact = artifacts.findLast(({ type }) => isNamed(type));
  if (artifact !== undefined) return documentText(client, artifact, workflow);
  const words = [...new Set(artifacts.map(({ type }) => documentWordOf(workflow, type)))];
  throw new CommandFailure(
    `Run ${runId} has no ${name} yet.${words.length === 0 ? '' : ` Its documents are: ${words.join(', ')}.`}`,
  );
}

/** The document that a gate shows, of a gate that was open in the past too; `null` where it shows none. */
export async function documentAt(client: Client, { runId, artifactHash }: Gate): Promise<string | null> {
  const artifact = (await client.listArtifacts(runId)).find(
    ({ hash, type }) => hash === artifactHash && type !== CHANGES_TYPE,
  );
  if (artifact === undefined) return null;
  return documentText(client, artifact, await workflowOfRun(client, await client.getRun(runId)));
}

async function documentText(client: Client, artifact: Artifact, workflow: WorkflowInfo | undefined): Promise<string> {
  const { content, encoding } = await client.getArtifact(artifact.workflowRunId, artifact.id);
  if (encoding === 'base64')
    return `${artifact.gitPath ?? artifact.type} has ${Buffer.byteLength(content, 'base64')} bytes and is no text. It is on the run's branch.`;
  const where = `in the ${documentWordOf(workflow, artifact.type)}`;
  const warnings = textWarnings(content, where).map((warning) => `! ${warning}\n`);
  return `${artifact.scripted ? '(scripted)\n' : ''}${warnings.join('')}${showHidden(content.trimEnd())}`;
}

/**
 * A patch, preceded by notes on everything that it does not show of its files. Hidden
 * characters are printed as escapes, not dropped.
 */
function diffText(diff: RunDiff): string {
  const { faults } = reviewDiff(diff);
  const notes = diff.files.flatMap((file) => changeNotes(file).map((note) => `! ${file.path}: ${note}`));
  const lines = [...faults.map((fault) => `! ${fault} Look at the run's branch before you decide.`), ...notes];
  return showHidden([...lines, ...(lines.length === 0 ? [] : ['']), diff.patch.trimEnd()].join('\n'));
}

/**
 * Everything that a person needs to see before they decide a gate: its subject, then the concerns that they accept with it.
 */
export async function showForGate(client: Client, gate: Gate): Promise<string> {
  const run = await client.getRun(gate.runId);
  const workflow = await workflowOfRun(client, run);
  const shown = await subjectOf(client, gate, run, workflow);
  // The page of a run has the gate's details and concerns among its rows.
  if (shown === null) return runPage({ ...run, gate }, workflow);
  const details = detailLines(gate, workflow).join('\n');
  return [shown, details, concernText(gate)].filter((part) => part !== '').join('\n\n');
}

/** The text that a gate is about; `null` where it is the run as a whole. */
async function subjectOf(
  client: Client,
  gate: Gate,
  run: RunView,
  workflow: WorkflowInfo | undefined,
): Promise<string | null> {
  const { draft, parserMessage } = gate.details;
  const presented = presentedAt(workflow, gate, run.artifacts);
  if (presented.kind === 'document') {
    if (typeof draft === 'string') return showHidden(`${draft}\n\n${String(parserMessage ?? '')}`);
    return presented.artifact === undefined ? null : documentText(client, presented.artifact, workflow);
  }
  if (presented.kind === 'changes') {
    const { report } = gateInfoOf(workflow, gate.kind);
    const parts = await Promise.all([
      changesOf(client, run.id).catch(whyMissing),
      ...(report === undefined ? [] : [documentOf(client, run.id, documentWordOf(workflow, report)).catch(whyMissing)]),
    ]);
    return [...parts, ...(run.baseline === undefined ? [] : [baselineText(run.baseline)])].join('\n\n');
  }
  if (gate.question) {
    const { question, context, options = [] } = gate.question;
    return [question, context, ...options.map((option, index) => `${index + 1}  ${option}`)]
      .filter((line) => line !== '')
      .join('\n');
  }
  return null;
}

/** Options of `show` for what a gate presents: `--plan`, `--diff`, `--document summary`. None for a question or a message. */
export function optionsToShow(
  workflow: WorkflowInfo | undefined,
  gate: Gate,
  artifacts: readonly Artifact[],
): readonly string[] {
  const presented = presentedAt(workflow, gate, artifacts);
  const optionOf = (type: string): string => {
    const word = documentWordOf(workflow, type);
    return DOCUMENT_OPTIONS.some((own) => own === word) ? `--${word}` : `--document ${word}`;
  };
  if (presented.kind === 'document') return gate.artifactHash === undefined ? [] : [optionOf(presented.type)];
  if (presented.kind !== 'changes') return [];
  const { report, isFailure } = gateInfoOf(workflow, gate.kind);
  const reports = report === undefined ? [] : [optionOf(report)];
  return isFailure === true ? [...reports, '--diff'] : ['--diff', ...reports];
}

/** A result without a change or a report is decided as well. */
function whyMissing(error: unknown): string {
  if (error instanceof CommandFailure) return error.message;
  throw error;
}

/** The options that name a gate and what it shows, its concerns among it: `--gate r-1.7 --hash 1e53…:32ff…:9a0c…`. */
export function shownOptions(gate: Gate): string {
  const word = hashWordOf(gate);
  return `--gate ${gate.id}${word === null ? '' : ` --hash ${word}`}`;
}
