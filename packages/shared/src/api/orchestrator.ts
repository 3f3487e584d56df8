/** The API as an interface. Each route is one line on top of it; the server implements it. */
import type { RunConfigRequest } from '../config.ts';
import type { WorkflowEvent } from '../events.ts';
import type { ForeseenConflict, ForeseenConflictFilter } from '../review/foreseen-conflicts.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { RunProjection } from '../projection.ts';
import type { Artifact, Clarification, Decision, Gate, ReviewComment, RunStatus, RunFamily, RunView } from '../run.ts';
import type { ShownFields } from '../gates/shown-gate.ts';
import type { BudgetChange } from '../budgets.ts';
import type { WorkflowInfo } from '../workflows/workflow-info.ts';
import type { Metrics, MetricsQuery } from './metrics.ts';
import type { ResolvedThread, RunPullRequest, ThreadReply } from './pull-request.ts';
import type { ProjectRoadmap } from './roadmap.ts';
import type { AgentSetup, NewKey, ProviderSetup, Setup } from './setup.ts';

/** A run below another that a message did not reach. */
export interface UnreachedRun {
  readonly runId: string;
  /** One sentence. */
  readonly why: string;
}

/** A run after a message to it. */
export type ToldRun = RunView & {
  /** Absent: the message reached all open runs below it. */
  readonly unreached?: readonly UnreachedRun[];
};

/** The user who makes a request. The owner of the local token is `local`. */
export interface Caller {
  readonly userId: string;
  /** The request as one that is done once: see {@link RequestKey}. Absent: it has no idempotency key. */
  readonly request?: RequestKey;
}

/** A request that may be sent again: what it does is stored under its key, in one transaction with the step itself. */
export interface RequestKey {
  readonly key: string;
  /** Hash of the request. It distinguishes a repetition from another request under the same key. */
  readonly hash: string;
}

export interface Project {
  readonly id: string;
  readonly name: string;
  /** Absolute path or git URL of the remote; never holds credentials. */
  readonly repository: string;
  readonly baseBranch: string;
  readonly createdAt: string;
  /** Current notices for people, such as runs that the record in git has and the database lacks. Absent: none. */
  readonly notices?: readonly string[] | undefined;
}

export interface NewProject {
  readonly name: string;
  readonly repository: string;
  /** Absent: the remote's own HEAD. */
  readonly baseBranch?: string | undefined;
}

export interface NewRun {
  /** Required if `needsProject` of the workflow is true. */
  readonly projectId?: string | undefined;
  /**
   * Instead of `projectId`: the project of this name and repository. One that the server does not have is added with the run. A
   * refused launch adds nothing.
   */
  readonly project?: NewProject | undefined;
  readonly workflow?: string | undefined;
  /** Needed where a project is, unless the workflow has a `defaultRequest`, which an empty one gets. */
  readonly request?: string | undefined;
  readonly config?: RunConfigRequest | undefined;
  /** Input by the workflow's own schema. */
  readonly input?: JsonObject | undefined;
}

export interface NewFork {
  /** Sequence of the source's last event that the fork has. A step is whole: the fork is at the end of the step that holds it. */
  readonly at: number;
  /** Settings that differ from that event on. */
  readonly config?: RunConfigRequest | undefined;
  /** Decides the gate that is open there. */
  readonly answer?: GateDecision | undefined;
  /** Another request in place of the source's. */
  readonly request?: string | undefined;
}

export interface NewExploration {
  readonly projectId: string;
  /** Of all variants; absent: the server's own workflow for projects. */
  readonly workflow?: string | undefined;
  readonly variants: readonly NewVariant[];
}

/** One of the runs of an exploration. */
export interface NewVariant {
  readonly request: string;
  readonly config?: RunConfigRequest | undefined;
  /** Input by the workflow's own schema. */
  readonly input?: JsonObject | undefined;
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
  /** `true`: runs that are not over, whatever their status; `false`: those that are. */
  readonly open?: boolean | undefined;
  readonly projectId?: string | undefined;
  readonly workflow?: string | undefined;
  readonly explorationId?: string | undefined;
  /** Runs that share the budgets of a tree: see `treeOf`. */
  readonly treeId?: string | undefined;
  /** Child runs of a run. */
  readonly parentId?: string | undefined;
}

/**
 * The one way to decide a gate. Which fields a decision needs: `approve` and `accept` the gate's id and every hash that the gate
 * shows (that of its concerns among them: what is approved or accepted there is accepted with them), `reject` feedback, `answer` response, `ask` question, `accept` a reason too, `extend` minutes or, at a budget that is
 * used up, another one. Any decision may name its gate, and is refused while another one is open.
 */
