/** Names and facts that all published packages have in common. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
export const ROOT = path.dirname(import.meta.dirname);

export const SERVER_PACKAGE = 'autonomous-orchestrator';
export const ENGINE_PACKAGE = 'autonomous-engine';
/** Oldest Node that reads a custom workflow's TypeScript by itself; the tests start the packages with it. */
export const NODE_ENGINES = '>=22.18.0';

/** Workspace packages that are released together and have one version. */
const RELEASED = ['orchestrator', 'shared', 'ui', 'vscode-extension'] as const;

export interface WorkspaceFacts {
  /** The one version of all packages. */
  readonly version: string;
  /** Address of the repository as its host shows it, `https://…` without an ending. */
  readonly repository: string;
  readonly license: string;
}

export interface GitFacts {
  /** Full hash of the commit that is built; `null` outside of a git repository. */
  readonly commit: string | null;
  /** Changed and unknown files, as `git status --porcelain` lists them; empty when there is none. */
  readonly changes: readonly string[];
  readonly branch: string | null;
  /** Address of the remote `origin`. */
  readonly origin: string | null;
}

interface Manifest {
  readonly version?: string;
  readonly license?: string;
  readonly repository?: { readonly url?: string };
}

/** @throws {Error} when the packages have different versions, or the repository has no address */
export async function readWorkspaceFacts(): Promise<WorkspaceFacts> {
  const versions = await Promise.all(
    RELEASED.map(async (name) => (await manifestOf(path.join(ROOT, 'packages', name))).version ?? 'none'),
  );
  const [version = ''] = versions;
  if (new Set(versions).size > 1) {
    const list = RELEASED.map((name, index) => `packages/${name} ${versions[index]}`).join(', ');
    throw new Error(`The packages of one release have different versions: ${list}. Run npm run changeset -- version.`);
  }
  const { license, repository } = await manifestOf(ROOT);
  const address = /^git\+(https:\/\/[^\s]+?)(?:\.git)?$/.exec(repository?.url ?? '')?.[1];
  if (address === undefined)
    throw new Error('package.json names no repository.url of the form git+https://HOST/PATH.git.');
  return { version, repository: address, license: license ?? 'UNLICENSED' };
}

export async function readGitFacts(): Promise<GitFacts> {
  const [commit, status, branch, origin] = await Promise.all([
    git('rev-parse', 'HEAD'),
    git('status', '--porcelain'),
    git('symbolic-ref', '--short', 'HEAD'),
    git('remote', 'get-url', 'origin'),
  ]);
  return { commit, changes: (status ?? '').split('\n').filter((line) => line !== ''), branch, origin };
}

async function git(...args: readonly string[]): Promise<string | null> {
  try {
    const { stdout } = await execute('git', [...args], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
    return stdout.trimEnd();
  } catch {
    return null;
  }
}

async function manifestOf(folder: string): Promise<Manifest> {
  // Its fields are checked where they are used.
  return JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}
