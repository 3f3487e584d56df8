/** Real repositories in temporary folders for the tests of the git adapter. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createGitRepository, type GitRepositoryOptions } from './git-repository.ts';
import type { RemoteProject, Repository } from './repository.ts';

export const AUTHOR = { name: 'Autonomous', email: 'autonomous@example.test' };
export const AT = '2026-01-02T03:04:05.000Z';
export const MAIN_FILES = {
  'README.md': '# Shop\n',
  'src/cart.js': 'export const total = 1;\n',
  '.gitignore': 'node_modules/\n*.log\n',
};

/** Runs git as a person would, with settings of nobody. */
export function git(folder: string, ...args: string[]): string {
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Person',
    GIT_AUTHOR_EMAIL: 'person@example.test',
    GIT_COMMITTER_NAME: 'Person',
    GIT_COMMITTER_EMAIL: 'person@example.test',
  };
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
}

export function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** A temporary folder; `remove` ends it. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'autonomous-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A person's project folder with one commit on `main`. */
export function makeProjectFolder(path: string, files: Readonly<Record<string, string>> = MAIN_FILES): string {
  mkdirSync(path, { recursive: true });
  git(path, 'init', '--quiet', '--initial-branch=main');
  write(path, files);
  git(path, 'add', '--all', '--force');
  git(path, 'commit', '--quiet', '--message', 'First');
  return path;
}

/** A bare repository with one commit on `main`. */
export function makeBareRemote(path: string, files: Readonly<Record<string, Imported>> = MAIN_FILES): string {
  mkdirSync(path, { recursive: true });
  git(path, 'init', '--quiet', '--bare', '--template=', '--initial-branch=main');
  importFiles(path, 'main', files);
  return path;
}

/** Content of a file; with a mode that of an executable file (`100755`) or a link (`120000`). `null` removes it. */
export type Imported = string | Uint8Array | { readonly mode: string; readonly content: string } | null;

/**
 * Commits files onto a branch with git itself, which takes bytes and modes.
 * @param from where the branch begins. Default: with nothing
 * @returns the commit
 */
export function importFiles(
  gitDir: string,
  branch: string,
  files: Readonly<Record<string, Imported>>,
  from?: string,
): string {
  const data = (content: string | Uint8Array) => [`data ${Buffer.byteLength(content)}\n`, content, '\n'];
  const changes = Object.entries(files).flatMap(([name, file]) => {
    if (file === null) return [`D ${name}\n`];
    const { mode, content } =
      typeof file === 'string' || file instanceof Uint8Array ? { mode: '100644', content: file } : file;
    return [`M ${mode} inline ${name}\n`, ...data(content)];
  });
  const header = `commit refs/heads/${branch}\ncommitter Person <person@example.test> 1767225600 +0000\n`;
  const parts = [header, ...data('First'), from ? `from ${from}\n` : '', ...changes];
  execFileSync('git', ['fast-import', '--quiet'], {
    cwd: gitDir,
    input: Buffer.concat(parts.map((part) => Buffer.from(part))),
  });
  return git(gitDir, 'rev-parse', `refs/heads/${branch}`);
}

/** Commits files onto a branch of a bare remote, as another person's push would. */
export function commitOnRemote(
  remote: string,
  branch: string,
  files: Readonly<Record<string, string | null>>,
  message = 'Somebody else',
): string {
  const clone = mkdtempSync(join(tmpdir(), 'autonomous-clone-'));
  try {
    git(clone, 'clone', '--quiet', '--branch', branch, remote, '.');
    for (const [path, text] of Object.entries(files))
      if (text === null) rmSync(join(clone, path));
      else write(clone, { [path]: text });
    git(clone, 'add', '--all');
    git(clone, 'commit', '--quiet', '--message', message);
    git(clone, 'push', '--quiet', 'origin', branch);
    return git(clone, 'rev-parse', 'HEAD');
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
}

export interface Fixture {
  readonly root: string;
  /** The bare repository as a path, whatever address the project has. */
  readonly remote: string;
  readonly project: RemoteProject;
  readonly repository: Repository;
  /** Another server process on the same mirrors. */
  reopen(): Repository;
  readonly gitDir: string;
}

/** A fetched project; `address` turns the bare remote's path into what the project is registered with. */
export async function openFixture(
  root: string,
  options: {
    readonly address?: (path: string) => string;
    readonly files?: Readonly<Record<string, Imported>>;
    readonly repository?: Partial<GitRepositoryOptions>;
  } = {},
): Promise<Fixture> {
  const remote = makeBareRemote(join(root, 'remotes', 'owner', 'shop.git'), options.files);
  const project = { id: 'p-1', repository: options.address?.(remote) ?? remote, baseBranch: 'main' };
  const folder = join(root, 'mirrors');
  const reopen = (): Repository =>
    createGitRepository({ folder, author: AUTHOR, now: () => new Date(AT), ...options.repository });
  const repository = reopen();
  await repository.fetch(project);
  return { root, remote, project, repository, reopen, gitDir: join(folder, 'p-1.git') };
}

/** The head of the remote's main branch as last fetched. */
export async function mainHead({ repository, project }: Pick<Fixture, 'repository' | 'project'>): Promise<string> {
  const head = await repository.remoteHead(project, 'main');
  if (head === null) throw new Error('The fixture has no main branch');
  return head;
}

/** Commits files on a run's branch, which starts at main when it is new. */
export async function commitFiles(
  fixture: Pick<Fixture, 'repository' | 'project'>,
  branch: string,
  files: Readonly<Record<string, string | null>>,
  effectKey = `r1/${Object.keys(files).sort().map(encodeURIComponent).join('+')}`,
): Promise<string> {
  const { repository, project } = fixture;
  const parent = (await repository.branchHead(project, branch)) ?? (await mainHead(fixture));
  const tree = await repository.writeFiles(project, await repository.treeOf(project, parent), files);
  return repository.commit(project, { branch, tree, parent, message: 'Work', effectKey, at: AT });
}
