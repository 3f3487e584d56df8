/** Research and plan: a report of which every passage was looked up, and an implementation plan that rests on it. */
import { COMMON_GATES, type JsonObject } from '@autonomous/shared';
import { defineVersions } from '../../core/versions.ts';
import type { Workflow } from '../workflow.ts';
import { planActivities } from './activities.ts';
import { planCommand } from './command.ts';
import { PLAN_EVENTS } from './events.ts';
import { ownedPathsOfPlan } from './files.ts';
import { planMachine } from './machine.ts';
import { projectionOf } from './projection.ts';
import { roles } from './roles/index.ts';
import { planSignals } from './setup.ts';
import { type PlanContext, planInputSchema } from './types.ts';

export const researchAndPlan: Workflow = {
  name: 'research-and-plan',
  title: 'Research and plan',
  versions: defineVersions({
    name: 'research-and-plan',
    newest: 1,
    description:
      'Researches a topic and makes an implementation plan of it: architects and critics work on the plan in rounds until no blocker is open and it has stopped changing',
    machine: () => planMachine,
    signals: planSignals,
    input: planInputSchema,
    exclusiveInput: ['topic'],
    needsProject: true,
    ownedFiles: ({ topic }: JsonObject) => ownedPathsOfPlan(String(topic)),
    ownedResults: 'all',
    workspace: (context: PlanContext) => context.head || null,
  }),
  roles,
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'researching', title: 'Research', timeoutMinutes: 60 },
    { name: 'planning', title: 'Planning', timeoutMinutes: 60 },
    { name: 'reporting', title: 'Plan', timeoutMinutes: 30 },
    { name: 'publishing', title: 'Publishing' },
  ],
  trustModes: [
    {
      name: 'implementation',
      title: 'Report and plan',
      description: 'Approve the report before the planning begins, and the plan before it is published.',
      default: 'auto',
    },
  ],
  gates: {
    ...COMMON_GATES,
    plan_blockers: {
      title: 'Open blockers',
      presents: 'document',
      document: 'implementation_plan',
      labels: {
        approve: { button: 'Take the plan as it is' },
        reject: { button: 'Plan further' },
        close: { button: 'Stop', field: 'Why? It is recorded with the run' },
      },
      details: { blockers: 'Open blockers' },
      against: ['blockers'],
    },
    plan_result: {
      title: 'Plan',
      presents: 'document',
      document: 'implementation_plan',
      labels: { approve: { button: 'Publish' }, reject: { button: 'Plan further' } },
      details: { open: 'Open decisions', blockers: 'Open blockers' },
      against: ['blockers'],
    },
  },
  documents: {
    implementation_plan: { title: 'Plan', drawnAs: 'markdown' },
    plan_pdf: { title: 'PDF', drawnAs: 'pdf', compiledFrom: 'implementation_plan' },
  },
  events: PLAN_EVENTS,
  progressWord: 'rounds done',
  projection: projectionOf,
  command: planCommand.command,
  activities: planActivities,
};
