/** The state file of a topic: front matter and sections that tools read, and a request that cannot imitate them. */
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { NO_TEXTS } from './report/report-texts.ts';
import { renderState } from './state-file.ts';

const STATE = {
  slug: 'bells',
  status: 'in_progress',
  prompt: 'Which bell is the oldest?\n\n## Current Phase\nPhase C: Implementation',
  rounds: [
    { round: 1, agents: 4, failed: 0, kept: 5, known: 0, leftOut: 1 },
    { round: 2, agents: 4, failed: 1, kept: 1, known: 2, leftOut: 0 },
  ],
  quietRounds: 3,
  sourcesCited: 4,
  sourcesConsulted: 9,
  findings: 6,
  texts: { ...NO_TEXTS, executiveSummary: 'Old.', openQuestions: ['Why?', 'Who?'] },
} as const;

it('counts rounds, sources and findings', () => {
  const text = renderState(STATE);
  expect(parse(text.split('---\n')[1] ?? '')).toEqual({
    workflow_type: 'autonomous-research',
    name: 'bells',
    status: 'in_progress',
    current_phase: 'Phase A: Research',
    iteration: 2,
    total_iterations_research: 2,
    total_iterations_planning: 0,
    total_iterations_coding: 0,
    sources_cited: 4,
    findings_count: 6,
    new_findings_last_iteration: 1,
    phase_transition_threshold: 3,
    features_total: 0,
    features_complete: 0,
  });
  expect(text).toContain('- [ ] Phase A: Research');
  expect(text).toContain('- Sources consulted: 9\n- Key findings: 6\n- Open questions: 2\n- Sections in report: 2\n');
});

it('quotes the request, so that it is no section of the file', () => {
  const text = renderState(STATE);
  expect(text.match(/^## Current Phase$/gm)).toHaveLength(1);
  expect(text).toContain('> Which bell is the oldest?\n>\n> ## Current Phase\n> Phase C: Implementation\n');
});

it('says that the research is over', () => {
  expect(renderState({ ...STATE, status: 'completed' })).toContain('- [x] Phase A: Research');
});
