/**
 * Commits engine-owned files: the server applies a pure update to their latest text and pushes it to the base branch by
 * compare-and-swap. Where the base moved meanwhile, the update is applied to the new text, so that nobody's edit is lost. Where
 * the base refuses the push, the files are committed to the run's branch from then on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NeedsHuman, type OwnedFiles, type RunView, TerminalFailure } from '@autonomous/shared';
import { findInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { hashOf } from '../../documents/content-hash.ts';
import { folded } from '../../path-rules/folded-path.ts';
import { ownedPaths, writingFault } from '../../documents/owned-files.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { CONFIG_PATH, readProjectConfig } from '../../run-config/project-config.ts';
import { OWNED } from '../child-heads.ts';
import { commitOnBranch, committedBefore } from './commits.ts';
import { assertNoSecrets } from './outgoing.ts';
import { fetchRemote, pushRemote, remoteBranchHead } from './remote.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';

export type CommitOwnedInput = RunHeader & {
  /** Head of the run's branch. */
  readonly head: string;
  readonly baseBranch: string;
  /** The files are committed to the base or not at all: the run's branch is in it already. Absent: the branch takes what it refuses. */
  readonly isMerged?: true;
  /** The files are committed to the run's branch from now on; the reason is to be read after "because". Absent: to the base, as long as it takes them. */
  readonly branchOnly?: string;
  /** The files are committed to the base, after some for which `branchOnly` was given. Absent: they stay on the branch from those on. */
  readonly toBaseAgain?: true;
};

/** A change of engine-owned files. */
export interface OwnedUpdate {
  /** First line of the commit message. */
  readonly message: string;
  /**
   * New text by path, from the latest text and the branch that it is of; `null` stands for no file. The functions must be pure: they
   * are called again for each state of the branch. One that reads much text of others does so in the worker (`in-worker.ts`). A path must
   * be one that the run's workflow declares.
   */
  readonly files: Readonly<
    Record<string, (text: string | null, to: OwnedFiles['to']) => string | null | Promise<string | null>>
  >;
  /** Files that are no text, by path: whole. Default: none. */
  readonly bytes?: Readonly<Record<string, Uint8Array>>;
}

export type OwnedCommitted = {
  /** Branch that has the files. */
  readonly to: OwnedFiles['to'];
  /** Name of that branch. */
  readonly branch: string;
  /** The commit, which is the new head of the run's branch where it got it; `null`: the update changed nothing. */
  readonly commit: string | null;
  /** Paths that the commit changes. */
  readonly paths: readonly string[];
  /** Why the files are not committed to the base. Absent: they are. */
  readonly why?: string;
  readonly refused?: true;
};

/** Times that the base may move before a person is asked, and longest wait in milliseconds before the second try; it grows with each. */
const MAX_TRIES = 12;
const WAIT_MS = 50;

/**
 * An activity that commits engine-owned files. Repeated, it makes no second commit.
 * @param update pure; may throw `NeedsHuman` where a person has to decide
 * @param place `branch`: the files belong to the run's result, and are committed to its branch alone. Default: the base
 */
export function commitOwnedFiles<Input extends CommitOwnedInput>(
  tools: ActivityTools,
  update: (input: Input) => OwnedUpdate,
  place: OwnedFiles['to'] = 'base',
): Activity<Input, OwnedCommitted> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<OwnedCommitted> {
      const { runId, branch, head } = input;
      const project = await tools.project(input.projectId, runId);
      const view = await tools.view(runId);
      const wanted = update(input);
      refuseForeign(view, pathsOf(wanted));
      const effect = { ...context, key: `${runId}/${OWNED}/${context.key.slice(runId.length + 1)}` };
      const commit: OwnedCommit = { tools, context: effect, project, view, input, wanted };
      if (place === 'branch') return toBranch(commit, {});
      if (input.branchOnly !== undefined) return toBranch(commit, { why: input.branchOnly });
      const before = await committedBefore(tools, effect, { project, branch, head });
      const { to = 'base', why = `${input.baseBranch} refused an earlier push`, refused } = view.ownedFiles ?? {};
      if ((to === 'branch' && input.toBaseAgain !== true) || before !== null)
        return toBranch(commit, { why, ...(to === 'base' || refused ? { refused: true } : {}) });
      return toBase(commit);
    },
  };
}

const pathsOf = ({ files, bytes = {} }: OwnedUpdate): readonly string[] => [
  ...Object.keys(files),
  ...Object.keys(bytes),
];

