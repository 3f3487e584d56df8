/** The state file of a topic while its features are built. */
import { describe, expect, it } from 'vitest';
import { type ImplementingState, withImplementing } from './implementing-state.ts';

const STATE: ImplementingState = {
  slug: 'bells',
  status: 'in_progress',
  iterations: 4,
  features: 8,
  complete: 3,
  failed: 1,
  restoration: ['docs/research-bells/feature-list.json', 'docs/research-bells/progress.txt'],
};

const PLANNED = `---
workflow_type: autonomous-research-and-plan
name: bells
status: completed
current_phase: "Phase B: Planning"
iteration: 2
total_iterations_research: 0
total_iterations_planning: 2
total_iterations_coding: 0
features_total: 0
features_complete: 0
---

# Autonomous Workflow State: bells

## Current Phase
Phase B: Planning

## Original Prompt
> - Features total: 7
> Which bell?

## Completed Phases
- [x] Phase A: Research
- [x] Phase B: Planning

## Implementation Progress (Mode 3)
- Features total: 0
- Features complete: 0
- Features failed: 0

## Context Restoration Files
1. docs/research-bells/bells-state.md (this file)
2. docs/research-bells/bells-report.tex
3. docs/research-bells/bells-plan.tex
`;

describe('The state file of a topic whose features are built', () => {
  it('says the third phase, its figures and what to read, and keeps the rest', () => {
    const text = withImplementing(PLANNED, STATE);
    for (const line of [
      'workflow_type: autonomous-full-auto',
      'status: in_progress',
      'current_phase: "Phase C: Implementation"',
      'iteration: 6',
      'total_iterations_planning: 2',
      'total_iterations_coding: 4',
      'features_total: 8',
      'features_complete: 3',
      '- [x] Phase A: Research\n- [x] Phase B: Planning\n- [ ] Phase C: Implementation',
      '- Features total: 8\n- Features complete: 3\n- Features failed: 1',
      '> - Features total: 7\n> Which bell?',
      '3. docs/research-bells/bells-plan.tex\n4. docs/research-bells/feature-list.json\n5. docs/research-bells/progress.txt\n',
    ])
      expect(`\n${text}`).toContain(`\n${line}`);
  });

  it('is the same when it is written again, and ends with the last feature', () => {
    const once = withImplementing(PLANNED, STATE);
    expect(withImplementing(once, STATE)).toBe(once);
    const done = withImplementing(once, { ...STATE, status: 'completed', complete: 7 });
    expect(done).toContain('\nstatus: completed\n');
    expect(done).toContain('\n- [x] Phase C: Implementation\n');
    expect(done.match(/Phase C: Implementation$/gm)).toHaveLength(2);
  });

  it('is begun where the plan came without research', () => {
    const text = withImplementing(null, STATE);
    expect(text).toContain('\nname: bells\n');
    expect(text).toContain('\n## Completed Phases\n- [ ] Phase C: Implementation\n');
    expect(text).toContain(
      '1. docs/research-bells/bells-state.md (this file)\n2. docs/research-bells/feature-list.json\n3. docs/research-bells/progress.txt\n',
    );
    expect(withImplementing(text, STATE)).toBe(text);
  });
});
