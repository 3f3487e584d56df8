/** Full auto: a plan becomes features, each of which is a run of its own, and nobody is asked until the end. */
import { COMMON_GATES, type JsonObject } from '@autonomous/shared';
import { defineVersions } from '../../core/versions.ts';
import type { Workflow } from '../workflow.ts';
import { fullAutoActivities } from './activities.ts';
import { fullAutoCommand } from './command.ts';
import { FULL_AUTO_EVENTS } from './events.ts';
import { ownedPathsOf } from './files.ts';
import { fullAutoMachine } from './machine.ts';
import { projectionOf } from './projection.ts';
import { roles } from './roles/index.ts';
import { fullAutoSignals } from './setup.ts';
import { type FullAutoContext, fullAutoInputSchema } from './types.ts';

export const fullAuto: Workflow = {
  name: 'full-auto',
  title: 'Full auto',
  versions: defineVersions({
    name: 'full-auto',
    newest: 1,
    description:
      'Carries a whole plan out: an agent turns it into features, each of which is a run of its own with its tests first, is checked and merged, and nobody is asked until the end',
    machine: () => fullAutoMachine,
    signals: fullAutoSignals,
    input: fullAutoInputSchema,
    exclusiveInput: ['topic'],
    needsProject: true,
    ownedFiles: ({ topic }: JsonObject) => ownedPathsOf(String(topic)),
    ownedResults: 'all',
    workspace: (context: FullAutoContext) => context.head || null,
  }),
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
  command: fullAutoCommand.command,
  activities: fullAutoActivities,
};
