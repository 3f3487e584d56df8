/** Issues, comments and labels of the GitHub of tests. */
import {
  type Answer,
  type Asked,
  BODY_LIMIT,
  created,
  newComment,
  notFound,
  NUMBER,
  ok,
  onIssue,
  paged,
  refusal,
  type Route,
  route,
  text,
  texts,
  tooLong,
} from './github-server-answers.fixture.ts';
import { nextId, now } from './github-server-state.fixture.ts';
import { commentView, issueView, labelsView, nodeId, userView } from './github-server-views.fixture.ts';

const createComment = onIssue(({ repository, body, login, places, hooks }, issue) => {
  if (text(body['body']) === '')
    return refusal(422, 'Validation Failed', [
      { resource: 'IssueComment', code: 'unprocessable', field: 'data', message: 'Body cannot be blank' },
    ]);
  if (text(body['body']).length > BODY_LIMIT) return tooLong('IssueComment');
  const comment = newComment(login, text(body['body']));
  issue.comments.push(comment);
  issue.updatedAt = now();
  const view = commentView(repository, issue, comment, places);
  hooks.send(repository, login, 'issue_comment', 'created', {
    issue: issueView(repository, issue, places),
    comment: view,
  });
  return created(view);
});

function changeComment({ repository, parts, body, login, places, hooks }: Asked): Answer {
  for (const issue of repository.issues.values()) {
    const comment = issue.comments.find(({ id }) => id === Number(parts[0]));
    if (comment === undefined) continue;
    if (text(body['body']).length > BODY_LIMIT) return tooLong('IssueComment');
    comment.body = text(body['body']);
    comment.updatedAt = now();
    issue.updatedAt = comment.updatedAt;
    const view = commentView(repository, issue, comment, places);
    hooks.send(repository, login, 'issue_comment', 'edited', {
      issue: issueView(repository, issue, places),
      comment: view,
    });
    return ok(view);
  }
  return notFound();
}

const addLabels = onIssue(({ repository, body, login, places, hooks }, issue) => {
  for (const label of texts(body['labels'])) {
    if (issue.labels.has(label)) continue;
    issue.labels.add(label);
    issue.updatedAt = now();
    issue.events.push({ id: nextId(), event: 'labeled', login, label, at: now() });
    hooks.send(repository, login, issue.pull === null ? 'issues' : 'pull_request', 'labeled', {
      label: { name: label },
      issue: issueView(repository, issue, places),
      number: issue.number,
    });
  }
  return ok(labelsView(issue, places));
});

function listIssues(asked: Asked): Answer {
  const { repository, query, places } = asked;
  if (!repository.hasIssues) return refusal(410, 'Issues are disabled for this repo');
  const [labels, since, state] = [query.get('labels'), query.get('since'), query.get('state') ?? 'open'];
  const found = [...repository.issues.values()].filter(
    (issue) =>
      (state === 'all' || issue.state === state) &&
      (labels ?? '').split(',').every((label) => label === '' || issue.labels.has(label)) &&
      (since === null || Date.parse(issue.updatedAt) >= Date.parse(since)),
  );
  const ordered = query.get('direction') === 'asc' ? found : found.toReversed();
  return paged(
    asked,
    ordered.map((issue) => issueView(repository, issue, places)),
  );
}

function createIssue({ repository, body, login, places, hooks }: Asked): Answer {
  if (!repository.hasIssues) return refusal(410, 'Issues are disabled for this repo');
  if (text(body['title']) === '')
    return refusal(422, 'Validation Failed', [{ resource: 'Issue', code: 'missing_field', field: 'title' }]);
  const issue = repository.addIssue({ login, title: text(body['title']), body: text(body['body']) });
  for (const label of texts(body['labels'])) {
    issue.labels.add(label);
    issue.events.push({ id: nextId(), event: 'labeled', login, label, at: now() });
  }
  const view = issueView(repository, issue, places);
  hooks.send(repository, login, 'issues', 'opened', { issue: view });
  return created(view);
}

const changeIssue = onIssue(({ repository, body, login, places, hooks }, issue) => {
  if (body['state'] === 'open' || body['state'] === 'closed') issue.state = body['state'];
  issue.updatedAt = now();
  if (typeof body['title'] === 'string') {
    issue.title = body['title'];
    issue.events.push({ id: nextId(), event: 'renamed', login, at: issue.updatedAt });
  }
  if (typeof body['body'] === 'string') {
    issue.body = body['body'];
    issue.editedAt = issue.updatedAt;
  }
  const view = issueView(repository, issue, places);
  hooks.send(repository, login, 'issues', issue.state === 'closed' ? 'closed' : 'edited', { issue: view });
  return ok(view);
});

export const ISSUE_ROUTES: readonly Route[] = [
  route('GET', '/issues', 'issues=read', listIssues),
  route('POST', '/issues', 'issues=write', createIssue),
  route(
    'GET',
    `/issues/${NUMBER}`,
    'issues=read',
    onIssue(({ repository, places }, issue) => ok(issueView(repository, issue, places))),
  ),
  route('PATCH', `/issues/${NUMBER}`, 'issues=write', changeIssue),
  route(
    'GET',
    `/issues/${NUMBER}/comments`,
    'issues=read; pull_requests=read',
    onIssue((asked, issue) =>
      paged(
        asked,
        issue.comments.map((each) => commentView(asked.repository, issue, each, asked.places)),
      ),
    ),
  ),
  route('POST', `/issues/${NUMBER}/comments`, 'issues=write; pull_requests=write', createComment),
  route('PATCH', `/issues/comments/${NUMBER}`, 'issues=write; pull_requests=write', changeComment),
  route('POST', `/issues/${NUMBER}/labels`, 'issues=write; pull_requests=write', addLabels),
  route(
    'GET',
    `/issues/${NUMBER}/events`,
    'issues=read; pull_requests=read',
    onIssue((asked, issue) =>
      paged(
        asked,
        issue.events.map(({ id, event, login, label, at }) => ({
          id,
          node_id: nodeId('E', id),
          event,
          actor: userView(login, asked.places),
          created_at: at,
          ...(label === undefined ? {} : { label: { name: label, color: 'ededed' } }),
        })),
      ),
    ),
  ),
];
