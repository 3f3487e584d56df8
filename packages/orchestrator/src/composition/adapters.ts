/** Opens every adapter that the configuration names. */
import path from 'node:path';
import type { Logger } from 'pino';
import { createAgentRouter } from '../agents/agent-router.ts';
import type { Agent } from '../agents/agent.ts';
import { createToolLoopAgent } from '../agents/tool-loop/tool-loop.ts';
import { createMermaidParser, type MermaidParser } from '../documents/plans/mermaid.ts';
import { createLearningScrubber, type LearningScrubber, type Scrubber } from '../secrets/secrets.ts';
import type { ServerConfig } from '../config.ts';
import type { DataFolder } from '../data-folder.ts';
import { systemClock } from '../engine/clock.ts';
import { Transcripts } from '../engine/transcripts.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { openSqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { type CassetteRecorder, createCassetteRecorder } from '../models/cassettes/cassette-recorder.ts';
import type { Forge } from '../forges/forge.ts';
import { ForgeNews } from '../forges/forge-news.ts';
import type { Models, Prices } from '../models/model.ts';
import { createPrices } from '../models/prices.ts';
import { createGitRepository } from '../repository/git-repository.ts';
import type { Repository } from '../repository/repository.ts';
import { createSandboxProvider } from '../sandboxes/provider-choice.ts';
import type { SandboxProvider } from '../sandboxes/sandbox.ts';
import { type OpenedWebPages, openWebPages } from '../web-pages/checked-web-pages.ts';
import { createSearch } from '../web-pages/search/create-search.ts';
import { openServerSetup, type ServerSetup } from '../server-setup/server-setup.ts';
import { openToken } from '../server/access/token.ts';
import { openUploads, type Uploads } from '../server/decisions/uploads.ts';
import type { StopList } from './stop-list.ts';
import { watchDataFolder } from './storage-health.ts';
import { openForge } from './forge.ts';

export interface AdapterOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly dataFolder: DataFolder;
  /** Takes up what has to be closed. */
  readonly stops: StopList;
  /** Used instead of the sandboxes that the configuration names. */
  readonly sandboxes: SandboxProvider | undefined;
  /** Used instead of a parser of its own, and not closed. */
  readonly parser: MermaidParser | undefined;
  readonly wrapStore: ((store: EventStore) => EventStore) | undefined;
  /** Called with the reason when nothing can be stored any more. */
  readonly onStopped: (reason: Error) => void;
  /** Learns every secret of the server; default: one of its own. */
  readonly scrubber: LearningScrubber | undefined;
}

export interface Adapters {
  readonly store: EventStore;
  readonly token: string;
  readonly scrubber: Scrubber;
  readonly repository: Repository;
  /** `null` where the configuration has no credentials for one. */
  readonly forge: Forge | null;
  readonly forgeNews: ForgeNews;
  /** Keys, agents and default models, as they are while the server runs. */
  readonly setup: ServerSetup;
  readonly models: Models;
  readonly prices: Prices;
  readonly agent: Agent;
  readonly transcripts: Transcripts;
  readonly parser: MermaidParser;
  readonly uploads: Uploads;
  readonly sandboxes: SandboxProvider;
  readonly webPages: OpenedWebPages;
}

/** @throws {AutonomousError} when one of them cannot be opened; those before it are in `stops` */
export async function openAdapters(options: AdapterOptions): Promise<Adapters> {
  const { config, log, dataFolder, stops } = options;
  const opened = openSqliteEventStore({ file: config.databasePath, onStopped: options.onStopped });
  const store = options.wrapStore?.(opened) ?? opened;
  stops.add(() => store.close());
  stops.add(watchDataFolder(dataFolder, opened, log));
  const token = config.token ?? (await openToken(config.dataFolder));
  const scrubber = options.scrubber ?? createLearningScrubber(config.secrets);
  scrubber.learn([token]);
  const { forge, git } = await openForge(config.github, { learn: (secrets) => scrubber.learn(secrets), marks: store });
  const repository = createGitRepository({
    folder: path.join(config.dataFolder, 'mirrors'),
    author: config.commitAuthor,
    ...git,
  });
  const cassettes = createCassettes(config, scrubber, log);
  if (cassettes) stops.add(() => cassettes.flush());
  const prices = createPrices(config.prices);
  const transcripts = new Transcripts(path.join(config.dataFolder, 'transcripts'));
  stops.add(() => transcripts.flush());
  const parser = options.parser ?? createMermaidParser();
  if (options.parser === undefined) stops.add(() => parser.close());
  const uploads = await openUploads(path.join(config.dataFolder, 'uploads'));
  const webPages = await openWebPages({
    folder: path.join(config.dataFolder, 'pages'),
    hosts: config.web.hosts,
    search: createSearch(config.web.search),
  });
  stops.add(() => webPages.close());
  const sandboxes =
    options.sandboxes ?? createSandboxProvider(config.sandbox, { server: store.feedId, dataFolder: config.dataFolder });
  stops.add(async () => sandboxes.close?.());
  const setup = await openServerSetup({
    config,
    learn: (secrets) => scrubber.learn(secrets),
    scrub: scrubber.scrub,
    probeAgent: async (settings) => (await import('../agents/acp/acp-probe.ts')).probeAcpAgent(settings, sandboxes),
  });
  const { models } = setup;
  const agent = createAgent(config, setup, cassettes);
  return {
    store,
    token,
    scrubber,
    repository,
    forge,
    forgeNews: new ForgeNews(),
    setup,
    models,
    prices,
    agent,
    transcripts,
    parser,
    uploads,
    sandboxes,
    webPages,
  };
}

/** `null` where no answers of models are recorded. */
function createCassettes({ recordFolder }: ServerConfig, scrubber: Scrubber, log: Logger): CassetteRecorder | null {
  if (recordFolder === null) return null;
  return createCassetteRecorder({
    folder: recordFolder,
    scrub: scrubber.scrubJson,
    now: () => systemClock.now(),
    onError: (error, runId) => log.error({ err: error, runId }, 'the cassette of a run cannot be written'),
  });
}

function createAgent(config: ServerConfig, setup: ServerSetup, cassettes: CassetteRecorder | null): Agent {
  return createAgentRouter({
    toolLoop: createToolLoopAgent({
      models: setup.models,
      mcpServers: config.mcpServers,
      contextTokens: config.contextTokens,
      ...(config.contextTarget === null ? {} : { contextTarget: config.contextTarget }),
      timeouts: config.modelTimeouts,
      delays: { patienceMs: config.modelPatienceMs },
      ...(cassettes ? { recorder: cassettes } : {}),
    }),
    acp: async () => (await import('../agents/acp/acp.ts')).createAcpAgent(() => setup.agents()),
  });
}
