/** GraphQL of the GitHub of tests: as much of the language and schema as the adapter uses, with GitHub's own errors. */
import { type Issue, now, type Pull, type StandInRepository, type Thread } from './github-server-state.fixture.ts';
import { newComment } from './github-server-answers.fixture.ts';
import { nodeId, type Places, pullId, pullInList } from './github-server-views.fixture.ts';
import type { Webhooks } from './github-server-webhooks.fixture.ts';

type Variables = Readonly<Record<string, unknown>>;

interface Selection {
  readonly name: string;
  readonly args: Variables;
  /** Fields below; empty for a scalar. */
  readonly fields: readonly Selection[];
}

/** A value of the schema: fields by name, of which those with arguments are functions. */
type Source = { readonly [field: string]: unknown };

export interface GraphqlWorld {
  readonly repositories: readonly StandInRepository[];
  /** By `owner/name` of before. */
  readonly formerNames: ReadonlyMap<string, StandInRepository>;
  readonly login: string;
  /** Permission of the token. */
  readonly may: (repository: StandInRepository, needs: string) => boolean;
  readonly places: Places;
  readonly hooks: Webhooks;
}

class GraphqlFault extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/** The answer's body: `data`, or `errors` as GitHub gives them with status 200. */
export function answerGraphql(world: GraphqlWorld, query: string, variables: Variables): object {
  try {
    const { fields, isMutation } = parse(query, variables);
    return { data: select(isMutation ? mutations(world) : queries(world), fields) };
  } catch (error) {
    if (!(error instanceof GraphqlFault)) throw error;
    return { data: null, errors: [{ type: error.type, path: [], locations: [], message: error.message }] };
  }
}

/** Reads a document of one operation. */
function parse(
  query: string,
  variables: Variables,
): { readonly fields: readonly Selection[]; readonly isMutation: boolean } {
  const tokens = query.match(/"[^"]*"|\.\.\.|[{}():,!@[\]=]|\$?\w+/g) ?? [];
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const expect = (token: string): void => {
    const found = next();
    if (found !== token) throw new GraphqlFault('PARSE', `Expected ${token}, found ${found}`);
  };
  const value = (): unknown => {
    const token = next();
    if (token.startsWith('$')) return variables[token.slice(1)];
    if (token.startsWith('"')) return token.slice(1, -1);
    if (token === '{') return object('}');
    return /^\d+$/.test(token) ? Number(token) : token;
  };
  const object = (end: string): Variables => {
    const found: Record<string, unknown> = {};
    while (tokens[at] !== end) {
      const name = next();
      if (name === ',') continue;
      expect(':');
      found[name] = value();
    }
    expect(end);
    return found;
  };
  const selections = (): readonly Selection[] => {
    const found: Selection[] = [];
    while (tokens[at] !== '}') {
      let name = next();
      // An inline fragment adds its fields to those around it.
      if (name === '...') name = `${next()} ${next()}`;
      const args = tokens[at] === '(' ? (next(), object(')')) : {};
      let isIncluded = true;
      if (tokens[at] === '@') {
        next();
        expect('include');
        expect('(');
        isIncluded = object(')')['if'] === true;
      }
      const fields = tokens[at] === '{' ? (next(), selections()) : [];
      if (isIncluded) found.push(...(name.startsWith('on ') ? fields : [{ name, args, fields }]));
    }
    expect('}');
    return found;
  };
  const isMutation = next() === 'mutation';
  while (tokens[at] !== '{') at += 1;
  next();
  return { fields: selections(), isMutation };
}

function select(source: unknown, fields: readonly Selection[]): unknown {
  if (source === null || fields.length === 0) return source;
  if (Array.isArray(source)) return source.map((each) => select(each, fields));
  const known = source as Source; // the schema below has objects where fields are selected
  return Object.fromEntries(
    fields.map(({ name, args, fields: below }) => {
      if (!(name in known)) throw new GraphqlFault('undefinedField', `Field '${name}' doesn't exist`);
      const value = known[name];
      return [name, select(typeof value === 'function' ? (value as (args: Variables) => unknown)(args) : value, below)];
    }),
  );
}

