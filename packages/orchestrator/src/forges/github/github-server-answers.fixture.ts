/** Requests to the GitHub of tests and the shapes of its answers: errors, pages, and routes. */
import {
  type Comment,
  type Issue,
  nextId,
  now,
  type Pull,
  type StandInRepository,
} from './github-server-state.fixture.ts';
import type { Places } from './github-server-views.fixture.ts';
import type { Webhooks } from './github-server-webhooks.fixture.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request within a repository. */
export interface Asked {
  readonly repository: StandInRepository;
  readonly login: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly query: URLSearchParams;
  /** Parts of the path that the route leaves open. */
  readonly parts: readonly string[];
  readonly places: Places;
  readonly hooks: Webhooks;
}

export interface Route {
  readonly method: string;
  /** After `/repos/owner/name`. */
  readonly path: RegExp;
  /** Permission of a fine-grained token or installation. */
  readonly needs: string;
  readonly answer: (asked: Asked) => Answer;
}

const documented = 'https://docs.github.com/rest';

export function refusal(status: number, message: string, errors?: readonly unknown[]): Answer {
  return {
    status,
    body: {
      message,
      ...(errors === undefined ? {} : { errors }),
      documentation_url: documented,
      status: String(status),
    },
  };
}

export const notFound = (): Answer => refusal(404, 'Not Found');
export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

function findIssue({ repository, parts }: Asked): Issue | null {
  const issue = repository.issues.get(Number(parts[0])) ?? null;
  if (issue !== null) repository.refresh(issue);
  return issue;
}

/** Answers for one issue or pull request, 404 where there is none. */
export function onIssue(answer: (asked: Asked, issue: Issue) => Answer): Route['answer'] {
  return (asked) => {
    const issue = findIssue(asked);
    return issue === null ? notFound() : answer(asked, issue);
  };
}

export function onPull(answer: (asked: Asked, issue: Issue, pull: Pull) => Answer): Route['answer'] {
  return onIssue((asked, issue) => (issue.pull === null ? notFound() : answer(asked, issue, issue.pull)));
}

/** A page of a list, with the links to others. */
export function paged(
  { query }: Asked,
  items: readonly unknown[],
  wrap?: (page: readonly unknown[]) => unknown,
): Answer {
  const size = Math.min(100, Number(query.get('per_page') ?? 30));
  const page = Number(query.get('page') ?? 1);
  const found = items.slice((page - 1) * size, page * size);
  const isLast = page * size >= items.length;
  const headers: Record<string, string> = isLast
    ? {}
    : { 'x-next-page': String(page + 1), 'x-last-page': String(Math.ceil(items.length / size)) };
  return { status: 200, body: wrap?.(found) ?? found, headers };
}

export const BODY_LIMIT = 65_536;
export const tooLong = (resource: string): Answer =>
  refusal(422, 'Validation Failed', [
    { resource, code: 'custom', field: 'body', message: `body is too long (maximum is ${BODY_LIMIT} characters)` },
  ]);

export const NUMBER = String.raw`(\d+)`;
export const route = (method: string, path: string, needs: string, answer: Route['answer']): Route => ({
  method,
  path: new RegExp(`^${path}$`),
  needs,
  answer,
});

export function newComment(login: string, body: string): Comment {
  const at = now();
  return { id: nextId(), login, body, createdAt: at, updatedAt: at };
}
