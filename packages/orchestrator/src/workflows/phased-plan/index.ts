/** Plans in phases: each phase is a run of its own, and the whole ends as one change. */
import { COMMON_GATES } from '@autonomous/shared';
import type { Workflow } from '../workflow.ts';
import { planActivities } from './activities.ts';
import { PLAN_EVENTS } from './event-texts.ts';
import { stateFiles } from './orchestrator-state.ts';
import { phasedPlanV1 } from './phased-plan-1.ts';
import { planPhase } from './phase/index.ts';
import { roles } from './roles/index.ts';

export const phasedPlan: Workflow = {
  name: 'phased-plan',
  title: 'Phased plan',
  versions: [phasedPlanV1],
  roles,
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'implementation', title: 'Phases', timeoutMinutes: 60, role: 'phase-implementer' },
    { name: 'validation', title: 'Verification', timeoutMinutes: 30 },
    { name: 'publishing', title: 'Publishing' },
  ],
  trustModes: [
    {
      name: 'implementation',
      title: 'Result',
      description: 'Approve the result before it is published.',
      default: 'auto',
    },
  ],
  gates: {
    ...COMMON_GATES,
    plan_result: {
      title: 'Result',
      presents: 'changes',
      needs: { reject: 'feedback' },
      details: { reviewers: 'Asked by reviewers', answer: 'Answer to reviewers' },
    },
  },
  documents: { code: { title: 'Changes', drawnAs: 'changes' } },
  events: PLAN_EVENTS,
  progressWord: 'phases merged',
  children: [planPhase],
  recordFiles: (_view, events) => stateFiles(events),
  activities: planActivities,
};
