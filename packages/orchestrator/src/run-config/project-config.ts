/** The configuration that a project keeps in its own repository. */
import { type ProjectConfig, showHiddenInLine } from '@autonomous/shared';
import { parseProjectConfig } from './run-config.ts';

export const CONFIG_PATH = '.autonomous/config.json';

/** A project's configuration as it counts. */
export interface OwnConfig {
  /** `null` where there is no file, or a malformed one, which is ignored. */
  readonly config: ProjectConfig | null;
  /** Fault of a malformed file, as a sentence; `null` if the file is well-formed. */
  readonly fault: string | null;
  /** Keys that are not known and were passed over, one sentence each. */
  readonly notices: readonly string[];
}

/** Repositories of which a file can be read at a commit. */
interface ReadableRepository<Project> {
  readFile(project: Project, commit: string, path: string): Promise<string | null>;
}

/** The configuration of a project at a commit. */
export async function readProjectConfig<Project>(
  repository: ReadableRepository<Project>,
  project: Project,
  commit: string,
): Promise<OwnConfig> {
  return ownConfigOf(await repository.readFile(project, commit, CONFIG_PATH));
}

/** @param text of the file; `null` where there is none */
export function ownConfigOf(text: string | null): OwnConfig {
  if (text === null) return { config: null, fault: null, notices: [] };
  const parsed = parseProjectConfig(text);
  if (parsed.ok) return { config: parsed.config, fault: null, notices: parsed.notices };
  const faults = parsed.faults.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const fault = showHiddenInLine(`${CONFIG_PATH} is not valid and is ignored: ${faults.join('; ')}`);
  return { config: null, fault, notices: [] };
}
