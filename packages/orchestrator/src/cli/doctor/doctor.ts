/** The command `doctor`: whether this machine has all that the server and its runs need, and how to get what is missing. */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { styleText } from 'node:util';
import { InvalidRequest, type Page, type Project, type Setup, Unavailable } from '@autonomous/shared';
import type { Check } from './doctor-check.ts';
import { checkForge } from './doctor-forge.ts';
import { examineRepository } from './doctor-project.ts';
import { findServer, type ServerPlace, tokenFor } from '../connection.ts';
import { EXIT, UsageError } from '../exit.ts';
import { type CliIo, hasColor, sayJson } from '../io.ts';
import { findUnseen, inOneLine, topOf, whyNoBranch } from '../local-git.ts';
import { addressAround, isAddress, projectAt } from '../project.ts';
import { modelsOfRoles, modelStatus } from './model-status.ts';
import { readServerConfig, type ServerConfig } from '../../config.ts';
import { misspeltVariables } from '../../server-setup/misspelt-variables.ts';
import { processOf } from '../../folder-holder.ts';
import { startCommand } from '../../server/start-command.ts';
import { describeLostProjects, lostProjects } from '../../data-folder.ts';
import { openServerSetup } from '../../server-setup/server-setup.ts';
import { createGitRepository } from '../../repository/git-repository.ts';
import { findInstalledGit } from '../../repository/installed-git.ts';
import { inspectDatabase } from '../../event-store/sqlite/sqlite-database.ts';
import { megabytes, readDiskRoom, RESERVED_DISK_BYTES } from '../../sandboxes/disk-reserve.ts';
import { createSandboxProvider } from '../../sandboxes/provider-choice.ts';
import { printable } from '../follow/timeline.ts';

const OLDEST_NODE = [22, 18] as const;
const PROBE_MS = 3_000;
/** The way to a server that takes no token which is known here. */
const TO_TOKEN = 'set AUTONOMOUS_TOKEN, or AUTONOMOUS_DATA to its data folder';

export interface DoctorOptions {
  readonly json?: boolean;
  /** Path or address of a repository, or name or id of a project of the running server. Absent: the machine alone. */
  readonly project?: string | undefined;
  /** Branch of it. */
  readonly base?: string;
}

/** @returns exit code 0 when everything needed is there */
export async function doctor({ json = false, project, base }: DoctorOptions, io: CliIo): Promise<number> {
  const { config, server, checks: ofMachine } = await examine(io);
  const checks =
    project === undefined ? ofMachine : [...ofMachine, ...(await checkProject({ config, server, io }, project, base))];
  const ok = checks.every(({ status }) => status !== 'missing');
  if (json) sayJson(io, { ok, checks });
  else io.stdout.write(`${checks.map((check) => lineOf(check, hasColor(io.stdout, io.env))).join('\n')}\n`);
  return ok ? EXIT.done : EXIT.notDone;
}

interface Examined {
  readonly config: ServerConfig;
  /** The server that would answer. */
  readonly server: AskedServer;
  readonly checks: readonly Check[];
}

interface AskedServer extends ServerPlace {
  /** Empty: there is none. */
  readonly token: string;
}

async function examine(io: CliIo): Promise<Examined> {
  const { config, faults } = readConfig(io);
  const server = await serverOf(config, io);
  const [git, sandbox, dataFolder, disk, address] = await Promise.all([
    checkGit(),
    checkSandbox(config),
    checkDataFolder(config),
    checkDisk(config),
    checkAddress(config, server),
  ]);
  const here = [checkNode(), git, sandbox, ...faults, dataFolder, disk, checkDatabase(config), address];
  const record = await checkRecord(config, server);
  return {
    config,
    server,
    checks: [...here, ...record, await checkModels(config, server), ...(await checkForge(config)), checkSearch(config)],
  };
}

