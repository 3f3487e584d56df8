/** Starts runs and explorations, after all checks that are possible beforehand. */
import {
  type Caller,
  type Exploration,
  type Fault,
  InvalidRequest,
  type JsonObject,
  type NewExploration,
  type NewRun,
  type Project,
  type ProjectConfig,
  type RunConfig,
  type RunConfigRequest,
  type RunStart,
  type RunView,
  TREE_BUDGET_NAMES,
  Unavailable,
  Unprocessable,
  type WorkflowSummary,
} from '@autonomous/shared';
import { filledText } from '@autonomous/shared/presentation';
import { branchOfRun } from '../../documents/run-branch.ts';
import { ownedFilesOf, type WorkflowDefinition } from '../../core/definition.ts';
import type { WorkflowRegistry } from '../../core/registry.ts';
import { runIdOf } from '../../core/run-id.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { Models, Prices } from '../../models/model.ts';
import { RECORD_BRANCH, type Repository } from '../../repository/repository.ts';
import { type SharedFetches, StillFetching } from '../../repository/shared-fetches.ts';
import { Turns } from '../../repository/turns.ts';
import { readProjectConfig } from '../../run-config/project-config.ts';
import type { RunConfigPolicy } from '../../run-config/run-config-policy.ts';
import type { NamedProject, Projects } from '../projects.ts';
import { ownedFilesAtLaunch } from './owned-files.ts';
import {
  exclusiveInputOf,
  exclusiveKey,
  inputOf,
  refuseSharedInput,
  refuseTakenInput,
  sharesFiles,
} from './exclusive-input.ts';
import { newRunId } from '../run-ids.ts';
import { startCommand } from '../start-command.ts';
import { checkRunInput } from './run-input.ts';

export interface RunLauncherOptions {
  readonly engine: Pick<Engine, 'launch' | 'withPosition'>;
  readonly store: Pick<EventStore, 'listRuns' | 'loadView' | 'readHistory'>;
  readonly repository: Pick<Repository, 'inspectRemote' | 'readFile' | 'remoteHead' | 'removeMirror'>;
  readonly fetches: Pick<SharedFetches, 'fetch' | 'end'>;
  readonly workflows: WorkflowRegistry;
  readonly describeWorkflow: (name: string) => Pick<WorkflowSummary, 'isChildOnly'>;
  /** Workflow of a request that names none. Absent: each request has to name one. */
  readonly defaultWorkflow?: string | undefined;
  readonly projects: Pick<Projects, 'of' | 'named' | 'isStored' | 'add' | 'remove'>;
  readonly models: Pick<Models, 'check' | 'list'>;
  readonly prices: Prices;
  readonly runConfig: RunConfigPolicy;
  /** Takes known secrets and token patterns out of text. */
  readonly scrub: (text: string) => string;
}

/** A launch waits this long for its remote; then the run starts from what is known of it, and fetches by itself. */
const LAUNCH_PATIENCE_MS = 5_000;
/** A branch of this name leaves no room for those of runs and their record. */
const FOLDER_OF_BRANCHES = 'autonomous';
/** Without its first fetch nothing is known of a project; programs that ask wait for an answer for minutes. */
const FIRST_FETCH_PATIENCE_MS = 60_000;

const NO_MODEL = `No model can be used yet: no provider has a key, and no agent is ready. Give a key on the page Setup of the dashboard or with "${startCommand().program} keys set anthropic", or choose an agent there.`;

export class RunLauncher {
  readonly #options: RunLauncherOptions;
  /** Launches that name the same project. */
  readonly #turns = new Turns();
  /** Projects that launches under way would add, with how many do. */
  readonly #newProjects = new Map<Project, number>();

  constructor(options: RunLauncherOptions) {
    this.#options = options;
  }

  /** All faults of what a request asks for, by their paths in the request's body. */
  checkConfig(workflow: string, requested: RunConfigRequest): readonly Fault[] {
    const faults = this.#options.runConfig.check(workflow, requested);
    return faults.map((fault) => ({ ...fault, path: `config.${fault.path}` }));
  }

