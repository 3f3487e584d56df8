/**
 * Computes the difference between two trees as people and reviewers see it: git's list of files, and a patch in which every
 * file has its share. The attributes of a mirror make git treat source code as text, whatever its content. Other files that
 * git treats as binary because of a NUL byte are shown as text unless their content speaks against it.
 */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { FileChange, RunDiff } from '@autonomous/shared';
import { type RawFile, readPatch } from '@autonomous/shared/presentation';
import { ownedPaths } from '../../documents/owned-files.ts';
import { changeWarnings } from '../change-warnings.ts';
import { type GitPlace, objectFacts, runGit, splitNul } from './git.ts';
import { readBlobs } from './git-outgoing.ts';
import { countLines, limitPatches } from '../patch-limits.ts';
import type { DiffOptions } from '../repository.ts';
import { isKnownBinary, isText } from '../text-files.ts';

/** Most bytes of patch in an answer. */
const MAX_PATCH_BYTES = 1024 * 1024;
/** Most bytes of patch that are read in one go: parsing them blocks the server. */
const READ_BYTES = 1024 * 1024;
/** Most commands that read the rest of a larger change, small files first: a few huge files keep no other from being read. */
const READS = 12;
/** Most files whose content is looked at to see whether it is text, and most bytes of them. */
const MAX_LOOKED_AT = 1_000;
const LOOKED_AT_BYTES = 8 * 1024 * 1024;
/** Bytes at the beginning of each that decide whether it is text. */
const BEGINNING_BYTES = 64 * 1024;
/** Most files that are asked for by name in one command, and most bytes of their names: git compares each with each path. */
const MAX_NAMED = 500;
const MAX_NAME_BYTES = 256 * 1024;
/** Files whose warnings are looked for before others have their turn. */
const FILES_AT_ONCE = 200;

interface Change extends Pick<FileChange, 'path' | 'status' | 'additions' | 'deletions'> {
  readonly isBinary: boolean;
  /** Object ids; `null` where there is no file. */
  readonly before: string | null;
  readonly after: string | null;
}

/**
 * @returns every file in git's order; renames are a removal and an addition
 */
export async function readDiff(
  place: GitPlace,
  from: string,
  to: string,
  { leaveOut = [], engineWritten = [], maxBytes = MAX_PATCH_BYTES }: DiffOptions,
): Promise<Pick<RunDiff, 'files' | 'patch' | 'truncated'>> {
  if (from === to) return { files: [], patch: '', truncated: false };
  const without = leaveOut.map((folder) => `:(top,exclude,literal)${folder}`);
  const scope = { from, to, paths: without.length === 0 ? [] : [':(top)', ...without] };
  const [listed, first] = await Promise.all([listChanges(place, scope), readSome(place, scope)]);
  const raw = await readRest(place, scope, listed, first);
  const binary = await lookAtBinaries(place, scope, listed, raw);
  const limited = limitPatches(raw, maxBytes);
  const own = ownedPaths(engineWritten);
  const files: FileChange[] = [];
  for (const [index, change] of listed.entries()) {
    if (index % FILES_AT_ONCE === 0) await othersFirst();
    const { path, status } = change;
    const isBinary = change.isBinary && !binary.asText.has(path);
    const { additions, deletions } = binary.asText.get(path) ?? change;
    const shown = limited.get(path) ?? { added: 0, removed: 0 };
    const leftOut = { additions: additions - shown.added, deletions: deletions - shown.removed };
    const file = raw.get(path);
    const isForcedText = binary.asText.has(path) || hasNul(file);
    const warnings = own.has(path) ? [] : await changeWarnings({ path, status, isBinary, isForcedText, file });
    files.push({
      path,
      status,
      additions,
      deletions,
      ...(isBinary
        ? {
            binary: {
              before: sizeOf(change.before, binary.sizes),
              after: sizeOf(change.after, binary.sizes),
              ...(isKnownBinary(path) ? {} : { isOfUnknownKind: true as const }),
            },
          }
        : {}),
      ...(isBinary || (leftOut.additions === 0 && leftOut.deletions === 0) ? {} : { leftOut }),
      ...(warnings.length === 0 ? {} : { warnings }),
    });
  }
  const patch = listed.flatMap(({ path }) => limited.get(path)?.text ?? []).join('');
  return { files, patch, truncated: files.some(({ leftOut }) => leftOut !== undefined) };
}

interface Scope {
  readonly from: string;
  readonly to: string;
  /** Pathspecs; empty for everything. */
  readonly paths: readonly string[];
}

const FLAGS = ['-r', '--no-renames', '--no-color', '--no-ext-diff', '--no-textconv'];

function diffArgs(flags: readonly string[], { from, to, paths }: Scope): readonly string[] {
  return ['diff-tree', ...FLAGS, ...flags, '--end-of-options', from, to, '--', ...paths];
}

