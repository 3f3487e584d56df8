import type { Artifact } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { aWaitingRun, aWorkflow } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import { approvalOption } from './gates/decide.ts';
import { documentOf, gateLine, optionsToShow, runPage, showForGate, statusOf } from './run-texts.ts';
import { workflowOfRun, workflowToLaunch } from './run-workflow.ts';
import { describeEvent } from './follow/timeline.ts';

/** A workflow of which nothing is named as in a shipped one. */
const ESSAY = aWorkflow({
  name: 'essay',
  title: 'Essay',
  stages: [{ name: 'drafting', title: 'Writing the draft', role: 'author' }],
  roles: [{ name: 'author', title: 'Author' }],
  gates: {
    outline_check: { title: 'Outline', presents: 'document', document: 'outline', needs: { approve: 'notes' } },
    proof: { title: 'Proof', presents: 'changes', report: 'proof_notes', isFailure: true, takesFilesOn: 'retry' },
  },
  documents: {
    outline: { title: 'Outline', drawnAs: 'markdown' },
    proof_notes: { title: 'Notes of the proof', drawnAs: 'markdown' },
  },
});
const BUILD = aWorkflow({ isDefault: true });
const PHASE = aWorkflow({ name: 'phase', isChildOnly: true });
const artifact = (type: string): Artifact => ({
  id: `r.${type}`,
  workflowRunId: 'r',
  stage: 'drafting',
  type,
  hash: `h-${type}`,
  version: 1,
  createdAt: '2026-03-01T12:00:00.000Z',
});
const run = aWaitingRun(
  'r',
  {
    workflow: { name: 'essay', version: 3 },
    currentStage: 'drafting',
    artifacts: [artifact('outline'), artifact('proof_notes')],
  },
  { kind: 'outline_check', artifactHash: 'h-outline', decisions: ['approve'] },
);
const { gate } = run;
if (gate === null) throw new Error('the run has no gate');
// The methods that the commands under test call.
const client = {
  listWorkflows: async () => [PHASE, BUILD, ESSAY],
  getRun: async () => run,
  listArtifacts: async () => run.artifacts,
  getArtifact: async (_run: string, id: string) => ({ content: `The text of ${id}` }),
  getDiff: async () => ({ files: [], patch: '' }),
} as unknown as Client;

describe('a workflow that no command knows', () => {
  it('is found by the name of its run; one that the server has no more is not', async () => {
    expect((await workflowOfRun(client, run))?.title).toBe('Essay');
    expect(await workflowOfRun(client, { workflow: { name: 'poem', version: 1 } })).toBeUndefined();
  });

  it('titles the lines of its runs and gates', () => {
    expect(statusOf(run, ESSAY)).toMatch(/ in writing the draft$/);
    expect(gateLine(gate, ESSAY)).toMatch(/^r {2}outline {9}/);
    expect(runPage(run, ESSAY)).toMatch(/^workflow {3}essay 3$/m);
    expect(runPage(run, ESSAY)).toMatch(/^proof 1 {4}h-proof_notes$/m);
    const event = { type: 'STAGE_STARTED', payload: { stage: 'drafting' } };
    // The event has only what the description reads.
    expect(describeEvent(event as never, run, ESSAY)?.text).toBe('writing the draft');
  });

  it('says what to look at and what an approval needs', () => {
    expect(optionsToShow(ESSAY, gate, run.artifacts)).toEqual(['--document outline']);
    expect(optionsToShow(ESSAY, { ...gate, kind: 'proof' }, run.artifacts)).toEqual(['--document proof', '--diff']);
    expect(approvalOption(ESSAY.gates['outline_check'] ?? gateOf())).toBe(' --notes "…"');
    expect(approvalOption(ESSAY.gates['proof'] ?? gateOf())).toBe('');
  });

  it('shows its documents by title, type or word, and at the gates that present them', async () => {
    for (const name of ['proof_notes', 'Notes of the proof', 'proof'])
      expect(await documentOf(client, 'r', name)).toBe('The text of r.proof_notes');
    await expect(documentOf(client, 'r', 'plan')).rejects.toThrow(
      'Run r has no plan yet. Its documents are: outline, proof.',
    );
    expect(await showForGate(client, gate)).toBe('The text of r.outline');
    expect(await showForGate(client, { ...gate, kind: 'proof' })).toBe(
      'Run r has changed nothing yet.\n\nThe text of r.proof_notes',
    );
  });
});

describe('the workflow of a launch', () => {
  it("is the one that is named, else the server's default", async () => {
    expect((await workflowToLaunch(client, 'essay')).name).toBe('essay');
    expect((await workflowToLaunch(client, undefined)).name).toBe('build');
  });

  it('has to be named where the server has no default', async () => {
    const other = { ...client, listWorkflows: async () => [PHASE, ESSAY] };
    await expect(workflowToLaunch(other, undefined)).rejects.toThrow(
      "The server has no default workflow; name one of 'essay' with --workflow.",
    );
    await expect(workflowToLaunch(other, 'dance')).rejects.toThrow("There is no workflow 'dance'; name one of 'essay'");
  });
});

function gateOf(): never {
  throw new Error('the workflow does not declare this gate');
}
