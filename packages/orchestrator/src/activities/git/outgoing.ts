/**
 * Scans everything that is about to be pushed for secrets that no person has accepted: all commits that the remote does not
 * have, with their messages and file names. If a secret was committed and removed again, one commit of the result is pushed
 * instead of the run's own commits.
 */
import { type ConcernItem, NeedsHuman, type RunView } from '@autonomous/shared';
import { digestOf, raisedOf } from '../../documents/concern-digests.ts';
import { LIMITS } from '../../foreign-text/limits.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import type { ScannedText, SecretFinding } from '../../secrets/secret-scan.ts';
import type { NewHistory, RemoteProject } from '../../repository/repository.ts';
import type { ActivityContext } from '../../core/activity.ts';
import { acceptedConcernsOf } from '../child-heads.ts';
import type { ActivityTools } from '../tools.ts';

export interface Outgoing {
  readonly project: RemoteProject;
  readonly runId: string;
  /** The run's branch. */
  readonly branch: string;
  readonly commit: string;
}

/** Contents that one task of the worker takes. */
const BATCH_BYTES = 16 * 2 ** 20;
const BATCH_TEXTS = 2_000;
const BATCH_MS = 30_000;
const LISTED = 100;

/**
 * The commit to push for this one: itself, or one that holds the same tree and none of the commits with secrets in them.
 * Repeated, it gives the same.
 * @throws {NeedsHuman} `secret_found` when the tree itself, or one of its names, holds something that looks like a secret
 */
export async function outgoingCommit(tools: ActivityTools, context: ActivityContext, out: Outgoing): Promise<string> {
  const { repository } = tools;
  const { project, branch, commit } = out;
  const view = await tools.view(out.runId);
  const history = await repository.newHistory(project, commit);
  const found = await findingsIn(tools, context, out, view, history);
  const entries = found.length === 0 ? [] : await repository.changes(project, view.baseCommit ?? commit, commit);
  const inResult = new Set(entries.flatMap(({ path, after }) => (after === null ? [] : [after.oid, path])));
  // The same content may lie elsewhere by now.
  const stays = found.filter(({ name, oid }) => inResult.has(oid ?? name));
  if (stays.length > 0) throw secretFound(tools, out, stays);
  const there = await repository.remoteHead(project, branch);
  const isReplaced =
    there !== null && (await isOurs(tools, out, there)) && !(await repository.isAncestor(project, there, commit));
  return found.length === 0 && !isReplaced ? commit : replacement(tools, context, out, view, there);
}

/**
 * Scans a commit on the base branch that is about to be pushed.
 * @param base its parent, which the remote has
 * @throws {NeedsHuman} `secret_found`
 */
export async function assertNoSecrets(
  tools: ActivityTools,
  context: ActivityContext,
  out: Outgoing,
  base: string,
): Promise<void> {
  const view = { ...(await tools.view(out.runId)), baseCommit: base };
  const history = await tools.repository.newHistory(out.project, out.commit);
  const found = await findingsIn(tools, context, out, view, history);
  if (found.length > 0) throw secretFound(tools, out, found);
}

type Found = SecretFinding & { readonly oid: string | null; readonly hash: string };

type Reading = Pick<ActivityTools, 'repository' | 'view'>;

/**
 * Scans what a commit leads to and neither the remote's branches nor its record do.
 * @param gathered made by `Repository.gather` of the run's commits and trees
 * @returns whether something in it looks like a secret and was accepted by no person
 */
