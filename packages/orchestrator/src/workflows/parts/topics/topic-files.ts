/** Files of a topic in the repository, `docs/research-<topic>/`, which the server writes. Pure. */
import { hashOf } from '../../../documents/content-hash.ts';
import { slugOf } from '../../../documents/slug.ts';

/** Name of a topic in paths: 1 to 40 letters, digits and hyphens. Topics without Latin letters get one of their own each. */
export function topicSlug(topic: string): string {
  const slug = slugOf(topic);
  return slug === 'untitled' ? `topic-${hashOf(topic).slice(0, 8)}` : slug;
}

export interface TopicFiles {
  readonly folder: string;
  readonly state: string;
  readonly tex: string;
  readonly pdf: string;
  /** The report for readers without LaTeX. */
  readonly markdown: string;
  readonly bibliography: string;
}

export function topicFiles(slug: string): TopicFiles {
  const folder = `docs/research-${slug}`;
  const named = `${folder}/${slug}`;
  return {
    folder,
    state: `${named}-state.md`,
    tex: `${named}-report.tex`,
    pdf: `${named}-report.pdf`,
    markdown: `${named}-report.md`,
    bibliography: `${folder}/sources.bib`,
  };
}

/** Paths that the server owns in the run of a topic. */
export function ownedPathsOf(topic: string): readonly string[] {
  const { state, tex, pdf, markdown, bibliography } = topicFiles(topicSlug(topic));
  return [state, tex, pdf, markdown, bibliography];
}
