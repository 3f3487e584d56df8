/** Trees by plumbing: reading, editing, comparing and merging them without a work tree, in few processes. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FileChange, NeedsHuman, showHiddenInLine } from '@autonomous/shared';
import type { OwnedPaths } from '../../documents/owned-files.ts';
import {
  type GitAnswer,
  type GitCall,
  GitFailure,
  type GitPlace,
  gitText,
  objectFacts,
  readObjects,
  runGit,
  splitNul,
} from './git.ts';
import type { MergeResult } from '../repository.ts';
import { EMPTY_TREE, isAtOrUnder, OWN_FOLDER } from '../repository-paths.ts';
import { eachInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { mergeBase } from './git-refs.ts';
import { FILE_MODE, TreeListing, type TreeEntry } from './tree-listing.ts';

/** One change to a tree; `oid: null` removes the path. */
export interface TreeEdit {
  readonly path: string | Buffer;
  readonly mode: string;
  readonly oid: string | null;
}

/** Half a million files of usual paths. A tree of a few objects can name any number of files: folders may share their contents. */
const MAX_LISTING_BYTES = 64 * 1024 * 1024;
/** A hundred thousand changed files of usual paths. */
const MAX_CHANGES_BYTES = 24 * 1024 * 1024;

/**
 * Runs a command that lists changes.
 * @throws {NeedsHuman} `setup_failed` where the list has more than 24 MB
 */
export async function runChanges(place: GitPlace, call: Omit<GitCall, 'maxOutputBytes'>): Promise<Buffer> {
  const { stdout, truncated } = await runGit(place, { ...call, maxOutputBytes: MAX_CHANGES_BYTES });
  if (!truncated) return stdout;
  throw new NeedsHuman(
    'setup_failed',
    "The project's branches differ in more files than the server reads: the list of the changes has more than 24 MB. Remove generated files from the branch, then start a new run",
  );
}

/**
 * Lists all that is in a tree.
 * @throws {NeedsHuman} `setup_failed` where the list of its paths has more than 64 MB
 */
export async function listTree(place: GitPlace, treeish: string): Promise<TreeListing> {
  const { stdout, truncated } = await runGit(place, {
    args: ['ls-tree', '-r', '-z', '--full-tree', '--end-of-options', treeish],
    dependsOn: [treeish],
    maxOutputBytes: MAX_LISTING_BYTES,
  });
  if (!truncated) return TreeListing.of(stdout);
  // Without the id: the record brings along each tree that the log names.
  throw new NeedsHuman(
    'setup_failed',
    "The project's branch contains more files than the server reads: the list of their paths has more than 64 MB. Remove generated files from the branch, then start a new run",
  );
}

export function bytesOf(path: string | Buffer): Buffer {
  return typeof path === 'string' ? Buffer.from(path) : path;
}

/**
 * Reads a tree as an edit would.
 * @throws {GitFailure} or {NeedsHuman} for one that git refuses
 */
export async function checkTree(place: GitPlace, tree: string): Promise<void> {
  await withScratch(place, async (scratch) => {
    await runGit(place, { indexFile: join(scratch, 'index'), args: ['read-tree', '--end-of-options', tree] });
  });
}

/** The tree after these edits; a file replaces a folder of its name and the other way round. */
export async function editTree(place: GitPlace, tree: string, edits: readonly TreeEdit[]): Promise<string> {
  if (edits.length === 0) return tree;
  return withScratch(place, async (scratch) => {
    const indexFile = join(scratch, 'index');
    if (tree !== EMPTY_TREE) await runGit(place, { indexFile, args: ['read-tree', '--end-of-options', tree] });
    // Removals first: they make room for a folder where a file was.
    const ordered = [...edits.filter(({ oid }) => oid === null), ...edits.filter(({ oid }) => oid !== null)];
    await editIndex(place, indexFile, ordered);
    return gitText(place, { indexFile, args: ['write-tree'] });
  });
}

