/** A run for the tests of every client, complete where a test says nothing. */
import type { WorkflowSummary } from './api/orchestrator.ts';
import type { Evidence, Gate, RunView } from './run.ts';
import { COMMON_GATES } from './workflows/workflow-info.ts';

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

/** Checks that passed, or by their parts failed. */
export function evidenceOf(parts: Partial<Evidence> = {}): Evidence {
  return {
    mode: 'as_is',
    codeTree: 't',
    commit: 'c',
    passed: true,
    commands: [
      parts.passed === false
        ? { command: 'npm test', exitCode: 1, durationMs: 1_234, output: 'not ok 1 - adds' }
        : { command: 'npm test', exitCode: 0, durationMs: 1_234, output: 'ok 12 tests' },
    ],
    sandbox: 'bubblewrap',
    recordedAt: '2026-02-21T10:40:00Z',
    ...parts,
  };
}

/** Checks in which one of four tests failed. */
export function redEvidence(parts: Partial<Evidence> = {}): Evidence {
  const failedNames = ['a.test.js: adds'];
  const tests = { runner: 'node:test', executed: 4, failed: 1, skipped: 0, finished: true, failedNames };
  return evidenceOf({ passed: false, tests, ...parts });
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

/** A workflow as the server describes it: documents of every kind, gates that need and offer fields. */
export function aWorkflow(parts: Partial<WorkflowSummary> = {}): WorkflowSummary {
  return {
    name: 'build',
    title: 'Build',
    version: 1,
    description: 'Plans a change and builds it.',
    roles: [
      { name: 'planner', title: 'Planner' },
      { name: 'implementer', title: 'Implementer' },
      { name: 'scout', title: 'Scout', configuredAs: 'planner' },
    ],
    stages: [
      { name: 'planning', title: 'Planning', timeoutMinutes: 10 },
      { name: 'implementation', title: 'Implementation', timeoutMinutes: 60 },
      { name: 'publishing', title: 'Publishing' },
    ],
    trustModes: [
      { name: 'planning', title: 'Plan', description: 'Approve the plan.', default: 'manual' },
      { name: 'implementation', title: 'Result', description: 'Approve the result.', default: 'auto' },
    ],
    gates: {
      ...COMMON_GATES,
      plan: {
        title: 'Plan',
        presents: 'document',
        document: 'mermaid_diagram',
        offers: { approve: 'editedPlan' },
      },
      invalid_plan: {
        title: 'Plan',
        waiting: 'Plan cannot be read',
        presents: 'document',
        document: 'mermaid_diagram',
        isFailure: true,
        needs: { approve: 'editedPlan' },
      },
      implementation: { title: 'Result', presents: 'changes', takesFilesOn: 'reject' },
      fix: {
        title: 'Failed checks',
        waiting: 'Checks failed',
        presents: 'changes',
        isFailure: true,
        takesFilesOn: 'retry',
      },
    },
    documents: {
      mermaid_diagram: { title: 'Plan', drawnAs: 'diagrams' },
      code: { title: 'Changes', drawnAs: 'changes' },
      validation_report: { title: 'Validation report', drawnAs: 'markdown' },
    },
    needsProject: true,
    input: null,
    isChildOnly: false,
    signals: [],
    mermaid: '',
    ...parts,
  };
}
