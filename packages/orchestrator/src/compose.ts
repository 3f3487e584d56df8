/** Puts the server together: the one place, beside the command line, that knows every adapter. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type JsonValue, type Orchestrator, Unavailable } from '@autonomous/shared';
import type { Logger } from 'pino';
import { ChildSteps } from './activities/child-steps.ts';
import type { ActivityTools } from './activities/tools.ts';
import { removeAbandonedFolders } from './activities/work-folders.ts';
import { createActivityTools } from './composition/activity-tools.ts';
import { compileWith } from './composition/document-compiler.ts';
import type { LearningScrubber } from './secrets/secrets.ts';
import { type Adapters, openAdapters } from './composition/adapters.ts';
import { type BackgroundWork, createBackgroundWork } from './composition/background-work.ts';
import { UNFINISHED_REBUILD } from './composition/rebuild.ts';
import { describeWorkflow, loadServerWorkflows, type ServerWorkflows } from './composition/server-workflows.ts';
import { projectsAtForge } from './composition/forge.ts';
import { ForgeFindings } from './composition/forge-findings.ts';
import { createIssueWatcher } from './composition/labelled-issues.ts';
import { roadmapReader } from './composition/roadmap-reader.ts';
import { createRunLog } from './composition/run-log.ts';
import { StopList } from './composition/stop-list.ts';
import { whyNoRoom, whyNotStorable } from './composition/storage-health.ts';
import type { ServerConfig } from './config.ts';
import type { ActivityRegistry } from './core/activity.ts';
import { activitiesOf } from './custom-workflows.ts';
import { type DataFolder, findLostProjects, openDataFolder, removeUnusedMirrors } from './data-folder.ts';
import { systemClock } from './engine/clock.ts';
import { type CrashLedger, openCrashLedger } from './engine/crashes/crash-ledger.ts';
import { Engine } from './engine/engine.ts';
import type { IssueWatcher } from './upkeep/issue-watcher.ts';
import { bringBackCommits, findLostCommits } from './record/lost-commits.ts';
import { findDivergedRuns } from './record/record-check.ts';
import { lackedWorkflow, PAUSE_FAULT, readImportedAgain } from './record/import-run.ts';
import { pauseOfRecord } from './record/rebuilt-pause.ts';
import { importNewerRuns } from './record/record-import.ts';
import type { RecordComparison } from './record/record-comparison.ts';
import { writeExport } from './engine/run-export.ts';
import type { RunRecordWriter } from './record/run-record-writer.ts';
import type { EventStore } from './event-store/event-store.ts';
import { quickCheck } from './event-store/sqlite/integrity/quick-check.ts';
import { isSameRepository } from './forges/forge.ts';
import { webOriginOfApi } from './forges/github/github-address.ts';
import type { MermaidParser } from './documents/plans/mermaid.ts';
import { stopping } from './engine/stopping.ts';
import { whyNoGit } from './repository/installed-git.ts';
import { SharedFetches } from './repository/shared-fetches.ts';
import type { SandboxProvider } from './sandboxes/sandbox.ts';
import type { FeedSource } from './server/feed.ts';
import type { ServerSetup } from './server-setup/server-setup.ts';
import { type RunningServer, startServer } from './server/http-server.ts';
import type { WebhookSettings } from './server/webhooks.ts';
import { startCommand } from './server/start-command.ts';
import { createOrchestrator } from './server/orchestrator-service.ts';

export interface ComposeOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Removes secrets from what is logged; it learns those that the configuration does not have. */
  readonly scrubber?: LearningScrubber;
  /** Only the bundled demo gives one of its own; every other server uses the one that its configuration names. */
  readonly sandboxes?: SandboxProvider;
  /** Parser of diagrams that several servers of one process share and that outlives them; default: one of the server's own. */
  readonly parser?: MermaidParser;
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
  /** Keys, agents and default models as they are now. */
  readonly setup: ServerSetup;
  /** Resolves with the reason when nothing can be stored any more: only a restart helps then. */
  readonly failed: Promise<Error>;
  /** Resolves when the record in git is up to date, as far as it can be. */
  settled(): Promise<void>;
  /** Stops within seconds; the next start recovers the work that was under way. May be called twice. */
  stop(): Promise<void>;
}

/** Build output of `packages/ui`: a folder of the published package, or of the workspace. */
const DASHBOARD_FOLDER = ['../dashboard', '../../ui/dist/app']
  .map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
  .reduce((published, built) => (existsSync(published) ? published : built));

