/** The API's meaning: commands become signals to the engine, reads come from the store and from git. */
import { randomInt } from 'node:crypto';
import {
  BUDGET_NAMES,
  type BudgetChange,
  type Caller,
  Conflict,
  type Exploration,
  type Fault,
  type FilesTaken,
  type Gate,
  type GateDecision,
  type GateInfo,
  gateInfoOf,
  hashesOf,
  InvalidRequest,
  type JsonObject,
  type ModelSummary,
  missingOf,
  movedOf,
  type NewExploration,
  type NewProject,
  type NewRun,
  NotFound,
  type Orchestrator,
  type Page,
  type Project,
  type Question,
  type RetriedGate,
  type RunConfig,
  type RunConfigRequest,
  type RunStart,
  type RunView,
  toProblem,
  TREE_BUDGET_NAMES,
  treeBudgetsOf,
  Unprocessable,
  usedUpBudget,
  usedUpTreeBudget,
  vouches,
  withBudgets,
} from '@autonomous/shared';
import { slugOf } from '../artifacts/slug.ts';
import type { Engine } from '../engine/engine.ts';
import { changed, incomplete, otherGate } from '../engine/shown-gate.ts';
import type { Transcripts } from '../engine/transcripts.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Models, Prices } from '../models/model.ts';
import { RECORD_BRANCH, type Repository } from '../repository/repository.ts';
import type { SandboxProvider } from '../sandboxes/sandbox.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import { RUN_ID_ALPHABET, runIdOf } from '../core/run-id.ts';
import { parseProjectConfig } from '../run-config/run-config.ts';
import type { RunConfigPolicy } from '../run-config/run-config-policy.ts';
import { metricsOf, metricsRange } from './metrics.ts';
import { createReviewComments, withComments } from './review-comments.ts';
import { checkRunInput } from './run-input.ts';
import { describeTakenFiles, takenFiles } from './taken-files.ts';
import { createTimeTravel } from './time-travel.ts';
import type { Uploads } from './uploads.ts';
import { type DescribedWorkflow, detailsOf, summaryOf } from './workflow-descriptions.ts';

export interface ServiceOptions {
  readonly engine: Engine;
  readonly store: EventStore;
  readonly repository: Repository;
  readonly workflows: WorkflowRegistry;
  /** Default model by role. */
  readonly defaultModels: Readonly<Record<string, string>>;
  /** Describes a workflow of the registry. */
  describeWorkflow(name: string): DescribedWorkflow;
  /** Workflow of a request that names none. Absent: each request has to name one. */
  readonly defaultWorkflow?: string;
  readonly models: Models;
  readonly prices: Prices;
  readonly sandboxes: SandboxProvider;
  readonly uploads: Uploads;
  readonly transcripts: Transcripts;
  readonly now: () => Date;
  /** Why nothing can be stored now, in words; `null` while storing works. */
  whyNotStorable(): Promise<string | null>;
  /** Damage that was found in the database's file since the start; `null` when none was. */
  damage(): string | null;
  /** Sentences about runs and events that the record in git has and the database does not. */
  readonly record: {
    /** Of all projects that were compared. */
    notices(): readonly string[];
    /** Of one project, which is compared in the background when it is new. */
    noticesOf(project: Project): readonly string[];
  };
  /** Takes known secrets and token patterns out of text. */
  scrub(text: string): string;
  readonly runConfig: RunConfigPolicy;
}

const DAMAGED = 'The database has damaged pages. The log names them; restore a copy.';
const BEHIND_GIT =
  'Git has runs or events that the database does not have, or could not be asked. The log, the notices of projects and `autonomous doctor` name them.';
const DEFAULT_PAGE = 50;
const GATES = 'POST /api/gates/:id/decision';
/** Signals that a person gives by a route of their own, which knows the gate and what has to be said at it. */
const OWN_ROUTES: Readonly<Record<string, string>> = {
  APPROVAL_GRANTED: GATES,
  APPROVAL_REJECTED: GATES,
  CLARIFICATION_ANSWERED: GATES,
  CLARIFICATION_IGNORED: GATES,
  QUESTION_ASKED: GATES,
  FIX_DECIDED: GATES,
  RETRY_REQUESTED: GATES,
  STAGE_EXTENDED: 'POST /api/runs/:id/extend',
  BUDGET_CHANGED: 'POST /api/runs/:id/extend',
  MESSAGE_SENT: 'POST /api/runs/:id/message',
  RUN_CANCELLED: 'POST /api/runs/:id/cancel',
};
/** Events that open a gate, which is named after its event. */
const GATE_EVENTS: ReadonlySet<string> = new Set(['APPROVAL_REQUESTED', 'CLARIFICATION_REQUESTED', 'RUN_PAUSED']);
/** A launch waits this long for its remote; then the run starts from what is known of it, and fetches by itself. */
const LAUNCH_PATIENCE_MS = 5_000;

