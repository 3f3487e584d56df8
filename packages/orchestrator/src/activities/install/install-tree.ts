/**
 * Chooses the files that an install step with a network works on. They are those of the base commit, which people have accepted, with
 * the run's own manifests and lockfiles in place of the base's. A changed input that the step could run, such as `.npmrc` or
 * `setup.py`, stays as in the base, and so do all other files: what an agent wrote is not run where a network is.
 */
import path from 'node:path';
import type { SelfRunningChange } from '../../self-running/self-running.ts';
import type { RemoteProject, TreeChange } from '../../repository/repository.ts';
import { selfRunning } from '../evidence/concerns.ts';
import type { ActivityTools } from '../tools.ts';

export interface InstallTreeRequest {
  readonly project: RemoteProject;
  readonly baseCommit: string;
  readonly treeish: string;
  /** Whether a file is one that the step reads. */
  readonly isInput: (file: string) => boolean;
  /** Whether install scripts run in the step. */
  readonly runsScripts: boolean;
  readonly signal: AbortSignal;
}

export interface InstallTree {
  readonly tree: string;
  /** Changed inputs that stay as in the base. */
  readonly kept: readonly string[];
}

export async function installTree(tools: ActivityTools, request: InstallTreeRequest): Promise<InstallTree> {
  const { project, baseCommit, treeish, isInput, signal, runsScripts } = request;
  const { repository } = tools;
  const changes = await repository.changes(project, baseCommit, treeish);
  const inputs = changes.filter(({ path: file }) => isInput(file));
  const found = await selfRunning(tools, { project, signal }, inputs, {});
  const kept = new Set(inputs.filter((change) => mayRun(change, found, runsScripts)).map(({ path: file }) => file));
  const taken = [...inputs.filter(({ path: file }) => !kept.has(file)), ...changes.filter(isTargetOfCargo)];
  const base = await repository.treeOf(project, baseCommit);
  const paths = taken.map(({ path: file }) => file);
  const tree = paths.length === 0 ? base : await repository.restorePaths(project, base, treeish, paths);
  return { tree, kept: [...kept] };
}

/** Manifests, lockfiles and versions, by their names. Each other input is a program, or the settings of one. */
const DECLARATIONS =
  /^(?:package|package-lock|npm-shrinkwrap|composer)\.json$|\.lock$|^(?:pnpm-lock\.yaml|bun\.lockb|Pipfile|Gemfile)$|^\.(?:nvmrc|node-version|python-version)$|^(?=.*requirements).*\.txt$|^(?:pyproject|Cargo)\.toml$|^setup\.cfg$|\.gemspec$|^go\.(?:mod|sum|work)$/;
/** From them packages are taken, and nothing is run. */
const LOCKFILES_OF_NODE = /^(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?)$/;

function mayRun({ path: file, after }: TreeChange, found: readonly SelfRunningChange[], runsScripts: boolean): boolean {
  const name = path.posix.basename(file);
  if (!DECLARATIONS.test(name)) return true;
  if (after === null) return false;
  if (after.mode !== '100644') return true;
  if (LOCKFILES_OF_NODE.test(name)) return false;
  return found.some((change) => change.path === file && !isHarmless(name, change.content, runsScripts));
}

/** Keys that count as changes that run code, and that no package manager follows in an install step. */
function isHarmless(name: string, content: string, runsScripts: boolean): boolean {
  if (name === 'pyproject.toml') return /^(?:project\.(?:gui-)?scripts|tool\.poetry\.scripts)\./.test(content);
  if (name !== 'package.json') return false;
  if (/^(?:bin|directories\.bin)(?:[.=:]|$)/.test(content)) return true;
  if (content.startsWith('packageManager='))
    return /^packageManager=(?:npm|pnpm|yarn|bun)@\d+(?:\.\d+){0,2}(?:\+\w+\.\w+)?$/.test(content);
  if (runsScripts) return content.startsWith('scripts.') && !LIFECYCLE.test(content);
  return !/^(?:pnpm\.configDependencies|devEngines)/.test(content) && /^[\w@]/.test(content) && content.includes('=');
}

const LIFECYCLE =
  /^scripts\.(?:(?:pre|post)?(?:install|prepare|pack|publish|uninstall)|prepublishOnly|dependencies|pnpm:)/;

/** Cargo wants to see the sources of a package that it fetches dependencies for, and runs none of them. */
function isTargetOfCargo({ path: file, before, after }: TreeChange): boolean {
  return (
    before === null && after?.mode === '100644' && file.endsWith('.rs') && path.posix.basename(file) !== 'build.rs'
  );
}
