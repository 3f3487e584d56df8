/**
 * Looks for the names of a plan's constraints in the code, as a hint where a person may look: a route whose path or file name is
 * in the code is mentioned, everything else is undecided. Neither proves anything, so that nothing is counted, satisfied or violated.
 */
import type { ConstraintFinding } from '@autonomous/shared';
import { constraintsOf, type ParsedConstraints } from '@autonomous/shared/diagram';

export interface CodeFile {
  /** Path in the repository, with `/`. */
  readonly path: string;
  readonly content: string;
}

/**
 * One result for each constraint, in the plan's order.
 * @param files documentation, tests and files that are no code are passed over, and so is what holds a NUL byte
 */
export function checkConstraints(
  constraints: ParsedConstraints,
  files: readonly CodeFile[],
): readonly ConstraintFinding[] {
  const code = files
    .filter((file) => isProductCode(file.path) && !file.content.includes('\0'))
    .map((file) => ({ path: file.path, names: pathNames(file.path), code: withoutComments(file) }));
  return constraintsOf(constraints).map(({ kind, name }): ConstraintFinding => {
    const where = kind === 'route' ? findRoute(name, code) : null;
    return where === null ? { kind, name, result: 'undecided' } : { kind, name, result: 'mentioned', where };
  });
}

const CODE_FILE =
  /\.(?:[cm]?[jt]sx?|vue|svelte|astro|mdx|html?|php|py|rb|erb|go|rs|java|kts?|scala|cs|cshtml|razor|fsx?|exs?|h?eex|erl|clj[cs]?|dart|swift|lua|p[lm]|elm|hs|ml|ejs|hbs|handlebars|mustache|pug|twig|jinja2?|j2|liquid|templ|tmpl|gohtml|jsp)$/i;
const NO_PRODUCT_FOLDER =
  /(?:^|\/)(?:node_modules|vendor|dist|build|coverage|docs?|documentation|examples?|tests?|__tests__|__mocks__|__fixtures__|fixtures|specs?|e2e|cypress|playwright|stories|\.[^/]+)\//i;
const TEST_FILE =
  /[._-](?:test|tests|spec|specs|cy|e2e|stories)\.|^test[._-]|^conftest\.py$|Tests?\.(?:java|kt|cs|swift|php|scala)$/;

/** Whether a file is code by its name and folder, and neither a test, an example nor made by a build. */
export function isProductCode(path: string): boolean {
  return (
    CODE_FILE.test(path) && !NO_PRODUCT_FOLDER.test(path) && !TEST_FILE.test(path.slice(path.lastIndexOf('/') + 1))
  );
}

interface SearchedFile {
  readonly path: string;
  readonly names: readonly string[];
  /** Without its comments. */
  readonly code: string;
}

/** Words that say "a page" and do not name which. */
const PAGE_WORDS: ReadonlySet<string> = new Set([
  'page',
  'screen',
  'view',
  'form',
  'route',
  'endpoint',
  'the',
  'a',
  'an',
]);
/** Names that nearly every code base has, whatever its routes are. */
const COMMON_NAMES: ReadonlySet<string> = new Set(
  'api app base client code common config core data db debug end error errors exit func function global handler helper helpers index init input item items key lib list log logger main model models module node object output process queue request response result root router routes run schema script scripts server service services source src start state step store success task test tool type types update user users util utils value version worker'.split(
    ' ',
  ),
);

function findRoute(label: string, files: readonly SearchedFile[]): string | null {
  const literals = pathsIn(label);
  const names = namesOf(label);
  for (const file of files) {
    if (names.files.size > 0 && file.names.some((name) => names.files.has(name))) return file.path;
  }
  if (literals.length === 0 && names.slugs.length === 0) return null;
  const search = routeSearch(literals, names.slugs);
  for (const file of files) {
    for (const match of file.code.matchAll(search)) {
      if (isInRouteLiteral(file.code, match.index, match[0])) return `${file.path}:${lineAt(file.code, match.index)}`;
    }
  }
  return null;
}

/** Paths written in the label itself, such as `/api/todos` in "GET /api/todos". */
function pathsIn(label: string): readonly string[] {
  return (label.match(/(?<![\w/])\/[\w][\w\-./:{}[\]]*/g) ?? []).map((path) => path.replace(/(?<![./])[./]+$/, ''));
}

