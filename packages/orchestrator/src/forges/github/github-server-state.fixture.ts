/** State of the GitHub of tests: repositories with real bare git, pull requests, issues, reviews, checks and accounts. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeBareRemote } from '../../repository/git-fixture.fixture.ts';

export type Level = 'admin' | 'write' | 'read' | 'none';

export interface Token {
  readonly login: string;
  /** Scopes of a classic token; `null` for a fine-grained one and for installations. */
  readonly scopes?: readonly string[] | null;
  /** Permissions of a fine-grained token or installation; absent: all. */
  readonly permissions?: Readonly<Record<string, 'read' | 'write'>>;
  /** ISO 8601. */
  readonly expiresAt?: string;
}

export interface App {
  readonly id: number;
  readonly slug: string;
  /** PEM. */
  readonly publicKey: string;
  readonly installationId: number;
  readonly permissions: Readonly<Record<string, 'read' | 'write'>>;
  isSuspended?: boolean;
}

/** A comment on an issue or pull request, or within a review thread. */
export interface Comment {
  readonly id: number;
  readonly login: string;
  body: string;
  readonly createdAt: string;
  updatedAt: string;
}

export interface Thread {
  readonly id: number;
  readonly path: string;
  readonly line: number | null;
  isResolved: boolean;
  isOutdated: boolean;
  readonly comments: Comment[];
}

export interface Review extends Comment {
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED' | 'PENDING';
  readonly commit: string;
}

/** Issue events as `GET …/events` lists them. */
export interface IssueEvent {
  readonly id: number;
  readonly event: string;
  readonly login: string;
  readonly label?: string;
  readonly at: string;
}

export interface Issue {
  readonly number: number;
  readonly login: string;
  title: string;
  body: string;
  state: 'open' | 'closed';
  readonly labels: Set<string>;
  readonly comments: Comment[];
  readonly events: IssueEvent[];
  readonly createdAt: string;
  updatedAt: string;
  /** Last change of the body; `null`: none. */
  editedAt: string | null;
  readonly pull: Pull | null;
}

export interface Pull {
  readonly head: string;
  base: string;
  isDraft: boolean;
  /** Newest known commit of the head branch. */
  headCommit: string;
  baseCommit: string;
  readonly reviews: Review[];
  readonly threads: Thread[];
  readonly reviewers: Set<string>;
  merged: { readonly commit: string; readonly login: string; readonly at: string } | null;
}

export interface CheckRun {
  readonly id: number;
  readonly name: string;
  readonly commit: string;
  status: string;
  conclusion: string | null;
  title: string | null;
  summary: string | null;
  readonly detailsUrl: string | null;
  /** Slug of the App; here the login of the account. */
  readonly app: string;
}

export interface Status {
  readonly commit: string;
  readonly context: string;
  readonly state: 'error' | 'failure' | 'pending' | 'success';
  readonly description: string | null;
  readonly url: string | null;
}

/** Rules of the base branch; merges by the API must meet them. */
export interface Protection {
  readonly checks?: readonly string[];
  readonly approvals?: number;
  /** The base must be merged into the head. */
  readonly isStrict?: boolean;
}

/** Contents and rights of a new repository. */
export interface RepositoryOptions {
  readonly isPrivate?: boolean;
  /** Its bare repository lies in its folder already, and is taken as it is. */
  readonly isThere?: boolean;
  readonly files?: Readonly<Record<string, string>>;
  readonly collaborators?: Readonly<Record<string, Level>>;
}

let lastId = 1_000;
export function nextId(): number {
  lastId += 1;
  return lastId;
}

export function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}

export class StandInRepository {
  readonly id = nextId();
  owner: string;
  name: string;
  readonly isPrivate: boolean;
  isArchived = false;
  hasIssues = true;
  hasDrafts = true;
  readonly defaultBranch = 'main';
  readonly methods = { squash: true, merge: true, rebase: true };
  readonly collaborators: Map<string, Level>;
  readonly issues = new Map<number, Issue>();
  readonly checkRuns: CheckRun[] = [];
  readonly statuses: Status[] = [];
  readonly protections = new Map<string, Protection>();
  readonly #root: string;

