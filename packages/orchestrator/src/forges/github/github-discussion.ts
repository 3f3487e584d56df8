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
import { clip, hasMarker, markedBody } from './bodies.ts';
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
const THREAD_FIELDS = 'id isResolved isOutdated path line originalLine';
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
          ${THREAD_FIELDS}
          comments(first: 100) { ${PAGE} nodes { ${COMMENT} } }
        }
      }
      comments(first: 100, after: $afterComment) @include(if: $comments) { ${PAGE} nodes { ${COMMENT} } }
    }
  }
}`;
/** Further comments of a thread. */
const THREAD_COMMENTS = `query ($id: ID!, $after: String) {
  node(id: $id) {
    ... on PullRequestReviewThread {
      ${THREAD_FIELDS} comments(first: 100, after: $after) { ${PAGE} nodes { ${COMMENT} } }
    }
  }
}`;
/** Pages of one call. */
const MAX_REQUESTS = 10;
/** Accounts whose permission is looked up, after which a call reads no further page. */
const MAX_AUTHORS = 300;

export async function readDiscussion(
  caller: Caller,
  name: RepositoryName,
  number: number,
  since?: string,
  from?: string,
): Promise<Discussion> {
  const isNew = ({ updatedAt }: CommentNode): boolean =>
    since === undefined || Date.parse(updatedAt) >= Date.parse(since);
  const rest: Rest = from === undefined ? ALL : (JSON.parse(from) as Rest); // made below
  const reader = new DiscussionReader(caller, name, number, rest);
  const authors = new Map<string, Author>();
  const newOf = ({ reviews, threads, comments }: DiscussionNodes) => ({
    reviews: reviews.filter((each) => each.state in VERDICTS && isNew(each)),
    threads: threads.filter((each) => each.comments.nodes.some(isNew)),
    comments: comments.filter(isNew),
  });
  for (let requests = 0; requests < MAX_REQUESTS && authors.size < MAX_AUTHORS; requests += 1) {
    const page = await reader.readPage();
    if (page === null) break;
    const found = newOf(page);
    const nodes = [...found.reviews, ...found.threads.flatMap((each) => each.comments.nodes), ...found.comments];
    await readAuthors(caller, name, nodes, authors);
  }
  const { reviews, threads, comments } = newOf(reader.found);
  const authorOf = (node: CommentNode): Author =>
    authors.get(loginOf(node)) ?? { login: loginOf(node), mayWrite: false };
  const remarkOf = (node: CommentNode): Remark => {
    const { text, isClipped } = clip(node.body);
    const { id, url, updatedAt: at } = node;
    return { id, author: authorOf(node), isOwn: node.viewerDidAuthor, body: text, isClipped, url, at };
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
    next: reader.next,
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
}

/** Parts that are left to read. Of each list: the cursor behind its last page, `null` before its first one; absent: its end was read. */
interface Rest {
  readonly reviews?: string | null;
  readonly threads?: string | null;
  readonly comments?: string | null;
  /** Threads with more comments than were read. */
  readonly open: readonly { readonly id: string; readonly after: string | null }[];
}

const ALL: Rest = { reviews: null, threads: null, comments: null, open: [] };

/** Reads a discussion page by page. */
class DiscussionReader {
  readonly found: DiscussionNodes = { reviews: [], threads: [], comments: [] };
  readonly #caller: Caller;
  readonly #name: RepositoryName;
  readonly #number: number;
  #rest: Rest;

  constructor(caller: Caller, name: RepositoryName, number: number, rest: Rest) {
    this.#caller = caller;
    this.#name = name;
    this.#number = number;
    this.#rest = rest;
  }

  /** Where another reader goes on; `null` at the end. */
  get next(): string | null {
    const { open, ...lists } = this.#rest;
    const isEnd = open.length === 0 && Object.values(lists).every((each) => each === undefined);
    return isEnd ? null : JSON.stringify(this.#rest);
  }

  /** Reads one page and adds it to what was found. @returns the page; `null` at the end */
  async readPage(): Promise<DiscussionNodes | null> {
    if (this.next === null) return null;
    const [thread, ...open] = this.#rest.open;
    if (thread === undefined) return this.#readLists();
    const node = await this.#readThread(thread);
    this.#rest = { ...this.#rest, open };
    if (node === null) return { reviews: [], threads: [], comments: [] };
    const known = this.found.threads.findIndex(({ id }) => id === node.id);
    const before = this.found.threads[known];
    if (before === undefined) this.found.threads.push(node);
    else {
      const nodes = [...before.comments.nodes, ...node.comments.nodes];
      this.found.threads[known] = { ...node, comments: { ...node.comments, nodes } };
    }
    this.#keepOpen([node]);
    return { reviews: [], threads: [node], comments: [] };
  }

  async #readLists(): Promise<DiscussionNodes> {
    const { reviews: afterReview, threads: afterThread, comments: afterComment, open } = this.#rest;
    const { repository } = await this.#caller.do(`read the discussion of pull request ${this.#number}`, () =>
      this.#caller.client.graphql<DiscussionAnswer>(DISCUSSION, {
        owner: this.#name.owner,
        name: this.#name.name,
        number: this.#number,
        reviews: afterReview !== undefined,
        threads: afterThread !== undefined,
        comments: afterComment !== undefined,
        afterReview: afterReview ?? null,
        afterThread: afterThread ?? null,
        afterComment: afterComment ?? null,
        ...this.#caller.settings,
      }),
    );
    const { reviews, reviewThreads: threads, comments } = repository.pullRequest;
    const page = {
      reviews: [...(reviews?.nodes ?? [])],
      threads: [...(threads?.nodes ?? [])],
      comments: [...(comments?.nodes ?? [])],
    };
    this.found.reviews.push(...page.reviews);
    this.found.threads.push(...page.threads);
    this.found.comments.push(...page.comments);
    const lists = { reviews, threads, comments };
    const ends = Object.entries(lists).flatMap(([list, read]) =>
      read?.pageInfo.hasNextPage === true ? [[list, read.pageInfo.endCursor]] : [],
    );
    this.#rest = { ...(Object.fromEntries(ends) as Omit<Rest, 'open'>), open };
    this.#keepOpen(page.threads);
    return page;
  }

  /** @returns `null`: its comments were deleted in between */
  async #readThread({ id, after }: Rest['open'][number]): Promise<ThreadNode | null> {
    try {
      const { node } = await this.#caller.do(`read a review thread of pull request ${this.#number}`, () =>
        this.#caller.client.graphql<{ readonly node: ThreadNode | null }>(THREAD_COMMENTS, {
          id,
          after,
          ...this.#caller.settings,
        }),
      );
      return node;
    } catch (error) {
      if (error instanceof ForgeRefusal && error.refusal === 'gone') return null;
      throw error;
    }
  }

  #keepOpen(threads: readonly ThreadNode[]): void {
    const more = threads.filter(({ comments }) => comments.pageInfo.hasNextPage);
    const open = more.map(({ id, comments }) => ({ id, after: comments.pageInfo.endCursor }));
    this.#rest = { ...this.#rest, open: [...this.#rest.open, ...open] };
  }
}