export function createOrchestrator(options: ServiceOptions): Orchestrator {
  const { engine, store, repository, workflows, models, runConfig, sandboxes, uploads, transcripts } = options;

  const projectOf = async (id: string): Promise<Project> => {
    const project = await store.getProject(id);
    if (!project) throw new NotFound(`There is no project '${id}'. Create it with POST /api/projects.`);
    return project;
  };

  /** With what is known of its record now. */
  const withNotices = (project: Project): Project => {
    const notices = options.record.noticesOf(project);
    return notices.length === 0 ? project : { ...project, notices };
  };

  const createProject = async (_caller: Caller, wanted: NewProject): Promise<Project> => {
    const existing = await store.findProject(wanted.repository, wanted.name);
    if (existing) {
      if (wanted.baseBranch === undefined || wanted.baseBranch === existing.baseBranch) return existing;
      throw new Conflict(
        `Project '${existing.name}' (${existing.id}) already exists with base branch '${existing.baseBranch}'; choose the base branch per run with config.git.baseBranch.`,
      );
    }
    const { baseBranch } = await repository.inspectRemote(wanted.repository, wanted.baseBranch);
    const project: Project = {
      id: `${slugOf(wanted.name)}-${randomName(6)}`,
      name: wanted.name,
      repository: wanted.repository,
      baseBranch,
      createdAt: options.now().toISOString(),
    };
    await store.saveProject(project);
    return withNotices(project);
  };

  const checkConfig = (workflow: string, requested: RunConfigRequest): readonly Fault[] =>
    runConfig.check(workflow, requested).map((fault) => ({ ...fault, path: `config.${fault.path}` }));

  const workflowNamed = ({ workflow = options.defaultWorkflow }: NewRun): string => {
    if (workflow !== undefined) return workflow;
    const known = workflows.list().map(({ name }) => `'${name}'`);
    const message = `names no workflow; name one of ${known.join(', ')}.`;
    throw new InvalidRequest(`workflow: The request ${message}`, { faults: [{ path: 'workflow', message }] });
  };

  /** Builds the start of a run after all checks that are possible beforehand. */
  const startOf = async (caller: Caller, wanted: NewRun, runId: string, explorationId?: string): Promise<RunStart> => {
    const name = workflowNamed(wanted);
    const definition = workflows.latest(name);
    const requested = wanted.config ?? {};
    const checked = checkRunInput(definition, wanted);
    const faults: Fault[] = [...checkConfig(name, requested), ...checked.faults];
    if (!definition) {
      const known = workflows.list().map((workflow) => `'${workflow.name}'`);
      faults.unshift({ path: 'workflow', message: `There is no workflow '${name}'; there is ${known.join(', ')}.` });
    }
    if (!definition || faults.length > 0) {
      throw new InvalidRequest(faults.map((fault) => `${fault.path}: ${fault.message}`).join(' '), { faults });
    }
    const project = wanted.projectId === undefined ? null : await projectOf(wanted.projectId);
    const { config } =
      project === null ? runConfig.resolve(name, null, requested) : await configOf(project, requested, definition);
    if (project !== null) await refuseRecorded(project, runId);
    // The branch is named after the request, so what must not be kept goes first.
    const request = options.scrub((wanted.request ?? '').trim());
    return {
      projectId: project?.id ?? '',
      userId: caller.userId,
      workflow: { name, version: definition.version, fingerprint: definition.fingerprint },
      request,
      config,
      requestedConfig: requested,
      branch: project === null ? '' : `autonomous/${runId}-${slugOf(request)}`,
      ...(explorationId === undefined ? {} : { explorationId }),
      ...(checked.input === undefined ? {} : { input: checked.input }),
    };
  };

  /**
   * The same idempotency key gives the same run id: where the database has lost the run, its branch and record are there.
   * @throws {Unprocessable}
   */
  const refuseRecorded = async (project: Project, runId: string): Promise<void> => {
    const record = await repository.remoteHead(project, RECORD_BRANCH);
    if (record === null) return;
    if ((await repository.readFile(project, record, `.autonomous/runs/${runId}/context.json`)) === null) return;
    throw new Unprocessable(
      `Run ${runId} was already started with this Idempotency-Key: it is in the record of project '${project.name}' in git and not in this database, which is an older copy or was recreated. Restore the newest copy of the server's data folder, or send another key for another run.`,
      { extra: { runId } },
    );
  };

  const refuseUnusableModels = (workflow: string, config: RunConfig): void => {
    const unusable = runConfig.rolesOf(workflow).flatMap((role) => {
      const check = models.check(config.modelRouting[role] ?? '');
      return check.ok ? [] : [{ path: `config.modelRouting.${role}`, message: check.message }];
    });
    if (unusable.length > 0) {
      const messages = [...new Set(unusable.map((fault) => fault.message))];
      throw new Unprocessable(`The run has no usable model for every role: ${messages.join(' ')}`, {
        faults: unusable,
      });
    }
    refuseUnknownPrices(workflow, config);
  };

  /** A budget in dollars cannot be enforced for models of unknown price. */
  const refuseUnknownPrices = (workflow: string, config: RunConfig): void => {
    const name = (['maxCostUsd', 'maxTreeCostUsd'] as const).find((budget) => config[budget] !== undefined);
    if (name === undefined) return;
    const unpriced = runConfig.rolesOf(workflow).flatMap((role) => {
      const check = models.check(config.modelRouting[role] ?? '');
      if (!check.ok || options.prices.priceOf(check.id, { inputTokens: 1, outputTokens: 1 }) !== null) return [];
      const message = `The price of ${check.id} is not known.`;
      return [{ path: `config.modelRouting.${role}`, message }];
    });
    if (unpriced.length === 0) return;
    const messages = [...new Set(unpriced.map((fault) => fault.message))].join(' ');
    throw new Unprocessable(
      `The run may spend $${config[name]} (${name}), which cannot be watched: ${messages} Choose another model, set ${name === 'maxCostUsd' ? 'maxTokens' : 'maxTreeTokens'} instead of ${name}, or name the price in MODEL_PRICES of the server's environment.`,
      { faults: unpriced },
    );
  };

  /**
   * The configuration as it looks now; the run reads the project's own again when it begins.
   * @throws {Unprocessable} when the base branch does not exist or a model cannot be used
   */
  const configOf = async (
    project: Project,
    requested: RunConfigRequest,
    definition: WorkflowDefinition,
  ): Promise<{ readonly config: RunConfig }> => {
    // A remote that is away now may be back when the run begins.
    await repository.fetch(project, AbortSignal.timeout(LAUNCH_PATIENCE_MS)).catch(() => undefined);
    const branch = requested.git?.baseBranch ?? project.baseBranch;
    const base = await repository.remoteHead(project, branch);
    if (base === null) {
      // Asks the remote itself, whose message names the branches that there are.
      await repository.inspectRemote(project.repository, branch);
      throw new Unprocessable(`The repository ${project.repository} has no branch '${branch}'.`);
    }
    const text = await repository.readFile(project, base, '.autonomous/config.json');
    const parsed = text === null ? null : parseProjectConfig(text);
    const { config } = runConfig.resolve(definition.name, parsed?.ok ? parsed.config : null, requested);
    if (definition.needsProject) refuseUnusableModels(definition.name, config);
    return { config: { ...config, git: { ...config.git, baseBranch: branch } } };
  };

  const launchRun = async (caller: Caller, wanted: NewRun, key?: string): Promise<RunView> => {
    const runId = key === undefined ? newRunId() : runIdOf(key);
    const existing = await store.loadView(runId);
    if (existing) return existing;
    return engine.launch(runId, await startOf(caller, wanted, runId), caller.request);
  };

  /** The budgets of a tree are its own: all its runs begin with the same. @throws {InvalidRequest} */
  const refuseDifferentTrees = (configs: readonly RunConfig[]): void => {
    const faults = configs.flatMap((config, index) =>
      TREE_BUDGET_NAMES.filter((name) => config[name] !== configs[0]?.[name]).map((name) => ({
        path: `variants.${index}.config.${name}`,
        message: `The runs of an exploration share ${name}: it has to be the same in each, and is ${configs[0]?.[name] ?? 'absent'} and ${config[name] ?? 'absent'}.`,
      })),
    );
    if (faults.length > 0) throw new InvalidRequest(faults.map(({ message }) => message).join(' '), { faults });
  };

  const explore = async (caller: Caller, wanted: NewExploration, key?: string): Promise<Exploration> => {
    const seed = key ?? newRunId();
    const id = `x-${runIdOf(`${seed}/exploration`)}`;
    // All variants are checked before the first is started, so that nothing is half-made.
    const starts: { readonly runId: string; readonly start: RunStart }[] = [];
    const runIds = wanted.variants.map((_, index) => runIdOf(`${seed}/${index}`));
    // One that was asked for before may have begun: what is checked before a start does not count for it any more.
    const begun = new Map<string, RunView>();
    for (const runId of key === undefined ? [] : runIds) {
      const view = await store.loadView(runId);
      if (view !== null) begun.set(runId, engine.withPosition(view));
    }
    for (const [index, variant] of wanted.variants.entries()) {
      const runId = runIds[index] ?? '';
      if (begun.has(runId)) continue;
      starts.push({ runId, start: await startOf(caller, { ...variant, projectId: wanted.projectId }, runId, id) });
    }
    refuseDifferentTrees(starts.map(({ start }) => start.config));
    for (const { runId, start } of starts) begun.set(runId, await engine.launch(runId, start));
    return { id, runs: runIds.flatMap((runId) => begun.get(runId) ?? []) };
  };

  const gateInfo = (workflow: string, kind: string): GateInfo =>
    gateInfoOf(workflows.latest(workflow) === undefined ? undefined : options.describeWorkflow(workflow), kind);

  /** @param view the run at its gate */
  const signalFor = async (caller: Caller, view: RunView, gate: Gate, decision: GateDecision) => {
    if (!gate.decisions.includes(decision.decision)) {
      throw new Conflict(
        `Gate ${gate.id} ('${gate.kind}') does not take '${decision.decision}'; it takes ${gate.decisions.join(', ')}.`,
      );
    }
    refuseUnseen(gate, decision);
    if (gate.reason === 'budget' && decision.decision === 'extend') {
      return { type: 'BUDGET_CHANGED', payload: { ...budgetsOf(decision), by: caller.userId } };
    }
    const take = await takenFiles(
      { repository, projectOf, view: (id) => engine.view(id), gateInfo },
      view,
      gate,
      decision,
    );
    const said = withComments(view, gate, decision);
    refuseMissingField(said, gate, gateInfo(view.workflow.name, gate.kind));
    const takes = workflows.find(view.workflow.name, view.workflow.version)?.signals ?? {};
    const { type, payload } = await signalOf(said, gate, uploads, take, takes);
    return { type, payload: { ...payload, by: caller.userId } };
  };

  /** @throws {InvalidRequest} when it names none, or they are beyond the server's limits */
  const budgetsOf = (decision: GateDecision): BudgetChange & JsonObject => {
    const change = present(Object.fromEntries(BUDGET_NAMES.map((name) => [name, decision[name]])));
    if (Object.keys(change).length === 0 || decision.minutes !== undefined) {
      const message = `For a budget 'extend' takes ${BUDGET_NAMES.join(', ')}, at least one of them, and no minutes.`;
      throw new InvalidRequest(message, { faults: [{ path: 'maxCostUsd', message }] });
    }
    const faults = runConfig.budgetFaults(change);
    if (faults.length > 0) throw new InvalidRequest(faults.map((fault) => fault.message).join(' '), { faults });
    return change;
  };

  /** @throws {InvalidRequest} when the run would stop at once for the same reason */
  const refuseSpent = async ({ id, config, cost }: RunView, change: BudgetChange): Promise<void> => {
    const tree = await engine.tree(id);
    const budgets = treeBudgetsOf(withBudgets(tree.budgets, change));
    const usedUp = usedUpBudget(withBudgets(config, change), cost) ?? usedUpTreeBudget({ ...tree, budgets });
    if (usedUp !== null)
      throw new InvalidRequest(`Run ${id} cannot resume with these budgets: ${usedUp.why}. Set a higher budget.`);
  };

  const decide = async (caller: Caller, runId: string, gate: Gate, decision: GateDecision): Promise<RunView> => {
    const view = await engine.view(runId);
    const { type, payload } = await signalFor(caller, view, gate, decision);
    if (type === 'BUDGET_CHANGED') await refuseSpent(view, payload);
    const { artifactHash, codeTree, concernsHash } = decision;
    const shown = { gateId: gate.id, artifactHash, codeTree, concernsHash };
    return engine.signal(runId, type, payload, shown, caller.request);
  };

  /** The run's open gate, where it is this one. @throws {Conflict} saying who decided it or that the run went on without it */
  const openGate = async (view: RunView, gateId: string): Promise<Gate> => {
    if (view.gate?.id === gateId) return view.gate;
    const sequence = Number(gateId.slice(view.id.length + 1));
    const isOf = gateId.startsWith(`${view.id}.`) && Number.isSafeInteger(sequence) && sequence > 0;
    const isKnown =
      view.gates.some((outcome) => outcome.gateId === gateId) ||
      (isOf && GATE_EVENTS.has((await store.readHistory(view.id, sequence - 1, 1))[0]?.type ?? ''));
    if (!isKnown) throw new NotFound(`Run ${view.id} has no gate '${gateId}'; it is ${view.status}.`);
    throw otherGate(view, gateId) ?? new Conflict(`Gate ${gateId} is not open.`);
  };

  const decideGate = async (caller: Caller, gateId: string, decision: GateDecision): Promise<RunView> => {
    const runId = gateId.slice(0, Math.max(0, gateId.lastIndexOf('.')));
    if (runId === '') throw new NotFound(`'${gateId}' is not the id of a gate.`);
    if (decision.gateId !== undefined && decision.gateId !== gateId) {
      const message = `names gate ${decision.gateId}, the path names ${gateId}`;
      throw new InvalidRequest(`The decision is of two gates: gateId ${message}.`, {
        faults: [{ path: 'gateId', message }],
      });
    }
    const gate = await openGate(await engine.view(runId), gateId);
    return decide(caller, runId, gate, { ...decision, gateId });
  };

  const decideOpenGate = async (caller: Caller, runId: string, decision: GateDecision): Promise<RunView> => {
    const view = await engine.view(runId);
    if (decision.gateId !== undefined) return decideGate(caller, gateOf(runId, decision.gateId), decision);
    // Budgets can be changed at any time, whatever the run waits for.
    const isBudget = decision.decision === 'extend' && BUDGET_NAMES.some((name) => decision[name] !== undefined);
    if (isBudget && view.gate?.reason !== 'budget') {
      const payload = { ...budgetsOf(decision), by: caller.userId };
      return engine.signal(runId, 'BUDGET_CHANGED', payload, undefined, caller.request);
    }
    if (view.gate) return decide(caller, runId, view.gate, decision);
    if (decision.decision === 'extend') {
      const payload = { by: caller.userId, minutes: minutesOf(decision) };
      return engine.signal(runId, 'STAGE_EXTENDED', payload, undefined, caller.request);
    }
    const last = view.gates.at(-1);
    const where = `it is ${view.status}${view.currentStage ? ` in stage ${view.currentStage}` : ''}`;
    throw new Conflict(
      `Run ${runId} has no open gate to ${decision.decision}; ${where}.${last ? ` The last one was decided: '${last.decision}' by ${last.by}.` : ''}`,
      { extra: last ? { winner: last as unknown as JsonObject } : {} },
    );
  };

  const timeTravel = createTimeTravel({
    engine,
    store,
    repository,
    workflows,
    scrub: (text) => options.scrub(text),
    runConfig,
    checkConfig,
    refuseUnusableModels,
    refuseRecorded,
    projectOf,
    signalFor,
    runIdFor: (key) => (key === undefined ? newRunId() : runIdOf(key)),
  });

  return {
    createProject,
    async listProjects({ cursor, limit }) {
      const page = await store.listProjects(cursor, limit ?? DEFAULT_PAGE);
      return { ...page, items: page.items.map(withNotices) };
    },
    getProject: async (id) => withNotices(await projectOf(id)),
    launchRun,
    explore,
    async listRuns(filter): Promise<Page<RunView>> {
      const page = await store.listRuns({ ...filter, limit: filter.limit ?? DEFAULT_PAGE });
      return { ...page, items: page.items.map((view) => engine.withPosition(view)) };
    },
    getRun: (id, at) => (at === undefined ? engine.view(id) : timeTravel.viewAt(id, at)),
    getRunTree: (id) => engine.tree(id),
    forkRun: (caller, id, fork, key) => timeTravel.fork(caller, id, fork, key),
    migrateRun: (caller, runId, to) => engine.migrate(runId, to, caller.userId, caller.request),
    async exportRun(runId) {
      if ((await store.tipOf(runId)) === null) throw new NotFound(`There is no run '${runId}'.`);
      return store.exportRun(runId);
    },
    async listEvents(runId, after, limit) {
      await engine.view(runId);
      return store.readHistory(runId, after, limit);
    },
    listArtifacts: async (runId) => (await engine.view(runId)).artifacts,
    async getArtifact(runId, artifactId) {
      const view = await engine.view(runId);
      const artifact = view.artifacts.find((candidate) => candidate.id === artifactId);
      if (!artifact) throw new NotFound(`Run ${runId} has no artifact '${artifactId}'.`);
      const project = await projectOf(view.projectId);
      const commit = artifact.commitSha ?? view.headCommit ?? '';
      const content = artifact.gitPath
        ? await repository.readFile(project, commit, artifact.gitPath)
        : (await repository.diff(project, view.baseCommit ?? commit, commit)).patch;
      if (content === null) throw new NotFound(`The repository has no ${artifact.gitPath} at ${commit}.`);
      return { ...artifact, content };
    },
    async getDiff(runId) {
      const view = await engine.view(runId);
      const from = view.baseCommit ?? '';
      const to = view.headCommit ?? from;
      if (from === '' || from === to) return { from, to, files: [], patch: '', truncated: false };
      return repository.diff(await projectOf(view.projectId), from, to);
    },
    async getTranscript(runId) {
      await engine.view(runId);
      return transcripts.read(runId);
    },
    getStatechart: (runId, at) => timeTravel.statechart(runId, at),
    async listGates(runId) {
      if (runId !== undefined) {
        const { gate } = await engine.view(runId);
        return gate ? [withHashes(gate)] : [];
      }
      return (await store.listGates()).map(withHashes);
    },
    listClarifications: (status) => store.listClarifications(status),
    decideGate,
    async retryGates(caller, gateIds): Promise<readonly RetriedGate[]> {
      const retried: RetriedGate[] = [];
      for (const gateId of new Set(gateIds)) {
        try {
          await decideGate(partOf(caller, gateId), gateId, { decision: 'retry' });
          retried.push({ gateId, retried: true });
        } catch (error) {
          const problem = toProblem(error);
          // A fault of the server or its disk would be the same for the other gates.
          if (problem.status >= 500) throw error;
          retried.push({ gateId, retried: false, detail: problem.detail });
        }
      }
      return retried;
    },
    decideOpenGate,
    ...createReviewComments({ engine }),
    cancelRun: (caller, runId, reason) => engine.cancel(runId, caller.userId, reason, caller.request),
    sendMessage: (caller, runId, text) =>
      engine.signal(runId, 'MESSAGE_SENT', { by: caller.userId, text }, undefined, caller.request),
    async sendSignal(caller, runId, { type, ...payload }) {
      const route = Object.hasOwn(OWN_ROUTES, type) ? OWN_ROUTES[type] : undefined;
      if (route !== undefined) {
        throw new InvalidRequest(
          `${type} is not accepted as a signal, because that would bypass its checks. Use ${route}.`,
        );
      }
      return engine.signal(runId, type, { ...payload, by: caller.userId }, undefined, caller.request);
    },
    upload: (name, content) => uploads.put(name, content),
    listWorkflows: async () =>
      workflows.list().map((definition) => summaryOf(definition, options.describeWorkflow(definition.name))),
    async getWorkflow(name) {
      const definition = workflows.latest(name);
      if (!definition) throw new NotFound(`There is no workflow '${name}'.`);
      return detailsOf(definition, options.describeWorkflow(name), workflows.versions(name));
    },
    async listModels(): Promise<readonly ModelSummary[]> {
      return models.list(options.defaultModels);
    },
    async getMetrics(wanted) {
      const range = metricsRange(wanted, options.now());
      const { begin, end } = range.range;
      const endedSince = new Date(begin).toISOString();
      const madeBefore = new Date(end).toISOString();
      return metricsOf(await store.summarizeRuns({ projectId: wanted.projectId, endedSince, madeBefore }), range);
    },
    async readiness() {
      const sandbox = await sandboxes.availability();
      const position = await store.lastPosition().then(
        (last) => ({ ok: true, detail: `${last} events` }),
        (error: unknown) => ({ ok: false, detail: error instanceof Error ? error.message : String(error) }),
      );
      const fault = await options.whyNotStorable();
      const checks = [
        { name: 'database', ...position },
        { name: 'storage', ok: fault === null, detail: fault ?? 'steps of runs can be stored' },
        {
          name: `sandbox (${sandboxes.name})`,
          ok: sandbox.ok,
          detail: sandbox.ok ? sandbox.detail : `${sandbox.reason} ${sandbox.mend}`,
        },
        ...(options.damage() === null ? [] : [{ name: 'database file', ok: false, detail: DAMAGED }]),
        // Anybody may read this: no project and no run is named.
        ...(options.record.notices().length === 0 ? [] : [{ name: 'record in git', ok: false, detail: BEHIND_GIT }]),
      ];
      // Without a sandbox runs pause, which the server still has to tell people.
      return { ready: position.ok && fault === null, checks };
    },
  };
}

