/** What the API does, as an interface: the routes are one line each over it; the server implements it. */
import type { RunConfigRequest } from '../config.ts';
import type { WorkflowEvent } from '../events.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Artifact, Clarification, Decision, Gate, RunStatus, RunView } from '../run.ts';

/** Who makes a request. The local token's owner is `local`. */
export interface Caller {
  readonly userId: string;
}

export interface Project {
  readonly id: string;
  readonly name: string;
  /** Absolute path or git URL of the remote; never holds credentials. */
  readonly repository: string;
  readonly baseBranch: string;
  readonly createdAt: string;
}

export interface NewProject {
  readonly name: string;
  readonly repository: string;
  /** Absent: the remote's own HEAD. */
  readonly baseBranch?: string | undefined;
}

export interface NewRun {
  readonly projectId: string;
  readonly workflow?: string | undefined;
  readonly request: string;
  readonly config?: RunConfigRequest | undefined;
}

export interface NewExploration {
  readonly projectId: string;
  readonly variants: readonly { readonly request: string; readonly config?: RunConfigRequest | undefined }[];
}

export interface Exploration {
  readonly id: string;
  readonly runs: readonly RunView[];
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Give it back as `cursor` for the next page; `null` at the end. */
  readonly nextCursor: string | null;
}

export interface PageRequest {
  readonly cursor?: string | undefined;
  /** 1 to 200, default 50. */
  readonly limit?: number | undefined;
}

export interface RunFilter extends PageRequest {
  readonly status?: RunStatus | undefined;
  readonly projectId?: string | undefined;
  readonly workflow?: string | undefined;
  readonly explorationId?: string | undefined;
}

/** The one way to decide a gate. Which fields a decision needs: `reject` feedback, `answer` response, `ask` question, `accept` reason, `extend` minutes. */
export interface GateDecision {
  readonly decision: Decision;
  readonly artifactHash?: string | undefined;
  readonly codeTree?: string | undefined;
  readonly notes?: string | undefined;
  readonly feedback?: string | undefined;
  /** Text, one option, several options, or the ids of uploads, by the question's response type. */
  readonly response?: string | readonly string[] | undefined;
  readonly question?: string | undefined;
  readonly reason?: string | undefined;
  readonly minutes?: number | undefined;
  /** A corrected plan (Markdown with Mermaid), at a plan gate. */
  readonly editedPlan?: string | undefined;
}

export interface ArtifactContent extends Artifact {
  readonly content: string;
}

export interface FileChange {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted';
  readonly additions: number;
  readonly deletions: number;
}

export interface RunDiff {
  readonly from: string;
  readonly to: string;
  readonly files: readonly FileChange[];
  /** Unified diff, cut at 1 MB; `truncated` says so. */
  readonly patch: string;
  readonly truncated: boolean;
}

export interface TranscriptEntry {
  readonly at: string;
  readonly activity: string;
  readonly kind: string;
  readonly text: string;
  readonly role?: string | undefined;
  readonly model?: string | undefined;
  readonly scripted?: boolean | undefined;
  readonly data?: JsonObject | undefined;
}

export interface Statechart {
  readonly workflow: string;
  readonly version: number;
  /** Mermaid state diagram. */
  readonly mermaid: string;
  readonly current: JsonValue;
  /** Signals that the machine would take now. */
  readonly possible: readonly string[];
}

export interface WorkflowSummary {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly signals: readonly string[];
  readonly mermaid: string;
}

export interface ModelSummary {
  /** `provider:model` */
  readonly id: string;
  readonly usable: boolean;
  /** Why it is not usable, with the way out. */
  readonly reason?: string | undefined;
  readonly scripted: boolean;
  /** Roles whose default it is. */
  readonly defaultFor: readonly string[];
}

export interface Upload {
  /** SHA-256 of the content. */
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

export interface Orchestrator {
  createProject(caller: Caller, project: NewProject): Promise<Project>;
  listProjects(page: PageRequest): Promise<Page<Project>>;
  getProject(id: string): Promise<Project>;

  /** @param key idempotency key of the request; the same key gives the same run */
  launchRun(caller: Caller, run: NewRun, key?: string): Promise<RunView>;
  explore(caller: Caller, exploration: NewExploration, key?: string): Promise<Exploration>;
  listRuns(filter: RunFilter): Promise<Page<RunView>>;
  getRun(id: string): Promise<RunView>;
  listEvents(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  listArtifacts(runId: string): Promise<readonly Artifact[]>;
  getArtifact(runId: string, artifactId: string): Promise<ArtifactContent>;
  getDiff(runId: string): Promise<RunDiff>;
  getTranscript(runId: string): Promise<readonly TranscriptEntry[]>;
  getStatechart(runId: string): Promise<Statechart>;

  listGates(runId?: string): Promise<readonly Gate[]>;
  listClarifications(status?: 'pending' | 'answered' | 'ignored'): Promise<readonly Clarification[]>;
  decideGate(caller: Caller, gateId: string, decision: GateDecision): Promise<RunView>;
  /** Decides whichever gate of the run is open. */
  decideOpenGate(caller: Caller, runId: string, decision: GateDecision): Promise<RunView>;
  cancelRun(caller: Caller, runId: string, reason?: string): Promise<RunView>;
  sendMessage(caller: Caller, runId: string, text: string): Promise<RunView>;
  sendSignal(caller: Caller, runId: string, signal: JsonObject & { readonly type: string }): Promise<RunView>;

  upload(name: string, content: Uint8Array): Promise<Upload>;
  listWorkflows(): Promise<readonly WorkflowSummary[]>;
  getWorkflow(name: string): Promise<WorkflowSummary>;
  listModels(): Promise<readonly ModelSummary[]>;
  readiness(): Promise<Readiness>;
}
