/** Puts the server together: the one place, beside the command line, that knows every adapter. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Gate, InvalidRequest, type JsonValue, type RunView, Unavailable } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { ActivityTools } from './activities/tools.ts';
import { BaselineCache } from './activities/baseline-cache.ts';
import { committedSecrets } from './activities/outgoing.ts';
import { DependencyCache } from './activities/dependency-cache.ts';
import { removeAbandonedFolders, removeRunFolder } from './activities/work-folders.ts';
import { createAgentRouter } from './agents/agent-router.ts';
import { createToolLoopAgent } from './agents/tool-loop/tool-loop.ts';
import { createMermaidParser } from './artifacts/mermaid.ts';
import { createScrubber } from './artifacts/secrets.ts';
import { defaultModelOf, type ServerConfig, unknownNames } from './config.ts';
import { type DataFolder, findLostProjects, freeBytes, openDataFolder } from './data-folder.ts';
import { openCrashLedger } from './engine/crash-ledger.ts';
import { CrashProbation } from './engine/crash-probation.ts';
import { Archiver } from './engine/archiver.ts';
import { systemClock } from './engine/clock.ts';
import { Engine } from './engine/engine.ts';
import { bringBackCommits, findLostCommits } from './engine/lost-commits.ts';
import { findDivergedRuns } from './engine/record-check.ts';
import { RecordComparison } from './engine/record-comparison.ts';
import { MirrorKeeper } from './engine/mirror-keeper.ts';
import { RunRecordWriter } from './engine/run-record-writer.ts';
import { writeExport } from './engine/run-export.ts';
import { type Probe, SelfResume, SERVER } from './engine/self-resume.ts';
import { Transcripts } from './engine/transcripts.ts';
import type { EventStore } from './event-store/event-store.ts';
import { quickCheck } from './event-store/sqlite/integrity/quick-check.ts';
import { openSqliteEventStore, type SqliteEventStore } from './event-store/sqlite/sqlite-event-store.ts';
import { createCassetteRecorder } from './models/cassettes/cassette-recorder.ts';
import type { Models } from './models/model.ts';
import { createPrices } from './models/prices.ts';
import { probeProvider } from './models/provider-probe.ts';
import { createModels } from './models/registry.ts';
import { activitiesOf, loadCustomWorkflows } from './custom-workflows.ts';
import { createGitRepository } from './repository/git-repository.ts';
import { packageRegistries } from './sandboxes/package-registries.ts';
import { createSandboxProvider } from './sandboxes/provider-choice.ts';
import type { SandboxLimits, SandboxProvider } from './sandboxes/sandbox.ts';
import type { FeedSource } from './server/feed.ts';
import { type RunningServer, startServer } from './server/http-server.ts';
import { createOrchestrator } from './server/orchestrator-service.ts';
import type { DescribedWorkflow } from './server/workflow-descriptions.ts';
import { openToken } from './server/token.ts';
import { openUploads } from './server/uploads.ts';
import type { ActivityRegistry } from './core/activity.ts';
import { isFinal } from './core/advance.ts';
import { workflows as builtIn } from './workflows/index.ts';
import { type Workflow, withChildren, workflowInfoOf } from './workflows/workflow.ts';
import { createRegistry } from './core/registry.ts';
import { createRunConfigPolicy } from './run-config/run-config-policy.ts';
import { settingsOf } from './workflows/workflow-settings.ts';

export interface ComposeOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Only the bundled demo gives one of its own; every other server uses the one that its configuration names. */
  readonly sandboxes?: SandboxProvider;
  /** Wraps a port to measure it. */
  readonly instrument?: (tools: ActivityTools) => ActivityTools;
  /** Puts something between the engine and what it works with; the crash sweep ends the process there. */
  readonly wrap?: {
    readonly store: (store: EventStore) => EventStore;
    readonly activities: (activities: ActivityRegistry) => ActivityRegistry;
  };
  /** Called with the milliseconds that each step of a run took, from its input to the disk. */
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
  /** Stops within seconds; the next start recovers the work that was under way. May be called twice. */
  stop(): Promise<void>;
}

