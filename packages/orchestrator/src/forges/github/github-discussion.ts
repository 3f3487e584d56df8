/** Remarks of people at GitHub about a pull request or issue, and the own comments and answers of the server. */
import {
  type Author,
  type Discussion,
  ForgeRefusal,
  type LabelledIssue,
  type OwnComment,
  type Permission,
  type Remark,
  type RepositoryName,
  type Review,
  type ReviewThread,
} from '../forge.ts';
import { clip, hasAnyMarker, hasMarker, markedBody } from './bodies.ts';
import { type Caller, readNewest, readPages } from './github-client.ts';
import { isHttpError } from './github-failure.ts';

/** Login of the server's own account. */
export type OwnLogin = (caller: Caller) => Promise<string>;

interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}
interface CommentNode {
  readonly id: string;
  readonly body: string;
  readonly url: string;
  readonly updatedAt: string;
  readonly viewerDidAuthor: boolean;
  /** `null` when the account was deleted. */
  readonly author: { readonly login: string; readonly __typename: string } | null;
}
interface ReviewNode extends CommentNode {
  readonly state: string;
  readonly commit: { readonly oid: string } | null;
}
interface ThreadNode {
  readonly id: string;
  readonly isResolved: boolean;
  readonly isOutdated: boolean;
  readonly path: string;
  readonly line: number | null;
  readonly originalLine: number | null;
  readonly comments: Page<CommentNode>;
}
interface DiscussionAnswer {
  readonly repository: {
    readonly pullRequest: {
      readonly reviews?: Page<ReviewNode>;
      readonly reviewThreads?: Page<ThreadNode>;
      readonly comments?: Page<CommentNode>;
    };
  };
}

const COMMENT = 'id body url updatedAt viewerDidAuthor author { login __typename }';
const PAGE = 'pageInfo { hasNextPage endCursor }';
/** Reviews, threads and comments in one request; later pages only of those that have one. */
const DISCUSSION = `query ($owner: String!, $name: String!, $number: Int!,
  $reviews: Boolean!, $threads: Boolean!, $comments: Boolean!,
  $afterReview: String, $afterThread: String, $afterComment: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviews(first: 100, after: $afterReview) @include(if: $reviews) {
        ${PAGE} nodes { ${COMMENT} state commit { oid } }
      }
      reviewThreads(first: 50, after: $afterThread) @include(if: $threads) {
        ${PAGE} nodes {
          id isResolved isOutdated path line originalLine
          comments(first: 100) { ${PAGE} nodes { ${COMMENT} } }
        }
      }
      comments(first: 100, after: $afterComment) @include(if: $comments) { ${PAGE} nodes { ${COMMENT} } }
    }
  }
}`;
const MAX_REQUESTS = 10;
const MAX_EACH = 500;

export async function readDiscussion(
  caller: Caller,
  name: RepositoryName,
  number: number,
  since?: string,
): Promise<Discussion> {
  const found = await caller.do(`read the discussion of pull request ${number}`, () => readNodes(caller, name, number));
  const isNew = ({ updatedAt }: CommentNode): boolean =>
    since === undefined || Date.parse(updatedAt) >= Date.parse(since);
  const reviews = found.reviews.filter((each) => each.state in VERDICTS && isNew(each));
  const threads = found.threads.filter(({ comments }) => comments.nodes.some(isNew));
  const comments = found.comments.filter(isNew);
  const authorOf = await readAuthors(caller, name, [
    ...reviews,
    ...threads.flatMap((each) => each.comments.nodes),
    ...comments,
  ]);
  const remarkOf = (node: CommentNode): Remark => {
    const { text, isClipped } = clip(node.body);
    const { id, url, updatedAt: at } = node;
    const isOwn = node.viewerDidAuthor && hasAnyMarker(node.body);
    return { id, author: authorOf(node), isOwn, body: text, isClipped, url, at };
  };
  return {
    reviews: reviews.map((each): Review => {
      const verdict = VERDICTS[each.state] ?? 'commented';
      return { ...remarkOf(each), verdict, commit: each.commit?.oid ?? null };
    }),
    threads: threads.map((each): ReviewThread => {
      const { id, isResolved, isOutdated, path, line, originalLine } = each;
      const remarks = each.comments.nodes.map(remarkOf);
      return { id, isResolved, isOutdated, path, line: line ?? originalLine, comments: remarks };
    }),
    comments: comments.map(remarkOf),
    isComplete: found.isComplete,
  };
}

/** Reviews that are not submitted yet are left out. */
const VERDICTS: Readonly<Record<string, Review['verdict']>> = {
  APPROVED: 'approved',
  CHANGES_REQUESTED: 'changes_requested',
  COMMENTED: 'commented',
  DISMISSED: 'dismissed',
};

interface DiscussionNodes {
  readonly reviews: ReviewNode[];
  readonly threads: ThreadNode[];
  readonly comments: CommentNode[];
  isComplete: boolean;
}

