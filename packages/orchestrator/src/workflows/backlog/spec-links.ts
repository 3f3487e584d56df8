/** Paths of specs: those that a row of a backlog names, and the file that belongs to an item. Pure. */

/**
 * Paths of Markdown files in a cell, as they are written: targets of links, else other words that end in `.md`. Addresses of
 * other hosts are none.
 */
export function pathsInCell(raw: string): readonly string[] {
  const targets = raw.split('](').slice(1).map(targetOf);
  const linked = targets.filter((target) => isMarkdownPath(target));
  if (linked.length > 0) return [...new Set(linked)];
  const words = raw.split(/[\s`|,;()<>"'*[\]]+/).map(withoutAnchor);
  return [...new Set(words.filter((word) => isMarkdownPath(word)))];
}

/** A file that may be a spec. */
export interface SpecFile {
  /** Path in the repository. */
  readonly path: string;
  /** Title of its text (`readSpec`); `null`: it has none. */
  readonly title: string | null;
}

export type FoundSpec =
  | { readonly kind: 'found'; readonly path: string }
  /** Each message is a sentence that names the item and the way out. */
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'ambiguous'; readonly paths: readonly string[]; readonly message: string };

/**
 * Finds the spec of an item: by the path in its row, else by a file name that begins with its whole id, else by its id in
 * brackets in the spec's own title.
 * @param backlogPath path of the backlog in the repository; a row's path is relative to its folder or to the repository
 * @param specs files that may be specs, in any order
 */
export function findSpec(
  item: { readonly id: string; readonly specPath: string | null },
  backlogPath: string,
  specs: readonly SpecFile[],
): FoundSpec {
  const paths = new Set(specs.map(({ path }) => path));
  const folder = backlogPath.split('/').slice(0, -1).join('/');
  for (const from of item.specPath === null ? [] : [folder, '']) {
    const path = resolved(from, item.specPath ?? '');
    if (path !== null && paths.has(path)) return { kind: 'found', path };
  }
  const named = namedSpecs(specs, item.id);
  const titled = (named.length > 0 ? named : specs).filter(({ title }) => title?.includes(`[${item.id}]`) === true);
  const [found, ...more] = named.length === 1 || titled.length === 0 ? named : titled;
  if (found === undefined) return { kind: 'missing', message: missing(item) };
  return more.length === 0 ? { kind: 'found', path: found.path } : ambiguous(item.id, [found, ...more]);
}

/** A file with the id alone for its name counts before those with more words, which may be parts of it. */
function namedSpecs(specs: readonly SpecFile[], id: string): readonly SpecFile[] {
  const nameOf = ({ path }: SpecFile): string => path.slice(path.lastIndexOf('/') + 1);
  const exact = specs.filter((spec) => nameOf(spec) === `${id}.md`);
  return exact.length > 0 ? exact : specs.filter((spec) => beginsWithId(nameOf(spec), id));
}

function missing({ id, specPath }: { readonly id: string; readonly specPath: string | null }): string {
  const named = specPath === null ? '' : ` Its row names '${specPath.slice(0, 200)}', which is not there.`;
  return `Item ${id} has no spec.${named} Link the spec in its row, or call the file '${id}-title.md'.`;
}

function ambiguous(id: string, specs: readonly SpecFile[]): FoundSpec {
  const paths = specs.map(({ path }) => path).sort();
  const shown = paths.slice(0, 5).join(', ');
  return { kind: 'ambiguous', paths, message: `Item ${id} has several specs: ${shown}. Link one of them in its row.` };
}

/** `TECH-6.md`, `TECH-6-title.md` and `TECH-6 title.md` begin with TECH-6, but not with TECH; `TECH-65.md` and `TECH-6.1.md` do not. */
function beginsWithId(name: string, id: string): boolean {
  const next = name.startsWith(id) ? name.slice(id.length) : '';
  return /^(?:[-_ ]|\.(?!\d))/.test(next) && (/\d$/.test(id) || !/^[-_ ]\d/.test(next));
}

function isMarkdownPath(word: string): boolean {
  return /[^/]\.md$/i.test(word.slice(-5)) && !/^(?:[a-z][a-z0-9+.-]{1,30}:|\/\/)/i.test(word);
}

function targetOf(rest: string): string {
  const inside = rest.startsWith('<') ? rest.slice(1).split('>', 1)[0] : rest.split(/[\s)]/, 1)[0];
  return decoded(withoutAnchor(inside ?? ''));
}

function withoutAnchor(path: string): string {
  return path.split(/[#?]/, 1)[0] ?? '';
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** @returns `null` for a path that leads out of the repository */
function resolved(folder: string, path: string): string | null {
  const names = path.startsWith('/') || folder === '' ? [] : folder.split('/');
  for (const name of path.split('/')) {
    if (name === '..' && names.pop() === undefined) return null;
    if (name !== '..' && name !== '.' && name !== '') names.push(name);
  }
  return names.join('/');
}
