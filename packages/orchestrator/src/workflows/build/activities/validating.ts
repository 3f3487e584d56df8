/** Activities of the stage validation: the project's own checks in a fresh sandbox, the reviewer, the report. */
import { isAccepted, NeedsHuman, type NewDependency, openConcerns } from '@autonomous/shared';
import { memoryConcern } from '../../../artifacts/memory-concern.ts';
import { hashOf } from '../../../artifacts/content-hash.ts';
import { namesDependencies, newDependencies } from '../../../artifacts/dependencies.ts';
import { readForeignText } from '../../../artifacts/foreign-text.ts';
import type { RemoteProject } from '../../../repository/repository.ts';
import { validator } from '../roles/validator.ts';
import { type Activity, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../../core/activity.ts';
import type { Checked } from '../../../activities/types.ts';
import type { BuildActivities, Reported, Reviewed } from '../types.ts';
import { callAgent, projectFacts, promptNotes } from '../../../activities/agent-call.ts';
import { withBaseTests } from '../../../activities/base-tests.ts';
import { baselineFrom, baselineOf, keepAsBaseline } from '../../../activities/baseline.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { runChecks } from '../../../activities/checks.ts';
import { commitOnBranch } from '../../../activities/commits.ts';
import { comparedWithBase } from '../../../activities/compared-with-base.ts';
import { concernsOf } from '../../../activities/concerns.ts';
import { withAges } from '../../../activities/dependency-ages.ts';
import { withReadOnlyCheckout } from '../../../activities/read-only-checkout.ts';
import { reviewedDiff, reviewText } from '../../../activities/reviewed-diff.ts';
import { renderReport, reportPath } from './validation-report.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

/** Of one file that names dependencies, and of all of a commit. */
const MAX_LOCKFILE_BYTES = 4 * 2 ** 20;
const MAX_LOCKFILES_BYTES = 24 * 2 ** 20;

/**
 * Runs the project's test command on a fresh checkout: the only source of evidence.
 * In mode `base_tests` the base commit's tests, test configuration and scripts are put back first.
 */
export function check(tools: ActivityTools): Of<'check'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Checked> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
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
      const outcome = await runChecks(
        tools,
        context,
        project,
        { ...input, name: `check-${input.mode}`, treeish: checked.tree },
        // After the install step, which says what is wrong with a registry.
        async () => {
          if (added.length > 0) listed = { newDependencies: await withAges(tools, context, added) };
        },
      );
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
  { baseCommit, commit }: BuildActivities['check']['input'],
  signal: AbortSignal,
): Promise<readonly NewDependency[]> {
  const changes = await repository.changes(project, baseCommit, commit);
  const paths = changes.map((change) => change.path).filter(namesDependencies);
  if (paths.length === 0) return [];
  const [base, result, there] = await Promise.all([
    repository.readFiles(project, baseCommit, paths, MAX_LOCKFILE_BYTES, MAX_LOCKFILES_BYTES),
    repository.readFiles(project, commit, paths, MAX_LOCKFILE_BYTES, MAX_LOCKFILES_BYTES),
    repository.listFiles(project, commit),
  ]);
  const all = new Set(there);
  const present = paths.filter((file) => all.has(file));
  const unread = present.filter((file) => !result.has(file));
  const read = await readForeignText('newDependencies', [base, result, unread], { signal });
  return read.ok ? read.value : newDependencies(new Map(), new Map(), present);
}

export function review(tools: ActivityTools): Of<'review'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context): Promise<Reviewed> {
      const { repository } = tools;
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) => {
        const [planText, diff, facts] = await Promise.all([
          repository.readFile(project, input.head, input.plan.path),
          reviewedDiff(repository, project, input.baseCommit, input.head),
          projectFacts(tools, context, project, input, work),
        ]);
        return callAgent(tools, context, {
          role: validator,
          input: {
            call: input.call,
            request: input.request,
            notes: promptNotes(input.notes),
            plan: planText ?? '',
            constraints: input.plan.constraints,
            diff: reviewText(diff),
            evidence: input.evidence.flatMap((evidence) => evidence.commands),
          },
          facts,
          model: input.config.modelRouting.validator,
          config: input.config,
          work,
          notes: input.notes,
        });
      });
      if (outcome.kind === 'question')
        throw new NeedsHuman('agent_failed', 'The validator asked a question instead of judging.');
      const { verdict, severity, summary, feedback } = outcome.result;
      return { verdict, severity, summary: tools.scrub(summary), feedback: tools.scrub(feedback), cost };
    },
  };
}

/** Writes the validation report onto the run's branch; the code tree, which evidence binds to, stays as it is. */
export function report(tools: ActivityTools): Of<'report'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Reported> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const view = await tools.view(input.runId);
      const { signal } = context;
      const result = { project, view, baseCommit: view.baseCommit ?? input.head, head: input.head, signal };
      const memory = input.memory === undefined ? null : memoryConcern(input.memory);
      const concerns = [...(await concernsOf(tools, result)), ...(memory === null ? [] : [memory])];
      const { text, findings } = await renderReport(tools, context, project, {
        ...input,
        at: context.startedAt,
        commit: input.head,
        view,
        concerns,
      });
      const path = reportPath(input.runId);
      const tree = await repository.writeFiles(project, await repository.treeOf(project, input.head), { [path]: text });
      const commit = await commitOnBranch(tools, context, {
        project,
        branch: input.branch,
        head: input.head,
        tree,
        message: `Validation report ${input.version}: ${input.failure === null ? 'passed' : 'failed'}`,
      });
      const accepted = view.acceptedConcerns ?? [];
      return {
        path,
        hash: hashOf(text),
        commit,
        findings,
        concerns: concerns.filter((concern) => !isAccepted(concern, accepted)),
        openConcerns: openConcerns(concerns, accepted),
      };
    },
  };
}
