/** REST of the GitHub of tests: what the API's routes answer and change. */
import {
  type Answer,
  type Asked,
  BODY_LIMIT,
  created,
  newComment,
  NUMBER,
  ok,
  onPull,
  paged,
  refusal,
  type Route,
  route,
  text,
  texts,
  tooLong,
} from './github-server-answers.fixture.ts';
import { CHECK_ROUTES } from './github-server-checks.fixture.ts';
import { ISSUE_ROUTES } from './github-server-issues.fixture.ts';
import { nextId, now, type Pull, type Review, type StandInRepository } from './github-server-state.fixture.ts';
import {
  pullInList,
  pullView,
  repositoryView,
  reviewCommentView,
  reviewView,
  userView,
} from './github-server-views.fixture.ts';

function listPulls(asked: Asked): Answer {
  const { repository, query, places } = asked;
  const [state, head, base] = [query.get('state') ?? 'open', query.get('head'), query.get('base')];
  for (const issue of repository.issues.values()) repository.refresh(issue);
  const found = [...repository.issues.values()].flatMap((issue) => {
    const { pull } = issue;
    if (pull === null || (state !== 'all' && state !== issue.state)) return [];
    if (head !== null && head !== `${repository.owner}:${pull.head}`) return [];
    return base !== null && base !== pull.base ? [] : [pullInList(repository, issue, pull, places)];
  });
  return paged(asked, query.get('direction') === 'asc' ? found : found.toReversed());
}

function createPull(asked: Asked): Answer {
  const { repository, body, login, places, hooks } = asked;
  const { owner } = repository;
  const head = text(body['head']).replace(`${owner}:`, '');
  const base = text(body['base']);
  if (head === '' || base === '')
    return refusal(422, `Invalid request.\n\n"${head === '' ? 'head' : 'base'}" wasn't supplied.`);
  const invalid = (field: string): Answer =>
    refusal(422, 'Validation Failed', [{ resource: 'PullRequest', field, code: 'invalid' }]);
  const custom = (message: string): Answer =>
    refusal(422, 'Validation Failed', [{ resource: 'PullRequest', code: 'custom', message }]);
  const [headCommit, baseCommit] = [repository.headOf(head), repository.headOf(base)];
  if (headCommit === null) return invalid('head');
  if (baseCommit === null) return invalid('base');
  const existing = [...repository.issues.values()].find(
    ({ state, pull }) => state === 'open' && pull?.head === head && pull.base === base,
  );
  if (existing !== undefined) return custom(`A pull request already exists for ${owner}:${head}.`);
  if (repository.tryGit('merge-base', '--is-ancestor', headCommit, baseCommit) !== null)
    return custom(`No commits between ${base} and ${head}`);
  if (text(body['body']).length > BODY_LIMIT) return tooLong('Issue');
  if (body['draft'] === true && !repository.hasDrafts)
    return refusal(422, 'Draft pull requests are not supported in this repository.');
  const pull: Pull = {
    head,
    base,
    isDraft: body['draft'] === true,
    headCommit,
    baseCommit,
    reviews: [],
    threads: [],
    reviewers: new Set(),
    merged: null,
  };
  const issue = repository.addIssue({ login, title: text(body['title']), body: text(body['body']) }, pull);
  const view = pullView(repository, issue, pull, places);
  hooks.send(repository, login, 'pull_request', 'opened', { number: issue.number, pull_request: view });
  return created(view);
}

