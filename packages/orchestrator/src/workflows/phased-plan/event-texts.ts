/** Lines of a timeline for the events of a plan and of its phases. */
import type { EventInfo } from '@autonomous/shared';
import type { PlanFact } from './orchestrator-state.ts';

export const PLAN_EVENTS: Readonly<Record<PlanFact['type'], EventInfo>> = {
  PLAN_READ: { text: 'Plan {planPath}: phases {phases}[; retries a phase: {maxRetries}]' },
  PHASE_CHANGED: { text: 'Phase {phase}: {status}[, retry {retryCount}][; last error: {lastError}]' },
  PHASE_COMMITTED: { text: '{message}: commit {hash}', tone: 'good' },
};
