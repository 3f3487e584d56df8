/** Puts the server together: the one place, beside the command line, that knows every adapter. */
import { access, constants, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type JsonValue, type RunView, Unavailable } from '@autonomous/shared';
import type { Logger } from 'pino';
import { createBuildActivities } from './activities/build-activities.ts';
import type { BuildTools } from './activities/build-tools.ts';
import { DependencyCache } from './activities/dependency-cache.ts';
import { removeAbandonedFolders, removeRunFolder } from './activities/work-folders.ts';
import { createAgentRouter } from './agents/agent-router.ts';
import { createToolLoopAgent } from './agents/tool-loop.ts';
import { createMermaidParser } from './artifacts/mermaid.ts';
import { createScrubber } from './artifacts/secrets.ts';
import type { ServerConfig } from './config.ts';
import { Archiver } from './engine/archiver.ts';
import { systemClock } from './engine/clock.ts';
import { Engine } from './engine/engine.ts';
import { findDivergedRuns } from './engine/record-check.ts';
import { Recorder } from './engine/recorder.ts';
import { writeExport } from './engine/run-export.ts';
import { Transcripts } from './engine/transcripts.ts';
import type { EventStore } from './event-store/event-store.ts';
import { openSqliteEventStore } from './event-store/sqlite-event-store.ts';
import { createRecorder } from './models/cassette-recorder.ts';
import { createPrices } from './models/prices.ts';
import { createModels } from './models/registry.ts';
import { loadOwnWorkflows } from './own-workflows.ts';
import { createGitRepository } from './repository/git-repository.ts';
import { packageRegistries } from './sandboxes/package-registries.ts';
import { createSandboxProvider } from './sandboxes/provider-choice.ts';
import type { SandboxLimits, SandboxProvider } from './sandboxes/sandbox.ts';
import type { FeedSource } from './server/feed.ts';
import { type RunningServer, startServer } from './server/http-server.ts';
import { createOrchestrator } from './server/orchestrator-service.ts';
import { openToken } from './server/token.ts';
import { openUploads } from './server/uploads.ts';
import type { ActivityRegistry } from './workflow/activity.ts';
import { isFinal } from './workflow/advance.ts';
import { build } from './workflow/definitions/build.ts';
import { createRegistry } from './workflow/registry.ts';
import { budgetFaults, checkRunConfigRequest, resolveRunConfig } from './workflow/run-config.ts';

export interface ComposeOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Only the bundled demo gives one of its own; every other server uses the one that its configuration names. */
  readonly sandboxes?: SandboxProvider;
  /** Wraps a port to measure it. */
  readonly instrument?: (tools: BuildTools) => BuildTools;
  /** Puts something between the engine and what it works with; the crash sweep ends the process there. */
  readonly wrap?: {
    readonly store: (store: EventStore) => EventStore;
    readonly activities: (activities: ActivityRegistry) => ActivityRegistry;
  };
  /** Told how long each step of a run took, from its input to the disk. */
  readonly onStep?: (ms: number) => void;
}

export interface RunningOrchestrator {
  readonly server: RunningServer;
  readonly token: string;
  readonly engine: Engine;
  readonly sandboxes: SandboxProvider;
  /** Resolves with the reason when nothing can be stored any more: only a restart helps then. */
  readonly failed: Promise<Error>;
  /** Resolves when the record in git is up to date, as far as it can be. */
  settled(): Promise<void>;
  /** Stops within seconds; what is under way is taken up at the next start. May be called twice. */
  stop(): Promise<void>;
}

const MB = 1024 * 1024;
/** What `packages/ui` is built to; the same from the sources and from what they are compiled to. */
const DASHBOARD_FOLDER = fileURLToPath(new URL('../../ui/dist/app', import.meta.url));
/** What a command inside a sandbox may use beside what is configured: enough for compilers and test suites of usual projects. */
const LIMITS: Pick<SandboxLimits, 'fileBytes' | 'cpuSeconds'> = { fileBytes: 1_024 * MB, cpuSeconds: 3_600 };

/**
 * Starts everything: storage, engine, feed, HTTP.
 * @throws {AutonomousError} saying what is wrong and the way out; nothing is left running then
 */
