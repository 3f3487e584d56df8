/**
 * The guard before a run's first move into the project's own branches: what a person has to see of the result, computed from git
 * and from what the server recorded. It stands in the activities, so that runs of every version of a workflow pass it.
 */
import { type Concern, type ConcernItem, NeedsHuman, openConcerns, type RunView } from '@autonomous/shared';
import { digestOf, raisedOf } from '../artifacts/concern-digests.ts';
import { readForeignText } from '../artifacts/foreign-text.ts';
import { mayNameJudges } from '../artifacts/judge-names.ts';
import { hasSelfRunningContent, selfRunningChanges } from '../artifacts/self-running.ts';
import type { RemoteProject, TreeChange } from '../repository/repository.ts';
import { parseProjectConfig } from '../workflow/run-config.ts';
import type { BuildTools } from './build-tools.ts';
import { concernsOfTests } from './test-concerns.ts';

/** What a result is to the guard. */
export interface Result {
  readonly project: RemoteProject;
  readonly view: RunView;
  readonly baseCommit: string;
  /** The commit that is looked at. */
  readonly head: string;
}

/** Of a manifest or lockfile that is looked through. */
const MAX_READ_BYTES = 8 * 2 ** 20;
/** Changed files that are looked through at once. */
const FILES_AT_ONCE = 200;
/** A person reads the list; the digest covers all of it. */
const LISTED = 200;

/** All concerns of a result that stop a run, those that a person has accepted included. */
export async function concernsOf(tools: BuildTools, result: Result): Promise<readonly Concern[]> {
  const { project, baseCommit, head, view } = result;
  const changes = (await tools.repository.changes(project, baseCommit, head)).filter(
    ({ path }) => !isRecord(path, view.id),
  );
  return [
    ...noChange(changes, baseCommit),
    ...(await codeThatRuns(tools, result, changes)),
    ...concernsOfTests(view.baseline, latestEvidence(view)),
    ...(await judgesNamed(tools, result, changes)),
  ];
}

/**
 * Lets a result pass whose concerns people have all accepted.
 * @throws {NeedsHuman} `review_needed` with the others
 */
