/** Repositories and pull requests of GitHub: facts, opening, changing and merging. */
import {
  ForgeRefusal,
  type Mergeability,
  MERGE_METHODS,
  type MergeOutcome,
  type MergeRefusal,
  type MergeRequest,
  type NewPullRequest,
  type OpenedPullRequest,
  type PullRequest,
  type PullRequestChanges,
  type RepositoryFacts,
  type RepositoryName,
} from '../forge.ts';
import { assertLength, clip } from './bodies.ts';
import type { Caller, Client } from './github-client.ts';
import { type HttpError, isHttpError, validationsOf, wordsOf } from './github-failure.ts';

type Found = Awaited<ReturnType<Client['rest']['pulls']['get']>>['data'];

export async function readFacts(caller: Caller, name: RepositoryName): Promise<RepositoryFacts> {
  return caller.do('read the repository', async () => {
    const { data } = await caller.client.rest.repos.get({ ...at(name), ...caller.settings });
    const asked = `${name.owner}/${name.name}`;
    const allowed = {
      squash: data.allow_squash_merge,
      merge: data.allow_merge_commit,
      rebase: data.allow_rebase_merge,
    };
    return {
      id: String(data.id),
      owner: data.owner.login,
      name: data.name,
      url: data.html_url,
      renamedFrom: data.full_name.toLowerCase() === asked.toLowerCase() ? null : asked,
      isArchived: data.archived,
      isPrivate: data.private,
      defaultBranch: data.default_branch,
      // Accounts without write permission are not told.
      mergeMethods: MERGE_METHODS.filter((method) => allowed[method] !== false),
      mayWrite: data.permissions?.push ?? false,
    };
  });
}

export async function findPullRequest(
  caller: Caller,
  name: RepositoryName,
  head: string,
  base?: string,
): Promise<PullRequest | null> {
  // The list is filtered by the owner of the head: of a repository that was moved, the new one.
  const { owner } = await readFacts(caller, name);
  return caller.do(`find the pull request of the branch ${head}`, async () => {
    const { data } = await caller.client.rest.pulls.list({
      ...at(name),
      head: `${owner}:${head}`,
      ...(base === undefined ? {} : { base }),
      state: 'all',
      sort: 'created',
      direction: 'desc',
      per_page: 30,
      ...caller.settings,
    });
    const found = data.find(({ state }) => state === 'open') ?? data[0];
    return found === undefined ? null : readPullRequest(caller, name, found.number);
  });
}

export async function readPullRequest(caller: Caller, name: RepositoryName, number: number): Promise<PullRequest> {
  return caller.do(`read pull request ${number}`, async () => {
    const { data } = await caller.client.rest.pulls.get({ ...at(name), pull_number: number, ...caller.settings });
    return pullRequestOf(data);
  });
}

function pullRequestOf(data: Found): PullRequest {
  const isOpen = data.state === 'open';
  return {
    number: data.number,
    url: data.html_url,
    state: isOpen ? 'open' : data.merged ? 'merged' : 'closed',
    title: data.title,
    body: data.body ?? '',
    isDraft: data.draft ?? false,
    head: { branch: data.head.ref, commit: data.head.sha },
    // A repository that is gone is null there, beyond what the types say.
    isFromFork: (data.head.repo as { readonly id: number } | null)?.id !== data.base.repo.id,
    base: { branch: data.base.ref, commit: data.base.sha },
    mergeability: isOpen ? mergeabilityOf(data) : 'unknown',
    mergeCommit: data.merged ? (data.merge_commit_sha ?? null) : null,
    mergedBy: data.merged_by?.login ?? null,
    updatedAt: data.updated_at,
  };
}

const MERGEABILITIES: Readonly<Record<string, Mergeability>> = {
  clean: 'ready',
  has_hooks: 'ready',
  unstable: 'unstable',
  dirty: 'conflict',
  blocked: 'blocked',
  behind: 'behind',
  draft: 'draft',
};

function mergeabilityOf({ mergeable, mergeable_state: state, draft }: Found): Mergeability {
  if (mergeable === false) return 'conflict';
  if (draft === true) return 'draft';
  return MERGEABILITIES[state] ?? 'unknown';
}

export async function openPullRequest(
  caller: Caller,
  name: RepositoryName,
  request: NewPullRequest,
): Promise<OpenedPullRequest> {
  assertLength(request.body, 'The body of the pull request');
  const { number, isNew, notices } = await createOrFind(caller, name, request);
  const wishes = [
    ...notices,
    ...(await addLabels(caller, name, number, request.labels ?? [])),
    ...(await askForReviews(caller, name, number, request.reviewers ?? [])),
  ];
  return { pullRequest: await readPullRequest(caller, name, number), isNew, notices: wishes };
}