export async function startOrchestrator({
  config,
  log,
  sandboxes,
  instrument,
  wrap,
  onStep,
}: ComposeOptions): Promise<RunningOrchestrator> {
  await makeDataFolder(config.dataFolder);
  const { promise: failed, resolve: onStopped } = Promise.withResolvers<Error>();
  const opened = openSqliteEventStore({ file: config.databasePath, onStopped });
  const store = wrap?.store(opened) ?? opened;
  const stops: (() => Promise<unknown>)[] = [() => store.close()];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed())
      await stop().catch((error: unknown) => log.error({ err: error }, 'stopping failed'));
  };
  try {
    const token = config.token ?? (await openToken(config.dataFolder));
    const scrubber = createScrubber([...config.secrets, token]);
    const repository = createGitRepository({
      folder: path.join(config.dataFolder, 'mirrors'),
      author: config.commitAuthor,
      ...(config.github.token === null ? {} : { token: config.github.token }),
    });
    const models = createModels(config.models);
    const cassettes =
      config.recordFolder === null
        ? null
        : createRecorder({
            folder: config.recordFolder,
            scrub: scrubber.scrubJson,
            now: () => systemClock.now(),
            onError: (error, runId) => log.error({ err: error, runId }, 'the cassette of a run cannot be written'),
          });
    if (cassettes) stops.push(() => cassettes.flush());
    const prices = createPrices(config.prices);
    const transcripts = new Transcripts(path.join(config.dataFolder, 'transcripts'));
    stops.push(() => transcripts.flush());
    const parser = createMermaidParser();
    stops.push(() => parser.close());
    const uploads = await openUploads(path.join(config.dataFolder, 'uploads'));
    const provider =
      sandboxes ?? createSandboxProvider(config.sandbox, { server: store.feedId, dataFolder: config.dataFolder });
    stops.push(async () => provider.close?.());
    const resolveConfig: BuildTools['resolveConfig'] = (project, request) =>
      resolveRunConfig({
        server: { defaults: config.runDefaults, limits: config.runLimits },
        project,
        request,
        checkModel: (id) => models.check(id),
      });
    const tools: BuildTools = {
      repository,
      agent: createAgentRouter({
        toolLoop: createToolLoopAgent({
          models,
          mcpServers: config.mcpServers,
          contextTokens: config.contextTokens,
          timeouts: config.modelTimeouts,
          ...(cassettes ? { recorder: cassettes } : {}),
        }),
        acp: async () => (await import('./agents/acp.ts')).createAcpAgent(config.agents),
      }),
      prices,
      sandboxes: provider,
      parser,
      workFolder: path.join(config.dataFolder, 'work'),
      limits: { ...LIMITS, ...config.sandboxLimits },
      dependencies: new DependencyCache({
        folder: path.join(config.dataFolder, 'dependencies'),
        maxBytes: config.dependencyCacheBytes,
        log,
      }),
      egress: async (role) =>
        config.egress[role] ?? (role === 'setup' && config.allowSetupNetwork ? await packageRegistries() : []),
      autoRetry: config.autoRetry,
      contextTokens: config.contextTokens,
      project: async (id) => {
        const project = await store.getProject(id);
        if (!project) throw new Error(`project ${id} is not in the database`);
        return project;
      },
      view: async (runId) => {
        const view = await store.loadView(runId);
        if (!view) throw new Error(`run ${runId} is not in the database`);
        return view;
      },
      events: (runId, after = 0) => store.readRun(runId, after),
      uploadPath: async (id) => (await uploads.get(id))?.path ?? null,
      resolveConfig,
      checkModel: (id) => models.check(id),
      scrub: scrubber.scrub,
    };
    const instrumented = instrument?.(tools) ?? tools;
    const builtIn = { definitions: [build], activities: createBuildActivities(instrumented) };
    const { names, folder } = config.workflows;
    const own = await loadOwnWorkflows({ names, folder, dataFolder: config.dataFolder, builtIn });
    const workflows = createRegistry([...builtIn.definitions, ...own.definitions]);
    const activities = { ...builtIn.activities, ...own.activities };
    const engine = new Engine({
      store,
      workflows,
      activities: wrap?.activities(activities) ?? activities,
      clock: systemClock,
      log,
      maxConcurrentRunsPerUser: config.maxConcurrentRunsPerUser,
      random: Math.random,
      scrub: <Value>(value: Value) => scrubber.scrubJson(value as JsonValue) as Value,
      onPoisoned: (runId) => writeExport(path.join(config.dataFolder, 'exports'), store, runId),
      findDamage: () => findDivergedRuns({ store, repository: instrumented.repository, log }),
      ...(onStep ? { onStep } : {}),
    });
    const recorder = new Recorder({
      store,
      repository: instrumented.repository,
      transcripts,
      clock: systemClock,
      log,
      scrub: scrubber.scrub,
    });
    const archiver = new Archiver({ store, clock: systemClock, log, afterDays: config.archiveAfterDays });
    engine.subscribe((message) => {
      if ('progress' in message) transcripts.add(message.progress);
      else if (isFinal(message.view.status)) void removeFolderOf(message.view, tools.workFolder, log);
      recorder.hear(message);
    });
    const feed: FeedSource = {
      feedId: store.feedId,
      lastPosition: () => store.lastPosition(),
      archivedPosition: () => store.archivedPosition(),
      readAll: (after, limit) => store.readAll(after, limit),
      subscribe: (listener) => engine.subscribe(listener),
    };
    const orchestrator = createOrchestrator({
      engine,
      store,
      repository: instrumented.repository,
      workflows,
      models,
      prices,
      budgetFaults: (budgets) => budgetFaults(budgets, config.runLimits),
      sandboxes: provider,
      uploads,
      transcripts,
      now: () => systemClock.now(),
      log,
      scrub: scrubber.scrub,
      resolveConfig,
      checkConfig: (request) => checkRunConfigRequest(request, config.runLimits, (id) => models.check(id)),
    });
    // The port is taken before any work is: a second server must not begin and then fail.
    const server = await startServer({
      dashboardFolder: DASHBOARD_FOLDER,
      orchestrator,
      feed,
      store,
      token,
      host: config.host,
      port: config.port,
      ...(config.publicUrl === null ? {} : { publicUrl: config.publicUrl }),
      allowedHosts: config.allowedHosts,
      allowedOrigins: [],
      log,
    });
    stops.push(() => recorder.stop());
    stops.push(() => archiver.stop());
    stops.push(() => engine.stop());
    stops.push(() => server.close());
    await removeAbandonedFolders(tools.workFolder, new Set((await store.listOpenRuns()).map(({ id }) => id)), log);
    await endAbandonedSandboxes(provider, store, log);
    await engine.start();
    await recorder.start();
    archiver.start();
    await createDefaultProject(config, orchestrator, log);
    return { server, token, engine, sandboxes: provider, failed, settled: () => recorder.settled(), stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** @throws {Unavailable} naming the folder and the way out */
async function makeDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new Unavailable(
      `The data folder ${folder} cannot be made or written (${what}). Name a folder that this user may write with AUTONOMOUS_DATA.`,
      { cause },
    );
  }
}

