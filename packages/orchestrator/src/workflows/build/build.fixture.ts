/** Drives the build workflow by its pure step: what a run would store, without an engine, a clock or I/O. */
import type { JsonObject, JsonValue, RunConfig, WorkflowEvent } from '@autonomous/shared';
import { foldRun, type RunView } from '@autonomous/shared';
import { advance, canTake, dehydrate, newRun, rehydrate } from '../../core/advance.ts';
import type { RunState, StepResult } from '../../core/run-state.ts';
import { buildV3 as build } from './build-3.ts';

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

/** A run that is driven by hand. Every step goes through JSON, as if each were taken by another process. */
export class DrivenRun {
  state: RunState = newRun('r');
  view: RunView | null = null;
  readonly events: WorkflowEvent[] = [];
  readonly steps: StepResult[] = [];
  now = Date.parse('2026-03-01T10:00:00Z');

  static start(change: Partial<RunConfig> = {}): DrivenRun {
    const run = new DrivenRun();
    run.send('RUN_STARTED', {
      projectId: 'p',
      userId: 'u',
      workflow: { name: 'build', version: build.version, fingerprint: build.fingerprint },
      request: 'Create login flow',
      config: { ...aConfig, ...change } as unknown as JsonObject,
      requestedConfig: {},
      branch: 'autonomous/r-login-flow',
    });
    return run;
  }

  /** Sends an input that must be taken. */
  send(type: string, payload: JsonObject = {}): this {
    this.now += 1_000;
    const timestamp = new Date(this.now).toISOString();
    const before = rehydrate(
      build.machine,
      JSON.parse(JSON.stringify(dehydrate(build.machine, this.state))) as JsonValue,
    );
    const step = advance(build, before, { type, payload, timestamp });
    if (!step.ok) throw new Error(`${type} was not taken: ${JSON.stringify(step)}`);
    for (const [index, event] of [
      { type, payload, origin: 'input' as const },
      ...step.emitted.map((fact) => ({ ...fact, origin: 'emitted' as const })),
    ].entries()) {
      const sequence = this.state.sequence + 1 + index;
      const stored: WorkflowEvent = {
        ...event,
        id: `e${sequence}`,
        position: sequence,
        workflowRunId: 'r',
        sequence,
        timestamp,
      };
      this.events.push(stored);
      this.view = foldRun(this.view, stored);
    }
    this.state = step.state;
    this.steps.push(step);
    return this;
  }

  /** Completes an open activity; with `prepare` the baseline, which goes on beside planning. */
  done(activity: string, output: JsonValue): this {
    this.ended(activity, output);
    return activity === 'prepare' && this.open.includes('baseline') ? this.ended('baseline', outputs.baseline) : this;
  }

  /** Completes an open activity and nothing else. */
  ended(activity: string, output: JsonValue): this {
    return this.send('ACTIVITY_COMPLETED', { key: this.key(activity), activity, output });
  }

  /** @param more further fields of the error */
  fail(activity: string, reason = 'agent_failed', message = 'it broke', more: JsonObject = {}): this {
    return this.send('ACTIVITY_FAILED', {
      key: this.key(activity),
      activity,
      error: { kind: 'needs_human', reason, message, ...more },
    });
  }

  /** Fails an open activity because a provider's limit is reached. */
  rateLimited(activity: string, retryAfterMs: number): this {
    const error = { kind: 'retryable', reason: 'rate_limited', message: 'slow down', retryAfterMs };
    return this.send('ACTIVITY_FAILED', { key: this.key(activity), activity, error });
  }

  /** Fires the open timer. @param extra fields of the event */
  fire(extra: JsonObject = {}): this {
    const [timer] = Object.values(this.state.timers);
    if (!timer) throw new Error('no timer is armed');
    this.now = Date.parse(timer.dueAt);
    return this.send('TIMER_FIRED', { key: timer.key, event: timer.event, ...extra });
  }

  takes(type: string, payload: JsonObject): boolean {
    return canTake(this.state, type, payload);
  }

  key(activity: string): string {
    const key = this.state.activities[activity];
    if (!key)
      throw new Error(
        `activity '${activity}' is not open; open are ${Object.keys(this.state.activities).join(', ') || 'none'}`,
      );
    return key;
  }

  get open(): string[] {
    return Object.keys(this.state.activities);
  }

  /** What the activity that the last step started was given. */
  get input(): JsonObject {
    return (this.steps.at(-1)?.started[0]?.input ?? {}) as JsonObject;
  }

  get types(): string[] {
    return this.events.map((event) => event.type);
  }

  /** The open gate's kind. */
  get gate(): string | null {
    return this.view?.gate?.kind ?? null;
  }

  // ---- the usual way

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
