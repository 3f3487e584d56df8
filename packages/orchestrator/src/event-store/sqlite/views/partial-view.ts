/** The view of a run of which not every event can be read: what can, and what its columns say. */
import { type Gate, type RunConfig, type RunStart, type RunView, viewAtStart } from '@autonomous/shared';
import type { RunRow } from './run-row.ts';
import { toIso } from '../times.ts';

/** Of a run that does not say how it was configured: everything waits for a person. */
const UNKNOWN_CONFIG: RunConfig = {
  trustMode: {},
  maxClarifications: 0,
  maxConcurrency: 1,
  maxFixAttempts: 0,
  modelRouting: {},
  timeoutMinutes: {},
  git: { createPR: false, autoMerge: false, baseBranch: 'unknown', mergeStrategy: 'squash' },
  commands: {},
};

/**
 * @param view folded from the events that can be read; `null` when its beginning can't
 * @param damage what is wrong
 */
export function partialView(run: RunRow, view: RunView | null, damage: string): RunView {
  const known = view ?? unknownView(run);
  return {
    ...known,
    status: run.status,
    currentStage: run.stage,
    gate: readGate(run.gate),
    lastSequence: run.lastSequence,
    updatedAt: toIso(run.updatedAt),
    notices: [...known.notices, `Not everything that is stored of this run can be read: ${damage}.`],
  };
}

/** Reads the open gate; `null` when there is none or it cannot be read. */
export function readGate(gate: string | null): Gate | null {
  if (gate === null) return null;
  try {
    return JSON.parse(gate) as Gate; // The text of a gate, or damaged.
  } catch {
    return null;
  }
}

/** A run whose beginning is lost, as its columns would have begun it. */
function unknownView({ id, projectId, userId, workflow, explorationId, createdAt }: RunRow): RunView {
  const start: RunStart = {
    projectId,
    userId,
    workflow: { name: workflow, version: 0, fingerprint: '' },
    request: '',
    config: UNKNOWN_CONFIG,
    requestedConfig: {},
    branch: '',
    ...(explorationId === null ? {} : { explorationId }),
  };
  return viewAtStart(id, start, toIso(createdAt));
}
