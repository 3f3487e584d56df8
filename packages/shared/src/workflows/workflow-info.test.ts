import { describe, expect, it } from 'vitest';
import { aGate, aWorkflow } from '../a-run.fixture.ts';
import type { Artifact } from '../run.ts';
import {
  commonTitles,
  documentInfoOf,
  documentWordOf,
  fieldOf,
  gateInfoOf,
  presentedAt,
  stageTitleOf,
  takesFilesAt,
  waitingWordsOf,
} from './workflow-info.ts';

const workflow = aWorkflow();
const plan = { id: 'a', type: 'mermaid_diagram', hash: 'h' } as Artifact;
const code = { id: 'c', type: 'code', hash: 't' } as Artifact;

describe('A gate', () => {
  it('takes files with the decision that its kind declares, where it takes that decision now', () => {
    const info = gateInfoOf(workflow, 'fix');
    expect(takesFilesAt(info, { decisions: ['retry', 'accept'] })).toBe('retry');
    expect(takesFilesAt(info, { decisions: ['accept'] })).toBeNull();
    expect(takesFilesAt(gateInfoOf(workflow, 'plan'), { decisions: ['reject', 'retry'] })).toBeNull();
  });

  it('has short words for lists, and fields for its decisions', () => {
    expect(waitingWordsOf(gateInfoOf(workflow, 'invalid_plan'))).toBe('Plan cannot be read');
    expect(waitingWordsOf(gateInfoOf(undefined, 'go_no_go'))).toBe('Go no go');
    expect(fieldOf(gateInfoOf(workflow, 'invalid_plan'), 'approve')).toEqual({ field: 'editedPlan', isNeeded: true });
    expect(fieldOf(gateInfoOf(undefined, 'escalation'), 'approve')).toEqual({ field: 'notes', isNeeded: false });
    expect(fieldOf(gateInfoOf(workflow, 'plan'), 'approve')).toEqual({ field: 'editedPlan', isNeeded: false });
    expect(fieldOf(gateInfoOf(workflow, 'implementation'), 'approve')).toBeNull();
  });

  it.each([
    ['the document that it declares', workflow, aGate(), { kind: 'document', type: 'mermaid_diagram', artifact: plan }],
    ['the changes that it declares', workflow, aGate({ kind: 'implementation' }), { kind: 'changes' }],
    ['a question', undefined, aGate({ kind: 'clarification' }), { kind: 'question' }],
    [
      'its message at a pause',
      workflow,
      aGate({ kind: 'pause', reason: 'budget', codeTree: 't' }),
      { kind: 'message' },
    ],
    [
      'the document of its hash, undeclared',
      undefined,
      aGate({ artifactHash: 'h' }),
      { kind: 'document', type: plan.type, artifact: plan },
    ],
    [
      'the changes of its tree, undeclared',
      undefined,
      aGate({ kind: 'x', artifactHash: 'h', codeTree: 't' }),
      { kind: 'changes' },
    ],
    ['its message, undeclared', undefined, aGate({ kind: 'x' }), { kind: 'message' }],
  ])('presents %s', (_, described, gate, presented) => {
    expect(presentedAt(described, gate, [plan, code])).toEqual(presented);
  });

  it('presents a document that the run does not have yet', () => {
    expect(presentedAt(workflow, aGate({ kind: 'invalid_plan' }), [])).toEqual({ kind: 'document', type: plan.type });
  });
});

it('Stages and documents that no workflow declares are named after themselves', () => {
  expect(stageTitleOf(workflow, 'planning')).toBe('Planning');
  expect(stageTitleOf(workflow, 'code_review')).toBe('Code review');
  expect(documentInfoOf(undefined, 'code')).toEqual({ title: 'Changes', drawnAs: 'changes' });
  expect(documentInfoOf(workflow, 'toString')).toEqual({ title: 'ToString', drawnAs: 'markdown' });
});

it('Workflows that are counted together have the titles on which all of them agree that declare a name', () => {
  const other = aWorkflow({
    stages: [
      { name: 'planning', title: 'Outline' },
      { name: 'drafting', title: 'Writing the draft' },
    ],
    gates: { plan: { title: 'Plan', presents: 'message' }, fix: { title: 'Proof', presents: 'changes' } },
  });
  const { stages, gates } = commonTitles([workflow, other]);
  expect(stages.map(({ name }) => name)).toEqual(['implementation', 'publishing', 'drafting']);
  expect(gates['plan']?.title).toBe('Plan');
  expect(gates).not.toHaveProperty('fix');
  expect(commonTitles([])).toEqual({ stages: [], gates: {} });
});

it('A document has the last word of its title, or its type where another one has the same word', () => {
  const documents = {
    review: { title: 'Report', drawnAs: 'markdown' },
    checks: { title: 'Report of the CI', drawnAs: 'markdown' },
    validation: { title: 'Validation report', drawnAs: 'markdown' },
  } as const;
  expect(['review', 'checks', 'validation', 'own_notes'].map((type) => documentWordOf({ documents }, type))).toEqual([
    'review',
    'CI',
    'validation',
    'notes',
  ]);
});