export interface GateDecision extends BudgetChange, ShownFields {
  readonly decision: Decision;
  readonly notes?: string | undefined;
  readonly feedback?: string | undefined;
  /** Text, one option, several options, or the ids of uploads, by the question's response type. */
  readonly response?: string | readonly string[] | undefined;
  readonly question?: string | undefined;
  readonly reason?: string | undefined;
  readonly minutes?: number | undefined;
  /**
   * Files of another run's result, with `reject` at the gate of a result or `retry` at that of a failed validation: they are
   * committed on this run's branch and the result is checked anew, by the implementer first where there are words for it.
   */
  readonly take?: FilesChoice | undefined;
  /** A corrected plan (Markdown with Mermaid), at a plan gate. */
  readonly editedPlan?: string | undefined;
}

/** Outcome of one of several retries. */
export interface RetriedGate {
  readonly gateId: string;
  readonly retried: boolean;
  /** Why the gate was not retried; absent if it was. */
  readonly detail?: string | undefined;
}

export interface FilesChoice {
  readonly runId: string;
  /** The `to` of the other run's diff that was looked at. */
  readonly commit: string;
  readonly paths: readonly string[];
}

/** A comment beside a line of the result that a gate shows. */
export interface NewComment {
  readonly path: string;
  /** Of the file after the change, from 1; 0: the file as a whole. */
  readonly line: number;
  readonly text: string;
}

export interface ArtifactContent extends Artifact {
  readonly content: string;
  /** `base64`: the content is a file that is no text, such as a PDF. Absent: it is text. */
  readonly encoding?: 'base64' | undefined;
}

/** A document of a run as PDF, compiled on request from its newest text. Neither the run nor its branch changes by it. */
export interface CompiledDocument {
  /** `absent`: LaTeX is missing where commands run. */
  readonly outcome: 'compiled' | 'failed' | 'absent';
  /** Name of the PDF without folders: `tides-report.pdf`. */
  readonly fileName: string;
  /** Commit that has the text. */
  readonly commit: string;
  /** Version of the text's artifact. */
  readonly version: number;
  /** The PDF in base64, of a document that was compiled. */
  readonly content?: string | undefined;
  /** Of a document that was compiled. */
  readonly pages?: number | undefined;
  /** Errors of LaTeX, at least one, of a document that failed: `line 12: Undefined control sequence.` */
  readonly errors?: readonly string[] | undefined;
  /** Programs, or files of LaTeX packages, that are absent. */
  readonly missing?: readonly string[] | undefined;
}

export interface FileChange {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted';
  readonly additions: number;
  readonly deletions: number;
  /**
   * Sizes in bytes of a file that is no text, `null` where it is not there. Absent for text. `isOfUnknownKind`: neither its name
   * nor what was looked at of it says what it is.
   */
  readonly binary?:
    | { readonly before: number | null; readonly after: number | null; readonly isOfUnknownKind?: true | undefined }
    | undefined;
  /** Changed lines that the patch leaves out because the change is too large. Absent where it has all of them. */
  readonly leftOut?: { readonly additions: number; readonly deletions: number } | undefined;
  /** Warnings about the change for the person who decides, a clause each: hidden characters, names that look alike. */
  readonly warnings?: readonly string[] | undefined;
}

