/** Renders and reads `.autonomous/runs/<id>/context.json`. Pure. */
import type { Artifact, JsonObject, RunView } from '@autonomous/shared';
import { faultOfFormat } from '../core/stored-format.ts';
import { parseForeignJson } from './foreign-json.ts';
import { RECORD_FORMAT, type RecordedUpload } from './record-schemas.ts';

/** The last event that a record holds: what the database of a server has to have as well. */
export interface RecordedTip {
  readonly sequence: number;
  /** Of the database's own chain, hexadecimal. */
  readonly hash: string;
  /** Time of the event. ISO 8601. */
  readonly at: string;
  /** Id of the data folder whose server wrote it, as it says itself: no proof. */
  readonly server: string;
  /** Proves to a server with the same database that it wrote the sequence and the hash, hexadecimal. */
  readonly seal: string;
  /** The same of the project and of the whole log, hexadecimal. */
  readonly logSeal: string;
  /** SHA-256 of `events.jsonl` as it was written. */
  readonly log: string;
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

/**
 * The record as JSON text with what it has beside the view. It is added after redaction: no text of others can change it, and a
 * context that was left out has it, too.
 */
export function withBeside(text: string, { tip, commits, uploads }: RecordedBeside): string {
  const own = { format: RECORD_FORMAT, commits, ...(uploads.length === 0 ? {} : { uploads }), tip };
  const context = { ...(JSON.parse(text) as JsonObject), ...own };
  return `${JSON.stringify(context, null, 2)}\n`;
}

export type ReadContext =
  | { readonly ok: true; readonly tip: RecordedTip; readonly uploads: readonly RecordedUpload[] }
  /**
   * @property message to be read after the run's name
   * @property isOfOtherFormat it is whole, as far as this program can tell, and not in the format that it reads
   */
  | { readonly ok: false; readonly message: string; readonly isOfOtherFormat: boolean };

/** The parts of a recorded `context.json` that the log does not have. Text of a tip that is missing is empty, and proves nothing. */
export function readContext(text: string): ReadContext {
  // Anybody who can push may have written anything.
  const json = parseForeignJson(text);
  const fault = (message: string, isOfOtherFormat = false) => ({ ok: false, message, isOfOtherFormat }) as const;
  if (!json.ok) return fault(`its context.json ${json.message}`);
  const { format, tip, uploads } = fieldsOf(json.value);
  const wrong = faultOfFormat(format, RECORD_FORMAT);
  if (wrong !== null) return fault(`its record ${wrong}`, true);
  const { sequence, hash, at, server, seal, logSeal, log } = fieldsOf(tip);
  if (typeof sequence !== 'number' || typeof hash !== 'string' || typeof at !== 'string')
    return fault('its context.json names no last event');
  return {
    ok: true,
    tip: { sequence, hash, at, server: textOf(server), seal: textOf(seal), logSeal: textOf(logSeal), log: textOf(log) },
    uploads: (Array.isArray(uploads) ? uploads : []).filter(isUpload),
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isUpload(value: unknown): value is RecordedUpload {
  const { id, name } = fieldsOf(value);
  return typeof id === 'string' && /^[0-9a-f]{64}$/.test(id) && typeof name === 'string';
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
