/**
 * Reads the record of a repository: its projects and runs, and what each run has beside its log. Files are read a few at a time, so that
 * a record of any size needs bounded memory.
 */
import type { RunStart } from '@autonomous/shared';
import { z } from 'zod';
import { type ForeignJson, parseForeignJson } from '../documents/foreign-json.ts';
import {
  RECORD_FORMAT,
  type RecordedProject,
  recordedProjectSchema,
  type RecordedUpload,
} from '../documents/record-schemas.ts';
import { readContext } from '../documents/run-context.ts';
import { faultOfFormat } from '../core/stored-format.ts';
import type { RemoteProject, Repository } from '../repository/repository.ts';
import { isBranchName, isOwnBranch } from '../path-rules/branch-names.ts';
import {
  faultOfBase,
  faultOfBeginning,
  faultOfBranch,
  faultOfConfigs,
  faultOfForks,
  faultOfSpending,
  recordedId,
} from './recorded-config.ts';
import { eventsOf, type ReadRecordedRun, readRecordedRun, type RecordedRun } from './recorded-run.ts';

export interface RecordedFiles {
  readonly projects: readonly RecordedProject[];
  /** Projects of another format by id, each with a message to be read after its name. */
  readonly refusedProjects: ReadonlyMap<string, string>;
  /** The run that was created first comes first. */
  readonly runs: readonly RunFiles[];
}

export interface RunFiles {
  readonly runId: string;
  /** Object ids by name below the run's folder. */
  readonly files: ReadonlyMap<string, string>;
}

/** Object ids of a record's files. */
export interface RecordFolders {
  /** Files of projects, by id. */
  readonly projects: ReadonlyMap<string, string>;
  readonly runs: ReadonlyMap<string, RunFiles>;
}

const MEGABYTE = 1024 * 1024;
/** Larger than any that a server writes. A run or project with a larger file is left out. */
const MAX_BYTES = { log: 128 * MEGABYTE, context: 4 * MEGABYTE, project: 64 * 1024 } as const;
/** Files that are read at once. */
const FILES_AT_ONCE = 16;
const PATH =
  /^\.autonomous\/(?:projects\/(?<project>[\w-]{1,100})\.json|runs\/(?<run>[\w-]{1,100})\/(?<name>[^\n]{1,200}))$/;

type Reader = Pick<Repository, 'readBlobs' | 'recordedFiles'>;

/** @param commit of the branch of the record */
export async function listRecordFolders(
  repository: Reader,
  project: RemoteProject,
  commit: string,
): Promise<RecordFolders> {
  const projects = new Map<string, string>();
  const runs = new Map<string, { readonly runId: string; readonly files: Map<string, string> }>();
  for (const [path, oid] of await repository.recordedFiles(project, commit)) {
    const { project: projectId, run, name } = PATH.exec(path)?.groups ?? {};
    if (projectId !== undefined) projects.set(projectId, oid);
    if (run === undefined || name === undefined) continue;
    const { files } = runs.get(run) ?? { files: new Map<string, string>() };
    files.set(name, oid);
    runs.set(run, { runId: run, files });
  }
  return { projects, runs };
}

/** @param commits of the branches of the record; of a run or project that several have, that of the first is taken */
export async function listRecord(
  repository: Reader,
  project: RemoteProject,
  commits: readonly string[],
): Promise<RecordedFiles> {
  const folders = { projects: new Map<string, string>(), runs: new Map<string, RunFiles>() };
  for (const commit of commits) {
    const { projects, runs } = await listRecordFolders(repository, project, commit);
    for (const [id, oid] of projects) if (!folders.projects.has(id)) folders.projects.set(id, oid);
    for (const [id, files] of runs) if (!folders.runs.has(id)) folders.runs.set(id, files);
  }
  const created = await createdAtOf(repository, project, folders.runs);
  const runs = [...folders.runs.values()].sort(
    (a, b) => order(created.get(a.runId) ?? '', created.get(b.runId) ?? '') || order(a.runId, b.runId),
  );
  return { ...(await readProjects(repository, project, folders.projects)), runs };
}