/** Edits a file of git's index. Those that remove have to come first where a folder takes the place of a file. */
export async function editIndex(place: GitPlace, indexFile: string, edits: readonly TreeEdit[]): Promise<void> {
  if (edits.length === 0) return;
  const lines: string[] = [];
  await eachInSlices(edits, ({ path, mode, oid }) =>
    lines.push(oid === null ? `0 ${'0'.repeat(40)}\t` : `${mode} ${oid}\t`, bytesOf(path).toString('latin1'), '\0'),
  );
  const input = Buffer.from(lines.join(''), 'latin1');
  const { stderr } = await runGit(place, { indexFile, args: ['update-index', '-z', '--index-info'], input });
  // It ends well all the same, and what was judged with the path would be another thing without it.
  const [, dropped] = /^Ignoring path (.*)$/m.exec(stderr) ?? [];
  if (dropped !== undefined) throw new Error(`git takes nothing at the path '${showHiddenInLine(dropped)}'`);
}

/** Contents of files as UTF-8, by path. */
export async function readTexts(place: GitPlace, entries: readonly TreeEntry[]): Promise<Map<string, string>> {
  const contents = await readContents(
    place,
    entries.map(({ oid }) => oid),
  );
  return new Map(entries.map(({ path, oid }) => [path, contents.get(oid)?.toString('utf8') ?? '']));
}

/** Contents of blobs by id. @throws {GitFailure} when one of them is lost */
export async function readContents(place: GitPlace, oids: readonly string[]): Promise<Map<string, Buffer>> {
  const objects = await readObjects(
    place,
    oids.map((name) => ({ name, withContent: true })),
  );
  const contents = new Map<string, Buffer>();
  for (const [index, oid] of oids.entries()) {
    const content = objects[index]?.content;
    contents.set(
      oid,
      content === undefined
        ? (await runGit(place, { args: ['cat-file', 'blob', oid] })).stdout
        : Buffer.from(content.buffer, content.byteOffset, content.byteLength),
    );
  }
  return contents;
}

export async function readContent(place: GitPlace, oid: string): Promise<Buffer> {
  return (await readContents(place, [oid])).get(oid) as Buffer;
}

/** The files that have at most so many bytes, as long as they have no more than so many together; nothing of the others is read. */
export async function withoutLarge(
  place: GitPlace,
  entries: readonly TreeEntry[],
  maxBytes: number,
  maxTotalBytes: number = Number.POSITIVE_INFINITY,
): Promise<readonly TreeEntry[]> {
  const objects = await objectFacts(
    place,
    entries.map(({ oid }) => oid),
  );
  let total = 0;
  return entries.filter((_, index) => {
    const size = objects[index]?.bytes ?? Number.NaN;
    if (size > maxBytes || total + size > maxTotalBytes) return false;
    total += size;
    return true;
  });
}

/** Stores contents as blobs. @returns their ids, in the same order */
export async function writeBlobs(place: GitPlace, contents: readonly (string | Uint8Array)[]): Promise<string[]> {
  if (contents.length === 0) return [];
  return withScratch(place, async (scratch) => {
    const paths = contents.map((_, index) => join(scratch, String(index)));
    await writeEach(paths.map((path, index) => [path, contents[index] ?? '']));
    return writeBlobsFrom(place, paths);
  });
}

/** Files that are open at once: each takes a descriptor of the server, which others need too. */
const WRITTEN_AT_ONCE = 64;

/** Writes files, of which there may be tens of thousands. */
export async function writeEach(files: readonly (readonly [string, string | Uint8Array])[]): Promise<void> {
  for (let at = 0; at < files.length; at += WRITTEN_AT_ONCE)
    await Promise.all(files.slice(at, at + WRITTEN_AT_ONCE).map(([path, content]) => writeFile(path, content)));
}

