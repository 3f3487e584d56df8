/** The activities of a phase, by the names that its machine gives them. */
import { NeedsHuman, type RunConfig } from '@autonomous/shared';
import { callAgent, keptByAgent, projectFacts, promptNotes } from '../../../activities/agents/agent-call.ts';
import { check } from '../../../activities/evidence/check.ts';
import { runChecks } from '../../../activities/evidence/checks.ts';
import {
  checkpoint,
  CODE_FOLDER,
  commitCode,
  committed,
  described,
  setUp,
  unresolved,
} from '../../../activities/git/code-commits.ts';
import { commitOnBranch } from '../../../activities/git/commits.ts';
import { setupOf } from '../../../activities/install/install-step.ts';
import { shareBranch } from '../../../activities/git/push-branch.ts';
import { withReadOnlyCheckout } from '../../../activities/agents/read-only-checkout.ts';
import { fetchRemote } from '../../../activities/git/remote.ts';
import { reviewedDiff, reviewText } from '../../../activities/evidence/reviewed-diff.ts';
import { startCommitOf } from '../../../activities/start-commits.ts';
import { tidiedAll } from '../../../activities/tidied.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { closeFolder, openFolder } from '../../../activities/work-folders.ts';
import { type CheckCommands, findCheckCommands } from '../../../project-analysis/check-commands.ts';
import { READ_BYTES } from '../../../project-analysis/project-commands.ts';
import { ownedPaths } from '../../../documents/owned-files.ts';
import { type Activity, type ActivityRegistry, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../../core/activity.ts';
import type { RemoteProject } from '../../../repository/repository.ts';
import { prepare } from '../../../activities/prepare.ts';
import { FOR_REVIEWERS, TO_THE_RESULT } from '../added-phases.ts';
import { roles } from '../roles/index.ts';
import { phaseFixer } from '../roles/phase-fixer.ts';
import { phaseImplementer } from '../roles/phase-implementer.ts';
import type { PhaseInput } from '../roles/phase-part.ts';
import { blockersText, phaseReviewer } from '../roles/phase-reviewer.ts';
import type { Attempted, HandFix, PhaseActivities, PhaseAgentInput, PhaseConfig, PhaseReviewed } from './types.ts';

type Of<Name extends keyof PhaseActivities> = Activity<PhaseActivities[Name]['input'], PhaseActivities[Name]['output']>;
type Implementations = { readonly [Name in keyof PhaseActivities]: Of<Name> };

export function phaseActivities(tools: ActivityTools): ActivityRegistry {
  const activities: Implementations = {
    prepare: prepare<PhaseConfig>(tools, roles),
    findCommands: findCommands(tools),
    setUp: setUp(tools),
    attempt: attempt(tools),
    commitCode: commitCode(tools),
    check: checkWithLint(tools),
    review: review(tools),
    commitPhase: commitPhase(tools),
    checkpoint: checkpoint(tools, 'implementation'),
    shareBranch: shareOrRefuse(tools),
    takeHandFix: takeHandFix(tools),
  };
  return tidiedAll(tools, activities);
}

/** The lint command as the configuration names it; an empty command: there is none. Nothing where the configuration is silent. */
export function configuredLint({ commands: { lint } }: RunConfig): Partial<Pick<CheckCommands, 'lint'>> {
  return lint === undefined ? {} : { lint: { command: lint ?? '', source: 'configuration' } };
}

/** Looks for the project's commands at the base commit, where the configuration names none. */
export function findCommands(tools: ActivityTools): Of<'findCommands'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, baseCommit }, context) {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      const { config } = await tools.view(context.runId);
      const paths = await repository.listFiles(project, baseCommit);
      const found = await findCheckCommands(paths, (path) =>
        repository.readFile(project, baseCommit, path, READ_BYTES),
      );
      return { ...found, ...configuredLint(config) };
    },
  };
}

