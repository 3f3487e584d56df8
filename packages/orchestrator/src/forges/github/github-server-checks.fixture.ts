/** Check runs and statuses of the GitHub of tests. */
import {
  type Answer,
  type Asked,
  created,
  notFound,
  paged,
  refusal,
  type Route,
  route,
  text,
} from './github-server-answers.fixture.ts';
import { nextId } from './github-server-state.fixture.ts';
import { checkRunView, statusView } from './github-server-views.fixture.ts';

function createCheckRun({ repository, body, login, places, hooks }: Asked): Answer {
  const output = (body['output'] ?? {}) as Readonly<Record<string, unknown>>;
  const conclusion = text(body['conclusion']) || null;
  const run = {
    id: nextId(),
    name: text(body['name']),
    commit: text(body['head_sha']),
    status: text(body['status']) || (conclusion === null ? 'queued' : 'completed'),
    conclusion,
    title: text(output['title']) || null,
    summary: text(output['summary']) || null,
    detailsUrl: text(body['details_url']) || null,
    app: login,
  };
  repository.checkRuns.push(run);
  const view = checkRunView(run, repository, places);
  hooks.send(repository, login, 'check_run', run.status === 'completed' ? 'completed' : 'created', { check_run: view });
  return created(view);
}

function listCheckRuns(asked: Asked): Answer {
  const { repository, places } = asked;
  const commit = commitOf(asked);
  if (commit === null) return refusal(422, `No commit found for SHA: ${asked.parts[0]}`);
  const newest = new Map(repository.checkRuns.filter((run) => run.commit === commit).map((run) => [run.name, run]));
  const views = [...newest.values()].map((run) => checkRunView(run, repository, places));
  return paged(asked, views, (page) => ({ total_count: views.length, check_runs: page }));
}

function createStatus({ repository, parts, body, login, hooks }: Asked): Answer {
  const state = text(body['state']);
  if (state !== 'success' && state !== 'failure' && state !== 'error' && state !== 'pending')
    return refusal(422, 'Validation Failed', [
      { resource: 'Status', field: 'state', code: 'custom', message: 'state is not included in the list' },
    ]);
  const status = {
    commit: parts[0] ?? '',
    context: text(body['context']) || 'default',
    state,
    description: text(body['description']) || null,
    url: text(body['target_url']) || null,
  } as const;
  repository.statuses.push(status);
  hooks.send(repository, login, 'status', null, { sha: status.commit, ...statusView(status) });
  return created(statusView(status));
}

function combinedStatus(asked: Asked): Answer {
  const { repository } = asked;
  const commit = commitOf(asked);
  if (commit === null) return notFound();
  const newest = new Map(
    repository.statuses.filter((each) => each.commit === commit).map((each) => [each.context, each]),
  );
  const found = [...newest.values()];
  const isRed = found.some(({ state }) => state === 'failure' || state === 'error');
  const isGreen = found.length > 0 && found.every(({ state }) => state === 'success');
  return paged(asked, found.map(statusView), (page) => ({
    state: isRed ? 'failure' : isGreen ? 'success' : 'pending',
    statuses: page,
    sha: commit,
    total_count: found.length,
  }));
}

function commitOf({ repository, parts }: Asked): string | null {
  const ref = decodeURIComponent(parts[0] ?? '');
  return repository.tryGit('rev-parse', '--verify', '--quiet', `${ref}^{commit}`);
}

export const CHECK_ROUTES: readonly Route[] = [
  route('POST', '/check-runs', 'checks=write', createCheckRun),
  route('GET', '/commits/([^/]+)/check-runs', 'checks=read', listCheckRuns),
  route('GET', '/commits/([^/]+)/status', 'statuses=read', combinedStatus),
  route('POST', '/statuses/([0-9a-f]{40})', 'statuses=write', createStatus),
];
