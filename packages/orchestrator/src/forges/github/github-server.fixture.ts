/**
 * A GitHub of tests over HTTP on this machine: REST and GraphQL as Octokit uses them, in GitHub's wire format with its errors, limits
 * and ETags; real bare repositories behind `git http-backend`; merges that really merge; signed webhooks. It speaks as an
 * Enterprise server does: `<url>/api/v3`, `<url>/api/graphql`, `<url>/owner/name.git`. Whoever acts does so with a token of their own.
 */
import { createHash, randomUUID } from 'node:crypto';
import { renameSync, mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { answerByGit, GIT_PATH, isPush, passwordOf } from '../../repository/git/smart-http.fixture.ts';
import { answerGraphql } from './github-server-graphql.fixture.ts';
import { type Answer, refusal } from './github-server-answers.fixture.ts';
import { ROUTES } from './github-server-rest.fixture.ts';
import { type App, type RepositoryOptions, StandInRepository, type Token } from './github-server-state.fixture.ts';
import { isAllowed, isSignedBy, tokenHeaders } from './github-server-tokens.fixture.ts';
import { pullView, userView } from './github-server-views.fixture.ts';
import { Webhooks } from './github-server-webhooks.fixture.ts';

/** A request to the API, oldest first in the journal. */
export interface Journaled {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  readonly status: number;
  readonly authorization: string | null;
}

export type FaultKind =
  /** 403 with `retry-after`. */
  | { readonly kind: 'secondary'; readonly retryAfterSeconds: number }
  /** 403 with `x-ratelimit-remaining: 0`. */
  | { readonly kind: 'primary'; readonly resetInSeconds: number }
  | { readonly kind: 'status'; readonly status: number; readonly message?: string }
  /** Carried out, and answered with 502. */
  | { readonly kind: 'lost' }
  /** The connection ends without an answer. */
  | { readonly kind: 'reset' }
  /** No answer until the client gives up. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'redirect'; readonly to: string };

export interface GitHubServer {
  /** Web pages and git: `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly apiUrl: string;
  readonly host: string;
  /** By token; changes count at once. */
  readonly tokens: Map<string, Token>;
  readonly apps: Map<number, App>;
  readonly requests: readonly Journaled[];
  readonly hooks: Webhooks;
  /** Requests that counted against the rate limit; 304 does not. */
  readonly counted: number;
  /** Git address of a repository. */
  addressOf(repository: StandInRepository): string;
  addRepository(owner: string, name: string, options?: RepositoryOptions): StandInRepository;
  /** The old name redirects. */
  rename(repository: StandInRepository, owner: string, name: string): void;
  remove(repository: StandInRepository): void;
  /** Brings a removed one back. */
  restore(repository: StandInRepository): void;
  /** The next requests that match fail; `path` and `body` may stand anywhere in those of the request. */
  fail(fault: FaultKind, options?: FaultMatch & { readonly times?: number }): void;
  /** Nothing fails any more. */
  recover(): void;
  /** Calls the API as somebody. */
  as(token: string, route: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }>;
  close(): Promise<void>;
}

interface FaultMatch {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
}

interface Fault extends FaultMatch {
  readonly fault: FaultKind;
  times: number;
}

const LIMIT = 5_000;

