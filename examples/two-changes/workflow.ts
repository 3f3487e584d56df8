/** The package's entry, which AUTONOMOUS_WORKFLOWS names. */
import { decisionSignals, defineWorkflow, type WorkflowValue } from '@autonomous/orchestrator/workflow';
import { activities, roles } from './activities.ts';
import { machine } from './machine.ts';
import type { Context } from './types.ts';

const { APPROVAL_GRANTED, APPROVAL_REJECTED, RETRY_REQUESTED, STAGE_EXTENDED, BUDGET_CHANGED } = decisionSignals;
const { MESSAGE_SENT, RUN_CANCELLED } = decisionSignals;

const definition = defineWorkflow({
  name: 'two-changes',
  version: 1,
  description: 'Splits a request in two changes and builds them one after the other',
  machine,
  signals: {
    APPROVAL_GRANTED,
    APPROVAL_REJECTED,
    RETRY_REQUESTED,
    STAGE_EXTENDED,
    BUDGET_CHANGED,
    MESSAGE_SENT,
    RUN_CANCELLED,
  },
  needsProject: true,
  workspace: (context: Context) => context.head || null,
});

const twoChanges: WorkflowValue = {
  title: 'Two changes',
  definition,
  roles,
  stages: [
    { name: 'survey', title: 'Survey', timeoutMinutes: 20, role: 'surveyor' },
    { name: 'building', title: 'Building', timeoutMinutes: 15 },
    { name: 'publishing', title: 'Publishing' },
  ],
  trustModes: [
    { name: 'split', title: 'Split', description: 'How the request is split in two changes', default: 'manual' },
    // Child runs inherit the trust modes of the run that starts them, where the names are the same.
    { name: 'planning', title: 'Plans', description: 'The plan of each of the two changes', default: 'manual' },
    { name: 'implementation', title: 'Results', description: 'The result of each of the two changes', default: 'auto' },
  ],
  gates: {
    split: {
      title: 'Split',
      waiting: 'Split to approve',
      presents: 'document',
      document: 'split',
      needs: { reject: 'feedback' },
      offers: { approve: 'notes' },
    },
  },
  documents: {
    split: { title: 'Split', drawnAs: 'markdown' },
    code: { title: 'Changes', drawnAs: 'changes' },
  },
  activities,
};

export const workflows = [twoChanges];
