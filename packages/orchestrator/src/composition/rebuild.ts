/** Fills an empty database from the records that git has: projects, runs with their histories, answer files, transcripts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  Conflict,
  InvalidRequest,
  NeedsHuman,
  NotFound,
  type Project,
  type RunStart,
  type RunView,
  StorageFull,
  Unavailable,
  Unprocessable,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { RecordedProject } from '../documents/record-schemas.ts';
import type { ServerConfig } from '../config.ts';
import { openDataFolder } from '../data-folder.ts';
import { systemClock } from '../engine/clock.ts';
import { importRun, PAUSE_FAULT, readImportedAgain, viewOfRecord } from '../record/import-run.ts';
import { readRun, type ReadRun, type RunFiles } from '../record/recorded-projects.ts';
import { eventsOf } from '../record/recorded-run.ts';
import type { PauseOf, PauseText, RecordedState } from '../engine/rebuilt/rebuilt-pause.ts';
import { pauseOfRecord } from '../record/rebuilt-pause.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { markOfRepository } from '../forges/repository-identity.ts';
import { createGitRepository } from '../repository/git-repository.ts';
import type { Repository } from '../repository/repository.ts';
import { type Adapters, openAdapters } from './adapters.ts';
import { openForge } from './forge.ts';
import { noAddress, type OpenedSources, openSources, ownersOf, type Source } from './rebuild-sources.ts';
import { loadServerWorkflows, type ServerWorkflows } from './server-workflows.ts';
import { StopList } from './stop-list.ts';

export interface RebuildOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Absolute folders and URLs, one for each repository. */
  readonly from: readonly string[];
  /** Addresses by project, which stand above those of the sources. */
  readonly remotes: ReadonlyMap<string, string>;
  /** Base branches by project, which stand above those of the record. */
  readonly bases: ReadonlyMap<string, string>;
}

export interface RebuildReport {
  readonly projects: readonly RebuiltProject[];
  readonly runs: readonly RebuiltRun[];
  /** Projects and runs that did not come back, and why, to be read after their name. */
  readonly leftOut: readonly LeftOut[];
  /** Places that were given twice, as a sentence each. */
  readonly repeated: readonly string[];
  /** Child runs whose parents did not come back. Nobody waits for their results. */
  readonly withoutParent: readonly RebuiltRun[];
  /** Projects of {@link RebuildOptions.remotes} that no record has. */
  readonly unknownRemotes: readonly string[];
}

export interface RebuiltProject extends Project {
  /** Its name in the record, where another project of the same repository has that one. */
  readonly renamedFrom?: string;
}

export interface RebuiltRun {
  readonly view: RunView;
  /** Why it is quarantined; `null`: it is not. */
  readonly fault: string | null;
}

export interface LeftOut {
  readonly kind: 'project' | 'run';
  readonly id: string;
  readonly message: string;
}

/** Set while a rebuild is under way: a server does not start, and the next rebuild goes on. */
export const UNFINISHED_REBUILD = 'rebuild.unfinished';
/** Up to here the record writer has nothing to do: what was read is in git. */
const RECORDED = 'recorded-position';
/** More than any server allows, of runs that are each the parent of the next. */
const MOST_GENERATIONS = 50;
const MAX_BESIDE_BYTES = 64 * 1024 * 1024;

/**
 * Rebuilds the database of a data folder. A rebuild that was interrupted is carried on by the next one.
 * @throws {Conflict} when the database is not empty
 * @throws {Unprocessable} when one of the places is no repository, has no record, or says no address for its projects
 * @throws {Unavailable} when a server uses the data folder
 */
export async function rebuild({ config, log, from, remotes, bases }: RebuildOptions): Promise<RebuildReport> {
  const stops = new StopList(log);
  const scratch = await mkdtemp(path.join(tmpdir(), 'autonomous-rebuild-'));
  stops.add(() => rm(scratch, { recursive: true, force: true, maxRetries: 3 }));
  try {
    const dataFolder = await openDataFolder(config.dataFolder);
    stops.add(async () => dataFolder.release());
    const adapters = await openAdapters({
      config,
      log,
      dataFolder,
      stops,
      sandboxes: undefined,
      parser: undefined,
      wrapStore: undefined,
      scrubber: undefined,
      onStopped: (reason) => log.error(reason.message),
    });
    const { store } = adapters;
    await assertEmpty(store, config.databasePath);
    const { git } = await openForge(config.github, { learn: () => {} });
    const copies = createGitRepository({ folder: scratch, author: config.commitAuthor, ...git });
    const opened = await openSources({ copies, scratch, from, remotes });
    const workflows = await loadServerWorkflows(config, adapters.setup.models, () => adapters.setup.modelDefaults());
    await store.setMark(UNFINISHED_REBUILD, '1');
    const report = await new Rebuild({ adapters, workflows, copies, remotes, bases, opened, log }).all();
    await store.setMark(RECORDED, String(await store.lastPosition()));
    await store.setMark(UNFINISHED_REBUILD, '');
    return report;
  } finally {
    await stops.run();
  }
}

