/** Derives the steps that install a project's dependencies from its manifests, with or without a lockfile. */
import { bunSetup } from './bun-setup.ts';
import { PYTHON_SETUP } from './python-setup.ts';
import { askedVersion, chooseNodeTool, isBerryLock, type NodeTool, nodeToolCall, programsOfCall } from './node-tool.ts';
import { fieldOf, type FoundCommand, hasLine, isRecord, parseJson, type ProjectTree } from '../project-tree.ts';

/** One for each language that has something to install. */
export async function findInstallSteps(tree: ProjectTree): Promise<readonly FoundCommand[]> {
  const finders = [setupOfNode, setupOfPython, setupOfRust, setupOfGo, setupOfRuby, setupOfPhp];
  const found = await Promise.all(finders.map((find) => find(tree)));
  return found.filter((setup) => setup !== null);
}

function unpinned(source: string, lockfile: string): string {
  return `${source} has no lockfile: the install step takes the versions that are newest when it runs. Commit ${lockfile} to pin them.`;
}

// ---- Node ----

async function setupOfNode(tree: ProjectTree): Promise<FoundCommand | null> {
  const choice = await chooseNodeTool(tree);
  const call = await nodeToolCall(tree, choice);
  const programs = programsOfCall(call, choice);
  const { tool, lockfile } = choice;
  if (tool === 'bun') return setupOfBun(tree, lockfile, programs);
  if (lockfile === null) {
    const source = 'package.json';
    if (!(await namesPackages(tree))) return null;
    const skips = choice.isBerry ? await skippedBuilds(tree, call) : null;
    return { command: unlocked(call, tool, skips), source, programs, notice: unpinned(source, NODE_LOCKFILE[tool]) };
  }
  const lock = await tree.read(lockfile);
  const found = (command: string): FoundCommand => ({ command, source: lockfile, programs });
  switch (tool) {
    case 'npm':
      return npmLockIsEmpty(lock) ? null : found('npm ci');
    case 'pnpm':
      if (!hasLine(lock, (line) => line.trimEnd() === 'packages:') && !lock.includes('link:')) return null;
      return found(`${call} install --frozen-lockfile ${IGNORE_SCRIPTS}`);
    case 'yarn':
      if (yarnLockIsEmpty(lock)) return null;
      return found(
        isBerryLock(lock)
          ? `${BERRY}${call} install --immutable ${await skippedBuilds(tree, call)}`
          : `${call} install --frozen-lockfile`,
      );
    default:
      return tool satisfies never;
  }
}

/** Brings Bun itself too, also for tests of a project that has no packages. */
async function setupOfBun(
  tree: ProjectTree,
  lockfile: string | null,
  programs: readonly string[],
): Promise<FoundCommand | null> {
  const source = lockfile ?? 'package.json';
  const brings = bunSetup(await askedVersion(tree));
  const lock = lockfile === null ? '' : await tree.read(lockfile);
  const isEmpty = lock.replaceAll(/\s/g, '').includes('"packages":{}');
  if (isEmpty || (lockfile === null && !(await namesPackages(tree)))) {
    const scripts = fieldOf(parseJson(await tree.read('package.json')), 'scripts');
    return fieldOf(scripts, 'test') === undefined ? null : { command: brings, source, programs };
  }
  if (lockfile !== null)
    return { command: `${brings} && bun install --frozen-lockfile ${IGNORE_SCRIPTS}`, source, programs };
  return {
    command: `${brings} && bun install --no-save ${IGNORE_SCRIPTS}`,
    source,
    programs,
    notice: unpinned(source, NODE_LOCKFILE.bun),
  };
}

/**
 * The environment of a sandbox turns install scripts off (`SCRIPTS_OFF`), and npm, Yarn 1 and pnpm 9 put it before all files of a
 * project. A pnpm-workspace.yaml wins against it in pnpm 10, and Bun's older versions read no variable. An option wins in all.
 */
const IGNORE_SCRIPTS = '--ignore-scripts';
/** The same for Yarn 2 and later, which builds the project itself and what it marks as `built` whatever the variable says. */
const SKIP_BUILDS = ['--mode=skip-build', '--skip-builds'] as const;

/** Yarn 2 has an option of its own. */
async function skippedBuilds(tree: ProjectTree, call: string): Promise<string> {
  const isSecond = call.startsWith('node ') ? call.includes('/yarn-2.') : (await askedVersion(tree))?.startsWith('2.');
  return SKIP_BUILDS[isSecond === true ? 1 : 0];
}

/** The install step of a project that allows install scripts. */
export function withInstallScripts(command: string): string {
  return [IGNORE_SCRIPTS, ...SKIP_BUILDS].reduce((text, option) => text.replaceAll(` ${option}`, ''), command);
}

/** Yarn 2 and later refuse the variable by which a sandbox turns install scripts off in Yarn 1; they have one of their own. */
const BERRY = 'env -u YARN_IGNORE_SCRIPTS ';

const NODE_LOCKFILE = { npm: 'package-lock.json', pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock', bun: 'bun.lock' } as const;

/**
 * None writes a lockfile where it can be told not to: a run would not commit it.
 * @param skips option of Yarn 2 and later that keeps packages from being built; `null` for the others
 */
function unlocked(call: string, tool: Exclude<NodeTool, 'bun'>, skips: string | null): string {
  switch (tool) {
    case 'npm':
      return 'npm install --no-package-lock';
    case 'pnpm':
      return `${call} install --no-lockfile ${IGNORE_SCRIPTS}`;
    case 'yarn':
      return skips === null ? `${call} install --no-lockfile` : `${BERRY}${call} install --no-immutable ${skips}`;
    default:
      return tool satisfies never;
  }
}

/** Packages of its own, or those of workspaces. */
async function namesPackages(tree: ProjectTree): Promise<boolean> {
  const manifest = parseJson(await tree.read('package.json'));
  const named = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].some((field) => {
    const packages = fieldOf(manifest, field);
    return isRecord(packages) && Object.keys(packages).length > 0;
  });
  return named || fieldOf(manifest, 'workspaces') !== undefined || tree.has('pnpm-workspace.yaml');
}