const MB = 1024 * 1024;
/** Build output of `packages/ui`. The relative path is the same from the sources and from the compiled files. */
const DASHBOARD_FOLDER = fileURLToPath(new URL('../../ui/dist/app', import.meta.url));
/** Interval between checks of the data folder. */
const LOOK_AT_DATA_MS = 10_000;
/** With less on the disk, the server is not ready: git and uploads need more than a step of a run. */
const LEAST_FREE_BYTES = MB;
/**
 * Limits of a command inside a sandbox besides the configured ones: enough for compilers and test suites of usual projects.
 */
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
  if (config.driftDetection !== null)
    log.warn(
      'ENABLE_VALIDATION_DRIFT_DETECTION is set and has no effect yet: what a plan demands is looked for by name and reported, and nothing depends on it. Leave it out.',
    );
  const dataFolder = await openDataFolder(config.dataFolder);
  const { promise: failed, resolve: onStopped } = Promise.withResolvers<Error>();
  const stops: (() => Promise<unknown>)[] = [async () => dataFolder.release()];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed())
      await stop().catch((error: unknown) => log.error({ err: error }, 'stopping failed'));
  };
  try {
    const opened = openSqliteEventStore({ file: config.databasePath, onStopped });
    const store = wrap?.store(opened) ?? opened;
    stops.push(() => store.close());
    stops.push(watchDataFolder(dataFolder, opened, log));
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
        : createCassetteRecorder({
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
    const { names, folder } = config.workflows;
    const custom = await loadCustomWorkflows({ names, folder, dataFolder: config.dataFolder, builtIn });
    const launchable = [...builtIn, ...custom];
    const all = withChildren(launchable);
    const unknown = unknownNames(config, launchable);
    if (unknown.length > 0)
      throw new InvalidRequest(unknown.map(({ message }) => message).join('\n'), { faults: unknown });
    const workflows = createRegistry(all.flatMap(({ versions }) => versions));
    const { modelRouting: defaultModels, ...defaults } = config.runDefaults;
    const runConfig = createRunConfigPolicy({
      settings: all.map((workflow) =>
        settingsOf(workflow, (role, roles) => defaultModelOf(config.modelDefaults, role, roles)),
      ),
      defaults,
      limits: config.runLimits,
      checkModel: (id) => models.check(id),
    });
    const tools: ActivityTools = {
      roleNames: [...new Set(all.flatMap(({ roles }) => roles.map(({ role }) => role.name)))],
      repository,
      agent: createAgentRouter({
        toolLoop: createToolLoopAgent({
          models,
          mcpServers: config.mcpServers,
          contextTokens: config.contextTokens,
          timeouts: config.modelTimeouts,
          ...(cassettes ? { recorder: cassettes } : {}),
        }),
        acp: async () => (await import('./agents/acp/acp.ts')).createAcpAgent(config.agents),
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
      baselines: new BaselineCache(path.join(config.dataFolder, 'baselines')),
      egress: async (role) =>
        config.egress[role] ?? (role === 'setup' && config.allowSetupNetwork ? await packageRegistries() : []),
      reviewPaths: config.reviewPaths,
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
      runConfig,
      checkModel: (id) => models.check(id),
      assertRecordKnown: (project, runId, signal) => comparison.assertKnown(project, runId, signal),
      scrub: scrubber.scrub,
    };
    const instrumented = instrument?.(tools) ?? tools;
    const activities = new Map(
      [...activitiesOf(all, instrumented)].map(([name, registry]) => [name, wrap?.activities(registry) ?? registry]),
    );
    const crashes = await openCrashLedger(config.dataFolder, store);
    const engine = new Engine({
      store,
      workflows,
      findActivity: (workflow, name) => {
        const registry = activities.get(workflow);
        return registry !== undefined && Object.hasOwn(registry, name) ? registry[name] : undefined;
      },
      childConfig: (parent, workflow, asked) => runConfig.child(parent, workflow, asked),
      clock: systemClock,
      log,
      maxConcurrentRunsPerUser: config.maxConcurrentRunsPerUser,
      random: Math.random,
      scrub: <Value>(value: Value) => scrubber.scrubJson(value as JsonValue) as Value,
      onQuarantined: (runId) => writeExport(path.join(config.dataFolder, 'exports'), store, runId),
      findDamage: async () => [
        ...crashes.faults,
        ...(await findDivergedRuns({ store, repository: instrumented.repository, log })),
        ...(await findLostCommits({ store, repository: instrumented.repository, log })),
      ],
      crashes,
      faultElsewhere: async (view) =>
        (await comparison.faultOf(view.id, view.projectId)) ??
        (await bringBackCommits({ store, repository: instrumented.repository, log }, view)),
      ...(onStep ? { onStep } : {}),
    });
    const { serverId } = dataFolder;
    const comparison: RecordComparison = new RecordComparison({
      store,
      repository: instrumented.repository,
      clock: systemClock,
      log,
      serverId,
      setAside: (runId, message) => engine.setAside(runId, message),
      onKnown: () => recorder.tryAgain(),
    });
    const recorder: RunRecordWriter = new RunRecordWriter({
      store,
      repository: instrumented.repository,
      transcripts,
      clock: systemClock,
      log,
      scrub: scrubber.scrub,
      committedSecrets: (project, { branch }, signal) =>
        branch === '' ? Promise.resolve([]) : committedSecrets(instrumented.repository, project, branch, signal),
      comparison,
      serverId,
      recordFiles: (view, events) =>
        all.find(({ name }) => name === view.workflow.name)?.recordFiles?.(view, events) ?? {},
    });
    const lostProjects = await findLostProjects(
      config.dataFolder,
      await idsOfProjects(store),
      instrumented.repository,
      log,
    );
    if (lostProjects !== null) log.warn(lostProjects);
    const selfResume = new SelfResume({
      store,
      clock: systemClock,
      log,
      firstWaitMs: config.resumeProbeMs,
      probeOf: (view, gate) => probeOf(view, gate, models, config, all, () => whyNotStorable(config, store)),
      retry: (runId, gateId) => engine.signal(runId, 'RETRY_REQUESTED', { by: SERVER, gateId }, { gateId }),
    });
    const probation = new CrashProbation({
      ledger: crashes,
      store,
      clock: systemClock,
      log,
      recoverRun: (runId) => engine.recoverRun(runId),
    });
    const mirrorKeeper = new MirrorKeeper({ store, repository, clock: systemClock, log });
    const archiver = new Archiver({ store, clock: systemClock, log, afterDays: config.archiveAfterDays });
    engine.subscribe((message) => {
      if ('progress' in message) transcripts.add(message.progress);
      else if (isFinal(message.view.status)) void removeFolderOf(message.view, tools.workFolder, log);
      recorder.hear(message);
      selfResume.hear(message);
    });
    let damage: string | null = null;
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
      describeWorkflow: (name) => describeIn(launchable, all, name),
      ...(launchable[0] === undefined ? {} : { defaultWorkflow: launchable[0].name }),
      models,
      prices,
      defaultModels,
      sandboxes: provider,
      uploads,
      transcripts,
      now: () => systemClock.now(),
      scrub: scrubber.scrub,
      runConfig,
      whyNotStorable: () => whyNotStorable(config, store),
      damage: () => damage,
      record: {
        notices: () => [...(lostProjects === null ? [] : [lostProjects]), ...comparison.notices],
        noticesOf: (project) => {
          void comparison.isKnown(project);
          return comparison.noticesOf(project.id);
        },
      },
    });
    // Before anything makes new ones.
    await repository.removeLeftovers();
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
    // Stops run in reverse order: the recorder stops before the comparison, because its last writes may wait for one.
    stops.push(async () => comparison.stop());
    stops.push(() => recorder.stop());
    stops.push(async () => selfResume.stop());
    stops.push(() => archiver.stop());
    stops.push(async () => mirrorKeeper.stop());
    stops.push(() => engine.stop());
    stops.push(() => server.close());
    stops.push(async () => probation.stop());
    stops.push(async () => crashes.stopping());
    await removeAbandonedFolders(tools.workFolder, new Set((await store.listOpenRuns()).map(({ id }) => id)), log);
    await endAbandonedSandboxes(provider, store, log);
    await comparison.start();
    crashes.takingUp();
    await engine.start();
    crashes.up();
    probation.start();
    await recorder.start();
    // Not awaited: the start does not depend on the paused runs.
    void selfResume.start();
    const ended = new AbortController();
    const checked = quickCheck(config.databasePath, ended.signal).then((found) => {
      damage = found;
      if (found !== null) log.error(found);
    });
    // Its thread would make the files beside the database anew in a folder that is given up.
    stops.push(() => {
      ended.abort();
      return checked;
    });
    archiver.start();
    mirrorKeeper.start();
    await createDefaultProject(config, orchestrator, log);
    return { server, token, engine, sandboxes: provider, failed, settled: () => recorder.settled(), stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/**
 * Probe for the thing that a paused run waits for: the disk, or the provider of its
 * stage's model. `null` when there is none.
 */
function probeOf(
  { config, workflow }: RunView,
  { reason, stage }: Gate,
  models: Models,
  server: ServerConfig,
  workflows: readonly Workflow[],
  whyNot: () => Promise<string | null>,
): Probe | null {
  if (reason === 'storage_full')
    return { key: 'the disk', ask: async () => ((await whyNot()) === null ? 'back' : 'away') };
  const stages = workflows.find(({ name }) => name === workflow.name)?.stages ?? [];
  const model = config.modelRouting[stages.find(({ name }) => name === stage)?.role ?? ''];
  const checked = model === undefined ? null : models.check(model);
  if (checked?.ok !== true) return null;
  const provider = checked.id.split(':', 1)[0] ?? '';
  return { key: `provider ${provider}`, ask: () => probeProvider(server.models, provider) };
}

/** Notices a data folder that has vanished while nothing writes to the database. @returns ends the watch */
function watchDataFolder(dataFolder: DataFolder, store: SqliteEventStore, log: Logger): () => Promise<void> {
  const look = async (): Promise<void> => {
    const lost = dataFolder.lost();
    if (lost !== null) store.refuse(lost);
    const why = await store.whyNothingIsStored();
    if (why instanceof Unavailable) {
      log.fatal(why.message);
      clearInterval(timer);
    }
  };
  const timer = setInterval(() => void look(), LOOK_AT_DATA_MS);
  timer.unref();
  return async () => clearInterval(timer);
}

/** @returns why nothing can be stored, for who asks whether the server is ready; `null` when it can */
async function whyNotStorable(config: ServerConfig, store: EventStore): Promise<string | null> {
  const why = await store.whyNothingIsStored();
  if (why !== null) return why.message;
  for (const folder of new Set([config.dataFolder, path.dirname(config.databasePath)])) {
    const free = await freeBytes(folder);
    if (free !== null && free < LEAST_FREE_BYTES)
      return `The disk that holds ${folder} is full (${free} bytes are free). Free some space; waiting work resumes automatically.`;
  }
  return null;
}

/** @param launchable the workflows of `all` that people may launch; the first one is the default */
function describeIn(launchable: readonly Workflow[], all: readonly Workflow[], name: string): DescribedWorkflow {
  const workflow = all.find((each) => each.name === name);
  if (workflow === undefined) throw new Error(`workflow '${name}' is not on this server`);
  const isDefault = workflow === launchable[0];
  return {
    ...workflowInfoOf(workflow),
    isChildOnly: !launchable.includes(workflow),
    ...(isDefault ? { isDefault } : {}),
  };
}

async function idsOfProjects(store: EventStore): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await store.listProjects(cursor, 200);
    for (const { id } of page.items) ids.add(id);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return ids;
}

/** Ends sandboxes of an earlier process, except those of open activities, which may use them again. */
async function endAbandonedSandboxes(provider: SandboxProvider, store: EventStore, log: Logger): Promise<void> {
  if (provider.endAbandoned === undefined) return;
  const openKeys = new Set((await store.openActivities()).map(({ key }) => key));
  // Not awaited: the server starts even when the provider cannot be reached.
  provider
    .endAbandoned(openKeys)
    .catch((error: unknown) => log.warn({ err: error }, 'sandboxes of an earlier process could not be ended'));
}

/** Removes the files that agents and checks left behind. Everything that counts is in git. */
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
