/** Version 1 of the workflow. */
import type { JsonObject } from '@autonomous/shared';
import { defineWorkflow } from '../../core/definition.ts';
import { DOCUMENT_PATTERNS } from './documents.ts';
import { itemMachine } from './machine.ts';
import { itemSignals } from './setup.ts';
import { type ItemContext, itemInputSchema } from './types.ts';

export const roadmapItemV1 = defineWorkflow({
  name: 'roadmap-item',
  version: 1,
  description:
    'Carries out an item of a roadmap: ideation, specification and tasks, each task a run of its own, then tests, publication and release',
  machine: itemMachine,
  signals: itemSignals,
  input: itemInputSchema,
  defaultRequest: 'Carry out the item {item} of {roadmap}',
  exclusiveInput: ['item', 'roadmap'],
  needsProject: true,
  ownedFiles: ({ roadmap }: JsonObject) => [String(roadmap), ...DOCUMENT_PATTERNS],
  ownedResults: DOCUMENT_PATTERNS,
  workspace: (context: ItemContext) => context.head || null,
});