/** Sandboxes of an earlier process whose work nobody goes on with. What goes on may take up its own. */
async function endAbandonedSandboxes(provider: SandboxProvider, store: EventStore, log: Logger): Promise<void> {
  if (provider.endAbandoned === undefined) return;
  const openKeys = new Set((await store.openActivities()).map(({ key }) => key));
  // Nobody waits: where the provider is away, the server is there all the same.
  provider
    .endAbandoned(openKeys)
    .catch((error: unknown) => log.warn({ err: error }, 'sandboxes of an earlier process could not be ended'));
}

/** What agents and checks left behind; git has everything that counts. */
async function removeFolderOf(view: RunView, workFolder: string, log: Logger): Promise<void> {
  await removeRunFolder({ workFolder }, view.id).catch((error: unknown) =>
    log.warn({ err: error, runId: view.id }, "a finished run's work folder could not be removed"),
  );
}

/** GITHUB_REPO_OWNER and GITHUB_REPO_NAME make the first project. */
async function createDefaultProject(
  { github }: ServerConfig,
  orchestrator: ReturnType<typeof createOrchestrator>,
  log: Logger,
): Promise<void> {
  if (github.repository === null) return;
  const { owner, name } = github.repository;
  try {
    await orchestrator.createProject(
      { userId: 'local' },
      {
        name,
        repository: `https://github.com/${owner}/${name}.git`,
        ...(github.defaultBranch === null ? {} : { baseBranch: github.defaultBranch }),
      },
    );
  } catch (error) {
    log.error({ err: error }, `the project ${owner}/${name} could not be set up; it is tried again at the next start`);
  }
}
