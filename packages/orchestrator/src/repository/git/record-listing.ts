/**
 * Lists what a commit of the record has. Anyone with push access writes to the record, and a tree of a few objects can name any number of
 * files: folders of runs are listed without their contents, and each list is bounded.
 */
import { NeedsHuman } from '@autonomous/shared';
import { type GitPlace, objectFacts, runGit } from './git.ts';
import { isFileMode, TreeListing, type TreeEntry } from './tree-listing.ts';
import { type RecordedFile, RECORD_BRANCH } from '../repository.ts';

/** A hundred thousand runs, or the files of twenty thousand. */
const MAX_RECORD_BYTES = 12 * 1024 * 1024;

const RUNS = '.autonomous/runs/';
const FOLDER_MODE = '040000';

/**
 * Everything in a tree of the record that is not itself a tree; with `under`, in that folder alone.
 * @throws {NeedsHuman} `setup_failed` where there is too much of it
 */
export async function listRecordTree(place: GitPlace, tree: string, under?: readonly string[]): Promise<TreeEntry[]> {
  return listBounded(place, ['-r', '--full-tree', '--end-of-options', tree, ...(under ?? [])]);
}

/** A file of each run of a tree of the record, by the name of the run's folder. Runs without it are left out. */
export async function listRunFiles(
  place: GitPlace,
  tree: string,
  name: string,
): Promise<ReadonlyMap<string, RecordedFile>> {
  const listed = await listBounded(place, ['--full-tree', '--end-of-options', tree, RUNS]);
  // No server writes other names.
  const folders = listed.filter(({ mode, path }) => mode === FOLDER_MODE && /^[\w-]+$/.test(path.slice(RUNS.length)));
  return filesNamed(
    place,
    folders.map(({ oid, path }) => [path.slice(RUNS.length), `${oid}:${name}`]),
  );
}

/** Those of these paths of a commit of the record that are files, by path. */
export function listFilesAt(
  place: GitPlace,
  commit: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, RecordedFile>> {
  return filesNamed(
    place,
    paths.map((path) => [path, `${commit}:${path}`]),
  );
}

async function filesNamed(
  place: GitPlace,
  names: readonly (readonly [key: string, object: string])[],
): Promise<ReadonlyMap<string, RecordedFile>> {
  const files = new Map<string, RecordedFile>();
  const objects = await objectFacts(
    place,
    names.map(([, object]) => object),
  );
  for (const [index, [key]] of names.entries()) {
    const object = objects[index];
    if (object?.type === 'blob') files.set(key, { oid: object.oid, bytes: object.bytes });
  }
  return files;
}

/** Files of the folders of projects and of runs, without symlinks. */
export async function listRecordedFiles(place: GitPlace, tree: string): Promise<readonly TreeEntry[]> {
  return (await listRecordTree(place, tree, ['.autonomous/projects', '.autonomous/runs'])).filter(({ mode }) =>
    isFileMode(mode),
  );
}

async function listBounded(place: GitPlace, args: readonly string[]): Promise<TreeEntry[]> {
  const { stdout, truncated } = await runGit(place, {
    args: ['ls-tree', '-z', ...args],
    maxOutputBytes: MAX_RECORD_BYTES,
  });
  if (!truncated) return (await TreeListing.of(stdout)).entries();
  throw new NeedsHuman(
    'setup_failed',
    `The branch '${RECORD_BRANCH}' of the remote names more files than the server reads: the list has more than ${MAX_RECORD_BYTES / 1024 / 1024} MB. Push a commit to it that removes what no server of yours wrote`,
  );
}
