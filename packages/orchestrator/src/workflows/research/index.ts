/** Research: rounds of agents that search and read, and a report of which every passage was looked up. */
import { COMMON_GATES, type JsonObject } from '@autonomous/shared';
import { defineVersions } from '../../core/versions.ts';
import { ownedPathsOf } from '../parts/topics/topic-files.ts';
import type { Workflow } from '../workflow.ts';
import { researchActivities } from './activities.ts';
import { researchCommand } from './command.ts';
import { RESEARCH_EVENTS } from './events.ts';
import { READ_FACTS } from './kept-findings.ts';
import { researchMachine } from './machine.ts';
import { projectionOf } from './projection.ts';
import { roles } from './roles/index.ts';
import { researchSignals } from './setup.ts';
import { type ResearchContext, researchInputSchema } from './types.ts';

export const research: Workflow = {
  name: 'research',
  title: 'Research',
  versions: defineVersions({
    name: 'research',
    newest: 1,
    description:
      'Researches a topic in rounds: agents search the web and read the project, the server looks up every passage that they quote, and a report with its sources is written',
    machine: () => researchMachine,
    signals: researchSignals,
    input: researchInputSchema,
    exclusiveInput: ['topic'],
    needsProject: true,
    ownedFiles: ({ topic }: JsonObject) => ownedPathsOf(String(topic)),
    ownedResults: 'all',
    readsEvents: READ_FACTS,
    workspace: (context: ResearchContext) => context.head || null,
  }),
  roles,
  stages: [
    { name: 'preparation', title: 'Preparation' },
    { name: 'researching', title: 'Research', timeoutMinutes: 60 },
    { name: 'synthesising', title: 'Synthesis', timeoutMinutes: 30 },
    { name: 'reporting', title: 'Report', timeoutMinutes: 30 },
    { name: 'publishing', title: 'Publishing' },
  ],
  trustModes: [
    {
      name: 'implementation',
      title: 'Report',
      description: 'Approve the report before it is published.',
      default: 'auto',
    },
  ],
  gates: {
    ...COMMON_GATES,
    research_result: {
      title: 'Report',
      presents: 'document',
      document: 'research_report',
      labels: { approve: { button: 'Publish' }, reject: { button: 'Research further' } },
      details: { open: 'Open questions' },
    },
  },
  documents: {
    research_report: { title: 'Report', drawnAs: 'markdown' },
    research_pdf: { title: 'PDF', drawnAs: 'pdf', compiledFrom: 'research_report' },
  },
  events: RESEARCH_EVENTS,
  progressWord: 'rounds done',
  projection: projectionOf,
  command: researchCommand.command,
  activities: researchActivities,
};