interface Opened {
  readonly number: number;
  readonly isNew: boolean;
  readonly notices: readonly string[];
}

const NO_DRAFTS =
  'The repository does not support draft pull requests, so that this one was opened as ready for review.';

async function createOrFind(caller: Caller, name: RepositoryName, request: NewPullRequest): Promise<Opened> {
  const { head, base, title, body, isDraft } = request;
  const doing = `open a pull request of the branch ${head}`;
  return caller.do(doing, async () => {
    try {
      const { data } = await caller.client.rest.pulls.create({
        ...at(name),
        head,
        base,
        title,
        body,
        draft: isDraft,
        ...caller.settings,
      });
      return { number: data.number, isNew: true, notices: [] };
    } catch (error) {
      if (!isHttpError(error) || error.status !== 422) throw error;
      const said = `${wordsOf(error)} ${validationsOf(error)
        .map(({ message }) => message)
        .join(' ')}`;
      if (isDraft && /draft pull requests are not supported/i.test(said)) {
        const opened = await createOrFind(caller, name, { ...request, isDraft: false });
        return { ...opened, notices: [...opened.notices, NO_DRAFTS] };
      }
      if (/already exists/i.test(said)) {
        const found = await findPullRequest(caller, name, head, base);
        if (found?.state === 'open') return { number: found.number, isNew: false, notices: [] };
      }
      throw creationRefusal(error, name, request) ?? error;
    }
  });
}

/** `null` for a refusal without a reason of its own. */
function creationRefusal(
  error: HttpError,
  { owner, name }: RepositoryName,
  { head, base }: Pick<NewPullRequest, 'base'> & { readonly head?: string },
): ForgeRefusal | null {
  const found = validationsOf(error);
  const place = `${owner}/${name}`;
  const options = { cause: error };
  if (found.some(({ field }) => field === 'base'))
    return new ForgeRefusal(
      'base_missing',
      `The base branch ${base} is not in ${place}: it was deleted or renamed. Restore it, or give the project another base branch, then retry.`,
      options,
    );
  if (found.some(({ field }) => field === 'head'))
    return new ForgeRefusal(
      'head_missing',
      `The branch ${head} is not in ${place}: it was deleted there. Push it again, then retry.`,
      options,
    );
  if (found.some(({ message }) => /no commits between/i.test(message)))
    return new ForgeRefusal(
      'no_commits',
      `The branch ${head} has no commit that ${base} of ${place} does not have. There is nothing to open a pull request for.`,
      options,
    );
  return null;
}

async function addLabels(
  caller: Caller,
  name: RepositoryName,
  number: number,
  labels: readonly string[],
): Promise<readonly string[]> {
  if (labels.length === 0) return [];
  return asNotice(`The labels ${labels.join(', ')} were not added`, () =>
    caller.do(`label pull request ${number}`, async () => {
      await caller.client.rest.issues.addLabels({
        ...at(name),
        issue_number: number,
        labels: [...labels],
        ...caller.settings,
      });
    }),
  );
}

/** One request for each, since GitHub refuses all when it refuses one. */
async function askForReviews(
  caller: Caller,
  name: RepositoryName,
  number: number,
  reviewers: readonly string[],
): Promise<readonly string[]> {
  const notices: string[] = [];
  for (const reviewer of reviewers) {
    const team = /^team\/(.+)$/.exec(reviewer)?.[1];
    const wanted = team === undefined ? { reviewers: [reviewer] } : { team_reviewers: [team] };
    const said = await asNotice(`${reviewer} was not asked for a review`, () =>
      caller.do('ask for a review', async () => {
        const place = { ...at(name), pull_number: number };
        await caller.client.rest.pulls.requestReviewers({ ...place, ...wanted, ...caller.settings });
      }),
    );
    notices.push(...said);
  }
  return notices;
}

/** A refusal becomes one sentence; all other failures are thrown. */
async function asNotice(what: string, call: () => Promise<void>): Promise<readonly string[]> {
  try {
    await call();
    return [];
  } catch (error) {
    if (!(error instanceof ForgeRefusal)) throw error;
    const said = isHttpError(error.cause) ? wordsOf(error.cause) : error.message;
    return [`${what}: ${clip(said, 300).text.replace(/\.$/, '')}.`];
  }
}

