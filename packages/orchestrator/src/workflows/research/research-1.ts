/** Version 1 of the workflow. */
import type { JsonObject } from '@autonomous/shared';
import { defineWorkflow } from '../../core/definition.ts';
import { ownedPathsOf } from '../parts/topic-files.ts';
import { researchMachine } from './machine.ts';
import { researchSignals } from './setup.ts';
import { type ResearchContext, researchInputSchema } from './types.ts';

export const researchV1 = defineWorkflow({
  name: 'research',
  version: 1,
  description:
    'Researches a topic in rounds: agents search the web and read the project, the server looks up every passage that they quote, and a report with its sources is written',
  machine: researchMachine,
  signals: researchSignals,
  input: researchInputSchema,
  exclusiveInput: ['topic'],
  needsProject: true,
  ownedFiles: ({ topic }: JsonObject) => ownedPathsOf(String(topic)),
  ownedResults: 'all',
  workspace: (context: ResearchContext) => context.head || null,
});