/**
 * An approval or acceptance names the gate and the hashes that its surface showed. The gate's own id changes with what it shows,
 * so nothing can move between this look and the signal.
 * @throws {Stale} where what it shows is another by now @throws {InvalidRequest} where something is not named
 */
function refuseUnseen(gate: Gate, decision: GateDecision): void {
  const moved = movedOf(gate, decision);
  if (moved.length > 0) throw changed(gate, moved);
  const missing = vouches(decision.decision) ? missingOf(gate, decision) : [];
  if (missing.length > 0) throw incomplete(gate.runId, gate.id, missing);
}

/** The gate with the hash of its concerns, which a view that an earlier program stored does not have. */
function withHashes(gate: Gate): Gate {
  const { concernsHash } = hashesOf(gate);
  return concernsHash === undefined ? gate : { ...gate, concernsHash };
}

/** @throws {InvalidRequest} where the decision lacks the field that the workflow demands for it at this gate */
function refuseMissingField(decision: GateDecision, gate: Gate, { needs = {} }: GateInfo): void {
  const field = needs[decision.decision];
  if (field === undefined || field === 'response' || field === 'minutes') return; // `signalOf` knows what these hold
  if (decision.take !== undefined && gate.decisions.includes(decision.decision)) return;
  needed(decision[field], field, decision.decision);
}

