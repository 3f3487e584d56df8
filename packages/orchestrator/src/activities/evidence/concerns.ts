/**
 * Determines the concerns that a person must accept before a run's result reaches the project's own branches. They are
 * computed from git and from the server's own records. The check is part of the activities, so that runs of every workflow
 * version pass it.
 */
import { areResult, type Concern, type ConcernItem, NeedsHuman, openConcerns, type RunView } from '@autonomous/shared';
import { digestOf, raisedOf } from '../../documents/concern-digests.ts';
import { LIMITS } from '../../foreign-text/limits.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { mayNameJudges } from '../../project-analysis/judge-names.ts';
import { ownedPaths } from '../../documents/owned-files.ts';
import type { SelfRunningChange, Surroundings } from '../../self-running/self-running.ts';
import type { BranchCommit, RemoteProject, TreeChange } from '../../repository/repository.ts';
import { readProjectConfig } from '../../run-config/project-config.ts';
import { acceptedConcernsOf, childTakenInBy, type MergedChild } from '../child-heads.ts';
import { type ChangedByChild, earlierTestsChanged } from './earlier-tests.ts';
import type { ActivityTools } from '../tools.ts';
import { notReviewed, reviewedDiff } from './reviewed-diff.ts';
import { concernOfRecord, concernsOfTests, latestEvidence } from './test-concerns.ts';

/** Commits whose difference is examined. */
interface Examined {
  readonly project: RemoteProject;
  readonly baseCommit: string;
  /** The commit under examination. */
  readonly head: string;
  /** Aborts the examination. */
  readonly signal?: AbortSignal | undefined;
}

/** A result as the guard examines it. */
export interface Result extends Examined {
  readonly view: RunView;
  /** File that the run's agents follow, such as its plan. Absent or `null`: there is none. */
  readonly followed?: string | null;
}

/** Changed code files that are read at once. */
const FILES_AT_ONCE = 20;
/** Of these, with their contents before and after. */
const READ_AT_ONCE = 4;
const READING_MS = 30_000;
/** Of all that is looked through: others wait for the worker. */
const READING_IN_ALL_MS = 120_000;
/** A person reads the list; the digest covers all of it. */
const LISTED = 200;

/** All concerns of a result that stop a run, those that a person has accepted included. */
export async function concernsOf(tools: ActivityTools, result: Result): Promise<readonly Concern[]> {
  const { project, baseCommit, head, view } = result;
  const owned = ownedPaths(project.ownedFiles);
  const all = await tools.repository.changes(project, baseCommit, head);
  const changes = all.filter(({ path }) => !isRecord(path, view.id) && !owned.has(path));
  const hasResult =
    view.ownedFiles !== undefined && areResult(view.ownedFiles) && all.some(({ path }) => owned.has(path));
  const codeTree = await tools.repository.codeTree(project, head);
  const evidence = latestEvidence(view.evidence, codeTree);
  const more = await patternsOf(tools, result);
  const taken = await takenIn(tools, result);
  const running = await codeThatRuns(tools, result, changes, more);
  const known = new Set(running.map(({ path, content }) => hashOfChange(path, content)));
  return [
    ...(hasResult ? [] : noChange(changes, baseCommit)),
    ...concernOfCode(tools, running),
    ...followedChanged(changes, result.followed ?? null),
    ...(await unreviewed(tools, result, changes, taken)),
    ...(view.rebuiltUpTo === undefined ? [] : concernOfRecord(view, codeTree, await tools.events(view.id))),
    ...concernsOfTests(view.baseline, evidence),
    ...(changes.length === 0 ? [] : await concernsOfChildren(tools, result, taken.children, { more, known, owned })),
    ...(await judgesNamed(tools, result, evidence, changes)),
  ];
}

/**
 * Lets a result pass whose concerns people have all accepted.
 * @throws {NeedsHuman} `review_needed` with the others
 */
export async function assertAccepted(tools: ActivityTools, result: Result): Promise<void> {
  const accepted = await acceptedConcernsOf(tools, result.project, result.view.acceptedConcerns ?? [], result);
  const open = openConcerns(await concernsOf(tools, result), accepted);
  if (open.length === 0) return;
  const titles = open.map(({ title }) => title).join('; ');
  throw new NeedsHuman(
    'review_needed',
    `The result needs a review before the run goes on: ${titles}. Accept it with a reason to continue, or cancel the run.`,
    { raised: raisedOf(open) },
  );
}

