/**
 * Derives commands from a project's own files: how its dependencies are installed, how its tests are run, and which
 * files decide the outcome of those tests. An agent that cannot make the tests pass may change the tests instead. The
 * checks therefore run a second time with these files as they were before.
 */

import { folded } from './folded-path.ts';
import { linesOf } from './named-paths.ts';
import { shadowsRunner } from './runner-modules.ts';

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
}

/** Text of a file of the tree; `null` when there is none. */
export type ReadFile = (path: string) => string | null | Promise<string | null>;

/**
 * Looks at files in the root alone. A project in several languages gets the install steps of all, joined by `&&`;
 * its tests are run by the first that says how: package.json, Makefile, pytest, Cargo, Go.
 * @param paths all files of the tree
 */
export async function findProjectCommands(paths: readonly string[], read: ReadFile): Promise<ProjectCommands> {
  const known = new Set(paths);
  const tree: Tree = {
    paths: known,
    read: async (path) => (known.has(path) ? ((await read(path)) ?? '').slice(0, MAX_READ) : ''),
  };
  const setups: ProjectCommand[] = [];
  for (const find of [setupOfNode, setupOfPython, setupOfRust, setupOfGo, setupOfRuby, setupOfPhp]) {
    const setup = await find(tree);
    if (setup !== null) setups.push(setup);
  }
  const [first] = setups;
  const setup =
    first === undefined ? null : { command: setups.map(({ command }) => command).join(' && '), source: first.source };
  for (const find of [testOfNode, testOfMake, testOfPython, testOfRust, testOfGo]) {
    const test = await find(tree);
    if (test !== null) return { setup, test };
  }
  return { setup, test: null };
}

/** Characters of a file that are read. A lockfile in JSON that is longer counts as one that names packages. */
const MAX_READ = 4_000_000;

interface Tree {
  readonly paths: ReadonlySet<string>;
  /** Empty where there is no such file. */
  readonly read: (path: string) => Promise<string>;
}

/**
 * Whether a line of the text passes. Anybody may have written the text, so it is read line by line: an expression that looks
 * for its place in the whole text takes the square of its length.
 */
function hasLine(text: string, passes: (line: string) => boolean): boolean {
  return linesOf(text).some(passes);
}

// ---- Node ----

type NodeTool = 'npm' | 'pnpm' | 'yarn' | 'bun';

const NODE_LOCKFILES: readonly (readonly [file: string, tool: NodeTool])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['npm-shrinkwrap.json', 'npm'],
  ['package-lock.json', 'npm'],
];

async function setupOfNode(tree: Tree): Promise<ProjectCommand | null> {
  const [source, tool] = NODE_LOCKFILES.find(([file]) => tree.paths.has(file)) ?? [];
  if (source === undefined || tool === undefined) return null;
  const lock = await tree.read(source);
  switch (tool) {
    case 'npm':
      return npmLockIsEmpty(lock) ? null : { command: 'npm ci', source };
    case 'pnpm':
      if (!hasLine(lock, (line) => line.trimEnd() === 'packages:') && !lock.includes('link:')) return null;
      return { command: `${await caller(tree, 'pnpm')} install --frozen-lockfile`, source };
    case 'yarn':
      if (yarnLockIsEmpty(lock)) return null;
      return {
        command: `${await caller(tree, 'yarn')} install ${isYarnBerry(lock) ? '--immutable' : '--frozen-lockfile'}`,
        source,
      };
    case 'bun':
      if (lock.replaceAll(/\s/g, '').includes('"packages":{}')) return null;
      return { command: `${await caller(tree, 'bun')} install --frozen-lockfile`, source };
    default:
      return tool satisfies never;
  }
}

async function testOfNode(tree: Tree): Promise<ProjectCommand | null> {
  const source = 'package.json';
  const scripts = fieldOf(parseJson(await tree.read(source)), 'scripts');
  const script = fieldOf(scripts, 'test');
  if (typeof script !== 'string' || script.trim() === '' || script.includes('no test specified')) return null;
  const tool = NODE_LOCKFILES.find(([file]) => tree.paths.has(file))?.[1] ?? 'npm';
  if (tool === 'npm') return { command: 'npm test', source };
  return { command: `${await caller(tree, tool)} ${tool === 'bun' ? 'run test' : 'test'}`, source };
}

