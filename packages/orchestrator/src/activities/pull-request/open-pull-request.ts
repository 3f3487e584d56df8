/** The pull request of a run's pushed branch, where its project is at a forge that the server knows. */
import type { RunView } from '@autonomous/shared';
import { parseFrontMatter } from '../../documents/front-matter.ts';
import { SPECS } from '../../documents/plans/spec-path.ts';
import { renderPullRequest, withOwnPart } from '../../documents/pull-request-text.ts';
import type { ActivityContext } from '../../core/activity.ts';
import { type ForgeRepository, isOfBranch, type NewPullRequest, type PullRequest } from '../../forges/forge.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { readProjectConfig } from '../../run-config/project-config.ts';
import type { ActivityTools } from '../tools.ts';

/** Places in which a repository keeps its template for pull requests, as the forge looks for it. */
const TEMPLATES = ['.github/', '', 'docs/'].flatMap((folder) =>
  ['pull_request_template.md', 'PULL_REQUEST_TEMPLATE.md'].map((name) => `${folder}${name}`),
);

export interface RunPullRequest extends Pick<PullRequest, 'number' | 'url'> {
  /** For a person; empty when all went as wished. */
  readonly notices: readonly string[];
}

export interface Branch {
  readonly project: RemoteProject;
  readonly view: RunView;
  readonly branch: string;
  readonly commit: string;
  /** Markdown of the plan, for a run without a specification; `null`: none. */
  readonly document: string | null;
  /** Whether it is not ready for a review yet. */
  readonly isDraft: boolean;
}

/**
 * Opens the pull request of a run's branch, or brings the open one up to date: repeated, it changes nothing more.
 * @returns `null` where the project is at no forge that the server knows
 * @throws {NeedsHuman} with the refusal of the forge, or `auth_expired`
 */
export async function openPullRequest(
  tools: ActivityTools,
  { signal }: Pick<ActivityContext, 'signal'>,
  { project, view, branch, commit, document, isDraft }: Branch,
): Promise<RunPullRequest | null> {
  const name = tools.forge?.repositoryAt(project.repository) ?? null;
  if (tools.forge === null || name === null) return null;
  const repository = tools.forge.repository(name, signal, project.id);
  const base = view.config.git.baseBranch || project.baseBranch;
  const { title, body } = await textOf(tools, { project, view, branch, commit, document });
  const before = await ownOf(repository, view, { branch, base });
  // Somebody closed it while the run worked. Another one would be opened against their will.
  if (before?.state === 'closed')
    return {
      number: before.number,
      url: before.url,
      notices: ['Somebody closed it while the run worked: it stays closed.'],
    };
  const wishes = { ...(await wishesOf(tools, project, view)), ...(isDraft ? { reviewers: [] } : {}) };
  // Somebody gave it another base. It stays the run's: another one beside it would be followed, and this one by nobody.
  const to = before?.state === 'open' ? before.base.branch : base;
  const request = { head: branch, base: to, title, body, isDraft, ...wishes };
  const { pullRequest, isNew, notices: said } = await repository.openPullRequest(request);
  const notices = [
    ...said,
    ...(branch === view.branch ? [] : await leftBeside(repository, view.branch)),
    ...(to === base ? [] : [leadsElsewhere(pullRequest, base)]),
    ...(before?.state === 'merged' ? [`Pull request ${before.number} of this branch was merged before.`] : []),
  ];
  const { number, url } = pullRequest;
  if (isNew) return { number, url, notices };
  // People may have given it another title, have written into its body, and made it a draft again once it was ready.
  const there = pullRequest.body.replace(/\r\n/g, '\n');
  const changed = withOwnPart(there, body);
  const becomesReady = !isDraft && pullRequest.isDraft && view.published === undefined;
  const changes = {
    ...(changed === null || changed === there ? {} : { body: changed }),
    ...(becomesReady ? { isDraft: false } : {}),
  };
  if (Object.keys(changes).length > 0) await repository.updatePullRequest(number, changes);
  return { number, url, notices: changed === null ? [...notices, NO_ROOM] : notices };
}

function leadsElsewhere({ number, base }: PullRequest, wanted: string): string {
  return `Pull request ${number} leads to '${base.branch}' now, and the result was checked for '${wanted}'. Set its base back at the forge to have it merged here.`;
}

/** The run's commits went to a branch beside its own, whose pull request has what others pushed there. */
async function leftBeside(repository: ForgeRepository, branch: string): Promise<readonly string[]> {
  const left = await repository.findPullRequest(branch);
  return left?.state === 'open'
    ? [
        `Pull request ${left.number} of ${branch} stays open${left.isDraft ? ' as a draft' : ''}, with what others pushed there and without this result. Close it at the forge if nobody needs it.`,
      ]
    : [];
}

/** The pull request of the branch. The one that a run knows is another branch's in a fork, whose source opened it. */
async function ownOf(
  repository: ForgeRepository,
  view: RunView,
  { branch, base }: { readonly branch: string; readonly base: string },
): Promise<PullRequest | null> {
  const known = view.published?.pullRequest?.number;
  const found = known === undefined ? null : await repository.pullRequest(known);
  if (found !== null && isOfBranch(found, branch)) return found;
  return (await repository.findPullRequest(branch, base)) ?? repository.findPullRequest(branch);
}

const NO_ROOM =
  'The text of the pull request was not brought up to date: what people wrote into it leaves no room. Shorten it at the forge.';

/** Labels and reviewers that the project's configuration names, as it was where the run began: a run does not choose its reviewers. */
async function wishesOf(
  { repository }: ActivityTools,
  project: RemoteProject,
  { baseCommit }: RunView,
): Promise<Pick<NewPullRequest, 'labels' | 'reviewers'>> {
  const own = baseCommit === undefined ? null : await readProjectConfig(repository, project, baseCommit);
  const { labels = [], reviewers = [] } = own?.config?.git ?? {};
  return { labels, reviewers };
}

async function textOf(tools: ActivityTools, { project, view, branch, commit, ...given }: Omit<Branch, 'isDraft'>) {
  const { repository } = tools;
  const read = (treeish: string, path: string) => repository.readFile(project, treeish, path);
  const planPath = view.artifacts.findLast(({ gitPath }) => gitPath?.startsWith(SPECS))?.gitPath ?? '';
  const document = (planPath === '' ? given.document : await read(commit, planPath)) ?? '';
  const plan = parseFrontMatter(document);
  // A long request makes a front matter that is not read.
  const [fields, text] = plan.ok ? [plan.fields, plan.body] : [{}, document.replace(/^---\n[\s\S]*?\n---\n+/, '')];
  const { baseCommit } = view;
  let template: string | null = null;
  for (const path of baseCommit === undefined ? [] : TEMPLATES) template ??= await read(baseCommit ?? '', path);
  const title = (fields as { readonly title?: unknown }).title;
  const rendered = renderPullRequest({
    view: { ...view, branch },
    childRuns: await tools.childRuns(view.id),
    title: tools.scrub(typeof title === 'string' ? title : ''),
    document: text === '' ? null : text,
    commit,
    template,
  });
  return { title: tools.scrub(rendered.title), body: tools.scrub(rendered.body) };
}