/** Plans, reports and records are the server's own; the rest of its folder is for people and agents. */
function isRecord(path: string, runId: string): boolean {
  return (
    path.startsWith(`.autonomous/runs/${runId}/`) ||
    path.startsWith('.autonomous/specs/') ||
    path === '.autonomous/memory.md'
  );
}

function noChange(
  changes: readonly TreeChange[],
  baseCommit: string,
  reason = 'Beside the plan and the record, the result is the base commit.',
): readonly Concern[] {
  if (changes.length > 0) return [];
  const hash = digestOf(['no_change', baseCommit]);
  return [{ kind: 'no_change', title: 'Nothing was changed', items: [{ reason }], hash }];
}

function followedChanged(changes: readonly TreeChange[], followed: string | null): readonly Concern[] {
  return changes
    .filter(({ path }) => path === followed)
    .map(({ path, after }) => {
      const hash = digestOf(['followed', path, after?.oid ?? null]);
      const what = after === null ? 'removed' : 'changed';
      const reason = `${what} by the run that carries it out, whose agents had it as it was; later runs would follow it as it is now`;
      return { kind: 'runs_code', title: `The plan itself was ${what}`, items: [{ path, reason, hash }], hash };
    });
}

/** The change of a child run is examined with the child, whose reviewer was shown it. The rest is examined here. */
async function unreviewed(
  { repository }: ActivityTools,
  { project, baseCommit, head }: Examined,
  changes: readonly TreeChange[],
  { children, others }: TakenIn,
): Promise<readonly Concern[]> {
  const ownPaths = new Set<string>();
  for (const { id, parents } of children.length === 0 ? [] : others)
    for (const { path } of await repository.changes(project, parents[0] ?? baseCommit, id)) ownPaths.add(path);
  const own = children.length === 0 ? changes : changes.filter(({ path }) => ownPaths.has(path));
  if (own.length === 0) return [];
  return notReviewed(await reviewedDiff(repository, project, baseCommit, head), own);
}

async function codeThatRuns(
  tools: ActivityTools,
  result: Examined,
  changes: readonly TreeChange[],
  more: readonly string[],
): Promise<readonly SelfRunningChange[]> {
  if (changes.length === 0) return [];
  return selfRunning(tools, result, changes, { more, links: await linksOf(tools, result) });
}

function concernOfCode(tools: ActivityTools, found: readonly SelfRunningChange[]): readonly Concern[] {
  if (found.length === 0) return [];
  const items = found.slice(0, LISTED).map(({ path, reason, content }) => ({
    path,
    reason: tools.scrub(reason),
    hash: hashOfChange(path, content),
  }));
  const hashes = found.map(({ path, content }) => hashOfChange(path, content));
  const paths = new Set(found.map(({ path }) => path)).size;
  const title = `${paths === 1 ? 'A changed file' : `${paths} changed files`} can run code by ${paths === 1 ? 'itself' : 'themselves'}`;
  const beyond = found.length - LISTED;
  const more = beyond > 0 ? [{ reason: `… and ${beyond} more: see the changes` }] : [];
  const hash = digestOf(['runs_code', hashes.sort()]);
  return [{ kind: 'runs_code', title, items: [...items, ...more], hash }];
}

function hashOfChange(path: string, content: string): string {
  return digestOf(['runs_code', path, content]);
}

/** Strangers write names and contents: the worker looks through them. What it cannot, is a change that can run code itself. */
export async function selfRunning(
  { repository }: Pick<ActivityTools, 'repository'>,
  { project, signal }: Pick<Examined, 'project' | 'signal'>,
  changes: readonly TreeChange[],
  surroundings: Surroundings,
): Promise<readonly SelfRunningChange[]> {
  const limits = { maxMs: READING_MS, signal };
  const listed = await readForeignText('withSelfRunningContent', [changes, surroundings], limits);
  if (!listed.ok) return changes.map((change) => unread(change, listed.why));
  const isRead = new Set(listed.value.map(({ path }) => path));
  const byName = changes.filter(({ path }) => !isRead.has(path));
  const named = await readForeignText('selfRunningChanges', [byName, new Map(), surroundings], limits);
  const found = [...(named.ok ? named.value : byName.map((change) => unread(change, named.why)))];
  const toRead = changes.filter(({ path }) => isRead.has(path));
  const started = performance.now();
  for (let at = 0; at < toRead.length; at += READ_AT_ONCE)
    found.push(...(await readThrough(toRead.slice(at, at + READ_AT_ONCE))));
  const order = new Map(changes.map(({ path }, index) => [path, index]));
  return found.sort((one, other) => (order.get(one.path) ?? 0) - (order.get(other.path) ?? 0));

  /** Reads files together. If that takes too long, it reads them one by one. */
  async function readThrough(files: readonly TreeChange[]): Promise<readonly SelfRunningChange[]> {
    if (performance.now() - started > READING_IN_ALL_MS)
      return files.map((file) =>
        unread(file, `comes after others that took ${READING_IN_ALL_MS / 1_000} seconds to read`),
      );
    const oids = files.flatMap(({ before, after }) => [before, after].flatMap((state) => state?.oid ?? []));
    const contents = await repository.readBlobs(project, [...new Set(oids)], LIMITS.changed.fileBytes);
    const answer = await readForeignText('selfRunningChanges', [files, contents, surroundings], limits);
    if (answer.ok) return answer.value;
    const [only, ...rest] = files;
    if (only !== undefined && rest.length === 0) return [unread(only, answer.why)];
    const each: SelfRunningChange[] = [];
    for (const file of files) each.push(...(await readThrough([file])));
    return each;
  }
}

