/**
 * Derives commands from a project's own files: how its dependencies are installed, how its tests are run, and which
 * files decide the outcome of those tests. An agent that cannot make the tests pass may change the tests instead. The
 * checks therefore run a second time with these files as they were before.
 */

import { folded } from '../path-rules/folded-path.ts';
import { filterInSlices, findInSlices, inSlices } from '../foreign-text/foreign-text-slices.ts';
import { isAmong, pathsIn } from '../path-rules/sorted-paths.ts';
import { findInstallSteps } from './installation/install-steps.ts';
import type { FoundCommand, ProjectTree } from './project-tree.ts';
import { shadowsRunner } from './runner-modules.ts';
import { findTestCommands } from './test-commands.ts';

export interface ProjectCommand {
  /** For `sh -c` in the project's root. */
  readonly command: string;
  /** The file that it was found from; of several, the first. */
  readonly source: string;
}

export interface ProjectCommands {
  /** Installs dependencies from the network; `null` where there is nothing to install. */
  readonly setup: ProjectCommand | null;
  /** Runs the tests without network; `null` where none were found. */
  readonly test: ProjectCommand | null;
  /** For people: versions that no lockfile pins, tests that are not run. */
  readonly notices: readonly string[];
  /** Programs that the commands start. */
  readonly programs: { readonly setup: readonly string[]; readonly test: readonly string[] };
}

/** Bytes of a file that are read, from its beginning. A lockfile in JSON that is longer counts as one that names packages. */
export const READ_BYTES = 4_000_000;

/** Text of a file of the tree, of a long one its first `READ_BYTES`; `null` when there is none. */
export type ReadFile = (path: string) => string | null | Promise<string | null>;

/**
 * Looks at files in the root, and where those name no tests, at manifests up to two folders below it. A project in several
 * languages gets the install steps of all, joined by `&&`. The tests of a folder are run by the first that says how:
 * package.json, Makefile, pytest, Cargo, Go.
 * @param sorted all files of the tree
 */
export async function findProjectCommands(sorted: readonly string[], read: ReadFile): Promise<ProjectCommands> {
  const root = await commandsIn(sorted, '', read);
  const below = root.tests.length > 0 ? [] : await foldersWithManifests(sorted);
  const others = await Promise.all(below.map((folder) => commandsIn(sorted, folder, read)));
  // A folder without tests, such as one of documentation, needs nothing installed.
  const folders = [root, ...others.filter(({ tests }) => tests.length > 0)];
  const setups = folders.flatMap((folder) => folder.setups);
  const tests = folders.flatMap((folder) => folder.tests.slice(0, 1));
  const left = folders.flatMap((folder) => folder.tests.slice(1));
  return {
    setup: joined(setups),
    test: joined(tests),
    notices: [...setups.flatMap(({ notice }) => notice ?? []), ...notRun(tests, left)],
    programs: { setup: programsOf(setups), test: programsOf(tests) },
  };
}

const MAX_FOLDERS = 6;
const MANIFEST =
  /^(?:package\.json|pyproject\.toml|setup\.py|requirements\.txt|Cargo\.toml|go\.mod|Gemfile|composer\.json)$/;
/** Folders whose manifests are not the project's own work. */
const NOT_OWN =
  /^(?:\..*|node_modules|vendor|third_party|docs?|examples?|samples?|templates?|fixtures?|testdata|tests?|dist|build)$/i;

interface FolderCommands {
  readonly setups: readonly FoundCommand[];
  readonly tests: readonly FoundCommand[];
}

async function commandsIn(sorted: readonly string[], folder: string, read: ReadFile): Promise<FolderCommands> {
  const prefix = folder === '' ? '' : `${folder}/`;
  const inside = pathsIn(sorted, folder);
  const has = (path: string): boolean => isAmong(inside, `${prefix}${path}`);
  const tree: ProjectTree = {
    has,
    find: async (passes) =>
      (await findInSlices(inside, (path) => passes(path.slice(prefix.length))))?.slice(prefix.length),
    read: async (path) => (has(path) ? ((await read(`${prefix}${path}`)) ?? '').slice(0, READ_BYTES) : ''),
  };
  const placed = (found: FoundCommand): FoundCommand =>
    folder === ''
      ? found
      : { ...found, command: `(cd ${folder} && ${found.command})`, source: `${prefix}${found.source}` };
  const [setups, tests] = await Promise.all([findInstallSteps(tree), findTestCommands(tree)]);
  return { setups: setups.map(placed), tests: tests.map(placed) };
}

