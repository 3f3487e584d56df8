/** What the reading commands print: runs, gates, plans, reports, differences. */
import { type Artifact, type Client, dollars, type Gate, type RunView } from '@autonomous/shared';
import { ARTIFACT_NAMES, modelName } from '../timeline.ts';
import { statusOf } from './decide.ts';
import { CommandFailure } from './exit.ts';

/** `plan` and `report` are documents of the run, `diff` is what it changed. */
export type Shown = 'plan' | 'report' | 'diff';

/** One run in a list. */
export function runLine(run: RunView): string {
  const request = run.originalRequest.replaceAll(/\s+/g, ' ');
  const cut = request.length > 70 ? `${request.slice(0, 70)}…` : request;
  return `${run.id}  ${statusOf(run).padEnd(40)}  ${run.createdAt.slice(0, 16).replace('T', ' ')}  ${cut}`;
}

/** One gate in a list. */
export function gateLine(gate: Gate): string {
  return `${gate.runId}  ${gate.kind.replaceAll('_', ' ').padEnd(14)}  ${gate.summary.replaceAll(/\s+/g, ' ')}  (${gate.decisions.join(', ')})`;
}

/** A run on one screen. */
export function runPage(run: RunView): string {
  const { planner, implementer, validator } = run.config.modelRouting;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['run', run.id],
    ['workflow', run.workflow.name === 'build' ? undefined : `${run.workflow.name} ${run.workflow.version}`],
    ['request', run.originalRequest === '' ? undefined : run.originalRequest.replaceAll(/\s+/g, ' ')],
    ['status', statusOf(run)],
    ['waits for', run.gate ? `${run.gate.summary} (${run.gate.decisions.join(', ')})` : undefined],
    ['failure', run.failure],
    ['forked', run.forkedFrom && `from ${run.forkedFrom.runId} at event ${run.forkedFrom.at}`],
    ['branch', run.branch === '' ? undefined : run.branch],
    ['head', run.headCommit],
    ['code tree', run.codeTree],
    [
      'models',
      run.branch === '' ? undefined : [...new Set([planner, implementer, validator])].map(modelName).join(', '),
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
        .join(', ')}, sandbox ${evidence.sandbox}`,
    ]),
    ['published', run.published && `${run.published.branch} at ${run.published.commit}`],
    ['merged', run.merged && `into ${run.merged.baseBranch} at ${run.merged.commit} (${run.merged.strategy})`],
    ...run.notices.map((notice): readonly [string, string] => ['notice', notice]),
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(11)}${value}`])).join('\n');
}

/** What the run has cost, what of it is an estimate, and what it may cost. */
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
    const { patch, truncated } = await client.getDiff(runId);
    if (patch === '') throw new CommandFailure(`Run ${runId} has changed nothing yet.`);
    return truncated ? `${patch}\n(cut here; the branch has all of it)` : patch.trimEnd();
  }
  const types: readonly Artifact['type'][] = what === 'plan' ? ['mermaid_diagram', 'spec'] : ['validation_report'];
  const artifact = (await client.listArtifacts(runId)).findLast(({ type }) => types.includes(type));
  if (!artifact) throw new CommandFailure(`Run ${runId} has no ${what} yet.`);
  const { content } = await client.getArtifact(runId, artifact.id);
  return `${artifact.scripted ? '(scripted)\n' : ''}${content.trimEnd()}`;
}

/** What a person wants to see before they decide a gate. */
export async function showForGate(client: Client, gate: Gate): Promise<string> {
  if (gate.kind === 'plan') return showOf(client, gate.runId, 'plan');
  if (gate.kind === 'invalid_plan')
    return `${String(gate.details['draft'] ?? '')}\n\n${String(gate.details['parserMessage'] ?? '')}`;
  if (gate.kind === 'implementation' || gate.kind === 'fix') {
    const [diff, report] = await Promise.all([
      showOf(client, gate.runId, 'diff'),
      showOf(client, gate.runId, 'report'),
    ]);
    return `${diff}\n\n${report}`;
  }
  return runPage(await client.getRun(gate.runId));
}
