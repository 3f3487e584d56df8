/** The activities of a backlog's run, by the names that its machine gives them. */
import { pathsIn } from '../../path-rules/sorted-paths.ts';
import { commitOwnedFiles } from '../../activities/git/commit-owned-files.ts';
import { recordRun } from '../../activities/git/record-run.ts';
import { fetchRemote, remoteBranchHead } from '../../activities/git/remote.ts';
import { tidiedAll } from '../../activities/tidied.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { watchChildren } from '../parts/watch-children.ts';
import { type ActivityContext, type ActivityRegistry, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { readProjectConfig } from '../../run-config/project-config.ts';
import { columnsOf } from './backlog-table.ts';
import { checkEnvironment } from './check-environment.ts';
import { progressFiles } from './progress-file.ts';
import { LONGEST_BEGINNING, readInWorker, statusUpdate } from './files.ts';
import { LIMITS } from '../../foreign-text/limits.ts';
import type { Implementations } from '../parts/declared-activities.ts';
import { checkedRunActivities, childMergeActivities } from '../parts/project-run-activities.ts';
import type { BacklogActivities, BacklogConfig, Choice, ChooseInput, SetStatusInput } from './types.ts';

type All = Implementations<BacklogActivities>;

export function backlogActivities(tools: ActivityTools): ActivityRegistry {
  const activities: All = {
    ...checkedRunActivities<BacklogConfig>(tools, []),
    ...childMergeActivities(tools),
    chooseItem: chooseItem(tools),
    checkEnvironment: checkEnvironment(tools),
    setStatus: setStatus(tools),
    readAgain: readAgain(tools),
    watchItems: watchChildren(tools),
    recordRun: recordRun(tools, { files: progressFiles }),
  };
  return tidiedAll(tools, activities);
}

/** Reads the table where the server keeps the statuses: at the base branch, or at the run's where the base refused a push. */
function chooseItem(tools: ActivityTools): All['chooseItem'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Choice> {
      const { repository } = tools;
      const { project, keptIn, commit } = await latestTable(tools, context, input);
      const codeTree = await repository.codeTree(project, input.head);
      const text = await repository.readFile(project, commit, input.file);
      const specs = pathsIn(await repository.listFiles(project, commit), input.specs).filter((path) =>
        path.endsWith('.md'),
      );
      const { config } = await readProjectConfig(tools.repository, project, commit);
      const columns = columnsOf(config);
      const read = new Map<string, string | null>(specs.map((path) => [path, null]));
      const readSpecs = (paths: readonly string[]) => readBatches(tools, project, commit, paths);
      let wanted = text === null ? [] : await readInWorker.specsToRead(input, text, read, columns);
      if (text !== null && wanted.length > 1) {
        for await (const [path, spec] of readSpecs(wanted)) read.set(path, spec.slice(0, LONGEST_BEGINNING));
        wanted = await readInWorker.specsToRead(input, text, read, columns);
      }
      if (wanted.length === 1) for await (const [path, spec] of readSpecs(wanted)) read.set(path, spec);
      return { codeTree, ...(await readInWorker.choiceIn(input, text, read, columns, keptIn)) };
    },
  };
}

/** Specifications with their texts, a few files at a time, so that never all of them are in memory. Those that are too large are left out. */
async function* readBatches(
  { repository }: ActivityTools,
  project: RemoteProject,
  commit: string,
  paths: readonly string[],
): AsyncGenerator<readonly [path: string, text: string]> {
  const { fileBytes, files } = LIMITS.specs;
  for (let from = 0; from < paths.length; from += files)
    yield* await repository.readFiles(project, commit, paths.slice(from, from + files), fileBytes);
}

/** Reads the table once more before the result is published. */
function readAgain(tools: ActivityTools): All['readAgain'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const { project, keptIn, commit } = await latestTable(tools, context, input);
      const text = await tools.repository.readFile(project, commit, input.file);
      const { config } = await readProjectConfig(tools.repository, project, commit);
      return readInWorker.readAgainIn(input, text, columnsOf(config), keptIn);
    },
  };
}

/** The commit that has the latest table. */
async function latestTable(
  tools: ActivityTools,
  context: ActivityContext,
  input: Pick<ChooseInput, 'runId' | 'projectId' | 'head' | 'baseBranch'>,
) {
  const project = await tools.project(input.projectId, input.runId);
  const keptIn = await placeOf(tools, input.runId);
  const fetch = () => fetchRemote(tools, context, project);
  const commit = keptIn === 'branch' ? input.head : await latestBase(tools, project, input, fetch);
  return { project, keptIn, commit };
}

/** Where the server commits the statuses. */
async function placeOf(tools: ActivityTools, runId: string): Promise<'base' | 'branch'> {
  return (await tools.view(runId)).ownedFiles?.to ?? 'base';
}

async function latestBase(
  tools: ActivityTools,
  project: RemoteProject,
  { baseBranch }: Pick<ChooseInput, 'baseBranch'>,
  fetch: () => Promise<unknown>,
): Promise<string> {
  await fetch();
  return remoteBranchHead(tools, project, baseBranch);
}

/** Writes an item's status into the table and its specification. */
function setStatus(tools: ActivityTools): All['setStatus'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const project = await tools.project(input.projectId, input.runId);
      // The table was read a moment ago, when the mirror was brought up to date.
      const isOnBranch = (await placeOf(tools, input.runId)) === 'branch';
      const commit = isOnBranch ? input.head : await latestBase(tools, project, input, () => Promise.resolve());
      const { config } = await readProjectConfig(tools.repository, project, commit);
      const bringsTemplate = input.isFirst === true && config?.backlog?.progressLog !== false;
      const update = (given: SetStatusInput) =>
        statusUpdate(given, context.startedAt, columnsOf(config), bringsTemplate);
      return commitOwnedFiles(tools, update).perform(input, context);
    },
  };
}
