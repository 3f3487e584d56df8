/**
 * Changes that can run code by themselves: without anybody calling them, once a file lies in a check-out, a clone, an editor, a
 * CI server or a package installation. Paths by one table, which a project or a server adds to and takes nothing away from;
 * contents of manifests and lockfiles. Pure; strangers write what is read here, so that the server asks its worker for it.
 */
import { showHidden } from '@autonomous/shared';
import { contentReader } from './self-running-content.ts';
import { reasonsBy } from './self-running-paths.ts';

/** A file before and after; `null` where it is not there. */
export interface ChangedFile {
  readonly path: string;
  readonly before: FileState | null;
  readonly after: FileState | null;
}

export interface FileState {
  /** As git writes it: `100755` is an executable file, `120000` a symbolic link, `160000` a submodule. */
  readonly mode: string;
  /** Id of its content. */
  readonly oid: string;
}

export interface SelfRunningChange {
  readonly path: string;
  readonly reason: string;
  /** Identifies what a person accepts: equal for equal content, whatever the base commit is. */
  readonly content: string;
}

/** Facts that a change is judged by, in addition to the table. */
export interface Surroundings {
  /** Patterns of the project and the server, in addition to the table. */
  readonly more?: readonly string[];
  /** Symbolic links: path, and target as in git. The linked file counts as if it were at the link's path. */
  readonly links?: readonly (readonly [path: string, target: string])[];
}

/** Reasons by the file's mode in git, whatever its content. */
const MODES: Readonly<Record<string, string>> = {
  '100755': 'is executable now',
  '120000': 'is a symbolic link now',
  '160000': 'is another repository (a submodule) now',
};
/** Reasons for a changed content, by modes whose content is the name of another place. */
const MOVED: Readonly<Record<string, string>> = {
  '120000': 'is a symbolic link to another place now',
  '160000': 'is another commit of another repository (a submodule) now',
};

/** Most names that links may give to one file. */
const MAX_NAMES = 100;
/** Characters that a list shows of the beginning and of the end of a text. */
const HEAD = 300;
const TAIL = 150;

/**
 * Files whose content has to be read as well, by their paths and by what links make of these: some of their keys run code, the
 * rest does not.
 */
export function withSelfRunningContent(
  files: readonly ChangedFile[],
  { links = [] }: Surroundings = {},
): readonly ChangedFile[] {
  const namesOf = namesThrough(links);
  return files.filter(({ path }) => namesOf(path).some((name) => contentReader(name) !== null));
}

/**
 * Changes that can run code by themselves, in the order of `files`.
 * @param contents by id, of the files that `withSelfRunningContent` gives; one that is missing was too large to be read
 */
export function selfRunningChanges(
  files: readonly ChangedFile[],
  contents: ReadonlyMap<string, Uint8Array | string>,
  { more = [], links = [] }: Surroundings = {},
): readonly SelfRunningChange[] {
  const reasonOf = reasonsBy(more);
  const namesOf = namesThrough(links);
  return files.flatMap((file) => changesOf(file, namesOf(file.path), reasonOf, contents));
}

function changesOf(
  file: ChangedFile,
  names: readonly string[],
  reasonOf: (name: string) => string | null,
  contents: ReadonlyMap<string, Uint8Array | string>,
): readonly SelfRunningChange[] {
  const { path, before, after } = file;
  const how = after === null ? 'removed' : before === null ? 'new' : 'changed';
  const content = after === null ? 'removed' : `${after.mode} ${after.oid}`;
  for (const name of names) {
    const listed = reasonOf(name);
    if (listed !== null) return [{ path, reason: `${how}: ${listed}${through(name, path)}`, content }];
  }
  const mode = modeChange(file);
  return [
    ...(mode === undefined ? [] : [{ path, reason: `${how}: the file ${mode}`, content }]),
    ...names.flatMap((name) => contentChanges(file, name, contents)),
  ];
}

function modeChange({ before, after }: ChangedFile): string | undefined {
  if (after === null) return undefined;
  return after.mode === before?.mode ? MOVED[after.mode] : MODES[after.mode];
}

function through(name: string, path: string): string {
  return name === path ? '' : ` (the link ${shortened(name)} leads to it)`;
}

function contentChanges(
  { path, before, after }: ChangedFile,
  name: string,
  contents: ReadonlyMap<string, Uint8Array | string>,
): readonly SelfRunningChange[] {
  const read = contentReader(name);
  // Of a link its target is read, and a submodule has no content here.
  if (after === null || read === null || after.mode in MOVED) return [];
  const unread = (why: string): readonly SelfRunningChange[] => [
    {
      path,
      reason: `cannot be looked through, and may run code by itself: it ${why}${through(name, path)}`,
      content: after.oid,
    },
  ];
  const [was, is] = [before === null ? '' : contents.get(before.oid), contents.get(after.oid)];
  if (is === undefined || was === undefined) return unread('is too large');
  let now: ReadonlyMap<string, string>;
  try {
    now = read(textOf(is));
  } catch (error) {
    return unread(`is not what its name says (${shortened(error instanceof Error ? error.message : String(error))})`);
  }
  const known = knownOf(read, was);
  return [...now]
    .filter(([key, value]) => known.get(key) !== value)
    .map(([key, value]) => ({
      path,
      reason: `${known.has(key) ? 'changed' : 'new'}: ${shortened(value === '' ? key : `${key}: ${value}`)}${through(name, path)}`,
      content: `${key}=${value}`,
    }));
}

/** Parts of the earlier text that count; none if the text cannot be read. */
function knownOf(
  read: (text: string) => ReadonlyMap<string, string>,
  was: Uint8Array | string,
): ReadonlyMap<string, string> {
  try {
    return read(textOf(was));
  } catch {
    return new Map();
  }
}

function textOf(content: Uint8Array | string): string {
  const text = typeof content === 'string' ? content : new TextDecoder('utf-8', { fatal: true }).decode(content);
  if (text.includes('\0')) throw new Error('it is no text');
  return text;
}

/** On one line; the middle of a long text is left out, with a mark that says how much. */
function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const cut = line.length - HEAD - TAIL;
  if (cut <= 40) return showHidden(line);
  return showHidden(`${line.slice(0, HEAD)} [… ${cut} characters are left out here …] ${line.slice(-TAIL)}`);
}

// ---- names

/** All names of a path: itself, and those that links give to it and to the folders above it. */
function namesThrough(
  links: readonly (readonly [path: string, target: string])[],
): (path: string) => readonly string[] {
  const byTarget = linksByTarget(links);
  if (byTarget.size === 0) return (path) => [path];
  return (path) => {
    const names = new Set([path]);
    for (const name of names) {
      for (let end = name.length; end > 0; end = name.lastIndexOf('/', end - 1)) {
        for (const link of byTarget.get(name.slice(0, end)) ?? []) {
          if (names.size < MAX_NAMES) names.add(`${link}${name.slice(end)}`);
        }
      }
    }
    return [...names];
  };
}

/** Paths of links by the path that each leads to; what leads out of the tree is left out. */
function linksByTarget(
  links: readonly (readonly [path: string, target: string])[],
): ReadonlyMap<string, readonly string[]> {
  const byTarget = new Map<string, string[]>();
  for (const [path, target] of links) {
    const to = within(path.split('/').slice(0, -1), target);
    if (to === null || to === '') continue;
    const known = byTarget.get(to);
    if (known === undefined) byTarget.set(to, [path]);
    else known.push(path);
  }
  return byTarget;
}

function within(folder: readonly string[], target: string): string | null {
  if (target.startsWith('/')) return null;
  const parts = [...folder];
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join('/');
}
