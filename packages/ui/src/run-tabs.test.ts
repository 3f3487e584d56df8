import type { Artifact } from '@autonomous/shared';
import { aGate, aRun, aWorkflow } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import { documentTab, gateTab, tabNamed, tabsOf } from './run-tabs.ts';

const anArtifact = (type: string): Artifact => ({
  id: `r-1.${type}`,
  workflowRunId: 'r-1',
  stage: 's',
  type,
  hash: type,
  version: 1,
  createdAt: '2030-01-01T00:00:00.000Z',
});
const research = aWorkflow({
  name: 'research',
  gates: { report: { title: 'Report', presents: 'document', document: 'findings' } },
  documents: {
    findings: { title: 'Findings', drawnAs: 'markdown' },
    events: { title: 'Events', drawnAs: 'markdown' },
    figures: { title: 'Figures', drawnAs: 'checks' },
  },
});
const titles = (...artifacts: Artifact[]) => tabsOf(aRun({ artifacts }), research).map(({ title }) => title);

describe('The tabs of a run', () => {
  it('are those of its workflow: documents of gates at once, others once there is one', () => {
    expect(titles()).toEqual(['Overview', 'Findings', 'Transcript', 'Statechart', 'Events']);
    expect(titles(anArtifact('notes'), anArtifact('figures'))).toEqual([
      'Overview',
      'Findings',
      'Notes',
      'Figures',
      'Transcript',
      'Statechart',
      'Events',
    ]);
  });

  it('have changes and checks where the workflow has changes', () => {
    const names = tabsOf(aRun(), aWorkflow()).map(({ name }) => name);
    expect(names).toEqual(['overview', 'plan', 'changes', 'evidence', 'transcript', 'statechart', 'events']);
  });

  it('have a PDF once there is one', () => {
    const documents = {
      findings: { title: 'Findings', drawnAs: 'markdown' },
      paper: { title: 'PDF', drawnAs: 'pdf' },
    } as const;
    const names = (...artifacts: Artifact[]) =>
      tabsOf(aRun({ artifacts }), aWorkflow({ gates: {}, documents })).map(({ name }) => name);
    expect(names()).not.toContain('pdf');
    expect(names(anArtifact('paper')).slice(0, 2)).toEqual(['overview', 'pdf']);
  });

  it('have the pull request where the run has opened one', () => {
    const pullRequest = { number: 7, url: 'https://github.com/acme/shop/pull/7' };
    const published = { branch: 'b', commit: 'c', pushed: true, pullRequest };
    const names = tabsOf(aRun({ published }), aWorkflow()).map(({ name }) => name);
    expect(names.slice(2)).toEqual(['changes', 'evidence', 'pull-request', 'transcript', 'statechart', 'events']);
  });

  it('are there before the workflow is known', () => {
    const run = aRun({ artifacts: [anArtifact('mermaid_diagram'), anArtifact('code')] });
    const tabs = tabsOf(run, undefined);
    expect(tabs.map(({ title }) => title).slice(0, 4)).toEqual(['Overview', 'Mermaid diagram', 'Changes', 'Evidence']);
    // An address that was copied while it was not known leads to the same tab.
    expect(tabNamed(tabsOf(run, aWorkflow()), 'mermaid-diagram')?.name).toBe('plan');
  });

  it('are found by name, and the first one for a name that there is not', () => {
    const tabs = tabsOf(aRun(), aWorkflow());
    expect(tabNamed(tabs, 'plan')?.document?.type).toBe('mermaid_diagram');
    expect(tabNamed(tabs, 'nonsense')?.name).toBe('overview');
    expect(tabNamed(tabs, undefined)?.name).toBe('overview');
  });

  it('of a document whose title another tab has is named after its type', () => {
    expect(
      documentTab(aWorkflow({ documents: { event_list: { title: 'Events', drawnAs: 'markdown' } } }), 'event_list'),
    ).toBe('event-list');
  });
});

it('The tab of a gate is that of what it presents', () => {
  expect(gateTab(aRun({ gate: aGate() }), aWorkflow())).toBe('plan');
  expect(gateTab(aRun({ gate: aGate({ kind: 'implementation' }) }), aWorkflow())).toBe('changes');
  expect(gateTab(aRun({ gate: aGate({ kind: 'pause', reason: 'budget' }) }), aWorkflow())).toBeNull();
  expect(gateTab(aRun(), aWorkflow())).toBeNull();
});