async function listChanges(place: GitPlace, scope: Scope): Promise<readonly Change[]> {
  const { stdout } = await runGit(place, { args: diffArgs(['-z', '--raw', '--numstat'], scope) });
  const parts = splitNul(stdout).map((part) => part.toString('utf8'));
  const raws = new Map<string, Pick<Change, 'status' | 'before' | 'after'>>();
  const changes: Change[] = [];
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? '';
    // The raw lines `:<modes> <oids> <status>`, each followed by its path, come before all of `<added>\t<removed>\t<path>`.
    if (part.startsWith(':')) {
      const [, , before = '', after = '', letter] = part.split(' ');
      raws.set(parts[++index] ?? '', {
        status: letter === 'A' ? 'added' : letter === 'D' ? 'deleted' : 'modified',
        before: isNone(before) ? null : before,
        after: isNone(after) ? null : after,
      });
    } else {
      const [added = '', removed = '', ...rest] = part.split('\t');
      const path = rest.join('\t');
      const isBinary = added === '-';
      const raw = raws.get(path) ?? { status: 'modified', before: null, after: null };
      changes.push({
        path,
        ...raw,
        isBinary,
        additions: isBinary ? 0 : Number(added),
        deletions: isBinary ? 0 : Number(removed),
      });
    }
  }
  return changes;
}

function isNone(oid: string): boolean {
  return /^0+$/.test(oid);
}

interface PatchRead {
  readonly files: ReadonlyMap<string, RawFile>;
  /** There was more: the last file may be without its end. */
  readonly truncated: boolean;
}

/** The patch of a scope, as much as is read at one go. */
async function readSome(place: GitPlace, scope: Scope, flags: readonly string[] = []): Promise<PatchRead> {
  const { stdout, truncated } = await runGit(place, {
    args: diffArgs([...flags, '-p'], scope),
    maxOutputBytes: READ_BYTES,
  });
  const whole = truncated ? stdout.subarray(0, stdout.lastIndexOf(10) + 1) : stdout;
  return { files: readPatch(whole.toString('utf8')), truncated };
}

/** The patches of all files, where needed in several goes: each asks for what those before did not come to, small files first. */
async function readRest(
  place: GitPlace,
  scope: Scope,
  listed: readonly Change[],
  first: PatchRead,
  flags: readonly string[] = [],
): Promise<Map<string, RawFile>> {
  const changes = new Map(listed.map((change) => [change.path, change]));
  const raw = new Map(wholeOf(first, changes));
  if (!first.truncated) return raw;
  let waiting = await bySize(
    place,
    listed.filter(({ path }) => !raw.has(path)),
  );
  for (let reads = 1; waiting.length > 0 && reads < READS; reads++) {
    const asked = firstOf(waiting);
    const more = await readSome(place, { ...scope, paths: asked.map(literal) }, flags);
    for (const [path, file] of wholeOf(more, changes)) raw.set(path, file);
    const answered = new Set(more.truncated ? [] : asked);
    waiting = waiting.filter(({ path }) => !raw.has(path) && !answered.has(path));
  }
  return raw;
}

/** Files that were read to their end, and the first one in any case: nothing more would be read of it another time. */
function wholeOf({ files, truncated }: PatchRead, changes: ReadonlyMap<string, Change>): readonly [string, RawFile][] {
  const read = [...files];
  const last = read.at(-1);
  if (!truncated || read.length < 2 || last === undefined) return read;
  const [path, file] = last;
  const { added, removed } = countLines(file);
  const change = changes.get(path);
  return change?.additions === added && change.deletions === removed && !change.isBinary ? read : read.slice(0, -1);
}

interface Sized {
  readonly path: string;
  /** Estimated length of its patch. */
  readonly bytes: number;
}

async function bySize(place: GitPlace, changes: readonly Change[]): Promise<readonly Sized[]> {
  const texts = changes.filter(({ isBinary }) => !isBinary);
  const sizes = await sizesOf(place, oidsOf(texts));
  const sized = changes.map(({ path, isBinary, before, after, additions, deletions }): Sized => {
    const contents = (sizeOf(before, sizes) ?? 0) + (sizeOf(after, sizes) ?? 0);
    const lines = (additions + deletions + LINES_AROUND) * LINE_BYTES;
    return { path, bytes: 4 * path.length + HEADER_BYTES + (isBinary ? 0 : Math.min(contents, lines)) };
  });
  return sized.toSorted((one, other) => one.bytes - other.bytes);
}

/** Guesses, which decide alone in which order files are asked for. */
const [LINES_AROUND, LINE_BYTES, HEADER_BYTES] = [6, 200, 200];

