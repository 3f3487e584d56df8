/** Ports and server settings that activities of any workflow use. */
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import type { Agent } from '../agents/agent.ts';
import type { ChainedStep } from '../documents/event-log.ts';
import type { MermaidParser } from '../documents/plans/mermaid.ts';
import type { Forge } from '../forges/forge.ts';
import type { ForgeNews } from '../forges/forge-news.ts';
import type { Prices } from '../models/model.ts';
import type { RunConfigPolicy } from '../run-config/run-config-policy.ts';
import type { RemoteProject, Repository } from '../repository/repository.ts';
import type { SandboxLimits, SandboxProvider } from '../sandboxes/sandbox.ts';
import type { WebPages } from '../web-pages/web-page.ts';
import type { ChildSteps } from './child-steps.ts';
import type { BaselineCache } from './evidence/baseline-cache.ts';
import type { CheckedTrees } from './evidence/checked-trees.ts';
import type { DependencyCache } from './install/dependency-cache.ts';

/** Facts of runs, as the database has them. */
export interface RunFacts {
  /** The project for a run: with its engine-owned files and the files that its agents may change, which the repository then treats as such. */
  project(id: string, runId: string): Promise<RemoteProject & { readonly name: string }>;
  /** @throws {NotFound} */
  view(runId: string): Promise<RunView>;
  /** All runs below a run, of all generations. */
  childRuns(runId: string): Promise<readonly RunView[]>;
  readonly childSteps: Pick<ChildSteps, 'onGate'>;
  /**
   * Events of a run that act: those that every workflow has, and those that definitions name as `readsEvents`.
   * @param after sequence of the last event already seen. Default: from the first
   */
  events(runId: string, after?: number): Promise<readonly WorkflowEvent[]>;
  /** All events of a run, for its record. */
  log(runId: string): Promise<readonly WorkflowEvent[]>;
  /** Times at which agents of a run began to compact their contexts, oldest first. */
  compactions(runId: string): Promise<readonly string[]>;
  /** All steps of a run as the hash chain has them. */
  steps(runId: string): Promise<readonly ChainedStep[]>;
  /** Host path of an uploaded file; `null` when there is none. */
  uploadPath(id: string): Promise<string | null>;
  /**
   * Before a run does on the remote what others see: what git knows of the run has been compared with the database.
   * @throws {NeedsHuman} `remote_unavailable`
   */
  assertRecordKnown(project: RemoteProject, runId: string, signal: AbortSignal): Promise<void>;
}

/** Sandboxes in which commands of a project run, and what is kept of their outcomes. */
export interface CommandTools {
  readonly sandboxes: SandboxProvider;
  /** Absolute folder under which each run has its plain-file work folders. */
  readonly workFolder: string;
  readonly limits: SandboxLimits;
  /** Time that an install step may take. */
  readonly setupTimeoutMs: number;
  /**
   * Entries of the allow-list that the server gives a role; an empty list lets nothing through.
   * @param step command of an install step, whose programs narrow the registries that are open by default
   */
  egress(role: string, step?: string): Promise<readonly string[]>;
  /** Dependencies that install steps have installed. */
  readonly dependencies: DependencyCache;
  /** Results of the checks on code trees without a run's changes. */
  readonly baselines: BaselineCache;
  /** Passed checks of code trees, for runs with the same tree. Absent: each is checked again. */
  readonly checkedTrees?: CheckedTrees;
}

/** Agents and what bounds and prices their calls. */
export interface AgentTools {
  readonly agent: Agent;
  readonly prices: Prices;
  /** Can this server use a model? Gives its full id, or says why not. */
  checkModel(id: string): { readonly ok: true; readonly id: string } | { readonly ok: false; readonly message: string };
  /** Estimated tokens of instructions and prompt of one call, at most. */
  readonly contextTokens: number;
  /** Pages of the web as text, and the server's search API. */
  readonly webPages: WebPages;
}

/** Pull requests, reviews and checks of projects. */
export interface ForgeTools {
  /** Pull requests, reviews and checks of projects that lie there; `null`: none is configured. */
  readonly forge: Forge | null;
  /** Ends the waits of those who follow something there. */
  readonly forgeNews: ForgeNews;
  /** Wait between two looks there where there is no news. */
  readonly forgePollMs: number;
}

/** Rules of this server that hold for every run. */
export interface ServerRules {
  /** Names of the roles of all workflows of this server: a project's files may change each of them. */
  readonly roleNames: readonly string[];
  readonly runConfig: RunConfigPolicy;
  /** Operator's path patterns of changes that a person must see before a merge, beside the self-running table. */
  readonly reviewPaths: readonly string[];
  /** False: every failed validation asks a person. */
  readonly autoRetry: boolean;
}

/** Ports and settings that activities of any workflow use. A function that needs one group takes that. */
export interface ActivityTools extends RunFacts, CommandTools, AgentTools, ForgeTools, ServerRules {
  readonly repository: Repository;
  readonly parser: MermaidParser;
  /** Takes known secrets and token patterns out of text before it is stored. */
  scrub(text: string): string;
}