/** The id of a gate that has to be one of this run's. @throws {NotFound} */
function gateOf(runId: string, gateId: string): string {
  if (gateId.startsWith(`${runId}.`)) return gateId;
  throw new NotFound(`Run ${runId} has no gate '${gateId}': it is one of another run.`);
}

/**
 * The signal that a decision is, with what the gate itself knows. At a gate of a failed result, where a person may accept it
 * or have it fixed, `retry` is a FIX_DECIDED.
 * @param signals that the run's workflow declares
 */
async function signalOf(
  decision: GateDecision,
  gate: Gate,
  uploads: Uploads,
  take: FilesTaken | undefined,
  signals: Readonly<Record<string, unknown>>,
): Promise<{ readonly type: string; readonly payload: JsonObject }> {
  switch (decision.decision) {
    case 'approve': {
      const { artifactHash, codeTree, notes, editedPlan } = decision;
      return {
        type: 'APPROVAL_GRANTED',
        payload: present({ gateId: gate.id, artifactHash, codeTree, notes, editedPlan }),
      };
    }
    case 'reject':
      return {
        type: 'APPROVAL_REJECTED',
        payload: present({
          gateId: gate.id,
          feedback:
            take === undefined ? needed(decision.feedback, 'feedback', 'reject') : textOr(decision.feedback, take),
          take: asJson(take),
        }),
      };
    case 'answer':
      return {
        type: 'CLARIFICATION_ANSWERED',
        payload: { gateId: gate.id, ...(await answerOf(decision.response, gate.question, uploads)) },
      };
    case 'ignore':
      return { type: 'CLARIFICATION_IGNORED', payload: { gateId: gate.id } };
    case 'ask':
      return {
        type: 'QUESTION_ASKED',
        payload: { gateId: gate.id, question: needed(decision.question, 'question', 'ask') },
      };
    case 'retry':
      return gate.kind !== 'pause' && Object.hasOwn(signals, 'FIX_DECIDED') && gate.decisions.includes('accept')
        ? {
            type: 'FIX_DECIDED',
            payload: present({
              gateId: gate.id,
              decision: 'retry',
              reason: take === undefined ? decision.notes : textOr(decision.notes, take),
              take: asJson(take),
              attempt: Number(gate.details['attempts'] ?? 0) + 1,
            }),
          }
        : { type: 'RETRY_REQUESTED', payload: present({ gateId: gate.id, notes: decision.notes }) };
    case 'accept': {
      const reason = needed(decision.reason, 'reason', 'accept');
      if (gate.kind === 'pause') return acceptanceOf(gate, decision, reason);
      const accepted = gate.details['accepts'];
      return {
        type: 'FIX_DECIDED',
        payload: present({
          gateId: gate.id,
          decision: 'accept',
          reason,
          accepted: Array.isArray(accepted) ? accepted : [],
        }),
      };
    }
    case 'extend':
      return { type: 'STAGE_EXTENDED', payload: { minutes: minutesOf(decision) } };
    default:
      return decision.decision satisfies never;
  }
}

