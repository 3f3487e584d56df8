/** Texts that the reading commands print: runs, gates, plans, reports, differences. */
import {
  type Artifact,
  baselineText,
  changeNotes,
  type Client,
  dollars,
  type Evidence,
  type Gate,
  hashWordOf,
  sanitizeText,
  reviewDiff,
  type RunDiff,
  type RunView,
  showHidden,
  testCountText,
  textWarnings,
} from '@autonomous/shared';
import { ARTIFACT_NAMES, modelName } from './timeline.ts';
import { CommandFailure } from './exit.ts';

/** `plan` and `report` are documents of the run, `diff` is what it changed. */
export type Shown = 'plan' | 'report' | 'diff';

/** Status in words, with the stage where there is one. */
export function statusOf({ status, currentStage, queuePosition }: RunView): string {
  const place = queuePosition === undefined ? '' : `, place ${queuePosition}`;
  return `${status.replaceAll('_', ' ')}${currentStage === null ? '' : ` in ${currentStage}`}${place}`;
}

/** One run in a list. */
export function runLine(run: RunView): string {
  const request = run.originalRequest.replaceAll(/\s+/g, ' ');
  const cut = request.length > 70 ? `${request.slice(0, 70)}…` : request;
  return `${run.id}  ${statusOf(run).padEnd(40)}  ${run.createdAt.slice(0, 16).replace('T', ' ')}  ${cut}`;
}

/** One gate in a list, and below it its concerns and the options that name what it shows. */
export function gateLine(gate: Gate): string {
  const line = `${gate.runId}  ${gate.kind.replaceAll('_', ' ').padEnd(14)}  ${gate.summary.replaceAll(/\s+/g, ' ')}  (${gate.decisions.join(', ')})`;
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

/** Splits a text that others wrote into lines, and marks all but the first with `|`. */
function linesOf(text: string): readonly string[] {
  return sanitizeText(text)
    .split('\n')
    .map((line, index) => (index === 0 ? line : `| ${line}`));
}

/** A run on one screen. */
export function runPage(run: RunView): string {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['run', run.id],
    ['workflow', run.workflow.name === 'build' ? undefined : `${run.workflow.name} ${run.workflow.version}`],
    ['request', run.originalRequest === '' ? undefined : run.originalRequest.replaceAll(/\s+/g, ' ')],
    ['status', statusOf(run)],
    ['waits for', run.gate ? `${run.gate.summary} (${run.gate.decisions.join(', ')})` : undefined],
    ['decide', run.gate ? shownOptions(run.gate) : undefined],
    ...(run.gate === null ? [] : concernLines(run.gate)).map((line, index): readonly [string, string] => [
      index === 0 ? 'see' : '',
      line,
    ]),
    ['base', run.baseline && baselineText(run.baseline)],
    ['failure', run.failure],
    ['forked', run.forkedFrom && `from ${run.forkedFrom.runId} at event ${run.forkedFrom.at}`],
    ['branch', run.branch === '' ? undefined : run.branch],
    ['head', run.headCommit],
    ['code tree', run.codeTree],
    [
      'models',
      run.branch === '' ? undefined : [...new Set(Object.values(run.config.modelRouting))].map(modelName).join(', '),
    ],
    ['tokens', `${run.cost.inputTokens} in, ${run.cost.outputTokens} out, ${run.cost.calls} calls`],
    ['cost', costOf(run)],
    ...run.artifacts.map((artifact): readonly [string, string] => [
      `${ARTIFACT_NAMES[artifact.type]} ${artifact.version}`,
      `${artifact.gitPath ?? artifact.hash}${artifact.scripted ? ' (scripted)' : ''}`,
    ]),
    ...run.evidence.map((evidence): readonly [string, string] => [
      'evidence',
      `${evidence.mode.replaceAll('_', ' ')}: ${evidence.passed ? 'passed' : 'failed'}, ${evidence.commands
        .map(({ command, exitCode }) => `\`${command}\` exit code ${exitCode ?? 'none (killed)'}`)
        .join(', ')}${testsOf(evidence, run)}, sandbox ${evidence.sandbox}`,
    ]),
    ['published', run.published && `${run.published.branch} at ${run.published.commit}`],
    ['merged', run.merged && `into ${run.merged.baseBranch} at ${run.merged.commit} (${run.merged.strategy})`],
    ...run.notices.map((notice): readonly [string, string] => ['notice', notice]),
  ];
  return rows
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(11)}${indented(value)}`]))
    .join('\n');
}

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
  const { costUsd, unpricedCalls = 0, booked } = cost;
  if (costUsd === undefined && unpricedCalls === 0 && maxCostUsd === undefined) return undefined;
  return [
    `${dollars(costUsd ?? 0)}${maxCostUsd === undefined ? '' : ` of ${dollars(maxCostUsd)}`}`,
    ...(booked === undefined ? [] : [`at most ${dollars(booked.costUsd)} of it for calls without an answer`]),
    ...(unpricedCalls === 0 ? [] : [`${unpricedCalls} calls of unknown price`]),
  ].join(', ');
}

