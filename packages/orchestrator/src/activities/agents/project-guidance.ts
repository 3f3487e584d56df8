/**
 * Reads the guidance that a project gives to agents: AGENTS.md and CLAUDE.md, skills, and changes to roles. It is read
 * from the commit that the run, or the topmost run above it, started from, so that no agent writes the guidance of another.
 * Symbolic links and large files are ignored.
 */
import { type ProjectConfig, showHiddenInLine } from '@autonomous/shared';
import { filterInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { skillPaths } from '../../documents/skill-file.ts';
import { isAmong } from '../../path-rules/sorted-paths.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import type { Guide, Skill } from '../../roles/prompt-parts.ts';
import type { Role } from '../../roles/role.ts';
import {
  overridePath,
  type ParsedOverride,
  parseOverride,
  type RoleOverride,
  strayOverrides,
} from '../../roles/role-override.ts';
import type { ActivityTools } from '../tools.ts';

export interface Guidance {
  readonly guides: readonly Guide[];
  readonly skills: readonly Skill[];
  /** Files that were not read and settings that do not apply, one sentence each. */
  readonly notices: readonly string[];
}

const GUIDE_NAMES = ['AGENTS.md', 'CLAUDE.md'];
/** Larger files are not read at all. */
const MOST_BYTES = 128 * 1024;
const MOST_SKILLS = 100;
const MAX_SKILL_MS = 5_000;

/** The parts of a role that a project may change. */
type OverridableRole = Pick<Role<never, unknown>, 'name' | 'tools'>;

/** A role of a workflow, and the role whose model it has where that is not its own. */
export interface ConfiguredRole {
  readonly role: OverridableRole;
  readonly configuredAs?: string;
}

/** @param isShown false for paths that the configuration keeps from agents */
export async function readGuidance(
  tools: Pick<ActivityTools, 'repository'>,
  project: RemoteProject,
  commit: string,
  isShown: (path: string) => Promise<boolean>,
): Promise<Guidance> {
  const all = await tools.repository.listFiles(project, commit);
  const skillFiles = skillPaths(all);
  const wanted: string[] = [];
  for (const path of [...GUIDE_NAMES.filter((name) => isAmong(all, name)), ...skillFiles.slice(0, MOST_SKILLS)])
    if (await isShown(path)) wanted.push(path);
  const texts =
    wanted.length === 0
      ? new Map<string, string>()
      : await tools.repository.readFiles(project, commit, wanted, MOST_BYTES);
  const notices = wanted.filter((path) => !texts.has(path)).map(unread);
  if (skillFiles.length > MOST_SKILLS)
    notices.push(`The project has ${skillFiles.length} skills; only the first ${MOST_SKILLS} are listed.`);

  const skills: Skill[] = [];
  for (const path of wanted) {
    const text = texts.get(path);
    if (text === undefined || !skillFiles.includes(path)) continue;
    const read = await readForeignText('parseSkill', [path, text], { maxMs: MAX_SKILL_MS });
    const skill = read.ok ? read.value : { ok: false as const, notice: `${path} ${read.why}; the skill is left out.` };
    if (!skill.ok) notices.push(skill.notice);
    else if (skills.every(({ name }) => name !== skill.name))
      skills.push({ name: skill.name, description: skill.description, path });
  }
  return { guides: guidesOf(texts, await nestedGuides(all)), skills, notices: notices.map(showHiddenInLine) };
}

/** The root's files; of others only the paths, since they are for the folders that they lie in. */
function guidesOf(texts: ReadonlyMap<string, string>, nested: readonly string[]): Guide[] {
  const seen = new Set<string>();
  const guides = GUIDE_NAMES.flatMap((path): Guide[] => {
    const text = texts.get(path)?.trim() ?? '';
    // CLAUDE.md is often a copy of the other, or nothing but a line that includes it.
    if (text === '' || seen.has(text) || /^@(?:\.\/)?AGENTS\.md$/.test(text)) return [];
    seen.add(text);
    return [{ path, text }];
  });
  if (nested.length === 0) return guides;
  const list = `These hold for the folders that they lie in; read them when you work there:\n${nested.join('\n')}`;
  return [...guides, { path: 'further guides', text: list }];
}

function nestedGuides(paths: readonly string[]): Promise<string[]> {
  return filterInSlices(
    paths,
    (path) => path.includes('/') && GUIDE_NAMES.includes(path.slice(path.lastIndexOf('/') + 1)),
  );
}

/** Reads the changes that the project makes to one role. */
export async function readOverride(
  tools: Pick<ActivityTools, 'repository'>,
  project: RemoteProject,
  commit: string,
  role: OverridableRole,
): Promise<ParsedOverride> {
  const paths = await tools.repository.listFiles(project, commit);
  const read = await readRoleFiles(tools, project, commit, paths, [role]);
  return read.get(role.name) ?? { override: null, notices: [] };
}

/** The role files that there are, of these roles. @param paths all of the commit, sorted */
async function readRoleFiles(
  tools: Pick<ActivityTools, 'repository'>,
  project: RemoteProject,
  commit: string,
  paths: readonly string[],
  roles: readonly OverridableRole[],
): Promise<ReadonlyMap<string, ParsedOverride>> {
  const present = roles.filter(({ name }) => isAmong(paths, overridePath(name)));
  // Most projects have none.
  if (present.length === 0) return new Map();
  const texts = await tools.repository.readFiles(
    project,
    commit,
    present.map(({ name }) => overridePath(name)),
    MOST_BYTES,
  );
  return new Map(
    present.map(({ name, tools: allowed }): [string, ParsedOverride] => {
      const path = overridePath(name);
      const text = texts.get(path);
      const unreadable = { override: null, notices: [unread(path)] };
      return [name, text === undefined ? unreadable : parseOverride(name, text, allowed)];
    }),
  );
}

/**
 * Reads all role files of the project for a run: the models that they name, which the run's own choices override, and
 * all settings in them that do not apply.
 * @param projectConfig the project's configuration; the models of role files win over its own
 * @param roles all roles of the run's workflow
 */
export async function readOverrides(
  tools: Pick<ActivityTools, 'repository' | 'checkModel' | 'roleNames'>,
  project: RemoteProject,
  commit: string,
  projectConfig: ProjectConfig | null,
  roles: readonly ConfiguredRole[],
): Promise<{ readonly projectConfig: ProjectConfig | null; readonly notices: readonly string[] }> {
  const paths = await tools.repository.listFiles(project, commit);
  const notices = strayOverrides(paths, tools.roleNames);
  const routing: Record<string, string> = {};
  const files = await readRoleFiles(
    tools,
    project,
    commit,
    paths,
    roles.map(({ role }) => role),
  );
  for (const [role, { override, notices: faults }] of files) {
    notices.push(...faults);
    if (override === null || override.model === null) continue;
    const configuredAs = roles.find((each) => each.role.name === role)?.configuredAs;
    const refusal = modelFault(tools, role, configuredAs, override);
    if (refusal === null) routing[role] = override.model;
    else notices.push(refusal);
  }
  if (Object.keys(routing).length === 0) return { projectConfig, notices };
  const defaults = projectConfig?.defaultRunConfig ?? {};
  return {
    projectConfig: {
      ...projectConfig,
      defaultRunConfig: { ...defaults, modelRouting: { ...defaults.modelRouting, ...routing } },
    },
    notices,
  };
}

function modelFault(
  tools: Pick<ActivityTools, 'checkModel'>,
  role: string,
  configuredAs: string | undefined,
  { path, model }: RoleOverride,
): string | null {
  if (configuredAs !== undefined)
    return `${path} names a model, which is ignored: the ${role} has that of the ${configuredAs}.`;
  const checked = tools.checkModel(model ?? '');
  return checked.ok ? null : `${path} names a model that is ignored. ${checked.message}`;
}

function unread(path: string): string {
  return `${path} is not read: it is not a plain file, or has more than ${MOST_BYTES / 1024} KB.`;
}