/** At a pause nothing but concerns can be accepted, and exactly those that were shown. @throws {InvalidRequest} */
function acceptanceOf(gate: Gate, { artifactHash }: GateDecision, reason: string) {
  const accepts = needed(artifactHash, 'artifactHash', 'accept');
  return { type: 'RETRY_REQUESTED', payload: present({ gateId: gate.id, notes: reason, accepts }) };
}

/** The person's own words, or else a description of the files that they took. */
function textOr(words: string | undefined, take: FilesTaken): string {
  return words !== undefined && words.trim() !== '' ? words : describeTakenFiles(take);
}

/** It is JSON by its type; interfaces are no index types. */
function asJson(take: FilesTaken | undefined): JsonObject | undefined {
  return take as JsonObject | undefined;
}

/** An answer as its question wants it: text, one option, several, or files. */
async function answerOf(
  response: GateDecision['response'],
  question: Question | undefined,
  uploads: Uploads,
): Promise<JsonObject> {
  const given = response === undefined ? [] : typeof response === 'string' ? [response] : response;
  const values = given.map((value) => value.trim()).filter((value) => value !== '');
  const refuse = (message: string): never => {
    throw new InvalidRequest(message, { faults: [{ path: 'response', message }] });
  };
  if (values.length === 0) refuse('The answer is empty.');
  const options = question?.options ?? [];
  const unknown = values.filter((value) => !options.includes(value));
  switch (question?.responseType ?? 'text') {
    case 'single_choice':
      if (values.length !== 1) refuse('The question takes exactly one of its options.');
      if (unknown.length > 0)
        refuse(
          `'${unknown[0]}' is not an option; the options are ${options.map((option) => `'${option}'`).join(', ')}.`,
        );
      return { response: values[0], choices: values };
    case 'multiple_choice':
      if (unknown.length > 0)
        refuse(
          `'${unknown.join("', '")}' is not an option; the options are ${options.map((option) => `'${option}'`).join(', ')}.`,
        );
      return { response: values.join(', '), choices: values };
    case 'file_upload': {
      const files: { id: string; name: string }[] = [];
      for (const id of values) {
        const upload = await uploads.get(id);
        if (upload) files.push({ id: upload.id, name: upload.name });
        else refuse(`There is no upload '${id}'. Send the file to POST /api/uploads first and answer with its id.`);
      }
      return { response: files.map((file) => file.name).join(', '), uploads: files };
    }
    case 'text':
      return { response: values.join('\n') };
    default:
      return {};
  }
}

function needed(value: string | undefined, field: string, decision: string): string {
  if (value !== undefined && value.trim() !== '') return value;
  const message = `'${decision}' needs '${field}'.`;
  throw new InvalidRequest(message, { faults: [{ path: field, message }] });
}

function minutesOf(decision: GateDecision): number {
  if (decision.minutes !== undefined) return decision.minutes;
  const message = "'extend' needs 'minutes'.";
  throw new InvalidRequest(message, { faults: [{ path: 'minutes', message }] });
}

function present(fields: Record<string, JsonObject[string]>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function randomName(length: number): string {
  return Array.from({ length }, () => RUN_ID_ALPHABET[randomInt(RUN_ID_ALPHABET.length)]).join('');
}

/** Such as `k7f3q2-9d8w4x`: short enough to be read out, long enough to be unique. */
function newRunId(): string {
  return `${randomName(6)}-${randomName(6)}`;
}

/** A request that does several things does each of them once, under a key of its own. */
function partOf({ request, ...caller }: Caller, part: string): Caller {
  return request === undefined ? caller : { ...caller, request: { ...request, key: `${request.key} ${part}` } };
}
