/** The loop over the phases of a plan: which are begun when, and what becomes of the others where one comes to nothing. */
import type { JsonObject } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { DrivenRun } from '../driven-run.ts';
import { newestOf } from '../workflow.ts';
import { phasedPlan } from './index.ts';

const config = {
  trustMode: { implementation: 'auto' },
  maxConcurrency: 4,
  timeoutMinutes: { implementation: 60, validation: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: {},
};

/** @param dependencies of phases 1, 2, … */
const planOf = (...dependencies: readonly (readonly number[])[]): JsonObject => ({
  title: 'Parts',
  phases: dependencies.map((dependsOn, index) => ({
    number: index + 1,
    title: '',
    text: `Write part ${index + 1}.`,
    criteria: [],
    dependsOn: [...dependsOn],
  })),
  planFile: null,
  faults: [],
});

const begun = (plan: JsonObject, input: JsonObject = {}): DrivenRun =>
  new DrivenRun(newestOf(phasedPlan))
    .begin({ config, input: { planPath: 'plan.md', ...input } })
    .ended('prepare', {
      baseCommit: 'base',
      config,
      notices: [],
      excludePaths: [],
      setup: null,
      test: { command: 'npm test', source: 'package.json' },
    })
    .ended('readPlan', plan)
    .ended('findCommands', { test: null, lint: null });

const child = (number: number, iterations = 1): JsonObject => ({
  runId: `child-${number}`,
  headCommit: `c-${number}`,
  output: { phase: number, iterations, message: '', summary: 'Done.' },
});

const merged = (run: DrivenRun): DrivenRun =>
  run
    .ended('integrateChild', { commit: 'm', codeTree: 't', fastForward: true })
    .ended('mergeChild', { commit: 'm', codeTree: 't' });

const statusesOf = ({ events }: DrivenRun): readonly string[] =>
  events.flatMap(({ type, payload }) =>
    type === 'PHASE_CHANGED' ? [`${String(payload['phase'])} ${String(payload['status'])}`] : [],
  );

it('begins a phase once all that it depends on is merged, whatever else is under way', () => {
  const run = begun(planOf([], [], [1], [2, 3]));
  expect(run.open).toEqual(['phase-1-1', 'phase-2-1']);
  merged(run.ended('phase-1-1', child(1)));
  expect(run.open).toEqual(['phase-2-1', 'phase-3-1']);
  merged(run.ended('phase-3-1', child(3)));
  expect(run.open).toEqual(['phase-2-1']);
  merged(run.ended('phase-2-1', child(2)));
  expect(run.open).toEqual(['phase-4-1']);
});

it('begins no more phases at once than the run may have', () => {
  expect(begun(planOf([], [], [], [])).open).toEqual(['phase-1-1', 'phase-2-1', 'phase-3-1']);
});

it('goes on with the others where one comes to nothing, then asks a person once for all of these', () => {
  const run = begun(planOf([], [], [], [2], [1]));
  run.fail('phase-1-1', 'agent_failed', 'Child run child-1 was cancelled.');
  expect([run.gate, run.open]).toEqual([null, ['phase-2-1', 'phase-3-1']]);
  run.ended('phase-3-1', child(3)).fail('integrateChild', 'merge_conflict', 'Both changed notes.md.');
  expect(run.gate).toBeNull();
  merged(run.ended('phase-2-1', child(2)));
  expect(run.open).toEqual(['phase-4-1']);
  merged(run.ended('phase-4-1', child(4)));
  expect(run.view?.gate).toMatchObject({
    kind: 'pause',
    reason: 'agent_failed',
    summary: expect.stringMatching(
      /^Phase 1 cannot be used: Child run child-1 was cancelled\.\nPhase 3 cannot be used: Both changed notes\.md\.\nRetry/,
    ),
  });
  run.send('RETRY_REQUESTED', { by: 'me' });
  expect(run.open).toEqual(['phase-1-2', 'phase-3-2']);
  expect(statusesOf(run)).toEqual([
    '1 implementing',
    '2 implementing',
    '3 implementing',
    '1 blocked',
    '3 blocked',
    '2 completed',
    '4 implementing',
    '4 completed',
    '1 implementing',
    '3 implementing',
  ]);
});

it('keeps a phase that has come to nothing where another step is retried', () => {
  const run = begun(planOf([], []));
  run.fail('phase-1-1').ended('phase-2-1', child(2)).fail('integrateChild', 'storage_full');
  run.send('RETRY_REQUESTED', { by: 'me' });
  expect(run.open).toEqual(['integrateChild']);
  merged(run);
  expect(run.view?.gate?.summary).toMatch(/^Phase 1 cannot be used: it broke\n/);
});

it('keeps results of phases that end during a pause', () => {
  const run = begun(planOf([], []));
  run.ended('phase-1-1', child(1)).fail('integrateChild', 'storage_full').ended('phase-2-1', child(2));
  expect(run.gate).toBe('pause');
  merged(merged(run.send('RETRY_REQUESTED', { by: 'me' })));
  expect(run.open).toEqual(['checkAsIs']);
});

it('begins nothing beyond the limit of iterations, and has room for one more phase after a retry', () => {
  const run = begun(planOf([], [1], [1]), { maxIterations: 2, maxRetries: 1 });
  merged(run.ended('phase-1-1', child(1, 2)));
  expect(run.view?.gate?.summary).toMatch(/^Phase 2 cannot be used: the limit of 2 iterations is reached\nPhase 3/);
  run.send('RETRY_REQUESTED', { by: 'me' });
  expect(run.open).toEqual(['phase-2-1', 'phase-3-1']);
  expect(run.inputOf('phase-2-1')['input']).toMatchObject({ maxIterations: 2 });
});
