/** Renders `.autonomous/runs/<id>/context.json`. Pure. */
import type { Artifact, JsonObject, RunView } from '@autonomous/shared';
import { parseForeignJson } from './foreign-json.ts';
import { RECORD_FORMAT, type RecordedUpload } from './record-schemas.ts';

/** The last event that a record holds: what the database of a server has to have as well. */
export interface RecordedTip {
  readonly sequence: number;
  /** Of the database's own chain, hexadecimal. */
  readonly hash: string;
  /** Time of the event. ISO 8601. */
  readonly at: string;
  /** Id of the data folder whose server wrote it, as it says itself: no proof. Absent in records of older versions. */
  readonly server?: string;
  /** Proves to a server with the same database that it wrote the sequence and the hash, hexadecimal. Absent in records of older versions. */
  readonly seal?: string;
  /** The same of the project and of the whole log, hexadecimal. Absent in records of older versions. */
  readonly logSeal?: string;
  /** SHA-256 of `events.jsonl` as it was written; absent in records of older versions. */
  readonly log?: string;
}

/** Fields of a record beside those of the run's view. */
export interface RecordedBeside {
  readonly tip: RecordedTip;
  /** Commits of the run that the branch of the record reaches. */
  readonly commits: readonly string[];
  /** Files that people gave with answers. */
  readonly uploads: readonly RecordedUpload[];
}

/** The record of a run as JSON text: the keys of the documented format first, then what this version adds. */
export function renderRunContext(view: RunView): string {
  const context = {
    runId: view.id,
    originalRequest: view.originalRequest,
    createdAt: view.createdAt,
    completedAt: view.completedAt ?? null,
    config: view.config,
    clarifications: view.clarifications.map((clarification) => ({
      question: clarification.question,
      context: clarification.context,
      response: clarification.response ?? null,
      answeredAt: clarification.answeredAt ?? null,
      answeredBy: clarification.answeredBy ?? null,
      stage: clarification.stage,
      status: clarification.status,
    })),
    artifacts: view.artifacts.map(artifactRecord),
    decisions: view.decisions,
    workflow: view.workflow,
    // Absent where the run has no such relation or counts no steps. A child names its parent; the parent's events name its children.
    parent: view.parent,
    forkedFrom: view.forkedFrom,
    explorationId: view.explorationId,
    progress: view.progress,
    status: view.status,
    branch: view.branch,
    baseCommit: view.baseCommit ?? null,
    codeTree: view.codeTree ?? null,
    stages: view.stages,
    gates: view.gates,
    evidence: view.evidence.map((evidence) => ({
      ...evidence,
      // The output stands in the validation report.
      commands: evidence.commands.map(({ command, exitCode, durationMs }) => ({ command, exitCode, durationMs })),
    })),
    fixAttempts: view.fixAttempts,
    cost: view.cost,
    scriptedModels: view.scriptedModels,
    notices: view.notices,
    format: RECORD_FORMAT,
    projectId: view.projectId,
    userId: view.userId,
    headCommit: view.headCommit ?? null,
  };
  return `${JSON.stringify(context, null, 2)}\n`;
}

/** The record as JSON text with what it has beside the view. It is added after redaction: no text of others can change it. */
export function withBeside(text: string, { tip, commits, uploads }: RecordedBeside): string {
  const context = { ...(JSON.parse(text) as JsonObject), commits, ...(uploads.length === 0 ? {} : { uploads }), tip };
  return `${JSON.stringify(context, null, 2)}\n`;
}

/** The last event that a recorded `context.json` names; `null` where it names none. */
export function tipOfContext(text: string): RecordedTip | null {
  // Anybody who can push may have written anything.
  const parsed = parseForeignJson(text);
  if (!parsed.ok) return null;
  const { tip } = (parsed.value ?? {}) as { readonly tip?: Partial<RecordedTip> | null };
  const { sequence, hash, at, server, seal, logSeal, log } = tip ?? {};
  if (typeof sequence !== 'number' || typeof hash !== 'string' || typeof at !== 'string') return null;
  return {
    sequence,
    hash,
    at,
    ...(typeof server === 'string' ? { server } : {}),
    ...(typeof seal === 'string' ? { seal } : {}),
    ...(typeof logSeal === 'string' ? { logSeal } : {}),
    ...(typeof log === 'string' ? { log } : {}),
  };
}

function artifactRecord(artifact: Artifact): JsonObject {
  return {
    type: artifact.type,
    path: artifact.gitPath,
    commitSha: artifact.commitSha,
    filesChanged: artifact.filesChanged,
    approvedAt: artifact.approvedAt,
    approvedBy: artifact.approvedBy,
    approvalNotes: artifact.approvalNotes,
    hash: artifact.hash,
    version: artifact.version,
    scripted: artifact.scripted,
  };
}