  constructor(root: string, owner: string, name: string, options: RepositoryOptions) {
    this.#root = root;
    this.owner = owner;
    this.name = name;
    this.isPrivate = options.isPrivate ?? false;
    this.collaborators = new Map(Object.entries(options.collaborators ?? {}));
    if (options.isThere !== true) makeBareRemote(this.folder, options.files);
    const hook = join(this.folder, 'hooks', 'update');
    mkdirSync(join(this.folder, 'hooks'), { recursive: true });
    writeFileSync(hook, UPDATE_HOOK);
    chmodSync(hook, 0o755);
    writeFileSync(join(this.folder, 'protected'), '');
    this.git('config', 'http.receivepack', 'true');
  }

  get fullName(): string {
    return `${this.owner}/${this.name}`;
  }

  /** Bare repository. */
  get folder(): string {
    return join(this.#root, this.owner, `${this.name}.git`);
  }

  /** Pushes to the branch are refused, and merges must meet the rules. */
  protect(branch: string, rules: Protection): void {
    this.protections.set(branch, rules);
    writeFileSync(
      join(this.folder, 'protected'),
      [...this.protections.keys()].map((each) => `refs/heads/${each}\n`).join(''),
    );
  }

  levelOf(login: string): Level {
    if (login === this.owner) return 'admin';
    return this.collaborators.get(login) ?? (this.isPrivate ? 'none' : 'read');
  }

  /** @throws when git fails */
  git(...args: string[]): string {
    const env = {
      PATH: process.env['PATH'],
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'GitHub',
      GIT_AUTHOR_EMAIL: 'noreply@github.com',
      GIT_COMMITTER_NAME: 'GitHub',
      GIT_COMMITTER_EMAIL: 'noreply@github.com',
    };
    return execFileSync('git', args, {
      cwd: this.folder,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trimEnd();
  }

  /** `null` when git refuses. */
  tryGit(...args: string[]): string | null {
    try {
      return this.git(...args);
    } catch {
      return null;
    }
  }

  headOf(branch: string): string | null {
    // Each request asks for heads: a process each would be most of what the stand-in costs.
    const file = join(this.folder, 'refs', 'heads', branch);
    const head = statSync(file, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(file, 'utf8').trim() : '';
    if (/^[0-9a-f]{40}$/.test(head)) return head;
    return this.tryGit('rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`);
  }

  addIssue(fields: Pick<Issue, 'login' | 'title' | 'body'>, pull: Pull | null = null): Issue {
    const at = now();
    const issue: Issue = {
      number: this.issues.size + 1,
      ...fields,
      state: 'open',
      labels: new Set(),
      comments: [],
      events: [],
      createdAt: at,
      updatedAt: at,
      editedAt: null,
      pull,
    };
    this.issues.set(issue.number, issue);
    return issue;
  }

  /** Brings a pull request to what its branches are now; one without a branch is closed. */
  refresh(issue: Issue): void {
    const { pull } = issue;
    if (pull === null || pull.merged !== null || issue.state === 'closed') return;
    const [head, base] = [this.headOf(pull.head), this.headOf(pull.base)];
    if (head === null || base === null) issue.state = 'closed';
    if (head !== null && head !== pull.headCommit) {
      pull.headCommit = head;
      for (const thread of pull.threads) thread.isOutdated = true;
      issue.updatedAt = now();
    }
    if (base !== null) pull.baseCommit = base;
  }

  /** Tree of the merge; `null` for a conflict. */
  mergedTree({ baseCommit, headCommit }: Pull): string | null {
    return this.tryGit('merge-tree', '--write-tree', baseCommit, headCommit)?.split('\n')[0] ?? null;
  }

  /** Rules of the base branch that are not met, in GitHub's words. */
  unmetRules(pull: Pull): readonly string[] {
    const rules = this.protections.get(pull.base);
    const approvals = [...newestVerdicts(pull)].filter(
      ([login, state]) => state === 'APPROVED' && ['admin', 'write'].includes(this.levelOf(login)),
    );
    const missing = (rules?.approvals ?? 0) - approvals.length;
    return [
      ...(rules?.checks ?? []).flatMap((name) => {
        const state = this.stateOfCheck(pull.headCommit, name);
        if (state === 'success') return [];
        return state === null || state === 'pending'
          ? [`Required status check "${name}" is expected.`]
          : [`Required status check "${name}" is failing.`];
      }),
      ...(missing > 0
        ? [`At least ${rules?.approvals} approving review is required by reviewers with write access.`]
        : []),
    ];
  }

  isBehind({ base, baseCommit, headCommit }: Pull): boolean {
    if (this.protections.get(base)?.isStrict !== true) return false;
    return this.tryGit('merge-base', '--is-ancestor', baseCommit, headCommit) === null;
  }

  /** `null` when the commit has no such check. */
  stateOfCheck(commit: string, name: string): string | null {
    const run = this.checkRuns.findLast((each) => each.commit === commit && each.name === name);
    if (run !== undefined) return run.status === 'completed' ? (run.conclusion ?? 'failure') : 'pending';
    return this.statuses.findLast((each) => each.commit === commit && each.context === name)?.state ?? null;
  }

  namesOfChecks(commit: string): readonly string[] {
    const runs = this.checkRuns.filter((each) => each.commit === commit).map(({ name }) => name);
    return [
      ...new Set([...runs, ...this.statuses.filter((each) => each.commit === commit).map(({ context }) => context)]),
    ];
  }

  /** Merges in the bare repository. @returns the commit that the base branch is at afterwards */
  merge(
    issue: Issue,
    pull: Pull,
    tree: string,
    method: 'squash' | 'merge' | 'rebase',
    message: string,
    login: string,
  ): string {
    const { baseCommit, headCommit } = pull;
    const commit =
      method === 'squash'
        ? this.git('commit-tree', tree, '-p', baseCommit, '-m', message)
        : method === 'merge'
          ? this.git('commit-tree', tree, '-p', baseCommit, '-p', headCommit, '-m', message)
          : this.#rebase(pull);
    this.git('update-ref', `refs/heads/${pull.base}`, commit, baseCommit);
    pull.merged = { commit, login, at: now() };
    issue.state = 'closed';
    issue.updatedAt = now();
    return commit;
  }

  #rebase({ baseCommit, headCommit }: Pull): string {
    let tip = baseCommit;
    const commits = this.git('rev-list', '--reverse', '--no-merges', `${baseCommit}..${headCommit}`).split('\n');
    for (const commit of commits) {
      // A commit with the tree of the tip on the parent of the one to move, since older git cannot be told a merge base.
      const aside = this.git('commit-tree', `${tip}^{tree}`, '-p', `${commit}^`, '-m', 'aside');
      const tree = this.git('merge-tree', '--write-tree', aside, commit).split('\n')[0] ?? '';
      tip = this.git('commit-tree', tree, '-p', tip, '-m', this.git('log', '-1', '--format=%B', commit));
    }
    return tip;
  }
}

export function newestVerdicts({ reviews }: Pull): ReadonlyMap<string, Review['state']> {
  const verdicts = new Map<string, Review['state']>();
  for (const { login, state } of reviews) if (state !== 'COMMENTED' && state !== 'PENDING') verdicts.set(login, state);
  return verdicts;
}

/** Refuses pushes to protected branches as GitHub does; the stand-in itself moves them without hooks. */
const UPDATE_HOOK = `#!/bin/sh
if grep -qxF "$1" protected; then
  echo "error: GH006: Protected branch update failed for $1." >&2
  exit 1
fi
`;
