/**
 * Finds what the base's tests use and compare with, besides the files that look like tests: files that hold tests by
 * the report of their runner, whatever their names; data and helpers that tests name; imported names that a result
 * redirects to another file. Reads the text of the base commit.
 *
 * A file that cannot hold product code is restored. Any other stays as in the result, and a person is told.
 */
import { eachInSlices, filterInSlices, findInSlices } from '../foreign-text/foreign-text-slices.ts';
import { isAmong } from '../path-rules/sorted-paths.ts';
import { examplesOf } from './in-source-tests.ts';
import { folderOf, MODULE_FOLDERS, NamedPaths, pythonModulesOf, stringsOf } from './named-paths.ts';
import { isCode, isNamedForTests, isTestConfiguration, isTestPath } from './project-commands.ts';
import { redirects, redirectsSpecifiers } from './redirected-specifiers.ts';
import { hasRunnerSections } from './runner-sections.ts';

export interface TestUse {
  /** Files to restore for a check with the base commit's tests. */
  readonly restored: ReadonlySet<string>;
  /** Changed by the run, used by tests or tests themselves, and left as they are. */
  readonly doubtful: ReadonlySet<string>;
}

export type ReadTexts = (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>;

export interface TestUseRequest {
  /** Sorted, as are those of the result. */
  readonly basePaths: readonly string[];
  readonly resultPaths: readonly string[];
  /** Paths that differ between base and result, deleted and added ones included. */
  readonly changed: readonly string[];
  /** Files that held a test which ran on the base commit, as its runner names them. */
  readonly reported: readonly string[];
  /** Modules that Python finds outside of the project, by what was asked on the base commit; empty where nothing was. */
  readonly installed: readonly string[];
  /** The runner, or several, of the base commit; empty where none is known. */
  readonly runner: string;
  /** Did the checks pass on the base commit? */
  readonly basePassed: boolean;
  /** Patterns of the check command that may name tests. */
  readonly globs: readonly string[];
  readonly matchesGlob: (path: string, glob: string) => boolean;
  readonly readBase: ReadTexts;
  readonly readResult: ReadTexts;
}

/** More are not looked through: what the rest names is known by its names alone. */
const MAX_FILES = 5_000;
/** Formats of data that tests compare with, and that are no product by themselves. */
const DATA = /[.](json|jsonl|ndjson|ya?ml|csv|tsv|txt|xml|out|err|log|golden|expected|approved|snap|bin)$/i;
/** Data that says something about the project, by the name of the file or of its folder. */
const ABOUT_PROJECT: readonly RegExp[] = [
  /(^|\/)((package|composer|deno|bower|lerna|nx|turbo|manifest|robots)[.]\w+|[jt]sconfig[.][\w.-]+)$/,
  /(^|\/)([.][\w.-]+|[\w-]*lock[.]\w+|[\w.-]*requirements[\w-]*[.]txt|[A-Z][A-Z_-]+[.]\w+)$/,
  /(^|\/)(docs?|[.]github|[.]vscode)\//,
];
/** Specifiers that tests import or mock. */
const IMPORTS =
  /\b(?:from|import|require|importActual|requireActual|mock)\b\s{0,9}(?:\(\s{0,9})?(?:"([^"\n]{1,200})"|'([^'\n]{1,200})')/g;
const PYTHON_MODULE = /(?:[.][\w-]+)?[.](?:pyc?|so|pyd)$/;
const PYTHON_PACKAGES = /(^|\/)([\w.-]*requirements[\w.-]*[.]txt|(poetry|uv|Pipfile)[.]lock)$/;
const NODE_MODULE = /[.][cm]?[jt]sx?$/;
const DECLARES_PYTHON = /^[ \t]{0,12}(async )?def test|^class (Test|\w{0,80}Test)/m;
/** Files of the project's tools, which name the data of tests as well. */
const TOOLS = /(^|\/)(scripts?|tools?|ci|[.]ci|hack)\//;

const JUDGES: readonly RegExp[] = [
  /['"](node:test|bun:test|vitest|@jest\/globals|chai|mocha|expect|ava|tape|tap|uvu|sinon|should|power-assert|@playwright\/test|@testing-library\/[\w-]+)(\/[\w-]+)*['"]/,
  /(?<![.\w])(describe|expect|assert[.]\w+)\s*[(]/,
  /^[ \t]{0,12}(from|import)[ \t]+(pytest|_pytest|unittest|nose2?|doctest|hypothesis|testtools|numpy[.]testing|pandas[.]testing)\b/m,
  /\b(minitest|rspec|RSpec|PHPUnit)\b/,
];
/** Products use it as well, to say what they take for granted. */
const ASSERT = /['"](node:)?assert(\/strict)?['"]/;
/** Languages whose tests name files by package: what judges there is not looked for by the tests' words. */
const COMPILED_JUDGES: Readonly<Record<string, RegExp>> = {
  go: /^[ \t]{0,4}(import[ \t]{1,4})?(\w{1,40}[ \t]{1,4})?"(testing|testing\/\w+|github[.]com\/stretchr\/testify\/\w+)"/m,
  java: /^import\s+(static\s+)?(org[.]junit|org[.]assertj|org[.]hamcrest|org[.]testng)[.]/m,
  kt: /^import\s+(org[.]junit|kotlin[.]test|io[.]kotest)[.]/m,
  cs: /^using\s+(Xunit|NUnit|Microsoft[.]VisualStudio[.]TestTools)/m,
};

export async function usedByTests(request: TestUseRequest): Promise<TestUse> {
  const { basePaths, changed, readBase } = request;
  const restored = new Set<string>();
  const doubtful = new Set<string>();
  const mine = changed.filter((path) => !isKnown(path));
  const kept = mine.filter((path) => isAmong(basePaths, path));
  const readCode = onceEach(readBase);

  const byReport = await testsByReport(request, readCode);
  for (const path of kept) if (byReport.pure.has(path)) restored.add(path);
  for (const path of await newTests(request, byReport.pure)) restored.add(path);
  const isTest = (path: string): boolean => isTestPath(path) || byReport.pure.has(path);
  const left = kept.filter((path) => !restored.has(path) && (isCode(path) || DATA.test(path)));
  const changedTexts = await readCode(left);
  const resultTexts = await request.readResult(left.filter(isCode));
  for (const path of left) {
    const text = changedTexts.get(path) ?? '';
    const hasOtherExamples = differ(examplesOf(path, text), examplesOf(path, resultTexts.get(path) ?? ''));
    if (byReport.mixed.has(path)) {
      // Tests of Vitest beside the product are put back for themselves: see `in-source-tests.ts`.
      if (examplesOnly(path, text) ? hasOtherExamples : !isInSource(text)) doubtful.add(path);
    } else if (request.runner.includes('cargo') && path.endsWith('.rs')) {
      if (hasOtherExamples && examplesOf(path, text).length > 0) doubtful.add(path);
    } else if (judgesCompiled(path, text)) doubtful.add(path);
  }

  const base: Base = { basePaths, isTest, read: readCode, texts: changedTexts };
  const unsure = left.filter((path) => !doubtful.has(path) && !byReport.mixed.has(path));
  // Nothing of the product is lost with data that tests alone name.
  for (const path of await usedByTestsAlone(unsure, base)) (isCode(path) ? doubtful : restoredOr(path)).add(path);

  const maps = changed.filter((path) => redirectsSpecifiers(path) && !isTestPath(path));
  if (maps.length > 0) {
    const [before, after] = await Promise.all([readBase(maps), request.readResult(maps)]);
    const specifiers = await specifiersOf(base);
    for (const path of maps)
      if (redirects(path, before.get(path) ?? null, after.get(path) ?? null, specifiers)) doubtful.add(path);
  }
  for (const path of await shadowsOfPython(request, readCode)) (request.basePassed ? restored : doubtful).add(path);
  for (const path of await shadowsOfNode(request, base)) doubtful.add(path);
  return { restored, doubtful: new Set([...doubtful].filter((path) => !restored.has(path))) };

  function restoredOr(path: string): Set<string> {
    return isNamedForTests(path) ? restored : doubtful;
  }
}

/** The base commit, as the questions below ask about it. */
interface Base {
  readonly basePaths: readonly string[];
  readonly isTest: (path: string) => boolean;
  readonly read: ReadTexts;
  /** Texts of changed files. */
  readonly texts: ReadonlyMap<string, string>;
}

async function textsOfTests({ basePaths, isTest, read }: Base): Promise<ReadonlyMap<string, string>> {
  const tests = await filterInSlices(basePaths, (path) => isText(path) && isTest(path));
  return read(tests.slice(0, MAX_FILES));
}

/** Import specifiers of the tests, as written. */
async function specifiersOf(base: Base): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const text of (await textsOfTests(base)).values())
    for (const match of text.matchAll(IMPORTS)) found.add(match[1] ?? match[2] ?? '');
  return found;
}

/** Whether a file is restored by its name or in parts, or lies in the server's own folder. */
function isKnown(path: string): boolean {
  return isTestPath(path) || isTestConfiguration(path) || hasRunnerSections(path) || path.startsWith('.autonomous/');
}

interface ByReport {
  /** Files that hold only tests. */
  readonly pure: ReadonlySet<string>;
  /** Files that hold, or may hold, product code as well. */
  readonly mixed: ReadonlySet<string>;
}

/** Files that held tests although their names do not mark them as tests. */
async function testsByReport({ basePaths, reported }: TestUseRequest, read: ReadTexts): Promise<ByReport> {
  const held = reported.filter((path) => isAmong(basePaths, path) && !isKnown(path)).slice(0, MAX_FILES);
  if (held.length === 0) return { pure: new Set(), mixed: new Set() };
  const texts = await read(held);
  const code = await filterInSlices(
    basePaths,
    (path) => isCode(path) && !TOOLS.test(path) && !isTestConfiguration(path),
  );
  const others = await read(code.slice(0, MAX_FILES));
  const named = await namedIn(new NamedPaths(held), others);
  const mixed = held.filter((path) => {
    const text = texts.get(path);
    if (text === undefined || isInSource(text) || named.has(path)) return true;
    return isCode(path) && (examplesOnly(path, text) || !declaresTests(path, text));
  });
  const isMixed = new Set(mixed);
  return { pure: new Set(held.filter((path) => !isMixed.has(path))), mixed: isMixed };
}

/** New files that the runner would take for tests: by a pattern that names tests alone, or in a folder that holds nothing else. */
async function newTests(
  { basePaths, changed, globs, matchesGlob }: TestUseRequest,
  pure: ReadonlySet<string>,
): Promise<string[]> {
  const code = await filterInSlices(basePaths, isCode);
  const isTest = (path: string): boolean => isTestPath(path) || pure.has(path);
  const ofTests: string[] = [];
  for (const glob of globs) {
    const matched = await filterInSlices(code, (path) => matchesGlob(path, glob));
    if (matched.length > 0 && (await findInSlices(matched, (path) => !isTest(path))) === undefined) ofTests.push(glob);
  }
  const folders = new Set([...pure].map(folderOf).filter((folder) => folder !== ''));
  if (folders.size > 0)
    await eachInSlices(code, (path) => {
      if (!isTest(path)) folders.delete(folderOf(path));
    });
  return changed.filter(
    (path) =>
      !isAmong(basePaths, path) &&
      !isKnown(path) &&
      isCode(path) &&
      (folders.has(folderOf(path)) || ofTests.some((glob) => matchesGlob(path, glob))),
  );
}

function isInSource(text: string): boolean {
  return text.includes('import.meta.vitest');
}

/** Python that a runner took for tests by the examples of its documentation alone. */
function examplesOnly(path: string, text: string): boolean {
  return path.endsWith('.py') && examplesOf(path, text).length > 0 && !DECLARES_PYTHON.test(text);
}

/** Node names a file as a test that has none of its own. */
function declaresTests(path: string, text: string): boolean {
  return (
    !/[.][cm]?[jt]sx?$/.test(path) || ASSERT.test(text) || judges(text) || /(?<![.\w])(test|it|suite)\s*[(.]/.test(text)
  );
}

function judges(text: string): boolean {
  return JUDGES.some((judge) => judge.test(text));
}

function judgesCompiled(path: string, text: string): boolean {
  return COMPILED_JUDGES[path.slice(path.lastIndexOf('.') + 1)]?.test(text) === true;
}

/** Of changed files those that tests name and the product does not, as far as tests could compare with them or lean on them. */
async function usedByTestsAlone(paths: readonly string[], base: Base): Promise<readonly string[]> {
  const worth = paths.filter((path) => {
    const text = base.texts.get(path) ?? '';
    if (isNamedForTests(path)) return true;
    return isCode(path) ? judges(text) || ASSERT.test(text) : !ABOUT_PROJECT.some((each) => each.test(path));
  });
  if (worth.length === 0) return [];
  const folders = await foldersOfData(base.basePaths);
  const index = (of: readonly string[]): NamedPaths =>
    new NamedPaths(of, (path) => (isCode(path) ? [] : foldersAbove(path).filter((folder) => folders.has(folder))));
  const named = await namedIn(index(worth), await textsOfTests(base));
  if (named.size === 0) return [];
  const manifests = await filterInSlices(base.basePaths, (path) => /(^|\/)package[.]json$/.test(path));
  const product = await filterInSlices(
    base.basePaths,
    (path) => isCode(path) && !base.isTest(path) && !isTestConfiguration(path) && !TOOLS.test(path),
  );
  const texts = await base.read([...product.slice(0, MAX_FILES), ...manifests]);
  const byProduct = await namedIn(index([...named]), texts);
  // Node takes it for the package's own without being told.
  const isEntry = (path: string): boolean => /(^|\/)index[.]\w+$/.test(path) && isAmong(manifests, entryOf(path));
  return [...named].filter((path) => !byProduct.has(path) && !isEntry(path));
}

function entryOf(path: string): string {
  const folder = folderOf(path);
  return folder === '' ? 'package.json' : `${folder}/package.json`;
}

/** Folders that hold nothing but data. */
async function foldersOfData(basePaths: readonly string[]): Promise<ReadonlySet<string>> {
  const all = new Set<string>();
  const ofCode = new Set<string>();
  await eachInSlices(basePaths, (path) => {
    for (const folder of foldersAbove(path)) all.add(folder);
    if (isCode(path)) for (const folder of foldersAbove(path)) ofCode.add(folder);
  });
  for (const folder of ofCode) all.delete(folder);
  return all;
}

function foldersAbove(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

async function namedIn(paths: NamedPaths, texts: ReadonlyMap<string, string>): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  await eachInSlices(texts, ([file, text]) => {
    for (const path of paths.namedBy(file, text)) found.add(path);
  });
  return found;
}

/** New modules that Python would find in the place of installed ones: of any, as far as it is known which there are. */
async function shadowsOfPython(
  { basePaths, resultPaths, changed, reported, installed }: TestUseRequest,
  read: ReadTexts,
): Promise<readonly string[]> {
  const inBase = (path: string): boolean => isAmong(basePaths, path);
  const added = changed.filter((path) => !inBase(path) && !isKnown(path) && PYTHON_MODULE.test(path));
  if (added.length === 0) return [];
  // A test that ran had found what it imports.
  const ran = reported.filter((path) => path.endsWith('.py') && inBase(path)).slice(0, MAX_FILES);
  const named = (await filterInSlices(basePaths, (path) => PYTHON_PACKAGES.test(path))).slice(0, 100);
  const texts = await read([...ran, ...named]);
  const modules = new Set([
    ...ran.flatMap((path) => pythonModulesOf(texts.get(path) ?? '').map(firstOf)),
    ...named.flatMap((path) => packagesIn(texts.get(path) ?? '')),
    ...installed,
  ]);
  const roots = new Set<string>([...MODULE_FOLDERS, ...ran.flatMap(foldersAbove)]);
  const known = new Set<string>();
  await eachInSlices(basePaths, (path) => {
    if (PYTHON_MODULE.test(path)) for (const at of modulesAt(path)) known.add(String(at));
  });
  return added.filter((path) =>
    modulesAt(path).some(
      (at) =>
        modules.has(at[1]) &&
        roots.has(at[0]) &&
        !isAmong(resultPaths, `${at[0]}/__init__.py`) &&
        !known.has(String(at)),
    ),
  );
}

/** Names that requirements and lockfiles give packages, as modules are called. */
function packagesIn(text: string): readonly string[] {
  return [...text.matchAll(/^(?:name = "([\w.-]{1,100})"|([A-Za-z][\w.-]{0,100})\s*(?:[=<>~!@;[]|$))/gm)].map((match) =>
    (match[1] ?? match[2] ?? '').toLowerCase().replaceAll(/[.-]/g, '_'),
  );
}

/** New files that a runner would find in the place of a package, where it looks for packages in folders of the project. */
async function shadowsOfNode({ changed }: TestUseRequest, base: Base): Promise<readonly string[]> {
  const added = changed.filter((path) => !isAmong(base.basePaths, path) && !isKnown(path) && NODE_MODULE.test(path));
  if (added.length === 0) return [];
  const folders = await moduleFolders(base);
  if (folders.length === 0) return [];
  const specifiers = await specifiersOf(base);
  return added.filter((path) =>
    folders.some((folder) => {
      if (folder !== '' && !path.startsWith(`${folder}/`)) return false;
      const plain = path.slice(folder === '' ? 0 : folder.length + 1).replace(NODE_MODULE, '');
      return specifiers.has(plain) || specifiers.has(plain.replace(/\/index$/, ''));
    }),
  );
}

function firstOf(module: string): string {
  return module.split('.')[0] ?? '';
}

/** Folders in which Python could look for a module of this path, and its name there. */
function modulesAt(path: string): readonly (readonly [folder: string, name: string])[] {
  const parts = path.replace(PYTHON_MODULE, '').split('/');
  return parts.map((name, index) => [parts.slice(0, index).join('/'), name] as const);
}

/** Folders that Node or a compiler finds modules in without a path: of `NODE_PATH`, and by configuration. */
async function moduleFolders({ basePaths, read }: Base): Promise<readonly string[]> {
  const places = await filterInSlices(
    basePaths,
    (path) =>
      /(^|\/)(package[.]json|[jt]sconfig[\w.-]*[.]json)$/.test(path) ||
      (isTestConfiguration(path) && !path.includes('node_modules/')),
  );
  const found = new Set<string>();
  for (const [path, text] of await read(places.slice(0, 200))) {
    const folder = folderOf(path);
    for (const match of text.matchAll(/NODE_PATH\s*[:?]?=\s*["']?([\w./:-]+)/g))
      for (const each of (match[1] ?? '').split(':')) found.add(plainFolder(folder, each));
    for (const match of text.matchAll(
      /["']?(?:modulePaths|moduleDirectories|modules|baseUrl)["']?\s*:\s*(\[[^\]]*\]|["'][^"']*["'])/g,
    ))
      for (const each of stringsOf(match[1] ?? '').flat())
        found.add(plainFolder(folder, each.replace('<rootDir>', '.')));
  }
  return [...found].filter((each) => !each.includes('node_modules'));
}

function plainFolder(folder: string, word: string): string {
  const parts = `${folder}/${word}`.split('/').filter((part) => part !== '' && part !== '.');
  return parts.join('/');
}

/** Texts that were read once are not read again. */
function onceEach(read: ReadTexts): ReadTexts {
  const known = new Map<string, string | null>();
  return async (paths) => {
    const fresh = [...new Set(paths)].filter((path) => !known.has(path));
    const texts = fresh.length === 0 ? new Map<string, string>() : await read(fresh);
    for (const path of fresh) known.set(path, texts.get(path) ?? null);
    return new Map(
      paths.flatMap((path): [string, string][] => {
        const text = known.get(path) ?? null;
        return text === null ? [] : [[path, text]];
      }),
    );
  };
}

function isText(path: string): boolean {
  return isCode(path) || /[.](json|ya?ml|toml|feature|bats|txt|md|rst)$/.test(path);
}

function differ(one: readonly string[], other: readonly string[]): boolean {
  return one.join('\n') !== other.join('\n');
}