/** Stores files of the server as blobs, byte by byte. @returns their ids, in the same order */
export async function writeBlobsFrom(place: GitPlace, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const text = await gitText(place, {
    args: ['hash-object', '-w', '--no-filters', '--stdin-paths'],
    input: paths.map((path) => `${path}\n`).join(''),
  });
  return text.split('\n');
}

/**
 * The tree without `.autonomous/runs/`, `.autonomous/memory.md` and engine-owned files; a folder that then holds nothing is left
 * out as well.
 */
export async function makeCodeTree(place: GitPlace, tree: string, owned: OwnedPaths | null = null): Promise<string> {
  const own = owned === null ? [] : await (await listTree(place, tree)).filter((path) => owned.has(path));
  const removed = own.map(({ rawPath, mode }): TreeEdit => ({ path: rawPath, mode, oid: null }));
  return withoutRecord(place, await editTree(place, tree, removed));
}

async function withoutRecord(place: GitPlace, tree: string): Promise<string> {
  const root = await listLevel(place, tree);
  const own = root.find(({ path, mode }) => path === OWN_FOLDER && mode === '040000');
  if (own === undefined) return tree;
  const inside = await listLevel(place, own.oid);
  const kept = inside.filter(({ path, mode }) => !(path === 'runs' && mode === '040000') && path !== 'memory.md');
  if (kept.length === inside.length) return tree;
  const folder = kept.length === 0 ? [] : [{ ...own, oid: await makeTree(place, kept) }];
  return makeTree(place, [...root.filter((entry) => entry !== own), ...folder]);
}

async function listLevel(place: GitPlace, tree: string): Promise<TreeEntry[]> {
  const { stdout } = await runGit(place, { args: ['ls-tree', '-z', '--end-of-options', tree], dependsOn: [tree] });
  return (await TreeListing.of(stdout)).entries();
}

async function makeTree(place: GitPlace, entries: readonly TreeEntry[]): Promise<string> {
  const types: Readonly<Record<string, string>> = { '040000': 'tree', '160000': 'commit' };
  const lines = entries.flatMap(({ mode, oid, rawPath }) => [
    Buffer.from(`${mode} ${types[mode] ?? 'blob'} ${oid}\t`),
    bytesOf(rawPath),
    Buffer.of(0),
  ]);
  return gitText(place, { args: ['mktree', '-z', '--missing'], input: Buffer.concat(lines) });
}

/** Changes between two trees. A rename is a removal and an addition. Binary files count no lines. */
export async function diffFiles(place: GitPlace, from: string, to: string): Promise<FileChange[]> {
  if (from === to) return [];
  const stdout = await runChanges(place, {
    args: [
      'diff-tree',
      '-r',
      '-z',
      '--raw',
      '--numstat',
      '--no-renames',
      '--no-ext-diff',
      '--no-textconv',
      '--end-of-options',
      from,
      to,
    ],
  });
  const parts = splitNul(stdout).map((part) => part.toString('utf8'));
  const statuses = new Map<string, FileChange['status']>();
  const changes: FileChange[] = [];
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? '';
    // The raw lines `:<modes> <oids> <status>`, each followed by its path, come before all of `<added>\t<removed>\t<path>`.
    if (part.startsWith(':')) {
      const letter = part.at(-1);
      statuses.set(parts[++index] ?? '', letter === 'A' ? 'added' : letter === 'D' ? 'deleted' : 'modified');
    } else {
      const [added = '', removed = '', ...path] = part.split('\t');
      const name = path.join('\t');
      changes.push({
        path: name,
        status: statuses.get(name) ?? 'modified',
        additions: lines(added),
        deletions: lines(removed),
      });
    }
  }
  return changes;
}

