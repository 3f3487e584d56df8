/** Items of a roadmap: documents that people approve, tasks that are runs of their own, and a release. */
import { COMMON_GATES, type JsonObject } from '@autonomous/shared';
import { defineVersions } from '../../core/versions.ts';
import type { Workflow } from '../workflow.ts';
import { itemActivities } from './activities.ts';
import { itemCommand } from './command.ts';
import { DOCUMENT_PATTERNS } from './documents.ts';
import { ITEM_EVENTS } from './events.ts';
import { itemMachine } from './machine.ts';
import { roles } from './roles/index.ts';
import { itemSignals } from './setup.ts';
import { type ItemContext, itemInputSchema } from './types.ts';

const BUG_DETAILS = { bugs: 'Bugs that become items of the roadmap', failure: 'Approved although', release: 'Release' };

export const roadmapItem: Workflow = {
  name: 'roadmap-item',
  title: 'Roadmap item',
  versions: defineVersions({
    name: 'roadmap-item',
    newest: 1,
    description:
      'Carries out an item of a roadmap: ideation, specification and tasks, each task a run of its own, then tests, publication and release',
    machine: () => itemMachine,
    signals: itemSignals,
    input: itemInputSchema,
    defaultRequest: 'Carry out the item {item} of {roadmap}',
    exclusiveInput: ['item', 'roadmap'],
    needsProject: true,
    ownedFiles: ({ roadmap }: JsonObject) => [String(roadmap), ...DOCUMENT_PATTERNS],
    ownedResults: DOCUMENT_PATTERNS,
    workspace: (context: ItemContext) => context.head || null,
  }),
  roles,
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'planning', title: 'Documents' },
    { name: 'implementation', title: 'Tasks' },
    { name: 'validation', title: 'Testing', timeoutMinutes: 30 },
    { name: 'publishing', title: 'Publishing' },
    { name: 'releasing', title: 'Release', timeoutMinutes: 30 },
  ],
  trustModes: [
    // The first and the last are those of each task's run.
    {
      name: 'planning',
      title: 'Plans',
      description: 'Approve the plan of each task before it is implemented.',
      default: 'auto',
    },
    {
      name: 'implementation',
      title: 'Results',
      description: 'Approve the result of each task, and the whole before it is published.',
      default: 'auto',
    },
    { name: 'fixes', title: 'Fixes', description: 'Decide whether failed checks are fixed.', default: 'auto' },
  ],
  gates: {
    ...COMMON_GATES,
    item_ideation: { title: 'Ideation', presents: 'document', document: 'item_ideation' },
    item_specification: { title: 'Specification', presents: 'document', document: 'item_specification' },
    item_tasks: { title: 'Tasks', presents: 'document', document: 'item_tasks', details: { tasks: 'Tasks' } },
    item_implementation: { title: 'Implementation', presents: 'changes' },
    item_bugs: {
      title: 'Bug',
      waiting: 'Bug holds it up',
      presents: 'changes',
      isFailure: true,
      labels: {
        approve: { button: 'Add to the roadmap' },
        reject: { button: 'Go on without it', field: 'Why does it not hold the item up?' },
      },
      details: { bugs: 'Bugs' },
    },
    item_release: {
      title: 'Release',
      presents: 'changes',
      labels: {
        approve: { button: 'Publish and release' },
        accept: { button: 'Publish, do not release', field: 'Why? It is recorded with the run' },
        reject: { button: 'Send back' },
      },
      details: BUG_DETAILS,
      against: ['failure'],
    },
    item_result: {
      title: 'Result',
      presents: 'changes',
      labels: { approve: { button: 'Publish' }, reject: { button: 'Send back' } },
      details: BUG_DETAILS,
      against: ['failure'],
    },
    item_release_failed: {
      title: 'Release failed',
      presents: 'message',
      isFailure: true,
      labels: {
        retry: { button: 'Run it again' },
        accept: { button: 'Finish without a release', field: 'Why? It is recorded with the run' },
      },
    },
    item_release_cut_off: {
      title: 'Release of unknown outcome',
      presents: 'message',
      isFailure: true,
      labels: {
        retry: { button: 'Run it again' },
        accept: { button: 'Finish, do not run it again', field: 'How far did it come? It is recorded with the run' },
      },
    },
  },
  documents: {
    item_ideation: { title: 'Ideation', drawnAs: 'markdown' },
    item_specification: { title: 'Specification', drawnAs: 'markdown' },
    item_tasks: { title: 'Tasks', drawnAs: 'markdown' },
    code: { title: 'Changes', drawnAs: 'changes' },
  },
  events: ITEM_EVENTS,
  progressWord: 'tasks done',
  command: itemCommand.command,
  activities: itemActivities,
};