export async function holdsSecrets(
  tools: Reading,
  project: RemoteProject,
  view: RunView,
  gathered: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { commits, blobs } = await tools.repository.newHistory(project, gathered, 'record');
  // Trees lie under their ids.
  const named = blobs.map((blob) => ({ ...blob, path: blob.path.replace(/^[0-9a-f]{40,64}\//, '') }));
  const paths = [...new Set(named.map(({ path }) => path))];
  const commit = view.headCommit ?? view.baseCommit ?? gathered;
  const found = await findingsIn(tools, { signal }, { project, commit }, view, { commits, paths, blobs: named });
  return found.length > 0;
}

/** Returns everything that looks like a secret, was not in the base, and was not accepted. */
async function findingsIn(
  tools: Reading,
  context: Pick<ActivityContext, 'signal'>,
  { project, commit }: Pick<Outgoing, 'project' | 'commit'>,
  view: RunView,
  history: NewHistory,
): Promise<readonly Found[]> {
  const names = history.paths.map((name): Named => ({ name, oid: null, bytes: 0 }));
  const messages = history.commits.map(({ id, message }) => ({ name: `message of commit ${id.slice(0, 8)}`, message }));
  const found = [
    ...(await scanned(tools, context, project, [
      ...names,
      ...history.blobs.map(({ path, ...blob }) => ({ name: path, ...blob })),
    ])),
    ...(
      await scanTexts(
        context,
        messages.map(({ name, message }) => ({ name, content: message })),
      )
    ).map((each) => ({
      ...each,
      oid: null,
    })),
  ];
  if (found.length === 0) return [];
  const before = await repositoryBefore(tools, context, project, view.baseCommit ?? commit, commit);
  const range = { baseCommit: view.baseCommit ?? commit, head: commit };
  const accepted = new Set(
    (await acceptedConcernsOf(tools, project, view.acceptedConcerns ?? [], range))
      .filter(({ kind }) => kind === 'secrets')
      .flatMap(({ items }) => items),
  );
  return (
    found
      .filter(({ digest }) => !before.has(digest))
      // A value that a person has accepted is so wherever it stands: the plan and the record repeat the request.
      .flatMap((each) => each.values.map((value) => ({ ...each, hash: digestOf(['secrets', value]) })))
      .filter(({ hash }) => !accepted.has(hash))
      .filter(
        ({ hash, oid }, index, all) => all.findIndex((other) => other.hash === hash && other.oid === oid) === index,
      )
  );
}

/** Digests of what the changed files had in them before the run. */
async function repositoryBefore(
  tools: Reading,
  context: Pick<ActivityContext, 'signal'>,
  project: RemoteProject,
  base: string,
  commit: string,
): Promise<ReadonlySet<string>> {
  const changes = await tools.repository.changes(project, base, commit);
  const before = changes.flatMap(({ path, before: state }) =>
    state === null ? [] : [{ name: path, oid: state.oid, bytes: 0 }],
  );
  return new Set((await scanned(tools, context, project, before)).map(({ digest }) => digest));
}

/**
 * Secrets in the commits that the remote does not have of a run, so that they are replaced in its record in any dress; too
 * large contents and those that take too long are left out.
 */
export async function committedSecrets(
  repository: ActivityTools['repository'],
  project: RemoteProject,
  branch: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const head = await repository.branchHead(project, branch);
  if (head === null) return [];
  const { blobs } = await repository.newHistory(project, head);
  const values = new Set<string>();
  for (const batch of batchesOf(blobs.map(({ path, ...blob }) => ({ name: path, ...blob })))) {
    const oids = batch.flatMap(({ oid }) => oid ?? []);
    const contents = await repository.readBlobs(project, oids, LIMITS.outgoing.fileBytes);
    const texts = [...contents.values()].map((content) => ({ name: '', content }));
    const answer = await readForeignText('findSecretValues', [texts], { maxMs: BATCH_MS, signal });
    for (const value of answer.ok ? answer.value : []) values.add(value);
  }
  return [...values];
}

interface Named {
  readonly name: string;
  /** `null`: the name alone. */
  readonly oid: string | null;
  readonly bytes: number;
}

async function scanned(
  { repository }: Reading,
  context: Pick<ActivityContext, 'signal'>,
  project: RemoteProject,
  all: readonly Named[],
): Promise<readonly Omit<Found, 'hash'>[]> {
  const found: Omit<Found, 'hash'>[] = [];
  for (const batch of batchesOf(all)) {
    context.signal.throwIfAborted();
    const contents = await repository.readBlobs(
      project,
      batch.flatMap(({ oid }) => oid ?? []),
      LIMITS.outgoing.fileBytes,
    );
    const texts = batch.map(({ name, oid }) => ({ name, content: oid === null ? '' : (contents.get(oid) ?? '') }));
    const oids = new Map(batch.map(({ name, oid }) => [name, oid]));
    for (const each of await scanTexts(context, texts)) {
      const oid = each.line === 0 ? null : (oids.get(each.name) ?? null);
      found.push({ ...each, oid });
    }
    for (const { name, oid } of batch)
      if (oid !== null && !contents.has(oid))
        found.push({ name, oid, line: 1, rule: 'too large to be looked through', digest: oid, values: [oid] });
  }
  return found;
}

/** Batches of a bounded size; no batch has a name twice, so that a finding tells its content. */
function batchesOf(all: readonly Named[]): readonly (readonly Named[])[] {
  const batches: Named[][] = [];
  let names = new Set<string>();
  let bytes = 0;
  for (const each of all) {
    if (batches.length === 0 || names.has(each.name) || names.size >= BATCH_TEXTS || bytes + each.bytes > BATCH_BYTES) {
      batches.push([]);
      names = new Set();
      bytes = 0;
    }
    batches.at(-1)?.push(each);
    names.add(each.name);
    bytes += each.bytes;
  }
  return batches;
}

/** Scans texts for secrets. Texts that take too long are scanned in halves; a single one that does is a finding. */
export async function scanTexts(
  context: Pick<ActivityContext, 'signal'>,
  texts: readonly ScannedText[],
): Promise<readonly SecretFinding[]> {
  if (texts.length === 0) return [];
  const { signal } = context;
  const answer = await readForeignText('scanForSecrets', [texts], { maxMs: BATCH_MS, signal });
  if (answer.ok) return answer.value;
  const [only, ...rest] = texts;
  if (only !== undefined && rest.length === 0) {
    const digest = digestOf(String(only.content));
    return [{ name: only.name, line: 1, rule: `not looked through: it ${answer.why}`, digest, values: [digest] }];
  }
  const half = Math.ceil(texts.length / 2);
  return [...(await scanTexts(context, texts.slice(0, half))), ...(await scanTexts(context, texts.slice(half)))];
}

function secretFound(tools: ActivityTools, { branch }: Outgoing, found: readonly Found[]): NeedsHuman {
  const items = found.slice(0, LISTED).map(({ name, line, rule, hash }): ConcernItem => ({
    // A name may itself be the secret.
    ...(line === 0 ? { reason: `${rule}, in the name of a file` } : { path: tools.scrub(name), line, reason: rule }),
    hash,
  }));
  const beyond = found.length - items.length;
  const concern = {
    kind: 'secrets' as const,
    title: `${found.length === 1 ? 'Something looks' : `${found.length} things look`} like a password or a key`,
    items: beyond > 0 ? [...items, { reason: `… and ${beyond} more, which are asked about after these` }] : items,
    hash: digestOf(found.map(({ hash }) => hash).sort()),
  };
  const where = items
    .slice(0, 5)
    .map(({ path, line, reason }) => (path === undefined ? reason : `${path}:${line} (${reason})`));
  return new NeedsHuman(
    'secret_found',
    `${concern.title}: ${where.join(', ')}${items.length > 5 ? ' …' : ''}. Nothing was pushed to ${branch}. Reject it to have it removed, accept it with a reason if it is not a secret, or cancel the run.`,
    { raised: raisedOf([concern]) },
  );
}

const outgoingBranch = (runId: string): string => `autonomous-outgoing/${runId}`;

/** Was a commit of the remote's branch put there in place of the run's own? */
async function isOurs({ repository }: ActivityTools, { project, runId }: Outgoing, there: string): Promise<boolean> {
  const ours = await repository.branchHead(project, outgoingBranch(runId));
  return ours !== null && repository.isAncestor(project, there, ours).catch(() => false);
}

/** One commit of the same tree on what is pushed already. */
async function replacement(
  { repository }: ActivityTools,
  context: ActivityContext,
  { project, runId, commit }: Outgoing,
  view: RunView,
  there: string | null,
): Promise<string> {
  const base = view.baseCommit ?? commit;
  const branch = outgoingBranch(runId);
  const parent = (await repository.branchHead(project, branch)) ?? there ?? base;
  const hasBase = await repository.isAncestor(project, base, parent);
  return repository.commit(project, {
    branch,
    tree: await repository.treeOf(project, commit),
    parent,
    ...(hasBase ? {} : { secondParent: base }),
    message: `Result of run ${runId}\n\nIn place of commits that are not published.`,
    effectKey: `${runId}/outgoing/${commit}`,
    at: context.startedAt,
  });
}