/** The server while it is put together. */
interface Parts {
  readonly options: ComposeOptions;
  readonly dataFolder: DataFolder;
  readonly stops: StopList;
  readonly adapters: Adapters;
  readonly workflows: ServerWorkflows;
  /** As activities get them. */
  readonly tools: ActivityTools;
  readonly crashes: CrashLedger;
  readonly engine: Engine;
  readonly background: BackgroundWork;
  /** Folder of the runs' work folders. */
  readonly workFolder: string;
}

/**
 * Starts everything: storage, engine, feed, HTTP.
 * @throws {AutonomousError} saying what is wrong and the way out; nothing is left running then
 */
export async function startOrchestrator(options: ComposeOptions): Promise<RunningOrchestrator> {
  const { config, log } = options;
  if (config.driftDetection !== null)
    log.warn(
      'ENABLE_VALIDATION_DRIFT_DETECTION is set and has no effect yet: what a plan demands is looked for by name and reported, and nothing depends on it. Leave it out.',
    );
  const dataFolder = await openDataFolder(config.dataFolder);
  const { promise: failed, resolve: onStopped } = Promise.withResolvers<Error>();
  const stops = new StopList(log);
  stops.add(async () => dataFolder.release());
  try {
    const parts = await createParts(options, dataFolder, stops, onStopped);
    const { adapters, engine, background } = parts;
    const server = await startParts(parts);
    return {
      server,
      token: adapters.token,
      engine,
      sandboxes: adapters.sandboxes,
      setup: adapters.setup,
      failed,
      settled: () => background.recorder.settled(),
      stop: () => stops.run(),
    };
  } catch (error) {
    await stops.run();
    throw error;
  }
}

async function createParts(
  options: ComposeOptions,
  dataFolder: DataFolder,
  stops: StopList,
  onStopped: (reason: Error) => void,
): Promise<Parts> {
  const { config, log, sandboxes, parser, instrument, wrap, scrubber } = options;
  const wrapStore = wrap?.store;
  const adapters = await openAdapters({
    config,
    log,
    dataFolder,
    stops,
    sandboxes,
    parser,
    wrapStore,
    onStopped,
    scrubber,
  });
  await assertRebuilt(adapters.store);
  const { setup } = adapters;
  const workflows = await loadServerWorkflows(config, setup.models, () => setup.modelDefaults());
  setup.useWorkflows(workflows.launchable);
  const comparison = (): RecordComparison => background.comparison;
  const childSteps = new ChildSteps();
  const own = createActivityTools({
    config,
    log,
    adapters,
    workflows,
    childSteps,
    assertRecordKnown: (project, runId, signal) => comparison().assertKnown(project, runId, signal),
  });
  const tools = instrument?.(own) ?? own;
  const { workFolder } = own;
  const crashes = await openCrashLedger(config.dataFolder, adapters.store);
  const recorder = (): RunRecordWriter => background.recorder;
  const engine = createServerEngine({ options, adapters, workflows, tools, crashes, comparison, recorder });
  engine.subscribe((message) => {
    if ('view' in message) childSteps.note(message.view);
  });
  const background = createBackgroundWork({
    config,
    log,
    adapters,
    tools,
    workflows: workflows.all,
    engine,
    crashes,
    serverId: dataFolder.serverId,
    workFolder,
  });
  return { options, dataFolder, stops, adapters, workflows, tools, crashes, engine, background, workFolder };
}

/** @throws {Unavailable} when a rebuild of the database did not come to its end */
async function assertRebuilt(store: EventStore): Promise<void> {
  if ((await store.getMark(UNFINISHED_REBUILD)) !== '1') return;
  throw new Unavailable(
    `The database holds an interrupted rebuild, and runs would be missing. Repeat "${startCommand().program} rebuild" with the same places, which carries it on, then start the server.`,
  );
}

/** @param comparison asked for only when the engine starts, as is `recorder`: they are made after the engine */
function createServerEngine({
  options: { config, log, wrap, onStep },
  adapters,
  workflows,
  tools,
  crashes,
  comparison,
  recorder,
}: Pick<Parts, 'options' | 'adapters' | 'workflows' | 'tools' | 'crashes'> & {
  readonly comparison: () => RecordComparison;
  readonly recorder: () => RunRecordWriter;
}): Engine {
  const { store, scrubber } = adapters;
  const git = { store, repository: tools.repository, log };
  const activities = new Map(
    [...activitiesOf(workflows.all, tools)].map(([name, registry]) => [name, wrap?.activities(registry) ?? registry]),
  );
  return new Engine({
    store,
    workflows: workflows.registry,
    findActivity: (workflow, name) => {
      const registry = activities.get(workflow);
      return registry !== undefined && Object.hasOwn(registry, name) ? registry[name] : undefined;
    },
    childConfig: (parent, workflow, asked) => workflows.runConfig.child(parent, workflow, asked),
    clock: systemClock,
    log,
    maxConcurrentRunsPerUser: config.maxConcurrentRunsPerUser,
    random: Math.random,
    scrub: <Value>(value: Value) => scrubber.scrubJson(value as JsonValue) as Value,
    onQuarantined: (runId) => writeExport(path.join(config.dataFolder, 'exports'), store, runId),
    findDamage: async () => [...crashes.faults, ...(await findDivergedRuns(git)), ...(await findLostCommits(git))],
    crashes,
    pauseOfRecord: pauseOfRecord({ ...adapters, repository: tools.repository, workflows: workflows.registry }),
    beforeWait: (runId, payload) => recorder().beforeWait(runId, payload),
    faultElsewhere: async (view) =>
      (await comparison().faultOf(view.id, view.projectId)) ?? (await bringBackCommits(git, view)),
    ...(onStep ? { onStep } : {}),
  });
}