async function assertEmpty(store: EventStore, database: string): Promise<void> {
  if ((await store.getMark(UNFINISHED_REBUILD)) === '1') return;
  const [runs, projects] = await Promise.all([store.listRuns({ limit: 1 }), store.listProjects(undefined, 1)]);
  if (runs.items.length + projects.items.length === 0) return;
  throw new Conflict(
    `The database ${database} is not empty: a rebuild only fills an empty one. Name an empty data folder with --data, or move the database away.`,
  );
}

interface RebuildParts {
  readonly adapters: Adapters;
  readonly workflows: ServerWorkflows;
  readonly copies: Repository;
  readonly remotes: ReadonlyMap<string, string>;
  readonly bases: ReadonlyMap<string, string>;
  readonly opened: OpenedSources;
  readonly log: Logger;
}

class Rebuild {
  readonly #parts: RebuildParts;
  /** Source of each run, by id. */
  readonly #owners: ReadonlyMap<string, Source>;
  /** With the source that brought them, by id. */
  readonly #projects = new Map<string, { readonly project: RebuiltProject; readonly source: Source }>();
  readonly #runs: RebuiltRun[] = [];
  readonly #leftOut: LeftOut[] = [];
  /** Projects of the runs that were read and may come back, by run. */
  readonly #projectOfRun = new Map<string, string>();
  /** Runs that were begun, each after its parent. */
  readonly #begun = new Set<string>();
  /** Runs that wait for their parents to be added, the lowest first. */
  readonly #waiting: string[] = [];
  /** The read of the run that comes next. */
  readonly #ahead = new Map<RunFiles, ReturnType<typeof readRun>>();
  readonly #pause: PauseOf;
  /** Runs whose recorded parents go round. */
  readonly #inCycle = new Set<string>();

  constructor(parts: RebuildParts) {
    this.#parts = parts;
    this.#owners = ownersOf(parts.opened.sources);
    this.#pause = pauseOfRecord({ ...parts.adapters, workflows: parts.workflows.registry });
  }