/** A lock that names no package besides the project itself. */
function npmLockIsEmpty(lock: string): boolean {
  const parsed = parseJson(lock);
  const packages = fieldOf(parsed, 'packages');
  if (isRecord(packages)) return Object.keys(packages).every((path) => path === '');
  const dependencies = fieldOf(parsed, 'dependencies');
  return isRecord(parsed) && (!isRecord(dependencies) || Object.keys(dependencies).length === 0);
}

function yarnLockIsEmpty(lock: string): boolean {
  return !hasLine(lock, (line) => {
    const entry = line.trimEnd();
    return /^[^\s#]/.test(entry) && entry.endsWith(':') && !/^__metadata:|@workspace:\."?:$/.test(entry);
  });
}

// ---- Python ----

const PYTHON_LOCKFILES = ['uv.lock', 'poetry.lock', 'pdm.lock', 'Pipfile.lock'] as const;

const REQUIREMENTS = [
  'requirements.txt',
  'requirements-dev.txt',
  'requirements-test.txt',
  'dev-requirements.txt',
  'test-requirements.txt',
];

/** The program decides inside what it takes the packages from; see `python-setup.ts`. */
async function setupOfPython(tree: ProjectTree): Promise<FoundCommand | null> {
  const programs = ['python3'];
  const lockfile = PYTHON_LOCKFILES.find((file) => tree.has(file));
  if (lockfile !== undefined && !pythonLockIsEmpty(lockfile, await tree.read(lockfile)))
    return { command: PYTHON_SETUP, source: lockfile, programs };
  for (const [source, says] of PYTHON_MANIFESTS) {
    if (!hasLine(await tree.read(source), says)) continue;
    return {
      command: PYTHON_SETUP,
      source,
      programs,
      ...(lockfile === undefined ? { notice: unpinned(source, 'a lockfile, such as uv.lock,') } : {}),
    };
  }
  return null;
}

const PYTHON_MANIFESTS: readonly (readonly [file: string, says: (line: string) => boolean])[] = [
  ['pyproject.toml', (line) => /^\[(?:project|build-system|dependency-groups|tool\.poetry)\]/.test(line.trim())],
  ['setup.py', (line) => line.trim() !== ''],
  ['setup.cfg', (line) => /^install_requires\s*=/.test(line)],
  ...REQUIREMENTS.map((file) => [file, (line: string) => /^[^#]/.test(line.trimStart())] as const),
];

function pythonLockIsEmpty(file: (typeof PYTHON_LOCKFILES)[number], lock: string): boolean {
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

// ---- Rust, Go, Ruby, PHP ----

async function setupOfRust(tree: ProjectTree): Promise<FoundCommand | null> {
  const programs = ['cargo'];
  const lockfile = 'Cargo.lock';
  if (tree.has(lockfile)) {
    const locks = hasLine(await tree.read(lockfile), (line) => /^source\s*=/.test(line));
    return locks ? { command: 'cargo fetch --locked', source: lockfile, programs } : null;
  }
  const source = 'Cargo.toml';
  const names = hasLine(await tree.read(source), (line) =>
    /^\[(?:.*[.])?(?:(?:dev|build)-)?dependencies[\].]/.test(line),
  );
  return names ? { command: 'cargo fetch', source, programs, notice: unpinned(source, lockfile) } : null;
}

async function setupOfGo(tree: ProjectTree): Promise<FoundCommand | null> {
  const source = 'go.mod';
  if (tree.has('vendor/modules.txt')) return null;
  return hasLine(await tree.read(source), (line) => /^require\b/.test(line.trimStart()))
    ? { command: 'go mod download', source, programs: ['go'] }
    : null;
}

async function setupOfRuby(tree: ProjectTree): Promise<FoundCommand | null> {
  const programs = ['bundle'];
  const lockfile = 'Gemfile.lock';
  if (tree.has(lockfile)) {
    const locks = hasLine(await tree.read(lockfile), (line) => /^ {4}\S+ \(/.test(line));
    return locks ? { command: 'BUNDLE_FROZEN=true bundle install', source: lockfile, programs } : null;
  }
  const source = 'Gemfile';
  const names = hasLine(await tree.read(source), (line) => /^\s*(?:gem\s|gemspec\b)/.test(line));
  return names ? { command: 'bundle install', source, programs, notice: unpinned(source, lockfile) } : null;
}

async function setupOfPhp(tree: ProjectTree): Promise<FoundCommand | null> {
  const command = 'composer install --no-interaction';
  const programs = ['composer'];
  const lockfile = 'composer.lock';
  if (tree.has(lockfile)) {
    const parsed = parseJson(await tree.read(lockfile));
    const isEmpty =
      isRecord(parsed) &&
      ['packages', 'packages-dev'].every((group) => [fieldOf(parsed, group) ?? []].flat().length === 0);
    return isEmpty ? null : { command, source: lockfile, programs };
  }
  const source = 'composer.json';
  const manifest = parseJson(await tree.read(source));
  const names = ['require', 'require-dev'].some((field) =>
    Object.keys(fieldOf(manifest, field) ?? {}).some((name) => name.includes('/')),
  );
  return names ? { command, source, programs, notice: unpinned(source, lockfile) } : null;
}
