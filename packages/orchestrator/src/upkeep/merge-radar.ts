/**
 * Merge radar: finds out while runs work which of them will conflict when they are merged, with each other or with their base
 * branch, and in which files. It follows the engine's messages and compares in the background, one git process of a project at
 * a time; a run never waits for it. Its findings follow from git, so they are not stored: they are computed again after a start.
 *
 * Compared are all pairs of live runs of a project that have commits, and each such run with its base branch as last fetched.
 * Within a run family:
 * - Variants of an exploration, a run and its forks, and the child runs of different ones of these are not compared: a person
 *   keeps one of them.
 * - Child runs of one parent are compared, and each child run with its parent: the parent's branch is the base of its children,
 *   and moves on with each child that is merged. A child run is not compared with the runs above its parent, but with the base
 *   branch of the topmost one.
 */
import {
  allOwnedPaths,
  type ForeseenConflict,
  type ForeseenConflictFilter,
  type RunView,
  treeOf,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import { isFinal } from '../core/advance.ts';
import type { EventStore, RunHead } from '../event-store/event-store.ts';
import type { RemoteProject, Repository } from '../repository/repository.ts';
import type { EngineMessage } from '../engine/step-feed.ts';

export interface MergeRadarOptions {
  readonly store: Pick<EventStore, 'listOpenRuns' | 'loadView' | 'getProject'>;
  readonly repository: Pick<Repository, 'remoteHead' | 'branchHead' | 'findConflicts'>;
  readonly log: Logger;
}

/** Runs of a project that are compared; of more, those with the newest commits. */
const MOST_RUNS = 50;
/** Pairs that one git process compares. Newer commits are seen between two of them. */
const PAIRS_AT_ONCE = 25;
const MOST_FILES = 20;
/** Of all paths of one conflict together. */
const MOST_CHARACTERS = 4_000;
/** Ends of work that may have made commits, or fetched or pushed the base branch. */
const ENDS_OF_WORK: ReadonlySet<string> = new Set(['ACTIVITY_COMPLETED', 'ACTIVITY_FAILED']);

/** Part of a live run's view that comparisons need. */
interface LiveRun {
  readonly id: string;
  readonly family: string;
  readonly parentId: string | null;
  readonly branch: string;
  readonly baseBranch: string;
  readonly baseCommit: string | null;
  /** As its events say; its branch may be further. */
  readonly toldHead: string | null;
  /** `null`: it has changed nothing yet, or is merged. */
  readonly head: string | null;
  /** Grows with each new head of any run. */
  readonly headOrder: number;
  readonly ownedFiles: readonly string[];
}

interface Pair {
  /** The same for as long as both sides exist. */
  readonly id: string;
  readonly run: LiveRun;
  readonly other: LiveRun | { readonly base: string };
  readonly commits: readonly [string, string];
  readonly ownedFiles: readonly string[];
}

/** Conflicts of a pair, and the commits that they were found for. */
interface Finding {
  readonly of: string;
  readonly files: readonly string[];
  readonly fileCount: number;
}

/** All conflicts of a run from now on. */
export interface RunConflicts {
  readonly runId: string;
  readonly conflicts: readonly ForeseenConflict[];
}

interface RadarProject {
  readonly runs: Map<string, LiveRun>;
  /** By the pair's id. While newer commits are compared, those of the older ones count. */
  readonly findings: Map<string, Finding>;
  /** Ids of pairs that git could not compare the last time. */
  readonly incomparable: Set<string>;
  /** As told to listeners; without runs that have none. */
  told: ReadonlyMap<string, readonly ForeseenConflict[]>;
  /** Runs whose branches may have moved since they were read. */
  readonly moved: Set<string>;
  /** Something has changed since the branches were read. */
  isAsked: boolean;
  work: Promise<void> | null;
}

export class MergeRadar {
  readonly #options: MergeRadarOptions;
  readonly #projects = new Map<string, RadarProject>();
  readonly #listeners = new Set<(change: RunConflicts) => void>();
  readonly #stopping = new AbortController();
  /** Runs that ended while those of earlier processes are read; `null` after that. */
  #endedEarly: Set<string> | null = new Set();
  #heads = 0;
  #changes = 0;

  constructor(options: MergeRadarOptions) {
    this.#options = options;
  }

  /** Number that grows with each change of the findings; 0: nothing was found in this process. */
  get revision(): number {
    return this.#changes;
  }

  /** Finds the runs that were live before this process began. */
  async start(): Promise<void> {
    const { store, log } = this.#options;
    try {
      const open = (await store.listOpenRuns()).filter(({ projectId }) => projectId !== '');
      for (const [projectId, heads] of Map.groupBy(open, (head) => head.projectId)) {
        // Most of those in the queue have not begun.
        const isQueued = ({ status }: RunHead): number => Number(status === 'queued');
        const newest = heads.toSorted(
          (one, other) => isQueued(other) - isQueued(one) || compare(one.updatedAt, other.updatedAt),
        );
        for (const { id } of newest.slice(-MOST_RUNS)) await this.#recall(id);
        this.#ask(projectId);
      }
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      log.warn(
        { err: error },
        'the live runs could not be read; conflicts are foreseen for runs that work from now on',
      );
    } finally {
      this.#endedEarly = null;
    }
  }

  /** Ends the git processes and waits for them. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the merge radar is stopped'));
    for (const { work } of this.#projects.values()) await work;
  }

  /** Must be called with every message that the engine publishes. */
  receive(message: EngineMessage): void {
    if (!('view' in message) || message.view.projectId === '') return;
    const { view, events } = message;
    if (isFinal(view.status)) this.#endedEarly?.add(view.id);
    const hasWorked = events.some(({ type }) => ENDS_OF_WORK.has(type));
    if (this.#note(view, hasWorked) || hasWorked) this.#ask(view.projectId);
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: (change: RunConflicts) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  conflicts({ projectId, runId }: ForeseenConflictFilter = {}): readonly ForeseenConflict[] {
    const projects = [...this.#projects].filter(([id]) => projectId === undefined || id === projectId);
    return projects.flatMap(([, { told }]) =>
      runId === undefined ? [...told.values()].flat() : (told.get(runId) ?? []),
    );
  }

  async #recall(runId: string): Promise<void> {
    const view = await this.#options.store.loadView(runId);
    if (view === null || this.#endedEarly?.has(runId) === true) return;
    // Of a run that has sent a message meanwhile more is known.
    if (this.#projects.get(view.projectId)?.runs.has(runId) !== true) this.#note(view, true);
  }

  /** @returns whether there is something to compare again */
  #note(view: RunView, hasWorked: boolean): boolean {
    const project = this.#projectOf(view.projectId);
    const before = project.runs.get(view.id);
    if (isFinal(view.status)) return project.runs.delete(view.id);
    const toldHead = view.merged === undefined && view.branch !== '' ? (view.headCommit ?? null) : null;
    const isNewHead = toldHead !== (before?.toldHead ?? null);
    project.runs.set(view.id, {
      id: view.id,
      family: treeOf(view),
      parentId: view.parent?.runId ?? null,
      branch: view.branch,
      baseBranch: view.config.git.baseBranch,
      baseCommit: view.baseCommit ?? null,
      toldHead,
      head: before?.head ?? null,
      headOrder: before?.headOrder ?? 0,
      ownedFiles: allOwnedPaths(view.ownedFiles),
    });
    if (isNewHead) this.#setHead(project, view.id, toldHead);
    if (view.merged === undefined && view.branch !== '' && (isNewHead || hasWorked)) project.moved.add(view.id);
    return isNewHead;
  }

  #setHead({ runs }: RadarProject, runId: string, commit: string | null): void {
    const run = runs.get(runId);
    const head = commit === run?.baseCommit ? null : commit;
    if (run === undefined || run.head === head) return;
    this.#heads += 1;
    runs.set(runId, { ...run, head, headOrder: this.#heads });
  }

  #projectOf(id: string): RadarProject {
    const known = this.#projects.get(id);
    if (known !== undefined) return known;
    const made: RadarProject = {
      runs: new Map(),
      findings: new Map(),
      incomparable: new Set(),
      told: new Map(),
      moved: new Set(),
      isAsked: false,
      work: null,
    };
    this.#projects.set(id, made);
    return made;
  }

  #ask(projectId: string): void {
    const project = this.#projectOf(projectId);
    project.isAsked = true;
    if (project.work !== null || this.#stopping.signal.aborted) return;
    project.work = this.#work(projectId, project)
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        this.#options.log.warn(
          { err: error, projectId },
          'the runs of a project could not be compared; it is tried again when one of them has a new commit',
        );
      })
      .finally(() => {
        project.work = null;
        if (project.runs.size === 0 && this.#projects.get(projectId) === project) this.#projects.delete(projectId);
        else if (project.isAsked) this.#ask(projectId);
      });
  }

  /** Compares until there is nothing new: between two processes the newest commits of all runs are taken. */
  async #work(projectId: string, project: RadarProject): Promise<void> {
    let bases: ReadonlyMap<string, string> = new Map();
    let stored: RemoteProject | null = null;
    while (!this.#stopping.signal.aborted) {
      if (project.isAsked) {
        project.isAsked = false;
        stored = await this.#options.store.getProject(projectId);
        if (stored !== null) await this.#readHeads(stored, project);
        bases = stored === null ? new Map() : await this.#headsOfBases(stored, project);
      }
      const pairs = pairsOf(project, bases);
      this.#tell(projectId, project, pairs);
      const [first, ...others] = pairs.filter((pair) => project.findings.get(pair.id)?.of !== keyOf(pair));
      if (stored !== null && first !== undefined) {
        const alike = others.filter((pair) => String(pair.ownedFiles) === String(first.ownedFiles));
        await this.#compare(stored, project, [first, ...alike.slice(0, PAIRS_AT_ONCE - 1)]);
      } else if (!project.isAsked) return;
    }
  }

  /** Takes the heads of branches that may have moved: an agent's checkpoint and a merged child run are in no event. */
  async #readHeads(stored: RemoteProject, project: RadarProject): Promise<void> {
    for (const runId of project.moved) {
      // Before it is read, since it may move meanwhile.
      project.moved.delete(runId);
      const run = project.runs.get(runId);
      if (run === undefined) continue;
      const head = await this.#options.repository.branchHead(stored, run.branch).catch((error: unknown) => {
        project.moved.add(runId);
        throw error;
      });
      // It may have told of a merge meanwhile.
      const now = project.runs.get(runId);
      if (head !== null && now?.toldHead === run.toldHead) this.#setHead(project, runId, head);
    }
  }

  async #headsOfBases(stored: RemoteProject, project: RadarProject): Promise<ReadonlyMap<string, string>> {
    const heads = new Map<string, string>();
    const branches = new Set(candidatesOf(project).map((run) => baseOf(project, run)));
    for (const branch of branches) {
      if (branch === null) continue;
      const head = await this.#options.repository.remoteHead(stored, branch);
      if (head !== null) heads.set(branch, head);
    }
    return heads;
  }

  /** @param pairs with the same engine-owned files */
  async #compare(stored: RemoteProject, project: RadarProject, pairs: readonly Pair[]): Promise<void> {
    const { repository, log } = this.#options;
    const ownedFiles = pairs[0]?.ownedFiles ?? [];
    const found = await repository.findConflicts(
      { ...stored, ownedFiles },
      pairs.map(({ commits }) => commits),
      this.#stopping.signal,
    );
    for (const [index, pair] of pairs.entries()) {
      const files = found[index] ?? [];
      project.findings.set(pair.id, { of: keyOf(pair), files: firstOf(files), fileCount: files.length });
    }
    // Each new commit of a run is compared: the same pair is told once, until it can be compared again.
    const known = new Set(project.incomparable);
    for (const [index, { id }] of pairs.entries()) {
      if (found[index] === null) project.incomparable.add(id);
      else project.incomparable.delete(id);
    }
    const fresh = [...project.incomparable].filter((id) => !known.has(id));
    if (fresh.length > 0)
      log.warn(
        { projectId: stored.id, pairs: fresh.length },
        'some runs of a project could not be compared: the mirror lacks a commit, or git cannot merge them',
      );
  }

  /** Tells listeners of each run whose conflicts are others than before. */
  #tell(projectId: string, project: RadarProject, pairs: readonly Pair[]): void {
    const ids = new Set(pairs.map(({ id }) => id));
    for (const id of project.findings.keys()) if (!ids.has(id)) project.findings.delete(id);
    for (const id of project.incomparable) if (!ids.has(id)) project.incomparable.delete(id);
    const now = Map.groupBy(
      pairs.flatMap((pair) => conflictsOf(projectId, project, pair)),
      ({ runId }) => runId,
    );
    const before = project.told;
    project.told = now;
    for (const runId of new Set([...before.keys(), ...now.keys()])) {
      const conflicts = now.get(runId) ?? [];
      if (JSON.stringify(conflicts) === JSON.stringify(before.get(runId) ?? [])) continue;
      this.#changes += 1;
      for (const listener of this.#listeners) {
        try {
          listener({ runId, conflicts });
        } catch (error) {
          this.#options.log.error({ err: error }, 'a listener failed');
        }
      }
    }
  }
}