/** The tool by its name, or where it is not installed by npx, in the version that package.json asks for. */
async function caller(tree: Tree, tool: Exclude<NodeTool, 'npm'>): Promise<string> {
  const release =
    tool === 'yarn' ? [...tree.paths].sort().find((path) => /^\.yarn\/releases\/[\w.-]+\.cjs$/.test(path)) : undefined;
  if (release !== undefined) return `node ${release}`;
  const asked = fieldOf(parseJson(await tree.read('package.json')), 'packageManager');
  const version = typeof asked === 'string' ? /^(?:pnpm|yarn|bun)@(\d+\.\d+\.\d+)/.exec(asked)?.[1] : undefined;
  const berry = tool === 'yarn' && isYarnBerry(await tree.read('yarn.lock'));
  const name = berry ? '@yarnpkg/cli-dist' : tool;
  return `$(command -v ${tool} || echo npx --yes ${name}${version === undefined ? '' : `@${version}`})`;
}

/** A lock that names no package besides the project itself. */
function npmLockIsEmpty(lock: string): boolean {
  const parsed = parseJson(lock);
  const packages = fieldOf(parsed, 'packages');
  if (isRecord(packages)) return Object.keys(packages).every((path) => path === '');
  const dependencies = fieldOf(parsed, 'dependencies');
  return isRecord(parsed) && (!isRecord(dependencies) || Object.keys(dependencies).length === 0);
}

function isYarnBerry(lock: string): boolean {
  return /^__metadata:/m.test(lock);
}