async function readNodes(caller: Caller, name: RepositoryName, number: number): Promise<DiscussionNodes> {
  const found: DiscussionNodes = { reviews: [], threads: [], comments: [], isComplete: true };
  const after: { review: string | null; thread: string | null; comment: string | null } = {
    review: null,
    thread: null,
    comment: null,
  };
  const wanted = { reviews: true, threads: true, comments: true };
  for (let requests = 0; wanted.reviews || wanted.threads || wanted.comments; requests += 1) {
    if (requests === MAX_REQUESTS) return { ...found, isComplete: false };
    const { repository } = await caller.client.graphql<DiscussionAnswer>(DISCUSSION, {
      owner: name.owner,
      name: name.name,
      number,
      ...wanted,
      afterReview: after.review,
      afterThread: after.thread,
      afterComment: after.comment,
      ...caller.settings,
    });
    const { reviews, reviewThreads: threads, comments } = repository.pullRequest;
    wanted.reviews = take(found.reviews, reviews);
    wanted.threads = take(found.threads, threads);
    wanted.comments = take(found.comments, comments);
    after.review = reviews?.pageInfo.endCursor ?? null;
    after.thread = threads?.pageInfo.endCursor ?? null;
    after.comment = comments?.pageInfo.endCursor ?? null;
    if ([found.reviews, found.threads, found.comments].some(({ length }) => length >= MAX_EACH)) {
      found.isComplete = !(wanted.reviews || wanted.threads || wanted.comments);
      break;
    }
  }
  if (found.threads.some(({ comments }) => comments.pageInfo.hasNextPage)) found.isComplete = false;
  return found;
}

/** @returns whether there is another page */
function take<Node>(nodes: Node[], page: Page<Node> | undefined): boolean {
  if (page === undefined) return false;
  nodes.push(...page.nodes);
  return page.pageInfo.hasNextPage;
}

/** Name that GitHub shows for deleted accounts. */
const GHOST = 'ghost';

async function readAuthors(
  caller: Caller,
  name: RepositoryName,
  nodes: readonly CommentNode[],
): Promise<(node: CommentNode) => Author> {
  const authors = new Map<string, Author>();
  for (const node of nodes) {
    const login = loginOf(node);
    if (!authors.has(login)) authors.set(login, await authorOf(caller, name, login));
  }
  return (node) => authors.get(loginOf(node)) ?? { login: loginOf(node), mayWrite: false };
}

/** REST and web pages show bots so; GraphQL leaves the ending out. */
function loginOf({ author }: CommentNode): string {
  if (author === null) return GHOST;
  return author.__typename === 'Bot' && !author.login.endsWith('[bot]') ? `${author.login}[bot]` : author.login;
}

/** The permission of bots is not asked for: GitHub knows none for them, and their words are data. */
async function authorOf(caller: Caller, name: RepositoryName, login: string): Promise<Author> {
  const isPerson = !login.endsWith('[bot]') && login !== GHOST;
  const permission = isPerson ? await readPermission(caller, name, login) : 'none';
  return { login, mayWrite: permission === 'admin' || permission === 'write' };
}

export async function readPermission(caller: Caller, name: RepositoryName, login: string): Promise<Permission> {
  return caller.do(`read the permission of ${login}`, async () => {
    try {
      const { data } = await caller.client.rest.repos.getCollaboratorPermissionLevel({
        owner: name.owner,
        repo: name.name,
        username: login,
        ...caller.settings,
      });
      // `maintain` is told as write, `triage` as read.
      return (['admin', 'write', 'read'] as const).find((each) => each === data.permission) ?? 'none';
    } catch (error) {
      if (isHttpError(error) && error.status === 404) return 'none';
      throw error;
    }
  });
}

interface ThreadAnswer {
  readonly node: {
    readonly comments?: Page<Pick<CommentNode, 'body' | 'url' | 'viewerDidAuthor'>>;
  } | null;
}
const THREAD = `query ($id: ID!) {
  node(id: $id) { ... on PullRequestReviewThread { comments(last: 100) { ${PAGE} nodes { body url viewerDidAuthor } } } }
}`;
const REPLY = `mutation ($id: ID!, $body: String!) {
  addPullRequestReviewThreadReply(input: { pullRequestReviewThreadId: $id, body: $body }) { comment { url } }
}`;
const RESOLVE = `mutation ($id: ID!) {
  resolveReviewThread(input: { threadId: $id }) { thread { isResolved } }
}`;

export async function replyToThread(
  caller: Caller,
  threadId: string,
  reply: OwnComment,
): Promise<{ readonly url: string }> {
  const body = markedBody(reply);
  return caller.do('answer in a review thread', async () => {
    const { node } = await caller.client.graphql<ThreadAnswer>(THREAD, { id: threadId, ...caller.settings });
    if (node?.comments === undefined)
      throw new ForgeRefusal('gone', 'The review thread is gone from the pull request, so that it cannot be answered.');
    const own = node.comments.nodes.find((each) => each.viewerDidAuthor && hasMarker(each.body, reply.marker));
    if (own !== undefined) return { url: own.url };
    const answer = await caller.client.graphql<{
      readonly addPullRequestReviewThreadReply: { readonly comment: { readonly url: string } };
    }>(REPLY, { id: threadId, body, ...caller.once });
    return { url: answer.addPullRequestReviewThreadReply.comment.url };
  });
}

