/** The plan as a file of the repository, `.autonomous/specs/NNN-slug.md`: front matter that says where it comes from, then the plan. Pure. */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { isBareDiagram } from './diagram-fences.ts';

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
const MAX_SLUG = 40;

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

const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** Short ASCII name for files and branches: `[a-z0-9]` and single hyphens, at most 40 characters, `untitled` where nothing is left. */
export function slugOf(title: string): string {
  const ascii = title
    .slice(0, 1_000)
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter] ?? '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');
  if (ascii.length <= MAX_SLUG) return ascii.replace(/-$/, '') || 'untitled';
  // Whole words where there are several; the first one is cut where it is too long by itself.
  const cut = ascii.slice(0, MAX_SLUG + 1);
  const lastHyphen = cut.lastIndexOf('-');
  return lastHyphen > 0 ? cut.slice(0, lastHyphen) : cut.slice(0, MAX_SLUG);
}

/** SHA-256 of a document's UTF-8 text, in hex: the hash that an approval names. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