/**
 * Examines the repository from which a run would start: that of the server's project, or the given one. For a clone it examines the
 * origin, and lists the clone's commits and changes that a run does not have.
 */
async function checkProject(
  { config, server, io }: Pick<Examined, 'config' | 'server'> & { readonly io: CliIo },
  given: string,
  wanted: string | undefined,
): Promise<readonly Check[]> {
  const known = await projectsOf(server);
  const named = known?.find(({ id, name }) => id === given || name === given);
  const folder = named === undefined && !isAddress(given) ? resolve(io.cwd, given) : null;
  const top = folder && (await topOf(folder));
  const address = top === null ? (named?.repository ?? folder ?? given) : await addressAround(top);
  const project = named ?? projectAt(known ?? [], address);
  const branch = wanted ?? project?.baseBranch;
  const { start, checks } = await examineRepository({ config, repository: address, branch });
  if (top === null) return checks;
  const local = { top, cwd: io.cwd };
  const isOwn = address === top;
  if (start === null) {
    const why = branch === undefined ? null : await whyNoBranch(local, branch);
    const of = isOwn ? '' : `The origin of ${top} is ${address}. `;
    return checks.map((check) => ({ ...check, detail: of + check.detail, ...(why === null ? {} : { way: why }) }));
  }
  const unseen = await findUnseen(local, { ...start, isNamed: wanted !== undefined, isOwn });
  return [
    ...checks,
    ...unseen.map(({ what, steps, option }): Check => {
      const way = inOneLine(option === '' ? steps : [...steps, `start runs with ${option}`]);
      return { name: 'repository', status: 'optional', detail: `${what}, and runs do not see them`, way };
    }),
  ];
}

/** As the client commands find it; faults of what names it are among those of the configuration. */
async function serverOf(config: ServerConfig, io: CliIo): Promise<AskedServer> {
  try {
    const place = await findServer(io, undefined);
    const baseUrl = place.from === 'configuration' ? addressOf(config.host, config.port) : place.baseUrl;
    return { ...place, baseUrl, token: await tokenFor(io, place).catch(() => '') };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { dataFolder } = config;
    return { baseUrl: addressOf(config.host, config.port), from: 'configuration', dataFolder, holder: null, token: '' };
  }
}

async function projectsOf(server: AskedServer): Promise<readonly Project[] | null> {
  const answer = await ask(server, '/api/projects?limit=200');
  const page = (answer?.ok ? await answer.json().catch(() => null) : null) as Partial<Page<Project>> | null;
  return page?.items ?? null;
}

/**
 * Reads the configuration. When it has faults, returns them with the default
 * configuration, so that the rest can be examined.
 */
function readConfig(io: CliIo): { readonly config: ServerConfig; readonly faults: readonly Check[] } {
  const misspelt = misspeltVariables(Object.keys(io.env)).map((detail): Check => {
    return { name: 'configuration', status: 'optional', detail, way: 'correct its name, or take it out' };
  });
  try {
    return { config: readServerConfig(io.env), faults: misspelt };
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    const wrong = error.faults.map(({ path, message }) =>
      missing('configuration', message, `correct ${path} in the environment or in .env`),
    );
    return { config: readServerConfig({}), faults: [...wrong, ...misspelt] };
  }
}

function checkNode(): Check {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const isNew = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  if (isNew) return present('node', `Node ${node}`);
  return missing('node', `Node ${node}`, `install Node ${OLDEST_NODE.join('.')} or newer: https://nodejs.org`);
}

async function checkGit(): Promise<Check> {
  const git = await findInstalledGit();
  return git.ok ? present('git', git.detail) : missing('git', git.detail, git.way);
}

async function checkSandbox({ sandbox, dataFolder }: ServerConfig): Promise<Check> {
  const answer = await createSandboxProvider(sandbox, { server: 'doctor', dataFolder }).availability();
  return answer.ok ? present('sandbox', answer.detail) : missing('sandbox', answer.reason, answer.remedy);
}

