/** The validation report of a run, `.autonomous/runs/<id>/validation-report.md`. Pure; texts given here must be free of secrets already. */
import type { Baseline, Concern, ConstraintFinding, Evidence } from '@autonomous/shared';
import { outcomeText, testCountText } from '@autonomous/shared/presentation';
import { code, fenced, inline, table } from '../../../documents/quoted-markdown.ts';

export interface ValidationReport {
  readonly runId: string;
  /** The plan's title or the request, on one line. */
  readonly title: string;
  /** ISO 8601, of the validation. */
  readonly at: string;
  readonly verdict: 'passed' | 'failed';
  /** Reason for the verdict. */
  readonly summary: string;
  readonly codeTree: string;
  readonly commit: string;
  readonly evidence: readonly Evidence[];
  readonly constraints: readonly ConstraintFinding[];
  /** Concerns about the result that a person has to see; absent if none were looked for. */
  readonly concerns?: readonly Concern[];
  /** Absent where the checks were not run on the base commit. */
  readonly baseline?: Baseline;
  /** Feedback of the validator to the implementer or the person; absent if there is none. */
  readonly feedback?: string;
  /** Ids of models that only played a script in this run. */
  readonly scriptedModels: readonly string[];
  /** Present when a person let the result through although it failed. */
  readonly override?: {
    readonly by: string;
    readonly at: string;
    readonly reason: string;
    /** Failures that the person accepted, one entry each. */
    readonly accepted: readonly string[];
  };
}

const MODES: Readonly<Record<Evidence['mode'], string>> = {
  as_is: 'The result as it is',
  base_tests: "The result with the base commit's tests, test configuration and scripts put back",
};

/** The report as Markdown. Whatever commands and models wrote is quoted so that it cannot pass for the report's own words. */
export function renderValidationReport(report: ValidationReport): string {
  const { override } = report;
  const verdict = override === undefined ? report.verdict : `${report.verdict}, accepted by a person all the same`;
  const parts: (string | null)[] = [
    `# Validation report: ${inline(report.title)}`,
    report.scriptedModels.length === 0
      ? null
      : `> **Scripted models took part in this run:** ${report.scriptedModels.map(code).join(', ')}. They play a script and judge nothing.`,
    `**Verdict: ${verdict}**`,
    inline(report.summary),
    override === undefined ? null : overrideSection(override),
    table(
      ['Run', 'Time', 'Commit', 'Code tree'],
      [[code(report.runId), report.at, code(report.commit), code(report.codeTree)]],
    ),
    concernSection(report.concerns),
    '## Checks that were run',
    report.evidence.length === 0
      ? 'No command was run: there is no evidence for this result.'
      : report.evidence.map((evidence) => evidenceSection(evidence, report.codeTree)).join('\n\n'),
    baselineSection(report.baseline),
    dependencySection(report.evidence),
    '## Constraints of the plan',
    constraintSection(report.constraints),
    report.feedback === undefined ? null : `## What the validator says\n\n${fenced(report.feedback)}`,
  ];
  return `${parts.filter((part) => part !== null).join('\n\n')}\n`;
}

function overrideSection(override: NonNullable<ValidationReport['override']>): string {
  const accepted = override.accepted.map((item) => `- ${inline(item)}`).join('\n');
  return [
    `## Accepted although it failed`,
    `${code(override.by)} accepted this result on ${override.at}. Reason given: ${inline(override.reason)}`,
    override.accepted.length === 0
      ? 'What had failed was not listed.'
      : `What had failed and was accepted:\n\n${accepted}`,
  ].join('\n\n');
}

