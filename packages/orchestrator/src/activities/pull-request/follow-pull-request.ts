/** The wait for what people do with a run's pull request: merge it, close it, or ask for changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { NeedsHuman, RetryableFailure, TerminalFailure } from '@autonomous/shared';
import type { Activity, ActivityContext } from '../../core/activity.ts';
import { type ForgeRepository, isOfBranch, type PullRequest, type RepositoryName } from '../../forges/forge.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { fetchRemote } from '../git/remote.ts';
import {
  type Asked,
  type FailedCheck,
  failedChecks,
  gathered,
  type Gathered,
  keyOfCheck,
  NOTHING_GATHERED,
  passedChecks,
  remarksIn,
  type SeenAtForge,
} from './review-remarks.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';
import { besideOf } from '../git/ways-on.ts';

export type FollowInput = RunHeader & {
  /** Number of the pull request. */
  readonly number: number;
  /** Commit that the run has published. */
  readonly commit: string;
  readonly seen: SeenAtForge;
};

/** A merge that is done. */
export type MergedThere = {
  readonly kind: 'merged';
  readonly commit: string;
  /** Login of the person; `null` where the forge does not tell, and for a merge by the run. */
  readonly by: string | null;
  readonly baseBranch: string;
  /** Commit of the branch that was merged. */
  readonly head: string;
};

export type Followed =
  /** A fork has none of its own yet. */
  | { readonly kind: 'none' }
  | MergedThere
  | { readonly kind: 'closed' }
  /** Others have pushed to the branch. */
  | { readonly kind: 'moved'; readonly head: string; readonly seen: SeenAtForge }
  /** There is more than could be read so far, or all is read again: `seen.unread` says which. Or a failed check has passed since: `seen.failed`. */
  | { readonly kind: 'reading'; readonly seen: SeenAtForge }
  | { readonly kind: 'asked'; readonly asked: Asked; readonly seen: SeenAtForge };

/** Looks at which a discussion is read after each change: times at the forge have whole seconds. */
const LOOKS_AFTER_CHANGE = 2;

/** Looks of which each reads a part of one discussion, before people are told that it is not read to its end. */
const UNTOLD_LOOKS = 3;

/** Most failed checks of one commit that are remembered as passed on; what fails beyond them is not told any more. */
const MAX_FAILED = 100;

/** News within this time of a look lead to one look at its end. */
const BETWEEN_LOOKS_MS = 5_000;

export function followPullRequest(tools: ActivityTools): Activity<FollowInput, Followed> {
  return {
    // A forge that does not answer is waited for below, however long.
    retry: { attempts: 1_000, firstDelayMs: 1_000, maxDelayMs: 60_000 },
    onlyWaits: true,
    async perform(input, context) {
      const { name, repository, project } = await placeOf(tools, context, input);
      if (await isOfSource(tools, input, repository)) return { kind: 'none' };
      const look = lookAt(tools, context, { input, repository, project });
      for (;;) {
        // News that come during the look count.
        const waiting = new AbortController();
        let lookedAt = performance.now();
        const ended = AbortSignal.any([context.signal, waiting.signal]);
        const news = tools.forgeNews.next(name, tools.forgePollMs, ended);
        news.catch(() => undefined);
        try {
          const found = await look();
          lookedAt = performance.now();
          if (found !== null && found !== 'more') return found;
          if (found === null) await news;
        } catch (error) {
          if (!(error instanceof RetryableFailure)) throw error;
          context.progress({ kind: 'note', text: error.message });
          await tools.forgeNews.next(name, Math.max(tools.forgePollMs, error.retryAfterMs ?? 0), context.signal);
        } finally {
          waiting.abort();
        }
        const restMs = Math.min(BETWEEN_LOOKS_MS, tools.forgePollMs) - (performance.now() - lookedAt);
        if (restMs > 0) await sleep(restMs, undefined, { signal: context.signal });
      }
    },
  };
}

/** In a fork: is it the pull request of the run that it was forked from? */
async function isOfSource(
  tools: ActivityTools,
  { runId, number }: Pick<FollowInput, 'runId' | 'number'>,
  repository: ForgeRepository,
): Promise<boolean> {
  const { forkedFrom, branch } = await tools.view(runId);
  if (forkedFrom === undefined) return false;
  return !isOfBranch(await repository.pullRequest(number), branch, besideOf(branch));
}

/** The repository at the forge in which a run's pull request is. @throws {NeedsHuman} `auth_expired` where it has gone from the configuration */
export async function placeOf(
  tools: ActivityTools,
  { signal }: Pick<ActivityContext, 'signal'>,
  { projectId, runId, number }: Pick<FollowInput, 'projectId' | 'runId' | 'number'>,
): Promise<{
  readonly name: RepositoryName;
  readonly repository: ForgeRepository;
  readonly project: RemoteProject & { readonly name: string };
}> {
  const project = await tools.project(projectId, runId);
  const name = tools.forge?.repositoryAt(project.repository) ?? null;
  if (tools.forge === null || name === null)
    throw new NeedsHuman(
      'auth_expired',
      `Pull request ${number} cannot be read: the server has no credentials for the forge of ${project.name} any more. Configure them and restart the server, then retry.`,
    );
  return { name, repository: tools.forge.repository(name, signal, project.id), project };
}

/**
 * The run's pull request, as the forge has it. A run that came from the record of another server may name the number of any.
 * @throws {TerminalFailure} where it has the commits of another branch
 */
