/** Pull requests of runs, read from the forge for people, and their answers in review threads. */
import { createHash, randomUUID } from 'node:crypto';
import {
  type Caller,
  InvalidRequest,
  NotFound,
  type PullRequestRemark,
  type ResolvedThread,
  type RunPullRequest,
  type ThreadReply,
  Unavailable,
  Unprocessable,
} from '@autonomous/shared';
import type { Engine } from '../engine/engine.ts';
import { besideOf } from '../activities/git/ways-on.ts';
import {
  type Discussion,
  type Forge,
  ForgeRefusal,
  type ForgeRepository,
  isOfBranch,
  type Remark,
} from '../forges/forge.ts';
import type { Projects } from './projects.ts';
import { LOCAL_CALLER } from './access/token.ts';

export interface RunPullRequestsOptions {
  readonly engine: Pick<Engine, 'view'>;
  readonly projects: Pick<Projects, 'of'>;
  /** `null` where the server has no credentials for one. */
  readonly forge: Forge | null;
  /** Takes known secrets and token patterns out of text. */
  readonly scrub: (text: string) => string;
  /** Time for all calls that a request makes (default 15,000 ms). */
  readonly forgeTimeoutMs?: number;
}

const FORGE_TIMEOUT_MS = 15_000;
/** Most characters of others' texts in one answer. What does not fit is clipped. */
const MAX_TEXT_CHARACTERS = 1_000_000;
/** Longest of a text that stands in one line, such as a title. */
const MAX_LINE_CHARACTERS = 1_000;

/** A pull request at the forge, whose calls end with a time limit. */
interface Place {
  readonly host: string;
  readonly owner: string;
  readonly name: string;
  readonly number: number;
  readonly repository: ForgeRepository;
}

export class RunPullRequests {
  readonly #options: RunPullRequestsOptions;
  /** By run: people who look at the same time share one reading. */
  readonly #readings = new Map<string, Promise<RunPullRequest>>();

  constructor(options: RunPullRequestsOptions) {
    this.#options = options;
  }

  /** As the forge has it now. @throws {NotFound | Unavailable | Unprocessable} */
  async read(runId: string): Promise<RunPullRequest> {
    const underWay = this.#readings.get(runId);
    if (underWay !== undefined) return underWay;
    const reading = this.#at(runId, readPullRequest).finally(() => this.#readings.delete(runId));
    this.#readings.set(runId, reading);
    return reading;
  }

  /** Answers in a thread, once for each request key. @throws {NotFound | Unavailable | Unprocessable} */
  async reply({ userId, request }: Caller, runId: string, threadId: string, text: string): Promise<ThreadReply> {
    // An answer that the forge took and the server did not store is found again by its marker.
    const key = request === undefined ? randomUUID() : digestOf(`${request.key}\n${threadId}`);
    const body = this.#options.scrub(`**${nameOf(userId)}** via Autonomous:\n\n${text}`);
    return this.#at(runId, async (place) => {
      await assertThread(place, runId, threadId);
      const { url } = await place.repository.replyToThread(threadId, { marker: `reply-${key}`, body });
      return { url: webAddressAt(url, place.host) };
    });
  }

  /** Repeated, it changes nothing more. @throws {NotFound | Unavailable | Unprocessable} */
  async resolve(runId: string, threadId: string): Promise<ResolvedThread> {
    return this.#at(runId, async (place) => {
      await assertThread(place, runId, threadId);
      await place.repository.resolveThread(threadId);
      return { threadId, isResolved: true };
    });
  }

  async #at<Result>(runId: string, ask: (place: Place) => Promise<Result>): Promise<Result> {
    const { engine, projects, forge, forgeTimeoutMs = FORGE_TIMEOUT_MS } = this.#options;
    const { published, projectId, branch, rebuiltUpTo } = await engine.view(runId);
    if (published?.pullRequest === undefined)
      throw new NotFound(
        `Run ${runId} has no pull request. A run opens one when its setting git.createPR is true and its project is at a forge that the server signs in to.`,
      );
    const { id, repository: address } = await projects.of(projectId);
    const name = forge?.repositoryAt(address) ?? null;
    if (forge === null || name === null)
      throw new Unprocessable(
        `The server has no credentials for the forge of run ${runId}. Set GITHUB_TOKEN, and GITHUB_API_URL for an Enterprise server, then restart the server.`,
      );
    const repository = forge.repository(name, AbortSignal.timeout(forgeTimeoutMs), id);
    const { number } = published.pullRequest;
    try {
      // A record of others may name any pull request there.
      if (rebuiltUpTo !== undefined && !isOfBranch(await repository.pullRequest(number), branch, besideOf(branch)))
        throw new NotFound(`Pull request ${number} is not of run ${runId}, which was rebuilt from its record in git.`);
      return await ask({ ...name, host: forge.host, number, repository });
    } catch (error) {
      throw refusalOf(error, forge.host, forgeTimeoutMs);
    }
  }
}

