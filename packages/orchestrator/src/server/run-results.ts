/** Results of runs as they are in git: artifacts and changes. */
import {
  allOwnedPaths,
  type Artifact,
  type ArtifactContent,
  documentInfoOf,
  NotFound,
  type RunDiff,
  type RunView,
} from '@autonomous/shared';
import type { WorkflowRegistry } from '../core/registry.ts';
import type { Engine } from '../engine/engine.ts';
import type { Repository } from '../repository/repository.ts';
import type { Projects } from './projects.ts';
import type { DescribedWorkflow } from './workflow-descriptions.ts';

export interface RunResultsOptions {
  readonly engine: Pick<Engine, 'view'>;
  readonly repository: Pick<Repository, 'diff' | 'readBytes' | 'readFile'>;
  readonly workflows: Pick<WorkflowRegistry, 'latest'>;
  /** Describes a workflow of the registry. */
  readonly describeWorkflow: (name: string) => DescribedWorkflow;
  readonly projects: Pick<Projects, 'of'>;
}

/** As much as the compilation of a report gives. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

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
    if (artifact.gitPath !== undefined && this.#isFile(view, artifact)) {
      const bytes = await this.#options.repository.readBytes(project, commit, artifact.gitPath, MAX_FILE_BYTES);
      if (bytes === null) throw new NotFound(`The repository has no ${artifact.gitPath} at ${commit}.`);
      return { ...artifact, content: Buffer.from(bytes).toString('base64'), encoding: 'base64' };
    }
    const content = artifact.gitPath
      ? await this.#options.repository.readFile(project, commit, artifact.gitPath)
      : (await this.#options.repository.diff(project, view.baseCommit ?? commit, commit)).patch;
    if (content === null) throw new NotFound(`The repository has no ${artifact.gitPath} at ${commit}.`);
    return { ...artifact, content };
  }

  /** Is the artifact a file that is no text? */
  #isFile({ workflow: { name } }: RunView, { type }: Artifact): boolean {
    const { workflows, describeWorkflow } = this.#options;
    const workflow = workflows.latest(name) === undefined ? undefined : describeWorkflow(name);
    return documentInfoOf(workflow, type).drawnAs === 'pdf';
  }

  /** The difference to the base commit. @throws {NotFound} */
  async diff(runId: string): Promise<RunDiff> {
    const view = await this.#options.engine.view(runId);
    const from = view.baseCommit ?? '';
    const to = view.headCommit ?? from;
    if (from === '' || from === to) return { from, to, files: [], patch: '', truncated: false };
    const project = await this.#options.projects.of(view.projectId);
    return this.#options.repository.diff(project, from, to, { engineWritten: engineWrittenOf(view) });
  }
}

/** Records, memory and engine-owned files. Where such a file is the run's result, a person decides on it as on an agent's. */
function engineWrittenOf({ ownedFiles }: RunView): readonly string[] {
  const results = ownedFiles?.results ?? [];
  return [
    '.autonomous/runs',
    '.autonomous/memory.md',
    ...allOwnedPaths(ownedFiles).filter((path) => !results.includes(path)),
  ];
}
