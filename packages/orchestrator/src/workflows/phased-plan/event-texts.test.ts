import { eventTextFault, ownEventText } from '@autonomous/shared/presentation';
import { expect, it } from 'vitest';
import { PLAN_EVENTS } from './event-texts.ts';
import { phasedPlan } from './index.ts';
import type { PlanFact } from './orchestrator-state.ts';
import { planPhase } from './plan-phase/index.ts';

const lineOf = ({ type, ...payload }: PlanFact, workflow = phasedPlan) => ownEventText({ type, payload }, workflow);

it('tells each event of a plan in words', () => {
  for (const { text } of Object.values(PLAN_EVENTS)) expect(eventTextFault(text)).toBeNull();
  const read = { type: 'PLAN_READ', planPath: 'docs/plan.md', phases: [1, 2], total: 2, maxRetries: 3 } as const;
  expect(lineOf(read)).toBe('Plan docs/plan.md: phases 1, 2; retries a phase: 3');
  expect(lineOf(read, planPhase)).toBeNull();
  const changed = { type: 'PHASE_CHANGED', phase: 2, status: 'verifying', retryCount: 0, lastError: null } as const;
  expect(lineOf(changed)).toBe('Phase 2: verifying');
  expect(lineOf({ ...changed, status: 'fixing', retryCount: 1, lastError: 'exit code 1' }, planPhase)).toBe(
    'Phase 2: fixing, retry 1; last error: exit code 1',
  );
  const hash = 'c0ffee'.padEnd(40, '0');
  expect(lineOf({ type: 'PHASE_COMMITTED', phase: 1, hash, message: 'Phase 1: Search' })).toBe(
    'Phase 1: Search: commit c0ffee0000',
  );
});
