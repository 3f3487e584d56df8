/** Proofs of features whose child run was rebuilt from its record: approvals and checks of the record do not count. */
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { aRun, evidenceOf } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import type { ActivityTools } from '../../activities/tools.ts';
import { type ProveInput, proveFeature } from './proof.ts';

const TESTS = { runner: 'r', failed: 0, skipped: 0, finished: true };
const REBUILT_UP_TO = 50;

async function proofOf(view: Partial<RunView>, event: Pick<WorkflowEvent, 'type' | 'payload' | 'sequence'>) {
  const child = aRun({
    id: 'child',
    status: 'completed',
    parent: { runId: 'parent', key: 'k', depth: 1 },
    baseCommit: 'base',
    headCommit: 'head',
    completedAt: '2026-03-01T10:00:00Z',
    ...view,
  });
  const tools = {
    project: async () => ({ id: 'p' }),
    view: async () => child,
    events: async (_id: string, after = 0) => [event].filter(({ sequence }) => sequence > after),
    repository: { codeTree: async () => 'tree', changes: async () => [] },
  } as unknown as ActivityTools; // Nothing else is asked for where no file of tests has changed.
  const input = { projectId: 'p', runId: 'parent', childId: 'child' } as ProveInput;
  return proveFeature(tools).perform(input, {} as Parameters<ReturnType<typeof proveFeature>['perform']>[1]);
}

it.each([
  ['an approval of the result', { type: 'APPROVAL_GRANTED', payload: { codeTree: 'tree', by: 'someone' } }],
  ['an acceptance', { type: 'FIX_DECIDED', payload: { decision: 'accept', by: 'someone', reason: 'fine' } }],
])('is %s by a person, unless it stands in a record alone', async (_, event) => {
  const rebuilt = { rebuiltUpTo: REBUILT_UP_TO };
  expect((await proofOf(rebuilt, { ...event, sequence: REBUILT_UP_TO - 1 })).fault).toMatch(/^no test is new/);
  expect((await proofOf(rebuilt, { ...event, sequence: REBUILT_UP_TO + 1 })).fault).toBeNull();
  expect((await proofOf({}, { ...event, sequence: REBUILT_UP_TO - 1 })).fault).toBeNull();
});

it('is more tests than on the base commit, by checks of this server', async () => {
  const asIs = evidenceOf({ mode: 'as_is', codeTree: 'tree', tests: { ...TESTS, executed: 3 } });
  const command = { command: 'npm test', exitCode: 0, durationMs: 1, output: '' };
  const baseline = { commit: 'base', codeTree: 'b', passed: true, command, sandbox: 's' };
  const withBase = evidenceOf({
    mode: 'base_tests',
    codeTree: 'tree',
    baseline: { ...baseline, tests: { ...TESTS, executed: 2 } },
  });
  const none = { type: 'NOTICE', payload: {}, sequence: 60 };
  const proved = async (view: Partial<RunView>) => (await proofOf(view, none)).fault === null;
  expect(await proved({ evidence: [asIs] })).toBe(true);
  expect(await proved({ evidence: [asIs, withBase], rebuiltUpTo: REBUILT_UP_TO })).toBe(true);
  expect(await proved({ evidence: [asIs], rebuiltUpTo: REBUILT_UP_TO })).toBe(false);
  expect(
    await proved({
      evidence: [
        { ...asIs, rebuiltAt: '2026-03-02' },
        { ...withBase, rebuiltAt: '2026-03-02' },
      ],
    }),
  ).toBe(false);
});