interface OwnedCommit {
  readonly tools: ActivityTools;
  /** With the key of the effect. */
  readonly context: ActivityContext;
  readonly project: RemoteProject;
  readonly view: RunView;
  readonly input: CommitOwnedInput;
  readonly wanted: OwnedUpdate;
}

/** @throws {TerminalFailure} for a path that the run's workflow does not declare, or that may not be owned */
function refuseForeign({ id, workflow, ownedFiles }: RunView, paths: readonly string[]): void {
  const declared = ownedFiles?.paths ?? [];
  const owned = ownedPaths(declared);
  for (const path of paths) {
    if (!owned.has(path))
      throw new TerminalFailure(
        `Run ${id} would commit ${path}, which workflow '${workflow.name}' does not own (${declared.join(', ') || 'it owns nothing'}). Declare it in ownedFiles.`,
      );
    const fault = writingFault(path);
    if (fault !== null) throw new TerminalFailure(`Run ${id} would commit ${path}: ${fault}. Choose another path.`);
  }
}

/** @throws {NeedsHuman} `push_rejected` when the base keeps moving; as a push does, except for a refusal */
async function toBase(commit: OwnedCommit): Promise<OwnedCommitted> {
  const { tools, context, project, view, input, wanted } = commit;
  const { repository } = tools;
  const { runId, baseBranch } = input;
  const attempts = branchOfAttempts(context);
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    await fetchRemote(tools, context, project);
    const base = await remoteBranchHead(tools, project, baseBranch);
    const done = { to: 'base', branch: baseBranch, paths: pathsOf(wanted) } as const;
    const earlier = await repository.branchHead(project, attempts);
    const known = await committedIn(commit, earlier, base);
    if (known !== null) return { ...done, commit: known };
    const asked = await askedForBranch(commit, base);
    if (asked !== null) return toBranch(commit, { why: asked });
    const { tree, paths } = await updated(commit, base, 'base');
    if (paths.length === 0) return { ...done, commit: null, paths };
    const made = await repository.commit(project, {
      branch: attempts,
      tree,
      parent: base,
      ...(earlier === null ? {} : { replaces: earlier }),
      message: messageOf(commit),
      effectKey: context.key,
      at: context.startedAt,
    });
    await assertNoSecrets(tools, context, { project, runId, branch: baseBranch, commit: made }, base);
    try {
      const pushed = await pushRemote(tools, context, project, baseBranch, made, base);
      if (pushed.ok) return { ...done, commit: made, paths };
    } catch (error) {
      if (!(error instanceof NeedsHuman) || error.reason !== 'push_rejected') throw error;
      if (input.isMerged) throw refusedAfterMerge(error, input, Object.keys(wanted.files));
      const why = `${baseBranch} refused a push of run ${view.id} (${error.message.slice(0, 400)})`;
      return toBranch(commit, { why, refused: true });
    }
    // Runs that were overtaken together must not come back together.
    await sleep(WAIT_MS * tries * Math.random(), undefined, { signal: context.signal });
  }
  throw new NeedsHuman(
    'push_rejected',
    `${baseBranch} moved ${MAX_TRIES} times while ${pathsOf(wanted).join(', ')} was being committed to it. Nothing was pushed; retry when fewer pushes arrive there.`,
  );
}

/** A commit on the run's branch would reach nobody. */
function refusedAfterMerge(error: NeedsHuman, { baseBranch }: CommitOwnedInput, paths: readonly string[]): NeedsHuman {
  return new NeedsHuman(
    'push_rejected',
    `The result is merged into ${baseBranch}; ${paths.join(', ')} there does not say so yet. ${error.message}. If you cancel the run, the result stays merged.`,
    { cause: error },
  );
}

/** Branch of the mirror with the latest attempt at an effect: its own for each, since an earlier one counts as done. */
function branchOfAttempts({ runId, key }: ActivityContext): string {
  const name = key.slice(`${runId}/${OWNED}/`.length).replace('/', '-');
  return `autonomous-owned/${runId}-${/^[\dA-Za-z-]{1,80}$/.test(name) ? name : hashOf(key).slice(0, 32)}`;
}

/** The commit of an earlier attempt that is in the base, also where its outcome was never stored. */
async function committedIn(
  { tools: { repository }, context, project, view }: OwnedCommit,
  earlier: string | null,
  base: string,
): Promise<string | null> {
  if (earlier !== null && (await repository.isAncestor(project, earlier, base))) return earlier;
  const commits = await repository.commitsBetween(project, view.baseCommit ?? base, base);
  return commits.find(({ effectKey }) => effectKey === context.key)?.id ?? null;
}