  async all(): Promise<RebuildReport> {
    const { opened, remotes } = this.#parts;
    for (const source of opened.sources) {
      for (const [id, message] of source.record.refusedProjects) this.#leftOut.push({ kind: 'project', id, message });
      for (const recorded of source.record.projects)
        await this.#orLeaveOut('project', recorded.id, () => this.#addProject(source, recorded));
      // One after the other, with one read ahead: each may be large.
      for (const [index, files] of source.record.runs.entries()) {
        this.#readAhead(source, source.record.runs[index + 1]);
        await this.#addOnce(source, files);
        this.#ahead.delete(files);
      }
    }
    await this.#showOthers();
    const back = new Set(this.#runs.map(({ view }) => view.id));
    const recorded = new Set(
      opened.sources.flatMap(({ record: { projects, refusedProjects } }) => [
        ...projects.map(({ id }) => id),
        ...refusedProjects.keys(),
      ]),
    );
    return {
      projects: [...this.#projects.values()].map(({ project }) => project),
      runs: this.#runs,
      leftOut: this.#leftOut,
      withoutParent: this.#runs.filter(({ view: { parent } }) => parent !== undefined && !back.has(parent.runId)),
      repeated: opened.repeated.map(({ place, as }) => `${place} is the same repository as ${as} and was taken once`),
      unknownRemotes: [...remotes.keys()].filter((id) => !recorded.has(id)),
    };
  }

  /** A run may be imported before others whose results or findings it takes: it shows theirs, too. */
  async #showOthers(): Promise<void> {
    const { adapters, workflows, log } = this.#parts;
    await readImportedAgain({
      store: adapters.store,
      workflows: workflows.registry,
      pauseOf: this.#pause,
      isWanted: ({ gate }) => gate?.reason === 'rebuilt',
      onFault: (runId, error) => log.warn({ err: error, runId }, PAUSE_FAULT),
      now: () => systemClock.now(),
    });
  }

  /** A fault of one project or run keeps no other from coming back. The disk concerns all of them. */
  async #orLeaveOut(kind: LeftOut['kind'], id: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if ([StorageFull, Unavailable, NeedsHuman].some((each) => error instanceof each)) throw error;
      const said = saidBy(error);
      if (said === null) this.#parts.log.warn({ err: error, id }, `a ${kind} of the record could not be stored`);
      const message = said ?? 'its history has contents that no server writes, and cannot be stored';
      this.#leftOut.push({ kind, id, message });
    }
  }

  async #addProject(source: Source, recorded: RecordedProject): Promise<Project> {
    const known = this.#projects.get(recorded.id);
    if (known !== undefined) throw new Unprocessable(claimed(source, known.source));
    const { adapters, remotes } = this.#parts;
    const address = remotes.get(recorded.id) ?? source.address;
    if (address === null) throw new Unprocessable(noAddress(source.place, [recorded.id]));
    const before = await adapters.store.getProject(recorded.id);
    if (before !== null && before.repository !== address) throw new Unprocessable(otherPlace(before.repository));
    const name = await freeName(adapters.store, address, recorded);
    const { id, createdAt, forgeId } = recorded;
    const baseBranch = await this.#baseOf(recorded, address);
    const project = { id, name, repository: address, baseBranch, createdAt };
    await adapters.repository.fetchCopy(project, source.folder);
    await adapters.store.saveProject(project);
    if (forgeId !== undefined) await adapters.store.setMark(markOfRepository(id), forgeId);
    const rebuilt = name === recorded.name ? project : { ...project, renamedFrom: recorded.name };
    this.#projects.set(project.id, { project: rebuilt, source });
    return project;
  }

  /**
   * The base branch of a project. Whoever can push could have written another one than the remote's own into the record, and new runs would
   * begin there.
   */
  async #baseOf({ id, baseBranch }: RecordedProject, address: string): Promise<string> {
    const { adapters, bases } = this.#parts;
    const named = bases.get(id);
    if (named !== undefined) return named;
    const own = await adapters.repository.inspectRemote(address).catch(() => null);
    if (own === null || own.baseBranch === baseBranch) return baseBranch;
    throw new Unprocessable(
      `its record names the base branch '${baseBranch}', and that of ${address} is '${own.baseBranch}'. Anybody who can push could have written the first: say which is right with --base ${id}=${baseBranch} or --base ${id}=${own.baseBranch}`,
    );
  }

  async #addOnce(source: Source, files: RunFiles): Promise<void> {
    const { runId } = files;
    // Of two sources that have one, the second is told so.
    if (this.#begun.has(runId) && this.#owners.get(runId) === source) return;
    this.#begun.add(runId);
    await this.#orLeaveOut('run', runId, () => this.#addRun(source, files));
  }

  async #addRun(source: Source, files: RunFiles): Promise<void> {
    const { runId } = files;
    const owner = this.#owners.get(runId);
    if (owner !== undefined && owner !== source) throw new Unprocessable(claimed(source, owner));
    const read = await this.#readAfterParent(source, files);
    this.#assertOwnFamily(source, runId, read);
    const project = this.#projectOf(source, read.start);
    this.#projectOfRun.set(runId, project.id);
    const { adapters, workflows } = this.#parts;
    const { store } = adapters;
    // Before the run: a rebuild that is carried on passes over runs that are there.
    await this.#bringBeside(source, files, project, read);
    if ((await store.tipOf(runId)) === null) {
      const { view, fault } = await importRun(
        {
          store,
          workflows: workflows.registry,
          pauseOf: (imported, state) => this.#pauseOf(imported, state),
          now: () => systemClock.now(),
        },
        read.run,
      );
      this.#runs.push({ view, fault });
      return;
    }
    const view = await store.loadView(runId);
    if (view?.projectId !== project.id) throw new Unprocessable(otherPlace(`project ${view?.projectId ?? ''}`));
    this.#runs.push({ view, fault: view.gate?.reason === 'poisoned' ? view.gate.summary : null });
  }

  /** Begins to read a run while the one before it is added. */
  #readAhead(source: Source, files: RunFiles | undefined): void {
    if (files === undefined || this.#begun.has(files.runId)) return;
    const read = readRun(this.#parts.copies, source.copy, files);
    // It is thrown where the run is added.
    read.catch(() => undefined);
    this.#ahead.set(files, read);
  }

  /** Reads a run once its parent was added, which the order of a record that others wrote may have after it. */
  async #readAfterParent(source: Source, files: RunFiles): Promise<Extract<ReadRun, { ok: true }>> {
    const read = await this.#read(source, files);
    const parentId = read.start.parent?.runId;
    if (parentId === undefined || this.#begun.has(parentId)) return read;
    const filesOfParent = source.record.runs.find(({ runId }) => runId === parentId);
    if (filesOfParent === undefined) return read;
    return this.#afterParent(source, files, filesOfParent);
  }

  async #afterParent(source: Source, files: RunFiles, ofParent: RunFiles): Promise<Extract<ReadRun, { ok: true }>> {
    if (this.#waiting.length >= MOST_GENERATIONS)
      throw new Unprocessable(`more than ${MOST_GENERATIONS} generations of runs are above it`);
    this.#waiting.push(files.runId);
    await this.#addOnce(source, ofParent);
    this.#waiting.pop();
    return this.#read(source, files);
  }

  /** @throws {Unprocessable} */
  async #read(source: Source, files: RunFiles): Promise<Extract<ReadRun, { ok: true }>> {
    const read = await (this.#ahead.get(files) ?? readRun(this.#parts.copies, source.copy, files));
    if (!read.ok) throw new Unprocessable(read.message);
    return read;
  }

  /** A run waits for its child runs and shares budgets with them: those of another source or project are not its own. */
  #assertOwnFamily(source: Source, runId: string, { start, run }: Extract<ReadRun, { ok: true }>): void {
    const { parent, projectId } = start;
    const trees = eventsOf(run).map(({ type, payload }) => (type === 'RUN_FORKED' ? payload['tree'] : undefined));
    for (const tree of [start.treeId, ...trees]) {
      const owner = typeof tree === 'string' ? this.#owners.get(tree) : undefined;
      if (owner !== undefined && owner !== source)
        throw new Unprocessable(`it says that it shares budgets with a run that ${owner.place} has`);
    }
    if (parent === undefined) return;
    const at = this.#waiting.indexOf(parent.runId);
    if (at !== -1) for (const each of this.#waiting.slice(at)) this.#inCycle.add(each);
    if (parent.runId === runId || at !== -1 || this.#inCycle.has(runId))
      throw new Unprocessable('it says that it is a child run of itself, or of a run below it');
    const owner = this.#owners.get(parent.runId);
    if (owner !== undefined && owner !== source)
      throw new Unprocessable(`it says that it is a child run of a run that ${owner.place} has`);
    const projectOfParent = this.#projectOfRun.get(parent.runId);
    if (projectOfParent !== undefined && projectOfParent !== projectId)
      throw new Unprocessable(`it says that it is a child run of a run of project ${projectOfParent}`);
  }

  /** The project of a run. @throws {Unprocessable} when the same place did not bring it */
  #projectOf(source: Source, { projectId: id }: RunStart): Project {
    if (!/^[\w-]{1,100}$/.test(id)) throw new Unprocessable('its first event names no project');
    const known = this.#projects.get(id);
    if (known?.source === source) return known.project;
    if (known !== undefined) throw new Unprocessable(`its project ${id} came back from ${known.source.place}`);
    throw new Unprocessable(`its project ${id} is not described in the record, or was left out`);
  }

  async #pauseOf({ view, fault }: RebuiltRun, state: RecordedState): Promise<PauseText> {
    const pause = await this.#pause(view, state);
    return fault === null ? pause : { ...pause, reason: 'poisoned', message: `It cannot go on: ${fault}` };
  }

  /** Branch, transcript and answer files of a run. */
  async #bringBeside(
    { copy }: Source,
    { runId, files }: RunFiles,
    project: Project,
    { run, uploads: named }: Extract<ReadRun, { ok: true }>,
  ): Promise<void> {
    const { repository, transcripts, uploads } = this.#parts.adapters;
    const { branch, headCommit } = viewOfRecord(run);
    const isThere = headCommit !== undefined && (await repository.missingCommits(project, [headCommit])).size === 0;
    if (branch !== '' && isThere) await repository.forwardBranch(project, branch, headCommit);
    const contentOf = async (name: string): Promise<Buffer | undefined> => {
      const oid = files.get(name);
      if (oid === undefined) return undefined;
      return (await this.#parts.copies.readBlobs(copy, [oid], MAX_BESIDE_BYTES)).get(oid);
    };
    const transcript = await contentOf('transcript.jsonl');
    if (transcript !== undefined && transcript.length > 0)
      await transcripts.restore(runId, transcript.toString('utf8'));
    for (const { id, name } of named) {
      const content = await contentOf(`files/${id}`);
      if (content !== undefined && content.length > 0) await uploads.put(name, content);
    }
  }
}

/** The message of an error that was made for people; `null` for a fault of the store or of the program. */
function saidBy(error: unknown): string | null {
  const isForPeople = [Unprocessable, InvalidRequest, Conflict, NotFound].some((each) => error instanceof each);
  return isForPeople && error instanceof Error ? error.message : null;
}

function claimed(source: Source, owner: Source): string {
  return `${source.place} has one of the same id as ${owner.place}, which was named first`;
}

/** For what an interrupted rebuild has brought from another place. */
function otherPlace(before: string): string {
  return `the interrupted rebuild has brought it from ${before}; repeat the command with the same places in the same order, or rebuild into a new folder`;
}

/** Two servers may have used the same name for one repository. */
async function freeName(store: EventStore, address: string, { id, name }: RecordedProject): Promise<string> {
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? name : `${name}-${number}`;
    const other = await store.findProject(address, free);
    if (other === null || other.id === id) return free;
  }
}
