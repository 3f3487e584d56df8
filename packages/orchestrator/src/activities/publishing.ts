/** Activities of the stage publishing: taking in the latest base, the record, the push, the merge. */
import { NeedsHuman, TerminalFailure } from '@autonomous/shared';
import { extendMemory, MEMORY_PATH } from '../artifacts/memory.ts';
import { renderEventLog, renderRunContext } from '../artifacts/run-context.ts';
import type { RemoteProject } from '../repository/repository.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../workflow/activity.ts';
import type { BuildActivities } from '../workflow/definitions/build.ts';
import type { Integrated, Merged } from '../workflow/definitions/build-types.ts';
import type { BuildTools } from './build-tools.ts';
import { commitOnBranch } from './commits.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

export function pushBranch(tools: BuildTools): Of<'pushBranch'> {
  return {
    retry: THREE_TRIES,
    async perform(input) {
      const project = await tools.project(input.projectId);
      await pushOwn(tools, project, input.branch, input.commit);
      return { commit: input.commit, pushed: true };
    },
  };
}

/** Pushes to the run's own branch; what is there must be an earlier state of it. */
async function pushOwn(tools: BuildTools, project: RemoteProject, branch: string, commit: string): Promise<void> {
  const { repository } = tools;
  const known = await repository.remoteHead(project, branch);
  const first = await repository.push(project, branch, commit, known);
  if (first.ok) return;
  const there = first.remoteCommit;
  if (there !== null && (await repository.isAncestor(project, there, commit).catch(() => false))) {
    const second = await repository.push(project, branch, commit, there);
    if (second.ok) return;
  }
  throw new NeedsHuman(
    'push_rejected',
    `The remote branch ${branch} is at ${there ?? 'no commit'}, which this run did not push. Move it out of the way, then retry.`,
  );
}

export function integrate(tools: BuildTools): Of<'integrate'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Integrated> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      await repository.fetch(project);
      const base = await repository.remoteHead(project, input.baseBranch);
      if (base === null) throw new NeedsHuman('remote_unavailable', `The remote has no branch '${input.baseBranch}' any more.`);
      const done = await repository.findCommit(project, input.branch, context.key);
      if (done !== null) return moved(tools, project, base, done);
      if (base === input.baseCommit || (await repository.isAncestor(project, base, input.head))) return { moved: false };
      const head = await withoutMemory(tools, context, project, input);
      const merged = await repository.mergeTrees(project, head, base);
      if (!merged.ok) {
        throw new NeedsHuman(
          'merge_conflict',
          `The run and ${input.baseBranch} changed the same lines of ${merged.conflicts.join(', ')}. Nothing was merged; cancel the run, or mend ${input.baseBranch} and retry.`,
        );
      }
      const commit = await commitOnBranch(tools, context, {
        project,
        branch: input.branch,
        head,
        tree: merged.tree,
        secondParent: base,
        message: `Take in ${input.baseBranch}`,
      });
      return moved(tools, project, base, commit);
    },
  };
}

async function moved(tools: BuildTools, project: RemoteProject, baseCommit: string, commit: string): Promise<Integrated> {
  return { moved: true, baseCommit, commit, codeTree: await tools.repository.codeTree(project, commit) };
}

/** The memory file is written anew on the latest base, never text-merged: what the run wrote of it is taken back first. */
async function withoutMemory(
  tools: BuildTools,
  context: ActivityContext,
  project: RemoteProject,
  input: BuildActivities['integrate']['input'],
): Promise<string> {
  const { repository } = tools;
  const tree = await repository.treeOf(project, input.head);
  const asBefore = await repository.restorePaths(project, tree, input.baseCommit, [MEMORY_PATH]);
  if (asBefore === tree) return input.head;
  return commitOnBranch(
    tools,
    { ...context, key: `${context.key}/memory` },
    { project, branch: input.branch, head: input.head, tree: asBefore, message: 'Take back the memory file before the base is taken in' },
  );
}

/** Copies the run's record into its branch: the last commit before it is published. */
export function copyRecord(tools: BuildTools): Of<'copyRecord'> {
  return {
    retry: THREE_TRIES,
    async find(input, context) {
      const project = await tools.project(input.projectId);
      const commit = await tools.repository.findCommit(project, input.branch, context.key);
      return commit === null ? undefined : { commit, codeTree: await tools.repository.codeTree(project, commit) };
    },
    async perform(input, context) {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const [view, events, memory] = await Promise.all([
        tools.view(input.runId),
        tools.events(input.runId),
        repository.readFile(project, input.head, MEMORY_PATH),
      ]);
      const folder = `.autonomous/runs/${input.runId}`;
      const extended = extendMemory(memory, {
        project: project.name,
        date: context.startedAt.slice(0, 10),
        title: input.title,
        runId: input.runId,
        decisions: input.decisions,
        techStack: input.techStack,
        patterns: input.patterns,
      });
      const tree = await repository.writeFiles(project, await repository.treeOf(project, input.head), {
        [`${folder}/context.json`]: tools.scrub(renderRunContext({ ...view, completedAt: context.startedAt })),
        [`${folder}/events.jsonl`]: tools.scrub(renderEventLog(events)),
        [MEMORY_PATH]: tools.scrub(extended.text),
      });
      const commit = await commitOnBranch(tools, context, {
        project,
        branch: input.branch,
        head: input.head,
        tree,
        message: `Record of run ${input.runId}`,
      });
      const codeTree = await repository.codeTree(project, commit);
      if (codeTree !== input.codeTree) {
        throw new TerminalFailure(`The branch ${input.branch} holds the code tree ${codeTree}, validated was ${input.codeTree}.`);
      }
      return { commit, codeTree };
    },
  };
}

export function merge(tools: BuildTools): Of<'merge'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Merged> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const codeTree = await repository.codeTree(project, input.head);
      if (codeTree !== input.codeTree) {
        throw new TerminalFailure(`The branch ${input.branch} holds the code tree ${codeTree}, validated was ${input.codeTree}.`);
      }
      const commit = await mergeCommit(tools, context, project, input);
      const pushed = await repository.push(project, input.baseBranch, commit, input.baseCommit);
      if (pushed.ok) return { merged: true, commit, strategy: input.strategy };
      // Pushed before a crash, and others went on from there?
      await repository.fetch(project);
      const base = await repository.remoteHead(project, input.baseBranch);
      if (base !== null && (await repository.isAncestor(project, commit, base))) return { merged: true, commit, strategy: input.strategy };
      return { merged: false };
    },
  };
}

/** The commit that the base branch is moved to; the same one when the activity is repeated. */
async function mergeCommit(
  tools: BuildTools,
  context: ActivityContext,
  project: RemoteProject,
  input: BuildActivities['merge']['input'],
): Promise<string> {
  if (input.strategy === 'ff') return input.head;
  const { repository } = tools;
  return repository.commit(project, {
    branch: `autonomous-merge/${input.runId}-${input.baseCommit.slice(0, 12)}`,
    tree: await repository.treeOf(project, input.head),
    parent: input.baseCommit,
    ...(input.strategy === 'merge' ? { secondParent: input.head } : {}),
    message: `${input.title}\n\nRun: ${input.runId}\nBranch: ${input.branch}`,
    effectKey: context.key,
    at: context.startedAt,
  });
}