function connection(items: readonly unknown[]): (args: Variables) => Source {
  return ({ first, last, after, before }) => {
    const start = typeof after === 'string' ? Number(after) : 0;
    const size = Number(first ?? last ?? 100);
    const until = typeof before === 'string' ? Number(before) : items.length;
    const from = last === undefined ? start : Math.max(0, until - size);
    const end = last === undefined ? from + size : until;
    return {
      nodes: items.slice(from, end),
      pageInfo: {
        hasNextPage: end < items.length,
        endCursor: String(end),
        hasPreviousPage: from > 0,
        startCursor: String(from),
      },
      totalCount: items.length,
    };
  };
}

function queries(world: GraphqlWorld): Source {
  return {
    viewer: { login: world.login },
    repository: ({ owner, name }: Variables) => {
      const asked = `${String(owner)}/${String(name)}`;
      // As with GitHub's `followRenames`, which is true where a query does not say otherwise.
      const found = world.repositories.find(({ fullName }) => fullName === asked) ?? world.formerNames.get(asked);
      if (found === undefined || found.levelOf(world.login) === 'none')
        throw new GraphqlFault(
          'NOT_FOUND',
          `Could not resolve to a Repository with the name '${String(owner)}/${String(name)}'.`,
        );
      return {
        pullRequest: ({ number }: Variables) => pullSource(world, found, Number(number)),
        issue: ({ number }: Variables) => issueSource(world, found, Number(number)),
      };
    },
    node: ({ id }: Variables) => {
      const { repository, issue, thread } = findThread(world, String(id));
      return threadSource(world, repository, issue, thread);
    },
  };
}

function issueSource(world: GraphqlWorld, repository: StandInRepository, number: number): Source {
  const issue = repository.issues.get(number);
  if (issue === undefined || issue.pull !== null)
    throw new GraphqlFault('NOT_FOUND', `Could not resolve to an Issue with the number of ${number}.`);
  if (!world.may(repository, 'issues=read'))
    throw new GraphqlFault('FORBIDDEN', 'Resource not accessible by personal access token');
  return { lastEditedAt: issue.editedAt };
}

function pullSource(world: GraphqlWorld, repository: StandInRepository, number: number): Source {
  const issue = repository.issues.get(number);
  if (issue === undefined || issue.pull === null)
    throw new GraphqlFault('NOT_FOUND', `Could not resolve to a PullRequest with the number of ${number}.`);
  if (!world.may(repository, 'pull_requests=read'))
    throw new GraphqlFault('FORBIDDEN', 'Resource not accessible by personal access token');
  repository.refresh(issue);
  const { pull } = issue;
  const page = `${world.places.url}/${repository.fullName}/pull/${number}`;
  return {
    isDraft: pull.isDraft,
    reviews: connection(
      pull.reviews.map((review) => ({
        ...commentSource(world, review, `${page}#pullrequestreview-${review.id}`, 'PRR'),
        state: review.state,
        commit: { oid: review.commit },
      })),
    ),
    reviewThreads: connection(pull.threads.map((thread) => threadSource(world, repository, issue, thread))),
    comments: connection(
      issue.comments.map((each) => commentSource(world, each, `${page}#issuecomment-${each.id}`, 'IC')),
    ),
  };
}

function threadSource(world: GraphqlWorld, repository: StandInRepository, { number }: Issue, thread: Thread): Source {
  const page = `${world.places.url}/${repository.fullName}/pull/${number}`;
  return {
    id: nodeId('PRRT', thread.id),
    isResolved: thread.isResolved,
    isOutdated: thread.isOutdated,
    path: thread.path,
    line: thread.isOutdated ? null : thread.line,
    originalLine: thread.line,
    comments: connection(
      thread.comments.map((each) => commentSource(world, each, `${page}#discussion_r${each.id}`, 'PRRC')),
    ),
  };
}