function unread({ path, after }: TreeChange, why: string): SelfRunningChange {
  const reason = `cannot be looked through, and may run code by itself: it ${why}`;
  return { path, reason, content: after === null ? 'removed' : after.oid };
}

/** Of the base and of the result: a link that the run itself made leads to other files as well. */
async function linksOf(
  { repository }: ActivityTools,
  { project, baseCommit, head }: Examined,
): Promise<readonly (readonly [path: string, target: string])[]> {
  const [base, result] = await Promise.all([
    repository.symlinks(project, baseCommit),
    repository.symlinks(project, head),
  ]);
  return [...base, ...[...result].filter(([path, target]) => base.get(path) !== target)];
}

interface TakenIn {
  /** Child runs that are merged into the branch, the first one first. */
  readonly children: readonly MergedChild[];
  /** Commits of the branch that take in no child run. */
  readonly others: readonly BranchCommit[];
}

async function takenIn(tools: ActivityTools, { project, baseCommit, head }: Examined): Promise<TakenIn> {
  const children: MergedChild[] = [];
  const others: BranchCommit[] = [];
  const newestFirst = await tools.repository.commitsBetween(project, baseCommit, head);
  for (const commit of newestFirst.toReversed()) {
    const child = await childTakenInBy(tools, project, commit);
    if (child === null) others.push(commit);
    else children.push(child);
  }
  return { children, others };
}

interface KnownOfResult {
  /** Patterns of the whole result. */
  readonly more: readonly string[];
  /** Hashes of the changes that can run code and that the result as a whole shows. */
  readonly known: ReadonlySet<string>;
  readonly owned: { readonly has: (path: string) => boolean };
}

/**
 * Concerns about child runs that are merged into the result, which the result as a whole does not show: a child that changed
 * nothing, changes that can run code and that later ones hide, changes that its reviewer was not shown, tests that fell in it,
 * and tests of an earlier child that it changed. The base commit of the result does not have the tests of an earlier child.
 */
async function concernsOfChildren(
  tools: ActivityTools,
  { project, signal }: Examined,
  children: readonly MergedChild[],
  result: KnownOfResult,
): Promise<readonly Concern[]> {
  const found: Concern[] = [];
  const changed: ChangedByChild[] = [];
  for (const child of children) {
    const { runId, baseCommit, head } = child;
    const examined = { project, baseCommit, head, signal };
    const view = await tools.view(runId);
    const all = (await tools.repository.changes(project, baseCommit, head)).filter(
      ({ path }) => !isRecord(path, runId),
    );
    const changes = all.filter(({ path }) => !result.owned.has(path));
    const name = child.request.slice(0, 80).replaceAll(/\s+/g, ' ');
    changed.push({ name, changes });
    const taken = await takenIn(tools, examined);
    const running = (await codeThatRuns(tools, examined, changes, result.more)).filter(
      ({ path, content }) => !result.known.has(hashOfChange(path, content)),
    );
    const undone = running.map((change) => ({
      ...change,
      reason: `${change.reason}; the result as a whole does not show it`,
    }));
    const own = [
      ...noChange(all, baseCommit, 'It left everything as it found it, beside the plan and the record.'),
      ...concernOfCode(tools, undone),
      ...(await unreviewed(tools, examined, changes, taken)),
      ...concernsOfTests(view.baseline, latestEvidence(view.evidence, view.codeTree)).filter(
        ({ kind }) => kind === 'tests_fell',
      ),
    ];
    const named = (item: ConcernItem): ConcernItem => ({ ...item, reason: `${name}: ${item.reason}` });
    found.push(...own.map((concern) => ({ ...concern, items: concern.items.map(named) })));
    found.push(...(await concernsOfChildren(tools, examined, taken.children, result)));
  }
  return [...found, ...earlierTestsChanged(changed)];
}