export type ReadRun =
  | {
      readonly ok: true;
      readonly run: RecordedRun;
      readonly start: RunStart;
      readonly uploads: readonly RecordedUpload[];
    }
  | Extract<ReadRecordedRun, { ok: false }>;

/** Reads and checks a run. */
export async function readRun(
  repository: Reader,
  project: RemoteProject,
  { runId, files }: RunFiles,
): Promise<ReadRun> {
  const context = await textOf(repository, project, files, 'context.json', MAX_BYTES.context);
  if (!context.ok) return context;
  const beside = readContext(context.text);
  if (!beside.ok) return beside;
  const log = await textOf(repository, project, files, 'events.jsonl', MAX_BYTES.log);
  if (!log.ok) return log;
  const read = readRecordedRun(runId, log.text, beside.tip);
  if (!read.ok) return read;
  const start = startOf(read.run);
  return typeof start === 'string' ? { ok: false, message: start } : { ...read, start, uploads: beside.uploads };
}

type ReadText = { readonly ok: true; readonly text: string } | Extract<ReadRecordedRun, { ok: false }>;

async function textOf(
  repository: Reader,
  project: RemoteProject,
  files: ReadonlyMap<string, string>,
  name: string,
  maxBytes: number,
): Promise<ReadText> {
  const oid = files.get(name);
  if (oid === undefined) return { ok: false, message: `it has no ${name} in the record` };
  const content = (await repository.readBlobs(project, [oid], maxBytes)).get(oid);
  if (content === undefined)
    return { ok: false, message: `its ${name} has more than ${maxBytes / MEGABYTE} MB, or is not in the repository` };
  const text = utf8Of(content);
  return text === null ? { ok: false, message: `its ${name} is not UTF-8 text` } : { ok: true, text };
}

