import type { RunView } from '@autonomous/shared';
import { evidenceOf } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import { renderRunContext, withBeside } from './run-context.ts';
import { runContextSchema } from './record-schemas.ts';

const evidence = evidenceOf({ codeTree: 'tree1', commit: 'a1b2c3d' });

const view: RunView = {
  id: 'abc123-def456',
  projectId: 'p1',
  userId: 'local',
  workflow: { name: 'build', version: 1 },
  originalRequest: 'Create login flow with OAuth',
  status: 'completed',
  currentStage: null,
  state: 'completed',
  config: {
    trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
    maxClarifications: 3,
    maxConcurrency: 4,
    maxFixAttempts: 3,
    modelRouting: { planner: 'deepseek-reasoner', implementer: 'claude-3-5-sonnet-20241022', validator: 'gpt-4o-mini' },
    timeoutMinutes: { planning: 10, implementation: 60, validation: 5 },
    git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
    commands: {},
  },
  branch: 'autonomous/abc123-def456-login-flow',
  createdAt: '2026-02-21T10:00:00Z',
  completedAt: '2026-02-21T10:45:00Z',
  clarificationCount: 1,
  fixAttempts: 0,
  gate: null,
  gates: [{ gateId: 'abc123-def456.7', kind: 'plan', decision: 'approve', by: 'local', at: '2026-02-21T10:20:00Z' }],
  clarifications: [
    {
      id: 'abc123-def456.4',
      workflowRunId: 'abc123-def456',
      stage: 'planning',
      question: 'Which OAuth provider?',
      context: 'The request names none',
      responseType: 'text',
      status: 'answered',
      response: 'Google and GitHub',
      answeredBy: 'local',
      answeredAt: '2026-02-21T10:15:00Z',
      attemptNumber: 1,
      createdAt: '2026-02-21T10:05:00Z',
    },
  ],
  artifacts: [
    {
      id: 'abc123-def456.6',
      workflowRunId: 'abc123-def456',
      stage: 'planning',
      type: 'mermaid_diagram',
      gitPath: '.autonomous/specs/001-login-flow.md',
      hash: 'h1',
      version: 1,
      createdAt: '2026-02-21T10:10:00Z',
      approvedAt: '2026-02-21T10:20:00Z',
    },
    {
      id: 'abc123-def456.9',
      workflowRunId: 'abc123-def456',
      stage: 'implementation',
      type: 'code',
      commitSha: 'a1b2c3d',
      hash: 'tree1',
      version: 1,
      createdAt: '2026-02-21T10:30:00Z',
      filesChanged: ['src/app/login/page.tsx'],
      scripted: true,
    },
  ],
  evidence: [evidence],
  decisions: [{ topic: 'Auth provider', choice: 'Supabase Auth', rationale: 'Cost' }],
  stages: [],
  cost: { inputTokens: 1, outputTokens: 2, calls: 3 },
  scriptedModels: ['scripted:demo'],
  notices: [],
  lastSequence: 20,
  updatedAt: '2026-02-21T10:45:00Z',
};

describe('context.json', () => {
  it('has the documented keys first and in their order, and what else is known of the run', () => {
    const text = renderRunContext(view);
    const context = JSON.parse(text);
    expect(Object.keys(context).slice(0, 8)).toEqual([
      'runId',
      'originalRequest',
      'createdAt',
      'completedAt',
      'config',
      'clarifications',
      'artifacts',
      'decisions',
    ]);
    expect(context).toMatchObject({
      runId: 'abc123-def456',
      originalRequest: 'Create login flow with OAuth',
      createdAt: '2026-02-21T10:00:00Z',
      completedAt: '2026-02-21T10:45:00Z',
      config: { trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' }, maxClarifications: 3 },
      clarifications: [
        {
          question: 'Which OAuth provider?',
          context: 'The request names none',
          response: 'Google and GitHub',
          answeredAt: '2026-02-21T10:15:00Z',
        },
      ],
      artifacts: [
        { type: 'mermaid_diagram', path: '.autonomous/specs/001-login-flow.md', approvedAt: '2026-02-21T10:20:00Z' },
        { type: 'code', commitSha: 'a1b2c3d', filesChanged: ['src/app/login/page.tsx'], scripted: true },
      ],
      decisions: [{ topic: 'Auth provider', choice: 'Supabase Auth', rationale: 'Cost' }],
      gates: [{ kind: 'plan', decision: 'approve', by: 'local' }],
      evidence: [
        { mode: 'as_is', codeTree: 'tree1', commands: [{ command: 'npm test', exitCode: 0, durationMs: 1_234 }] },
      ],
      scriptedModels: ['scripted:demo'],
    });
    expect(text).toMatch(/^\{\n {2}"runId"[\s\S]*\}\n$/);
  });

  it('names the parent, the source of a fork and the progress where a run has them', () => {
    const related = {
      parent: { runId: 'p', key: 'p/3/first', depth: 1 },
      forkedFrom: { runId: 'f', at: 7, spent: { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 } },
      explorationId: 'e',
      progress: { done: 3, total: 7 },
    };
    expect(JSON.parse(renderRunContext({ ...view, ...related }))).toMatchObject(related);
    for (const name of Object.keys(related)) expect(JSON.parse(renderRunContext(view))).not.toHaveProperty(name);
  });

  it('says null where an open run has no end', () => {
    const { completedAt: _, ...open } = view;
    expect(JSON.parse(renderRunContext(open)).completedAt).toBeNull();
  });

  it('is what its schema describes, with and without what it has beside the view', () => {
    const text = renderRunContext(view);
    expect(runContextSchema.parse(JSON.parse(text))).toEqual(JSON.parse(text));
    const tip = {
      sequence: 20,
      hash: 'f'.repeat(64),
      at: '2026-02-21T10:45:00Z',
      server: 's',
      seal: 'd'.repeat(64),
      logSeal: 'e'.repeat(64),
      log: 'a'.repeat(64),
    };
    const uploads = [{ id: 'b'.repeat(64), name: 'logo.svg' }];
    const whole = JSON.parse(withBeside(text, { tip, commits: ['c'.repeat(40)], uploads }));
    expect(runContextSchema.parse(whole)).toEqual(whole);
    expect(() => runContextSchema.parse({ ...whole, other: 1 })).toThrow(/other/);
  });
});
