/**
 * The build workflow: plans a change, implements it, checks it against the plan and the project's own tests, and publishes it.
 */
import { COMMON_GATES } from '@autonomous/shared';
import { defineVersions } from '../../core/versions.ts';
import { decisionSignals } from '../parts/signals.ts';
import type { Workflow } from '../workflow.ts';
import { buildActivities } from './activities/registry.ts';
import { VALIDATION_MINUTES } from './inputs.ts';
import { buildMachine } from './machine.ts';
import { roles } from './roles/index.ts';
import type { BuildContext } from './types.ts';

export const build: Workflow = {
  name: 'build',
  title: 'Build',
  versions: defineVersions({
    name: 'build',
    newest: 3,
    description:
      'Plans a change, implements it, checks it against the plan and the project’s own tests, publishes it, and follows its pull request',
    machine: () => buildMachine,
    signals: decisionSignals,
    needsProject: true,
    workspace: (context: BuildContext) => context.head || null,
  }),
  roles,
  stages: [
    { name: 'planning', title: 'Planning', timeoutMinutes: 10, role: 'planner' },
    { name: 'implementation', title: 'Implementation', timeoutMinutes: 60, role: 'implementer' },
    { name: 'validation', title: 'Validation', timeoutMinutes: VALIDATION_MINUTES, role: 'validator' },
    { name: 'publishing', title: 'Publishing' },
  ],
  trustModes: [
    { name: 'planning', title: 'Plan', description: 'Approve the plan before it is implemented.', default: 'manual' },
    {
      name: 'implementation',
      title: 'Result',
      description: 'Approve the result before it is published.',
      default: 'auto',
    },
    { name: 'fixes', title: 'Fixes', description: 'Decide whether failed checks are fixed.', default: 'auto' },
  ],
  gates: {
    ...COMMON_GATES,
    plan: {
      title: 'Plan',
      presents: 'document',
      document: 'mermaid_diagram',
      offers: { approve: 'editedPlan' },
    },
    invalid_plan: {
      title: 'Plan',
      waiting: 'Plan cannot be read',
      presents: 'document',
      document: 'mermaid_diagram',
      isFailure: true,
      needs: { approve: 'editedPlan' },
    },
    implementation: {
      title: 'Result',
      presents: 'changes',
      report: 'validation_report',
      takesFilesOn: 'reject',
    },
    fix: {
      title: 'Failed checks',
      waiting: 'Checks failed',
      presents: 'changes',
      report: 'validation_report',
      isFailure: true,
      takesFilesOn: 'retry',
    },
    pull_request: {
      ...COMMON_GATES['pull_request'],
      title: 'Pull request',
      presents: 'changes',
      report: 'validation_report',
    },
  },
  documents: {
    mermaid_diagram: { title: 'Plan', drawnAs: 'diagrams' },
    spec: { title: 'Specification', drawnAs: 'markdown' },
    code: { title: 'Changes', drawnAs: 'changes' },
    validation_report: { title: 'Validation report', drawnAs: 'markdown' },
  },
  command: { name: 'run' },
  activities: buildActivities,
};