export async function ownPullRequest(
  tools: ActivityTools,
  repository: ForgeRepository,
  { runId, number }: Pick<FollowInput, 'runId' | 'number'>,
): Promise<PullRequest> {
  const [{ branch }, found] = await Promise.all([tools.view(runId), repository.pullRequest(number)]);
  if (isOfBranch(found, branch, besideOf(branch))) return found;
  throw new TerminalFailure(
    `Pull request ${number} has the commits of '${found.head.branch}'${found.isFromFork ? ' in another repository' : ''}, and this run works on '${branch}': nothing was done there. Cancel the run, or open a pull request of '${branch}' at the forge and see to it there.`,
  );
}

/** A merge as the forge has it; `null` for a pull request that is not merged. */
export function mergeOf(found: PullRequest): MergedThere | null {
  const { state, mergeCommit, mergedBy, base, head } = found;
  if (state !== 'merged') return null;
  return {
    kind: 'merged',
    commit: mergeCommit ?? head.commit,
    by: mergedBy,
    baseBranch: base.branch,
    head: head.commit,
  };
}

interface Followable {
  readonly input: FollowInput;
  readonly repository: ForgeRepository;
  readonly project: RemoteProject & { readonly name: string };
}

/** Makes a look that returns `null` where nothing happened, and `more` where the next look goes on with the same discussion. */
function lookAt(tools: ActivityTools, context: ActivityContext, { input, repository, project }: Followable) {
  const { number, commit, seen } = input;
  // A result is stored without secrets.
  const keyOf = (check: Pick<FailedCheck, 'name' | 'by'>) => tools.scrub(keyOfCheck(check));
  let account: string | null | undefined;
  let changedAt = '';
  let looks = 0;
  let reading: Gathered | null = null;
  return async (): Promise<Followed | 'more' | null> => {
    const found = await ownPullRequest(tools, repository, input);
    const merged = mergeOf(found);
    if (merged !== null) return merged;
    if (found.state === 'closed') {
      await assertBase(tools, context, project, found);
      return { kind: 'closed' };
    }
    const { head } = found;
    if (head.commit !== commit && head.commit !== seen.head && (await isOfOthers(tools, context, project, input, head)))
      return { kind: 'moved', head: head.commit, seen: { ...seen, head: head.commit } };
    if (found.updatedAt !== changedAt) looks = LOOKS_AFTER_CHANGE;
    changedAt = found.updatedAt;
    let remarks: ReturnType<typeof remarksIn> = { remarks: [], unheard: 0, seen };
    let isRead = false;
    if (looks > 0 || reading !== null) {
      if (reading === null) looks -= 1;
      const before: Gathered = reading ?? NOTHING_GATHERED;
      const part = await repository.discussion(number, seen.since ?? undefined, before.next ?? undefined);
      const now = gathered(before, part, seen);
      reading = now.next === null ? null : now;
      if (now.next === null) {
        isRead = true;
        if (account === undefined && now.comments.some(({ body }) => body.includes('@')))
          account = (await tools.forge?.examine(null, context.signal))?.account ?? null;
        remarks = remarksIn(now, account ?? null, withoutUnread(seen));
      } else if (now.parts >= UNTOLD_LOOKS && seen.unread !== true)
        return { kind: 'reading', seen: { ...seen, unread: true } };
    }
    // Checks of a commit that is not the head of the branch any more ask for nothing.
    const known = seen.checksOf === commit ? (seen.failed ?? []) : [];
    const results = head.commit === commit ? await repository.checks(commit) : [];
    const failed = failedChecks(results);
    const failedKeys = new Set(failed.map(keyOf));
    const passedKeys = new Set(passedChecks(results).map(keyOf));
    const stillFailed = known.filter((key) => failedKeys.has(key) || !passedKeys.has(key));
    // All that failed, once there is one more.
    const isOneMore = failed.some((each) => !known.includes(keyOf(each)));
    const checks = isOneMore && known.length < MAX_FAILED ? failed : [];
    if (remarks.remarks.length === 0 && checks.length === 0) {
      if (stillFailed.length !== known.length)
        return { kind: 'reading', seen: { ...(isRead ? withoutUnread(seen) : seen), failed: stillFailed } };
      if (isRead && seen.unread === true) return { kind: 'reading', seen: withoutUnread(seen) };
      return reading === null ? null : 'more';
    }
    const asked = {
      remarks: remarks.remarks.map((each) => ({ ...each, text: tools.scrub(each.text) })),
      unheard: remarks.unheard,
      checks: checks.map((each) => ({ ...each, name: tools.scrub(each.name), summary: tools.scrub(each.summary) })),
    };
    const passedOn =
      checks.length === 0 && stillFailed.length === known.length
        ? {}
        : {
            checksOf: commit,
            failed: [...new Set([...stillFailed, ...checks.map(keyOf)])].slice(0, MAX_FAILED),
          };
    return { kind: 'asked', asked, seen: { ...remarks.seen, ...passedOn } };
  };
}

function withoutUnread({ unread: _, ...seen }: SeenAtForge): SeenAtForge {
  return seen;
}

/** The forge may show a push of the run itself some time later. */
async function isOfOthers(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  { commit }: FollowInput,
  head: PullRequest['head'],
): Promise<boolean> {
  const { repository } = tools;
  const isOwn = (): Promise<boolean> => repository.isAncestor(project, head.commit, commit).catch(() => false);
  if (await isOwn()) return false;
  await fetchRemote(tools, context, project);
  return !(await isOwn());
}

/** A forge closes the pull requests of a base branch that is deleted. */
async function assertBase(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject & { readonly name: string },
  { number, base }: PullRequest,
): Promise<void> {
  await fetchRemote(tools, context, project);
  if ((await tools.repository.remoteHead(project, base.branch)) !== null) return;
  throw new NeedsHuman(
    'push_rejected',
    `Pull request ${number} is closed, since its base branch ${base.branch} is not in ${project.name} any more. Restore the branch and open the pull request again, then retry.`,
  );
}
