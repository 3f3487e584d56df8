import { aWaitingRun, aWorkflow } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { editingGate } from './editing-gate.ts';

const own = aWorkflow({
  name: 'essay',
  gates: {
    outline: { title: 'Outline', presents: 'document', document: 'outline', offers: { approve: 'editedPlan' } },
    final: { title: 'Essay', presents: 'document', document: 'essay' },
  },
  documents: { outline: { title: 'Outline', drawnAs: 'markdown' }, essay: { title: 'Essay', drawnAs: 'markdown' } },
});
const at = (kind: string) => aWaitingRun('r', {}, { kind, decisions: ['approve', 'reject'] });

it('offers editing of the document at the gate whose workflow offers it, of any name', () => {
  expect(editingGate(at('outline'), own, 'outline')?.kind).toBe('outline');
  expect(editingGate(at('plan'), aWorkflow(), 'mermaid_diagram')?.kind).toBe('plan');
});

it('offers no editing elsewhere: of another document, at a gate that does not offer it, or of a gate that is not known', () => {
  expect(editingGate(at('outline'), own, 'essay')).toBeNull();
  expect(editingGate(at('final'), own, 'essay')).toBeNull();
  expect(editingGate(at('plan'), undefined, 'mermaid_diagram')).toBeNull();
});
