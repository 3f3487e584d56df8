/** The activities of the run of a roadmap's item, by the names that its machine gives them. */
import { pathsIn } from '../../path-rules/sorted-paths.ts';
import { assertAccepted } from '../../activities/evidence/concerns.ts';
import { commitOwnedFiles } from '../../activities/git/commit-owned-files.ts';
import { pushBranch } from '../../activities/git/push-branch.ts';
import { fetchRemote, remoteBranchHead } from '../../activities/git/remote.ts';
import { tidiedAll } from '../../activities/tidied.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import type { RunHeader } from '../../activities/types.ts';
import { watchChildren } from '../parts/watch-children.ts';
import { hashOf } from '../../documents/content-hash.ts';
import { LIMITS } from '../../foreign-text/limits.ts';
import { type ActivityContext, type ActivityRegistry, FORGE_TRIES, THREE_TRIES } from '../../core/activity.ts';
import type { Implementations } from '../parts/declared-activities.ts';
import { checkedRunActivities, childMergeActivities } from '../parts/project-run-activities.ts';
import { review, writeDocument } from './agents.ts';
import { DOCUMENT_TITLES, documentPath, progressPath, renderDocument, renderProgress } from './documents.ts';
import { readInWorker, spentBy, stateUpdate } from './item-state.ts';
import { roles } from './roles/index.ts';
import { release, runCommand } from './run-command.ts';
import type { ItemActivities, ItemConfig, ItemMetrics, ItemRead, SetStateInput } from './types.ts';

type All = Implementations<ItemActivities>;

export function itemActivities(tools: ActivityTools): ActivityRegistry {
  const activities: All = {
    ...checkedRunActivities<ItemConfig>(tools, roles),
    ...childMergeActivities(tools),
    readItem: readItem(tools),
    setState: setState(tools),
    writeDocument: writeDocument(tools),
    commitDocument: commitDocument(tools),
    commitProgress: commitProgress(tools),
    watchTask: watchChildren(tools),
    runCommand: runCommand(tools),
    review: review(tools),
    shareResult: shareResult(tools),
    release: release(tools),
  };
  return tidiedAll(tools, activities);
}

/** Reads the roadmap and the item's documents at the base branch. */
function readItem(tools: ActivityTools): All['readItem'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<ItemRead> {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      await fetchRemote(tools, context, project);
      const commit = await remoteBranchHead(tools, project, input.baseBranch);
      const paths = pathsIn(await repository.listFiles(project, commit), 'specs');
      const documents = paths.filter((path) => /^specs\/[^/]+\/0[12]-[a-z]+\.md$/.test(path));
      const { fileBytes, files, totalBytes } = LIMITS.documents;
      return readInWorker.itemIn(input, {
        commit,
        roadmap: await repository.readFile(project, commit, input.roadmap),
        paths,
        texts: await repository.readFiles(project, commit, documents.slice(0, files), fileBytes, totalBytes),
      });
    },
  };
}

/** Writes the state of the item into the roadmap. */
function setState(tools: ActivityTools): All['setState'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const spent = await spentOf(tools, input.runId);
      const { ownedFiles } = await tools.view(input.runId);
      const now = { spent, at: context.startedAt, isOnBranch: ownedFiles?.to === 'branch' };
      return commitOwnedFiles(tools, (given: SetStateInput) => stateUpdate(given, now)).perform(input, context);
    },
  };
}

/** Pushes the result that people have accepted, before the roadmap of the base names its branch. */
function shareResult(tools: ActivityTools): All['shareResult'] {
  return {
    retry: FORGE_TRIES,
    async perform({ baseCommit, ...input }, context) {
      const project = await tools.project(input.projectId, input.runId);
      const view = await tools.view(input.runId);
      await assertAccepted(tools, { project, view, baseCommit, head: input.commit, signal: context.signal });
      return pushBranch(tools).perform({ ...input, isEarly: true }, context);
    },
  };
}

async function spentOf(tools: ActivityTools, runId: string): Promise<ItemMetrics> {
  return spentBy([await tools.view(runId), ...(await tools.childRuns(runId))]);
}

/** Commits a document to the run's branch. */
function commitDocument(tools: ActivityTools): All['commitDocument'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const { runId, item, draft, head } = input;
      const path = documentPath(item.slug, draft.phase);
      const text = tools.scrub(draft.text);
      const origin = { item: item.id, title: item.title, runId, createdAt: context.startedAt, model: draft.model };
      const document = renderDocument(draft.phase, origin, text);
      const message = `${DOCUMENT_TITLES[draft.phase]}: ${item.title}`;
      const commit = await commitText(tools, context, input, { path, text: document, message });
      return { path, artifactHash: hashOf(document), commit: commit ?? head, text, scripted: draft.scripted };
    },
  };
}

/** Commits the document with the state of the work. */
function commitProgress(tools: ActivityTools): All['commitProgress'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const { runId, item, head, ...progress } = input;
      const origin = { item: item.id, title: item.title, runId, createdAt: context.startedAt };
      const commit = await commitText(tools, context, input, {
        path: progressPath(item.slug),
        text: tools.scrub(renderProgress(origin, progress)),
        message: `Implementation: ${item.title}`,
      });
      return { commit: commit ?? head };
    },
  };
}

interface OwnedText {
  readonly path: string;
  readonly text: string;
  readonly message: string;
}

/** @returns the commit; `null` where the branch has the text already */
async function commitText(
  tools: ActivityTools,
  context: ActivityContext,
  header: RunHeader & { readonly head: string },
  { path, text, message }: OwnedText,
): Promise<string | null> {
  const { runId, projectId, request, branch, startedAt, head } = header;
  const input = { runId, projectId, request, branch, startedAt, head, baseBranch: '' };
  const update = () => ({ message: message.slice(0, 200).toWellFormed(), files: { [path]: () => text } });
  const { commit } = await commitOwnedFiles(tools, update, 'branch').perform(input, context);
  return commit;
}