/** Nothing is made here: what counts is the nearest folder that is there. */
async function checkDataFolder({ dataFolder }: ServerConfig): Promise<Check> {
  const folder = await nearestFolder(dataFolder);
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    await access(join(folder, '.'));
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    return missing('data folder', `${dataFolder} cannot be written (${why})`, 'name another with AUTONOMOUS_DATA');
  }
  return present('data folder', folder === dataFolder ? dataFolder : `${dataFolder} (made when the server starts)`);
}

async function checkDisk({ dataFolder }: ServerConfig): Promise<Check> {
  const folder = await nearestFolder(dataFolder);
  const room = await readDiskRoom(folder);
  const detail = `${megabytes(room?.freeBytes ?? 0)} free in ${folder}`;
  if (room !== null && room.shortage === null) return present('disk space', detail);
  return missing(
    'disk space',
    room?.shortage ?? detail,
    `free some: below ${megabytes(RESERVED_DISK_BYTES)} runs pause`,
  );
}

function checkDatabase({ databasePath }: ServerConfig): Check {
  try {
    const found = inspectDatabase(databasePath);
    if (found === null) return present('database', `${databasePath} (made when the server starts)`);
    return present('database', `${databasePath}, format ${found.schema}`);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return missing('database', what, 'name another with DATABASE_URL, or restore a copy');
  }
}

/** Mirrors that the database does not know, and what the running server says of its projects. */
async function checkRecord(config: ServerConfig, server: AskedServer): Promise<readonly Check[]> {
  const { commitAuthor, dataFolder, databasePath } = config;
  const checks: Check[] = [];
  try {
    const known = inspectDatabase(databasePath)?.projectIds ?? [];
    const repository = createGitRepository({ folder: join(dataFolder, 'mirrors'), author: commitAuthor });
    const lost = await lostProjects(dataFolder, new Set(known), repository);
    const way = 'stop the server and restore the newest copy of the data folder';
    if (lost.length > 0) checks.push(missing('record', describeLostProjects(lost, null), way));
  } catch {
    // `checkDatabase` reports faults of the database itself.
  }
  for (const { name, notices = [] } of (await projectsOf(server)) ?? [])
    for (const notice of notices) checks.push(checkOfNotice(name, notice));
  return checks;
}

/** A notice says itself what to do, if anything. */
function checkOfNotice(project: string, notice: string): Check {
  const isNamed = notice.includes(`project '${project}'`);
  return { name: 'record', status: 'missing', detail: isNamed ? notice : `project '${project}': ${notice}` };
}

function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
}

/** Answered by a server that takes the token, or free for the next one. */
async function checkAddress(config: ServerConfig, server: AskedServer): Promise<Check> {
  const without = await whyNoServer(config, server);
  if (without !== null) return without;
  const { baseUrl, dataFolder, from, token } = server;
  if (token === '')
    return from === 'configuration'
      ? missing(
          'address',
          `another server answers at ${baseUrl}; that of the data folder ${dataFolder} does not run`,
          `start it at a free port with: ${startCommand().program} serve --port 0`,
        )
      : missing('address', `a server answers at ${baseUrl}, and there is no token of it here`, TO_TOKEN);
  const me = await ask(server, '/api/me');
  if (me?.ok) return present('address', `a server answers at ${baseUrl} and takes the token`);
  return missing('address', `a server answers at ${baseUrl} and refuses the token`, TO_TOKEN);
}

