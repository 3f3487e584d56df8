/** Builders of what a run writes: each fills in what a test does not care about. */
import type { Clarification, EventOrigin, JsonObject, RunStart, RunView } from '@autonomous/shared';
import type { NewActivity, NewEvent, RunCommit, StoredTimer } from '../event-store.ts';

export const NOON = '2026-03-01T12:00:00.000Z';

export function aView(runId: string, given: Partial<RunView> = {}): RunView {
  return {
    id: runId,
    projectId: 'p-1',
    userId: 'local',
    workflow: { name: 'build', version: 1 },
    originalRequest: 'Add a login page',
    status: 'running',
    currentStage: 'planning',
    state: { work: 'planning' },
    config: {
      trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
      maxClarifications: 3,
      maxConcurrency: 2,
      maxFixAttempts: 3,
      modelRouting: { planner: 'scripted:demo', implementer: 'scripted:demo', validator: 'scripted:demo' },
      timeoutMinutes: { planning: 10, implementation: 60, validation: 5 },
      git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
      commands: {},
    },
    branch: `autonomous/${runId}-login`,
    createdAt: NOON,
    clarificationCount: 0,
    fixAttempts: 0,
    gate: null,
    gates: [],
    clarifications: [],
    artifacts: [],
    evidence: [],
    decisions: [],
    stages: [],
    cost: { inputTokens: 0, outputTokens: 0, calls: 0 },
    scriptedModels: [],
    notices: [],
    lastSequence: 0,
    updatedAt: NOON,
    ...given,
  };
}

export function anEvent(
  type: string,
  payload: JsonObject = {},
  timestamp = NOON,
  origin: EventOrigin = 'input',
): NewEvent {
  return { type, origin, payload, json: JSON.stringify(payload), timestamp };
}

/** The event that begins a run with this view. */
export function aStart(view: RunView): NewEvent {
  const start: RunStart = {
    projectId: view.projectId,
    userId: view.userId,
    workflow: { ...view.workflow, fingerprint: 'f'.repeat(64) },
    request: view.originalRequest,
    config: view.config,
    requestedConfig: {},
    branch: view.branch,
    ...(view.explorationId === undefined ? {} : { explorationId: view.explorationId }),
    ...(view.parent === undefined ? {} : { parent: view.parent }),
  };
  return anEvent('RUN_STARTED', start as unknown as JsonObject, view.createdAt); // JSON, which interfaces do not say.
}

export function anActivity(runId: string, name: string): NewActivity {
  return { key: `${runId}/1/${name}`, runId, activity: name, src: name, input: { run: runId }, startedAt: NOON };
}

export function aTimer(runId: string, name: string, dueAt = NOON): StoredTimer {
  return { key: `${runId}/1/${name}`, runId, event: `after.${name}`, dueAt };
}

export function aClarification(runId: string, given: Partial<Clarification> = {}): Clarification {
  return {
    id: `${runId}.1`,
    workflowRunId: runId,
    stage: 'planning',
    question: 'Which OAuth provider?',
    context: 'The request names none',
    responseType: 'text',
    status: 'pending',
    attemptNumber: 1,
    createdAt: NOON,
    ...given,
  };
}

/** One step of a run; by default one event, at first the one that begins it, and the view ending where the step ends. */
export function aStep(
  runId: string,
  given: Partial<Omit<RunCommit, 'runId' | 'view'>> & { readonly view?: Partial<RunView> } = {},
): RunCommit {
  const { view: viewed, expectedSequence = 0, events: own, ...rest } = given;
  const begun = aView(runId, viewed);
  const events = own ?? [expectedSequence === 0 ? aStart(begun) : anEvent('NOTICE', { message: 'hello' })];
  return {
    runId,
    expectedSequence,
    events,
    startActivities: [],
    endActivities: [],
    setTimers: [],
    clearTimers: [],
    clarifications: [],
    ...rest,
    view: { ...begun, lastSequence: expectedSequence + events.length, ...viewed },
  };
}
