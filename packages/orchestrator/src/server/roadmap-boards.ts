/** Roadmaps of projects as their base branches have them, with the live runs that work on their items. */
import {
  inputOfRun,
  type Project,
  type ProjectRoadmap,
  type RoadmapContent,
  type RoadmapRun,
  type RunView,
  Unprocessable,
} from '@autonomous/shared';
import type { EventStore } from '../event-store/event-store.ts';
import type { Repository } from '../repository/repository.ts';
import type { SharedFetches } from '../repository/shared-fetches.ts';
import type { Projects } from './projects.ts';

/** Reads the text of a roadmap. The server knows neither its form nor the workflow that works on it. */
export interface RoadmapReader {
  /** Of the file in a repository. */
  readonly path: string;
  /** Name of the workflow whose runs work on an item: the one that their input names as `item`. */
  readonly workflow: string;
  /**
   * @param atWork items that live runs work on
   * @returns items or faults
   */
  read(text: string, atWork: readonly ItemAtWork[]): Promise<RoadmapContent>;
}

export interface ItemAtWork {
  readonly item: string;
  /** Text of the roadmap on the run's own branch; `null`: the run writes to the base branch, or has not written yet. */
  readonly roadmap: string | null;
}

export interface RoadmapBoardsOptions {
  readonly projects: Pick<Projects, 'of'>;
  readonly store: Pick<EventStore, 'listRuns' | 'readHistory'>;
  readonly fetches: Pick<SharedFetches, 'fetch'>;
  readonly repository: Pick<Repository, 'branchHead' | 'inspectRemote' | 'readFile' | 'remoteHead'>;
  readonly reader: RoadmapReader;
}

/** A live run and the item that it works on. */
type Work = RoadmapRun & ItemAtWork;

/** A remote that does not answer within this time is shown as of the last fetch. */
const FETCH_PATIENCE_MS = 5_000;
/** Live runs of items that are looked at, newest first. */
const RUNS_READ = 200;

export class RoadmapBoards {
  readonly #options: RoadmapBoardsOptions;

  constructor(options: RoadmapBoardsOptions) {
    this.#options = options;
  }

  /** @throws {NotFound} for an unknown project @throws {Unprocessable} when its repository or base branch cannot be read */
  async read(projectId: string): Promise<ProjectRoadmap> {
    const { repository, reader } = this.#options;
    const project = await this.#options.projects.of(projectId);
    const notFetched = await this.#fetch(project);
    const commit = await this.#headOf(project);
    const [text, works] = await Promise.all([repository.readFile(project, commit, reader.path), this.#works(project)]);
    return {
      projectId,
      path: reader.path,
      branch: project.baseBranch,
      commit,
      notFetched,
      workflow: reader.workflow,
      content: text === null ? { kind: 'absent' } : await reader.read(text, works),
      runs: works.map(({ item, runId, status }) => ({ item, runId, status })),
    };
  }

  /** @returns why the remote could not be asked; `null`: it was */
  async #fetch(project: Project): Promise<string | null> {
    try {
      await this.#options.fetches.fetch(project, FETCH_PATIENCE_MS);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #headOf(project: Project): Promise<string> {
    const { repository } = this.#options;
    const head = await repository.remoteHead(project, project.baseBranch);
    if (head !== null) return head;
    // Asks the remote itself, whose message says what is wrong.
    await repository.inspectRemote(project.repository, project.baseBranch);
    throw new Unprocessable(
      `The branch '${project.baseBranch}' of ${project.repository} could not be fetched. Try again.`,
    );
  }

  /** Newest first, one for each item. */
  async #works(project: Project): Promise<readonly Work[]> {
    const { store, reader } = this.#options;
    const filter = { projectId: project.id, workflow: reader.workflow, open: true, limit: RUNS_READ };
    const { items: runs } = await store.listRuns(filter);
    const works = await Promise.all(
      runs.map(async (run) => {
        const item = await this.#itemOf(run.id);
        return item === null
          ? []
          : [{ item, runId: run.id, status: run.status, roadmap: await this.#ownRoadmap(project, run) }];
      }),
    );
    const seen = new Set<string>();
    return works.flat().filter(({ item }) => !seen.has(item) && seen.add(item));
  }

  /** The roadmap on the branch of a run whose engine-owned files are not committed to the base branch. */
  async #ownRoadmap(project: Project, { branch, ownedFiles }: RunView): Promise<string | null> {
    if (ownedFiles?.to !== 'branch' || ownedFiles.commit === undefined) return null;
    const { repository, reader } = this.#options;
    const head = await repository.branchHead(project, branch);
    return head === null ? null : repository.readFile(project, head, reader.path);
  }

  /** The item that a run was launched with; `null`: it names none of this roadmap. */
  async #itemOf(runId: string): Promise<string | null> {
    const { store, reader } = this.#options;
    const [first] = await store.readHistory(runId, 0, 1);
    const { item, roadmap = reader.path } = inputOfRun(first) ?? {};
    return typeof item === 'string' && roadmap === reader.path ? item : null;
  }
}