  /** Workflows that people may launch, in quotes. */
  #launchableNames(): readonly string[] {
    const { workflows, describeWorkflow } = this.#options;
    return workflows
      .list()
      .filter(({ name }) => !describeWorkflow(name).isChildOnly)
      .map(({ name }) => `'${name}'`);
  }

  /** Why people cannot launch a workflow; `null` where they can. */
  #whyNotLaunchable(name: string): string | null {
    const { workflows, describeWorkflow } = this.#options;
    const isThere = workflows.latest(name) !== undefined;
    if (isThere && !describeWorkflow(name).isChildOnly) return null;
    const why = isThere
      ? `Workflow '${name}' is started by runs of other workflows alone; launch one of`
      : `There is no workflow '${name}'; there are`;
    return `${why} ${this.#launchableNames().join(', ')}.`;
  }

  #workflowNamed({ workflow = this.#options.defaultWorkflow }: NewRun): string {
    if (workflow !== undefined) return workflow;
    const message = `names no workflow; name one of ${this.#launchableNames().join(', ')}.`;
    throw new InvalidRequest(`workflow: The request ${message}`, { faults: [{ path: 'workflow', message }] });
  }

  /** Checks the request itself, without its project. @throws {InvalidRequest} with every fault */
  #checkRequest(wanted: NewRun): { readonly definition: WorkflowDefinition; readonly input: JsonObject | undefined } {
    const name = this.#workflowNamed(wanted);
    const definition = this.#options.workflows.latest(name);
    const checked = checkRunInput(definition, wanted);
    const faults: Fault[] = [...this.checkConfig(name, wanted.config ?? {}), ...checked.faults];
    if (wanted.projectId !== undefined && wanted.project !== undefined)
      faults.push({ path: 'project', message: 'The request names a project by projectId as well. Leave one out.' });
    const message = this.#whyNotLaunchable(name);
    if (message !== null) faults.unshift({ path: 'workflow', message });
    if (!definition || faults.length > 0) {
      throw new InvalidRequest(faults.map((fault) => `${fault.path}: ${fault.message}`).join(' '), { faults });
    }
    return { definition, input: checked.input };
  }

  /**
   * Builds the start of a run after all checks that are possible beforehand.
   * @param added a project that is not stored yet, in place of the one that the request names
   */
  async #startOf(
    caller: Caller,
    wanted: NewRun,
    runId: string,
    { explorationId, added }: { readonly explorationId?: string; readonly added?: Project } = {},
  ): Promise<RunStart> {
    const { definition, input: asked } = this.#checkRequest(wanted);
    const { name } = definition;
    const requested = wanted.config ?? {};
    const known = wanted.projectId === undefined ? null : await this.#options.projects.of(wanted.projectId);
    const project = added ?? known;
    const { config, projectConfig } =
      project === null
        ? { ...this.#options.runConfig.resolve(name, null, requested), projectConfig: null }
        : await this.#configOf(project, requested, definition);
    const { baseBranch } = config.git;
    const input = withConfigured(definition, wanted, projectConfig) ?? asked;
    const ownedFiles =
      project === null
        ? undefined
        : await ownedFilesAtLaunch(this.#options.store, ownedFilesOf(definition, input), {
            results: definition.ownedResults,
            projectId: project.id,
            baseBranch,
            config: projectConfig,
          });
    if (project !== null) await this.refuseRecorded(project, runId);
    // The branch is named after the request, so what must not be kept goes first.
    const request = this.#options.scrub(requestOf(definition, wanted, input));
    return {
      projectId: project?.id ?? '',
      userId: caller.userId,
      workflow: { name, version: definition.version, fingerprint: definition.fingerprint },
      request,
      config,
      requestedConfig: requested,
      branch: project === null ? '' : branchOfRun(runId, request),
      ...(explorationId === undefined ? {} : { explorationId }),
      ...(input === undefined ? {} : { input }),
      ...(ownedFiles === undefined ? {} : { ownedFiles }),
    };
  }

  /**
   * The same idempotency key gives the same run id: where the database has lost the run, its branch and record are there.
   * @throws {Unprocessable}
   */
  async refuseRecorded(project: Project, runId: string): Promise<void> {
    const record = await this.#options.repository.remoteHead(project, RECORD_BRANCH);
    if (record === null) return;
    if ((await this.#options.repository.readFile(project, record, `.autonomous/runs/${runId}/context.json`)) === null)
      return;
    throw new Unprocessable(
      `Run ${runId} was already started with this Idempotency-Key: it is in the record of project '${project.name}' in git and not in this database, which is an older copy or was recreated. Restore the newest copy of the server's data folder, or send another key for another run.`,
      { extra: { runId } },
    );
  }

  refuseUnusableModels(workflow: string, config: RunConfig): void {
    const unusable = this.#options.runConfig.rolesOf(workflow).flatMap((role) => {
      const check = this.#options.models.check(config.modelRouting[role] ?? '');
      return check.ok ? [] : [{ role, path: `config.modelRouting.${role}`, message: check.message }];
    });
    if (unusable.length > 0) {
      if (this.#options.models.list({}).every(({ usable }) => !usable)) throw noModel(unusable.map(({ role }) => role));
      const messages = [...new Set(unusable.map((fault) => fault.message))];
      throw new Unprocessable(`The run has no usable model for every role: ${messages.join(' ')}`, {
        faults: unusable.map(({ path, message }) => ({ path, message })),
      });
    }
    this.#refuseUnknownPrices(workflow, config);
  }

  /** A budget in dollars cannot be enforced for models of unknown price. */
  #refuseUnknownPrices(workflow: string, config: RunConfig): void {
    const name = (['maxCostUsd', 'maxTreeCostUsd'] as const).find((budget) => config[budget] !== undefined);
    if (name === undefined) return;
    const unpriced = this.#options.runConfig.rolesOf(workflow).flatMap((role) => {
      const check = this.#options.models.check(config.modelRouting[role] ?? '');
      if (!check.ok || this.#options.prices.priceOf(check.id, { inputTokens: 1, outputTokens: 1 }) !== null) return [];
      const message = `The price of ${check.id} is not known.`;
      return [{ path: `config.modelRouting.${role}`, message }];
    });
    if (unpriced.length === 0) return;
    const messages = [...new Set(unpriced.map((fault) => fault.message))].join(' ');
    throw new Unprocessable(
      `The run may spend $${config[name]} (${name}), which cannot be watched: ${messages} Choose another model, set ${name === 'maxCostUsd' ? 'maxTokens' : 'maxTreeTokens'} instead of ${name}, or name the price in MODEL_PRICES of the server's environment.`,
      { faults: unpriced },
    );
  }

  /**
   * The configuration as it looks now; the run reads the project's own again when it begins.
   * @throws {Unprocessable} when the base branch does not exist or a model cannot be used
   */
  async #configOf(
    project: Project,
    requested: RunConfigRequest,
    definition: WorkflowDefinition,
  ): Promise<{ readonly config: RunConfig; readonly projectConfig: ProjectConfig | null }> {
    const branch = requested.git?.baseBranch ?? project.baseBranch;
    const base = await this.#baseOf(project, branch);
    const { config: projectConfig } = await readProjectConfig(this.#options.repository, project, base);
    const { config } = this.#options.runConfig.resolve(definition.name, projectConfig, requested);
    if (definition.needsProject) this.refuseUnusableModels(definition.name, config);
    return { config: { ...config, git: { ...config.git, baseBranch: branch } }, projectConfig };
  }

  /**
   * Newest known commit of a branch.
   * @throws {Unprocessable} when the remote has no such branch
   * @throws {Unavailable} when nothing of it is known yet
   */
  async #baseOf(project: Project, branch: string): Promise<string> {
    const { fetches, repository } = this.#options;
    // A remote that is away now may be back when the run begins; a server that stops is not.
    await fetches.fetch(project, LAUNCH_PATIENCE_MS, branch).catch((error: unknown) => {
      if (error instanceof Unavailable) throw error;
    });
    const known = await repository.remoteHead(project, branch);
    const isBlocked = (await repository.remoteHead(project, FOLDER_OF_BRANCHES)) !== null;
    if (known !== null && !isBlocked) return known;
    // Asks the remote itself, whose message names the branches that there are.
    await repository.inspectRemote(project.repository, branch);
    await fetches.fetch(project, FIRST_FETCH_PATIENCE_MS, branch).catch((cause: unknown) => {
      if (!(cause instanceof StillFetching)) throw cause;
      throw new Unavailable(
        `The first fetch of ${project.repository} takes more than ${FIRST_FETCH_PATIENCE_MS / 1_000} seconds and goes on. Launch again in a while.`,
        { cause },
      );
    });
    const fetched = await repository.remoteHead(project, branch);
    if (fetched === null) throw new Unprocessable(`The repository ${project.repository} has no branch '${branch}'.`);
    return fetched;
  }

  /**
   * Starts a run. The same idempotency key gives the same run.
   * @throws {InvalidRequest} with every fault of the request @throws {Unprocessable}
   */
  async launch(caller: Caller, wanted: NewRun, key?: string): Promise<RunView> {
    const runId = key === undefined ? newRunId() : runIdOf(key);
    const existing = await this.#options.store.loadView(runId);
    if (existing) return existing;
    if (wanted.project === undefined)
      return this.#begin(runId, await this.#startOf(caller, wanted, runId), caller.request);
    this.#checkRequest(wanted);
    for (;;) {
      const named = await this.#options.projects.named(wanted.project);
      const view = await this.#launchAt(caller, wanted, runId, this.#newOnce(named));
      if (view !== null) return view;
    }
  }

  /** Launches at one new project have one mirror and one first fetch. */
  #newOnce({ project, isKnown }: NamedProject): NamedProject {
    const { name, repository, baseBranch } = project;
    const same = [...this.#newProjects.keys()].find(
      (each) => each.name === name && each.repository === repository && each.baseBranch === baseBranch,
    );
    return { project: (!isKnown && same) || project, isKnown };
  }

  /**
   * Launches at a project, which is added when it is not stored. Nothing of it stays when the run is refused.
   * @returns `null` when another request has added or removed the project meanwhile
   */
  async #launchAt(
    caller: Caller,
    wanted: NewRun,
    runId: string,
    { project, isKnown }: NamedProject,
  ): Promise<RunView | null> {
    const { projects, repository, fetches } = this.#options;
    if (!isKnown) this.#newProjects.set(project, (this.#newProjects.get(project) ?? 0) + 1);
    try {
      const start = await this.#startOf(caller, wanted, runId, { added: project });
      // A launch that has found a project begins its run before or after the project is removed again, and not meanwhile.
      return await this.#turns.take(JSON.stringify([project.repository, project.name]), async () => {
        if (!(isKnown ? await projects.isStored(project.id) : await projects.add(project))) return null;
        try {
          return await this.#begin(runId, start, caller.request);
        } finally {
          // The run may be that of another request with the same idempotency key, or there may be none.
          if (!isKnown) await projects.remove(project.id);
        }
      });
    } catch (error) {
      // The next launch finds what its first fetch has brought by then.
      if (!isKnown && error instanceof Unavailable && error.cause instanceof StillFetching) await projects.add(project);
      throw error;
    } finally {
      const others = (this.#newProjects.get(project) ?? 0) - 1;
      if (others > 0) this.#newProjects.set(project, others);
      else this.#newProjects.delete(project);
      if (others === 0 && !isKnown && !(await projects.isStored(project.id))) {
        await fetches.end(project);
        await repository.removeMirror(project);
      }
    }
  }

  /** Starts a run. Launches with the same exclusive input come one after the other. @throws {Conflict} while a run has that input */
  async #begin(runId: string, start: RunStart, request?: Caller['request']): Promise<RunView> {
    const { engine, store, workflows } = this.#options;
    const definition = workflows.latest(start.workflow.name);
    const exclusive = definition === undefined ? null : exclusiveInputOf(definition, start.input);
    if (definition === undefined || exclusive === null) return engine.launch(runId, start, request);
    return this.#turns.take(exclusiveKey(start, exclusive), async () => {
      await refuseTakenInput(store, definition, runId, start);
      return engine.launch(runId, start, request);
    });
  }

  /**
   * Starts a fork. Where runs with the same input would write the same files of the base, the run that it comes from has to be over.
   * @throws {Conflict} while a run has that input
   */
  async beginFork<Begun>(
    definition: WorkflowDefinition,
    runId: string,
    source: Pick<RunView, 'id' | 'projectId' | 'workflow'>,
    begin: () => Promise<Begun>,
  ): Promise<Begun> {
    if (!sharesFiles(definition)) return begin();
    const { projectId, workflow } = source;
    const launched = { projectId, workflow, input: await inputOf(this.#options.store, source.id) };
    const exclusive = exclusiveInputOf(definition, launched.input);
    if (exclusive === null) return begin();
    return this.#turns.take(exclusiveKey(launched, exclusive), async () => {
      await refuseTakenInput(this.#options.store, definition, runId, launched);
      return begin();
    });
  }

  /** Starts several runs of the same work side by side. @throws {InvalidRequest} @throws {Unprocessable} */
  async explore(caller: Caller, wanted: NewExploration, key?: string): Promise<Exploration> {
    const seed = key ?? newRunId();
    const id = `x-${runIdOf(`${seed}/exploration`)}`;
    // All variants are checked before the first is started, so that nothing is half-made.
    const starts: { readonly runId: string; readonly start: RunStart }[] = [];
    const runIds = wanted.variants.map((_, index) => runIdOf(`${seed}/${index}`));
    // One that was asked for before may have begun: what is checked before a start does not count for it any more.
    const begun = new Map<string, RunView>();
    for (const runId of key === undefined ? [] : runIds) {
      const view = await this.#options.store.loadView(runId);
      if (view !== null) begun.set(runId, this.#options.engine.withPosition(view));
    }
    for (const [index, variant] of wanted.variants.entries()) {
      const runId = runIds[index] ?? '';
      if (begun.has(runId)) continue;
      const run = { ...variant, projectId: wanted.projectId, workflow: wanted.workflow };
      starts.push({ runId, start: await this.#startOf(caller, run, runId, { explorationId: id }) });
    }
    refuseDifferentTrees(starts.map(({ start }) => start.config));
    for (const { runId, start } of starts) {
      const definition = this.#options.workflows.latest(start.workflow.name);
      if (definition === undefined) continue;
      refuseSharedInput(definition, start, starts);
      await refuseTakenInput(this.#options.store, definition, runId, start);
    }
    for (const { runId, start } of starts) begun.set(runId, await this.#begin(runId, start));
    return { id, runs: runIds.flatMap((runId) => begun.get(runId) ?? []) };
  }
}

/** One fault for all roles, which it names. */
function noModel(roles: readonly string[]): Unprocessable {
  const message = `${NO_MODEL} Roles without a model: ${roles.join(', ')}.`;
  return new Unprocessable(message, { faults: [{ path: 'config.modelRouting', message }] });
}

/**
 * The input with what the project's configuration gives for fields that the request leaves out.
 * @returns `undefined` where it gives nothing
 * @throws {Unprocessable} when the workflow cannot take that
 */
function withConfigured(
  definition: WorkflowDefinition,
  wanted: NewRun,
  config: ProjectConfig | null,
): JsonObject | undefined {
  const configured = config === null ? undefined : definition.configuredInput?.(config);
  if (configured === undefined || Object.keys(configured).length === 0) return undefined;
  const { input, faults } = checkRunInput(definition, { ...wanted, input: { ...configured, ...wanted.input } });
  if (faults.length === 0) return input;
  const messages = faults.map(({ path, message }) => `${path}: ${message}`).join(' ');
  throw new Unprocessable(`The project's configuration does not fit workflow '${definition.name}': ${messages}`, {
    faults,
  });
}

/** The words of a request without blanks around them; without words those that the workflow makes of its input. */
function requestOf({ defaultRequest }: WorkflowDefinition, { request = '' }: NewRun, input: JsonObject = {}): string {
  const words = request.trim();
  return words === '' && defaultRequest !== undefined ? filledText(defaultRequest, input) : words;
}

/** The budgets of a tree are its own: all its runs begin with the same. @throws {InvalidRequest} */
function refuseDifferentTrees(configs: readonly RunConfig[]): void {
  const faults = configs.flatMap((config, index) =>
    TREE_BUDGET_NAMES.filter((name) => config[name] !== configs[0]?.[name]).map((name) => ({
      path: `variants.${index}.config.${name}`,
      message: `The runs of an exploration share ${name}: it has to be the same in each, and is ${configs[0]?.[name] ?? 'absent'} and ${config[name] ?? 'absent'}.`,
    })),
  );
  if (faults.length > 0) throw new InvalidRequest(faults.map(({ message }) => message).join(' '), { faults });
}
