/** The API's meaning: commands become signals to the engine, reads come from the store and from git. */
import {
  type ForeseenConflict,
  type ForeseenConflictFilter,
  InvalidRequest,
  type ModelSummary,
  noSuchRun,
  NotFound,
  type Orchestrator,
  type Page,
  type Project,
  type RecordPlace,
  type RunView,
} from '@autonomous/shared';
import type { WorkflowRegistry } from '../core/registry.ts';
import type { Engine } from '../engine/engine.ts';
import type { Transcripts } from '../engine/transcripts.ts';
import type { BranchCleaner } from '../upkeep/branch-cleaner.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Forge } from '../forges/forge.ts';
import type { Models, Prices } from '../models/model.ts';
import type { Repository } from '../repository/repository.ts';
import type { SharedFetches } from '../repository/shared-fetches.ts';
import type { RunConfigPolicy } from '../run-config/run-config-policy.ts';
import type { SandboxProvider } from '../sandboxes/sandbox.ts';
import { type CompileDocument, CompiledDocuments } from './compiled-documents.ts';
import { GateDecisions } from './decisions/gate-decisions.ts';
import { pauseRun } from './decisions/holds.ts';
import { sendMessage } from './decisions/messages.ts';
import { metricsOf, metricsRange } from './metrics.ts';
import { Projects } from './projects.ts';
import { readinessOf, type ReadinessSources } from './readiness.ts';
import { createReviewComments } from './decisions/review-comments.ts';
import { RoadmapBoards, type RoadmapReader } from './roadmap-boards.ts';
import { RunLauncher } from './launch/run-launcher.ts';
import { RunPullRequests } from './run-pull-requests.ts';
import { type Projection, readProjection } from './run-projection.ts';
import { RunResults } from './run-results.ts';
import { TimeTravel } from './time-travel.ts';
import type { Uploads } from './decisions/uploads.ts';
import { type DescribedWorkflow, detailsOf, summaryOf } from './workflow-descriptions.ts';

export interface SetupPort extends Pick<
  Orchestrator,
  'getSetup' | 'setKey' | 'removeKey' | 'testProvider' | 'testAgent' | 'setDefaultModels'
> {
  /** Default model by role. */
  defaultModels(): Readonly<Record<string, string>>;
}

export interface ServiceOptions extends ReadinessSources {
  readonly engine: Engine;
  readonly store: EventStore;
  readonly repository: Repository;
  readonly fetches: SharedFetches;
  /** `null` where the server has no credentials for one. */
  readonly forge: Forge | null;
  readonly workflows: WorkflowRegistry;
  /** Keys, agents and default models. */
  readonly setup: SetupPort;
  /** Describes a workflow of the registry. */
  readonly describeWorkflow: (name: string) => DescribedWorkflow;
  /** The projection of a workflow's runs; `undefined` where it has none, or the server does not have the workflow. */
  readonly projectionOf: (workflow: string) => Projection | undefined;
  /** Workflow of a request that names none. Absent: each request has to name one. */
  readonly defaultWorkflow?: string;
  readonly models: Models;
  readonly prices: Prices;
  readonly sandboxes: SandboxProvider;
  readonly uploads: Uploads;
  readonly transcripts: Transcripts;
  readonly now: () => Date;
  /** Sentences about runs and events that the record in git has and the database does not. */
  readonly record: {
    /** Of all projects that were compared. */
    readonly notices: () => readonly string[];
    /** Of one project, which is compared in the background when it is new. */
    readonly noticesOf: (project: Project) => readonly string[];
    /** Where a run can be found when the data folder is lost. */
    readonly placeOf: (run: RunView) => Promise<RecordPlace>;
  };
  /** Reads roadmaps of projects. */
  readonly roadmaps: RoadmapReader;
  readonly branches: Pick<BranchCleaner, 'clean'>;
  /** Conflicts that live runs would have when they were merged now. */
  readonly conflicts: (filter: ForeseenConflictFilter) => readonly ForeseenConflict[];
  /** Takes known secrets and token patterns out of text. */
  readonly scrub: (text: string) => string;
  readonly runConfig: RunConfigPolicy;
  readonly compile: CompileDocument;
}

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

