/** JSON of the GitHub of tests, in the shapes of the REST API. */
import { createHash } from 'node:crypto';
import type {
  CheckRun,
  Comment,
  Issue,
  Pull,
  Review,
  StandInRepository,
  Status,
  Thread,
} from './github-server-state.fixture.ts';

/** Addresses of the stand-in. */
export interface Places {
  /** Web pages. */
  readonly url: string;
  readonly apiUrl: string;
}

export function nodeId(kind: string, id: number): string {
  return `${kind}_${id}`;
}

export function userView(login: string, { url, apiUrl }: Places): object {
  const isBot = login.endsWith('[bot]');
  return {
    login,
    id: Number.parseInt(createHash('sha1').update(login).digest('hex').slice(0, 8), 16),
    node_id: `U_${login}`,
    html_url: `${url}/${isBot ? `apps/${login.replace('[bot]', '')}` : login}`,
    url: `${apiUrl}/users/${login}`,
    type: isBot ? 'Bot' : 'User',
    site_admin: false,
  };
}

export function repositoryView(repository: StandInRepository, login: string, places: Places): object {
  const level = repository.levelOf(login);
  const mayWrite = level === 'admin' || level === 'write';
  const { fullName } = repository;
  return {
    id: repository.id,
    node_id: nodeId('R', repository.id),
    name: repository.name,
    full_name: fullName,
    private: repository.isPrivate,
    owner: userView(repository.owner, places),
    html_url: `${places.url}/${fullName}`,
    clone_url: `${places.url}/${fullName}.git`,
    url: `${places.apiUrl}/repos/${fullName}`,
    fork: false,
    archived: repository.isArchived,
    disabled: false,
    has_issues: repository.hasIssues,
    visibility: repository.isPrivate ? 'private' : 'public',
    default_branch: repository.defaultBranch,
    permissions: {
      admin: level === 'admin',
      maintain: level === 'admin',
      push: mayWrite,
      triage: mayWrite,
      pull: level !== 'none',
    },
    ...(mayWrite
      ? {
          allow_squash_merge: repository.methods.squash,
          allow_merge_commit: repository.methods.merge,
          allow_rebase_merge: repository.methods.rebase,
        }
      : {}),
  };
}

export function labelsView({ labels }: Issue, places: Places): readonly object[] {
  return [...labels].map((name, index) => ({
    id: index + 1,
    node_id: `LA_${name}`,
    name,
    color: 'ededed',
    default: false,
    description: null,
    url: `${places.apiUrl}/labels/${encodeURIComponent(name)}`,
  }));
}

export function issueView(repository: StandInRepository, issue: Issue, places: Places): object {
  const { number } = issue;
  const url = `${places.apiUrl}/repos/${repository.fullName}/issues/${number}`;
  const page = `${places.url}/${repository.fullName}/${issue.pull === null ? 'issues' : 'pull'}/${number}`;
  return {
    id: repository.id * 1_000 + number,
    node_id: nodeId('I', repository.id * 1_000 + number),
    number,
    url,
    html_url: page,
    title: issue.title,
    body: issue.body === '' ? null : issue.body,
    state: issue.state,
    user: userView(issue.login, places),
    labels: labelsView(issue, places),
    comments: issue.comments.length,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
    closed_at: issue.state === 'closed' ? issue.updatedAt : null,
    author_association: repository.owner === issue.login ? 'OWNER' : 'NONE',
    ...(issue.pull === null ? {} : { pull_request: { url: url.replace('/issues/', '/pulls/'), html_url: page } }),
  };
}

/** As lists have it: without what is computed for one alone. */
export function pullInList(repository: StandInRepository, issue: Issue, pull: Pull, places: Places): object {
  const id = pullId(repository, issue);
  const branch = (ref: string, sha: string): object => ({
    label: `${repository.owner}:${ref}`,
    ref,
    sha,
    user: userView(repository.owner, places),
    repo: repositoryView(repository, repository.owner, places),
  });
  return {
    ...issueView(repository, issue, places),
    id,
    node_id: nodeId('PR', id),
    url: `${places.apiUrl}/repos/${repository.fullName}/pulls/${issue.number}`,
    draft: pull.isDraft,
    locked: false,
    merged_at: pull.merged?.at ?? null,
    merge_commit_sha: pull.merged?.commit ?? null,
    requested_reviewers: [...pull.reviewers].map((login) => userView(login, places)),
    requested_teams: [],
    head: branch(pull.head, pull.headCommit),
    base: branch(pull.base, pull.baseCommit),
  };
}

