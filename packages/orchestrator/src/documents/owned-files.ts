/** Paths of engine-owned files: files of a repository that the server writes for a run and no agent changes. Pure. */
import { folded } from '../path-rules/folded-path.ts';
import { EVERY, matches, matchesAbove, namesOf, patternOf } from '../path-rules/path-patterns.ts';
import { partlyRunningFormat, reasonsBy } from '../self-running/self-running-paths.ts';

/** Most patterns of one workflow, and most characters of one. */
const MAX_PATTERNS = 50;
const MAX_LENGTH = 500;
const listedReason = reasonsBy([]);

/** Windows opens a device under these names, whatever their ending. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Asks of paths whether a run may change them. */
export interface OwnedPaths {
  /** The path is an owned file, or lies under the name of one. */
  has(path: string): boolean;
  /** A file of this name would take the place of a folder in which an owned file lies. */
  isAbove(path: string): boolean;
}

const NOTHING: OwnedPaths = { has: () => false, isAbove: () => false };

/** @param patterns without faults (`ownedPathFaults`) */
export function ownedPaths(patterns: readonly string[] = []): OwnedPaths {
  if (patterns.length === 0) return NOTHING;
  const known = patterns.map(patternOf);
  return {
    has: (path) => {
      const names = namesOf(path);
      return known.some((pattern) => matches(pattern, names));
    },
    isAbove: (path) => {
      const names = namesOf(path);
      return known.some((pattern) => matchesAbove(pattern, names));
    },
  };
}

/** Faults of the patterns that a workflow declares, one sentence each, to be read after its name. */
export function ownedPathFaults(patterns: unknown): readonly string[] {
  if (!Array.isArray(patterns))
    return ["its ownedFiles are not a list of paths; give an array such as ['ai/backlog.md']"];
  if (patterns.length > MAX_PATTERNS)
    return [`it owns ${patterns.length} paths, and ${MAX_PATTERNS} are allowed; use patterns such as 'ai/*.md'`];
  return patterns.flatMap((pattern: unknown) => {
    const fault = typeof pattern === 'string' ? patternFault(pattern) : 'it is not a text';
    return fault === null ? [] : [`its owned file ${quoted(pattern)} is invalid: ${fault}`];
  });
}

/** Reasons why no server may write to this path by itself; `null` where it may. */
export function writingFault(path: string): string | null {
  if (listedReason(path) !== null || partlyRunningFormat(path) !== null)
    return 'a file of this name can run code by itself, so that a person has to review its changes';
  return null;
}

function patternFault(pattern: string): string | null {
  if (pattern === '' || pattern.length > MAX_LENGTH) return `a path has 1 to ${MAX_LENGTH} characters`;
  if (pattern.startsWith('/') || /^[a-z]:/i.test(pattern)) return 'a path is relative to the root of the repository';
  const names = pattern.split('/');
  const [first = ''] = names;
  if (first.includes('*')) return 'its first name must be written out, so that it does not own the whole repository';
  if (folded(first) === '.autonomous') return "the server's own folder .autonomous is never a workflow's";
  if (names.filter((name) => name.includes(EVERY)).length > 1) return "'**' may stand in it once";
  for (const name of names) {
    const fault = nameFault(name);
    if (fault !== null) return fault;
  }
  return writingFault(pattern);
}

function nameFault(name: string): string | null {
  if (name === EVERY) return null;
  if (name === '') return 'it has an empty name; leave out // and a slash at its end';
  if (name === '.' || name === '..') return "it must not lead out of its folder by '.' or '..'";
  if (name.includes(EVERY)) return "'**' stands for whole folders and is a name of its own";
  if (folded(name) === '.git') return 'git keeps its own files under this name';
  if (!/^[\p{L}\p{M}\p{N} ._+@()*-]+$/u.test(name))
    return "use letters, digits, spaces and . _ + @ ( ) - in names, and '*'";
  if (/^ |[. ]$/.test(name)) return 'a name begins with no space and ends in neither a space nor a dot';
  if (DEVICE.test(name)) return 'Windows opens a device under this name';
  return null;
}

function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `'${JSON.stringify((text ?? String(value)).slice(0, 100)).slice(1, -1)}'`;
}
