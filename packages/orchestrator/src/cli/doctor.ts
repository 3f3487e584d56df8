/** The command `doctor`: whether this machine has all that the server and its runs need, and how to get what is missing. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { promisify, styleText } from 'node:util';
import { InvalidRequest, type Page, type Project, type Setup, Unavailable } from '@autonomous/shared';
import type { Check } from './doctor-check.ts';
import { checkForge } from './doctor-forge.ts';
import { examineRepository } from './doctor-project.ts';
import { EXIT } from './exit.ts';
import { type CliIo, hasColor, sayJson } from './io.ts';
import { modelsOfRoles, modelStatus } from './model-status.ts';
import { readServerConfig, type ServerConfig } from '../config.ts';
import { startCommand } from '../server/start-command.ts';
import { describeLostProjects, lostProjects } from '../data-folder.ts';
import { openServerSetup } from '../server-setup/server-setup.ts';
import { inspectDatabase } from '../event-store/sqlite/sqlite-database.ts';
import { createSandboxProvider } from '../sandboxes/provider-choice.ts';
import { printable } from './timeline.ts';

const OLDEST_NODE = [22, 18] as const;
const OLDEST_GIT = [2, 38] as const;
const MB = 1024 * 1024;
/** Sandboxes end a command when less is free. */
const LEAST_FREE_BYTES = 512 * MB;
const PROBE_MS = 3_000;

export interface DoctorOptions {
  readonly json?: boolean;
  /** Path or address of a repository, or name or id of a project of the running server. Absent: the machine alone. */
  readonly project?: string | undefined;
  readonly branch?: string;
}

/** @returns exit code 0 when everything needed is there */
export async function doctor({ json = false, project, branch }: DoctorOptions, io: CliIo): Promise<number> {
  const { config, checks: ofMachine } = await examine(io);
  const checks =
    project === undefined ? ofMachine : [...ofMachine, ...(await checkProject(config, io, project, branch))];
  const ok = checks.every(({ status }) => status !== 'missing');
  if (json) sayJson(io, { ok, checks });
  else io.stdout.write(`${checks.map((check) => lineOf(check, hasColor(io.stdout, io.env))).join('\n')}\n`);
  return ok ? EXIT.done : EXIT.notDone;
}

async function examine(io: CliIo): Promise<{ readonly config: ServerConfig; readonly checks: readonly Check[] }> {
  const { config, faults } = readConfig(io);
  const [git, sandbox, dataFolder, disk, address] = await Promise.all([
    checkGit(),
    checkSandbox(config),
    checkDataFolder(config),
    checkDisk(config),
    checkAddress(config),
  ]);
  const here = [checkNode(), git, sandbox, ...faults, dataFolder, disk, checkDatabase(config), address];
  const record = await checkRecord(config);
  return {
    config,
    checks: [...here, ...record, await checkModels(config), ...(await checkForge(config)), checkSearch(config)],
  };
}

/** The repository of a project of the running server, else what was given. */
async function checkProject(
  config: ServerConfig,
  io: CliIo,
  given: string,
  branch: string | undefined,
): Promise<readonly Check[]> {
  const known = await projectsOf(config);
  const named = known?.find(({ id, name }) => id === given || name === given);
  const isAddress = /^[\w.+-]+:\/\/|^[\w.-]+@[\w.-]+:/.test(given);
  const repository = named?.repository ?? (isAddress ? given : resolve(io.cwd, given));
  return examineRepository({ config, repository, branch: branch ?? named?.baseBranch });
}

async function projectsOf(config: ServerConfig): Promise<readonly Project[] | null> {
  const answer = await ask(`${addressOf(config.host, config.port)}/api/projects?limit=200`, {
    Authorization: `Bearer ${await tokenOf(config)}`,
  });
  const page = (answer?.ok ? await answer.json().catch(() => null) : null) as Partial<Page<Project>> | null;
  return page?.items ?? null;
}

/**
 * Reads the configuration. When it has faults, returns them with the default
 * configuration, so that the rest can be examined.
 */