/**
 * Names that a route with this label goes by: "Login Page" → slugs `login`, `login-page`, `login_page`, `loginpage`; file names
 * (compared without case and separators) `login` and `loginpage`.
 */
function namesOf(label: string): { readonly slugs: readonly string[]; readonly files: ReadonlySet<string> } {
  const words = (label.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word !== 's');
  const own = words.filter((word) => !PAGE_WORDS.has(word));
  if (own.length === 0 || words.length > 6) return { slugs: [], files: new Set() };
  const spellings = [own, words].flatMap((list) => [list.join('-'), list.join('_'), list.join('')]);
  const files = [own.join(''), words.join('')].filter((name) => name.length > 2 && !COMMON_NAMES.has(name));
  return { slugs: [...new Set(spellings)], files: new Set(files) };
}

/** Folder and file names of a path, without case, separators, brackets and endings. */
function pathNames(path: string): readonly string[] {
  return path
    .split('/')
    .map((segment) =>
      (segment.split('.').find((part) => part !== '') ?? '').toLowerCase().replace(/[^\p{L}\p{N}]/gu, ''),
    );
}

/** Finds candidates: `/slug` as the last part of a path, or a slug as the whole value of `path`, `route` or `href`. */
function routeSearch(literals: readonly string[], slugs: readonly string[]): RegExp {
  const paths = [...literals, ...slugs.map((slug) => `/${slug}`)].map(escaped).join('|');
  const ending = '(?=/?(?:["\'`?#]|\\.html?\\b|/[:{[<$*(]))';
  const relative =
    slugs.length === 0
      ? ''
      : `|\\b(?:path|route|href)["']?\\s{0,4}[=:(]\\s{0,4}["'\`](?:${slugs.map(escaped).join('|')})${ending}`;
  // oxlint-disable-next-line autonomous/linear-expressions -- words one after the other, without a repetition that has no bound
  return new RegExp(`(?:${paths})${ending}${relative}`, 'giu');
}

/** True where the match stands in one string literal that begins like a route: not a relative import, not a package, not prose. */
function isInRouteLiteral(code: string, index: number, match: string): boolean {
  if (!match.startsWith('/')) return true;
  const before = code.slice(Math.max(0, index - 200), index);
  const quote = Math.max(before.lastIndexOf('"'), before.lastIndexOf("'"), before.lastIndexOf('`'));
  if (quote === -1) return false;
  const start = before.slice(quote + 1);
  return (
    !/\s/.test(start) &&
    (start === '' ||
      start.startsWith('/') ||
      start.startsWith('^') ||
      start.startsWith('#') ||
      /^https?:\/\//.test(start))
  );
}

/**
 * The file with its comments blanked, lines kept. Roughly: a comment mark at the start of a line or after white space begins one.
 * Where a string holds such a mark, too much is blanked, which can only leave a route undecided.
 */
function withoutComments(file: CodeFile): string {
  const marks = /\.(?:py|rb|exs?|p[lm])$/i.test(file.path)
    ? { line: '#', block: [['"""', '"""']] as const }
    : {
        line: '//',
        block: [
          ['/*', '*/'],
          ['<!--', '-->'],
        ] as const,
      };
  let text = file.content.slice(0, MAX_SEARCHED);
  for (const [open, close] of marks.block) text = withoutBlocks(text, open, close);
  return withoutLineComments(text, marks.line);
}

/** Characters of a file that are searched; larger ones are generated. */
const MAX_SEARCHED = 1_000_000;

function withoutLineComments(text: string, mark: string): string {
  const kept: string[] = [];
  let at = 0;
  for (let found = text.indexOf(mark); found !== -1; found = text.indexOf(mark, Math.max(at, found + mark.length))) {
    if (found > 0 && !/\s/.test(text.charAt(found - 1))) continue;
    kept.push(text.slice(at, found));
    const end = text.indexOf('\n', found);
    if (end === -1) return kept.join('');
    at = end;
  }
  return kept.join('') + text.slice(at);
}

function withoutBlocks(text: string, open: string, close: string): string {
  const kept: string[] = [];
  let at = 0;
  for (let start = text.indexOf(open); start !== -1; start = text.indexOf(open, at)) {
    const end = text.indexOf(close, start + open.length);
    kept.push(text.slice(at, start));
    if (end === -1) return kept.join('');
    at = end + close.length;
    kept.push(text.slice(start, at).replace(/[^\n]+/g, ''));
  }
  return kept.join('') + text.slice(at);
}

function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
