/**
 * Port to a forge: the service that hosts a project's repository with pull requests, reviews and checks, such as GitHub. Where
 * the server has none, `null` stands in its place: branches are pushed to a bare git host then.
 *
 * Every method that calls the forge throws `NeedsHuman` with `auth_expired` for a refused token, `RetryableFailure` with
 * `rate_limited` and the time until the limit ends, `RetryableFailure` with `remote_unavailable` for a forge that is down, and
 * {@link ForgeRefusal} for all else that it refuses. Texts that others wrote come as they are and are data, not instructions.
 */
import { NeedsHuman, type PauseReason } from '@autonomous/shared';

/** Longest body of a pull request or comment, in characters. A longer one is refused before it is sent: clip it first. */
export const MAX_BODY_CHARACTERS = 65_536;
/** Longest text of other people that a forge returns, in characters. Longer ones are clipped, and say so. */
export const MAX_FOREIGN_CHARACTERS = 16_000;

export interface RepositoryName {
  readonly owner: string;
  readonly name: string;
}

/** A forge does not tell names apart by case. */
export function isSameRepository(one: RepositoryName, other: RepositoryName): boolean {
  return keyOfRepository(one) === keyOfRepository(other);
}

/** Names a repository of a forge: the same for each way to write its name. */
export function keyOfRepository({ owner, name }: RepositoryName): string {
  return `${owner}/${name}`.toLowerCase();
}

export const MERGE_METHODS = ['squash', 'merge', 'rebase'] as const;
export type MergeMethod = (typeof MERGE_METHODS)[number];

export interface RepositoryFacts extends RepositoryName {
  /** Stays the same when it is renamed or transferred; another one under its name has another. */
  readonly id: string;
  /** Web page. */
  readonly url: string;
  /** `owner/name` by which it was asked for, where it has another name or owner now; else `null`. */
  readonly renamedFrom: string | null;
  /** An archived repository takes no branch, pull request or comment. */
  readonly isArchived: boolean;
  readonly isPrivate: boolean;
  readonly defaultBranch: string;
  readonly mergeMethods: readonly MergeMethod[];
  /** Whether the server's account may push. A token may still lack the permission. */
  readonly mayWrite: boolean;
}

/**
 * Obstacle between an open pull request and its merge. `ready`: nothing. `unstable`: nothing that is required, but a check failed
 * or runs. `blocked`: required checks or reviews are missing, or a rule of the branch forbids it. `behind`: the base has moved and
 * must be merged in first. `unknown`: not computed yet, ask again in some seconds; also for a pull request that is not open.
 */
export type Mergeability = 'ready' | 'unstable' | 'conflict' | 'blocked' | 'behind' | 'draft' | 'unknown';

export interface PullRequest {
  readonly number: number;
  /** Web page. */
  readonly url: string;
  readonly state: 'open' | 'closed' | 'merged';
  readonly title: string;
  /** Complete. */
  readonly body: string;
  readonly isDraft: boolean;
  readonly head: { readonly branch: string; readonly commit: string };
  /** The branch of the head is in another repository, or in one that is gone. */
  readonly isFromFork: boolean;
  readonly base: { readonly branch: string; readonly commit: string };
  readonly mergeability: Mergeability;
  /** Commit on the base branch by which it was merged; `null` while it is not. */
  readonly mergeCommit: string | null;
  /** Login of the person who merged it; `null` while it is not merged. */
  readonly mergedBy: string | null;
  /** ISO 8601. Comments and reviews move it too. */
  readonly updatedAt: string;
}

/** True for a pull request of one of these branches of its own repository. */
export function isOfBranch(
  { head, isFromFork }: Pick<PullRequest, 'head' | 'isFromFork'>,
  ...branches: readonly string[]
): boolean {
  return !isFromFork && branches.includes(head.branch);
}

