/** The plan as a file of the repository, `.autonomous/specs/NNN-slug.md`: front matter that says where it comes from, then the plan. Pure. */
import { stringify } from 'yaml';
import { isBareDiagram } from '../../../artifacts/diagram-fences.ts';
import { slugOf } from '../../../artifacts/slug.ts';

export interface PlanDocument {
  readonly title: string;
  readonly runId: string;
  readonly request: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Full ids of the models that wrote it; scripted ones are recognised by their provider. */
  readonly models: readonly string[];
  /** Markdown with Mermaid fences, or one bare diagram. */
  readonly plan: string;
}

const SPECS = '.autonomous/specs/';

/** The document's text; a bare diagram gets the fence that makes it visible in Markdown. */
export function renderPlanDocument(document: PlanDocument): string {
  const { title, runId, request, createdAt, models } = document;
  const frontMatter = stringify({ title: onOneLine(title), run: runId, request, createdAt, models }, { lineWidth: 0 });
  const plan = isBareDiagram(document.plan) ? `\`\`\`mermaid\n${document.plan.trim()}\n\`\`\`` : document.plan.trim();
  return `---\n${frontMatter}---\n\n${plan}\n`;
}

/** Path of a plan: `.autonomous/specs/001-login-flow.md`. */
export function specPath(number: number, title: string): string {
  return `${SPECS}${String(number).padStart(3, '0')}-${slugOf(title)}.md`;
}

/**
 * The number after the highest that is taken; 1 where there is none.
 * @param paths paths in the repository; those outside `.autonomous/specs/` are passed over
 */
export function nextSpecNumber(paths: readonly string[]): number {
  const numbers = paths
    .filter((path) => path.startsWith(SPECS))
    .map((path) => /^(\d{1,9})-[^/]*\.md$/.exec(path.slice(SPECS.length))?.[1])
    .map((digits) => (digits === undefined ? 0 : Number(digits)));
  return numbers.reduce((highest, number) => Math.max(highest, number), 0) + 1;
}

/**
 * Path of a plan whose number another plan has taken meanwhile: the same name with the next free number. A free one stays.
 * @param others paths of a repository that has not got this plan; those outside `.autonomous/specs/` are passed over
 */
export function renumberedSpecPath(path: string, others: readonly string[]): string {
  const [, number = '', name = ''] = /^(\d{1,9})-(.*)$/.exec(path.slice(SPECS.length)) ?? [];
  if (number === '' || !others.some((other) => other.startsWith(`${SPECS}${number}-`))) return path;
  return `${SPECS}${String(nextSpecNumber(others)).padStart(3, '0')}-${name}`;
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
