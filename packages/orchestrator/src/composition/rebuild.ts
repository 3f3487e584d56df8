/** Fills an empty database from the records that git has: projects, runs with their histories, answer files, transcripts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Conflict, type Project, type RunView, Unprocessable } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { RecordedUpload } from '../artifacts/record-schemas.ts';
import { isFinal } from '../core/advance.ts';
import type { ServerConfig } from '../config.ts';
import { openDataFolder } from '../data-folder.ts';
import { systemClock } from '../engine/clock.ts';
import { importRun, pauseImported } from '../engine/import-run.ts';
import { listRecord, readRun, type RecordedFiles, type RunFiles } from '../engine/recorded-projects.ts';
import { eventsOf } from '../engine/recorded-run.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { createGitRepository } from '../repository/git-repository.ts';
import type { Repository } from '../repository/repository.ts';
import { type Adapters, openAdapters } from './adapters.ts';
import { loadServerWorkflows, type ServerWorkflows } from './server-workflows.ts';
import { StopList } from './stop-list.ts';

export interface RebuildOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Absolute folders and URLs, one for each repository. */
  readonly from: readonly string[];
}

export interface RebuildReport {
  readonly projects: readonly Project[];
  readonly runs: readonly RebuiltRun[];
  /** Runs that did not come back, and why, to be read after their name. */
  readonly leftOut: readonly { readonly runId: string; readonly message: string }[];
}

export interface RebuiltRun {
  readonly view: RunView;
  /** Why it is quarantined; `null`: it is not. */
  readonly fault: string | null;
}

/** Set while a rebuild is under way: a server does not start, and the next rebuild goes on. */
export const UNFINISHED_REBUILD = 'rebuild.unfinished';
/** Up to here the record writer has nothing to do: what was read is in git. */
const RECORDED = 'recorded-position';

/**
 * Rebuilds the database of a data folder. A rebuild that was interrupted is carried on by the next one.
 * @throws {Conflict} when the database is not empty
 * @throws {Unprocessable} when one of the places is no repository, or has no record
 * @throws {Unavailable} when a server uses the data folder
 */
export async function rebuild({ config, log, from }: RebuildOptions): Promise<RebuildReport> {
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
      wrapStore: undefined,
      onStopped: (reason) => log.error(reason.message),
    });
    await assertEmpty(adapters.store, config.databasePath);
    const copies = createGitRepository({
      folder: scratch,
      author: config.commitAuthor,
      ...(config.github.token === null ? {} : { token: config.github.token }),
    });
    const sources: Source[] = [];
    for (const [index, place] of from.entries()) sources.push(await openSource(copies, scratch, place, index));
    const workflows = await loadServerWorkflows(config, adapters.setup.models, () => adapters.setup.modelDefaults());
    await adapters.store.setMark(UNFINISHED_REBUILD, '1');
    const report = await new Rebuild(adapters, workflows, copies).from(sources);
    await adapters.store.setMark(UNFINISHED_REBUILD, '');
    return report;
  } finally {
    await stops.run();
  }
}

/** A repository with a record. */
interface Source {
  /** In the scratch folder. */
  readonly copy: { readonly id: string; readonly repository: string; readonly baseBranch: string };
  /** Bare repository of the copy. */
  readonly folder: string;
  /** Address for the projects whose record names none, or another one where it was given as a URL. */
  readonly address: string;
  /** The address stands above the recorded one. */
  readonly isUrl: boolean;
  readonly record: RecordedFiles;
}

async function assertEmpty(store: EventStore, database: string): Promise<void> {
  if ((await store.getMark(UNFINISHED_REBUILD)) === '1') return;
  const [runs, projects] = await Promise.all([store.listRuns({ limit: 1 }), store.listProjects(undefined, 1)]);
  if (runs.items.length + projects.items.length === 0) return;
  throw new Conflict(
    `The database ${database} is not empty: a rebuild only fills an empty one. Name an empty data folder with --data, or move the database away.`,
  );
}

async function openSource(copies: Repository, scratch: string, place: string, index: number): Promise<Source> {
  const isFolder = path.isAbsolute(place);
  const origin = isFolder ? (await copies.inspectClone(place)).origin : null;
  const id = `copy-${index}`;
  const copy = { id, repository: place, baseBranch: 'main' };
  const commit = await copies.fetchCopy(copy, place);
  if (commit === null)
    throw new Unprocessable(
      `${place} has no branch autonomous/record, so there is nothing to rebuild from. Give the repository of a project with runs, or a clone with all of its branches.`,
    );
  const record = await listRecord(copies, copy, commit);
  const folder = path.join(scratch, `${id}.git`);
  return { copy, folder, address: origin ?? place, isUrl: !isFolder, record };
}

class Rebuild {
  readonly #adapters: Adapters;
  readonly #workflows: ServerWorkflows;
  readonly #copies: Repository;
  readonly #projects = new Map<string, Project>();
  readonly #runs: RebuiltRun[] = [];
  readonly #leftOut: { readonly runId: string; readonly message: string }[] = [];
  /** Runs that go on only when a person says so, and why. */
  readonly #held: { readonly view: RunView; readonly fault: string | null }[] = [];

