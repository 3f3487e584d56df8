/** The roles of a phase and their default models. */
import type { WorkflowRole } from '../../workflow.ts';
import { phaseFixer } from './phase-fixer.ts';
import { phaseImplementer } from './phase-implementer.ts';
import { phaseReviewer } from './phase-reviewer.ts';

export const roles: readonly WorkflowRole[] = [
  {
    role: phaseImplementer,
    title: 'Phase implementer',
    defaultModel: 'claude-3-5-sonnet-20241022',
    defaultsOf: 'implementer',
  },
  { role: phaseReviewer, title: 'Phase reviewer', defaultModel: 'gpt-4o-mini', defaultsOf: 'validator' },
  { role: phaseFixer, title: 'Phase fixer', configuredAs: 'phase-implementer' },
];