function evidenceSection(evidence: Evidence, codeTree: string): string {
  const sandbox = evidence.sandbox === 'none' ? '**none: the commands ran without a sandbox**' : code(evidence.sandbox);
  const parts = [
    `### ${MODES[evidence.mode]}: ${outcomeText(evidence, evidence.passed ? 'passed' : 'failed')}`,
    `Sandbox: ${sandbox}. Commit ${code(evidence.commit)}, code tree ${code(evidence.codeTree)}, recorded ${evidence.recordedAt}.`,
  ];
  if (evidence.mode === 'as_is' && evidence.codeTree !== codeTree)
    parts.push('**This ran on another code tree than the one reported above.**');
  if (evidence.restored !== undefined && evidence.restored.length > 0) {
    parts.push(`Differing from the base commit and put back for this run: ${evidence.restored.map(code).join(', ')}.`);
  }
  parts.push(
    evidence.commands.length === 0
      ? 'No command was run.'
      : table(
          ['Command', 'Exit code', 'Seconds'],
          evidence.commands.map(({ command, exitCode, durationMs }) => [
            code(command),
            exitCode === null ? 'none (it was killed)' : String(exitCode),
            (durationMs / 1_000).toFixed(1),
          ]),
        ),
  );
  const tests = testCountText(evidence);
  if (tests !== null) parts.push(`Tests: ${tests}.`);
  for (const { command, output } of evidence.commands) {
    if (output.trim() !== '') parts.push(`Output of ${code(command)}:\n\n${fenced(output)}`);
  }
  return parts.join('\n\n');
}

function concernSection(concerns: readonly Concern[] = []): string | null {
  if (concerns.length === 0) return null;
  const parts = concerns.map(({ title, items }) => {
    const list = items.map(({ path, line, reason }) => {
      const where = path === undefined ? '' : `${code(line === undefined ? path : `${path}:${line}`)}: `;
      return `- ${where}${inline(reason)}`;
    });
    return `### ${inline(title)}\n\n${list.join('\n')}`;
  });
  return ['## What a person has to see before the merge', ...parts].join('\n\n');
}

function baselineSection(baseline: Baseline | undefined): string | null {
  if (baseline === undefined) return null;
  const { passed, failure, command, tests, missingTool, commit } = baseline;
  const outcome = passed ? 'passed' : `failed with exit code ${command.exitCode ?? 'none (it was killed)'}`;
  const said =
    failure === undefined
      ? [
          `${code(command.command)} ${outcome} on the base commit ${code(commit)}.`,
          ...(missingTool === undefined ? [] : [`The program ${code(missingTool)} is missing.`]),
          ...(tests === undefined
            ? []
            : [`${tests.executed} tests ran, ${tests.failed} failed, ${tests.skipped} were skipped.`]),
        ]
      : [`The checks could not be run on the base commit: ${inline(failure)}`];
  return `## The base commit\n\n${said.join(' ')}`;
}

function dependencySection(evidence: readonly Evidence[]): string | null {
  const added = evidence.flatMap(({ newDependencies = [] }) => newDependencies);
  if (added.length === 0) return null;
  const rows = added.map(({ name, version, was = '', file, hasInstallScript, source = '', ageDays }) => [
    code(name),
    code(version),
    was === '' ? 'new' : code(was),
    ageDays === undefined ? '' : `${ageDays} ${ageDays === 1 ? 'day' : 'days'}`,
    hasInstallScript === true ? 'yes' : '',
    source === '' ? code(file) : `${code(file)}, source: ${code(source)}`,
  ]);
  return `## New dependencies\n\n${table(['Package', 'Version', 'Before', 'Age', 'Install script', 'File'], rows)}`;
}

function constraintSection(constraints: readonly ConstraintFinding[]): string {
  if (constraints.length === 0) return 'The plan states nothing that can be looked for in code by its name.';
  const rows = constraints.map(({ kind, name, result, where }) => [
    kind,
    code(name),
    result === 'undecided' || where === undefined ? 'not found by its name' : `mentioned at ${code(where)}`,
  ]);
  const legend =
    'Routes alone are looked for, in changed files of up to 300 KB and 4 MB together. A name that the code mentions may be a constant, a comment or a call to somebody else: it proves nothing, and nothing depends on it. Tests, the validator and people decide.';
  return `${table(['Kind', 'Name', 'In the changed code'], rows)}\n\n${legend}`;
}