function yarnLockIsEmpty(lock: string): boolean {
  return !hasLine(lock, (line) => {
    const entry = line.trimEnd();
    return /^[^\s#]/.test(entry) && entry.endsWith(':') && !/^__metadata:|@workspace:\."?:$/.test(entry);
  });
}

// ---- Python ----

const PYTHON_LOCKFILES = {
  'uv.lock': { setup: 'uv sync --frozen', runner: 'uv run --no-sync ' },
  'poetry.lock': { setup: 'poetry install --no-interaction', runner: 'poetry run ' },
  'Pipfile.lock': { setup: 'pipenv sync --dev', runner: 'pipenv run ' },
} as const;

const REQUIREMENTS = [
  'requirements.txt',
  'requirements-dev.txt',
  'requirements-test.txt',
  'dev-requirements.txt',
  'test-requirements.txt',
];

async function setupOfPython(tree: Tree): Promise<ProjectCommand | null> {
  const source = pythonLockfile(tree);
  if (source !== undefined) {
    return pythonLockIsEmpty(source, await tree.read(source))
      ? null
      : { command: PYTHON_LOCKFILES[source].setup, source };
  }
  const files: string[] = [];
  for (const file of REQUIREMENTS) {
    if (hasLine(await tree.read(file), (line) => /^[^#]/.test(line.trimStart()))) files.push(file);
  }
  const [first] = files;
  if (first === undefined) return null;
  // Distributions forbid pip to install beside their own packages; in a sandbox's HOME it harms none of them.
  const command = `PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user ${files.map((file) => `-r ${file}`).join(' ')}`;
  return { command, source: first };
}

async function testOfPython(tree: Tree): Promise<ProjectCommand | null> {
  const tests = [...tree.paths].filter((path) => /(^|\/)(test_[^/]*|[^/]*_test)\.py$/.test(path)).sort();
  const [first] = tests;
  if (first === undefined) return null;
  const configuration = ['pytest.ini', 'pyproject.toml', 'tox.ini', 'setup.cfg'].find((file) => tree.paths.has(file));
  const lockfile = pythonLockfile(tree);
  const runner = lockfile === undefined ? '' : PYTHON_LOCKFILES[lockfile].runner;
  return {
    command: `${runner}${lockfile === undefined ? 'python3' : 'python'} -m pytest`,
    source: configuration ?? first,
  };
}

function pythonLockfile(tree: Tree): keyof typeof PYTHON_LOCKFILES | undefined {
  return (['uv.lock', 'poetry.lock', 'Pipfile.lock'] as const).find((file) => tree.paths.has(file));
}

function pythonLockIsEmpty(file: keyof typeof PYTHON_LOCKFILES, lock: string): boolean {
  if (file === 'Pipfile.lock') {
    const parsed = parseJson(lock);
    return (
      isRecord(parsed) &&
      ['default', 'develop'].every((group) => Object.keys(fieldOf(parsed, group) ?? {}).length === 0)
    );
  }
  const packages = lock.split(/^\[\[package\]\]/m).slice(1);
  // uv locks the project itself too.
  return packages.every((entry) =>
    hasLine(entry, (line) => /^source\s*=\s*\{\s*(virtual|editable)\s*=\s*"\."/.test(line)),
  );
}

// ---- make, Rust, Go, Ruby, PHP ----

async function testOfMake(tree: Tree): Promise<ProjectCommand | null> {
  const source = ['GNUmakefile', 'makefile', 'Makefile'].find((file) => tree.paths.has(file));
  if (source === undefined) return null;
  return hasLine(await tree.read(source), isMakeTestRule) ? { command: 'make test', source } : null;
}

/** A rule may name several targets; `test := x` is a variable. */
function isMakeTestRule(line: string): boolean {
  const colon = line.indexOf(':');
  const targets = line.slice(0, Math.max(colon, 0));
  if (/^\s|[#=]/.test(targets) || /^:?[:=]/.test(line.slice(colon + 1))) return false;
  return targets.split(/[ \t]/).includes('test');
}

async function setupOfRust(tree: Tree): Promise<ProjectCommand | null> {
  const source = 'Cargo.lock';
  return hasLine(await tree.read(source), (line) => /^source\s*=/.test(line))
    ? { command: 'cargo fetch --locked', source }
    : null;
}

function testOfRust(tree: Tree): ProjectCommand | null {
  return tree.paths.has('Cargo.toml') ? { command: 'cargo test', source: 'Cargo.toml' } : null;
}

async function setupOfGo(tree: Tree): Promise<ProjectCommand | null> {
  const source = 'go.mod';
  return hasLine(await tree.read(source), (line) => /^require\b/.test(line.trimStart()))
    ? { command: 'go mod download', source }
    : null;
}

function testOfGo(tree: Tree): ProjectCommand | null {
  return tree.paths.has('go.mod') ? { command: 'go test ./...', source: 'go.mod' } : null;
}

async function setupOfRuby(tree: Tree): Promise<ProjectCommand | null> {
  const source = 'Gemfile.lock';
  return hasLine(await tree.read(source), (line) => /^ {4}\S+ \(/.test(line))
    ? { command: 'BUNDLE_FROZEN=true bundle install', source }
    : null;
}

async function setupOfPhp(tree: Tree): Promise<ProjectCommand | null> {
  const source = 'composer.lock';
  if (!tree.paths.has(source)) return null;
  const parsed = parseJson(await tree.read(source));
  const isEmpty =
    isRecord(parsed) &&
    ['packages', 'packages-dev'].every((group) => [fieldOf(parsed, group) ?? []].flat().length === 0);
  return isEmpty ? null : { command: 'composer install --no-interaction', source };
}

// ---- what an install step reads ----

const INSTALL_INPUTS: readonly RegExp[] = [
  /^(package|package-lock|npm-shrinkwrap|composer)[.]json$/,
  /^(pnpm-lock|pnpm-workspace)[.]yaml$|^[.]pnpmfile[.]c?js$/,
  /^yarn[.]lock$|^bun[.]lockb?$|^bunfig[.]toml$|^[.](npmrc|yarnrc|yarnrc[.]yml|nvmrc|node-version|python-version)$/,
  /^(?=.*requirements).*[.]txt$/,
  /^(pyproject|uv|rust-toolchain)[.]toml$|^(uv|poetry|Pipfile|Cargo|Gemfile|composer)[.]lock$/,
  /^(Pipfile|Gemfile|Makefile|GNUmakefile|makefile|rust-toolchain)$|^setup[.](py|cfg)$|[.]gemspec$/,
  /^Cargo[.]toml$|^go[.](mod|sum|work)$/,
];

/** Lockfiles, manifests and settings of package managers, in whatever folder they lie. */
export function isInstallInput(path: string): boolean {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return !isOwnRecord(path) && INSTALL_INPUTS.some((pattern) => pattern.test(file));
}

// ---- JSON ----

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
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
 * @param changedPaths paths that differ between the two trees
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
  const base = new Set(basePaths);
  const result = new Set(resultPaths);
  const deleted = basePaths.filter((path) => !result.has(path));
  return (
    [...new Set([...changedPaths, ...deleted])]
      .filter(
        (path) =>
          isTestPath(path) || isTestConfiguration(path) || reached.has(path) || shadowsRunner(path, base, result),
      )
      // A new file beside the data of tests may belong to the product.
      .filter((path) => base.has(path) || (hasTests && result.has(path) && !isOnlyData(path)))
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
