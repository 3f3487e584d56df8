/** Results of runs as they are in git: artifacts and changes. */
import { type ArtifactContent, NotFound, type RunDiff } from '@autonomous/shared';
import type { Engine } from '../engine/engine.ts';
import type { Repository } from '../repository/repository.ts';
import type { Projects } from './projects.ts';

export interface RunResultsOptions {
  readonly engine: Pick<Engine, 'view'>;
  readonly repository: Pick<Repository, 'diff' | 'readFile'>;
  readonly projects: Pick<Projects, 'of'>;
}

export class RunResults {
  readonly #options: RunResultsOptions;

  constructor(options: RunResultsOptions) {
    this.#options = options;
  }

  /** One artifact with its content, from git. @throws {NotFound} */
  async artifact(runId: string, artifactId: string): Promise<ArtifactContent> {
    const view = await this.#options.engine.view(runId);
    const artifact = view.artifacts.find((candidate) => candidate.id === artifactId);
    if (!artifact) throw new NotFound(`Run ${runId} has no artifact '${artifactId}'.`);
    const project = await this.#options.projects.of(view.projectId);
    const commit = artifact.commitSha ?? view.headCommit ?? '';
    const content = artifact.gitPath
      ? await this.#options.repository.readFile(project, commit, artifact.gitPath)
      : (await this.#options.repository.diff(project, view.baseCommit ?? commit, commit)).patch;
    if (content === null) throw new NotFound(`The repository has no ${artifact.gitPath} at ${commit}.`);
    return { ...artifact, content };
  }

  /** The difference to the base commit. @throws {NotFound} */
  async diff(runId: string): Promise<RunDiff> {
    const view = await this.#options.engine.view(runId);
    const from = view.baseCommit ?? '';
    const to = view.headCommit ?? from;
    if (from === '' || from === to) return { from, to, files: [], patch: '', truncated: false };
    return this.#options.repository.diff(await this.#options.projects.of(view.projectId), from, to);
  }
}