/** One fresh call of the implementer, or of the fixer where there are issues to fix. */
function attempt(tools: ActivityTools): Of<'attempt'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context): Promise<Attempted> {
      const { repository } = tools;
      const { runId, head, excludePaths, issues } = input;
      const project = await tools.project(input.projectId, input.runId);
      const work = await openFolder(tools, {
        project,
        runId,
        name: CODE_FOLDER,
        treeish: head,
        excludePaths,
        setup: await setupOf(tools, { project, runId, treeish: head }, input.setup),
        continues: keptByAgent(context) !== null,
        signal: context.signal,
        progress: context.progress,
      });
      const { config, notes, commands } = input;
      const facts = await projectFacts(tools, context, project, input, work);
      const common = { ...(await phaseOf(tools, project, input)), commands };
      const call = { facts, config, work, notes };
      const { outcome, cost } =
        issues === null
          ? await callAgent(tools, context, {
              ...call,
              role: phaseImplementer,
              input: common,
              model: config.modelRouting['phase-implementer'],
            })
          : await callAgent(tools, context, {
              ...call,
              role: phaseFixer,
              input: { ...common, issues },
              model: config.modelRouting['phase-implementer'],
            });
      if (outcome.kind === 'question') throw asked('implementer');
      const imported = await repository.importFolder(project, {
        folder: work.folder,
        baseTree: await repository.treeOf(project, head),
        excludePaths: [...excludePaths, ...work.installed],
        asked: [common.request, common.plan ?? '', wordsOf(common.phase)].join('\n'),
      });
      await closeFolder(work.folder);
      const { outcome: word, summary } = outcome.result;
      const left = await unresolved(tools, project, imported.tree, input.input.conflicts ?? []);
      return {
        isDone: left.length === 0 && (word === 'SUCCESS' || word === 'FIXED'),
        summary: left.length === 0 ? tools.scrub(summary) : `Conflict markers are left in ${left.join(', ')}.`,
        tree: imported.tree,
        refused: described(imported),
        cost,
      };
    },
  };
}

/** The text of a phase. In one for reviewers their words and those of checks are quoted; they name no file that a run may take. */
function wordsOf({ title, text }: PhaseInput['phase']): string {
  return title === FOR_REVIEWERS || title === TO_THE_RESULT ? text.replace(/^>.*$/gm, '') : text;
}

function asked(role: string): NeedsHuman {
  return new NeedsHuman('agent_failed', `The ${role} asked a question instead of finishing.`);
}

/** Input that the prompts of all roles of a phase share. */
async function phaseOf(
  tools: ActivityTools,
  project: RemoteProject,
  { runId, request, call, notes, input, baseCommit }: PhaseAgentInput,
): Promise<Omit<PhaseInput, 'memory' | 'files' | 'guides' | 'skills' | 'history'>> {
  const { planPath, planFile, number, total, title, text, criteria } = input;
  const plan = async (file: string) =>
    tools.repository.readFile(project, await planCommitOf(tools, runId, baseCommit), file);
  return {
    call,
    request,
    notes: promptNotes(notes),
    planPath,
    plan: planFile === null ? null : await plan(planFile),
    phase: { number, total, title, text, criteria },
  };
}

/** Commit with the plan as the run of the plan read it: agents of earlier phases may have written to the file since. */
async function planCommitOf(tools: ActivityTools, runId: string, baseCommit: string): Promise<string> {
  const { parent } = await tools.view(runId);
  if (parent === undefined) return baseCommit;
  return (await startCommitOf(tools, parent.runId)) ?? baseCommit;
}

/** The project's tests, and its lint after them, each in a fresh checkout: one piece of evidence. */
export function checkWithLint(tools: ActivityTools): Of<'check'> {
  const tests = check(tools);
  return {
    retry: THREE_TRIES,
    async perform({ lint, ...input }, context) {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const hasTests = input.test.command !== '';
      const tested = hasTests ? await tests.perform(input, context) : null;
      if (lint === null || lint.command === '' || tested?.passed === false) return tested ?? nothingRan();
      const { command, sandbox } = await runChecks(tools, { ...context, key: `${context.key}/lint` }, project, {
        ...input,
        name: 'lint',
        treeish: input.commit,
        test: lint,
      });
      const { mode, commit } = input;
      const codeTree = tested?.codeTree ?? (await repository.codeTree(project, commit));
      return {
        ...(tested ?? { mode, codeTree, commit, restored: [], sandbox }),
        passed: command.exitCode === 0,
        commands: [...(tested?.commands ?? []), command],
      };
    },
  };
}