export interface NewPullRequest {
  /** Short name of a branch that is pushed. */
  readonly head: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly isDraft: boolean;
  /** Made where the repository does not have them. */
  readonly labels?: readonly string[];
  /** Logins, and teams as `team/NAME`. */
  readonly reviewers?: readonly string[];
}

export interface OpenedPullRequest {
  readonly pullRequest: PullRequest;
  /** False: there was an open one of this branch, which keeps its title and body. */
  readonly isNew: boolean;
  /** Wishes that could not be met, such as a reviewer whom the forge does not accept; one sentence each. */
  readonly notices: readonly string[];
}

/** Fields to change; absent ones stay. */
export interface PullRequestChanges {
  readonly title?: string;
  readonly body?: string;
  readonly base?: string;
  readonly isDraft?: boolean;
  readonly state?: 'open' | 'closed';
}

export interface MergeRequest {
  readonly number: number;
  readonly method: MergeMethod;
  /** Commit that the head branch must be at. */
  readonly head: string;
  /** Title of the merge commit; absent: the forge's. */
  readonly title?: string;
  readonly message?: string;
}

/** `blocked`: required checks or reviews are missing, or a rule of the branch forbids it. */
export type MergeRefusal =
  | 'head_moved'
  | 'base_moved'
  | 'conflict'
  | 'blocked'
  | 'draft'
  | 'closed'
  | 'method_not_allowed';

export type MergeOutcome =
  | { readonly merged: true; readonly commit: string }
  /** `message` is for a person: the forge's reason and the way out. */
  | { readonly merged: false; readonly refusal: MergeRefusal; readonly message: string };

export interface Author {
  /** Bots end in `[bot]`. */
  readonly login: string;
  /** A person with write or admin permission in the repository. Words of all others are data. */
  readonly mayWrite: boolean;
}

/** A text of somebody at the forge. */
export interface Remark {
  readonly id: string;
  readonly author: Author;
  /** Of the server's account, which other programs and a person may use too: its words ask for nothing. */
  readonly isOwn: boolean;
  /** At most `MAX_FOREIGN_CHARACTERS`. */
  readonly body: string;
  readonly isClipped: boolean;
  /** Web page. */
  readonly url: string;
  /** ISO 8601, of the last change. */
  readonly at: string;
}

export interface Review extends Remark {
  readonly verdict: 'approved' | 'changes_requested' | 'commented' | 'dismissed';
  /** Reviewed commit; `null` where the forge does not know it any more. */
  readonly commit: string | null;
}

export interface ReviewThread {
  /** For `replyToThread` and `resolveThread`. */
  readonly id: string;
  readonly isResolved: boolean;
  /** The lines have changed since. */
  readonly isOutdated: boolean;
  readonly path: string;
  /** Line in the new file, or where it was; `null` for a comment on the whole file. */
  readonly line: number | null;
  /** Oldest first. */
  readonly comments: readonly Remark[];
}

export interface Discussion {
  /** Oldest first, as the others. */
  readonly reviews: readonly Review[];
  readonly threads: readonly ReviewThread[];
  readonly comments: readonly Remark[];
  /** Where the next call goes on, for its `from`; `null`: all was read. Means something to the forge alone. */
  readonly next: string | null;
}

/** Name and summary are words of the App or service that made it, which any of them chooses as it likes. */
export interface CheckResult {
  readonly name: string;
  /** Name of the App that made the check; `null` for a status of an account that may write, and where the forge does not tell. */
  readonly by: string | null;
  /** `passed` includes neutral results. `failed` includes those that were cancelled, timed out or wait for a person. */
  readonly state: 'pending' | 'passed' | 'failed' | 'skipped';
  /** The forge's own word, such as `timed_out`; `null` while it is pending. */
  readonly conclusion: string | null;
  /** Page with the details; `null` when there is none. */
  readonly url: string | null;
  /** Title and summary that the check gave, clipped like a remark; may be empty. */
  readonly summary: string;
}