/** Runs with commits, newest first. */
function candidatesOf({ runs }: RadarProject): readonly LiveRun[] {
  return [...runs.values()]
    .filter(({ head }) => head !== null)
    .toSorted((one, other) => other.headOrder - one.headOrder)
    .slice(0, MOST_RUNS);
}

/** All pairs to compare: those with base branches first, then those of the newest commits. */
function pairsOf(project: RadarProject, bases: ReadonlyMap<string, string>): readonly Pair[] {
  const runs = candidatesOf(project);
  const withBase = runs.flatMap((run): readonly Pair[] => {
    const branch = baseOf(project, run) ?? '';
    const base = bases.get(branch);
    if (base === undefined || run.head === null) return [];
    const other = { base: branch };
    return [{ id: pairId(run, other), run, other, commits: [run.head, base], ownedFiles: run.ownedFiles }];
  });
  const withRuns = runs.flatMap((run, index) =>
    runs.slice(index + 1).flatMap((other): readonly Pair[] => {
      if (run.head === null || other.head === null || !comeTogether(project, run, other)) return [];
      const ownedFiles = [...new Set([...run.ownedFiles, ...other.ownedFiles])].sort();
      const heads = [run.head, other.head] as const;
      // The same commits in the same order, whichever of both runs moved last.
      const commits = run.id < other.id ? heads : ([heads[1], heads[0]] as const);
      return [{ id: pairId(run, other), run, other, commits, ownedFiles }];
    }),
  );
  return [...withBase, ...withRuns];
}