export function createOrchestrator(options: ServiceOptions): Orchestrator {
  const { engine, store, workflows, models, uploads, transcripts, describeWorkflow } = options;
  const projects = new Projects({ ...options, noticesOf: (project) => options.record.noticesOf(project) });
  const launcher = new RunLauncher({ ...options, projects });
  const decisions = new GateDecisions({ ...options, projects });
  const timeTravel = new TimeTravel({ ...options, projects, launcher, decisions });
  const results = new RunResults({ ...options, projects });
  const documents = new CompiledDocuments({ ...options, projects });
  const roadmaps = new RoadmapBoards({ ...options, projects, reader: options.roadmaps });
  const pullRequests = new RunPullRequests({ ...options, projects });
  const placed = async (run: RunView): Promise<RunView> => ({ ...run, recordPlace: await options.record.placeOf(run) });

  return {
    createProject: (_caller, project) => projects.create(project),
    listProjects: ({ cursor, limit }) => projects.list(cursor, limit ?? DEFAULT_PAGE),
    getProject: (id) => projects.get(id),
    getRoadmap: (projectId) => roadmaps.read(projectId),
    cleanBranches: async (id, request) => options.branches.clean(await projects.of(id), request),
    launchRun: async (caller, run, key) => placed(await launcher.launch(caller, run, key)),
    async explore(caller, wanted, key) {
      const exploration = await launcher.explore(caller, wanted, key);
      return { ...exploration, runs: await Promise.all(exploration.runs.map(placed)) };
    },
    async listRuns(filter): Promise<Page<RunView>> {
      const page = await store.listRuns({ ...filter, limit: filter.limit ?? DEFAULT_PAGE });
      return { ...page, items: page.items.map((view) => engine.withPosition(view)) };
    },
    getRun: (id, at) => (at === undefined ? engine.view(id).then(placed) : timeTravel.viewAt(id, at)),
    getRunTree: (id) => engine.tree(id),
    forkRun: async (caller, id, fork, key) => placed(await timeTravel.fork(caller, id, fork, key)),
    migrateRun: (caller, runId, to) => engine.migrate(runId, to, caller.userId, caller.request),
    async exportRun(runId) {
      if ((await store.tipOf(runId)) === null) throw noSuchRun(runId);
      return store.exportRun(runId);
    },
    async listEvents(runId, after, limit) {
      await engine.view(runId);
      return store.readHistory(runId, after, limit);
    },
    listArtifacts: async (runId) => (await engine.view(runId)).artifacts,
    getArtifact: (runId, artifactId) => results.artifact(runId, artifactId),
    compileDocument: (runId, document) => documents.compile(runId, document),
    getProjection: (runId) => readProjection(options, runId),
    getDiff: (runId) => results.diff(runId),
    async getTranscript(runId) {
      await engine.view(runId);
      return transcripts.read(runId);
    },
    getStatechart: (runId, at) => timeTravel.statechart(runId, at),
    getPullRequest: (runId) => pullRequests.read(runId),
    replyToThread: (caller, runId, threadId, body) => pullRequests.reply(caller, runId, threadId, body),
    resolveThread: (runId, threadId) => pullRequests.resolve(runId, threadId),
    listConflicts: async (filter) => options.conflicts(filter),
    listGates: (runId) => decisions.list(runId),
    listClarifications: (status) => store.listClarifications(status),
    decideGate: (caller, gateId, decision) => decisions.decide(caller, gateId, decision),
    retryGates: (caller, gateIds) => decisions.retryAll(caller, gateIds),
    decideOpenGate: (caller, runId, decision) => decisions.decideOpen(caller, runId, decision),
    ...createReviewComments({ engine }),
    cancelRun: (caller, runId, reason) => engine.cancel(runId, caller.userId, reason, caller.request),
    pauseRun: (caller, runId, reason) => pauseRun(options, caller, runId, reason),
    sendMessage: (caller, runId, text) => sendMessage(options, caller, runId, text),
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
      workflows.list().map((definition) => summaryOf(definition, describeWorkflow(definition.name))),
    async getWorkflow(name) {
      const definition = workflows.latest(name);
      if (!definition) throw new NotFound(`There is no workflow '${name}'.`);
      return detailsOf(definition, describeWorkflow(name), workflows.versions(name));
    },
    async listModels(): Promise<readonly ModelSummary[]> {
      return models.list(options.setup.defaultModels());
    },
    async getMetrics(wanted) {
      const range = metricsRange(wanted, options.now());
      const { begin, end } = range.range;
      const endedSince = new Date(begin).toISOString();
      const madeBefore = new Date(end).toISOString();
      const { projectId, workflow } = wanted;
      return metricsOf(await store.summarizeRuns({ projectId, workflow, endedSince, madeBefore }), range);
    },
    readiness: () => readinessOf(options),
    getSetup: () => options.setup.getSetup(),
    setKey: (provider, key) => options.setup.setKey(provider, key),
    removeKey: (provider) => options.setup.removeKey(provider),
    testProvider: (provider) => options.setup.testProvider(provider),
    testAgent: (agent) => options.setup.testAgent(agent),
    setDefaultModels: (wanted) => options.setup.setDefaultModels(wanted),
  };
}