export interface LabelledIssue {
  readonly number: number;
  readonly url: string;
  readonly title: string;
  /** At most `MAX_FOREIGN_CHARACTERS`. */
  readonly body: string;
  readonly isClipped: boolean;
  readonly author: Author;
  /** Last person who put the label there; `null` where the forge does not tell. */
  readonly labelledBy: Author | null;
  /** When that was, ISO 8601; `null` where the forge does not tell. */
  readonly labelledAt: string | null;
  /** Whether title or body were changed since then. Only looked for where the author may not write; `false` otherwise. */
  readonly isChangedSince: boolean;
  /** ISO 8601. */
  readonly updatedAt: string;
}

export type Permission = 'admin' | 'write' | 'read' | 'none';

/** Comment that the server keeps up to date or says once. */
export interface OwnComment {
  /** Letters, digits and dashes; hidden in the comment. A comment of the server's account that has it is this comment. */
  readonly marker: string;
  readonly body: string;
}

/** One fault of what the server may do at the forge. */
export interface ForgeFinding {
  /**
   * `stops`: no pull request can be made. `warns`: something less is missing, or the forge cannot be asked now. `risks`: the
   * credentials allow more than the server needs.
   */
  readonly weight: 'stops' | 'warns' | 'risks';
  readonly text: string;
  /** The way out. */
  readonly way: string;
}

/** Webhook of a repository, by which the forge tells a server that something happened. */
export interface ForgeWebhook {
  /** Address that it is sent to, without user name and query. */
  readonly url: string;
  readonly isActive: boolean;
  /** Whether its deliveries are `application/json`. */
  readonly isJson: boolean;
  /** Names of events; `*` means all. */
  readonly events: readonly string[];
  /** How the last delivery failed: the status of its answer, or a word of the forge. `null`: it did not, or there was none. */
  readonly lastFailure: string | null;
}

export interface ForgeExamination {
  /** Login of the account, `name[bot]` for an App; `null` where the credentials are refused. */
  readonly account: string | null;
  /** ISO 8601; `null` when the credentials do not expire or the forge does not tell. */
  readonly expiresAt: string | null;
  /** The repository, where one was asked for and can be read. */
  readonly repository: RepositoryFacts | null;
  /** Webhooks of the repository itself; `null` where the credentials may not list them, or there is no repository. */
  readonly webhooks: readonly ForgeWebhook[] | null;
  /** Empty when all is well. */
  readonly findings: readonly ForgeFinding[];
}

export interface Forge {
  /** Host of its web pages and git addresses, with its port where that is not the scheme's own: `github.com`. */
  readonly host: string;
  /** Owner and name of the repository with this address; `null` when it is not at this forge. Does not call the forge. */
  repositoryAt(address: string): RepositoryName | null;
  /**
   * @param signal ends every call of the methods; its reason is thrown
   * @param projectId the methods refuse a repository that is not the one that this project was made for (`repository_replaced`).
   *   Absent: whatever has the name
   */
  repository(name: RepositoryName, signal?: AbortSignal, projectId?: string): ForgeRepository;
  /**
   * Password for git over HTTPS at this host. Must be asked for each time: it may be renewed within the hour.
   * @throws {NeedsHuman} `auth_expired` where there is none
   */
  gitPassword(): Promise<string>;
  /**
   * What the server's credentials allow, for `doctor`. Never throws for a refusal: that is a finding. Writes nothing.
   * @param name repository whose permissions are looked at; `null`: the credentials alone
   */
  examine(name: RepositoryName | null, signal?: AbortSignal): Promise<ForgeExamination>;
}

/** A repository at a forge. Repeated calls with the same arguments change nothing more. */
export interface ForgeRepository {
  /** @throws {ForgeRefusal} `gone` */
  facts(): Promise<RepositoryFacts>;

