/** Plans in phases: each phase is a run of its own, and the whole ends as one change. */
import { COMMON_GATES } from '@autonomous/shared';
import { defineVersions } from '../../core/versions.ts';
import type { Workflow } from '../workflow.ts';
import { planActivities } from './activities.ts';
import { PLAN_EVENTS } from './event-texts.ts';
import { planMachine } from './machine.ts';
import { stateFiles } from './orchestrator-state.ts';
import { planPhase } from './plan-phase/index.ts';
import { roles } from './roles/index.ts';
import { planSignals } from './setup.ts';
import { type PlanContext, planInputSchema } from './types.ts';

export const phasedPlan: Workflow = {
  name: 'phased-plan',
  title: 'Phased plan',
  versions: defineVersions({
    name: 'phased-plan',
    newest: 1,
    description: 'Carries out a plan phase by phase: each is implemented, verified, reviewed, committed and merged',
    machine: () => planMachine,
    signals: planSignals,
    input: planInputSchema,
    defaultRequest: 'Carry out {planPath}',
    exclusiveInput: ['planPath'],
    needsProject: true,
    readsEvents: ['PHASE_COMMITTED'],
    workspace: (context: PlanContext) => context.head || null,
  }),
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
  command: { name: 'plan run' },
  progressWord: 'phases merged',
  children: [planPhase],
  recordFiles: (_view, events) => stateFiles(events),
  activities: planActivities,
};
