/** An implementation plan as LaTeX with the bibliography of the report that it rests on. */
import { bibliographyOf } from './bibliography.ts';
import { tex } from './escape.ts';
import { type Rendered, repeated, unknownFindings } from './model-faults.ts';
import type { PlanModel, PlanStep } from './plan-model.ts';
import { PLAN_TEMPLATE } from './plan-template.ts';
import { findingsCitedIn } from './prose.ts';
import { citationsOf, longDate, tidy } from './render-report.ts';
import type { ReportModel } from './report-model.ts';
import { renderTemplate, type TemplateValue } from './template.ts';
import { joinTex, Tex } from './tex.ts';
import { proseTex } from './tex-prose.ts';

/**
 * @param report findings that the plan may cite, and their sources
 * @returns `tex` and `bib`, which belong into the same folder, the latter as `sources.bib`; or the faults of the plan: names that do
 *   not exist or are there twice, and steps that wait for each other
 */
export async function renderPlan(
  plan: PlanModel,
  report: Pick<ReportModel, 'findings' | 'sources'>,
): Promise<Rendered<{ readonly tex: string; readonly bib: string }>> {
  const ordered = inOrder(plan.steps);
  const faults = [...planFaults(plan, report), ...ordered.faults];
  if (faults.length > 0) return { ok: false, faults };
  const { bib, keys } = bibliographyOf(report.sources);
  const citations = citationsOf(report, keys);
  const prose = (text: string): Tex => proseTex(text, citations);
  const rendered = await renderTemplate(PLAN_TEMPLATE, {
    title: `Implementation Plan: ${plan.project}`,
    date: longDate(plan.date),
    vision: prose(plan.vision),
    architecture: prose(plan.architecture),
    components: plan.components.map((component) => ({
      name: component.name,
      purpose: prose(component.purpose),
      interfaces: prose(component.interfaces),
      dependencies: component.dependencies.length === 0 ? 'None.' : dependenciesOf(component.dependencies, plan),
      approach: prose(component.approach),
    })),
    technologyStack: prose(plan.technologyStack),
    defensibility: prose(plan.defensibility),
    risks: plan.risks.map((risk) => ({ ...risk, mitigation: prose(risk.mitigation) })),
    steps: stepValues(ordered.steps, prose),
    openDecisions: plan.openDecisions.map(({ decision, detail }) => ({ decision, detail: prose(detail) })),
    cites: proseOf(plan).some(([, text]) => findingsCitedIn(text).length > 0),
  });
  return { ok: true, tex: tidy(rendered), bib };
}

function dependenciesOf(names: readonly string[], plan: PlanModel): Tex {
  const links = names.map((name) => {
    const number = 1 + plan.components.findIndex((component) => component.name === name);
    return tex`\hyperref[component:${number}]{${name}}`;
  });
  return tex`${joinTex(links, ', ')}.`;
}

function stepValues(steps: readonly PlanStep[], prose: (text: string) => Tex): readonly TemplateValue[] {
  const places = new Map(steps.map(({ id }, index) => [id, index + 1]));
  return steps.map(({ title, description, dependsOn }) => {
    const after = dependsOn.map((id) => new Tex(`\\ref{step:${places.get(id) ?? 0}}`));
    return {
      title,
      description: prose(description),
      after: after.length === 0 ? '' : tex` (after ${joinTex(after, ', ')})`,
    };
  });
}

function planFaults(plan: PlanModel, report: Pick<ReportModel, 'findings'>): readonly string[] {
  const names = new Set(plan.components.map(({ name }) => name));
  const steps = new Set(plan.steps.map(({ id }) => id));
  return [
    ...repeated(plan.components.map(({ name }) => name)).map((name) => `Component '${name}' is in the plan twice.`),
    ...repeated(plan.steps.map(({ id }) => id)).map((id) => `Step '${id}' is in the plan twice.`),
    ...plan.components.flatMap(({ name, dependencies }) =>
      dependencies
        .filter((other) => !names.has(other))
        .map((other) => `Component '${name}' depends on '${other}', which is no component of the plan.`),
    ),
    ...plan.steps.flatMap(({ id, dependsOn }) =>
      dependsOn
        .filter((other) => !steps.has(other))
        .map((other) => `Step '${id}' depends on '${other}', which is no step of the plan.`),
    ),
    ...unknownFindings(proseOf(plan), new Set(report.findings.map(({ id }) => id))),
  ];
}

function proseOf(plan: PlanModel): readonly (readonly [place: string, text: string])[] {
  return [
    ['The vision', plan.vision],
    ['The architecture', plan.architecture],
    ...plan.components.flatMap(({ name, purpose, interfaces, approach }) =>
      [purpose, interfaces, approach].map((text) => [`Component '${name}'`, text] as const),
    ),
    ['The technology stack', plan.technologyStack],
    ['The defensibility analysis', plan.defensibility],
    ...plan.risks.map(({ risk, mitigation }) => [`The mitigation of '${risk}'`, mitigation] as const),
    ...plan.steps.map(({ id, description }) => [`Step '${id}'`, description] as const),
    ...plan.openDecisions.map(({ decision, detail }) => [`The open decision '${decision}'`, detail] as const),
  ];
}

interface Ordered {
  readonly steps: readonly PlanStep[];
  readonly faults: readonly string[];
}

/** Each step behind those that it depends on; else in the given order. Dependencies that are no steps do not count. */
function inOrder(steps: readonly PlanStep[]): Ordered {
  const known = new Set(steps.map(({ id }) => id));
  const placed = new Set<string>();
  const ordered: PlanStep[] = [];
  let waiting = [...steps];
  while (waiting.length > 0) {
    const next = waiting.find(({ dependsOn }) => dependsOn.every((id) => placed.has(id) || !known.has(id)));
    if (next === undefined) {
      const names = waiting.map(({ id }) => `'${id}'`).join(', ');
      return { steps, faults: [`Steps wait for each other: ${names}.`] };
    }
    ordered.push(next);
    placed.add(next.id);
    waiting = waiting.filter((step) => step !== next);
  }
  return { steps: ordered, faults: [] };
}
