/** The projects of this server, with what the record in git says of each. */
import { Conflict, type NewProject, NotFound, type Page, type Project } from '@autonomous/shared';
import { slugOf } from '../documents/slug.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Repository } from '../repository/repository.ts';
import { randomName } from './run-ids.ts';

/** A project that a launch names by its repository. */
export interface NamedProject {
  readonly project: Project;
  /** False: it is not stored. */
  readonly isKnown: boolean;
}

export interface ProjectsOptions {
  readonly store: Pick<EventStore, 'findProject' | 'getProject' | 'listProjects' | 'saveProject' | 'removeProject'>;
  readonly repository: Pick<Repository, 'inspectRemote'>;
  readonly now: () => Date;
  /** Sentences about runs and events that the record in git has and the database does not. */
  readonly noticesOf: (project: Project) => readonly string[];
}

export class Projects {
  readonly #options: ProjectsOptions;

  constructor(options: ProjectsOptions) {
    this.#options = options;
  }

  /**
   * Adds a project, or gives the one that there is of this name and repository.
   * @throws {Conflict} when that one has another base branch @throws {Unprocessable} when the repository cannot be read
   */
  async create(wanted: NewProject): Promise<Project> {
    const { project, isKnown } = await this.named(wanted);
    if (isKnown) return project;
    return (await this.add(project)) ? this.#withNotices(project) : this.create(wanted);
  }

  /**
   * The project that there is of this name and repository, else what `add` would store.
   * @throws {Conflict} when that one has another base branch @throws {Unprocessable} when the repository cannot be read
   */
  async named(wanted: NewProject): Promise<NamedProject> {
    const existing = await this.#options.store.findProject(wanted.repository, wanted.name);
    if (existing) {
      if (wanted.baseBranch === undefined || wanted.baseBranch === existing.baseBranch)
        return { project: existing, isKnown: true };
      throw new Conflict(
        `Project '${existing.name}' (${existing.id}) already exists with base branch '${existing.baseBranch}'; choose the base branch per run with config.git.baseBranch.`,
      );
    }
    const { baseBranch } = await this.#options.repository.inspectRemote(wanted.repository, wanted.baseBranch);
    const project: Project = {
      id: `${slugOf(wanted.name)}-${randomName(6)}`,
      name: wanted.name,
      repository: wanted.repository,
      baseBranch,
      createdAt: this.#options.now().toISOString(),
    };
    return { project, isKnown: false };
  }

  async isStored(id: string): Promise<boolean> {
    return (await this.#options.store.getProject(id)) !== null;
  }

  /** Stores a project. @returns false when another request has added one of this name and repository meanwhile */
  async add(project: Project): Promise<boolean> {
    try {
      await this.#options.store.saveProject(project);
      return true;
    } catch (error) {
      if (error instanceof Conflict) return false;
      throw error;
    }
  }

  /** Removes a project; one that has runs stays. */
  async remove(id: string): Promise<void> {
    await this.#options.store.removeProject(id);
  }

  async list(cursor: string | undefined, limit: number): Promise<Page<Project>> {
    const page = await this.#options.store.listProjects(cursor, limit);
    return { ...page, items: page.items.map((project) => this.#withNotices(project)) };
  }

  /** One project with its notices. @throws {NotFound} */
  async get(id: string): Promise<Project> {
    return this.#withNotices(await this.of(id));
  }

  /** One project as it is stored. @throws {NotFound} */
  async of(id: string): Promise<Project> {
    const project = await this.#options.store.getProject(id);
    if (!project) throw new NotFound(`There is no project '${id}'. Create it with POST /api/projects.`);
    return project;
  }

  #withNotices(project: Project): Project {
    const notices = this.#options.noticesOf(project);
    return notices.length === 0 ? project : { ...project, notices };
  }
}