/** Name that GitHub shows for deleted accounts. */
const GHOST = 'ghost';

/** Adds the authors of remarks that are not known yet. */
async function readAuthors(
  caller: Caller,
  name: RepositoryName,
  nodes: readonly CommentNode[],
  authors: Map<string, Author>,
): Promise<void> {
  for (const node of nodes) {
    const login = loginOf(node);
    if (!authors.has(login)) authors.set(login, await authorOf(caller, name, login));
  }
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
    readonly comments?: {
      readonly nodes: readonly Pick<CommentNode, 'body' | 'url' | 'viewerDidAuthor'>[];
      readonly pageInfo: { readonly hasPreviousPage: boolean; readonly startCursor: string | null };
    };
  } | null;
}
const THREAD = `query ($id: ID!, $before: String) {
  node(id: $id) {
    ... on PullRequestReviewThread {
      comments(last: 100, before: $before) {
        pageInfo { hasPreviousPage startCursor } nodes { body url viewerDidAuthor }
      }
    }
  }
}`;
/** Pages of a thread in which an own answer is looked for. */
const MAX_THREAD_PAGES = 30;
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
    const own = await ownAnswer(caller, threadId, reply.marker);
    if (own !== null) return own;
    const answer = await caller.client.graphql<{
      readonly addPullRequestReviewThreadReply: { readonly comment: { readonly url: string } };
    }>(REPLY, { id: threadId, body, ...caller.once });
    return { url: answer.addPullRequestReviewThreadReply.comment.url };
  });
}

/** Answer of the server with this marker, which others' comments do not hide; `null`: there is none. */
async function ownAnswer(caller: Caller, threadId: string, marker: string): Promise<{ readonly url: string } | null> {
  let before: string | null = null;
  for (let pages = 0; pages < MAX_THREAD_PAGES; pages += 1) {
    const asked: { readonly id: string; readonly before: string | null } = { id: threadId, before };
    const { node } = await caller.client.graphql<ThreadAnswer>(THREAD, { ...asked, ...caller.settings });
    if (node?.comments === undefined)
      throw new ForgeRefusal('gone', 'The review thread is gone from the pull request, so that it cannot be answered.');
    const { nodes, pageInfo } = node.comments;
    const own = nodes.find((each) => each.viewerDidAuthor && hasMarker(each.body, marker));
    if (own !== undefined) return { url: own.url };
    if (!pageInfo.hasPreviousPage) return null;
    before = pageInfo.startCursor;
  }
  throw new ForgeRefusal(
    'too_many',
    `The review thread has more than ${MAX_THREAD_PAGES * 100} comments, and is not answered by the server. Answer it at GitHub.`,
  );
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
