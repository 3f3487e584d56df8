import { describe, expect, it } from 'vitest';
import type { Concern } from '../gates/concerns.ts';
import type { RunConfig } from '../config.ts';
import type {
  Artifact,
  Baseline,
  Clarification,
  Evidence,
  Gate,
  RunView,
  Spending,
  SpendingPart,
  TestCount,
} from '../run.ts';
import type { TranscriptEntry } from './orchestrator.ts';
import * as schemas from './schemas.ts';

const NOON = '2026-03-01T12:00:00.000Z';

const config: RunConfig = {
  trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 2,
  maxFixAttempts: 3,
  modelRouting: { planner: 'a:b', implementer: 'a:b', validator: 'a:b' },
  timeoutMinutes: { planning: 10, implementation: 60, validation: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: { setup: null, test: 'npm test' },
  maxCostUsd: 5,
  maxTokens: 1_000_000,
  maxToolCalls: 200,
  maxTreeCostUsd: 20,
  maxTreeTokens: 4_000_000,
  maxTreeToolCalls: 800,
};

const question = {
  question: 'Which?',
  context: 'Two exist',
  options: ['a', 'b'],
  responseType: 'single_choice',
} as const;

// `Required` makes the compiler ask for a value of every optional key too.
const concern: Concern = {
  kind: 'runs_code',
  title: 'Code that runs by itself',
  items: [{ path: '.github/workflows/ci.yml', line: 3, reason: 'CI runs it', hash: 'i' }],
  hash: 'h',
};
const tests: Required<TestCount> = {
  runner: 'node:test',
  executed: 3,
  failed: 1,
  skipped: 0,
  finished: true,
  unfinished: ['vitest'],
  replaced: ['node:assert.equal'],
  rewritten: ['test/b.test.js'],
  notRun: ['test/a.test.js: adds'],
  failedNames: ['test/a.test.js: subtracts'],
  failedAnew: ['test/a.test.js: subtracts'],
  failedAnewCount: 1,
};

const gate: Required<Gate> = {
  id: 'r-1.4',
  runId: 'r-1',
  kind: 'plan',
  stage: 'planning',
  openedAt: NOON,
  decisions: ['approve', 'reject'],
  summary: 'Approve the plan',
  artifactHash: 'a',
  codeTree: 'b',
  question,
  reason: 'timeout',
  budget: 'maxTokens',
  budgetOf: 'r-0',
  concerns: [concern],
  concernsHash: 'c',
  details: { deep: [{ much: 1 }] },
};

const clarification: Required<Clarification> = {
  ...question,
  id: 'r-1.3',
  workflowRunId: 'r-1',
  stage: 'planning',
  status: 'answered',
  response: 'a',
  answeredBy: 'ada',
  answeredAt: NOON,
  attemptNumber: 1,
  createdAt: NOON,
};

const artifact: Required<Artifact> = {
  id: 'r-1.5',
  workflowRunId: 'r-1',
  stage: 'planning',
  type: 'spec',
  gitPath: '.autonomous/specs/001-login.md',
  commitSha: 'c',
  hash: 'h',
  version: 1,
  createdAt: NOON,
  filesChanged: ['a.ts'],
  parsedConstraints: { nodes: ['A'] },
  findings: [{ kind: 'route', name: '/login', result: 'mentioned', where: 'src/login.ts:3' }],
  approvedBy: 'ada',
  approvedAt: NOON,
  approvalNotes: 'fine',
  scripted: true,
};

const baseline: Required<Baseline> = {
  commit: 'c',
  codeTree: 't',
  passed: false,
  command: { command: 'npm test', exitCode: 127, durationMs: 12.5, output: '' },
  sandbox: 'bubblewrap',
  preparedMs: 900,
  tests,
  missingTool: 'npm',
  isFromEarlierRun: true,
  failure: 'the install step failed',
};

const evidence: Required<Evidence> = {
  reusedFrom: 'r-0',
  rebuiltAt: '2026-01-01T00:00:00.000Z',
  mode: 'base_tests',
  codeTree: 't',
  commit: 'c',
  passed: false,
  commands: [{ command: 'npm test', exitCode: null, durationMs: 12.5, output: '' }],
  sandbox: 'bubblewrap',
  restored: ['a.test.ts'],
  tests,
  doubtful: ['run.sh'],
  baseline,
  failsAsBefore: true,
  changedTests: [{ path: 'a.test.ts', linesRemoved: 2, assertionsBefore: 2, assertions: 0 }],
  newDependencies: [
    {
      name: 'expresss',
      version: '0.0.1',
      file: 'package-lock.json',
      was: '0.0.0',
      hasInstallScript: true,
      source: 'https://example.com/expresss.tgz',
    },
  ],
  recordedAt: NOON,
};

const spending: Required<Spending> = {
  inputTokens: 1,
  outputTokens: 2,
  calls: 3,
  cachedInputTokens: 1,
  reasoningTokens: 1,
  toolCalls: 4,
  costUsd: 0.5,
  unpricedCalls: 1,
};
const part: Required<SpendingPart> = { ...spending, stage: 'planning', role: 'planner', model: 'a:b' };

const run: Required<RunView> = {
  id: 'r-1',
  projectId: 'p-1',
  userId: 'ada',
  workflow: { name: 'build', version: 1 },
  explorationId: 'x-1',
  parent: { runId: 'r-0', key: 'r-0/4/phase-1', depth: 1 },
  attempt: { number: 2, of: 3 },
  ownedFiles: {
    paths: ['ai/backlog.md'],
    inherited: ['ai/diary.md'],
    to: 'branch',
    why: 'main refused a push',
    refused: true,
    commit: 'c0ffee',
  },
  allowedFiles: [{ changes: ['src/*.ts'], newFiles: ['test/**'] }],
  progress: { done: 3, total: 7 },
  forkedFrom: { runId: 'r-0', at: 7, spent: { inputTokens: 1, outputTokens: 2, toolCalls: 3, costUsd: 0.25 } },
  treeId: 'x-0',
  treeBudgetsAt: NOON,
  originalRequest: 'Add a login page',
  status: 'awaiting_approval',
  currentStage: 'planning',
  state: { work: { planning: 'gate' } },
  config,
  branch: 'autonomous/r-1-login',
  baseCommit: 'c',
  headCommit: 'c',
  codeTree: 't',
  createdAt: NOON,
  startedAt: NOON,
  pausedAt: NOON,
  resumedAt: NOON,
  completedAt: NOON,
  queuePosition: 1,
  clarificationCount: 1,
  fixAttempts: 0,
  gate,
  gates: [{ gateId: 'r-1.2', kind: 'plan', decision: 'reject', by: 'ada', at: NOON, notes: 'smaller' }],
  clarifications: [clarification],
  artifacts: [artifact],
  evidence: [evidence],
  baseline,
  rebuiltUpTo: 3,
  acceptedConcerns: [{ kind: 'runs_code', hash: 'h', items: ['i'], by: 'ada', at: NOON, reason: 'looked at it' }],
  raisedConcerns: { hash: 'h', concerns: [concern] },
  decisions: [{ topic: 'auth', choice: 'OAuth', rationale: 'exists' }],
  replies: [{ question: 'Why?', reply: 'Because.', at: NOON }],
  comments: [{ id: 'r-1.9', gateId: 'r-1.8', path: 'a.ts', line: 3, text: 'Why?', by: 'ada', at: NOON }],
  stages: [{ stage: 'planning', startedAt: NOON, completedAt: NOON }],
  cost: { ...spending, booked: { calls: 1, costUsd: 0.25 }, parts: [part] },
  scriptedModels: ['scripted:demo'],
  published: { branch: 'b', commit: 'c', pushed: true, note: 'no forge' },
  merged: { baseBranch: 'main', commit: 'c', strategy: 'squash' },
  failure: 'none',
  failures: ['F003 failed 3 times.'],
  notices: ['ignored'],
  lastSequence: 5,
  updatedAt: NOON,
  recordPlace: 'remote',
};

const transcript: Required<TranscriptEntry> = {
  at: NOON,
  activity: 'plan',
  kind: 'text',
  text: 'thinking',
  role: 'planner',
  model: 'a:b',
  scripted: false,
  data: { tool: 'read' },
};

/** A sample with only the keys that must be there. */
function leanest(sample: RunView): RunView {
  const { explorationId, baseCommit, headCommit, codeTree, startedAt, pausedAt, resumedAt, completedAt, ...rest } =
    sample;
  const { queuePosition, published, merged, failure, failures, ...lean } = rest;
  return { ...lean, gate: null, currentStage: null, state: null };
}

describe('the described answers', () => {
  it.each([
    ['a run with everything', schemas.runView, run],
    ['a run with little', schemas.runView, leanest(run)],
    ['a gate', schemas.gate, gate],
    ['a question', schemas.clarification, clarification],
    ['an artifact', schemas.artifactContent, { ...artifact, content: '# Plan' }],
    ['a line of a transcript', schemas.transcriptEntry, transcript],
    [
      'an event',
      schemas.workflowEvent,
      {
        id: 'e',
        position: 1,
        workflowRunId: 'r-1',
        sequence: 1,
        type: 'OWN',
        origin: 'input',
        payload: { a: [1] },
        timestamp: NOON,
      },
    ],
  ])('describe %s as it is, leaving nothing out', (_, schema, sample) => {
    expect(schema.parse(sample)).toEqual(sample);
  });
});
