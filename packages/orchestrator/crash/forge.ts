/**
 * The forge of a point: the GitHub of tests, whose repository is the remote of the point's place. It runs in the process of
 * the sweep, so that it keeps its state while servers are killed.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type GitHubServer, startGitHubServer } from '../src/forges/github/github-server.fixture.ts';
import type { Issue, StandInRepository } from '../src/forges/github/github-server-state.fixture.ts';
import type { Effects } from './effects.ts';

/** Where the remote of a place lies below the place's folder. */
export const OWNER = 'acme';
export const NAME = 'notes';

/** Accounts with a token each. They are known to the stand-in alone. */
const SERVER = { login: 'octo-server', token: 'token-of-the-server' };
const REVIEWER = { login: 'anna', token: 'token-of-the-reviewer' };

const TICK_MS = 50;

export interface PointForge {
  /** Settings with which the server signs in there. */
  readonly env: Readonly<Record<string, string>>;
  /** Git address of the project. */
  readonly address: string;
  readonly host: string;
  /** Issues and pull requests, oldest first. */
  issues(): readonly Issue[];
  /** The reviewer asks for changes of a pull request, in its review and in a thread, unless they did so already. */
  askForChanges(
    number: number,
    remark: { readonly body: string; readonly path: string; readonly text: string },
  ): Promise<void>;
  /** The reviewer writes an issue with the label that starts a run, unless it is there already. The forge tells this server at once. */
  labelIssue(title: string, serverUrl: string): Promise<void>;
  /** Resolves when the comment on the issue says that its run has completed. */
  issueSettled(title: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** @param folder absolute; `acme/notes.git` below it is the remote */
export async function openForge(folder: string): Promise<PointForge> {
  const server = await startGitHubServer(folder);
  for (const { login, token } of [SERVER, REVIEWER]) server.tokens.set(token, { login, scopes: ['repo'] });
  const repository = server.addRepository(OWNER, NAME, {
    isThere: true,
    collaborators: { [SERVER.login]: 'write', [REVIEWER.login]: 'write' },
  });
  const secret = randomUUID();
  const issueOf = (title: string): Issue | undefined =>
    [...repository.issues.values()].find((each) => each.pull === null && each.title === title);
  return {
    env: {
      GITHUB_TOKEN: SERVER.token,
      GITHUB_API_URL: server.apiUrl,
      FORGE_POLL_SECONDS: '1',
      GITHUB_WEBHOOK_SECRET: secret,
    },
    address: server.addressOf(repository),
    host: server.host,
    issues: () => [...repository.issues.values()],
    async askForChanges(number, { body, path, text }) {
      if ((repository.issues.get(number)?.pull?.reviews.length ?? 0) > 0) return;
      await asReviewer(server, repository, `/pulls/${number}/reviews`, {
        event: 'REQUEST_CHANGES',
        body,
        comments: [{ path, line: 1, body: text }],
      });
    },
    async labelIssue(title, serverUrl) {
      server.hooks.add(repository, { url: `${serverUrl}/webhooks/github`, secret, events: ['issues'] });
      if (issueOf(title) === undefined)
        await asReviewer(server, repository, '/issues', { title, body: '', labels: ['autonomous'] });
    },
    async issueSettled(title, signal) {
      while (issueOf(title)?.comments.some(({ body }) => body.includes('It has completed.')) !== true)
        await delay(TICK_MS, undefined, { signal });
    },
    close: () => server.close(),
  };
}

async function asReviewer(server: GitHubServer, repository: StandInRepository, path: string, body: object) {
  const { status } = await server.as(REVIEWER.token, `POST /repos/${repository.fullName}${path}`, body);
  if (status >= 300) throw new Error(`The reviewer's ${path} was answered with ${status}.`);
}

/** State of a forge, in lines that are the same however often its servers ended. */
export function tellForge(forge: PointForge): readonly string[] {
  return forge.issues().flatMap(({ number, login, title, state, labels, body, comments, pull }) => {
    const where = `forge: #${number}`;
    return [
      `${where} by ${login} '${title}' ${state}, labels ${[...labels].join(' ')}`,
      ...body.split('\n').map((line) => `${where}: ${settled(line)}`),
      ...comments.map((each) => `${where}: ${each.login}: ${settled(each.body)}`),
      ...(pull?.reviews ?? []).map((each) => `${where}: review ${each.state} by ${each.login}: ${each.body}`),
      ...(pull?.threads ?? []).flatMap(({ path, line, isResolved, comments: own }) => [
        `${where}: thread ${path}:${line} ${isResolved ? 'is resolved' : 'is open'}`,
        ...own.map((each) => `${where}: thread ${path}:${line}: ${each.login}: ${settled(each.body)}`),
      ]),
      ...(pull === null
        ? []
        : [`${where}: ${pull.head} to ${pull.base}, ${pull.merged ? `merged by ${pull.merged.login}` : 'not merged'}`]),
    ];
  });
}

/** Pull requests, and the server's own comments with how often each is there. */
export function effectsAtForge(forge: PointForge): Pick<Effects, 'pull request' | 'comment' | 'resolved thread'> {
  const pulls = new Map<string, number>();
  const comments = new Map<string, number>();
  const resolved = new Map<string, number>();
  for (const issue of forge.issues()) {
    const { number, pull } = issue;
    if (pull !== null) add(pulls, `${pull.head} to ${pull.base}`);
    for (const { login, body } of issue.comments)
      if (login === SERVER.login) add(comments, `#${number}: ${settled(body.split('\n')[0] ?? '')}`);
    for (const [index, { comments: own, isResolved }] of (pull?.threads ?? []).entries()) {
      for (const { login, body } of own)
        if (login === SERVER.login)
          add(comments, `#${number} thread ${index + 1}: ${settled(body.split('\n')[0] ?? '')}`);
      if (isResolved) add(resolved, `#${number} thread ${index + 1}`);
    }
  }
  return { 'pull request': pulls, comment: comments, 'resolved thread': resolved };
}

/** Without commits, and without the cost, which a repeated call raises. */
function settled(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/\b[0-9a-f]{10,64}\b/g, '<commit>')
    .replace(/\d+ tokens in, \d+ out in \d+ calls(?:, \d+ calls? of unknown price)?/, '<cost>');
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