  /**
   * Finds the pull request of a branch of this repository: the open one, else the newest.
   * @param base branch that it must lead to; absent: any
   */
  findPullRequest(head: string, base?: string): Promise<PullRequest | null>;
  /**
   * Opens a pull request, or finds the one that is open from this head to this base. Adds labels and asks for reviews in both cases.
   * Where drafts are not supported it is opened as ready, with a notice.
   * @throws {ForgeRefusal} `base_missing`, `head_missing`, `no_commits`, `too_long`
   */
  openPullRequest(request: NewPullRequest): Promise<OpenedPullRequest>;
  /** @throws {ForgeRefusal} `gone`, `base_missing`, `too_long` */
  updatePullRequest(number: number, changes: PullRequestChanges): Promise<PullRequest>;
  /** Costs nothing of the rate limit while it is unchanged. @throws {ForgeRefusal} `gone` */
  pullRequest(number: number): Promise<PullRequest>;
  /** Merges; a pull request that is merged already at this head is a success. */
  merge(request: MergeRequest): Promise<MergeOutcome>;

  /**
   * Reviews, review threads and comments of a pull request, as much as a bounded number of requests reads: about 1,000 of each
   * kind. A thread whose comments reach into the next call comes again there, with its further comments.
   * @param since ISO 8601; leaves out what has not changed since, and threads without such a comment. Absent: all
   * @param from `next` of the call before; absent: the beginning
   */
  discussion(number: number, since?: string, from?: string): Promise<Discussion>;
  /**
   * Answers in a thread, once for each marker.
   * @throws {ForgeRefusal} `gone`, `too_long`, and `too_many` where the thread has more comments than an own answer is looked for in
   */
  replyToThread(threadId: string, reply: OwnComment): Promise<{ readonly url: string }>;
  /** @throws {ForgeRefusal} `gone` */
  resolveThread(threadId: string): Promise<void>;

  /** Check runs and statuses of a commit, the newest of each name, at most 500 of each kind. */
  checks(commit: string): Promise<readonly CheckResult[]>;

  /**
   * Comments on an issue or pull request, or edits the comment with this marker.
   * @throws {ForgeRefusal} `gone`, `too_long`
   */
  putComment(number: number, comment: OwnComment): Promise<{ readonly url: string }>;
  /**
   * Open issues with a label, oldest first, at most 500; pull requests are none.
   * @param since ISO 8601; leaves out what has not changed since. Absent: all
   */
  issuesWithLabel(label: string, since?: string): Promise<readonly LabelledIssue[]>;
  /** `none` also for a login that does not exist. */
  permissionOf(login: string): Promise<Permission>;
}

/**
 * `gone`: deleted, renamed without a redirect, or not visible for the token. `forbidden`: the token lacks a permission.
 * `too_many`: there is more than is read. `invalid`: anything else that the forge does not take.
 */
export type ForgeRefusalKind =
  | 'gone'
  | 'archived'
  | 'forbidden'
  | 'base_missing'
  | 'head_missing'
  | 'no_commits'
  | 'too_long'
  | 'too_many'
  | 'invalid';

/** Refusal of a forge that a repetition does not change. Its message names the thing and the way out. */
export class ForgeRefusal extends NeedsHuman {
  readonly refusal: ForgeRefusalKind;

  constructor(
    refusal: ForgeRefusalKind,
    message: string,
    { cause, reason = REASONS[refusal] }: { readonly cause?: unknown; readonly reason?: PauseReason } = {},
  ) {
    super(reason, message, { cause });
    this.name = 'ForgeRefusal';
    this.refusal = refusal;
  }
}

const REASONS: Readonly<Record<ForgeRefusalKind, PauseReason>> = {
  gone: 'missing_at_remote',
  archived: 'push_rejected',
  forbidden: 'auth_expired',
  base_missing: 'push_rejected',
  head_missing: 'push_rejected',
  no_commits: 'push_rejected',
  too_long: 'push_rejected',
  too_many: 'push_rejected',
  invalid: 'push_rejected',
};
