/** The plan as text: for the agents who work on it, and as Markdown for people. Pure. */
import { markdownProse, markdownText } from '../../documents/latex/markdown-text.ts';
import type { PlanModel } from '../../documents/latex/plan-model.ts';
import type { Finding } from '../research/types.ts';
import type { PlanData } from './output.ts';
import type { Issue, Plan, Refused } from './types.ts';

export function planDataOf(plan: Plan, topic: string, date: string): PlanData {
  return { topic, date, ...plan };
}

/** The plan as the template takes it. The criteria of a task follow its description. */
export function planModelOf({ topic, tasks, ...plan }: PlanData): PlanModel {
  return {
    ...plan,
    project: topic,
    steps: tasks.map(({ id, title, description, component, dependencies, acceptanceCriteria }) => ({
      id,
      title,
      description: [
        description,
        ...(component === null ? [] : [`Component: ${component}.`]),
        ...(acceptanceCriteria.length === 0
          ? []
          : ['Accepted when:', acceptanceCriteria.map((criterion) => `- ${criterion}`).join('\n')]),
      ].join('\n\n'),
      dependsOn: dependencies,
    })),
  };
}

/** @param blockers open blockers, which stand before the plan */
export function renderPlanMarkdown(data: PlanData, blockers: readonly Issue[]): string {
  // The report lists findings by their sources: the plan names them by their ids.
  const prose = (text: string): string =>
    markdownProse(citationsInWords(text), { of: () => null, isSource: () => false });
  const list = (items: readonly string[]): string =>
    items.length === 0 ? 'None.' : items.map((item) => `- ${item}`).join('\n');
  const sections = [
    `# Implementation Plan: ${markdownText(data.topic)}`,
    ...(blockers.length === 0
      ? []
      : [
          '## Open Blockers',
          list(
            blockers.map(
              ({ id, by, text, evidence }) =>
                `**${id}** (${by}; evidence: ${evidence.join(', ')}): ${markdownText(text)}`,
            ),
          ),
        ]),
    '## Vision & Objectives',
    prose(data.vision),
    '## Architecture Overview',
    prose(data.architecture),
    '## Component Design',
    ...(data.components.length === 0 ? ['None.'] : []),
    ...data.components.flatMap(({ name, purpose, interfaces, dependencies, approach }) => [
      `### ${markdownText(name)}`,
      `**Purpose.** ${prose(purpose)}`,
      `**Interfaces.** ${prose(interfaces)}`,
      `**Dependencies.** ${dependencies.length === 0 ? 'None.' : dependencies.map(markdownText).join(', ')}`,
      `**Implementation approach.** ${prose(approach)}`,
    ]),
    '## Technology Stack',
    prose(data.technologyStack),
    '## Defensibility Analysis',
    prose(data.defensibility),
    '## Risk Assessment',
    list(
      data.risks.map(
        ({ risk, likelihood, impact, mitigation }) =>
          `**${markdownText(risk)}** (likelihood ${likelihood}, impact ${impact}): ${oneLine(prose(mitigation))}`,
      ),
    ),
    '## Implementation Sequence',
    ...(data.tasks.length === 0 ? ['None.'] : []),
    ...data.tasks.flatMap(({ id, title, description, component, dependencies, acceptanceCriteria }) => [
      `### ${markdownText(id)}: ${markdownText(title)}`,
      [
        ...(component === null ? [] : [`Component: ${markdownText(component)}`]),
        `After: ${dependencies.length === 0 ? 'nothing' : dependencies.map(markdownText).join(', ')}`,
      ].join(' · '),
      prose(description),
      ...(acceptanceCriteria.length === 0
        ? []
        : ['Accepted when:', list(acceptanceCriteria.map((criterion) => oneLine(prose(criterion))))]),
    ]),
    '## Open Design Decisions',
    list(data.openDecisions.map(({ decision, detail }) => `**${markdownText(decision)}** ${oneLine(prose(detail))}`)),
  ];
  return `${sections.filter((section) => section.trim() !== '').join('\n\n')}\n`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
const citationsInWords = (text: string): string =>
  text.replaceAll(/\[(F\d{1,7}(?: ?[,;] ?F\d{1,7}){0,50})\]/g, (_, ids: string) => `(${ids})`);

const FIRST = 300;
const firstOf = (text: string): string => (text.length <= FIRST ? text : `${text.slice(0, FIRST).toWellFormed()} […]`);

/** Findings as those see them who plan. */
export function shownClaims(findings: readonly Finding[]): string {
  return findings
    .map(
      ({ id, claim, confidence, evidence }) =>
        `[${id}] ${claim} (confidence: ${confidence}; ${[...new Set(evidence.map(({ address }) => address))].join(', ')})`,
    )
    .join('\n');
}

/** @param own name of the critic who reads it; `null` for an architect */
export function shownIssues(issues: readonly Issue[], own: string | null): string {
  return issues
    .map(({ id, by, severity, about, text, evidence, proposal, answer }) =>
      [
        `${id} (${severity} of ${by === own ? 'yours' : by}, about ${about}; evidence: ${evidence.join(', ') || 'none'}): ${text}`,
        ...(proposal === '' ? [] : [`  Proposed: ${firstOf(proposal)}`]),
        ...(answer === null ? ['  Not answered yet.'] : [`  Answer of ${answer.by}: ${answer.text}`]),
      ].join('\n'),
    )
    .join('\n');
}

export function shownRefused(refused: readonly Refused[]): string {
  return refused.map(({ section, reason }) => `- ${section}: ${reason}`).join('\n');
}
