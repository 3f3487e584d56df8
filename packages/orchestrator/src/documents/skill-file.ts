/** Agent Skills of a project: where their files lie, and the name and description that agents are shown. Pure. */
import { pathsIn } from '../path-rules/sorted-paths.ts';
import { parseFrontMatter } from './front-matter.ts';

/** Of two skills with one name the first counts. */
const FOLDERS = ['.autonomous/skills', '.agents/skills', '.claude/skills'] as const;

const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 1_024;

export type SkillFile =
  | { readonly ok: true; readonly name: string; readonly description: string }
  | { readonly ok: false; readonly notice: string };

/** Of all paths of a project those of its skills, in the order in which they count. @param sorted all of them */
export function skillPaths(sorted: readonly string[]): string[] {
  return FOLDERS.flatMap((folder) => {
    const depth = folder.split('/').length + 2;
    return pathsIn(sorted, folder).filter((path) => path.endsWith('/SKILL.md') && path.split('/').length === depth);
  });
}

/** Parses a SKILL.md. A missing name is that of its folder; a description is required. */
export function parseSkill(path: string, text: string): SkillFile {
  const parsed = parseFrontMatter(text);
  if (!parsed.ok) return { ok: false, notice: `${path} ${parsed.message}; the skill is left out.` };
  const { name = path.split('/').at(-2), description } = parsed.fields;
  if (typeof name !== 'string' || !/^[\w.-]+$/.test(name) || name.length > LONGEST_NAME) {
    return {
      ok: false,
      notice: `${path} has no usable name (letters, digits, - . and _, at most ${LONGEST_NAME}); the skill is left out.`,
    };
  }
  if (typeof description !== 'string' || description.trim() === '')
    return { ok: false, notice: `${path} has no description in its front matter; the skill is left out.` };
  const flat = description.replaceAll(/\s+/g, ' ').trim();
  return {
    ok: true,
    name,
    description: flat.length > LONGEST_DESCRIPTION ? `${flat.slice(0, LONGEST_DESCRIPTION)}…` : flat,
  };
}