function commentSource(
  { login: viewer }: GraphqlWorld,
  {
    id,
    login,
    body,
    updatedAt,
  }: { readonly id: number; readonly login: string; readonly body: string; readonly updatedAt: string },
  url: string,
  kind: string,
): Source {
  return {
    id: nodeId(kind, id),
    body,
    url,
    updatedAt,
    viewerDidAuthor: login === viewer,
    author: { login: login.replace('[bot]', ''), __typename: login.endsWith('[bot]') ? 'Bot' : 'User' },
  };
}

function findThread(
  world: GraphqlWorld,
  id: string,
): { readonly repository: StandInRepository; readonly issue: Issue; readonly pull: Pull; readonly thread: Thread } {
  for (const repository of world.repositories)
    for (const issue of repository.issues.values()) {
      const thread = issue.pull?.threads.find((each) => nodeId('PRRT', each.id) === id);
      if (thread !== undefined && issue.pull !== null && repository.levelOf(world.login) !== 'none')
        return { repository, issue, pull: issue.pull, thread };
    }
  throw new GraphqlFault('NOT_FOUND', `Could not resolve to a node with the global id of '${id}'`);
}

function mutations(world: GraphqlWorld): Source {
  const { login, hooks, places } = world;
  const assertMay = (repository: StandInRepository, needs: string): void => {
    if (repository.isArchived) throw new GraphqlFault('FORBIDDEN', 'Repository was archived so is read-only.');
    if (!world.may(repository, needs) || !['admin', 'write'].includes(repository.levelOf(login)))
      throw new GraphqlFault('FORBIDDEN', 'Resource not accessible by personal access token');
  };
  const inputOf = ({ input }: Variables): Variables => input as Variables; // every mutation has one
  const setDraft = (args: Variables, isDraft: boolean): Source => {
    const id = String(inputOf(args)['pullRequestId']);
    for (const repository of world.repositories)
      for (const issue of repository.issues.values()) {
        if (issue.pull === null || nodeId('PR', pullId(repository, issue)) !== id) continue;
        assertMay(repository, 'pull_requests=write');
        issue.pull.isDraft = isDraft;
        issue.updatedAt = now();
        hooks.send(repository, login, 'pull_request', isDraft ? 'converted_to_draft' : 'ready_for_review', {
          number: issue.number,
          pull_request: pullInList(repository, issue, issue.pull, places),
        });
        return { pullRequest: { isDraft } };
      }
    throw new GraphqlFault('NOT_FOUND', `Could not resolve to a node with the global id of '${id}'`);
  };
  const setResolved = (args: Variables, isResolved: boolean): Source => {
    const { repository, issue, pull, thread } = findThread(world, String(inputOf(args)['threadId']));
    assertMay(repository, 'pull_requests=write');
    thread.isResolved = isResolved;
    issue.updatedAt = now();
    hooks.send(repository, login, 'pull_request_review_thread', isResolved ? 'resolved' : 'unresolved', {
      thread: { node_id: nodeId('PRRT', thread.id) },
      pull_request: pullInList(repository, issue, pull, places),
    });
    return { thread: { isResolved } };
  };
  return {
    markPullRequestReadyForReview: (args: Variables) => setDraft(args, false),
    convertPullRequestToDraft: (args: Variables) => setDraft(args, true),
    resolveReviewThread: (args: Variables) => setResolved(args, true),
    unresolveReviewThread: (args: Variables) => setResolved(args, false),
    addPullRequestReviewThreadReply: (args: Variables) => {
      const input = inputOf(args);
      const { repository, issue, thread } = findThread(world, String(input['pullRequestReviewThreadId']));
      assertMay(repository, 'pull_requests=write');
      const comment = newComment(login, String(input['body']));
      thread.comments.push(comment);
      issue.updatedAt = now();
      const url = `${places.url}/${repository.fullName}/pull/${issue.number}#discussion_r${comment.id}`;
      return { comment: commentSource(world, comment, url, 'PRRC') };
    },
  };
}