export async function resolveThread(caller: Caller, threadId: string): Promise<void> {
  await caller.do('resolve a review thread', () =>
    caller.client.graphql(RESOLVE, { id: threadId, ...caller.settings }),
  );
}

export async function putComment(
  caller: Caller,
  name: RepositoryName,
  number: number,
  comment: OwnComment,
  ownLogin: OwnLogin,
): Promise<{ readonly url: string }> {
  const body = markedBody(comment);
  const login = (await ownLogin(caller)).toLowerCase();
  return caller.do(`comment on ${number}`, async () => {
    const place = { owner: name.owner, repo: name.name };
    const isKnown = (each: { readonly body?: string; readonly user: { readonly login: string } | null }): boolean =>
      each.user?.login.toLowerCase() === login && hasMarker(each.body ?? '', comment.marker);
    const { items } = await readNewest(async (page) => {
      const asked = { ...place, issue_number: number, ...page, ...caller.settings };
      const { data, headers } = await caller.client.rest.issues.listComments(asked);
      return { items: data, link: headers.link };
    }, isKnown);
    const known = items.find(isKnown);
    if (known?.body === body) return { url: known.html_url };
    const { issues } = caller.client.rest;
    const { data } =
      known === undefined
        ? await issues.createComment({ ...place, issue_number: number, body, ...caller.once })
        : await issues.updateComment({ ...place, comment_id: known.id, body, ...caller.settings });
    return { url: data.html_url };
  });
}

export async function readIssues(
  caller: Caller,
  name: RepositoryName,
  label: string,
  since?: string,
): Promise<readonly LabelledIssue[]> {
  const { items } = await caller.do(`read the issues with the label ${label}`, () =>
    readPages(async (page) => {
      const { data, headers } = await caller.client.rest.issues.listForRepo({
        owner: name.owner,
        repo: name.name,
        labels: label,
        state: 'open',
        sort: 'created',
        direction: 'asc',
        ...(since === undefined ? {} : { since }),
        ...page,
        ...caller.settings,
      });
      return { items: data, link: headers.link };
    }),
  );
  const issues: LabelledIssue[] = [];
  for (const issue of items) {
    if (issue.pull_request !== undefined) continue;
    const { text, isClipped } = clip(issue.body ?? '');
    const labeller = await readLabeller(caller, name, issue.number, label);
    const author = await authorOf(caller, name, issue.user?.login ?? GHOST);
    issues.push({
      number: issue.number,
      url: issue.html_url,
      title: issue.title,
      body: text,
      isClipped,
      author,
      labelledBy: labeller === null ? null : await authorOf(caller, name, labeller.login),
      labelledAt: labeller?.at ?? null,
      isChangedSince:
        labeller !== null &&
        (!labeller.isComplete || (!author.mayWrite && (await isChangedSince(caller, name, issue.number, labeller)))),
      updatedAt: issue.updated_at,
    });
  }
  return issues;
}

interface Labeller {
  readonly login: string;
  readonly at: string;
  /** When the title was changed last; `null`: never. */
  readonly renamedAt: string | null;
  /** Whether all is known that came after the label. */
  readonly isComplete: boolean;
}

const EDITED = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) { lastEditedAt } }
}`;

/** Times have whole seconds: a change in the second of the label counts as one after it. */
async function isChangedSince(
  caller: Caller,
  { owner, name }: RepositoryName,
  number: number,
  { at, renamedAt }: Labeller,
): Promise<boolean> {
  if (renamedAt !== null && renamedAt >= at) return true;
  const { repository } = await caller.do(`read when issue ${number} was edited`, () =>
    caller.client.graphql<{ readonly repository: { readonly issue: { readonly lastEditedAt: string | null } } }>(
      EDITED,
      { owner, name, number, ...caller.settings },
    ),
  );
  const { lastEditedAt } = repository.issue;
  return lastEditedAt !== null && lastEditedAt >= at;
}

/** The person who put the label there last, and when. */
async function readLabeller(
  caller: Caller,
  name: RepositoryName,
  number: number,
  label: string,
): Promise<Labeller | null> {
  return caller.do(`read who labelled issue ${number}`, async () => {
    const isLabelling = (each: { readonly event: string }): boolean =>
      each.event === 'labeled' && labelOf(each)?.toLowerCase() === label.toLowerCase();
    const { items, isComplete } = await readNewest(async (page) => {
      const place = { owner: name.owner, repo: name.name, issue_number: number };
      const { data, headers } = await caller.client.rest.issues.listEvents({ ...place, ...page, ...caller.settings });
      return { items: data, link: headers.link };
    }, isLabelling);
    const last = items.findLast(isLabelling);
    const login = last?.actor?.login;
    const renamedAt = items.findLast((each) => each.event === 'renamed')?.created_at ?? null;
    return last === undefined || login === undefined ? null : { login, at: last.created_at, renamedAt, isComplete };
  });
}

function labelOf(event: { readonly label?: { readonly name?: string | null } } | object): string | undefined {
  return 'label' in event ? (event.label?.name ?? undefined) : undefined;
}
