/** Resolves the project of a new run: the one that the person names, or the repository of the working directory. */
import { stat } from 'node:fs/promises';
import { basename, isAbsolute, resolve } from 'node:path';
import type { NewProject, NewRun, Project, RunView } from '@autonomous/shared';
import { ApiError, type Client } from '@autonomous/shared/client';
import { UsageError } from './exit.ts';
import { type CliIo, note } from './io.ts';
import { askGit, findUnseen, inOneLine, refuseOwnClone, type Start, topOf, whyNoBranch } from './local-git.ts';

/**
 * The project that `given` names by id, name, path or URL; absent, the repository in which the person stands.
 * @returns what a project of the repository would be made of, where the server has none
 * @throws {UsageError} when nothing is meant by it
 */
export async function findProject(client: Client, io: CliIo, given: string | undefined): Promise<Project | NewProject> {
  const known = await listAllProjects(client);
  if (given !== undefined) {
    const named = knownAs(known, given);
    if (named) return named;
  }
  const repository = await repositoryOf(io, given, known);
  return projectAt(known, repository) ?? { name: nameOf(repository), repository };
}

/**
 * Starts a run of a project. One that the server does not have is added with the run, so that a refused launch leaves nothing. Notes
 * what the run does not see of the folder that it is launched from.
 * @param given as in {@link findProject}
 * @param project absent for a workflow that needs none
 */
export async function launchOn(
  client: Client,
  io: CliIo,
  given: string | undefined,
  project: Project | NewProject | undefined,
  run: Omit<NewRun, 'projectId' | 'project'>,
): Promise<RunView> {
  const isNew = project !== undefined && !('id' in project);
  const named = run.config?.git?.baseBranch;
  const place = project === undefined ? {} : isNew ? { project } : { projectId: project.id };
  try {
    const launched = await client.launchRun({ ...place, ...run });
    if (project !== undefined)
      await noteUnseen(io, given, project, { branch: launched.config.git.baseBranch, isNamed: named !== undefined });
    return launched;
  } catch (error) {
    const top = named === undefined ? null : await topOf(resolve(io.cwd, given ?? '.'));
    const why = top === null || named === undefined ? null : await whyNoBranch({ top, cwd: io.cwd }, named);
    if (why !== null && error instanceof ApiError) note(io, why);
    if (isNew && error instanceof ApiError) note(io, 'No run was started, and no project was added.');
    throw error;
  }
}

/** The server itself notes uncommitted changes of a folder that is the project. */
async function noteUnseen(
  io: CliIo,
  given: string | undefined,
  { repository }: NewProject,
  start: Omit<Start, 'isOwn'>,
): Promise<void> {
  const top = await topOf(resolve(io.cwd, given ?? '.'));
  if (top === null || withoutSlash(await addressAround(top)) !== withoutSlash(repository)) return;
  const isOwn = withoutSlash(repository) === top;
  const remotes = isOwn ? (await outputOf(top, 'remote')).split('\n').join(', ') : '';
  if (remotes !== '')
    note(
      io,
      `The project is the folder ${top} itself: it has no remote 'origin', and the run pushes nothing to ${remotes}. To use that remote, name its URL with --project.`,
    );
  for (const { what, steps, option } of await findUnseen({ top, cwd: io.cwd }, { ...start, isOwn }))
    note(
      io,
      `${what}, and the run does not see them. If it needs them, ${inOneLine([...steps, `start again ${option && `with ${option}`}`.trimEnd()])}.`,
    );
}

/** Empty where git has no answer. */
async function outputOf(folder: string, ...args: readonly string[]): Promise<string> {
  const answer = await askGit(folder, ...args);
  return answer.ok ? answer.output : '';
}

async function listAllProjects(client: Client): Promise<readonly Project[]> {
  const projects: Project[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.listProjects({ cursor, limit: 200 });
    projects.push(...page.items);
    if (page.nextCursor === null) return projects;
    cursor = page.nextCursor;
  }
}

/** The project with a repository of this address. */
export function projectAt(known: readonly Project[], address: string): Project | undefined {
  return known.find(({ repository }) => withoutSlash(repository) === withoutSlash(address));
}

function knownAs(known: readonly Project[], given: string): Project | undefined {
  const byId = known.find((project) => project.id === given);
  if (byId) return byId;
  const byName = known.filter((project) => project.name === given);
  if (byName.length < 2) return byName[0];
  throw new UsageError(
    `There are ${byName.length} projects named '${given}'; name one by its id: ${byName.map(({ id }) => id).join(', ')}.`,
  );
}

async function repositoryOf(io: CliIo, given: string | undefined, known: readonly Project[]): Promise<string> {
  if (given !== undefined && isAddress(given)) return given;
  const folder = resolve(io.cwd, given ?? '.');
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) {
    const names = known.map(({ name }) => `'${name}'`).join(', ');
    const there = names === '' ? 'The server knows no project yet' : `The server knows ${names}`;
    throw new UsageError(
      `'${given}' is neither a project nor a folder (${folder}). ${there}; give one of them, or the path or URL of a repository.`,
    );
  }
  return addressOf(folder, given === undefined);
}

/** The address of the repository around a folder: that of its `origin`, else its own path. */
async function addressOf(folder: string, isDefault: boolean): Promise<string> {
  const answer = await askGit(folder, 'rev-parse', '--is-bare-repository', '--absolute-git-dir');
  if (!answer.ok) {
    const wayOut = isDefault ? ' Name one with --project: a path, a URL, or a project of the server.' : '';
    throw new UsageError(`${folder} is not in a git repository (${answer.message}).${wayOut}`);
  }
  const [isBare, gitFolder = folder] = answer.output.split('\n');
  if (isBare === 'true') return gitFolder;
  const top = await askGit(folder, 'rev-parse', '--show-toplevel');
  if (!top.ok) throw new UsageError(`${folder} is not a working tree of a git repository (${top.message}).`);
  if (isDefault) await refuseOwnClone(top.output);
  return addressAround(top.output);
}

/** The address of the repository with this working tree: that of its `origin`, else the folder itself. */
export async function addressAround(top: string): Promise<string> {
  const origin = await askGit(top, 'remote', 'get-url', 'origin');
  if (!origin.ok || origin.output === '') return top;
  return isAddress(origin.output) ? withoutCredentials(origin.output) : resolve(top, origin.output);
}

/** A URL, or an address as ssh takes it. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z+.-]*:\/\//i.test(text) || /^[\w.-]+@[\w.-]+:/.test(text);
}

/** The server takes no address with a password in it, and has a token of its own. */
function withoutCredentials(address: string): string {
  return /^https?:/i.test(address) ? address.replace(/(:\/\/)[^/@]*@/, '$1') : address;
}

function nameOf(repository: string): string {
  const last = isAbsolute(repository) ? basename(repository) : (withoutSlash(repository).split(/[/:]/).at(-1) ?? '');
  return last.replace(/\.git$/, '') || 'project';
}

function withoutSlash(address: string): string {
  return address.replace(/(?<!\/)\/+$/, '');
}