/** The topmost ones, in the order of their paths. Their names go into a shell. */
async function foldersWithManifests(paths: readonly string[]): Promise<readonly string[]> {
  const manifests = await filterInSlices(paths, (path) => MANIFEST.test(path.slice(path.lastIndexOf('/') + 1)));
  const folders = new Set<string>();
  for await (const path of inSlices(manifests)) {
    const parts = path.split('/').slice(0, -1);
    if (parts.length === 0 || parts.length > 2) continue;
    if (parts.every((part) => /^\w[\w.-]*$/.test(part) && !NOT_OWN.test(part))) folders.add(parts.join('/'));
  }
  const topmost = [...folders].filter((folder) => !folders.has(folder.slice(0, Math.max(folder.indexOf('/'), 0))));
  return topmost.sort().slice(0, MAX_FOLDERS);
}

function joined(found: readonly FoundCommand[]): ProjectCommand | null {
  const [first] = found;
  if (first === undefined) return null;
  return { command: found.map(({ command }) => command).join(' && '), source: first.source };
}

function notRun(tests: readonly FoundCommand[], left: readonly FoundCommand[]): readonly string[] {
  if (left.length === 0) return [];
  const named = left.map(({ command, source }) => `\`${command}\` (${source})`).join(', ');
  const all = [...tests, ...left].map(({ command }) => command).join(' && ');
  return [
    `Not among the checks: ${named}. To run them as well, set defaultRunConfig.commands.test in .autonomous/config.json to \`${all}\`.`,
  ];
}

function programsOf(found: readonly FoundCommand[]): readonly string[] {
  return [...new Set(found.flatMap(({ programs }) => programs))];
}

// ---- what an install step reads ----

const INSTALL_INPUTS: readonly RegExp[] = [
  /^(package|package-lock|npm-shrinkwrap|composer)[.]json$/,
  /^(pnpm-lock|pnpm-workspace)[.]yaml$|^[.]pnpmfile[.]c?js$/,
  /^yarn[.]lock$|^bun[.]lockb?$|^bunfig[.]toml$|^[.](npmrc|yarnrc|yarnrc[.]yml|nvmrc|node-version|python-version)$/,
  /^(?=.*requirements).*[.]txt$/,
  /^(pyproject|uv|rust-toolchain)[.]toml$|^(uv|poetry|pdm|Pipfile|Cargo|Gemfile|composer)[.]lock$/,
  /^(Pipfile|Gemfile|Makefile|GNUmakefile|makefile|rust-toolchain)$|^setup[.](py|cfg)$|[.]gemspec$/,
  /^Cargo[.]toml$|^go[.](mod|sum|work)$/,
];

/** Lockfiles, manifests and settings of package managers, in whatever folder they lie. */
export function isInstallInput(path: string): boolean {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return !isOwnRecord(path) && INSTALL_INPUTS.some((pattern) => pattern.test(file));
}

// ---- the files that decide about tests ----

const TEST_FOLDERS = new Set([
  'test',
  'tests',
  'testing',
  'testdata',
  'spec',
  'e2e',
  't',
  'cypress',
  '__tests__',
  '__test__',
  '__mocks__',
  '__fixtures__',
  '__snapshots__',
  'golden',
  'goldens',
  'testfixtures',
  'testhelper',
  'testhelpers',
  'testkit',
  'testlib',
  'testsupport',
  'testutil',
  'testutils',
]);

/** Folders that hold what tests compare with, and in some projects what the product is made of. */
const DATA_FOLDERS = /^(fixtures?|expected|expectations|mocks?|snapshots?)$/i;
/** Folders of the product: what is code below them is the product's, unless tests alone use it. */
const PRODUCT_FOLDERS = new Set(['src', 'lib', 'app', 'apps', 'server', 'client', 'pkg', 'internal', 'cmd', 'public']);
const CODE =
  /[.]([cm]?[jt]sx?|vue|svelte|astro|pyi?|go|rs|rb|php|java|kts?|scala|groovy|cs|fs|vb|swift|mm?|c|cc|cpp|h|hpp|ex|exs|erl|clj|dart|lua|pl|pm|r|jl|sh|bash)$/i;

