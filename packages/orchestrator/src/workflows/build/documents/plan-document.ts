/** The plan as a file of the repository, `.autonomous/specs/NNN-slug.md`: front matter that says where it comes from, then the plan. Pure. */
import { stringify } from 'yaml';
import { isBareDiagram } from '../../../documents/plans/diagram-fences.ts';

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

/** The document's text; a bare diagram gets the fence that makes it visible in Markdown. */
export function renderPlanDocument(document: PlanDocument): string {
  const { title, runId, request, createdAt, models } = document;
  const frontMatter = stringify({ title: onOneLine(title), run: runId, request, createdAt, models }, { lineWidth: 0 });
  const plan = isBareDiagram(document.plan) ? `\`\`\`mermaid\n${document.plan.trim()}\n\`\`\`` : document.plan.trim();
  return `---\n${frontMatter}---\n\n${plan}\n`;
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