const changePull = onPull(({ repository, body, login, places, hooks }, issue, pull) => {
  const base = body['base'];
  if (typeof base === 'string' && repository.headOf(base) === null)
    return refusal(422, 'Validation Failed', [
      {
        resource: 'PullRequest',
        field: 'base',
        code: 'invalid',
        message: `Proposed base branch '${base}' was not found`,
      },
    ]);
  if (text(body['body']).length > BODY_LIMIT) return tooLong('Issue');
  if (typeof base === 'string') pull.base = base;
  if (typeof body['title'] === 'string') issue.title = body['title'];
  if (typeof body['body'] === 'string') issue.body = body['body'];
  const before = issue.state;
  if (pull.merged === null && (body['state'] === 'open' || body['state'] === 'closed')) issue.state = body['state'];
  issue.updatedAt = now();
  repository.refresh(issue);
  const view = pullView(repository, issue, pull, places);
  const action = issue.state === before ? 'edited' : issue.state === 'closed' ? 'closed' : 'reopened';
  hooks.send(repository, login, 'pull_request', action, { number: issue.number, pull_request: view });
  return ok(view);
});

const mergePull = onPull(({ repository, body, login, places, hooks }, issue, pull) => {
  if (!['admin', 'write'].includes(repository.levelOf(login)))
    return refusal(403, 'Resource not accessible by personal access token');
  const method = text(body['merge_method']) || 'merge';
  if (method !== 'squash' && method !== 'merge' && method !== 'rebase') return refusal(422, 'Invalid merge method');
  if (issue.state === 'closed') return refusal(405, 'Pull Request is not mergeable');
  if (body['sha'] !== undefined && body['sha'] !== pull.headCommit)
    return refusal(409, 'Head branch was modified. Review and try the merge again.');
  if (pull.isDraft) return refusal(405, 'Pull Request is still a draft');
  if (!repository.methods[method]) {
    const name = { squash: 'Squash merges', merge: 'Merge commits', rebase: 'Rebase merges' }[method];
    return refusal(405, `${name} are not allowed on this repository.`);
  }
  const [unmet] = repository.unmetRules(pull);
  if (unmet !== undefined) return refusal(405, unmet);
  if (repository.isBehind(pull)) return refusal(405, 'Head branch is out of date with the base branch.');
  const tree = repository.mergedTree(pull);
  if (tree === null) return refusal(405, 'Pull Request is not mergeable');
  const title = text(body['commit_title']) || `${issue.title} (#${issue.number})`;
  const commit = repository.merge(issue, pull, tree, method, `${title}\n\n${text(body['commit_message'])}`, login);
  const view = pullView(repository, issue, pull, places);
  hooks.send(repository, login, 'pull_request', 'closed', { number: issue.number, pull_request: view });
  return ok({ sha: commit, merged: true, message: 'Pull Request successfully merged' });
});

const VERDICTS: Readonly<Record<string, Review['state']>> = {
  APPROVE: 'APPROVED',
  REQUEST_CHANGES: 'CHANGES_REQUESTED',
  COMMENT: 'COMMENTED',
};

const createReview = onPull(({ repository, body, login, places, hooks }, issue, pull) => {
  const state = VERDICTS[text(body['event'])];
  if (state === undefined) return refusal(422, 'Unprocessable Entity', ['Variable $event was not provided']);
  if (issue.login === login && state !== 'COMMENTED')
    return refusal(422, 'Unprocessable Entity', [
      `Review Can not ${state === 'APPROVED' ? 'approve' : 'request changes on'} your own pull request`,
    ]);
  const review: Review = { ...newComment(login, text(body['body'])), state, commit: pull.headCommit };
  pull.reviews.push(review);
  for (const each of Array.isArray(body['comments']) ? (body['comments'] as Record<string, unknown>[]) : []) {
    const comment = newComment(login, text(each['body']));
    const line = typeof each['line'] === 'number' ? each['line'] : null;
    const thread = {
      id: nextId(),
      path: text(each['path']),
      line,
      isResolved: false,
      isOutdated: false,
      comments: [comment],
    };
    pull.threads.push(thread);
    hooks.send(repository, login, 'pull_request_review_comment', 'created', {
      comment: reviewCommentView(repository, issue, thread, comment, places),
      pull_request: pullInList(repository, issue, pull, places),
    });
  }
  issue.updatedAt = now();
  const view = reviewView(repository, issue, review, places);
  hooks.send(repository, login, 'pull_request_review', 'submitted', {
    review: view,
    pull_request: pullInList(repository, issue, pull, places),
  });
  return ok(view);
});

