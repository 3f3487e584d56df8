/** Version 1 of the workflow. */
import type { JsonObject } from '@autonomous/shared';
import { defineWorkflow } from '../../core/definition.ts';
import { ownedPathsOf } from './files.ts';
import { fullAutoMachine } from './machine.ts';
import { fullAutoSignals } from './setup.ts';
import { type FullAutoContext, fullAutoInputSchema } from './types.ts';

export const fullAutoV1 = defineWorkflow({
  name: 'full-auto',
  version: 1,
  description:
    'Carries a whole plan out: an agent turns it into features, each of which is a run of its own with its tests first, is checked and merged, and nobody is asked until the end',
  machine: fullAutoMachine,
  signals: fullAutoSignals,
  input: fullAutoInputSchema,
  exclusiveInput: ['topic'],
  needsProject: true,
  ownedFiles: ({ topic }: JsonObject) => ownedPathsOf(String(topic)),
  ownedResults: 'all',
  workspace: (context: FullAutoContext) => context.head || null,
});
