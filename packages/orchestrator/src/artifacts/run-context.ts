/**
 * Renders the files of a run in `.autonomous/runs/<id>/`: `context.json` and `events.jsonl`. Pure. The input must
 * already be free of secrets.
 */
import type { Artifact, JsonObject, JsonValue, RunView, WorkflowEvent } from '@autonomous/shared';

/** The last event that a record holds: what the database of a server has to have as well. */
export interface RecordedTip {
  readonly sequence: number;
  /** Of the database's own chain, hexadecimal. */
  readonly hash: string;
  /** Time of the event. ISO 8601. */
  readonly at: string;
  /** Id of the data folder whose server wrote it; absent in records of older versions. */
  readonly server?: string;
  /** By which a server with the same database knows its own writing, hexadecimal; absent in records of older versions. */
  readonly seal?: string;
}

/**
 * The record of a run as JSON text: the keys of the documented format first, then what this version adds.
 * @param tip absent in the copy that a run's own branch gets
 */
export function renderRunContext(view: RunView, tip?: RecordedTip): string {
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
    tip,
  };
  return `${JSON.stringify(context, null, 2)}\n`;
}

/** The record as JSON text with the last event that it holds, in place of one that it may name already. */
export function withTip(text: string, tip: RecordedTip): string {
  return `${JSON.stringify({ ...(JSON.parse(text) as JsonObject), tip }, null, 2)}\n`;
}

/** The last event that a recorded `context.json` names; `null` where it names none. */
export function tipOfContext(text: string): RecordedTip | null {
  try {
    const { tip } = JSON.parse(text) as { readonly tip?: Partial<RecordedTip> | null };
    const { sequence, hash, at, server, seal } = tip ?? {};
    if (typeof sequence !== 'number' || typeof hash !== 'string' || typeof at !== 'string') return null;
    return {
      sequence,
      hash,
      at,
      ...(typeof server === 'string' ? { server } : {}),
      ...(typeof seal === 'string' ? { seal } : {}),
    };
  } catch {
    // Whoever can push may have written anything.
    return null;
  }
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

/**
 * The event log, one event a line, oldest first. The same events give the same bytes on every machine: keys are sorted inside a
 * payload, and `position`, which counts over all runs of one database, is left out.
 */
export function renderEventLog(events: readonly WorkflowEvent[]): string {
  return events
    .map(
      ({ sequence, type, origin, timestamp, id, workflowRunId, payload }) =>
        JSON.stringify({ sequence, type, origin, timestamp, id, workflowRunId, payload: sorted(payload as JsonValue) }), // payloads are JSON
    )
    .map((line) => `${line}\n`)
    .join('');
}

function sorted(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(sorted);
  const entries = Object.entries(value).flatMap(([key, item]): [string, JsonValue][] =>
    item === undefined ? [] : [[key, sorted(item)]],
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