export async function assertAccepted(tools: BuildTools, result: Result): Promise<void> {
  const open = openConcerns(await concernsOf(tools, result), result.view.acceptedConcerns ?? []);
  if (open.length === 0) return;
  const titles = open.map(({ title }) => title).join('; ');
  throw new NeedsHuman(
    'review_needed',
    `The result needs a look before it goes into ${result.view.config.git.baseBranch}: ${titles}. Accept it with a reason to go on, or cancel the run.`,
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

function noChange(changes: readonly TreeChange[], baseCommit: string): readonly Concern[] {
  if (changes.length > 0) return [];
  const hash = digestOf(['no_change', baseCommit]);
  const reason = 'Beside the plan and the record, the result is the base commit.';
  return [{ kind: 'no_change', title: 'Nothing was changed', items: [{ reason }], hash }];
}

async function codeThatRuns(
  tools: BuildTools,
  { project, baseCommit }: Result,
  changes: readonly TreeChange[],
): Promise<readonly Concern[]> {
  const oids = changes
    .filter(({ path }) => hasSelfRunningContent(path))
    .flatMap(({ before, after }) => [before, after].flatMap((state) => state?.oid ?? []));
  const [blobs, more] = await Promise.all([
    tools.repository.readBlobs(project, [...new Set(oids)], MAX_READ_BYTES),
    patternsOf(tools, project, baseCommit),
  ]);
  const texts = new Map([...blobs].map(([oid, content]) => [oid, content.toString('utf8')]));
  const found = selfRunningChanges(changes, texts, more);
  if (found.length === 0) return [];
  const items = found.map(({ path, reason, content }) => ({
    path,
    reason: tools.scrub(reason),
    hash: digestOf(['runs_code', path, content]),
  }));
  const paths = new Set(found.map(({ path }) => path)).size;
  const title = `${paths === 1 ? 'A changed file' : `${paths} changed files`} can run code by ${paths === 1 ? 'itself' : 'themselves'}`;
  const beyond = items.length - LISTED;
  const more_ = beyond > 0 ? [{ reason: `… and ${beyond} more: see the changes` }] : [];
  const hash = digestOf(['runs_code', items.map((item) => item.hash).sort()]);
  return [{ kind: 'runs_code', title, items: [...items.slice(0, LISTED), ...more_], hash }];
}

/**
 * Changed code that is no test and newly names the test runner, its assertions or a way to what is built in. Nothing is said
 * without evidence, and nothing where a person has accepted checks that failed.
 */
async function judgesNamed(
  tools: BuildTools,
  { project, view }: Result,
  all: readonly TreeChange[],
): Promise<readonly Concern[]> {
  const evidence = latestEvidence(view);
  if (evidence.length === 0 || evidence.some(({ passed }) => !passed)) return [];
  // What was put back for the checks with the base's tests was not there for the code under test.
  const putBack = new Set(evidence.find(({ mode }) => mode === 'base_tests')?.restored);
  // What is gone is looked at as well: a file that was moved names nothing new.
  const changes = all.filter(
    ({ path, before, after }) => mayNameJudges(path) && !putBack.has(path) && before?.oid !== after?.oid,
  );
  const gone = changes.filter(({ after }) => after === null);
  const there = changes.filter(({ after }) => after !== null);
  const items: ConcernItem[] = [];
  for (let from = 0; from < there.length; from += FILES_AT_ONCE)
    items.push(...(await namedBy(tools, project, [...there.slice(from, from + FILES_AT_ONCE), ...gone])));
  if (items.length === 0) return [];
  const one = items.length === 1;
  return [
    {
      kind: 'tests_unknown',
      title: `${one ? 'A changed file that is no test uses' : `${items.length} changed files that are no tests use`} the test runner, or a way to change it`,
      items: items.slice(0, LISTED),
      hash: digestOf(['names_judges', items.map(({ hash = '' }) => hash).sort()]),
    },
  ];
}

async function namedBy(
  tools: BuildTools,
  project: RemoteProject,
  changes: readonly TreeChange[],
): Promise<readonly ConcernItem[]> {
  const oids = changes.flatMap(({ before, after }) => [before, after].flatMap((state) => state?.oid ?? []));
  const blobs = await tools.repository.readBlobs(project, [...new Set(oids)], MAX_READ_BYTES);
  const textOf = (state: TreeChange['after']) =>
    state === null ? null : (blobs.get(state.oid)?.toString('utf8') ?? '');
  const compared = changes.map(({ path, before, after }) => ({ path, before: textOf(before), after: textOf(after) }));
  const read = await readForeignText('judgesNewlyNamed', [compared]);
  const item = (path: string, reason: string): ConcernItem => ({
    path,
    reason: tools.scrub(reason),
    hash: digestOf(['names_judges', path, changes.find((change) => change.path === path)?.after?.oid]),
  });
  if (!read.ok)
    return changes.map(({ path }) => item(path, `what it names is not known: the changed code ${read.why}`));
  const unread = changes.filter(({ after }) => after !== null && !blobs.has(after.oid) && !isSubmodule(after.mode));
  return [
    ...read.value.map(({ path, names }) => item(path, reasonOf(names))),
    ...unread.map(({ path }) => item(path, `what it names is not known: it has more than ${MAX_READ_BYTES} bytes`)),
  ];
}

function reasonOf(names: readonly string[]): string {
  const more = names.length > 4 ? ` and ${names.length - 4} more` : '';
  return `newly names ${names.slice(0, 4).join(', ')}${more}: code under test can change what judges it`;
}

function isSubmodule(mode: string): boolean {
  return mode === '160000';
}

/** What the server and the project's configuration at the run's base add to the table. */
async function patternsOf(tools: BuildTools, project: RemoteProject, baseCommit: string): Promise<readonly string[]> {
  const text = await tools.repository.readFile(project, baseCommit, '.autonomous/config.json');
  const parsed = text === null ? null : parseProjectConfig(text);
  return [...tools.reviewPaths, ...(parsed?.ok ? (parsed.config.reviewPaths ?? []) : [])];
}

/** The latest evidence of each mode for the present code. */
function latestEvidence({ evidence, codeTree }: RunView): RunView['evidence'] {
  const ofTree = evidence.filter((each) => each.codeTree === codeTree);
  return (['as_is', 'base_tests'] as const).flatMap((mode) => ofTree.findLast((each) => each.mode === mode) ?? []);
}
