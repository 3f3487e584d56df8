/** An orchestrator that notes its calls and answers with samples: enough for whatever stands in front of the real one. */
import { Conflict, NotFound, type Orchestrator, type RunView } from '@autonomous/shared';
import { aView, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { metricsOf, metricsRange } from './metrics.ts';

export interface StubOrchestrator extends Orchestrator {
  /** Name and arguments of each call, in order. */
  readonly calls: readonly (readonly [string, ...unknown[]])[];
}

/** @param overrides what answers otherwise than by a sample */
export function stubOrchestrator(overrides: Partial<Orchestrator> = {}): StubOrchestrator {
  const calls: [string, ...unknown[]][] = [];
  let runs = 0;
  let decidedBy: string | null = null;
  const decide = async (gateId: string, by: string): Promise<RunView> => {
    if (decidedBy !== null) {
      throw new Conflict(`Gate ${gateId} is decided; ${decidedBy} was first.`, { extra: { winner: decidedBy } });
    }
    decidedBy = by;
    return aView('r-1');
  };
  const project = { id: 'p-1', name: 'demo', repository: '/srv/demo', baseBranch: 'main', createdAt: NOON };
  const workflow = {
    name: 'build',
    title: 'Build',
    isChildOnly: false,
    input: null,
    roles: [],
    stages: [],
    trustModes: [],
    gates: {},
    documents: {},
    version: 1,
    description: 'Builds',
    needsProject: true,
    signals: [],
    mermaid: 'stateDiagram-v2',
  };
  const provider = {
    id: 'anthropic',
    title: 'Anthropic',
    status: 'ready' as const,
    source: 'file' as const,
    hint: '…abcd',
    keysUrl: 'https://platform.claude.com/settings/keys',
    models: ['anthropic:claude-sonnet-5-5'],
    detail: null,
  };
  const agent = {
    id: 'claude',
    title: 'Claude Code',
    status: 'ready' as const,
    version: '2.1',
    detail: null,
    way: null,
  };
  const answers: Orchestrator = {
    createProject: async (_caller, { name, repository }) => ({ ...project, name, repository }),
    listProjects: async () => ({ items: [project], nextCursor: null }),
    getProject: async () => project,
    getRoadmap: async (projectId) => ({
      projectId,
      path: 'roadmap/roadmap.json',
      branch: 'main',
      commit: 'a'.repeat(40),
      notFetched: null,
      workflow: 'roadmap-item',
      content: { kind: 'absent' },
      runs: [],
    }),
    cleanBranches: async () => ({ removed: [], kept: [] }),
    launchRun: async (caller, { request }) => {
      runs += 1;
      return aView(`r-${runs}`, { originalRequest: request ?? '', userId: caller.userId });
    },
    explore: async () => ({ id: 'x-1', runs: [aView('r-1'), aView('r-2')] }),
    listRuns: async () => ({ items: [aView('r-1')], nextCursor: 'next' }),
    getRun: async (id) => {
      if (id === 'r-404') throw new NotFound(`There is no run ${id}.`);
      return aView(id);
    },
    forkRun: async (caller, id, { at }) =>
      aView(`${id}-fork`, {
        userId: caller.userId,
        forkedFrom: { runId: id, at, spent: { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 } },
      }),
    migrateRun: async (_caller, id, to) => aView(id, { workflow: { name: 'build', version: to } }),
    exportRun: async (id) => ({ runId: id, unreadable: [] }),
    listEvents: async () => [],
    listArtifacts: async () => [],
    getArtifact: async (runId, id) => ({
      id,
      workflowRunId: runId,
      stage: 'planning',
      type: 'spec',
      hash: 'a'.repeat(64),
      version: 1,
      createdAt: NOON,
      content: '# Plan',
    }),
    getProjection: async () => ({ sequence: 0, sections: [] }),
    compileDocument: async () => ({ outcome: 'absent', fileName: 'report.pdf', commit: 'a', version: 1, missing: [] }),
    getDiff: async () => ({ from: 'a', to: 'b', files: [], patch: '', truncated: false }),
    getTranscript: async () => [],
    getRunTree: async (id) => ({ id, runs: 1, budgets: {}, inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 }),
    getStatechart: async (_id, at = 9) => ({
      workflow: 'build',
      version: 1,
      sequence: at,
      mermaid: '',
      current: 'planning',
      path: [],
      changes: 0,
      possible: { signals: [], timers: [], activities: [] },
    }),
    getPullRequest: async () => ({
      number: 7,
      url: 'https://github.com/acme/shop/pull/7',
      title: 'Greet',
      state: 'open',
      isDraft: false,
      mergeability: 'ready',
      head: { branch: 'autonomous/greet', commit: 'c'.repeat(40) },
      base: { branch: 'main', commit: 'd'.repeat(40) },
      checks: [],
      reviews: [],
      threads: [],
      comments: [],
      isComplete: true,
    }),
    replyToThread: async () => ({ url: 'https://github.com/acme/shop/pull/7#discussion_r1' }),
    resolveThread: async (_id, threadId) => ({ threadId, isResolved: true }),
    listConflicts: async () => [],
    listGates: async () => [],
    listClarifications: async () => [],
    decideGate: async (caller, gateId) => decide(gateId, caller.userId),
    decideOpenGate: async (caller, runId) => decide(`${runId}.1`, caller.userId),
    listComments: async () => [],
    addComment: async (_caller, gateId) => aView(gateId.split('.')[0] ?? ''),
    editComment: async (_caller, id) => aView(id.split('.')[0] ?? ''),
    deleteComment: async (_caller, id) => aView(id.split('.')[0] ?? ''),
    retryGates: async (_caller, gateIds) => gateIds.map((gateId) => ({ gateId, retried: true })),
    cancelRun: async (_caller, id) => aView(id, { status: 'cancelled' }),
    pauseRun: async (_caller, id) => aView(id, { status: 'paused' }),
    sendMessage: async (_caller, id) => aView(id),
    sendSignal: async (_caller, id) => aView(id),
    upload: async (name, content) => ({ id: 'b'.repeat(64), name, bytes: content.byteLength }),
    listWorkflows: async () => [workflow],
    getWorkflow: async () => ({ ...workflow, versions: [1], activities: [] }),
    listModels: async () => [{ id: 'scripted:demo', usable: true, scripted: true, defaultFor: ['planner'] }],
    getMetrics: async () => metricsOf([], metricsRange({}, new Date(NOON))),
    readiness: async () => ({ ready: true, checks: [{ name: 'sandbox', ok: true, detail: 'bubblewrap ran' }] }),
    getSetup: async () => ({ isReady: true, providers: [provider], agents: [agent], defaultModels: {} }),
    setKey: async () => provider,
    removeKey: async () => provider,
    testProvider: async () => provider,
    testAgent: async () => agent,
    setDefaultModels: async (defaultModels) => ({ isReady: true, providers: [], agents: [], defaultModels }),
    ...overrides,
  };
  const noted = Object.entries(answers).map(([name, answer]) => [
    name,
    (...args: unknown[]) => {
      calls.push([name, ...args]);
      return (answer as (...given: unknown[]) => unknown)(...args);
    },
  ]);
  // fromEntries forgets the names; they are those of the interface.
  return { ...(Object.fromEntries(noted) as Orchestrator), calls };
}
