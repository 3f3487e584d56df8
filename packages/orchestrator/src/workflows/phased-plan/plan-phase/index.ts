/** A phase of a plan as a workflow: runs of `phased-plan` start one for each phase. */
import { COMMON_GATES } from '@autonomous/shared';
import { defineVersions } from '../../../core/versions.ts';
import type { Workflow } from '../../workflow.ts';
import { PLAN_EVENTS } from '../event-texts.ts';
import { stateFiles } from '../orchestrator-state.ts';
import { roles } from '../roles/index.ts';
import { signals } from '../signals.ts';
import { phaseActivities } from './activities.ts';
import { phaseMachine } from './machine.ts';
import { type PhaseContext, phaseInputSchema } from './types.ts';

export const planPhase: Workflow = {
  name: 'plan-phase',
  title: 'Plan phase',
  versions: defineVersions({
    name: 'plan-phase',
    newest: 1,
    description: 'Implements one phase of a plan, verifies and reviews it, and commits it',
    machine: () => phaseMachine,
    signals,
    input: phaseInputSchema,
    needsProject: true,
    workspace: (context: PhaseContext) => context.head || null,
  }),
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
