/** Backlogs: each item of a table is a run of its own, and the server keeps their statuses. */
import { COMMON_GATES, type JsonObject } from '@autonomous/shared';
import { defineVersions } from '../../core/versions.ts';
import type { Workflow } from '../workflow.ts';
import { backlogActivities } from './activities.ts';
import { backlogCommand } from './command.ts';
import { BACKLOG_EVENTS } from './events.ts';
import { backlogMachine } from './machine.ts';
import { progressFiles } from './progress-file.ts';
import { progressPlaceOf } from './progress-place.ts';
import { backlogSignals } from './setup.ts';
import { type BacklogContext, backlogInputSchema, folderOf } from './types.ts';

export const backlog: Workflow = {
  name: 'backlog',
  title: 'Backlog',
  versions: defineVersions({
    name: 'backlog',
    newest: 1,
    description:
      'Works through a backlog: each queued item is a run of its own, is checked and merged, and its status follows',
    machine: () => backlogMachine,
    signals: backlogSignals,
    input: backlogInputSchema,
    configuredInput: ({ backlog: { file, specs } = {} }) => ({
      ...(file === undefined ? {} : { file }),
      ...(specs === undefined ? {} : { specs }),
    }),
    defaultRequest: 'Work through {file}[: {item}]',
    exclusiveInput: ['file'],
    needsProject: true,
    ownedFiles: ({ file, specs }: JsonObject) => [
      String(file),
      `${folderOf(String(specs))}/**/*.md`,
      ...Object.values(progressPlaceOf(String(file))),
    ],
    workspace: (context: BacklogContext) => context.head || null,
  }),
  // Agents work in the items' own runs, with the roles and models of those.
  roles: [],
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'implementation', title: 'Items' },
    { name: 'validation', title: 'Verification', timeoutMinutes: 30 },
    { name: 'publishing', title: 'Publishing' },
  ],
  trustModes: [
    // The first and the last are those of each item's run.
    {
      name: 'planning',
      title: 'Plans',
      description: 'Approve the plan of each item before it is implemented.',
      default: 'auto',
    },
    {
      name: 'implementation',
      title: 'Results',
      description: 'Approve the result of each item, and the whole before it is published.',
      default: 'auto',
    },
    { name: 'fixes', title: 'Fixes', description: 'Decide whether failed checks are fixed.', default: 'auto' },
  ],
  gates: {
    ...COMMON_GATES,
    backlog_stopped: {
      title: 'Stopped',
      waiting: 'Backlog stopped',
      presents: 'changes',
      isFailure: true,
      needs: { accept: 'reason' },
      offers: { retry: 'notes' },
      labels: {
        retry: { button: 'Try again', field: 'Note for the next attempt' },
        accept: { button: 'Finish with what is done', field: 'Why? It is recorded with the run' },
      },
      details: { left: 'Not done' },
    },
    backlog_result: { title: 'Result', presents: 'changes', labels: { retry: { button: 'Check again' } } },
  },
  documents: { code: { title: 'Changes', drawnAs: 'changes' } },
  events: BACKLOG_EVENTS,
  progressWord: 'items done',
  recordFiles: (view, events) => progressFiles(view, events),
  command: backlogCommand.command,
  activities: backlogActivities,
};