const TEST_FILES: readonly RegExp[] = [
  // login.test.ts, login.spec.ts, login.e2e.ts, login.cy.ts, login.test-d.ts
  /[.](test|tests|spec|e2e|cy|test-d)[.][^.]+([.]snap)?$/i,
  // login_test.go, login-test.js, login_spec.rb
  /[_-](test|tests|spec)[.][^.]+$/i,
  // test_login.py, test-login.js, test.js, tests.py
  /^tests?([_-].*)?[.][^.]+$/i,
  // LoginTest.java, LoginTests.cs, LoginIT.java, LoginSpec.scala
  /[a-z0-9](Test|Tests|TestCase|IT|ITCase|Spec)[.](java|kt|kts|groovy|scala|cs|fs|vb|php|swift|m|mm)$/,
  /^conftest[.]py$/i,
  // testHelpers.js, test_utils.py, renderTestUtils.tsx
  /((^|[_.-])[Tt]|[a-z0-9]T)ests?[_.-]?([Hh]elpers?|[Uu]tils?|[Uu]tilities|[Ss]upport|[Ff]ixtures?|[Dd]oubles?|[Hh]arness|[Mm]ocks?|[Ss]tubs?)([._-][\w.-]*)?[.]\w+$/,
  /[.](snap|bats|feature)$/,
];

const TEST_CONFIGURATIONS: readonly RegExp[] = [
  // vite.config, too: without a vitest.config it is what Vitest takes its tests from.
  /^(vitest|vite|jest|playwright|cypress|ava|karma|nyc|c8|cucumber|wdio|web-test-runner|testcafe|jasmine)[.-](\w+[.])*(config|conf|workspace|projects|preset)([.-]\w+)*[.]\w+$/,
  /^(vitest|jest|mocha|test|tests)[.-]?setup([.-]\w+)*[.]\w+$/i,
  /^setup-?tests?[.]\w+$/i,
  /^(cypress|jasmine|cucumber)[.](json|ya?ml|js|cjs|mjs)$/,
  /^[.](mocharc|nycrc|c8rc|taprc|jestrc|testcaferc)([.]\w+)*$/,
  // They compile tests, too, and can leave assertions out of them.
  /^babel[.]config[.]\w+$|^[.]babelrc([.]\w+)?$|^[.]swcrc$/,
  /^(pytest|tox)[.]ini$|^[.]pytest[.]ini$|^[.]?pytest[.]toml$|^noxfile[.]py$|^[.]coveragerc$/,
  /^[.]env[.]test([.]\w+)*$/,
  // Vite runs them in the process that Vitest runs in.
  /^postcss[.]config[.]\w+$|^[.]postcssrc([.]\w+)?$|^tailwind[.]config[.]\w+$/,
  /^(phpunit|phpunit[.]dist)[.]xml([.]dist)?$|^[.]rspec$|^nextest[.]toml$|^bunfig[.]toml$|^testng[.]xml$/,
  // They can name another shell for `npm test`, or another runner for `cargo test`.
  /^[.](npmrc|yarnrc|yarnrc[.]yml)$/,
  // `make test` is a test command of its own.
  /^(gnu)?makefile([.]\w+)?$|[.](mk|mak)$/,
  /^[.]?justfile$|^taskfile([.]dist)?[.]ya?ml$|^rakefile([.]rb)?$|[.]rake$|^(turbo|nx|lerna)[.]json$/,
  /^(gradlew|mvnw)([.](bat|cmd))?$/,
  /^[.]pnp[.][\w.]+$|^[.]pnpmfile[.]\w+$/,
];

/** Package managers and build tools that a project carries with itself: the test command is run by them. */
const CARRIED_TOOLS = /(^|\/)([.]yarn\/(releases|plugins|patches|sdks|unplugged)|[.]mvn|gradle\/wrapper)\//;

/** Code that would run in the place of the installed test runner: found first where it lies. */
const RUNNER_SHADOWS: readonly RegExp[] = [
  /(^|\/)node_modules\//,
  // `python3 -m pytest` looks into the current folder before all others.
  /^_?pytest([.]py$|\/)/,
  /(^|\/)(site|user)customize[.]py$/,
  // Metadata of packages that are installed beside the code, such as plugins that pytest loads automatically.
  /[.](dist|egg)-info\/|[.]egg-link$|[.]pth$/i,
  // Python can be made to run compiled files without reading their source.
  /(^|\/)__pycache__\/|[.]py[co]$/,
];