function readConfig(io: CliIo): { readonly config: ServerConfig; readonly faults: readonly Check[] } {
  try {
    return { config: readServerConfig(io.env), faults: [] };
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    const faults = error.faults.map(({ path, message }) =>
      missing('configuration', message, `correct ${path} in the environment or in .env`),
    );
    return { config: readServerConfig({}), faults };
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
  const way = `install git ${OLDEST_GIT.join('.')} or newer: sudo apt-get install git`;
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { timeout: PROBE_MS });
    const [, major = 0, minor = 0] = (/(?<!\d)(\d+)\.(\d+)/.exec(stdout) ?? []).map(Number);
    const isNew = major > OLDEST_GIT[0] || (major === OLDEST_GIT[0] && minor >= OLDEST_GIT[1]);
    return isNew ? present('git', stdout.trim()) : missing('git', stdout.trim(), way);
  } catch {
    return missing('git', 'git cannot be started', way);
  }
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
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const detail = `${Math.round(free / MB).toLocaleString('en')} MB free in ${folder}`;
  if (free >= LEAST_FREE_BYTES) return present('disk space', detail);
  return missing('disk space', detail, `free some: below ${LEAST_FREE_BYTES / MB} MB runs pause`);
}

function checkDatabase({ databasePath }: ServerConfig): Check {
  try {
    const found = inspectDatabase(databasePath);
    if (found === null) return present('database', `${databasePath} (made when the server starts)`);
    return present('database', `${databasePath}, version ${found.version}`);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return missing('database', what, 'name another with DATABASE_URL, or restore a copy');
  }
}

/** Mirrors that the database does not know, and what the running server says of its projects. */
async function checkRecord(config: ServerConfig): Promise<readonly Check[]> {
  const { dataFolder, databasePath } = config;
  const way = 'stop the server and restore the newest copy of the data folder';
  const notices: string[] = [];
  try {
    const known = inspectDatabase(databasePath)?.projectIds ?? [];
    const lost = await lostProjects(dataFolder, new Set(known));
    if (lost.length > 0) notices.push(describeLostProjects(lost, null));
  } catch {
    // `checkDatabase` reports faults of the database itself.
  }
  for (const { notices: said = [] } of (await projectsOf(config)) ?? []) notices.push(...said);
  return notices.map((detail) => missing('record', detail, way));
}

async function tokenOf({ token, dataFolder }: ServerConfig): Promise<string> {
  return token ?? (await readFile(join(dataFolder, 'token'), 'utf8').catch(() => '')).trim();
}

function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
}

/** Free, or answered by a server that takes this machine's token. */
async function checkAddress(config: ServerConfig): Promise<Check> {
  const { host, port } = config;
  const url = addressOf(host, port);
  if (port === 0) return present('address', `a free port of ${host} is chosen when the server starts`);
  const fault = await whyNotFree(host, port);
  if (fault === null) return present('address', `${url} is free; start the server with: ${startCommand().serve}`);
  const other = 'choose another with ORCHESTRATOR_PORT, or stop what listens there';
  if (fault !== 'EADDRINUSE') return missing('address', `nothing can listen at ${url} (${fault})`, other);
  if (!(await answersHealth(url))) return missing('address', `another program listens at ${url}`, other);
  const token = await tokenOf(config);
  const me = await ask(`${url}/api/me`, { Authorization: `Bearer ${token}` });
  if (me?.ok) return present('address', `a server answers at ${url} and takes the token`);
  return missing(
    'address',
    `a server answers at ${url} and refuses the token`,
    'set AUTONOMOUS_TOKEN, or AUTONOMOUS_DATA to its data folder',
  );
}

function whyNotFree(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen({ host, port }, () => probe.close(() => resolve(null)));
  });
}

async function answersHealth(url: string): Promise<boolean> {
  const answer = await ask(`${url}/healthz`);
  const body: unknown = answer?.ok ? await answer.json().catch(() => null) : null;
  return typeof body === 'object' && body !== null && 'status' in body && body.status === 'ok';
}

async function ask(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response | null> {
  return fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(PROBE_MS) }).catch(() => null);
}

/** As the server that runs says, which may have keys in its memory; else what its next start finds. */
async function checkModels(config: ServerConfig): Promise<Check> {
  try {
    const setup = await openServerSetup({ config, learn: () => {} });
    const { ok, detail, way } = modelStatus({ models: setup.models, defaultModels: () => setup.defaultModels() });
    if (ok) return present('models', detail);
    const answer = await ask(`${addressOf(config.host, config.port)}/api/setup`, {
      Authorization: `Bearer ${await tokenOf(config)}`,
    });
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