/** `null` for other encodings, of which some give valid UTF-8 with zeros between the letters: JSON has none. */
function utf8Of(content: Uint8Array): string | null {
  if (content.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}

async function readProjects(
  repository: Reader,
  project: RemoteProject,
  files: ReadonlyMap<string, string>,
): Promise<Pick<RecordedFiles, 'projects' | 'refusedProjects'>> {
  const projects: RecordedProject[] = [];
  const refusedProjects = new Map<string, string>();
  await readInBatches(repository, project, files, MAX_BYTES.project, (id, json) => {
    const fault = faultOfProject(json);
    if (fault !== null) refusedProjects.set(id, `its record ${fault}`);
    const parsed = json.ok ? recordedProjectSchema.loose().safeParse(json.value) : null;
    if (parsed?.success !== true || parsed.data.id !== id || !isBranchName(parsed.data.baseBranch)) return;
    const { format, name, repository: address, baseBranch, createdAt, forgeId } = parsed.data;
    if (isOwnBranch(baseBranch)) {
      refusedProjects.set(id, `its record names the base branch '${baseBranch}', which belongs to a run`);
      return;
    }
    projects.push({ format, id, name, repository: address, baseBranch, createdAt, forgeId });
  });
  return { projects, refusedProjects };
}

/**
 * Fault of the format of a project's file, to be read after the file's name.
 * @param text empty where there is no such file, which has no fault
 */
export function faultOfProjectFile(text: string): string | null {
  return faultOfProject(parseForeignJson(text));
}

function faultOfProject(json: ForeignJson): string | null {
  return json.ok ? faultOfFormat(fieldsOf(json)['format'], RECORD_FORMAT) : null;
}

async function createdAtOf(
  repository: Reader,
  project: RemoteProject,
  runs: ReadonlyMap<string, RunFiles>,
): Promise<ReadonlyMap<string, string>> {
  const created = new Map<string, string>();
  const contexts = [...runs.values()].map(({ runId, files }) => [runId, files.get('context.json') ?? ''] as const);
  const known = new Map(contexts.filter(([, oid]) => oid !== ''));
  await readInBatches(repository, project, known, MAX_BYTES.context, (runId, json) => {
    const { createdAt } = fieldsOf(json);
    if (typeof createdAt === 'string') created.set(runId, createdAt);
  });
  return created;
}

/** Calls `take` with each file that is there, in their order. Those that are too large are passed over. */
async function readInBatches(
  repository: Reader,
  project: RemoteProject,
  files: ReadonlyMap<string, string>,
  maxBytes: number,
  take: (name: string, json: ForeignJson) => void,
): Promise<void> {
  const all = [...files];
  for (let from = 0; from < all.length; from += FILES_AT_ONCE) {
    const some = all.slice(from, from + FILES_AT_ONCE);
    const contents = await repository.readBlobs(project, [...new Set(some.map(([, oid]) => oid))], maxBytes);
    for (const [name, oid] of some) {
      const content = contents.get(oid);
      if (content !== undefined) take(name, parseForeignJson(content.toString('utf8')));
    }
  }
}

/** The fields of an object that others wrote; none where it is something else. */
function fieldsOf(json: ForeignJson): Readonly<Record<string, unknown>> {
  const value = json.ok ? json.value : null;
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Start of a run, from its first event. @returns a text when its first event does not say it */
function startOf(run: RecordedRun): RunStart | string {
  const events = eventsOf(run);
  const [first] = events;
  const start = first?.type === 'RUN_QUEUED' ? first.payload['start'] : first?.payload;
  const missing = missingIn(start);
  if (missing !== null) return `line 1 of its events.jsonl does not start a run: ${missing} is missing`;
  const wrong = faultOfLinks(start);
  if (wrong !== null) return `line 1 of its events.jsonl does not start a run: ${wrong} is not valid`;
  const fault =
    faultOfBeginning(events) ??
    faultOfForks(events) ??
    faultOfConfigs(events) ??
    faultOfBranch(run.runId, events) ??
    faultOfBase(events) ??
    faultOfSpending(events);
  if (fault !== null) return fault;
  return start as unknown as RunStart; // Checked as far as those need it who do not replay the run.
}

/** Name of the first field that the start of a run needs and lacks; `null` when it has all. */
function missingIn(start: unknown): string | null {
  const { projectId, userId, request, branch, workflow, config } = fieldsOf({ ok: true, value: start });
  const { name, version } = fieldsOf({ ok: true, value: workflow });
  const texts = { projectId, userId, request, branch, 'workflow.name': name };
  const [text] = Object.entries(texts).find(([, value]) => typeof value !== 'string') ?? [];
  if (text !== undefined) return text;
  if (!Number.isSafeInteger(version)) return 'workflow.version';
  const parts = fieldsOf({ ok: true, value: config });
  const part = CONFIG_PARTS.find((each) => typeof parts[each] !== 'object' || parts[each] === null);
  return part === undefined ? null : `config.${part}`;
}

const linksSchema = z.object({
  parent: z.object({ runId: recordedId, key: z.string(), depth: z.int().positive() }).optional(),
  attempt: z.object({ number: z.int().positive(), of: z.int().positive().optional() }).optional(),
  treeId: recordedId.optional(),
  explorationId: recordedId.optional(),
});

/** Name of the first field that ties a run to others and is not valid; `null` when all are. */
function faultOfLinks(start: unknown): string | null {
  const [issue] = linksSchema.safeParse(start).error?.issues ?? [];
  return issue === undefined ? null : String(issue.path[0]);
}

/** Parts of the configuration that are shown before a run goes on. */
const CONFIG_PARTS = ['trustMode', 'modelRouting', 'timeoutMinutes', 'git', 'commands'] as const;

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
