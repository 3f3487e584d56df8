/** Files of a plan in the folder of its topic, beside those of the report. Pure. */
import { ownedPathsOf, topicFiles, topicSlug } from '../parts/topics/topic-files.ts';

export interface PlanFiles {
  readonly tex: string;
  readonly pdf: string;
  /** The plan for readers without LaTeX. */
  readonly markdown: string;
  /** The plan for programs. */
  readonly data: string;
}

export function planFiles(slug: string): PlanFiles {
  const named = `${topicFiles(slug).folder}/${slug}-plan`;
  return { tex: `${named}.tex`, pdf: `${named}.pdf`, markdown: `${named}.md`, data: `${named}.json` };
}

/** Paths that the server owns in a run: those of the research, and those of the plan. */
export function ownedPathsOfPlan(topic: string): readonly string[] {
  const { tex, pdf, markdown, data } = planFiles(topicSlug(topic));
  return [...ownedPathsOf(topic), tex, pdf, markdown, data];
}
