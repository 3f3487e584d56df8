/** Runs that issues with a label start: the watcher with the forge and the launch of this server. */
import {
  BUDGET_NAMES,
  type Budgets,
  InvalidRequest,
  type Orchestrator,
  type Project,
  Unavailable,
  Unprocessable,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { ServerConfig } from '../config.ts';
import { systemClock } from '../engine/clock.ts';
import { readForeignText } from '../foreign-text/foreign-text.ts';
import { type IssueLaunch, type IssueLaunchOutcome, IssueWatcher } from '../upkeep/issue-watcher.ts';
import type { Repository } from '../repository/repository.ts';
import type { SharedFetches } from '../repository/shared-fetches.ts';
import { readProjectConfig } from '../run-config/project-config.ts';
import type { Adapters } from './adapters.ts';
import { projectsAtForge } from './forge.ts';
import type { ServerWorkflows } from './server-workflows.ts';
import { startCommand } from '../server/start-command.ts';

export interface LabelledIssuesOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly adapters: Pick<Adapters, 'store' | 'forge' | 'forgeNews'>;
  readonly repository: Pick<Repository, 'remoteHead' | 'readFile'>;
  readonly fetches: Pick<SharedFetches, 'fetch'>;
  readonly workflows: ServerWorkflows;
  readonly orchestrator: Pick<Orchestrator, 'launchRun'>;
}

/** A remote that does not answer in this time is read as it was last. */
const FETCH_PATIENCE_MS = 5_000;

/** `null` where no label starts runs, or the server has no credentials for a forge. */
export function createIssueWatcher(options: LabelledIssuesOptions): IssueWatcher | null {
  const { config, log, adapters } = options;
  const { store, forge, forgeNews } = adapters;
  const label = config.github.issueLabel;
  if (forge === null || label === null) return null;
  return new IssueWatcher({
    store,
    clock: systemClock,
    log,
    label,
    forge,
    forgeNews,
    projects: () => projectsAtForge(store, forge),
    launch: (launch) => launchOfIssue(options, launch),
  });
}

async function launchOfIssue(
  options: LabelledIssuesOptions,
  { project, issue, login, key }: IssueLaunch,
): Promise<IssueLaunchOutcome> {
  const workflow = options.workflows.launchable[0]?.name ?? '';
  const budgets = await budgetsOf(options, project, workflow);
  if (Object.keys(budgets).length === 0) return 'no_budget';
  const { url, title, body, isClipped } = issue;
  const read = await readForeignText('requestOfIssue', [{ url, title, body, isClipped }]);
  if (!read.ok) throw new Unavailable(`No run was started for issue ${issue.number}: its text ${read.why}.`);
  const request = read.value;
  // The budgets of now are the run's own: a project that drops them meanwhile does not set it free.
  const config = { git: { createPR: true }, ...budgets };
  try {
    const wanted = { projectId: project.id, workflow, request, config };
    return await options.orchestrator.launchRun({ userId: `github:${login}` }, wanted, key);
  } catch (error) {
    if (!(error instanceof Unprocessable) && !(error instanceof InvalidRequest)) throw error;
    if ('runId' in error.extra) return 'started_elsewhere';
    options.log.warn({ projectId: project.id }, `no run was started for issue ${issue.number}: ${error.message}`);
    return 'refused';
  }
}

/** Budgets that a run has which asks for none. */
async function budgetsOf(
  { repository, fetches, workflows }: LabelledIssuesOptions,
  project: Project,
  workflow: string,
): Promise<Budgets> {
  await fetches.fetch(project, FETCH_PATIENCE_MS).catch(() => undefined);
  const base = await repository.remoteHead(project, project.baseBranch);
  if (base === null)
    throw new Unavailable(
      `The branch '${project.baseBranch}' of project '${project.name}' cannot be read. Check the repository with: ${startCommand().program} doctor`,
    );
  const own = await readProjectConfig(repository, project, base);
  const { config } = workflows.runConfig.resolve(workflow, own.config, {});
  const set = BUDGET_NAMES.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]] as const]));
  return Object.fromEntries(set);
}