  constructor(adapters: Adapters, workflows: ServerWorkflows, copies: Repository) {
    this.#adapters = adapters;
    this.#workflows = workflows;
    this.#copies = copies;
  }

  async from(sources: readonly Source[]): Promise<RebuildReport> {
    const { store } = this.#adapters;
    for (const source of sources) {
      for (const project of source.record.projects) await this.#addProject(source, project);
      for (const files of source.record.runs) await this.#run(source, files);
    }
    if ((await store.getMark(RECORDED)) === null) await store.setMark(RECORDED, String(await store.lastPosition()));
    for (const { view, fault } of this.#held) {
      const message = fault === null ? askingAgain(view) : `It cannot go on: ${fault}`;
      const reason = fault === null ? 'rebuilt' : 'poisoned';
      const paused = await pauseImported(this.#adapters, view, reason, message, systemClock.now());
      this.#runs.push({ view: paused, fault });
    }
    return { projects: [...this.#projects.values()], runs: this.#runs, leftOut: this.#leftOut };
  }

  async #addProject(source: Source, recorded: Project): Promise<Project> {
    const known = this.#projects.get(recorded.id);
    if (known !== undefined) return known;
    const { store, repository } = this.#adapters;
    const project = source.isUrl ? { ...recorded, repository: source.address } : recorded;
    await repository.fetchCopy(project, source.folder);
    await store.saveProject(project);
    this.#projects.set(project.id, project);
    return project;
  }

  async #run(source: Source, files: RunFiles): Promise<void> {
    const { runId } = files;
    const { store } = this.#adapters;
    const read = await readRun(this.#copies, source.copy, files);
    if (!read.ok) {
      this.#leftOut.push({ runId, message: read.message });
      return;
    }
    try {
      const [first] = eventsOf(read.run);
      const start = (first?.type === 'RUN_QUEUED' ? first.payload['start'] : first?.payload) as
        | Partial<RunView>
        | undefined;
      const project = await this.#projectOf(source, start, first?.timestamp ?? '');
      const known = await store.tipOf(runId);
      const isPausedAlready = known !== null && known.sequence > read.run.tip.sequence;
      if (isPausedAlready) {
        const view = await store.loadView(runId);
        if (view !== null) this.#runs.push({ view, fault: null });
        return;
      }
      const { view, fault, isAtRest } = await importRun({ store, workflows: this.#workflows.registry }, read.run);
      await this.#bringBeside(source, files, project, view, read.uploads);
      if (isFinal(view.status) || (isAtRest && fault === null)) this.#runs.push({ view, fault: null });
      else this.#held.push({ view, fault });
    } catch (error) {
      this.#leftOut.push({ runId, message: error instanceof Error ? error.message : String(error) });
    }
  }

  /** The project of a run. Records of earlier versions do not describe it. */
  async #projectOf(source: Source, start: Partial<RunView> | undefined, at: string): Promise<Project> {
    const id = start?.projectId;
    if (typeof id !== 'string' || !/^[\w-]{1,100}$/.test(id))
      throw new Unprocessable('its first event names no project');
    return (
      this.#projects.get(id) ??
      this.#addProject(source, {
        id,
        name: id.replace(/-[a-z0-9]{6}$/, ''),
        repository: source.address,
        baseBranch: start?.config?.git?.baseBranch || 'main',
        createdAt: at,
      })
    );
  }

  /** Branch, transcript and answer files of a run. */
  async #bringBeside(
    { copy }: Source,
    { runId, files }: RunFiles,
    project: Project,
    { branch, headCommit }: RunView,
    named: readonly RecordedUpload[],
  ): Promise<void> {
    const { repository, transcripts, uploads } = this.#adapters;
    const isThere = headCommit !== undefined && (await repository.missingCommits(project, [headCommit])).size === 0;
    if (branch !== '' && isThere) await repository.forwardBranch(project, branch, headCommit);
    const wanted = new Map(
      ['transcript.jsonl', ...named.map(({ id }) => `files/${id}`)].flatMap((name) => {
        const oid = files.get(name);
        return oid === undefined ? [] : [[name, oid] as const];
      }),
    );
    const contents = await this.#copies.readBlobs(copy, [...wanted.values()], MAX_BYTES);
    const contentOf = (name: string): Buffer | undefined => contents.get(wanted.get(name) ?? '');
    const transcript = contentOf('transcript.jsonl');
    if (transcript !== undefined && transcript.length > 0)
      await transcripts.restore(runId, transcript.toString('utf8'));
    for (const { id, name } of named) {
      const content = contentOf(`files/${id}`);
      if (content !== undefined && content.length > 0) await uploads.put(name, content);
    }
  }
}

const MAX_BYTES = 64 * 1024 * 1024;

/** For the person who lets a rebuilt run go on. */
function askingAgain({ lastSequence, currentStage, gates }: RunView): string {
  const where = currentStage === null ? '' : `, in stage ${currentStage}`;
  const decisions = gates.map(({ kind, decision, by }) => `${kind}: ${decision} by ${by}`).join('; ');
  const recorded = decisions === '' ? 'The record has no decisions of people' : `Recorded decisions are ${decisions}`;
  return `The run was rebuilt from its record in git at event ${lastSequence}${where}, and whoever can push there could have written it. ${recorded}: retry to go on from there, or cancel the run.`;
}
