/** Full auto: a plan becomes features, each of which is a run of its own, and nobody is asked until the end. */
import { COMMON_GATES } from '@autonomous/shared';
import type { Workflow } from '../workflow.ts';
import { fullAutoActivities } from './activities.ts';
import { FULL_AUTO_EVENTS } from './events.ts';
import { fullAutoV1 } from './full-auto-1.ts';
import { projectionOf } from './projection.ts';
import { roles } from './roles/index.ts';

export const fullAuto: Workflow = {
  name: 'full-auto',
  title: 'Full auto',
  versions: [fullAutoV1],
  roles,
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'research', title: 'Research and plan' },
    { name: 'planning', title: 'Feature list' },
    { name: 'implementation', title: 'Features' },
    { name: 'validation', title: 'Verification', timeoutMinutes: 30 },
    { name: 'publishing', title: 'Publishing' },
  ],
  trustModes: [
    // The first and the last are those of each feature's run.
    {
      name: 'planning',
      title: 'Plans',
      description: 'Approve the plan of each feature before it is implemented.',
      default: 'auto',
    },
    {
      name: 'implementation',
      title: 'Results',
      description: 'Approve the result of each feature, and the whole before it is published.',
      default: 'auto',
    },
    { name: 'fixes', title: 'Fixes', description: 'Decide whether failed checks are fixed.', default: 'auto' },
  ],
  gates: {
    ...COMMON_GATES,
    full_auto_result: {
      title: 'Result',
      presents: 'changes',
      needs: { accept: 'reason' },
      offers: { retry: 'notes' },
      labels: {
        approve: { button: 'Publish' },
        accept: { button: 'Leave as its branch', field: 'Why? It is recorded with the run' },
        retry: { button: 'Try again', field: 'Note for the next attempts' },
      },
      details: { failures: 'Not done', failure: 'Approved although' },
      against: ['failure', 'failures'],
    },
  },
  documents: { code: { title: 'Changes', drawnAs: 'changes' } },
  events: FULL_AUTO_EVENTS,
  progressWord: 'features pass',
  projection: projectionOf,
  activities: fullAutoActivities,
};
