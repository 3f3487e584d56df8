/**
 * Computes the content that a push would show to others: changes by mode and content, and
 * the new part of a commit's history.
 */
import { type GitPlace, objectFacts, runGit, splitNul } from './git.ts';
import { readContents, runChanges } from './git-trees.ts';
import { SYMLINK_MODE, type TreeListing } from './tree-listing.ts';
import { type NewHistory, RECORD_BRANCH, type TreeChange } from '../repository.ts';
import { MAX_TARGET_BYTES } from '../tree-links.ts';

const NOTHING = '0'.repeat(40);
/** Branches of the record, as patterns. */
const RECORDS = [RECORD_BRANCH, `${RECORD_BRANCH}-[0-9][0-9][0-9][0-9]`];

/** Changes between two trees. A rename is a removal and an addition. */
export async function treeChanges(place: GitPlace, from: string, to: string): Promise<TreeChange[]> {
  const stdout = await runChanges(place, {
    args: ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', '--end-of-options', from, to],
    dependsOn: [from, to],
  });
  return readChanges(splitNul(stdout).map((part) => part.toString('utf8')));
}

/** The same for pairs of trees, in one process and in their order. */
export async function changesOfTrees(
  place: GitPlace,
  pairs: readonly (readonly [from: string, to: string])[],
): Promise<readonly (readonly TreeChange[])[]> {
  if (pairs.length === 0) return [];
  const stdout = await runChanges(place, {
    args: ['diff-tree', '--stdin', '-r', '-z', '--raw', '--no-renames', '--no-abbrev'],
    input: pairs.map(([from, to]) => `${from} ${to}\n`).join(''),
  });
  const changes: TreeChange[][] = [];
  const parts = splitNul(Buffer.concat([stdout, Buffer.of(0)])).map((part) => part.toString('utf8'));
  for (let index = 0; index < parts.length; index += 2) {
    // Each pair comes with a line that names it, before its first change or before the line of the next.
    const lines = (parts[index] ?? '').split('\n');
    for (const _pair of lines.slice(1)) changes.push([]);
    const last = lines.at(-1) ?? '';
    if (last !== '') changes.at(-1)?.push(...readChanges([last, parts[index + 1] ?? '']));
  }
  return changes;
}

function readChanges(parts: readonly string[]): TreeChange[] {
  const changes: TreeChange[] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    // `:<mode before> <mode> <oid before> <oid> <status>`, then the path.
    const [modeBefore = '', mode = '', oidBefore = '', oid = ''] = (parts[index] ?? '').slice(1).split(' ');
    changes.push({
      path: parts[index + 1] ?? '',
      before: oidBefore === NOTHING ? null : { mode: modeBefore, oid: oidBefore },
      after: oid === NOTHING ? null : { mode, oid },
    });
  }
  return changes;
}

/** Targets of a tree's symbolic links by path. */
export async function symlinksOf(place: GitPlace, listing: TreeListing): Promise<Map<string, string>> {
  const links = await listing.withMode(SYMLINK_MODE);
  const targets = await readBlobs(place, [...new Set(links.map(({ oid }) => oid))], MAX_TARGET_BYTES);
  return new Map(
    links.flatMap(({ oid, path }) => {
      const target = targets.get(oid);
      return target === undefined ? [] : [[path, target.toString('utf8')] as const];
    }),
  );
}

/**
 * Commits, contents and names that no branch of the remote has, as last fetched.
 * @param beside `record`: the branch of the record counts as well, and there are no names: whole trees may lie under their ids
 */
export async function newHistory(place: GitPlace, head: string, beside?: 'record'): Promise<NewHistory> {
  // The record leads to commits of runs that were never published.
  const without = beside === 'record' ? [] : RECORDS.map((name) => `--exclude=origin/${name}`);
  const isNew = [head, '--not', ...without, '--remotes=origin'];
  // For a merge, only paths that differ from all its parents.
  const names = ['log', '-z', '-c', '--format=', '--name-only', '--no-renames', ...isNew];
  const [log, objects, named] = await Promise.all([
    runGit(place, { args: ['log', '-z', '--format=%H%n%B', ...isNew] }),
    runGit(place, { args: ['rev-list', '--objects', ...isNew] }),
    beside === 'record' ? Buffer.of() : runChanges(place, { args: names }),
  ]);
  const commits = splitNul(log.stdout).map((part) => {
    const text = part.toString('utf8');
    const end = text.indexOf('\n');
    return { id: text.slice(0, end), message: text.slice(end + 1) };
  });
  const paths = splitNul(named).map((part) => part.toString('utf8').trim());
  const listed = objects.stdout.toString('utf8').split('\n');
  const contents = listed.flatMap((line) => {
    const space = line.indexOf(' ');
    // Without a path it is a commit or the tree of one.
    return space === -1 || space === line.length - 1
      ? []
      : [{ oid: line.slice(0, space), path: line.slice(space + 1) }];
  });
  return { commits, paths: [...new Set(paths.filter((path) => path !== ''))], blobs: await onlyBlobs(place, contents) };
}

async function onlyBlobs(
  place: GitPlace,
  named: readonly { readonly oid: string; readonly path: string }[],
): Promise<NewHistory['blobs']> {
  const objects = await objectFacts(
    place,
    named.map(({ oid }) => oid),
  );
  return named.flatMap((each, index) => {
    const object = objects[index];
    return object?.type === 'blob' ? [{ ...each, bytes: object.bytes }] : [];
  });
}

/** Contents by id; what has more than `maxBytes` is left out. */
export async function readBlobs(
  place: GitPlace,
  oids: readonly string[],
  maxBytes: number,
): Promise<Map<string, Buffer>> {
  const objects = await objectFacts(place, oids);
  const wanted = oids.filter((_, index) => {
    const object = objects[index];
    return object?.type === 'blob' && object.bytes <= maxBytes;
  });
  return readContents(place, wanted);
}