function pairId({ id }: LiveRun, other: Pair['other']): string {
  return 'base' in other ? `${id}:${other.base}` : [id, other.id].sort().join(' ');
}

/** Identifies everything that a finding follows from. */
function keyOf({ commits, ownedFiles }: Pair): string {
  return JSON.stringify([commits, ownedFiles]);
}

/** The branch into which the topmost run of a run's line is merged; `null` where that run is not known. */
function baseOf(project: RadarProject, run: LiveRun): string | null {
  const branch = project.runs.get(lineOf(project, run).at(-1) ?? '')?.baseBranch;
  return branch === undefined || branch === '' ? null : branch;
}

/** Whether the results of both runs come together: both are merged into one branch, or one into the other. */
function comeTogether(project: RadarProject, run: LiveRun, other: LiveRun): boolean {
  if (run.branch === other.branch) return false;
  if (run.family !== other.family) return true;
  const [line, otherLine] = [lineOf(project, run), lineOf(project, other)];
  // Within a family only forks and variants have different topmost runs.
  if (line.at(-1) !== otherLine.at(-1)) return false;
  if (!line.includes(other.id) && !otherLine.includes(run.id)) return true;
  return run.parentId === other.id || other.parentId === run.id;
}

/** Ids of a run and the runs above it, up to the topmost one that is known. */
function lineOf({ runs }: RadarProject, run: LiveRun): readonly string[] {
  const line = [run.id];
  for (let id = run.parentId; id !== null && !line.includes(id); id = runs.get(id)?.parentId ?? null) line.push(id);
  return line;
}