export async function updatePullRequest(
  caller: Caller,
  name: RepositoryName,
  number: number,
  { isDraft, ...fields }: PullRequestChanges,
): Promise<PullRequest> {
  assertLength(fields.body ?? '', 'The body of the pull request');
  const doing = `change pull request ${number}`;
  return caller.do(doing, async () => {
    const place = { ...at(name), pull_number: number, ...caller.settings };
    if (Object.keys(fields).length > 0)
      await caller.client.rest.pulls.update({ ...place, ...fields }).catch((error: unknown) => {
        const { base } = fields;
        if (base === undefined || !isHttpError(error) || error.status !== 422) throw error;
        throw creationRefusal(error, name, { base }) ?? error;
      });
    const { data } = await caller.client.rest.pulls.get(place);
    if (isDraft === undefined || isDraft === (data.draft ?? false) || data.state !== 'open') return pullRequestOf(data);
    await caller.client.graphql(isDraft ? TO_DRAFT : TO_READY, { id: data.node_id, ...caller.settings });
    return pullRequestOf((await caller.client.rest.pulls.get(place)).data);
  });
}

const TO_DRAFT = `mutation ($id: ID!) {
  convertPullRequestToDraft(input: { pullRequestId: $id }) { pullRequest { isDraft } }
}`;
const TO_READY = `mutation ($id: ID!) {
  markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { isDraft } }
}`;

export async function mergePullRequest(
  caller: Caller,
  name: RepositoryName,
  { number, method, head, title, message }: MergeRequest,
): Promise<MergeOutcome> {
  const doing = `merge pull request ${number}`;
  return caller.do(doing, async () => {
    try {
      const { data } = await caller.client.rest.pulls.merge({
        ...at(name),
        pull_number: number,
        merge_method: method,
        sha: head,
        ...(title === undefined ? {} : { commit_title: title }),
        ...(message === undefined ? {} : { commit_message: message }),
        ...caller.settings,
      });
      return { merged: true, commit: data.sha };
    } catch (error) {
      if (!isHttpError(error) || ![403, 405, 409, 422].includes(error.status)) throw error;
      const found = await readPullRequest(caller, name, number);
      const outcome = outcomeOf(error, found, head);
      if (outcome !== null) return outcome;
      throw error;
    }
  });
}

/** @returns `null` where the refusal says nothing of this merge, such as a permission that is missing */
function outcomeOf(error: HttpError, found: PullRequest, head: string): MergeOutcome | null {
  if (found.state === 'merged' && found.mergeCommit !== null && found.head.commit === head)
    return { merged: true, commit: found.mergeCommit };
  const words = wordsOf(error);
  if (error.status === 403 && !/protected branch|not authorized to push|rule violation/i.test(words)) return null;
  const refusal = mergeRefusalOf(words, found, head);
  return { merged: false, refusal, message: sentenceOf(refusal, found, words) };
}

function mergeRefusalOf(words: string, found: PullRequest, head: string): MergeRefusal {
  if (found.state !== 'open') return 'closed';
  if (found.head.commit !== head || /head branch was modified/i.test(words)) return 'head_moved';
  if (/base branch was modified/i.test(words)) return 'base_moved';
  if (/merges? (?:commits )?are not allowed/i.test(words)) return 'method_not_allowed';
  if (found.isDraft) return 'draft';
  if (found.mergeability === 'conflict') return 'conflict';
  return 'blocked';
}

function sentenceOf(refusal: MergeRefusal, { number, head, base, state }: PullRequest, words: string): string {
  const what = `Pull request ${number} was not merged`;
  switch (refusal) {
    case 'closed':
      return `${what}: it is ${state}. Open it again at GitHub, or cancel the run.`;
    case 'head_moved':
      return `${what}: its branch ${head.branch} has moved to ${head.commit.slice(0, 8)}. What was added there must be checked first.`;
    case 'base_moved':
      return `${what}: ${base.branch} has moved meanwhile (${words}). Retry.`;
    case 'method_not_allowed':
      return `${what}: the repository does not allow this way of merging (${words}). Choose another one, or allow it in the settings of the repository.`;
    case 'draft':
      return `${what}: it is still a draft (${words}). Mark it as ready for review first.`;
    case 'conflict':
      return `${what}: it conflicts with ${base.branch} (${words}). Merge ${base.branch} into ${head.branch} and resolve the conflict first.`;
    case 'blocked':
      return `${what}: a rule of ${base.branch} is not met (${words}). Meet it at GitHub, then try again.`;
    default:
      return refusal satisfies never;
  }
}

function at({ owner, name }: RepositoryName): { readonly owner: string; readonly repo: string } {
  return { owner, repo: name };
}
