/**
 * Changes that a project makes to a role: `.autonomous/agents/<role>.md` with front matter and a body. An override can
 * add instructions and restrict the role: its body is appended to the instructions, its tools are a subset of the
 * role's tools, and its model is one that the server allows. Pure.
 */
import { parseFrontMatter } from '../documents/front-matter.ts';
import { pathsIn } from '../path-rules/sorted-paths.ts';
import { COMMON_RULES } from './prompt-parts.ts';
import type { ToolName } from './role.ts';

export interface RoleOverride {
  readonly path: string;
  readonly description: string | null;
  /** As it is written there; whether the server has and allows it is not known here. */
  readonly model: string | null;
  /** The tools of the role that are left; `null` leaves all. */
  readonly tools: readonly ToolName[] | null;
  /** Names of outside tools, `server__tool` or `server__*`, that are left; `null` leaves all. */
  readonly outsideTools: readonly string[] | null;
  /** Markdown, may be empty. */
  readonly prompt: string;
}

export interface ParsedOverride {
  /** `null` where the file cannot be used and the role stays as it is. */
  readonly override: RoleOverride | null;
  /** Settings of the file that do not apply, with the reason: one sentence each, for a person. */
  readonly notices: readonly string[];
}

const LONGEST_PROMPT = 20_000;
const KEYS = ['name', 'description', 'model', 'tools'];

export function overridePath(role: string): string {
  return `.autonomous/agents/${role}.md`;
}

/**
 * Notices about files in `.autonomous/agents/` that are for no role.
 * @param paths all of the project, sorted
 * @param roles names of the roles of all workflows
 */
export function strayOverrides(paths: readonly string[], roles: readonly string[]): string[] {
  const known = new Set<string>(roles.map(overridePath));
  return pathsIn(paths, '.autonomous/agents')
    .filter((path) => path.endsWith('.md') && !known.has(path))
    .map((path) => `${path} is for no role and is ignored; there are ${roles.join(', ')}.`);
}

/** @param allowed tools of the role */
export function parseOverride(role: string, text: string, allowed: readonly ToolName[]): ParsedOverride {
  const path = overridePath(role);
  const parsed = parseFrontMatter(text);
  if (!parsed.ok) return unusable(`${path} ${parsed.message}`);
  const { fields, body } = parsed;
  if (body.length > LONGEST_PROMPT)
    return unusable(`${path} has ${body.length} characters of prompt, and ${LONGEST_PROMPT} are the most`);

  const notices = Object.keys(fields)
    .filter((key) => !KEYS.includes(key))
    .map((key) => `${path} has the key "${key}", which is not known and is ignored; known are ${KEYS.join(', ')}.`);
  const textOf = (key: 'description' | 'model'): string | null => {
    const value = fields[key];
    if (value === undefined || value === null) return null;
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    notices.push(`${path} has a ${key} that is not text; it is ignored.`);
    return null;
  };
  const tools = toolsOf(path, role, fields['tools'], allowed, notices);
  return {
    override: { path, description: textOf('description'), model: textOf('model'), ...tools, prompt: body },
    notices,
  };
}

/** The instructions of a role with what a project adds to them; the ground rules keep the last word. */
export function instructionsWith(instructions: string, override: RoleOverride | null): string {
  if (override === null || override.prompt === '') return instructions;
  const added = `# From this project (${override.path})
What the authors of this project add for this role. It says more about how to work; where it contradicts what stands above
about the result, or the ground rules below, those hold.

${override.prompt}`;
  const at = instructions.lastIndexOf(COMMON_RULES);
  return at === -1
    ? `${instructions}\n\n${added}`
    : `${instructions.slice(0, at)}${added}\n\n${instructions.slice(at)}`;
}

function toolsOf(
  path: string,
  role: string,
  value: unknown,
  allowed: readonly ToolName[],
  notices: string[],
): Pick<RoleOverride, 'tools' | 'outsideTools'> {
  const all = { tools: null, outsideTools: null };
  if (value === undefined || value === null) return all;
  const asked = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(asked) || !asked.every((name): name is string => typeof name === 'string')) {
    notices.push(`${path} has tools that are not a list of names; they are ignored and the ${role} keeps its own.`);
    return all;
  }
  const names = asked.map((name) => name.trim().toLowerCase()).filter((name) => name !== '');
  const outsideTools = names.filter((name) => name.includes('__'));
  const tools = allowed.filter((name) => names.includes(name));
  const refused = names.filter((name) => !name.includes('__') && !allowed.some((known) => known === name));
  if (refused.length > 0) {
    notices.push(
      `${path} names tools that the ${role} does not have: ${refused.join(', ')}. They are ignored; it has ${allowed.join(', ')}, and a file can only take away.`,
    );
  }
  if (tools.length === 0) {
    notices.push(`${path} leaves the ${role} without any tool; its tools are ignored and the ${role} keeps its own.`);
    return all;
  }
  return { tools, outsideTools };
}

function unusable(what: string): ParsedOverride {
  return { override: null, notices: [`${what}; the file is ignored and the role stays as it is.`] };
}