/** Why the project's configuration wants the files on the run's branch; `null` where it does not. */
async function askedForBranch({ tools, project }: OwnedCommit, base: string): Promise<string | null> {
  const { config } = await readProjectConfig(tools.repository, project, base);
  return config?.git?.ownedFiles === 'branch' ? OWNED_BY_CONFIGURATION : null;
}

/** Reason to be read after "because". */
export const OWNED_BY_CONFIGURATION = `git.ownedFiles in ${CONFIG_PATH} is "branch"`;

async function toBranch(commit: OwnedCommit, reason: Pick<OwnedCommitted, 'why' | 'refused'>): Promise<OwnedCommitted> {
  const { tools, context, project, input } = commit;
  const { branch, head } = input;
  const { tree, paths } = await updated(commit, head, 'branch');
  const done = { to: 'branch', branch, paths, ...reason } as const;
  if (paths.length === 0) return { ...done, commit: null };
  const made = await commitOnBranch(tools, context, { project, branch, head, tree, message: messageOf(commit) });
  return { ...done, commit: made };
}

function messageOf({ tools, input, wanted }: OwnedCommit): string {
  return `${tools.scrub(wanted.message)}\n\nRun: ${input.runId}`;
}

/** The tree of a commit with the update applied to it, and the paths that differ. */
async function updated(
  { tools, project, wanted }: OwnedCommit,
  commit: string,
  to: OwnedFiles['to'],
): Promise<{ readonly tree: string; readonly paths: readonly string[] }> {
  const { repository } = tools;
  const changed: Record<string, string | Uint8Array | null> = { ...wanted.bytes };
  for (const [path, update] of Object.entries(wanted.files)) {
    const text = await repository.readFile(project, commit, path);
    if (text?.includes('\uFFFD'))
      throw new NeedsHuman(
        'merge_conflict',
        `${path} at commit ${commit} is not UTF-8 text, so that an update would damage it. Convert it, then retry.`,
      );
    const updatedText: unknown = await update(text, to);
    if (updatedText !== null && typeof updatedText !== 'string')
      throw new TerminalFailure(
        `The update of ${path} gave ${typeof updatedText}: its function has to return a text or null. Correct the workflow.`,
      );
    const next = withoutSecrets(tools, text, updatedText);
    if (next !== text) changed[path] = next;
  }
  const tree = await repository.treeOf(project, commit);
  const paths = Object.keys(changed);
  if (paths.length === 0) return { tree, paths };
  const made = await repository.writeFiles(project, tree, changed);
  await assertOnly(tools, project, { commit, tree, made }, paths);
  return { tree: made, paths };
}

/**
 * Asserts that a commit of owned files takes the place of nothing else.
 * @throws {NeedsHuman} `merge_conflict`
 */
async function assertOnly(
  { repository }: ActivityTools,
  project: RemoteProject,
  { commit, tree, made }: { readonly commit: string; readonly tree: string; readonly made: string },
  paths: readonly string[],
): Promise<void> {
  const [changes = []] = await repository.changesOfTrees(project, [[tree, made]]);
  const kinds: Readonly<Record<string, string>> = { '120000': 'symlink', '160000': 'submodule' };
  for (const { path, before } of changes) {
    const kind = paths.includes(path) ? kinds[before?.mode ?? ''] : undefined;
    if (kind !== undefined)
      throw new NeedsHuman(
        'merge_conflict',
        `${path} at commit ${commit} is a ${kind}, which a commit of this engine-owned file would replace. Put a file there, then retry.`,
      );
  }
  const removed = changes.find(({ path }) => !paths.includes(path))?.path;
  const added = changes.filter(({ before }) => before === null).map(({ path }) => path);
  const inTheWay =
    removed ?? (added.length === 0 ? undefined : await otherSpelling(added, await repository.listFiles(project, tree)));
  if (inTheWay === undefined) return;
  throw new NeedsHuman(
    'merge_conflict',
    `${inTheWay} at commit ${commit} is in the way of ${paths.join(', ')}: the two cannot be in one checkout. Rename it, then retry; or cancel the run.`,
  );
}

/** A file that some file system takes for one that is added. */
function otherSpelling(added: readonly string[], files: readonly string[]): Promise<string | undefined> {
  const names = new Set(added.map(folded));
  return findInSlices(files, (file) => names.has(folded(file)) && !added.includes(file));
}

/** Removes secrets from an update, which comes from agents in part. An update of a text that contained secrets before is not changed. */
function withoutSecrets(tools: ActivityTools, text: string | null, next: string | null): string | null {
  if (next === null || (text !== null && tools.scrub(text) !== text)) return next;
  return tools.scrub(next);
}