export interface RunDiff {
  readonly from: string;
  readonly to: string;
  readonly files: readonly FileChange[];
  /** Unified diff of at most 1 MB, in the order of `files`; each file says what of it is left out. */
  readonly patch: string;
  /** Is anything left out? */
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

/** One change of state. */
export interface StatechartStep {
  /** Sequence of its STATE_CHANGED: `?at=` it gives the run as it was then. */
  readonly sequence: number;
  readonly at: string;
  /** The cause, as the diagram labels the transition. */
  readonly event: string;
  /** State value before; `null` at the beginning. */
  readonly from: JsonValue;
  readonly to: JsonValue;
}

/** Events that can happen next. A guard may still refuse a signal because of its payload. */
export interface PossibleEvents {
  /** With the decisions of the open gate that send the signal. */
  readonly signals: readonly { readonly type: string; readonly decisions: readonly Decision[] }[];
  readonly timers: readonly { readonly event: string; readonly dueAt: string }[];
  /** Activities under way. `source` is `null` where the machine starts it from within an action. */
  readonly activities: readonly { readonly id: string; readonly source: string | null; readonly key: string }[];
}

export interface Statechart {
  readonly workflow: string;
  readonly version: number;
  /** The event after which the run is shown. */
  readonly sequence: number;
  /** Mermaid state diagram: the current states are of class `current`, earlier ones of `visited`; transitions count how often they were taken. */
  readonly mermaid: string;
  readonly current: JsonValue;
  /** Changes of state, oldest first; of more than 500 the newest. */
  readonly path: readonly StatechartStep[];
  /** All changes of state, also those that `path` leaves out. */
  readonly changes: number;
  readonly possible: PossibleEvents;
}

export interface WorkflowSummary extends WorkflowInfo {
  readonly version: number;
  readonly description: string;
  readonly needsProject: boolean;
  /** JSON schema of the `input` of a run; `null` where it takes none. */
  readonly input: JsonObject | null;
  /**
   * Request of a run that is launched without one, with fields of its input in braces: `Work through {file}`. Filled in by
   * `filledText`. Absent: a workflow that needs a project needs a request, too.
   */
  readonly defaultRequest?: string;
  /** True: only runs of other workflows start it, as their child. Launch forms leave it out. */
  readonly isChildOnly: boolean;
  /** True: a launch that names no workflow starts this one. Default: false. */
  readonly isDefault?: boolean;
  /** Types of the signals that it takes. */
  readonly signals: readonly string[];
  readonly mermaid: string;
}

export interface WorkflowDetails extends Omit<WorkflowSummary, 'signals'> {
  /** All versions that runs may still follow, newest first. */
  readonly versions: readonly number[];
  /** With the JSON schema of each payload. */
  readonly signals: readonly { readonly type: string; readonly payload: JsonObject }[];
  /** Activities that the machine's states start. */
  readonly activities: readonly { readonly id: string; readonly source: string }[];
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

/** Branches of a project's finished runs that were looked at. */
export interface CleanedBranches {
  /** Removed from the remote and the mirror; on a dry run those that would be. */
  readonly removed: readonly { readonly branch: string; readonly runId: string }[];
  readonly kept: readonly KeptBranch[];
}

export interface KeptBranch {
  readonly branch: string;
  /** `null` where no run of the project has this branch. */
  readonly runId: string | null;
  /** To be read after "stays, because". */
  readonly reason: string;
}

export interface CleaningRequest {
  /** True: nothing is removed. Default: false. */
  readonly dryRun?: boolean | undefined;
  /** Days since the end of a run, at least 1. Default: the server's setting. */
  readonly afterDays?: number | undefined;
}

export interface Orchestrator {
  createProject(caller: Caller, project: NewProject): Promise<Project>;
  listProjects(page: PageRequest): Promise<Page<Project>>;
  getProject(id: string): Promise<Project>;
  /**
   * The roadmap on the project's base branch, with the choice of its next item and the live runs of items.
   * @throws {NotFound} @throws {Unprocessable} when the repository cannot be read
   */
  getRoadmap(projectId: string): Promise<ProjectRoadmap>;
  /** Removes branches of runs that ended long ago and that only repeat what the base branch or the record has. */
  cleanBranches(id: string, request: CleaningRequest): Promise<CleanedBranches>;

