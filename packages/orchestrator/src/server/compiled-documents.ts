/** Documents of runs as PDFs, compiled on request from the text that a run's branch has now. */
import {
  type Artifact,
  type CompiledDocument,
  Conflict,
  documentInfoOf,
  InvalidRequest,
  NeedsHuman,
  NotFound,
  RetryableFailure,
  type RunView,
  Unavailable,
  Unprocessable,
  wordsOf,
} from '@autonomous/shared';
import { isAmong, pathsIn } from '../path-rules/sorted-paths.ts';
import type { LatexFile, LatexOutcome } from '../activities/compile-latex.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import type { Engine } from '../engine/engine.ts';
import type { Repository } from '../repository/repository.ts';
import type { Projects } from './projects.ts';
import type { DescribedWorkflow } from './workflow-descriptions.ts';

/** Compiles files by LaTeX where commands run. @param main name of the one that is compiled */
export type CompileDocument = (main: string, files: readonly LatexFile[]) => Promise<LatexOutcome>;

export interface CompiledDocumentsOptions {
  readonly engine: Pick<Engine, 'view'>;
  readonly repository: Pick<Repository, 'listFiles' | 'readFiles'>;
  readonly workflows: Pick<WorkflowRegistry, 'latest'>;
  readonly describeWorkflow: (name: string) => DescribedWorkflow;
  readonly projects: Pick<Projects, 'of'>;
  readonly compile: CompileDocument;
}

/** Requests that wait for a compilation, which takes some seconds of one processor. */
const MOST_WAITING = 5;
const MOST_ERRORS = 20;
const MAX_FILE_BYTES = 4 * 1024 * 1024;

interface Text {
  /** Artifact type. */
  readonly type: string;
  /** Its title within a sentence. */
  readonly words: string;
}

interface Source {
  /** Artifact of the document as text. */
  readonly artifact: Artifact;
  readonly commit: string;
  /** Path of the LaTeX file. */
  readonly tex: string;
}

/** One document is compiled at a time, and who asks for the same one meanwhile gets the same answer. */
export class CompiledDocuments {
  readonly #options: CompiledDocumentsOptions;
  readonly #underWay = new Map<string, Promise<CompiledDocument>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: CompiledDocumentsOptions) {
    this.#options = options;
  }

  /**
   * @param document artifact type of the PDF. Default: the only one that the run's workflow has
   * @throws {NotFound | InvalidRequest | Conflict | Unavailable}
   */
  async compile(runId: string, document?: string): Promise<CompiledDocument> {
    const view = await this.#options.engine.view(runId);
    const source = sourceOf(view, this.#textOf(view, document));
    const key = `${view.projectId} ${source.commit} ${source.tex}`;
    const same = this.#underWay.get(key);
    if (same !== undefined) return same;
    if (this.#underWay.size >= MOST_WAITING)
      throw new Unavailable(`${MOST_WAITING} documents are being compiled already. Ask again in a minute.`);
    const work = this.#last.then(() => this.#compiled(view, source));
    this.#underWay.set(key, work);
    this.#last = work.catch(() => {});
    try {
      return await work;
    } finally {
      this.#underWay.delete(key);
    }
  }

  /** The text that a PDF is compiled from. */
  #textOf({ id, workflow: { name } }: RunView, document: string | undefined): Text {
    const { workflows, describeWorkflow } = this.#options;
    const documents = workflows.latest(name) === undefined ? {} : describeWorkflow(name).documents;
    const compilable = Object.entries(documents).flatMap(([type, { compiledFrom }]) =>
      compiledFrom === undefined ? [] : [{ type, compiledFrom }],
    );
    if (compilable.length === 0)
      throw new NotFound(`Run ${id} has nothing to compile: the workflow '${name}' writes no LaTeX.`);
    const types = compilable.map(({ type }) => type).join(', ');
    if (document === undefined && compilable.length > 1)
      throw new InvalidRequest(`Run ${id} has several PDFs. Name one of them: ${types}.`);
    const chosen = document === undefined ? compilable[0] : compilable.find(({ type }) => type === document);
    if (chosen === undefined)
      throw new InvalidRequest(`'${document}' is no PDF of the workflow '${name}'. It has: ${types}.`);
    const type = chosen.compiledFrom;
    return { type, words: wordsOf(documentInfoOf({ documents }, type).title) };
  }

  async #compiled(view: RunView, { artifact, commit, tex }: Source): Promise<CompiledDocument> {
    const { repository, projects, compile } = this.#options;
    const project = await projects.of(view.projectId);
    const folder = tex.slice(0, tex.lastIndexOf('/') + 1);
    const all = await repository.listFiles(project, commit);
    const bibliographies = pathsIn(all, folder.slice(0, -1)).filter((path) =>
      /^[^/]+\.bib$/.test(path.slice(folder.length)),
    );
    const paths = [tex, ...bibliographies];
    if (!isAmong(all, tex)) throw new NotFound(`The repository has no ${tex} at ${commit}.`);
    const texts = await repository.readFiles(project, commit, paths, MAX_FILE_BYTES);
    if (!texts.has(tex))
      throw new Unprocessable(`${tex} at ${commit} is no text of at most ${MAX_FILE_BYTES / 1024 / 1024} MB.`);
    const files = [...texts].map(([path, content]) => ({ name: path.slice(folder.length), content }));
    const main = tex.slice(folder.length);
    const about = { fileName: main.replace(/\.tex$/, '.pdf'), commit, version: artifact.version };
    const outcome = await compile(main, files).catch(inWords);
    switch (outcome.kind) {
      case 'compiled':
        return { ...about, outcome: 'compiled', pages: outcome.pages, content: outcome.pdf.toString('base64') };
      case 'absent':
        return { ...about, outcome: 'absent', missing: outcome.missing };
      case 'failed':
        return {
          ...about,
          outcome: 'failed',
          errors: outcome.errors
            .slice(0, MOST_ERRORS)
            .map(({ line, message }) => (line === null ? message : `line ${line}: ${message}`)),
        };
      default:
        return outcome satisfies never;
    }
  }
}

function sourceOf({ id, artifacts }: RunView, { type, words }: Text): Source {
  const artifact = artifacts.findLast((each) => each.type === type);
  const { gitPath, commitSha } = artifact ?? {};
  if (artifact === undefined || gitPath === undefined || commitSha === undefined)
    throw new Conflict(`Run ${id} has no ${words} yet: it is written at the end of each round. Ask again then.`);
  return { artifact, commit: commitSha, tex: gitPath.replace(/\.md$/, '.tex') };
}

/** The sandbox cannot be opened, or was lost. */
function inWords(error: unknown): never {
  if (!(error instanceof NeedsHuman || error instanceof RetryableFailure)) throw error;
  throw new Unavailable(`The document cannot be compiled now: ${error.message}`, { cause: error });
}