/** The edits that make one tree into the other. */
export async function diffTrees(place: GitPlace, from: string, to: string): Promise<TreeEdit[]> {
  const stdout = await runChanges(place, {
    args: ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--end-of-options', from, to],
  });
  const parts = splitNul(stdout);
  const edits: TreeEdit[] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    // `:<mode before> <mode> <oid before> <oid> <status>`, then the path.
    const [, mode = '', , oid = '', status = ''] = parts[index]?.toString('latin1').split(' ') ?? [];
    edits.push({ path: parts[index + 1] ?? '', mode, oid: status === 'D' ? null : oid });
  }
  return edits;
}

function lines(count: string): number {
  return count === '-' ? 0 : Number(count);
}

/**
 * Merges two commits in the object store alone. Files in the own folder are merged path by path: git would take similar
 * plans for renames of each other, and apply the changes of one run to the plan of another. An engine-owned file whose lines
 * both have changed is taken from `theirs`.
 */
export async function mergeCommits(
  place: GitPlace,
  ours: string,
  theirs: string,
  owned: OwnedPaths,
): Promise<MergeResult> {
  const { stdout } = await runGit(place, {
    args: ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs],
    accept: [0, 1],
  });
  const [merged = '', ...named] = splitNul(stdout).map((part) => part.toString('utf8'));
  const inOwn = named.filter((path) => owned.has(path));
  const conflicts = withoutDecided(named, owned);
  const files = await withFilesOf(place, merged, theirs, inOwn);
  const tree = await withOwnFolder(place, files, await mergeOwnFolder(place, ours, theirs));
  return conflicts.length > 0 ? { ok: false, conflicts, tree } : { ok: true, tree };
}

/** Conflicts that remain when those of the own folder and of engine-owned files are decided. Sorted. */
function withoutDecided(named: readonly string[], owned: OwnedPaths): readonly string[] {
  const conflicts = new Set(named.filter((path) => !isAtOrUnder(path, OWN_FOLDER) && !owned.has(path)));
  return [...conflicts].sort();
}

/** Limits of one process that merges many pairs, and of one that merges a single pair. */
const PAIRS_LIMIT_MS = 120_000;
const PAIR_LIMIT_MS = 20_000;

/**
 * Finds the conflicts that merges of these pairs would have, in one process. The objects of the merges are written beside the
 * mirror and removed.
 * @returns for each pair what `mergeCommits` names; `null` where git cannot merge it
 */
export async function findConflicts(
  place: GitPlace,
  pairs: readonly (readonly [ours: string, theirs: string])[],
  owned: OwnedPaths,
  signal?: AbortSignal,
): Promise<readonly (readonly string[] | null)[]> {
  if (pairs.length === 0) return [];
  return withScratch(place, async (scratch) => {
    const merge = (args: readonly string[], input: string, timeoutMs: number): Promise<GitAnswer> =>
      runGit(place, {
        args: ['merge-tree', '--write-tree', '--name-only', '--no-messages', ...args],
        input,
        accept: [0, 1],
        env: { GIT_OBJECT_DIRECTORY: scratch, GIT_ALTERNATE_OBJECT_DIRECTORIES: join(place.gitDir, 'objects') },
        timeoutMs,
        signal,
      });
    const input = pairs.map(([ours, theirs]) => `${ours} ${theirs}\n`).join('');
    const found = await merge(['--stdin'], input, PAIRS_LIMIT_MS).then(readConflicts, nullForFailure);
    if (found?.length === pairs.length) return found.map((named) => withoutDecided(named, owned));
    // One pair that git cannot merge, such as one of a lost commit, ends the process for all. Before 2.39 git takes no list.
    const conflicts: (readonly string[] | null)[] = [];
    for (const [ours, theirs] of pairs) {
      const answer = await merge(['-z', ours, theirs], '', PAIR_LIMIT_MS).catch(nullForFailure);
      const [tree, ...named] = answer === null ? [] : splitNul(answer.stdout).map((part) => part.toString('utf8'));
      // For a commit that it does not have git ends as for a conflict, without a tree.
      conflicts.push(tree === undefined ? null : withoutDecided(named, owned));
    }
    return conflicts;
  });
}