export function pullId(repository: StandInRepository, issue: Issue): number {
  return repository.id * 10_000 + issue.number;
}

export function pullView(repository: StandInRepository, issue: Issue, pull: Pull, places: Places): object {
  const isOpen = issue.state === 'open';
  const isMergeable = isOpen ? repository.mergedTree(pull) !== null : null;
  return {
    ...pullInList(repository, issue, pull, places),
    merged: pull.merged !== null,
    merged_by: pull.merged === null ? null : userView(pull.merged.login, places),
    mergeable: isMergeable,
    rebaseable: isMergeable,
    mergeable_state: isOpen ? mergeableState(repository, pull, isMergeable === true) : 'unknown',
    review_comments: pull.threads.reduce((sum, { comments }) => sum + comments.length, 0),
  };
}

function mergeableState(repository: StandInRepository, pull: Pull, isMergeable: boolean): string {
  if (!isMergeable) return 'dirty';
  if (pull.isDraft) return 'draft';
  if (repository.unmetRules(pull).length > 0) return 'blocked';
  if (repository.isBehind(pull)) return 'behind';
  const names = repository.namesOfChecks(pull.headCommit);
  const good = new Set(['success', 'neutral', 'skipped']);
  const isStable = names.every((name) => good.has(repository.stateOfCheck(pull.headCommit, name) ?? ''));
  return isStable ? 'clean' : 'unstable';
}

export function commentView(repository: StandInRepository, issue: Issue, comment: Comment, places: Places): object {
  const page = `${places.url}/${repository.fullName}/${issue.pull === null ? 'issues' : 'pull'}/${issue.number}`;
  return {
    id: comment.id,
    node_id: nodeId('IC', comment.id),
    url: `${places.apiUrl}/repos/${repository.fullName}/issues/comments/${comment.id}`,
    html_url: `${page}#issuecomment-${comment.id}`,
    body: comment.body,
    user: userView(comment.login, places),
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    author_association: 'NONE',
  };
}

export function reviewView(repository: StandInRepository, issue: Issue, review: Review, places: Places): object {
  return {
    id: review.id,
    node_id: nodeId('PRR', review.id),
    user: userView(review.login, places),
    body: review.body,
    state: review.state,
    html_url: `${places.url}/${repository.fullName}/pull/${issue.number}#pullrequestreview-${review.id}`,
    submitted_at: review.createdAt,
    commit_id: review.commit,
    author_association: 'NONE',
  };
}

export function reviewCommentView(
  repository: StandInRepository,
  issue: Issue,
  thread: Thread,
  comment: Comment,
  places: Places,
): object {
  return {
    id: comment.id,
    node_id: nodeId('PRRC', comment.id),
    path: thread.path,
    line: thread.isOutdated ? null : thread.line,
    original_line: thread.line,
    body: comment.body,
    user: userView(comment.login, places),
    html_url: `${places.url}/${repository.fullName}/pull/${issue.number}#discussion_r${comment.id}`,
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    ...(thread.comments[0] === comment ? {} : { in_reply_to_id: thread.comments[0]?.id }),
  };
}

export function checkRunView(run: CheckRun, repository: StandInRepository, places: Places): object {
  return {
    id: run.id,
    node_id: nodeId('CR', run.id),
    name: run.name,
    head_sha: run.commit,
    status: run.status,
    conclusion: run.conclusion,
    details_url: run.detailsUrl,
    html_url: `${places.url}/${repository.fullName}/runs/${run.id}`,
    url: `${places.apiUrl}/repos/${repository.fullName}/check-runs/${run.id}`,
    started_at: null,
    completed_at: null,
    external_id: '',
    output: { title: run.title, summary: run.summary, text: null, annotations_count: 0, annotations_url: '' },
    check_suite: { id: 1 },
    app: { id: 1, slug: run.app, name: run.app },
    pull_requests: [],
  };
}

export function statusView({ context, state, description, url }: Status): object {
  return { id: 1, node_id: `S_${context}`, context, state, description, target_url: url, url: '', avatar_url: null };
}
