/** The validation report of a run, from what the engine recorded and the code of the result. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Concern, ConstraintFinding, RunView } from '@autonomous/shared';
import { checkConstraints, type CodeFile } from '../artifacts/constraint-check.ts';
import type { ParsedConstraints } from '@autonomous/shared/diagram';
import { renderValidationReport, type ValidationReport } from '../artifacts/run-context.ts';
import type { RemoteProject } from '../repository/repository.ts';
import type { ActivityContext } from '../workflow/activity.ts';
import type { BuildActivities } from '../workflow/definitions/build-types.ts';
import type { BuildTools } from './build-tools.ts';
import { closeFolder, openFolder } from './work-folders.ts';

/** The largest file that is searched for the plan's routes, and how many are. */
const SEARCHED_FILE_BYTES = 300_000;
const SEARCHED_FILES = 3_000;

export interface ReportFacts extends Omit<BuildActivities['report']['input'], 'version'> {
  /** ISO 8601, of the validation. */
  readonly at: string;
  /** The commit that was validated. */
  readonly commit: string;
  readonly view: RunView;
  /** What a person has to see, accepted or not. */
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

/** The report, and what of the plan was found in the code. */
export async function renderReport(
  tools: BuildTools,
  context: ActivityContext,
  project: RemoteProject,
  facts: ReportFacts,
): Promise<RenderedReport> {
  const { plan, review, failure, view, override } = facts;
  // The plan's constraints are what the parser gave for it.
  const constraints = plan?.constraints as unknown as ParsedConstraints | undefined;
  const modes = facts.evidence.map((evidence) => evidence.mode);
  const findings = constraints ? checkConstraints(constraints, await codeFiles(tools, context, project, facts)) : [];
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

/** The result's code, read from a checkout that nothing but this has touched. */
async function codeFiles(
  tools: BuildTools,
  context: ActivityContext,
  project: RemoteProject,
  { runId, head }: ReportFacts,
): Promise<CodeFile[]> {
  const work = await openFolder(tools, {
    project,
    runId,
    name: 'report',
    treeish: head,
    excludePaths: [],
    setup: null,
    signal: context.signal,
    progress: context.progress,
  });
  const files: CodeFile[] = [];
  for (const file of (await tools.repository.listFiles(project, head)).slice(0, SEARCHED_FILES)) {
    if (file.startsWith('.autonomous/')) continue;
    // A path that the checkout left out (a link, a submodule) is not there to be read.
    const content = await readFile(path.join(work.folder, file)).catch(() => null);
    if (content !== null && content.length <= SEARCHED_FILE_BYTES && !content.includes(0)) {
      files.push({ path: file, content: content.toString('utf8') });
    }
  }
  await closeFolder(work.folder);
  return files;
}