/** For each merge its outcome, its tree, the files with conflicts, and an empty part. */
function readConflicts({ stdout }: GitAnswer): readonly (readonly string[])[] {
  const parts = splitNul(stdout).map((part) => part.toString('utf8'));
  const found: string[][] = [];
  for (let index = 0; index < parts.length; index++) {
    const end = parts.indexOf('', index);
    if (end < 0) break;
    found.push(parts.slice(index + 2, end));
    index = end;
  }
  return found;
}

function nullForFailure(error: unknown): null {
  if (error instanceof GitFailure) return null;
  throw error;
}

/** The tree with these files as another one has them, absent ones included. */
async function withFilesOf(place: GitPlace, tree: string, from: string, paths: readonly string[]): Promise<string> {
  if (paths.length === 0) return tree;
  const listing = await listTree(place, from);
  const edits = paths.map((path): TreeEdit => {
    const entry = listing.get(path);
    return { path, mode: entry?.mode ?? FILE_MODE, oid: entry?.oid ?? null };
  });
  return editTree(place, tree, edits);
}

/** The entries of the own folder after a merge: of what only one side has changed its word, of what both have changed theirs. */
async function mergeOwnFolder(place: GitPlace, ours: string, theirs: string): Promise<readonly TreeEntry[]> {
  const base = (await mergeBase(place, ours, theirs)) ?? EMPTY_TREE;
  const [before, mine, others] = await Promise.all([base, ours, theirs].map((from) => listOwnFolder(place, from)));
  const paths = new Set([...(mine?.keys() ?? []), ...(others?.keys() ?? [])]);
  return [...paths].flatMap((path) => {
    const [was, our, their] = [before?.get(path), mine?.get(path), others?.get(path)];
    const isTheirs = was?.oid !== their?.oid || was?.mode !== their?.mode;
    return (isTheirs ? their : our) ?? [];
  });
}

async function listOwnFolder(place: GitPlace, treeish: string): Promise<ReadonlyMap<string, TreeEntry>> {
  const { stdout } = await runGit(place, {
    args: ['ls-tree', '-r', '-z', '--full-tree', treeish, '--', OWN_FOLDER],
    dependsOn: [treeish],
    env: { GIT_LITERAL_PATHSPECS: '1' },
  });
  const entries = await (await TreeListing.of(stdout)).entries();
  return new Map(entries.map((entry) => [bytesOf(entry.rawPath).toString('latin1'), entry]));
}

async function withOwnFolder(place: GitPlace, tree: string, entries: readonly TreeEntry[]): Promise<string> {
  const present = await listOwnFolder(place, tree);
  const removed = [...present.values()].map(({ rawPath, mode }): TreeEdit => ({ path: rawPath, mode, oid: null }));
  return editTree(place, tree, [
    ...removed,
    ...entries.map(({ rawPath, mode, oid }): TreeEdit => ({ path: rawPath, mode, oid })),
  ]);
}

/**
 * Folder of all temporary folders, beside the mirrors: a server that holds the mirrors
 * alone can remove those of earlier processes.
 */
export function scratchOf({ home }: Pick<GitPlace, 'home'>): string {
  return join(dirname(home), '.scratch');
}

/**
 * A folder for temporary files, removed in the end whatever happened.
 * @throws {NeedsHuman} `storage_full` when a disk has no room for them
 */
export async function withScratch<T>(place: Pick<GitPlace, 'home'>, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(scratchOf(place), { recursive: true });
  const folder = await mkdtemp(join(scratchOf(place), 'git-'));
  try {
    return await work(folder);
  } catch (error) {
    if (
      !(error instanceof GitFailure) &&
      error instanceof Error &&
      'code' in error &&
      (error.code === 'ENOSPC' || error.code === 'EDQUOT')
    ) {
      throw new NeedsHuman('storage_full', `The disk is full (${error.message}); free some space, then retry`, {
        cause: error,
      });
    }
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
