/** Reads the record of a repository: its projects and runs, and what each run has beside its log. */
import type { RunView } from '@autonomous/shared';
import {
  RECORD_FORMAT,
  type RecordedProject,
  recordedProjectSchema,
  type RecordedUpload,
} from '../artifacts/record-schemas.ts';
import { tipOfContext } from '../artifacts/run-context.ts';
import type { RemoteProject, Repository } from '../repository/repository.ts';
import { type ReadRecordedRun, readRecordedRun } from './recorded-run.ts';

export interface RecordedFiles {
  readonly projects: readonly RecordedProject[];
  /** The run that was created first comes first. */
  readonly runs: readonly RunFiles[];
}

export interface RunFiles {
  readonly runId: string;
  /** ISO 8601; empty where its context cannot be read. */
  readonly createdAt: string;
  /** Object ids by name below the run's folder. */
  readonly files: ReadonlyMap<string, string>;
}

/** The empty tree, of which git knows without storing it. */
const NOTHING = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
/** A log may be long; no other file of a record is as large. */
const MAX_BYTES = 256 * 1024 * 1024;
const CONTEXTS_AT_ONCE = 200;
const PATH =
  /^\.autonomous\/(?:projects\/(?<project>[\w-]{1,100})\.json|runs\/(?<run>[\w-]{1,100})\/(?<name>[^\n]{1,200}))$/;

type Reader = Pick<Repository, 'changes' | 'readBlobs'>;

/**
 * @param commit of the branch of the record
 * @param only a run; absent: all
 */
export async function listRecord(
  repository: Reader,
  project: RemoteProject,
  commit: string,
  only?: string,
): Promise<RecordedFiles> {
  const projectFiles = new Map<string, string>();
  const runs = new Map<string, Map<string, string>>();
  for (const { path, after } of await repository.changes(project, NOTHING, commit)) {
    const { project: projectId, run, name } = PATH.exec(path)?.groups ?? {};
    if (after === null || !after.mode.startsWith('100')) continue;
    if (projectId !== undefined) projectFiles.set(projectId, after.oid);
    if (run === undefined || name === undefined || (only !== undefined && run !== only)) continue;
    const files = runs.get(run) ?? new Map<string, string>();
    files.set(name, after.oid);
    runs.set(run, files);
  }
  const projects = await readProjects(repository, project, projectFiles);
  const created = await createdAtOf(repository, project, runs);
  const listed = [...runs].map(([runId, files]) => ({ runId, createdAt: created.get(runId) ?? '', files }));
  return { projects, runs: listed.sort((a, b) => order(a.createdAt, b.createdAt) || order(a.runId, b.runId)) };
}

/** Reads and checks a run. */
export async function readRun(
  repository: Reader,
  project: RemoteProject,
  { runId, files }: RunFiles,
): Promise<ReadRecordedRun & { readonly uploads: readonly RecordedUpload[] }> {
  const [log, context] = await textsOf(repository, project, [files.get('events.jsonl'), files.get('context.json')]);
  if (log === undefined) return { ok: false, message: 'it has no events.jsonl in the record', uploads: [] };
  if (context === undefined) return { ok: false, message: 'it has no context.json in the record', uploads: [] };
  const said = saidOf(context);
  if (said.format > RECORD_FORMAT) {
    const message = `its record has format ${said.format}, which a newer version wrote; update this server`;
    return { ok: false, message, uploads: [] };
  }
  return { ...readRecordedRun(runId, log, tipOfContext(context)), uploads: said.uploads };
}

/** Contents of files as text; `undefined` for those that are not there or too large. */
async function textsOf(
  repository: Reader,
  project: RemoteProject,
  oids: readonly (string | undefined)[],
): Promise<readonly (string | undefined)[]> {
  const contents = await repository.readBlobs(
    project,
    oids.flatMap((oid) => oid ?? []),
    MAX_BYTES,
  );
  return oids.map((oid) => (oid === undefined ? undefined : contents.get(oid)?.toString('utf8')));
}

async function readProjects(
  repository: Reader,
  project: RemoteProject,
  files: ReadonlyMap<string, string>,
): Promise<readonly RecordedProject[]> {
  const texts = await textsOf(repository, project, [...files.values()]);
  return [...files.keys()].flatMap((id, index) => {
    const parsed = recordedProjectSchema.loose().safeParse(parsedJson(texts[index]));
    if (!parsed.success || parsed.data.id !== id) return [];
    const { name, repository: address, baseBranch, createdAt } = parsed.data;
    return [{ id, name, repository: address, baseBranch, createdAt }];
  });
}

async function createdAtOf(
  repository: Reader,
  project: RemoteProject,
  runs: ReadonlyMap<string, ReadonlyMap<string, string>>,
): Promise<ReadonlyMap<string, string>> {
  const created = new Map<string, string>();
  const all = [...runs].flatMap(([runId, files]) => {
    const oid = files.get('context.json');
    return oid === undefined ? [] : [{ runId, oid }];
  });
  for (let from = 0; from < all.length; from += CONTEXTS_AT_ONCE) {
    const some = all.slice(from, from + CONTEXTS_AT_ONCE);
    const texts = await textsOf(
      repository,
      project,
      some.map(({ oid }) => oid),
    );
    for (const [index, { runId }] of some.entries()) {
      const { createdAt } = (parsedJson(texts[index]) ?? {}) as Partial<RunView>;
      if (typeof createdAt === 'string') created.set(runId, createdAt);
    }
  }
  return created;
}

function saidOf(context: string): { readonly format: number; readonly uploads: readonly RecordedUpload[] } {
  const { format, uploads } = (parsedJson(context) ?? {}) as { readonly format?: unknown; readonly uploads?: unknown };
  return {
    format: typeof format === 'number' ? format : 0,
    uploads: (Array.isArray(uploads) ? uploads : []).filter(isUpload),
  };
}

function isUpload(value: unknown): value is RecordedUpload {
  const { id, name } = (value ?? {}) as Partial<RecordedUpload>;
  return typeof id === 'string' && /^[0-9a-f]{64}$/.test(id) && typeof name === 'string';
}

/** Whoever can push may have written anything. */
function parsedJson(text: string | undefined): unknown {
  try {
    return text === undefined ? null : (JSON.parse(text) as unknown);
  } catch {
    return null;
  }
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