function nothingRan(): never {
  throw new NeedsHuman('setup_failed', 'The phase has neither a test command nor a lint command to be verified with.');
}

function review(tools: ActivityTools): Of<'review'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context): Promise<PhaseReviewed> {
      const { config, notes, head, baseCommit, checked } = input;
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) => {
        const [diff, facts, common] = await Promise.all([
          reviewedDiff(tools.repository, project, baseCommit, head),
          projectFacts(tools, context, project, input, work),
          phaseOf(tools, project, input),
        ]);
        return callAgent(tools, context, {
          role: phaseReviewer,
          input: { ...common, diff: reviewText(diff), evidence: checked?.commands ?? [] },
          facts,
          model: config.modelRouting['phase-reviewer'],
          config,
          work,
          notes,
        });
      });
      if (outcome.kind === 'question') throw asked('reviewer');
      const { outcome: word, summary, blockers } = outcome.result;
      return {
        isApproved: word === 'APPROVED',
        summary: tools.scrub(summary),
        blockers: tools.scrub(blockersText(blockers)),
        cost,
      };
    },
  };
}

/**
 * The one commit of a phase: it takes the place of the commits of its attempts, with their tree. A phase that changed nothing
 * has an empty commit.
 */
function commitPhase(tools: ActivityTools): Of<'commitPhase'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, branch, head, baseCommit, message }, context) {
      const project = await tools.project(projectId, context.runId);
      const tree = await tools.repository.treeOf(project, head);
      const commit = await commitOnBranch(tools, context, { project, branch, head: baseCommit, tree, message });
      return committed(tools, project, baseCommit, commit);
    },
  };
}

/** Pushes the phase's branch for a person. A push that only a person could make possible is no failure: there are other ways on. */
function shareOrRefuse(tools: ActivityTools): Of<'shareBranch'> {
  const share = shareBranch(tools);
  return {
    retry: THREE_TRIES,
    perform: (input, context) =>
      share.perform(input, context).catch((error: unknown) => {
        if (!(error instanceof NeedsHuman)) throw error;
        return { commit: input.commit, pushed: false, refusal: error.message };
      }),
  };
}

/** Takes what a person pushed to the run's branch on top of what was pushed there for them. */
function takeHandFix(tools: ActivityTools): Of<'takeHandFix'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, branch, head, baseCommit, message }, context): Promise<HandFix> {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      await fetchRemote(tools, context, project);
      const theirs = await repository.remoteHead(project, branch);
      if (theirs === null || (await repository.isAncestor(project, theirs, head))) return { commit: null };
      if (!(await repository.isAncestor(project, head, theirs)))
        throw new NeedsHuman(
          'push_rejected',
          `The branch ${branch} is at ${theirs} on the remote, which does not contain ${head}: its changes cannot be taken as a fix. Put your commits on top of ${head}, push the branch and retry; or delete it on the remote and retry without them.`,
        );
      const tree = await repository.treeOf(project, theirs);
      const own = await repository.treeOf(project, head);
      if (tree === own) return { commit: null };
      // Nothing of what a person's tree has in the server's own folder or in engine-owned files is taken.
      const owned = ownedPaths(project.ownedFiles);
      const record = (await repository.changes(project, head, theirs))
        .map(({ path }) => path)
        .filter((path) => path.startsWith('.autonomous/') || owned.has(path));
      const taken = record.length === 0 ? tree : await repository.restorePaths(project, tree, head, record);
      const commit = await commitOnBranch(tools, context, {
        project,
        branch,
        head,
        tree: taken,
        // A later push of this branch then contains what is on the remote.
        secondParent: theirs,
        message,
      });
      return committed(tools, project, baseCommit, commit);
    },
  };
}