const askForReviews = onPull(({ repository, body, login, places, hooks }, issue, pull) => {
  for (const reviewer of texts(body['reviewers'])) {
    if (repository.levelOf(reviewer) === 'none' || !knows(repository, reviewer) || reviewer === issue.login)
      return refusal(
        422,
        reviewer === issue.login
          ? 'Review cannot be requested from pull request author.'
          : `Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the ${repository.fullName} repository.`,
      );
    pull.reviewers.add(reviewer);
  }
  if (texts(body['team_reviewers']).length > 0)
    return refusal(422, 'Could not resolve to a node with the global id of the team.');
  const view = pullInList(repository, issue, pull, places);
  hooks.send(repository, login, 'pull_request', 'review_requested', { number: issue.number, pull_request: view });
  return created(view);
});

function knows(repository: StandInRepository, login: string): boolean {
  return login === repository.owner || repository.collaborators.has(login);
}

function permission({ repository, parts, places }: Asked): Answer {
  const login = decodeURIComponent(parts[0] ?? '');
  if (login.endsWith('[bot]') || login.startsWith('no-one')) return refusal(404, `${login} is not a user`);
  const level = repository.levelOf(login);
  return ok({ permission: level, role_name: level, user: userView(login, places) });
}

export const ROUTES: readonly Route[] = [
  ...ISSUE_ROUTES,
  ...CHECK_ROUTES,
  route('GET', '', 'metadata=read', ({ repository, login, places }) => ok(repositoryView(repository, login, places))),
  route('GET', '/pulls', 'pull_requests=read', listPulls),
  route('POST', '/pulls', 'pull_requests=write', createPull),
  route(
    'GET',
    `/pulls/${NUMBER}`,
    'pull_requests=read',
    onPull(({ repository, places }, issue, pull) => ok(pullView(repository, issue, pull, places))),
  ),
  route('PATCH', `/pulls/${NUMBER}`, 'pull_requests=write', changePull),
  route('PUT', `/pulls/${NUMBER}/merge`, 'contents=write', mergePull),
  route('POST', `/pulls/${NUMBER}/reviews`, 'pull_requests=write', createReview),
  route('POST', `/pulls/${NUMBER}/requested_reviewers`, 'pull_requests=write', askForReviews),
  route('GET', '/collaborators/([^/]+)/permission', 'metadata=read', permission),
  route('POST', '/git/refs', 'contents=write', ({ repository, body }) => {
    const [ref, sha] = [text(body['ref']), text(body['sha'])];
    if (!ref.startsWith('refs/') || sha === '') return refusal(422, `Invalid request.\n\n"ref" wasn't supplied.`);
    return repository.tryGit('update-ref', ref, sha, '0'.repeat(40)) === null
      ? refusal(422, 'Reference already exists')
      : created({ ref, object: { sha, type: 'commit' } });
  }),
  route('DELETE', '/git/refs/heads/(.+)', 'contents=write', ({ repository, parts }) =>
    repository.tryGit('update-ref', '-d', `refs/heads/${parts[0]}`) === null
      ? refusal(422, 'Reference does not exist')
      : { status: 204, body: null },
  ),
  route('GET', '/hooks', 'repository_hooks=read', ({ repository, login, hooks }) =>
    repository.levelOf(login) === 'admin' ? ok(hooks.list(repository)) : refusal(404, 'Not Found'),
  ),
  route('POST', '/hooks', 'repository_hooks=write', ({ repository, body, hooks }) => {
    const config = (body['config'] ?? {}) as Readonly<Record<string, unknown>>;
    const hook = { url: text(config['url']), secret: text(config['secret']), events: texts(body['events']) };
    return created({
      id: hooks.add(repository, hook),
      active: true,
      events: hook.events,
      config: { url: hook.url, content_type: 'json' },
    });
  }),
];