/** The conflict of a pair, once for each run of it. */
function conflictsOf(projectId: string, project: RadarProject, pair: Pair): readonly ForeseenConflict[] {
  const { run, other } = pair;
  const found = project.findings.get(pair.id);
  if (found === undefined || found.fileCount === 0 || isToldAbove(project, pair, found)) return [];
  const { files, fileCount } = found;
  if ('base' in other)
    return [{ projectId, runId: run.id, with: { kind: 'base', branch: other.base }, files, fileCount }];
  return [
    { projectId, runId: run.id, with: { kind: 'run', runId: other.id }, files, fileCount },
    { projectId, runId: other.id, with: { kind: 'run', runId: run.id }, files, fileCount },
  ];
}

/** Whether a child run has the same conflict from its parent, of which it is told. */
function isToldAbove(project: RadarProject, { run, other }: Pair, found: Finding): boolean {
  if (!('base' in other) && run.family === other.family) return false;
  const isSame = (above: LiveRun | undefined, beside: Pair['other']): boolean => {
    const finding = above === undefined ? undefined : project.findings.get(pairId(above, beside));
    return finding?.fileCount === found.fileCount && String(finding.files) === String(found.files);
  };
  const parentOf = ({ parentId }: LiveRun): LiveRun | undefined => project.runs.get(parentId ?? '');
  if (isSame(parentOf(run), other)) return true;
  return !('base' in other) && isSame(parentOf(other), run);
}

/** The first paths, as many as are told. */
function firstOf(files: readonly string[]): readonly string[] {
  let characters = 0;
  return files.slice(0, MOST_FILES).filter((path, index) => {
    characters += path.length;
    return index === 0 || characters <= MOST_CHARACTERS;
  });
}

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
