/**
 * The project's checks on the base commit, run once without a model: what a result's tests are compared with. Evidence that passed
 * for a tree is the baseline of runs that start from it.
 */
import { type Baseline, NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { missingToolOf } from '../../project-analysis/installation/missing-tool.ts';
import { hashOf } from '../../documents/content-hash.ts';
import type { TestReport } from '../../project-analysis/test-report.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../core/activity.ts';
import type { BaselineInput } from '../types.ts';
import type { KnownBaseline } from './baseline-cache.ts';
import type { ActivityTools } from '../tools.ts';
import { BASELINE, runChecks } from './checks.ts';
import { InstallFailed, installStepKey, setupOf } from '../install/install-step.ts';
import { reportersDigest } from './test-reporting.ts';

/** Raised when names of tests are made in another way, or a key or entry says more, or one may be wrong: older entries are not read. */
const NAMES = 6;

/** Its failure never fails the run: it gives a baseline that says why there is none, or `null` where nothing can be said. */
export function baseline(tools: ActivityTools): Activity<BaselineInput, Baseline | null> {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      if (input.test.command === '') return null;
      const project = await tools.project(input.projectId, input.runId);
      return (await baselineOf(tools, context, project, input)).baseline;
    },
  };
}

/** The baseline of a run's base commit: known, found in what earlier runs left, or found out now. */
export async function baselineOf(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: BaselineInput,
): Promise<KnownBaseline> {
  const codeTree = await tools.repository.codeTree(project, input.baseCommit);
  const known = await tools.baselines.use(await baselineKey(tools, project, codeTree, input), async () => ({
    ...(await runOnBase(tools, context, project, codeTree, input)),
    madeBy: context.runId,
  }));
  // A run that finds its own baseline again made it before the server was restarted.
  return known.madeBy === context.runId ? known : { ...known, baseline: { ...known.baseline, isFromEarlierRun: true } };
}

/** The same, where it is known already; `null` where it would have to be found out. */
export async function knownBaselineOf(
  tools: ActivityTools,
  project: RemoteProject,
  input: BaselineInput,
): Promise<KnownBaseline | null> {
  const codeTree = await tools.repository.codeTree(project, input.baseCommit);
  return tools.baselines.find(await baselineKey(tools, project, codeTree, input));
}

/** Keeps evidence of a tree as the baseline of runs that will start from it. */
export async function keepAsBaseline(
  tools: ActivityTools,
  project: RemoteProject,
  input: BaselineInput,
  known: KnownBaseline,
): Promise<void> {
  const { baseline } = known;
  const { tests } = baseline;
  if (!baseline.passed || baseline.sandbox === 'none' || tests?.finished === false || tests?.replaced !== undefined)
    return;
  await tools.baselines.keep(await baselineKey(tools, project, baseline.codeTree, input), known);
}

/** Digest of all that decides how the checks of a base tree end. */
async function baselineKey(
  tools: ActivityTools,
  project: RemoteProject,
  codeTree: string,
  input: BaselineInput,
): Promise<string> {
  const { runId } = input;
  const step = await setupOf(tools, { project, runId, treeish: codeTree }, input.setup);
  return hashOf(
    JSON.stringify({
      names: NAMES,
      project: project.id,
      codeTree,
      test: input.test.command,
      setup: await installStepKey(tools, runId, step),
      excludePaths: input.excludePaths,
      provider: tools.sandboxes.name,
      madeFrom: tools.sandboxes.platform,
      platform: [process.platform, process.arch, process.versions.node],
      reporters: reportersDigest(),
    }),
  );
}

async function runOnBase(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  codeTree: string,
  input: BaselineInput,
): Promise<KnownBaseline> {
  const facts = { commit: input.baseCommit, codeTree };
  try {
    const checked = await runChecks(tools, context, project, { ...input, name: BASELINE, treeish: input.baseCommit });
    return baselineFrom(facts, checked);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof RetryableFailure || !(error instanceof NeedsHuman)) throw error;
    const command = { command: input.test.command, exitCode: null, durationMs: 0, output: '' };
    const failure = tools.scrub(error.message).slice(0, 2_000);
    const missing = error instanceof InstallFailed ? error.missingTool : null;
    const outcome = { ...facts, passed: false, command, sandbox: tools.sandboxes.name, failure };
    return {
      baseline: { ...outcome, ...(missing === null ? {} : { missingTool: missing }) },
      executed: [],
      failed: [],
      files: [],
    };
  }
}

/** Converts the outcome of the checks on a tree into the baseline of that tree. */
export function baselineFrom(
  facts: Pick<Baseline, 'commit' | 'codeTree'>,
  { command, sandbox, preparedMs, report, installed }: Awaited<ReturnType<typeof runChecks>>,
): KnownBaseline {
  const missingTool = missingToolOf(command);
  return {
    baseline: {
      ...facts,
      passed: command.exitCode === 0,
      command: { ...command, output: command.output.slice(-2_000) },
      sandbox,
      preparedMs,
      ...testsOf(report),
      ...(missingTool === null ? {} : { missingTool }),
    },
    executed: report?.executed ?? [],
    failed: report?.failed ?? [],
    files: report?.files ?? [],
    ...(installed.length === 0 ? {} : { installed }),
  };
}

function testsOf(report: TestReport | null): Pick<Baseline, 'tests'> {
  return report === null ? {} : { tests: report.count };
}