/** `null`: a server answers. */
async function whyNoServer({ host, port }: ServerConfig, server: AskedServer): Promise<Check | null> {
  const { from, holder, baseUrl: url } = server;
  const { serve } = startCommand();
  if (from === 'configuration' && holder !== null)
    return missing('address', `${processOf(holder)} has the data folder and takes no requests yet`, 'try again');
  if (from === 'configuration' && port === 0)
    return present('address', `a free port of ${host} is chosen when the server starts`);
  const fault = from === 'configuration' ? await whyNotFree(host, port) : 'EADDRINUSE';
  if (fault === null) return present('address', `${url} is free; start the server with: ${serve}`);
  const other = 'choose another with ORCHESTRATOR_PORT, or stop what listens there';
  if (fault !== 'EADDRINUSE') return missing('address', `nothing can listen at ${url} (${fault})`, other);
  if (await answersHealth(server)) return null;
  if (from === 'configuration') return missing('address', `another program listens at ${url}`, other);
  return from === 'AUTONOMOUS_SERVER'
    ? missing('address', `no server answers at ${url}, which AUTONOMOUS_SERVER names`, 'correct or unset it')
    : missing(
        'address',
        `no answer comes from ${url}, where ${holder === null ? 'a process' : processOf(holder)} serves, which has the data folder`,
        `try again; if it hangs, end it and start another one with: ${serve}`,
      );
}

function whyNotFree(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen({ host, port }, () => probe.close(() => resolve(null)));
  });
}

async function answersHealth(server: AskedServer): Promise<boolean> {
  const answer = await ask(server, '/healthz');
  const body: unknown = answer?.ok ? await answer.json().catch(() => null) : null;
  return typeof body === 'object' && body !== null && 'status' in body && body.status === 'ok';
}

/** @returns `null`: no answer comes, or there is no token for a question that needs one */
async function ask({ baseUrl, token }: AskedServer, path: string): Promise<Response | null> {
  const needsToken = path.startsWith('/api/');
  if (needsToken && token === '') return null;
  const headers: Record<string, string> = needsToken ? { Authorization: `Bearer ${token}` } : {};
  const url = `${baseUrl.replace(/\/$/, '')}${path}`;
  return fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(PROBE_MS) }).catch(() => null);
}

/** As the server that runs says, which may have keys in its memory; else what its next start finds. */
async function checkModels(config: ServerConfig, server: AskedServer): Promise<Check> {
  try {
    const setup = await openServerSetup({ config, learn: () => {} });
    const { ok, detail, way } = modelStatus({ models: setup.models, defaultModels: () => setup.defaultModels() });
    if (ok) return present('models', detail);
    const answer = await ask(server, '/api/setup');
    const told = (answer?.ok ? await answer.json().catch(() => null) : null) as Partial<Setup> | null;
    if (told?.isReady !== true) return missing('models', detail, way);
    const roles = modelsOfRoles(Object.entries(told.defaultModels ?? {}));
    return present('models', `${roles} (as the server that runs says)`);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return missing('models', error.message, 'fix the file, then call doctor again');
  }
}

/** The API is not asked: each search costs something. */
function checkSearch({ web: { search } }: ServerConfig): Check {
  const name = 'web search';
  if (search !== null) return present(name, `the key of ${search.api === 'exa' ? 'Exa' : 'Brave'} is set`);
  const detail = 'neither EXA_API_KEY nor BRAVE_API_KEY is set';
  return { name, status: 'optional', detail, way: 'set one for research on the web; repositories need none' };
}

async function nearestFolder(folder: string): Promise<string> {
  for (let current = folder; ; current = dirname(current)) {
    const isThere = await access(current).then(
      () => true,
      () => false,
    );
    if (isThere || current === dirname(current)) return current;
  }
}

function present(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

function missing(name: string, detail: string, way: string): Check {
  return { name, status: 'missing', detail, way };
}

const SIGNS = { ok: ['✓', 'green'], missing: ['✗', 'red'], optional: ['–', 'yellow'] } as const;

function lineOf({ name, status, detail, way }: Check, color: boolean): string {
  const [sign, format] = SIGNS[status];
  const painted = color ? styleText(format, sign, { validateStream: false }) : sign;
  const first = `${painted} ${name.padEnd(14)}${printable(detail)}`;
  return way === undefined ? first : `${first}\n  ${' '.repeat(14)}→ ${printable(way)}`;
}