/**
 * Tests, what they compare with and what they are built on: whole test folders, and files by the names that test runners
 * look for. In doubt the answer is true: a product file taken for a test is shown at a gate, a missed test is not.
 */
export function isTestPath(path: string): boolean {
  if (isOwnRecord(path)) return false;
  const folders = path.split('/');
  const file = folders.pop() ?? '';
  if (folders.some(isTestFolder) || TEST_FILES.some((pattern) => pattern.test(file))) return true;
  return isDataOfTests(path);
}

function isDataOfTests(path: string): boolean {
  const folders = path.split('/').slice(0, -1);
  const data = folders.findIndex((folder) => DATA_FOLDERS.test(folder));
  return data >= 0 && (!isCode(path) || !folders.slice(0, data).some((folder) => PRODUCT_FOLDERS.has(folder)));
}

/** Could tests compare with a file or lean on it, by the name of it or of its folder? */
export function isNamedForTests(path: string): boolean {
  return path
    .split('/')
    .some((part) =>
      /^(tests?([A-Z_-]|$)|([\w.-]+[._-])?(fixtures?|goldens?|expected|expectations|mocks?|stubs?|fakes?|snapshots?|baselines?)([._-]|$))/.test(
        part,
      ),
    );
}

/** Is a file, by its ending, source of a program? */
export function isCode(path: string): boolean {
  return CODE.test(path);
}

/**
 * Files that choose, set up, compile, run or judge tests. Files that hold both product and tests are not among them:
 * see `runner-sections.ts`. Nor are tsconfig files and CI workflows, which a change may need to change or which are not
 * run here.
 */
export function isTestConfiguration(path: string): boolean {
  if (isOwnRecord(path)) return false;
  // Some tools look for their files in any case, and so do some file systems.
  const plain = folded(path);
  const file = plain.slice(plain.lastIndexOf('/') + 1);
  return (
    TEST_CONFIGURATIONS.some((pattern) => pattern.test(file)) ||
    RUNNER_SHADOWS.some((pattern) => pattern.test(plain)) ||
    CARRIED_TOOLS.test(plain) ||
    /(^|\/)[.]cargo\/config([.]toml)?$/.test(plain)
  );
}

/**
 * Paths that are to be as in the base: test and test configuration files that were changed or deleted, and those that
 * were added, sorted. Where the base has no tests at all, what was added stays: the result's own tests are then the only
 * ones, and a run without them would show nothing.
 * @param basePaths sorted, as are those of the result
 * @param changedPaths paths that differ between the two trees, deleted ones included
 * @param reached paths that the check command reaches otherwise: see `check-reach.ts`
 * @param hasTests whether the base has tests
 */
export function pathsToRestore(
  basePaths: readonly string[],
  resultPaths: readonly string[],
  changedPaths: readonly string[],
  reached: ReadonlySet<string> = new Set(),
  hasTests = basePaths.some(isTestPath),
): string[] {
  const inBase = (path: string): boolean => isAmong(basePaths, path);
  const inResult = (path: string): boolean => isAmong(resultPaths, path);
  return (
    changedPaths
      .filter(
        (path) =>
          isTestPath(path) || isTestConfiguration(path) || reached.has(path) || shadowsRunner(path, inBase, inResult),
      )
      // A new file beside the data of tests may belong to the product.
      .filter((path) => inBase(path) || (hasTests && inResult(path) && !isOnlyData(path)))
      .sort()
  );
}

function isOnlyData(path: string): boolean {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return (
    isDataOfTests(path) &&
    !isTestConfiguration(path) &&
    !path.split('/').slice(0, -1).some(isTestFolder) &&
    !TEST_FILES.some((pattern) => pattern.test(file))
  );
}

/** The product's own record of runs and plans is no part of the project's tests, whatever its folders are called. */
function isOwnRecord(path: string): boolean {
  return path.startsWith('.autonomous/');
}

function isTestFolder(name: string): boolean {
  // Folders such as Shop.Tests (.NET), ShopTests (Swift) and integration-tests.
  const lower = name.toLowerCase();
  return (
    TEST_FOLDERS.has(lower) ||
    TEST_FOLDERS.has(lower.replaceAll(/[_-]/g, '')) ||
    /[._-](test|tests|e2e)$/i.test(name) ||
    /[a-z0-9]Tests?$/.test(name)
  );
}
