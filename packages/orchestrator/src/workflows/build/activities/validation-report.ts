/** The validation report of a run, from what the engine recorded and the code of the result. */
import type { Concern, ConstraintFinding, RunView } from '@autonomous/shared';
import { checkConstraints, isProductCode } from '../../../documents/plans/constraint-check.ts';
import { readForeignText } from '../../../foreign-text/foreign-text.ts';
import type { ParsedConstraints } from '@autonomous/shared/diagram';
import { renderValidationReport, type ValidationReport } from '../documents/validation-report.ts';
import type { RemoteProject } from '../../../repository/repository.ts';
import type { ActivityContext } from '../../../core/activity.ts';
import type { ReportInput } from '../types.ts';
import type { ActivityTools } from '../../../activities/tools.ts';

/** The largest changed file that is searched for the plan's routes, and all of them together. */
const SEARCHED_FILE_BYTES = 300_000;
const SEARCHED_BYTES = 4_000_000;
/** Of the search: a hint is not worth a longer wait of others. */
const SEARCHING_MS = 5_000;

export interface ReportFacts extends ReportInput {
  /** ISO 8601, of the validation. */
  readonly at: string;
  /** The commit that was validated. */
  readonly commit: string;
  readonly view: RunView;
  /** Concerns that a person has to see, accepted or not. */
  readonly concerns?: readonly Concern[];
  readonly override?: NonNullable<ValidationReport['override']>;
}

export function reportPath(runId: string): string {
  return `.autonomous/runs/${runId}/validation-report.md`;
}

export interface RenderedReport {
  /** Markdown, without secrets. */
  readonly text: string;
  readonly findings: readonly ConstraintFinding[];
}

/** Renders the report and looks for the plan's constraints in the code. */
export async function renderReport(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  facts: ReportFacts,
): Promise<RenderedReport> {
  const { plan, review, failure, view, override } = facts;
  // The plan's constraints are what the parser gave for it.
  const constraints = plan?.constraints as unknown as ParsedConstraints | undefined;
  const modes = facts.evidence.map((evidence) => evidence.mode);
  const findings = constraints ? await searched(tools, context, project, facts, constraints) : [];
  const text = tools.scrub(
    renderValidationReport({
      runId: facts.runId,
      title: plan?.title ?? facts.request.slice(0, 80),
      at: facts.at,
      verdict: failure === null ? 'passed' : 'failed',
      summary: failure?.summary ?? review?.summary ?? '',
      codeTree: facts.codeTree,
      commit: facts.commit,
      // The run keeps only the end of an output; the log has all of it.
      evidence: modes.flatMap((mode) => view.evidence.findLast((evidence) => evidence.mode === mode) ?? []),
      constraints: findings,
      ...(facts.concerns ? { concerns: facts.concerns } : {}),
      ...(view.baseline ? { baseline: view.baseline } : {}),
      ...(review?.feedback ? { feedback: review.feedback } : {}),
      scriptedModels: view.scriptedModels,
      ...(override ? { override } : {}),
    }),
  );
  return { text, findings };
}

/** The plan's constraints in the code that the run changed; undecided where there is too much of it to be searched. */
async function searched(
  { repository }: ActivityTools,
  { signal }: ActivityContext,
  project: RemoteProject,
  { head, view }: ReportFacts,
  constraints: ParsedConstraints,
): Promise<readonly ConstraintFinding[]> {
  const changes = await repository.changes(project, view.baseCommit ?? head, head);
  const paths = changes.filter(({ path, after }) => after !== null && isProductCode(path)).map(({ path }) => path);
  if (paths.length === 0) return checkConstraints(constraints, []);
  const texts = await repository.readFiles(project, head, paths, SEARCHED_FILE_BYTES, SEARCHED_BYTES);
  const files = [...texts].map(([path, content]) => ({ path, content }));
  const answer = await readForeignText('checkConstraints', [constraints, files], { maxMs: SEARCHING_MS, signal });
  return answer.ok ? answer.value : checkConstraints(constraints, []);
}