/** Takes the port, then begins all work. */
async function startParts(parts: Parts): Promise<RunningServer> {
  const { options, stops, adapters, crashes, engine, background } = parts;
  const { config, log } = options;
  const { store, repository, sandboxes } = adapters;
  const { comparison, recorder, selfResume, probation, mirrorKeeper, archiver, upkeep, mergeRadar } = background;
  const projectIds = await idsOfProjects(store);
  const lostProjects = await findLostProjects(config.dataFolder, projectIds, parts.tools.repository, log);
  if (lostProjects !== null) log.warn(lostProjects);
  let damage: string | null = null;
  const forgeFindings = new ForgeFindings({ store, forge: adapters.forge, clock: systemClock, log });
  stops.add(async () => forgeFindings.stop());
  const fetches = new SharedFetches(parts.tools.repository);
  const orchestrator = createService(parts, { lostProjects, damage: () => damage, forgeFindings, fetches });
  // Before anything makes new ones.
  await repository.removeLeftovers();
  await removeUnusedMirrors(config.dataFolder, projectIds, repository, log);
  // Before anything of an older database is repeated, and before a command meets it.
  await importNewerRuns({
    store,
    repository: parts.tools.repository,
    workflows: parts.workflows.registry,
    uploads: adapters.uploads,
    clock: systemClock,
    log,
  });
  await readImportedAgain({
    store,
    workflows: parts.workflows.registry,
    pauseOf: pauseOfRecord({ ...adapters, repository: parts.tools.repository, workflows: parts.workflows.registry }),
    isWanted: lackedWorkflow,
    onFault: (runId, error) => log.warn({ err: error, runId }, PAUSE_FAULT),
    now: () => systemClock.now(),
  });
  // The port is taken before any work is: a second server must not begin and then fail.
  const issues = createIssueWatcher({
    config,
    log,
    adapters,
    repository: parts.tools.repository,
    fetches,
    workflows: parts.workflows,
    orchestrator,
  });
  const server = await startHttp(parts, orchestrator, issues);
  await parts.dataFolder.listening(server.url);
  // Stops run in reverse order: the recorder stops before the comparison, because its last writes may wait for one.
  stops.add(async () => comparison.stop());
  stops.add(() => recorder.stop());
  stops.add(async () => selfResume.stop());
  stops.add(() => archiver.stop());
  stops.add(() => upkeep.stop());
  stops.add(async () => mirrorKeeper.stop());
  stops.add(() => mergeRadar.stop());
  stops.add(() => engine.stop());
  stops.add(async () => issues?.stop());
  stops.add(() => server.close());
  // Requests that wait for one are answered before the server closes.
  stops.add(async () => fetches.stop(stopping()));
  stops.add(async () => probation.stop());
  stops.add(async () => crashes.stopping());
  const openRuns = await store.listOpenRuns();
  engine.subscribe(createRunLog(log, openRuns));
  await removeAbandonedFolders(parts.workFolder, new Set(openRuns.map(({ id }) => id)), log);
  await endAbandonedSandboxes(sandboxes, store, log);
  await comparison.start();
  crashes.takingUp();
  await engine.start();
  crashes.up();
  probation.start();
  await recorder.start();
  // Not awaited: the start does not depend on the paused runs.
  void selfResume.start();
  void mergeRadar.start();
  const ended = new AbortController();
  const checked = quickCheck(config.databasePath, ended.signal).then((found) => {
    damage = found;
    if (found !== null) log.error(found);
  });
  // Its thread would make the files beside the database anew in a folder that is given up.
  stops.add(() => {
    ended.abort();
    return checked;
  });
  archiver.start();
  upkeep.start();
  mirrorKeeper.start();
  await createDefaultProject(config, orchestrator, store, log);
  void forgeFindings.start();
  if (issues !== null) {
    engine.subscribe((message) => issues.receive(message));
    issues.start();
  }
  return server;
}

