/** The state file of a topic while its plan is made. */
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { withPlanning } from './planning-state.ts';

const RESEARCHED = `---
workflow_type: autonomous-research
name: bells
status: completed
current_phase: "Phase A: Research"
iteration: 4
total_iterations_research: 4
total_iterations_planning: 0
total_iterations_coding: 0
---

# Autonomous Workflow State: bells

## Current Phase
Phase A: Research

## Original Prompt
> Ring it.
> - Components designed: 7

## Completed Phases
- [x] Phase A: Research

## Planning Progress (Modes 2+3)
- Components designed: 0
- Critic issues resolved: 0
- Open design decisions: 0

## Context Restoration Files
1. docs/research-bells/bells-state.md (this file)
2. docs/research-bells/bells-report.tex
`;
const state = { rounds: 2, components: 3, resolved: 1, openDecisions: 5, plan: 'docs/research-bells/bells-plan.tex' };

it('has the figures of the planning beside those of the research, and the words of the request', () => {
  const text = withPlanning(RESEARCHED, { ...state, status: 'in_progress' });
  expect(parse(text.split('---\n')[1] ?? '')).toEqual({
    workflow_type: 'autonomous-research-and-plan',
    name: 'bells',
    status: 'in_progress',
    current_phase: 'Phase B: Planning',
    iteration: 6,
    total_iterations_research: 4,
    total_iterations_planning: 2,
    total_iterations_coding: 0,
  });
  expect(text).toContain('## Current Phase\nPhase B: Planning\n');
  expect(text).toContain('> - Components designed: 7\n');
  expect(text).toContain('- [x] Phase A: Research\n- [ ] Phase B: Planning\n');
  expect(text).toContain('- Components designed: 3\n- Critic issues resolved: 1\n- Open design decisions: 5\n');
  expect(text.endsWith('3. docs/research-bells/bells-plan.tex\n')).toBe(true);
});

it('is the same when it is written again, and is completed at the end', () => {
  const once = withPlanning(RESEARCHED, { ...state, status: 'in_progress' });
  expect(withPlanning(once, { ...state, status: 'in_progress' })).toBe(once);
  const done = withPlanning(once, { ...state, status: 'completed' });
  expect(done).toContain('- [x] Phase A: Research\n- [x] Phase B: Planning\n');
});
