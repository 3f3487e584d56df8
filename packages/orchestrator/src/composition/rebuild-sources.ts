/** The repositories that a rebuild reads: where each is, which address its projects get, and which of two has a project or run. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { InvalidRequest, Unprocessable } from '@autonomous/shared';
import { listRecord, type RecordedFiles } from '../record/recorded-projects.ts';
import { parseRemoteAddress } from '../repository/remote-url.ts';
import type { Repository } from '../repository/repository.ts';

/** A repository with a record. */
export interface Source {
  /** As the person named it. */
  readonly place: string;
  /** In the scratch folder. */
  readonly copy: { readonly id: string; readonly repository: string; readonly baseBranch: string };
  /** Bare repository of the copy. */
  readonly folder: string;
  /** Address of its projects: the given URL or bare repository, or the clone's `origin`. `null` where a clone has none. */
  readonly address: string | null;
  readonly record: RecordedFiles;
}

export interface SourceOptions {
  readonly copies: Repository;
  /** Folder of the copies. */
  readonly scratch: string;
  /** Absolute folders and URLs. */
  readonly from: readonly string[];
  /** Addresses by project, which stand above those of the sources. */
  readonly remotes: ReadonlyMap<string, string>;
}

export interface OpenedSources {
  readonly sources: readonly Source[];
  /** Places that are the same repository as one before them, with the name of that one. */
  readonly repeated: readonly { readonly place: string; readonly as: string }[];
}

/**
 * Copies the repositories. The same one that is given twice, also as a clone and as its remote, is taken once.
 * @throws {Unprocessable} when one of them is no repository, has no record, or has projects without an address
 * @throws {InvalidRequest} for an address that is not allowed
 */
export async function openSources(options: SourceOptions): Promise<OpenedSources> {
  const sources: Source[] = [];
  const repeated: { readonly place: string; readonly as: string }[] = [];
  const known = new Map<string, string>();
  for (const [index, place] of options.from.entries()) {
    const { source, commit } = await openSource(options, place, index).catch((error: unknown) => {
      if (error instanceof Unprocessable || error instanceof InvalidRequest) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new Unprocessable(
        `The record of ${place} cannot be read (${why}). Leave the place out to rebuild from the others.`,
        {
          cause: error,
        },
      );
    });
    const same = [`at ${await resolved(place)}`, `${source.address ?? place} at ${commit}`];
    const as = same.map((key) => known.get(key)).find((each) => each !== undefined);
    for (const key of same) known.set(key, as ?? place);
    if (as === undefined) sources.push(source);
    else repeated.push({ place, as });
  }
  return { sources, repeated };
}

async function openSource(
  { copies, scratch, remotes }: SourceOptions,
  place: string,
  index: number,
): Promise<{ readonly source: Source; readonly commit: string }> {
  const address = await addressOf(copies, place);
  const id = `copy-${index}`;
  const copy = { id, repository: place, baseBranch: 'main' };
  const commit = await copies.fetchCopy(copy, place);
  if (commit === null)
    throw new Unprocessable(
      `${place} has no branch autonomous/record, so there is nothing to rebuild from. Give the repository of a project with runs, or a clone with all of its branches.`,
    );
  const record = await listRecord(copies, copy, await copies.recordHeads(copy));
  const { refusedProjects } = record;
  const nameless = record.projects.filter((project) => !remotes.has(project.id)).map((project) => project.id);
  if (address === null && (nameless.length > 0 || remotes.size === 0)) {
    const refused = [...refusedProjects].map(
      ([project, message]) => `Project ${project} cannot come back: ${message} `,
    );
    throw new Unprocessable(`${refused.join('')}${noAddress(place, [...nameless, ...refusedProjects.keys()])}`);
  }
  return { source: { place, copy, folder: path.join(scratch, `${id}.git`), address, record }, commit };
}

/** A message for a clone that does not say where its projects are. */
export function noAddress(place: string, projects: readonly string[]): string {
  const named = projects.length === 0 ? 'PROJECT=URL' : projects.map((id) => `${id}=URL`).join(' --remote ');
  return `${place} has no remote 'origin' with an address that a project may have, so its projects have no address. Name it with --remote ${named}, or give the URL of the repository.`;
}

/** The record is not asked: anybody who can push could have written another address. */
async function addressOf(copies: Repository, place: string): Promise<string | null> {
  if (!path.isAbsolute(place)) return parseRemoteAddress(place).url;
  return (await copies.inspectClone(place)).address;
}

async function resolved(place: string): Promise<string> {
  return path.isAbsolute(place) ? realpath(place) : parseRemoteAddress(place).url;
}

/** Says which source has a run: the first that lists it. */
export function ownersOf(sources: readonly Source[]): ReadonlyMap<string, Source> {
  const owners = new Map<string, Source>();
  for (const source of sources)
    for (const { runId } of source.record.runs) if (!owners.has(runId)) owners.set(runId, source);
  return owners;
}