  /** @param key idempotency key of the request; the same key gives the same run */
  launchRun(caller: Caller, run: NewRun, key?: string): Promise<RunView>;
  explore(caller: Caller, exploration: NewExploration, key?: string): Promise<Exploration>;
  listRuns(filter: RunFilter): Promise<Page<RunView>>;
  /**
   * A new run that goes on where another was after one of its events.
   * @param key idempotency key of the request; the same key gives the same run
   */
  forkRun(caller: Caller, runId: string, fork: NewFork, key?: string): Promise<RunView>;
  /** @param at the run as it was after this event; absent: as it is */
  getRun(id: string, at?: number): Promise<RunView>;
  /** Binds a run to another version of its workflow, where it goes the same way there or that version converts it. */
  migrateRun(caller: Caller, runId: string, to: number): Promise<RunView>;
  /** Everything that can still be read of a run, row by row, also of a damaged one. */
  exportRun(runId: string): Promise<JsonObject>;
  listEvents(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  listArtifacts(runId: string): Promise<readonly Artifact[]>;
  /** @throws {NotFound} @throws {Unprocessable} when it has more than 16 MB */
  getArtifact(runId: string, artifactId: string): Promise<ArtifactContent>;
  /** @param document artifact type of the PDF. Default: the only PDF that the run's workflow has */
  compileDocument(runId: string, document?: string): Promise<CompiledDocument>;
  /**
   * The run as its workflow projects it. Without sections where the workflow has no projection, or its state cannot be read.
   * @throws {NotFound}
   */
  getProjection(runId: string): Promise<RunProjection>;
  getDiff(runId: string): Promise<RunDiff>;
  getTranscript(runId: string): Promise<readonly TranscriptEntry[]>;
  /** @param at after the step that holds this event; absent: now */
  getStatechart(runId: string, at?: number): Promise<Statechart>;
  /** Spending and budgets of the run's family. @throws {NotFound} */
  getRunTree(runId: string): Promise<RunFamily>;

  /**
   * The run's pull request, read from the forge.
   * @throws {NotFound} when the run has none or it is gone @throws {Unavailable} when the forge does not answer or refuses the
   * server's credentials @throws {Unprocessable} for what else the forge refuses
   */
  getPullRequest(runId: string): Promise<RunPullRequest>;
  /** Answers in a review thread, once for each request key. @throws as `getPullRequest`, {NotFound} also for a thread of another pull request */
  replyToThread(caller: Caller, runId: string, threadId: string, body: string): Promise<ThreadReply>;
  /** Repeated, it changes nothing more. @throws as `replyToThread` */
  resolveThread(runId: string, threadId: string): Promise<ResolvedThread>;

  /** Files in which merges of live runs would conflict now. Those of a run that has none are an empty list. */
  listConflicts(filter: ForeseenConflictFilter): Promise<readonly ForeseenConflict[]>;
  listGates(runId?: string): Promise<readonly Gate[]>;
  listClarifications(status?: 'pending' | 'answered' | 'ignored'): Promise<readonly Clarification[]>;
  decideGate(caller: Caller, gateId: string, decision: GateDecision): Promise<RunView>;
  /** Decides the run's open gate: the one that `gateId` names, where it names one. */
  decideOpenGate(caller: Caller, runId: string, decision: GateDecision): Promise<RunView>;
  /** Comments of the gate's run that no decision has sent yet; those of earlier gates among them. */
  listComments(gateId: string): Promise<readonly ReviewComment[]>;
  /** Keeps a comment until a decision sends it. @throws {Conflict} when the gate is not open or takes no words */
  addComment(caller: Caller, gateId: string, comment: NewComment): Promise<RunView>;
  /** @throws {Conflict} when it was sent already */
  editComment(caller: Caller, commentId: string, text: string): Promise<RunView>;
  /** @throws {Conflict} when it was sent already */
  deleteComment(caller: Caller, commentId: string): Promise<RunView>;
  /** Retries at each of these gates, as they were shown; one that was decided meanwhile is passed over and named. */
  retryGates(caller: Caller, gateIds: readonly string[]): Promise<readonly RetriedGate[]>;
  cancelRun(caller: Caller, runId: string, reason?: string): Promise<RunView>;
  /** Pauses a run and the open runs below it, until a person retries at its gate. */
  pauseRun(caller: Caller, runId: string, reason?: string): Promise<RunView>;
  /** Tells a run and the open runs below it. */
  sendMessage(caller: Caller, runId: string, text: string): Promise<ToldRun>;
  sendSignal(caller: Caller, runId: string, signal: JsonObject & { readonly type: string }): Promise<RunView>;

  upload(name: string, content: Uint8Array): Promise<Upload>;
  listWorkflows(): Promise<readonly WorkflowSummary[]>;
  getWorkflow(name: string): Promise<WorkflowDetails>;
  listModels(): Promise<readonly ModelSummary[]>;
  /** Success, time, waiting and cost of runs over a time. */
  getMetrics(query: MetricsQuery): Promise<Metrics>;
  readiness(): Promise<Readiness>;

  /** Keys, agents and default models of this server. Starts nothing and asks no provider on the internet. */
  getSetup(): Promise<Setup>;
  /**
   * Gives a provider a key, which runs use at once.
   * @throws {InvalidRequest} when it cannot be this provider's key
   * @throws {Conflict} when the environment names a key for the provider
   * @throws {Unprocessable} when the test of the key fails; the key is not kept then
   */
  setKey(provider: string, key: NewKey): Promise<ProviderSetup>;
  /** Forgets a key that was given by `setKey`. @throws {Conflict} when the environment names it */
  removeKey(provider: string): Promise<ProviderSetup>;
  /** Makes one call with the provider's key. */
  testProvider(provider: string): Promise<ProviderSetup>;
  /** Starts the agent and opens a session, without a prompt. */
  testAgent(agent: string): Promise<AgentSetup>;
  /**
   * Sets default models by role; roles that are not named keep theirs.
   * @throws {InvalidRequest} with a fault for each role or model that cannot be taken
   */
  setDefaultModels(models: Readonly<Record<string, string>>): Promise<Setup>;
}