/**
 * The newest plan or report of a run, or its changes.
 * @throws {CommandFailure} when there is none yet
 */
export async function showOf(client: Client, runId: string, what: Shown): Promise<string> {
  if (what === 'diff') {
    const diff = await client.getDiff(runId);
    if (diff.files.length === 0) throw new CommandFailure(`Run ${runId} has changed nothing yet.`);
    return diffText(diff);
  }
  const types: readonly Artifact['type'][] = what === 'plan' ? ['mermaid_diagram', 'spec'] : ['validation_report'];
  const artifact = (await client.listArtifacts(runId)).findLast(({ type }) => types.includes(type));
  if (!artifact) throw new CommandFailure(`Run ${runId} has no ${what} yet.`);
  return documentText(client, artifact, what);
}

/** The plan or report that a gate shows, of a gate that was open in the past too; `null` where it shows none. */
export async function documentAt(client: Client, { runId, artifactHash }: Gate): Promise<string | null> {
  const artifact = (await client.listArtifacts(runId)).find(
    ({ hash, type }) => hash === artifactHash && type !== 'code',
  );
  if (artifact === undefined) return null;
  return documentText(client, artifact, artifact.type === 'validation_report' ? 'report' : 'plan');
}

async function documentText(client: Client, artifact: Artifact, what: Shown): Promise<string> {
  const { content } = await client.getArtifact(artifact.workflowRunId, artifact.id);
  const warnings = textWarnings(content, `in the ${what}`).map((warning) => `! ${warning}\n`);
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
  const shown = await subjectOf(client, gate);
  // The page of a run has the gate's concerns among its rows.
  if (shown === null) return runPage({ ...(await client.getRun(gate.runId)), gate });
  const concerns = concernText(gate);
  return concerns === '' ? shown : `${shown}\n\n${concerns}`;
}

/** The text that a gate is about; `null` where it is the run as a whole. */
async function subjectOf(client: Client, gate: Gate): Promise<string | null> {
  if (gate.kind === 'plan') return showOf(client, gate.runId, 'plan');
  if (gate.kind === 'invalid_plan')
    return showHidden(`${String(gate.details['draft'] ?? '')}\n\n${String(gate.details['parserMessage'] ?? '')}`);
  if (gate.kind === 'implementation' || gate.kind === 'fix') {
    const parts = (['diff', 'report'] as const).map((what) => showOf(client, gate.runId, what).catch(whyMissing));
    const { baseline } = await client.getRun(gate.runId);
    return [...(await Promise.all(parts)), ...(baseline === undefined ? [] : [baselineText(baseline)])].join('\n\n');
  }
  if (gate.question) {
    const { question, context, options = [] } = gate.question;
    return [question, context, ...options.map((option, index) => `${index + 1}  ${option}`)]
      .filter((line) => line !== '')
      .join('\n');
  }
  return null;
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
