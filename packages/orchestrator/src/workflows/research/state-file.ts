/** The state file of a topic, `docs/research-<topic>/<topic>-state.md`: for people, and for tools that read its front matter. Pure. */
import { stringify } from 'yaml';
import type { ReportTexts, RoundSummary } from './types.ts';

export interface TopicState {
  /** Name in paths. */
  readonly slug: string;
  readonly status: 'in_progress' | 'completed';
  /** The person's request. */
  readonly prompt: string;
  readonly rounds: readonly RoundSummary[];
  readonly quietRounds: number;
  readonly sourcesCited: number;
  readonly sourcesConsulted: number;
  readonly findings: number;
  readonly texts: ReportTexts;
}

/** Sections of the report that have a text. */
function sectionsOf({ executiveSummary, background, themes, analysis, openQuestions }: ReportTexts): number {
  const texts = [executiveSummary, background, analysis, ...themes.map(({ text }) => text)];
  return texts.filter((text) => text !== '').length + (openQuestions.length > 0 ? 1 : 0);
}

export function renderState(state: TopicState): string {
  const { slug, status, prompt, rounds, texts } = state;
  const front = {
    workflow_type: 'autonomous-research',
    name: slug,
    status,
    current_phase: 'Phase A: Research',
    iteration: rounds.length,
    total_iterations_research: rounds.length,
    total_iterations_planning: 0,
    total_iterations_coding: 0,
    sources_cited: state.sourcesCited,
    findings_count: state.findings,
    new_findings_last_iteration: rounds.at(-1)?.kept ?? 0,
    phase_transition_threshold: state.quietRounds,
    features_total: 0,
    features_complete: 0,
  };
  const done = status === 'completed' ? 'x' : ' ';
  return `---
${stringify(front, { lineWidth: 0 })}---

# Autonomous Workflow State: ${slug}

## Current Phase
Phase A: Research

## Original Prompt
${quoted(prompt)}

## Completed Phases
- [${done}] Phase A: Research

## Research Progress
- Sources consulted: ${state.sourcesConsulted}
- Key findings: ${state.findings}
- Open questions: ${texts.openQuestions.length}
- Sections in report: ${sectionsOf(texts)}

## Planning Progress (Modes 2+3)
- Components designed: 0
- Critic issues resolved: 0
- Open design decisions: 0

## Implementation Progress (Mode 3)
- Features total: 0
- Features complete: 0
- Features failed: 0

## Context Restoration Files
1. docs/research-${slug}/${slug}-state.md (this file)
2. docs/research-${slug}/${slug}-report.tex
`;
}

/** A person's text is no heading of this file. */
function quoted(text: string): string {
  return text
    .trim()
    .split('\n')
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');
}
