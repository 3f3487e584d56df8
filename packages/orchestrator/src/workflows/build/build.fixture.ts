/** Drives the build workflow the usual way, with outcomes of its activities. */
import type { JsonObject, JsonValue, RunConfig } from '@autonomous/shared';
import { DrivenRun } from '../driven-run.ts';
import { newestOf } from '../workflow.ts';
import { build } from './index.ts';

export const buildDefinition = newestOf(build);

export const aConfig: RunConfig = {
  trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: { planner: 'scripted:demo', implementer: 'scripted:demo', validator: 'scripted:demo' },
  timeoutMinutes: { planning: 10, implementation: 60, validation: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: {},
};

const cost = (role: string) => ({
  role,
  model: 'scripted:demo',
  scripted: true,
  inputTokens: 10,
  outputTokens: 5,
  calls: 1,
});
export const aQuestion = {
  question: 'Which provider?',
  context: 'The request names none.',
  responseType: 'text' as const,
};
const draft = {
  title: 'Login flow',
  plan: '# Plan',
  decisions: [],
  techStack: [],
  patterns: [],
  constraints: {},
  model: 'scripted:demo',
  scripted: true,
};

/** What each activity gives when all goes well. */
export const outputs = {
  prepare: (config: RunConfig): JsonObject => ({
    baseCommit: 'base',
    config,
    notices: [],
    excludePaths: [],
    setup: null,
    test: { command: 'npm test', source: 'package.json' },
    autoRetry: true,
  }),
  planner: { kind: 'plan', draft, cost: cost('planner') },
  plannerAsks: { kind: 'question', question: aQuestion, cost: cost('planner') },
  plannerFails: { kind: 'invalid', draft, message: 'line 2: unexpected token', cost: cost('planner') },
  commitPlan: {
    title: 'Login flow',
    path: '.autonomous/specs/001-login-flow.md',
    artifactHash: 'plan-hash',
    commit: 'c-plan',
    codeTree: 't-plan',
    constraints: {},
    models: ['scripted:demo'],
    scripted: true,
  },
  pushed: { commit: 'c-plan', pushed: true },
  implementer: {
    kind: 'implemented',
    tree: 'tree',
    summary: 'Wrote it.',
    decisions: [],
    refused: [],
    cost: cost('implementer'),
  },
  implementerAsks: { kind: 'question', tree: 'tree', question: aQuestion, refused: [], cost: cost('implementer') },
  commitCode: { commit: 'c-code', codeTree: 't-code', filesChanged: ['src/login.js'] },
  takeFiles: { commit: 'c-taken', codeTree: 't-taken', filesChanged: ['src/login.js', 'src/session.js'] },
  check: (mode: 'as_is' | 'base_tests', passed = true): JsonObject => ({
    mode,
    codeTree: 't-code',
    commit: 'c-code',
    passed,
    commands: [{ command: 'npm test', exitCode: passed ? 0 : 1, durationMs: 1, output: passed ? 'ok' : 'not ok' }],
    sandbox: 'bubblewrap',
  }),
  baseline: {
    commit: 'base',
    codeTree: 't-base',
    passed: true,
    command: { command: 'npm test', exitCode: 0, durationMs: 1, output: 'ok' },
    sandbox: 'bubblewrap',
    tests: { runner: 'node:test', executed: 3, failed: 0, skipped: 0, finished: true },
  },
  validator: { verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '', cost: cost('validator') },
  report: { path: '.autonomous/runs/r/validation-report.md', hash: 'report-hash', commit: 'c-report' },
  copyRecord: { commit: 'c-record', codeTree: 't-code', notices: [] },
  nothingLeft: { commit: null, refused: [] },
  merge: { merged: true, commit: 'c-merge', strategy: 'squash' },
  pullRequest: {
    commit: 'c-record',
    pushed: true,
    pullRequest: { number: 7, url: 'https://forge.example/acme/shop/pull/7' },
  },
  mergedThere: { kind: 'merged', commit: 'c-merge', by: 'anna', baseBranch: 'main', head: 'c-record' },
  asked: {
    kind: 'asked',
    asked: {
      remarks: [{ login: 'anna', text: 'Rename it.', threadId: 't1', path: 'src/login.js', line: 3 }],
      unheard: 1,
      checks: [],
    },
    seen: { remarks: [{ id: 'r1', at: '2026-03-01T10:00:00Z' }], since: null, checksOf: null, head: null },
  },
} satisfies Record<string, JsonValue | ((...args: never[]) => JsonObject)>;

/** A run of the build workflow that is driven by hand. */
export class BuildRun extends DrivenRun {
  constructor() {
    super(buildDefinition);
  }

  static start(change: Partial<RunConfig> = {}): BuildRun {
    return new BuildRun().begin({
      request: 'Create login flow',
      config: { ...aConfig, ...change },
      branch: 'autonomous/r-login-flow',
    });
  }

  /** Completes an open activity; with `prepare` the baseline, which goes on beside planning. */
  done(activity: string, output: JsonValue): this {
    this.ended(activity, output);
    return activity === 'prepare' && this.open.includes('baseline') ? this.ended('baseline', outputs.baseline) : this;
  }

  toPlanGate(): this {
    return this.done('prepare', outputs.prepare(this.view?.config ?? aConfig))
      .done('planner', outputs.planner)
      .done('commitPlan', outputs.commitPlan);
  }

  toImplementation(): this {
    this.toPlanGate();
    if (this.gate === 'plan') this.send('APPROVAL_GRANTED', { by: 'me', artifactHash: 'plan-hash' });
    return this.done('pushPlan', outputs.pushed);
  }

  implemented(): this {
    return this.done('implementer', outputs.implementer).done('commitCode', outputs.commitCode);
  }

  toChecked(): this {
    return this.done('checkAsIs', outputs.check('as_is')).done('checkBaseTests', outputs.check('base_tests'));
  }

  toValidated(): this {
    return this.toChecked().done('validator', outputs.validator).done('report', outputs.report);
  }
}
