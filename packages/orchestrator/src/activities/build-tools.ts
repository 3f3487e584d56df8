/** What the activities of a build work with: ports, and the few facts of the server that they need. */
import type { ProjectConfig, RunConfig, RunConfigRequest, RunView, WorkflowEvent } from '@autonomous/shared';
import type { Agent } from '../agents/agent.ts';
import type { MermaidParser } from '../artifacts/mermaid.ts';
import type { Prices } from '../models/model.ts';
import type { RemoteProject, Repository } from '../repository/repository.ts';
import type { SandboxLimits, SandboxProvider } from '../sandboxes/sandbox.ts';

export interface BuildTools {
  readonly repository: Repository;
  readonly agent: Agent;
  readonly prices: Prices;
  readonly sandboxes: SandboxProvider;
  readonly parser: MermaidParser;
  /** Absolute folder under which each run has its plain-file work folders. */
  readonly workFolder: string;
  readonly limits: SandboxLimits;
  /** May a project's install step use the network? Nothing else ever may. */
  readonly allowSetupNetwork: boolean;
  /** False: every failed validation asks a person. */
  readonly autoRetry: boolean;
  project(id: string): Promise<RemoteProject & { readonly name: string }>;
  view(runId: string): Promise<RunView>;
  events(runId: string): Promise<readonly WorkflowEvent[]>;
  /** Host path of an uploaded file; `null` when there is none. */
  uploadPath(id: string): Promise<string | null>;
  resolveConfig(
    project: ProjectConfig | null,
    request: RunConfigRequest,
  ): { readonly config: RunConfig; readonly notices: readonly string[] };
  /** Takes known secrets and token patterns out of text before it is stored. */
  scrub(text: string): string;
}
