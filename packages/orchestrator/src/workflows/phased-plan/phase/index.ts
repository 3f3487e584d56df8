/** A phase of a plan as a workflow: runs of `phased-plan` start one for each phase. */
import { COMMON_GATES } from '@autonomous/shared';
import type { Workflow } from '../../workflow.ts';
import { PLAN_EVENTS } from '../event-texts.ts';
import { stateFiles } from '../orchestrator-state.ts';
import { roles } from '../roles/index.ts';
import { phaseActivities } from './activities.ts';
import { planPhaseV1 } from './plan-phase-1.ts';

export const planPhase: Workflow = {
  name: 'plan-phase',
  title: 'Plan phase',
  versions: [planPhaseV1],
  roles,
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'implementation', title: 'Implementation', timeoutMinutes: 60 },
    { name: 'validation', title: 'Verification', timeoutMinutes: 30 },
    { name: 'phase-review', title: 'Review' },
    { name: 'phase-commit', title: 'Commit' },
  ],
  trustModes: [],
  gates: {
    ...COMMON_GATES,
    phase_blocked: {
      title: 'Blocked phase',
      waiting: 'Phase blocked',
      presents: 'changes',
      isFailure: true,
      needs: { reject: 'feedback' },
      labels: {
        retry: { button: 'I fixed it: verify' },
        reject: { button: 'Give guidance', field: 'Guidance for the next attempt' },
      },
      details: { lastError: 'Last error', attempts: 'Attempts', branch: 'Branch for a fix by hand' },
    },
  },
  documents: { code: { title: 'Changes', drawnAs: 'changes' } },
  // The plan's run tells of the plan.
  events: { ...PLAN_EVENTS, PLAN_READ: { text: '' } },
  recordFiles: (_view, events) => stateFiles(events),
  activities: phaseActivities,
};
