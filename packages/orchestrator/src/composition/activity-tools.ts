/** Ports and settings that activities of this server use. */
import path from 'node:path';
import { allOwnedPaths, NotFound, type RunView, SETUP_ROLE } from '@autonomous/shared';
import type { Logger } from 'pino';
import { BaselineCache } from '../activities/evidence/baseline-cache.ts';
import { CheckedTrees } from '../activities/evidence/checked-trees.ts';
import { DependencyCache } from '../activities/install/dependency-cache.ts';
import type { ActivityTools } from '../activities/tools.ts';
import type { ServerConfig } from '../config.ts';
import { packageRegistries } from '../sandboxes/package-registries.ts';
import type { SandboxLimits } from '../sandboxes/sandbox.ts';
import type { Adapters } from './adapters.ts';
import type { ServerWorkflows } from './server-workflows.ts';

export interface ActivityToolsOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly adapters: Adapters;
  readonly workflows: ServerWorkflows;
  readonly childSteps: ActivityTools['childSteps'];
  readonly assertRecordKnown: ActivityTools['assertRecordKnown'];
}

const MB = 1024 * 1024;
/**
 * Limits of a command inside a sandbox besides the configured ones: enough for compilers and test suites of usual projects.
 */
const LIMITS: Pick<SandboxLimits, 'fileBytes' | 'cpuSeconds'> = { fileBytes: 1_024 * MB, cpuSeconds: 3_600 };

export function createActivityTools(options: ActivityToolsOptions): ActivityTools {
  const { config, log, adapters, workflows, childSteps, assertRecordKnown } = options;
  const {
    store,
    repository,
    forge,
    forgeNews,
    agent,
    prices,
    sandboxes,
    parser,
    uploads,
    models,
    scrubber,
    webPages,
    transcripts,
  } = adapters;
  return {
    roleNames: [...new Set(workflows.all.flatMap(({ roles }) => roles.map(({ role }) => role.name)))],
    repository,
    forge,
    forgeNews,
    forgePollMs: config.forgePollMs,
    agent,
    prices,
    sandboxes,
    webPages,
    parser,
    workFolder: path.join(config.dataFolder, 'work'),
    limits: { ...LIMITS, ...config.sandboxLimits },
    setupTimeoutMs: config.setupTimeoutMs,
    dependencies: new DependencyCache({
      folder: path.join(config.dataFolder, 'dependencies'),
      maxBytes: config.dependencyCacheBytes,
      log,
    }),
    baselines: new BaselineCache(path.join(config.dataFolder, 'baselines')),
    checkedTrees: new CheckedTrees(path.join(config.dataFolder, 'checked-trees')),
    egress: async (role, step) =>
      config.egress[role] ??
      (role === SETUP_ROLE && config.allowSetupNetwork
        ? await packageRegistries({ namesOnly: config.sandbox.provider === 'e2b', step })
        : []),
    reviewPaths: config.reviewPaths,
    autoRetry: config.autoRetry,
    contextTokens: config.contextTokens,
    project: async (id, runId) => {
      const project = await store.getProject(id);
      if (!project) throw new Error(`project ${id} is not in the database`);
      const { ownedFiles: owned, allowedFiles } = (await store.loadView(runId)) ?? {};
      const ownedFiles = allOwnedPaths(owned);
      return {
        ...project,
        ...(ownedFiles.length === 0 ? {} : { ownedFiles }),
        ...(allowedFiles === undefined ? {} : { allowedFiles }),
      };
    },
    view: async (runId) => {
      const view = await store.loadView(runId);
      if (!view) throw new NotFound(`run ${runId} is not in the database`);
      return view;
    },
    childRuns: (runId) => childRunsOf(store, runId),
    childSteps,
    events: async (runId, after = 0) =>
      (await store.readRun(runId, after)).filter(({ type }) => workflows.registry.isRead(type)),
    log: (runId) => store.readRun(runId, 0),
    compactions: async (runId) => (await transcripts.marked(runId, 'compaction')).map(({ at }) => at),
    steps: (runId) => store.readSteps(runId),
    uploadPath: async (id) => (await uploads.get(id))?.path ?? null,
    runConfig: workflows.runConfig,
    checkModel: (id) => models.check(id),
    assertRecordKnown,
    scrub: scrubber.scrub,
  };
}

async function childRunsOf(store: ActivityToolsOptions['adapters']['store'], runId: string): Promise<RunView[]> {
  const views: RunView[] = [];
  for (const { id } of await store.listChildren(runId)) {
    const view = await store.loadView(id);
    if (view !== null) views.push(view, ...(await childRunsOf(store, id)));
  }
  return views;
}
