/** A phase of a plan as a workflow: runs of `phased-plan` start one for each phase. */
import { COMMON_GATES } from '@autonomous/shared';
import { defineWorkflow } from '../../../core/definition.ts';
import type { Workflow } from '../../workflow.ts';
import { stateFiles } from '../orchestrator-state.ts';
import { roles } from '../roles/index.ts';
import { signals } from '../signals.ts';
import { phaseActivities } from './activities.ts';
import { phaseMachine } from './machine.ts';
import { type PhaseContext, phaseInputSchema } from './types.ts';

/** Version 1 of `plan-phase`. */
export const planPhaseV1 = defineWorkflow({
  name: 'plan-phase',
  version: 1,
  description: 'Implements one phase of a plan, verifies and reviews it, and commits it',
  machine: phaseMachine,
  signals,
  input: phaseInputSchema,
  needsProject: true,
  workspace: (context: PhaseContext) => context.head || null,
});

export const planPhase: Workflow = {
  name: 'plan-phase',
  title: 'Plan phase',
  versions: [planPhaseV1],
  roles,
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'implementation', title: 'Implementation', timeoutMinutes: 60 },
    { name: 'validation', title: 'Verification', timeoutMinutes: 5 },
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
    },
  },
  documents: { code: { title: 'Changes', drawnAs: 'changes' } },
  recordFiles: (_view, events) => stateFiles(events),
  activities: phaseActivities,
};
