/** A run for the tests of every client, complete where a test says nothing. */
import type { Gate, RunView } from './run.ts';

export function aRun(parts: Partial<RunView> = {}): RunView {
  return {
    id: 'r-1',
    projectId: 'p-1',
    userId: 'local',
    workflow: { name: 'build', version: 1 },
    originalRequest: 'Add a login page',
    status: 'running',
    currentStage: 'planning',
    state: 'planning',
    config: {
      trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
      maxClarifications: 3,
      maxConcurrency: 1,
      maxFixAttempts: 3,
      modelRouting: { planner: 'scripted:demo', implementer: 'scripted:demo', validator: 'scripted:demo' },
      timeoutMinutes: { planning: 10, implementation: 60, validation: 5 },
      git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
      commands: {},
    },
    branch: 'autonomous/r-1-add-a-login-page',
    createdAt: '2030-01-01T00:00:00.000Z',
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
    lastSequence: 1,
    updatedAt: '2030-01-01T00:00:00.000Z',
    ...parts,
  };
}

export function aGate(parts: Partial<Gate> = {}): Gate {
  return {
    id: 'r-1.4',
    runId: 'r-1',
    kind: 'plan',
    stage: 'planning',
    openedAt: '2030-01-01T00:01:00.000Z',
    decisions: ['approve', 'reject', 'ask'],
    summary: 'Approve the plan for a login page?',
    details: {},
    ...parts,
  };
}

/** Waits at a plan gate of its own. */
export function aWaitingRun(id: string, parts: Partial<RunView> = {}, gate: Partial<Gate> = {}): RunView {
  return aRun({
    id,
    status: 'awaiting_approval',
    gate: aGate({ id: `${id}.4`, runId: id, summary: 'Approve the plan?', ...gate }),
    ...parts,
  });
}

export function byId(...runs: readonly RunView[]): Readonly<Record<string, RunView>> {
  return Object.fromEntries(runs.map((run) => [run.id, run]));
}