/** @param root folder of the bare repositories */
export async function startGitHubServer(root: string): Promise<GitHubServer> {
  const state = new World(root);
  const server = createServer((request, response) => {
    state.receive(request, response).catch((error: unknown) => {
      process.stderr.write(`The GitHub of tests failed: ${String(error)}\n`);
      response.destroy();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo; // A TCP server's address is never a string.
  state.url = `http://127.0.0.1:${port}`;
  const apiUrl = `${state.url}/api/v3`;
  return {
    url: state.url,
    apiUrl,
    host: `127.0.0.1:${port}`,
    tokens: state.tokens,
    apps: state.apps,
    requests: state.requests,
    hooks: state.hooks,
    get counted() {
      return state.counted;
    },
    addressOf: ({ fullName }) => `${state.url}/${fullName}.git`,
    addRepository(owner, name, options = {}) {
      const repository = new StandInRepository(root, owner, name, options);
      state.repositories.push(repository);
      return repository;
    },
    rename(repository, owner, name) {
      const { folder, fullName } = repository;
      state.formerNames.set(fullName, repository);
      Object.assign(repository, { owner, name });
      mkdirSync(dirname(repository.folder), { recursive: true });
      renameSync(folder, repository.folder);
    },
    remove: (repository) => state.repositories.splice(state.repositories.indexOf(repository), 1),
    restore: (repository) => void state.repositories.push(repository),
    fail: (fault, { times = 1, ...match } = {}) => state.faults.push({ fault, times, ...match }),
    recover: () => void (state.faults.length = 0),
    async as(token, route, body) {
      const [method = 'GET', path = ''] = route.split(' ');
      const answer = await fetch(`${apiUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, accept: 'application/vnd.github+json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/** A token and the account behind it. */
interface Caller {
  readonly token: Token;
  /** The kind of token, as refusals name it. */
  readonly kind: 'personal access token' | 'integration';
}

class World {
  url = '';
  counted = 0;
  readonly tokens = new Map<string, Token>();
  readonly apps = new Map<number, App>();
  readonly repositories: StandInRepository[] = [];
  readonly formerNames = new Map<string, StandInRepository>();
  readonly requests: Journaled[] = [];
  readonly faults: Fault[] = [];
  readonly hooks: Webhooks;
  readonly #root: string;
  readonly #resetAt = Math.ceil(Date.now() / 1_000) + 3_600;

  constructor(root: string) {
    this.#root = root;
    this.hooks = new Webhooks(() => this.places);
  }

  get places(): { readonly url: string; readonly apiUrl: string } {
    return { url: this.url, apiUrl: `${this.url}/api/v3` };
  }

  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    if (GIT_PATH.test(url.pathname)) return this.#git(request, response, url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const method = request.method ?? 'GET';
    const path = url.pathname.replace(/^\/api(?:\/v3)?/, '');
    const text = Buffer.concat(chunks).toString();
    const fault = this.#takeFault(method, path, text);
    if (fault?.kind === 'reset' || fault?.kind === 'silent') {
      this.requests.push({ method, path, status: 0, authorization: request.headers.authorization ?? null });
      if (fault.kind === 'reset') response.destroy();
      return;
    }
    const wanted = fault !== null && fault.kind !== 'lost' ? this.#faultAnswer(fault, url) : null;
    const answer = wanted ?? this.#answer(request, method, path, url, text);
    this.#send(request, response, method, path, fault?.kind === 'lost' ? refusal(502, 'Server Error') : answer, url);
  }

  #takeFault(method: string, path: string, text: string): FaultKind | null {
    const found = this.faults.find(
      (each) =>
        each.times > 0 &&
        path.includes(each.path ?? '') &&
        text.includes(each.body ?? '') &&
        (each.method ?? method) === method,
    );
    if (found === undefined) return null;
    found.times -= 1;
    return found.fault;
  }

  #faultAnswer(fault: Exclude<FaultKind, { kind: 'lost' | 'reset' | 'silent' }>, url: URL): Answer {
    switch (fault.kind) {
      case 'secondary':
        return {
          ...refusal(403, 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.'),
          headers: { 'retry-after': String(fault.retryAfterSeconds) },
        };
      case 'primary':
        return {
          ...refusal(403, 'API rate limit exceeded for user ID 1.'),
          headers: {
            'x-ratelimit-remaining': '0',
            'x-ratelimit-reset': String(Math.floor(Date.now() / 1_000) + fault.resetInSeconds),
          },
        };
      case 'status':
        return refusal(fault.status, fault.message ?? 'Server Error');
      case 'redirect':
        return { status: 302, body: null, headers: { location: `${fault.to}${url.pathname}${url.search}` } };
      default:
        return fault satisfies never;
    }
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    method: string,
    path: string,
    { status, body, headers = {} }: Answer,
    url: URL,
  ): void {
    const text = body === null ? '' : JSON.stringify(body);
    const etag = `W/"${createHash('sha256').update(text).digest('hex')}"`;
    const isUnchanged = method === 'GET' && status === 200 && request.headers['if-none-match'] === etag;
    if (!isUnchanged) this.counted += 1;
    const sent = isUnchanged ? 304 : status;
    this.requests.push({ method, path, status: sent, authorization: request.headers.authorization ?? null });
    const { 'x-next-page': nextPage, 'x-last-page': lastPage, ...others } = headers;
    const links = Object.entries({ next: nextPage, last: lastPage }).flatMap(([rel, page]) => {
      if (page === undefined) return [];
      url.searchParams.set('page', page);
      return [`<${url.href}>; rel="${rel}"`];
    });
    response.writeHead(sent, {
      'content-type': 'application/json; charset=utf-8',
      'x-github-request-id': randomUUID(),
      'x-ratelimit-limit': String(LIMIT),
      'x-ratelimit-remaining': String(Math.max(0, LIMIT - this.counted)),
      'x-ratelimit-used': String(this.counted),
      'x-ratelimit-reset': String(this.#resetAt),
      'x-ratelimit-resource': path === '/graphql' ? 'graphql' : 'core',
      ...(method === 'GET' && status === 200 ? { etag, 'cache-control': 'private, max-age=60, s-maxage=60' } : {}),
      ...(links.length === 0 ? {} : { link: links.join(', ') }),
      ...others,
    });
    response.end(isUnchanged ? '' : text);
  }

  #answer(request: IncomingMessage, method: string, path: string, url: URL, text: string): Answer {
    const authorization = request.headers.authorization ?? '';
    if (authorization === '') return refusal(401, 'Requires authentication');
    const secret = /^(?:bearer|token) (\S+)$/i.exec(authorization)?.[1] ?? '';
    if (path === '/app' || path.startsWith('/app/installations/')) return this.#answerApp(secret, method, path);
    const caller = this.#callerOf(secret);
    if (caller === null) return refusal(401, 'Bad credentials');
    const { token, kind } = caller;
    let body: Readonly<Record<string, unknown>>;
    try {
      body = text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
    } catch {
      return refusal(400, 'Problems parsing JSON');
    }
    if (path === '/user')
      return kind === 'integration'
        ? refusal(403, 'Resource not accessible by integration')
        : { status: 200, body: userView(token.login, this.places), headers: tokenHeaders(token) };
    if (path === '/graphql')
      return {
        status: 200,
        body: answerGraphql(
          {
            repositories: this.repositories,
            formerNames: this.formerNames,
            login: token.login,
            may: (_repository, needs) => isAllowed(token, needs),
            places: this.places,
            hooks: this.hooks,
          },
          String(body['query']),
          (body['variables'] ?? {}) as Readonly<Record<string, unknown>>,
        ),
      };
    const answer = this.#answerRepository(caller, method, path, url, body);
    return { ...answer, headers: { ...tokenHeaders(token), ...answer.headers } };
  }

  #callerOf(secret: string): Caller | null {
    const token = this.tokens.get(secret);
    if (token === undefined) return null;
    if (token.expiresAt !== undefined && Date.parse(token.expiresAt) <= Date.now()) return null;
    return { token, kind: secret.startsWith('ghs_') ? 'integration' : 'personal access token' };
  }

  #answerRepository(
    { token, kind }: Caller,
    method: string,
    path: string,
    url: URL,
    body: Readonly<Record<string, unknown>>,
  ): Answer {
    const [, owner = '', name = '', byName = ''] = /^\/repos\/([^/]+)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    const [, id = '', byId = ''] = /^\/repositories\/(\d+)(\/.*)?$/.exec(path) ?? [];
    const repository = this.repositories.find(
      (each) => each.id === Number(id) || each.fullName.toLowerCase() === `${owner}/${name}`.toLowerCase(),
    );
    if (repository === undefined) {
      const moved = this.formerNames.get(`${owner}/${name}`);
      if (moved === undefined) return refusal(404, 'Not Found');
      const location = `${this.places.apiUrl}/repositories/${moved.id}${byName}${url.search}`;
      const status = method === 'GET' ? 301 : 307;
      return { status, body: { message: 'Moved Permanently', url: location }, headers: { location } };
    }
    // A classic token without the scope sees public repositories alone.
    const isHidden = token.scopes?.includes('repo') === false && repository.isPrivate;
    const isOfApp = kind === 'integration';
    if (!isOfApp && (repository.levelOf(token.login) === 'none' || isHidden)) return refusal(404, 'Not Found');
    for (const { method: wanted, path: pattern, needs, answer } of ROUTES) {
      const [found, ...parts] = pattern.exec(byName || byId) ?? [];
      if (found === undefined || wanted !== method) continue;
      if (!isAllowed(token, needs))
        return {
          ...refusal(403, `Resource not accessible by ${kind}`),
          headers: { 'x-accepted-github-permissions': needs },
        };
      if (method !== 'GET' && repository.isArchived) return refusal(403, 'Repository was archived so is read-only.');
      const { login } = token;
      return answer({
        repository,
        login,
        body,
        query: url.searchParams,
        parts,
        places: this.places,
        hooks: this.hooks,
      });
    }
    return refusal(404, 'Not Found');
  }

  /** Routes that an App asks with its signed assertion. */
  #answerApp(assertion: string, method: string, path: string): Answer {
    const app = [...this.apps.values()].find((each) => isSignedBy(assertion, each));
    if (app === undefined) return refusal(401, 'A JSON web token could not be decoded');
    if (path === '/app') return { status: 200, body: { id: app.id, slug: app.slug, name: app.slug, events: [] } };
    const isOwn = path === `/app/installations/${app.installationId}/access_tokens`;
    if (method !== 'POST' || !isOwn) return refusal(404, 'Not Found');
    if (app.isSuspended === true) return refusal(403, 'This installation has been suspended');
    const token = `ghs_${randomUUID().replaceAll('-', '')}`;
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    this.tokens.set(token, { login: `${app.slug}[bot]`, permissions: app.permissions, expiresAt });
    for (const repository of this.repositories) repository.collaborators.set(`${app.slug}[bot]`, 'write');
    return {
      status: 201,
      body: { token, expires_at: expiresAt, permissions: app.permissions, repository_selection: 'all' },
    };
  }

  #git(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const { owner = '', name = '' } = GIT_PATH.exec(url.pathname)?.groups ?? {};
    const caller = this.#callerOf(passwordOf(request));
    const end = (status: number, headers: Readonly<Record<string, string>> = {}): void => {
      response.writeHead(status, headers).end();
    };
    if (caller === null) return end(401, { 'www-authenticate': 'Basic realm="GitHub"' });
    const repository = this.repositories.find(({ fullName }) => fullName === `${owner}/${name}`);
    if (repository === undefined) {
      const moved = this.formerNames.get(`${owner}/${name}`);
      if (moved === undefined) return end(404);
      return end(301, { location: (request.url ?? '').replace(`/${owner}/${name}.git`, `/${moved.fullName}.git`) });
    }
    const { token } = caller;
    const level = repository.levelOf(token.login);
    if (level === 'none') return end(404);
    if (isPush(request) && repository.isArchived) {
      response
        .writeHead(403, { 'content-type': 'text/plain' })
        .end('This repository was archived so it is read-only.\n');
      return;
    }
    const mayPush = level !== 'read' && isAllowed(token, 'contents=write');
    if (isPush(request) && !mayPush) return end(403);
    if (isPush(request) && request.method === 'POST')
      response.on('finish', () => this.#announcePush(repository, token.login));
    answerByGit(request, response, this.#root);
  }

  /** Pull requests whose branch moved. */
  #announcePush(repository: StandInRepository, login: string): void {
    this.hooks.send(repository, login, 'push', null, {});
    for (const issue of repository.issues.values()) {
      const { pull } = issue;
      const before = pull?.headCommit;
      repository.refresh(issue);
      if (pull === null || pull.headCommit === before) continue;
      const view = pullView(repository, issue, pull, this.places);
      this.hooks.send(repository, login, 'pull_request', 'synchronize', { number: issue.number, pull_request: view });
    }
  }
}