/**
 * Changed code that is no test and newly names the test runner, its assertions or a way to what is built in. Nothing is said
 * without evidence, and nothing where a person has accepted checks that failed.
 */
async function judgesNamed(
  tools: ActivityTools,
  result: Result,
  evidence: RunView['evidence'],
  all: readonly TreeChange[],
): Promise<readonly Concern[]> {
  if (evidence.length === 0 || evidence.some(({ passed }) => !passed)) return [];
  // The check with the base's tests ran without the result's version of the restored files.
  const putBack = new Set(evidence.find(({ mode }) => mode === 'base_tests')?.restored);
  // Deleted files are compared as well: a file that was moved names nothing new.
  const changes = all.filter(
    ({ path, before, after }) => mayNameJudges(path) && !putBack.has(path) && before?.oid !== after?.oid,
  );
  const gone = changes.filter(({ after }) => after === null);
  const there = changes.filter(({ after }) => after !== null);
  const items: ConcernItem[] = [];
  for (let from = 0; from < there.length; from += FILES_AT_ONCE)
    items.push(...(await namedBy(tools, result, there.slice(from, from + FILES_AT_ONCE), gone)));
  if (items.length === 0) return [];
  const one = items.length === 1;
  return [
    {
      kind: 'tests_unknown',
      title: `${one ? 'A changed file that is no test uses' : `${items.length} changed files that are no tests use`} the test runner, or a way to change it`,
      items:
        items.length <= LISTED
          ? items
          : [...items.slice(0, LISTED), { reason: `… and ${items.length - LISTED} more: see the changes` }],
      hash: digestOf(['names_judges', items.map(({ hash = '' }) => hash).sort()]),
    },
  ];
}

async function namedBy(
  tools: ActivityTools,
  { project, signal }: Result,
  there: readonly TreeChange[],
  gone: readonly TreeChange[],
): Promise<readonly ConcernItem[]> {
  const names = new Set(there.map(({ path }) => path.slice(path.lastIndexOf('/') + 1)));
  const moved = gone.filter(({ path }) => names.has(path.slice(path.lastIndexOf('/') + 1)));
  const changes = [...there, ...moved.slice(0, FILES_AT_ONCE)];
  const oids = changes.flatMap(({ before, after }) => [before, after].flatMap((state) => state?.oid ?? []));
  const blobs = await tools.repository.readBlobs(project, [...new Set(oids)], LIMITS.changed.fileBytes);
  const textOf = (state: TreeChange['after']) =>
    state === null ? null : (blobs.get(state.oid)?.toString('utf8') ?? '');
  const compared = changes.map(({ path, before, after }) => ({ path, before: textOf(before), after: textOf(after) }));
  const read = await readForeignText('judgesNewlyNamed', [compared], { maxMs: READING_MS, signal });
  const oidOf = new Map(there.map(({ path, after }) => [path, after?.oid ?? null]));
  const item = (path: string, reason: string): ConcernItem => ({
    path,
    reason: tools.scrub(reason),
    hash: digestOf(['names_judges', path, oidOf.get(path) ?? null]),
  });
  const unknown = 'may name what judges the tests, and cannot be looked through: it';
  if (!read.ok) return there.map(({ path }) => item(path, `${unknown} ${read.why}`));
  const tooLong = there.filter(({ after }) => after !== null && after.mode !== '160000' && !blobs.has(after.oid));
  return [
    ...read.value.map((each) => item(each.path, reasonOf(each.names))),
    ...tooLong.map(({ path }) => item(path, `${unknown} has more than ${LIMITS.changed.fileBytes / 2 ** 20} MB`)),
  ];
}

function reasonOf(names: readonly string[]): string {
  const more = names.length > 4 ? ` and ${names.length - 4} more` : '';
  return `newly names ${names.slice(0, 4).join(', ')}${more}: code under test can change what judges it`;
}

/** Patterns that the server and the project's configuration at the run's base add to the table. */
async function patternsOf(tools: ActivityTools, { project, baseCommit }: Result): Promise<readonly string[]> {
  const { config } = await readProjectConfig(tools.repository, project, baseCommit);
  return [...tools.reviewPaths, ...(config?.reviewPaths ?? [])];
}