/** As many as may fit into one go, and into one command. */
function firstOf(waiting: readonly Sized[]): readonly string[] {
  const paths: string[] = [];
  let [bytes, nameBytes] = [0, 0];
  for (const each of waiting.slice(0, MAX_NAMED)) {
    bytes += each.bytes;
    nameBytes += Buffer.byteLength(each.path);
    if (paths.length > 0 && (bytes > READ_BYTES || nameBytes > MAX_NAME_BYTES)) break;
    paths.push(each.path);
  }
  return paths;
}

function literal(path: string): string {
  return `:(top,literal)${path}`;
}

type LineCounts = Pick<FileChange, 'additions' | 'deletions'>;

interface Binaries {
  /** Files that are text all the same, by path; their patches are in `raw` now. */
  readonly asText: ReadonlyMap<string, LineCounts>;
  /** Bytes by object id. */
  readonly sizes: ReadonlyMap<string, number>;
}

async function lookAtBinaries(
  place: GitPlace,
  scope: Scope,
  listed: readonly Change[],
  raw: Map<string, RawFile>,
): Promise<Binaries> {
  const binaries = listed.filter(({ isBinary }) => isBinary);
  if (binaries.length === 0) return { asText: new Map(), sizes: new Map() };
  const sizes = await sizesOf(place, oidsOf(binaries));
  const asText = new Map(await textsAmong(place, binaries, sizes));
  if (asText.size === 0) return { asText, sizes };
  const texts = binaries.flatMap((change): readonly Change[] => {
    const counts = asText.get(change.path);
    return counts === undefined ? [] : [{ ...change, ...counts, isBinary: false }];
  });
  const some = { ...scope, paths: texts.slice(0, MAX_NAMED).map(({ path }) => literal(path)) };
  const first = await readSome(place, some, ['--text']);
  const isAll = !first.truncated && texts.length <= MAX_NAMED;
  const files = isAll ? first.files : await readRest(place, scope, texts, { ...first, truncated: true }, ['--text']);
  for (const { path } of texts) {
    const file = files.get(path);
    // The first read left an entry that only states that git takes the file for binary.
    raw.delete(path);
    if (file === undefined) continue;
    raw.set(path, file);
    // Git's own list never counts lines of these files. When the patch was cut, the count
    // of the file's whole content stays.
    if (!isAll) continue;
    const { added, removed } = countLines(file);
    asText.set(path, { additions: added, deletions: removed });
  }
  return { asText, sizes };
}

/** Those that are text, as many as are looked at, with as many lines as their contents have. */
async function textsAmong(
  place: GitPlace,
  binaries: readonly Change[],
  sizes: ReadonlyMap<string, number>,
): Promise<readonly (readonly [path: string, counts: LineCounts])[]> {
  // Files without a known binary name come first, small ones before large ones: a change
  // of many pictures is not read whole.
  const bytesOf = ({ before, after }: Change): number => (sizeOf(before, sizes) ?? 0) + (sizeOf(after, sizes) ?? 0);
  const doubtful = binaries.toSorted(
    (one, other) =>
      Number(isKnownBinary(one.path)) - Number(isKnownBinary(other.path)) || bytesOf(one) - bytesOf(other),
  );
  let left = LOOKED_AT_BYTES;
  const looked = doubtful.slice(0, MAX_LOOKED_AT).filter((change) => {
    left -= bytesOf(change);
    return left >= 0;
  });
  const contents = await readBlobs(place, oidsOf(looked), LOOKED_AT_BYTES);
  return looked.flatMap(({ path, before, after }) => {
    const [old, now] = [before, after].map((oid) => (oid === null ? undefined : contents.get(oid)));
    const content = now ?? old;
    if (content === undefined || !isText(path, content.subarray(0, BEGINNING_BYTES))) return [];
    return [[path, { additions: linesIn(now), deletions: linesIn(old) }] as const];
  });
}

function linesIn(content: Buffer | undefined): number {
  if (content === undefined || content.length === 0) return 0;
  let lines = content.at(-1) === 10 ? 0 : 1;
  for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) lines += 1;
  return lines;
}

function hasNul(file: RawFile | undefined): boolean {
  return file?.hunks.some(({ text }) => text.includes('\0')) ?? false;
}

function oidsOf(changes: readonly Change[]): readonly string[] {
  const oids = changes.flatMap(({ before, after }) => [before, after]).filter((oid) => oid !== null);
  return [...new Set(oids)];
}

async function sizesOf(place: GitPlace, oids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const objects = await objectFacts(place, oids);
  // A submodule's commit is not in the mirror.
  return new Map(oids.map((oid, index) => [oid, objects[index]?.bytes ?? 0]));
}

function sizeOf(oid: string | null, sizes: ReadonlyMap<string, number>): number | null {
  return oid === null ? null : (sizes.get(oid) ?? 0);
}
