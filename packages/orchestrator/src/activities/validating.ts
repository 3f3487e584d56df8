/** Activities of the stage validation: the project's own checks in a fresh sandbox, the reviewer, the report. */
import path from 'node:path';
import { type CommandEvidence, NeedsHuman, type NewDependency } from '@autonomous/shared';
import { hashOf } from '../artifacts/plan-document.ts';
import { namesDependencies, newDependencies } from '../artifacts/dependencies.ts';
import { pathsToRestore, restoreScripts } from '../artifacts/project-commands.ts';
import type { RemoteProject } from '../repository/repository.ts';
import { validator } from '../roles/validator.ts';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../workflow/activity.ts';
import type { BuildActivities } from '../workflow/definitions/build.ts';
import type { Checked, Reported, Reviewed } from '../workflow/definitions/build-types.ts';
import { callAgent, projectFacts, promptNotes } from './agent-call.ts';
import type { BuildTools } from './build-tools.ts';
import { commitOnBranch } from './commits.ts';
import { withAges } from './dependency-ages.ts';
import { setupOf } from './install-step.ts';
import { inReadingRoom } from './reading-room.ts';
import { renderReport, reportPath } from './validation-report.ts';
import { closeFolder, openFolder } from './work-folders.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

/** What is kept of a check's output, characters from its end. */
const KEPT_OUTPUT = 20_000;

/** Of a file that names dependencies: it is read at one go, while the server does nothing else. */
const MAX_LOCKFILE_BYTES = 4 * 2 ** 20;

/**
 * Runs the project's test command on a fresh checkout: the only source of evidence.
 * In mode `base_tests` the base commit's tests, test configuration and scripts are put back first.
 */
export function check(tools: BuildTools): Of<'check'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Checked> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const [resultTree, codeTree] = await Promise.all([
        repository.treeOf(project, input.commit),
        repository.codeTree(project, input.commit),
      ]);
      const checked =
        input.mode === 'as_is'
          ? { tree: resultTree, restored: [] }
          : await withBaseTests(tools, project, input, resultTree);
      const added = input.mode === 'as_is' ? await dependenciesAdded(tools, project, input) : [];
      const work = await openFolder(tools, {
        project,
        runId: input.runId,
        name: `check-${input.mode}`,
        treeish: checked.tree,
        // What is not shown to agents is not there for their code either, whose output they are shown.
        excludePaths: input.excludePaths,
        setup: await setupOf(tools, { project, runId: input.runId, treeish: checked.tree }, input.setup),
        signal: context.signal,
        progress: context.progress,
      });
      // After the install step, which says what is wrong with a registry.
      const listed = added.length === 0 ? {} : { newDependencies: await withAges(tools, context, added) };
      const { mode, commit } = input;
      const evidence = { mode, codeTree, commit, restored: checked.restored, ...listed };
      const sandbox = await tools.sandboxes.open({
        key: context.key,
        folder: work.folder,
        home: work.home,
        readOnly: [],
        network: 'none',
        limits: tools.limits,
        signal: context.signal,
      });
      try {
        const command = await runCheck(tools, context, sandbox, input);
        return { ...evidence, passed: command.exitCode === 0, commands: [command], sandbox: sandbox.provider };
      } finally {
        await sandbox.dispose();
        await closeFolder(work.folder);
      }
    },
  };
}

async function dependenciesAdded(
  { repository }: BuildTools,
  project: RemoteProject,
  { baseCommit, commit }: BuildActivities['check']['input'],
): Promise<readonly NewDependency[]> {
  const { files } = await repository.diff(project, baseCommit, commit);
  const paths = files.map((file) => file.path).filter(namesDependencies);
  if (paths.length === 0) return [];
  const [base, result, there] = await Promise.all([
    repository.readFiles(project, baseCommit, paths, MAX_LOCKFILE_BYTES),
    repository.readFiles(project, commit, paths, MAX_LOCKFILE_BYTES),
    repository.listFiles(project, commit),
  ]);
  const all = new Set(there);
  return newDependencies(
    base,
    result,
    paths.filter((file) => all.has(file) && !result.has(file)),
  );
}

async function runCheck(
  tools: BuildTools,
  context: ActivityContext,
  sandbox: Awaited<ReturnType<BuildTools['sandboxes']['open']>>,
  input: BuildActivities['check']['input'],
): Promise<CommandEvidence> {
  context.progress({ kind: 'command', text: `$ ${input.test.command}` });
  const result = await sandbox.run({
    command: input.test.command,
    timeoutMs: input.timeoutMinutes * 60_000,
    signal: context.signal,
    onOutput: (chunk) => context.progress({ kind: 'output', text: chunk }),
  });
  context.signal.throwIfAborted();
  return {
    command: input.test.command,
    exitCode: result.exitCode,
    durationMs: Math.round(result.durationMs),
    output: tools.scrub(`${result.stdout}${result.stderr}`).slice(-KEPT_OUTPUT),
  };
}

async function withBaseTests(
  tools: BuildTools,
  project: RemoteProject,
  input: BuildActivities['check']['input'],
  resultTree: string,
): Promise<{ readonly tree: string; readonly restored: readonly string[] }> {
  const { repository } = tools;
  const [basePaths, resultPaths, diff] = await Promise.all([
    repository.listFiles(project, input.baseCommit),
    repository.listFiles(project, input.commit),
    repository.diff(project, input.baseCommit, input.commit),
  ]);
  const changed = diff.files.map((file) => file.path);
  const paths = pathsToRestore(basePaths, resultPaths, changed);
  const restored = await repository.restorePaths(project, resultTree, input.baseCommit, paths);
  const scripts: Record<string, string> = {};
  for (const manifest of changed.filter((file) => path.posix.basename(file) === 'package.json')) {
    const [base, result] = await Promise.all([
      repository.readFile(project, input.baseCommit, manifest),
      repository.readFile(project, input.commit, manifest),
    ]);
    if (base === null || result === null) continue;
    const mended = restoreScripts(base, result);
    if (mended !== result) scripts[manifest] = mended;
  }
  return {
    tree: Object.keys(scripts).length === 0 ? restored : await repository.writeFiles(project, restored, scripts),
    restored: [...paths, ...Object.keys(scripts)].sort(),
  };
}

export function review(tools: BuildTools): Of<'review'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context): Promise<Reviewed> {
      const { repository } = tools;
      const { outcome, cost } = await inReadingRoom(tools, context, input, async (project, work) => {
        const [planText, diff, facts] = await Promise.all([
          repository.readFile(project, input.head, input.plan.path),
          repository.diff(project, input.baseCommit, input.head),
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
            diff: withoutOwnFolder(diff.patch),
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

/** A patch without the files of the orchestrator: the plan is shown by itself, and nothing in there is the implementer's. */
function withoutOwnFolder(patch: string): string {
  return patch
    .split(/^(?=diff --git )/m)
    .filter((file) => !/^diff --git "?a\/\.autonomous\//.test(file))
    .join('');
}

/** Writes the validation report onto the run's branch; the code tree, which evidence binds to, stays as it is. */
export function report(tools: BuildTools): Of<'report'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Reported> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const view = await tools.view(input.runId);
      const { text, findings } = await renderReport(tools, context, project, {
        ...input,
        at: context.startedAt,
        commit: input.head,
        view,
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
      return { path, hash: hashOf(text), commit, findings };
    },
  };
}