interface ServiceFacts {
  /** A sentence about projects that the data folder has and the database does not; `null` when there are none. */
  readonly lostProjects: string | null;
  /** Damage of the database's file that was found since the start. */
  readonly damage: () => string | null;
  readonly forgeFindings: ForgeFindings;
  readonly fetches: SharedFetches;
}

/** The API's meaning over the engine. */
function createService(
  {
    options: { config },
    adapters,
    workflows,
    tools,
    engine,
    background: { comparison, recorder, branchCleaner, mergeRadar },
  }: Parts,
  { lostProjects, damage, forgeFindings, fetches }: ServiceFacts,
): Orchestrator {
  const { store, setup, models, prices, sandboxes, uploads, transcripts, scrubber } = adapters;
  const { launchable, registry, runConfig } = workflows;
  return createOrchestrator({
    engine,
    store,
    repository: tools.repository,
    fetches,
    forge: tools.forge,
    workflows: registry,
    describeWorkflow: (name) => describeWorkflow(workflows, name),
    projectionOf: (name) => workflows.all.find((workflow) => workflow.name === name)?.projection,
    ...(launchable[0] === undefined ? {} : { defaultWorkflow: launchable[0].name }),
    models,
    prices,
    setup,
    sandboxes,
    uploads,
    transcripts,
    now: () => systemClock.now(),
    scrub: scrubber.scrub,
    runConfig,
    whyNotStorable: () => whyNotStorable(config, store),
    whyNoRoom: () => whyNoRoom(config),
    whyNoGit,
    damage,
    roadmaps: roadmapReader,
    compile: compileWith(tools),
    branches: branchCleaner,
    conflicts: (filter) => mergeRadar.conflicts(filter),
    record: {
      notices: () => [...(lostProjects === null ? [] : [lostProjects]), ...comparison.notices],
      noticesOf: (project) => {
        void comparison.isKnown(project);
        return [
          ...comparison.noticesOf(project.id),
          ...recorder.noticesOf(project.id),
          ...forgeFindings.noticesOf(project),
        ];
      },
      placeOf: (run) => recorder.placeOf(run),
    },
  });
}

function startHttp(
  { options, adapters, engine, workflows, background: { mergeRadar } }: Parts,
  orchestrator: Orchestrator,
  issues: IssueWatcher | null,
): Promise<RunningServer> {
  const { config, log } = options;
  const { launchable, runConfig } = workflows;
  const { store, token } = adapters;
  const feed: FeedSource = {
    feedId: store.feedId,
    lastPosition: () => store.lastPosition(),
    archivedPosition: () => store.archivedPosition(),
    readAll: (after, limit) => store.readAll(after, limit),
    foreseen: mergeRadar,
    subscribe: (listener) => {
      const ends = [engine.subscribe(listener), mergeRadar.subscribe(listener)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
  return startServer({
    dashboardFolder: DASHBOARD_FOLDER,
    orchestrator,
    unknownNames: (workflow = launchable[0]?.name, config) => runConfig.unknownNames(workflow, config),
    feed,
    store,
    token,
    host: config.host,
    port: config.port,
    ...(config.publicUrl === null ? {} : { publicUrl: config.publicUrl }),
    allowedHosts: config.allowedHosts,
    allowedOrigins: [],
    log,
    webhooks: webhooksOf(config, adapters, issues),
  });
}

/** `undefined` where the server takes none. */
function webhooksOf(
  { github }: ServerConfig,
  { store, forge, forgeNews }: Adapters,
  issues: IssueWatcher | null,
): WebhookSettings | undefined {
  if (github.webhookSecret === null) return undefined;
  return {
    secret: github.webhookSecret,
    async wake(repository) {
      const isThere = (await projectsAtForge(store, forge)).some(({ name }) => isSameRepository(name, repository));
      if (!isThere) return false;
      forgeNews.tell(repository);
      void issues?.discover();
      return true;
    },
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

/** GITHUB_REPO_OWNER and GITHUB_REPO_NAME make the first project, where there is none. */
async function createDefaultProject(
  { github }: ServerConfig,
  orchestrator: Orchestrator,
  store: EventStore,
  log: Logger,
): Promise<void> {
  if (github.repository === null || (await store.listProjects(undefined, 1)).items.length > 0) return;
  const { owner, name } = github.repository;
  try {
    await orchestrator.createProject(
      { userId: 'local' },
      {
        name,
        repository: `${webOriginOfApi(github.apiUrl)}/${owner}/${name}.git`,
        ...(github.defaultBranch === null ? {} : { baseBranch: github.defaultBranch }),
      },
    );
  } catch (error) {
    log.error({ err: error }, `the project ${owner}/${name} could not be set up; it is tried again at the next start`);
  }
}