async function readPullRequest({ repository, host, owner, name, number }: Place): Promise<RunPullRequest> {
  const [pullRequest, discussion] = await Promise.all([repository.pullRequest(number), repository.discussion(number)]);
  const checks = await repository.checks(pullRequest.head.commit);
  const { url, title, state, isDraft, mergeability, head, base } = pullRequest;
  return {
    number,
    url: webAddressAt(url, host) ?? `https://${host}/${owner}/${name}/pull/${number}`,
    title: lineOf(title),
    state,
    isDraft,
    mergeability,
    head,
    base,
    checks: checks.map((check) => ({
      name: lineOf(check.name),
      state: check.state,
      conclusion: check.conclusion,
      url: check.url === null ? null : webAddressAt(check.url, null),
    })),
    ...discussionOf(discussion, host),
  };
}

/** Newer texts have room first: they are what people look for. */
function discussionOf(
  { reviews, threads, comments, next }: Discussion,
  host: string,
): Pick<RunPullRequest, 'reviews' | 'threads' | 'comments' | 'isComplete'> {
  const all: readonly Remark[] = [...reviews, ...threads.flatMap((thread) => thread.comments), ...comments];
  let room = MAX_TEXT_CHARACTERS;
  const shown = new Map<Remark, PullRequestRemark>();
  // A forge tells times by the second: of two texts of one second, the later in its list is the newer.
  for (const remark of all.toReversed().toSorted((one, other) => other.at.localeCompare(one.at))) {
    const whole = remark.isOwn ? withoutMarker(remark.body) : remark.body;
    // No half of a surrogate pair is left at the end.
    const body = whole.length <= room ? whole : whole.slice(0, room).replace(/[\ud800-\udbff]$/, '');
    room -= body.length;
    const { id, author, isOwn, url, at } = remark;
    const isClipped = remark.isClipped || body.length < whole.length;
    shown.set(remark, { id, author, isOwn, body, isClipped, url: webAddressAt(url, host), at });
  }
  const shownOf = (remark: Remark): PullRequestRemark[] => {
    const found = shown.get(remark);
    return found === undefined ? [] : [found];
  };
  return {
    reviews: reviews.flatMap((review) => shownOf(review).map((remark) => ({ ...remark, verdict: review.verdict }))),
    threads: threads.map(({ id, path, line, isResolved, isOutdated, comments: remarks }) => ({
      id,
      path,
      line,
      isResolved,
      isOutdated,
      comments: remarks.flatMap(shownOf),
    })),
    comments: comments.flatMap(shownOf),
    isComplete: next === null,
  };
}

/** Ids of threads are those of the whole forge: only threads that the run's page shows are written to. */
async function assertThread({ repository, number }: Place, runId: string, threadId: string): Promise<void> {
  const { threads } = await repository.discussion(number);
  if (threads.some(({ id }) => id === threadId)) return;
  throw new NotFound(
    `Pull request ${number} of run ${runId} has no review thread '${threadId}'. Load the pull request again.`,
  );
}

function refusalOf(error: unknown, host: string, timeoutMs: number): unknown {
  const options = { cause: error };
  if (error instanceof ForgeRefusal) {
    if (error.refusal === 'gone') return new NotFound(error.message, options);
    if (error.refusal === 'too_long') return new InvalidRequest(error.message, options);
    return new Unprocessable(error.message, options);
  }
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return new Unavailable(
      `The forge at ${host} did not answer within ${timeoutMs / 1_000} seconds. Try again, or open the pull request there.`,
      options,
    );
  return error;
}

/** @param host that the address must have; `null`: any */
function webAddressAt(address: string, host: string | null): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null;
  return host === null || url.host === host ? url.href : null;
}

/** The marker of the server's own comments is the last thing in them. */
function withoutMarker(body: string): string {
  const at = body.lastIndexOf('<!-- autonomous:');
  return at < 0 ? body : body.slice(0, at).trimEnd();
}

function lineOf(text: string): string {
  return text.length > MAX_LINE_CHARACTERS ? `${text.slice(0, MAX_LINE_CHARACTERS - 1)}…` : text;
}

/** A user's name without what Markdown or a forge would make something of. The owner of the token has no other name here. */
function nameOf(userId: string): string {
  const name = userId.replaceAll(/[^\p{L}\p{N} .-]/gu, '').trim();
  return userId === LOCAL_CALLER.userId || name === '' ? 'A person' : name;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 40);
}
