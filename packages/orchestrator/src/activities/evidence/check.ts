/** The activity that gathers evidence: the project's test command on a fresh checkout of a commit. */
import type { NewDependency } from '@autonomous/shared';
import { isAmong } from '../../path-rules/sorted-paths.ts';
import { namesDependencies, newDependencies } from '../../project-analysis/installation/dependencies.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { hashOf } from '../../documents/content-hash.ts';
import { type Activity, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { withBaseTests } from './base-tests.ts';
import { baselineFrom, baselineOf, keepAsBaseline } from './baseline.ts';
import { LIMITS } from '../../foreign-text/limits.ts';
import { type ChecksRequest, runChecks } from './checks.ts';
import { comparedWithBase } from './compared-with-base.ts';
import { withAges } from '../install/dependency-ages.ts';
import { installedInputs, installStepKey, setupOf } from '../install/install-step.ts';
import { reportersDigest } from './test-reporting.ts';
import type { ActivityTools } from '../tools.ts';
import type { Checked, CheckInput } from '../types.ts';

/**
 * Runs the project's test command on a fresh checkout: the only source of evidence.
 * In mode `base_tests` the base commit's tests, test configuration and scripts are put back first.
 */
export function check(tools: ActivityTools): Activity<CheckInput, Checked> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Checked> {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const [resultTree, codeTree] = await Promise.all([
        repository.treeOf(project, input.commit),
        repository.codeTree(project, input.commit),
      ]);
      const known = input.mode === 'as_is' ? null : await baselineOf(tools, context, project, input);
      const checked =
        known === null
          ? { tree: resultTree, restored: [], doubtful: [] }
          : await withBaseTests(tools, project, input, resultTree, known);
      const added = input.mode === 'as_is' ? await dependenciesAdded(tools, project, input, context.signal) : [];
      let listed: Pick<Checked, 'newDependencies'> = {};
      const request = { ...input, name: `check-${input.mode}`, treeish: checked.tree };
      const before = await tools.checkedTrees?.find(await checkedTreeKey(tools, project, request, context.signal));
      const outcome =
        before?.outcome ??
        (await runChecks(
          tools,
          context,
          project,
          request,
          // After the install step, which says what is wrong with a registry.
          async () => {
            if (added.length > 0) listed = { newDependencies: await withAges(tools, context, added) };
          },
        ));
      if (before) {
        context.progress({ kind: 'note', text: `Run ${before.runId} has checked the same code; it is not run again.` });
        if (added.length > 0) listed = { newDependencies: await withAges(tools, context, added) };
      } else
        await tools.checkedTrees?.keep(await checkedTreeKey(tools, project, request, context.signal), {
          outcome,
          runId: input.runId,
        });
      const { mode, commit } = input;
      const { command, sandbox } = outcome;
      const passed = command.exitCode === 0;
      const compared = await comparedWithBase(tools, project, input, outcome, known);
      if (mode === 'as_is' && passed)
        await keepAsBaseline(tools, project, input, {
          ...baselineFrom({ commit, codeTree }, outcome),
          madeBy: context.runId,
        });
      return {
        mode,
        codeTree,
        commit,
        restored: checked.restored,
        ...(checked.doubtful.length === 0 ? {} : { doubtful: checked.doubtful }),
        ...listed,
        ...(before ? { reusedFrom: before.runId } : {}),
        passed,
        commands: [command],
        sandbox,
        ...compared,
      };
    },
  };
}

async function dependenciesAdded(
  { repository }: ActivityTools,
  project: RemoteProject,
  { baseCommit, commit }: CheckInput,
  signal: AbortSignal,
): Promise<readonly NewDependency[]> {
  const changes = await repository.changes(project, baseCommit, commit);
  const paths = changes.map((change) => change.path).filter(namesDependencies);
  if (paths.length === 0) return [];
  const { fileBytes, totalBytes } = LIMITS.lockfiles;
  const [base, result, there] = await Promise.all([
    repository.readFiles(project, baseCommit, paths, fileBytes, totalBytes),
    repository.readFiles(project, commit, paths, fileBytes, totalBytes),
    repository.listFiles(project, commit),
  ]);
  const present = paths.filter((file) => isAmong(there, file));
  const unread = present.filter((file) => !result.has(file));
  const read = await readForeignText('newDependencies', [base, result, unread], { signal });
  return read.ok ? read.value : newDependencies(new Map(), new Map(), present);
}

/** Raised when kept outcomes hold something else, or may be wrong: older ones are not read then. */
const FORMAT = 5;

/** Digest of all that decides how the checks of a tree end. */
async function checkedTreeKey(
  tools: ActivityTools,
  project: RemoteProject,
  { runId, treeish, setup, test, excludePaths }: Omit<ChecksRequest, 'name' | 'timeoutMinutes'>,
  signal: AbortSignal,
): Promise<string> {
  // A run may have no step of its own and get the one that the files ask for, or forbid it.
  const step = await setupOf(tools, { project, runId, treeish }, setup);
  return hashOf(
    JSON.stringify({
      format: FORMAT,
      project: project.id,
      tree: await tools.repository.codeTree(project, treeish),
      test: test.command,
      setup: await installStepKey(tools, runId, step),
      inputs: await installedInputs(tools, { project, runId, treeish, signal }, step),
      excludePaths,
      provider: tools.sandboxes.name,
      madeFrom: tools.sandboxes.platform,
      platform: [process.platform, process.arch, process.versions.node],
      reporters: reportersDigest(),
    }),
  );
}
