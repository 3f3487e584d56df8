/** Commands found from a project's files, and the files that are put back before its checks run a second time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../test/fixtures/growth.fixture.ts';
import { withInstallScripts } from './installation/install-steps.ts';
import { findProjectCommands, isTestConfiguration, isTestPath, pathsToRestore } from './project-commands.ts';

/** Files by path; commands are looked up as the engine does it. */
const find = (files: Readonly<Record<string, string>>) =>
  findProjectCommands(Object.keys(files).toSorted(), async (path) => files[path] ?? null);
const setupOf = async (files: Readonly<Record<string, string>>) => (await find(files)).setup;
const testOf = async (files: Readonly<Record<string, string>>) => (await find(files)).test;

const PYTHON = 'python3 ~/.install-python.py';
const deps = (name: string, more: object = {}) => JSON.stringify({ devDependencies: { [name]: '*' }, ...more });
const npmLock = (packages: object) =>
  JSON.stringify({ lockfileVersion: 3, packages: { '': { name: 'shop' }, ...packages } });
const withTest = (script: string, more: object = {}) => JSON.stringify({ scripts: { test: script }, ...more });

describe('files written to be slow to read', () => {
  it.each<[string, string, number, (size: number) => string]>([
    ['spaces behind a target', 'Makefile', 200, (n) => `test${' '.repeat(n)}\n`],
    ['a target many times', 'Makefile', 2_000, (n) => `x ${'test '.repeat(n)}\n`],
    ['blank lines', 'requirements.txt', 8_000, (n) => '\n'.repeat(n)],
    ['lines of spaces', 'requirements.txt', 8_000, (n) => ' \n'.repeat(n)],
    ['blank lines', 'go.mod', 8_000, (n) => '\n'.repeat(n)],
    ['colons', 'yarn.lock', 8_000, (n) => `a${':'.repeat(n)}x`],
    ['blank lines behind an entry', 'yarn.lock', 8_000, (n) => `a:${'\n'.repeat(n)}x`],
    ['blank lines behind packages', 'pnpm-lock.yaml', 8_000, (n) => `packages:${'\n'.repeat(n)}x`],
    ['spaces behind packages', 'bun.lock', 8_000, (n) => `"packages" : {${' '.repeat(n)}x`],
    ['spaces behind a source', 'uv.lock', 8_000, (n) => `[[package]]\nsource${' '.repeat(n)}`],
    ['blank lines behind a source', 'Cargo.lock', 8_000, (n) => `source${'\n'.repeat(n)}`],
  ])('take time in proportion to their size: %s of %s', async (_, file, size, make) => {
    expect(await growthOf(size, make, (text) => find({ [file]: text }))).toBeLessThan(LINEAR);
  });
});

describe('the install step', () => {
  it.each<[string, Record<string, string>, string, string]>([
    ['npm', { 'package-lock.json': npmLock({ 'node_modules/hono': {} }) }, 'npm ci', 'package-lock.json'],
    [
      'npm, old lockfile',
      { 'package-lock.json': '{"lockfileVersion":1,"dependencies":{"hono":{}}}' },
      'npm ci',
      'package-lock.json',
    ],
    [
      'npm workspaces',
      { 'package-lock.json': npmLock({ 'packages/a': {}, 'node_modules/a': { link: true } }) },
      'npm ci',
      'package-lock.json',
    ],
    ['npm, unreadable lockfile', { 'package-lock.json': '<<<<<<< HEAD' }, 'npm ci', 'package-lock.json'],
    [
      'npm shrinkwrap',
      { 'npm-shrinkwrap.json': npmLock({ 'node_modules/hono': {} }) },
      'npm ci',
      'npm-shrinkwrap.json',
    ],
    [
      'pnpm',
      { 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n\npackages:\n\n  hono@4.0.0:\n", 'package.json': '{}' },
      '$(command -v pnpm || echo npx --yes pnpm) install --frozen-lockfile --ignore-scripts',
      'pnpm-lock.yaml',
    ],
    [
      'pnpm in the version asked for',
      { 'pnpm-lock.yaml': 'packages:\n  a@1:\n', 'package.json': '{"packageManager":"pnpm@9.12.3+sha512.abc"}' },
      '$(command -v pnpm || echo npx --yes pnpm@9.12.3) install --frozen-lockfile --ignore-scripts',
      'pnpm-lock.yaml',
    ],
    [
      'classic Yarn',
      { 'yarn.lock': '# yarn lockfile v1\n\n\nhono@^4.0.0:\n  version "4.0.0"\n' },
      '$(command -v yarn || echo npx --yes yarn) install --frozen-lockfile',
      'yarn.lock',
    ],
    [
      'Yarn from version 2 on',
      { 'yarn.lock': '__metadata:\n  version: 8\n\n"hono@npm:^4.0.0":\n  version: 4.0.0\n' },
      'env -u YARN_IGNORE_SCRIPTS $(command -v yarn || echo npx --yes @yarnpkg/cli-dist) install --immutable --mode=skip-build',
      'yarn.lock',
    ],
    [
      'Yarn that the repository brings along',
      { 'yarn.lock': '__metadata:\n  version: 8\n\n"hono@npm:^4.0.0":\n', '.yarn/releases/yarn-4.5.0.cjs': '' },
      'env -u YARN_IGNORE_SCRIPTS node .yarn/releases/yarn-4.5.0.cjs install --immutable --mode=skip-build',
      'yarn.lock',
    ],
    [
      'Yarn 2',
      { 'yarn.lock': '__metadata:\n  version: 4\n\n"hono@npm:^4.0.0":\n', '.yarn/releases/yarn-2.4.1.cjs': '' },
      'env -u YARN_IGNORE_SCRIPTS node .yarn/releases/yarn-2.4.1.cjs install --immutable --skip-builds',
      'yarn.lock',
    ],
    [
      'Bun',
      { 'bun.lock': '{ "packages": { "hono": [] } }' },
      'sh ~/.install-bun.sh && bun install --frozen-lockfile --ignore-scripts',
      'bun.lock',
    ],
    [
      'Bun, binary lockfile',
      { 'bun.lockb': '\0' },
      'sh ~/.install-bun.sh && bun install --frozen-lockfile --ignore-scripts',
      'bun.lockb',
    ],
    [
      'Bun in the version asked for, with tests and no package',
      { 'package.json': withTest('bun test', { packageManager: 'bun@1.2.20' }) },
      'sh ~/.install-bun.sh 1.2.20',
      'package.json',
    ],
    ['uv', { 'uv.lock': '[[package]]\nname = "flask"\nsource = { registry = "x" }\n' }, PYTHON, 'uv.lock'],
    ['Poetry', { 'poetry.lock': '[[package]]\nname = "flask"\n' }, PYTHON, 'poetry.lock'],
    ['Pipenv', { 'Pipfile.lock': '{"default":{"flask":{}},"develop":{}}' }, PYTHON, 'Pipfile.lock'],
    ['pip', { 'requirements.txt': 'flask==3.0\n', 'requirements-dev.txt': 'pytest\n' }, PYTHON, 'requirements.txt'],
    ['a Python package', { 'pyproject.toml': '[project]\nname = "shop"\n' }, PYTHON, 'pyproject.toml'],
    ['setup.py', { 'setup.py': 'from setuptools import setup\nsetup()\n' }, PYTHON, 'setup.py'],
    ['npm without a lockfile', { 'package.json': deps('xo') }, 'npm install --no-package-lock', 'package.json'],
    [
      'npm workspaces without a lockfile',
      { 'package.json': '{"workspaces":["packages/*"]}' },
      'npm install --no-package-lock',
      'package.json',
    ],
    [
      'pnpm without a lockfile',
      { 'package.json': deps('vitest'), 'pnpm-workspace.yaml': 'packages: []\n' },
      '$(command -v pnpm || echo npx --yes pnpm) install --no-lockfile --ignore-scripts',
      'package.json',
    ],
    [
      'classic Yarn without a lockfile',
      { 'package.json': deps('jest', { packageManager: 'yarn@1.22.19' }) },
      '$(command -v yarn || echo npx --yes yarn@1.22.19) install --no-lockfile',
      'package.json',
    ],
    [
      'Yarn from version 2 on without a lockfile',
      { 'package.json': deps('jest', { packageManager: 'yarn@4.5.0' }) },
      'env -u YARN_IGNORE_SCRIPTS $(command -v yarn || echo npx --yes @yarnpkg/cli-dist@4.5.0) install --no-immutable --mode=skip-build',
      'package.json',
    ],
    [
      'Bun without a lockfile',
      { 'package.json': deps('hono'), 'bunfig.toml': '' },
      'sh ~/.install-bun.sh && bun install --no-save --ignore-scripts',
      'package.json',
    ],
    ['Cargo without a lockfile', { 'Cargo.toml': '[dependencies]\nserde = "1"\n' }, 'cargo fetch', 'Cargo.toml'],
    [
      'Cargo with dependencies of tests alone',
      { 'Cargo.toml': '[dev-dependencies.serde]\nversion = "1"\n' },
      'cargo fetch',
      'Cargo.toml',
    ],
    ['Bundler without a lockfile', { Gemfile: "gem 'rack'\n" }, 'bundle install', 'Gemfile'],
    [
      'Composer without a lockfile',
      { 'composer.json': '{"require":{"php":">=8","a/b":"1"}}' },
      'composer install --no-interaction',
      'composer.json',
    ],
    [
      'Cargo',
      { 'Cargo.lock': '[[package]]\nname = "serde"\nsource = "registry+x"\n' },
      'cargo fetch --locked',
      'Cargo.lock',
    ],
    ['Go', { 'go.mod': 'module x\n\nrequire (\n\tgithub.com/a/b v1.0.0\n)\n' }, 'go mod download', 'go.mod'],
    [
      'Bundler',
      { 'Gemfile.lock': 'GEM\n  specs:\n    rack (3.0.0)\n' },
      'BUNDLE_FROZEN=true bundle install',
      'Gemfile.lock',
    ],
    [
      'Composer',
      { 'composer.lock': '{"packages":[{"name":"a/b"}]}' },
      'composer install --no-interaction',
      'composer.lock',
    ],
  ])('is found for %s', async (_what, files, command, source) => {
    expect(await setupOf(files)).toEqual({ command, source });
  });

  it.each<[string, Record<string, string>]>([
    ['package.json', { 'package.json': '{"dependencies":{}}', 'README.md': '' }],
    ['Cargo.toml', { 'Cargo.toml': '[package]\nname = "shop"\n' }],
    ['a pyproject.toml of tools', { 'pyproject.toml': '[tool.pytest.ini_options]\n' }],
    ['composer.json', { 'composer.json': '{"require":{"php":">=8"}}' }],
    ['go.mod', { 'go.mod': 'module x\nrequire a/b v1.0.0\n', 'vendor/modules.txt': '' }],
    ['package-lock', { 'package-lock.json': npmLock({}) }],
    ['an old package-lock', { 'package-lock.json': '{"lockfileVersion":1}' }],
    ['pnpm-lock', { 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n\nimporters:\n\n  .: {}\n" }],
    ['a classic yarn.lock', { 'yarn.lock': '# yarn lockfile v1\n\n' }],
    ['a yarn.lock', { 'yarn.lock': '__metadata:\n  version: 8\n\n"shop@workspace:.":\n  version: 0.0.0-use.local\n' }],
    ['bun.lock', { 'bun.lock': '{ "lockfileVersion": 1, "packages": {} }' }],
    ['uv.lock', { 'uv.lock': 'version = 1\n\n[[package]]\nname = "shop"\nsource = { virtual = "." }\n' }],
    ['poetry.lock', { 'poetry.lock': 'package = []\n' }],
    ['Pipfile.lock', { 'Pipfile.lock': '{"_meta":{},"default":{},"develop":{}}' }],
    ['requirements.txt', { 'requirements.txt': '# none yet\n\n' }],
    ['Cargo.lock', { 'Cargo.lock': '[[package]]\nname = "shop"\nversion = "0.1.0"\n' }],
    ['go.mod', { 'go.mod': 'module example.com/shop\n\ngo 1.23\n' }],
    ['Gemfile.lock', { 'Gemfile.lock': 'GEM\n  specs:\n\nPLATFORMS\n  ruby\n' }],
    ['composer.lock', { 'composer.lock': '{"packages":[],"packages-dev":[]}' }],
    ['a lockfile of another folder', { 'docs/package-lock.json': npmLock({ 'node_modules/hono': {} }) }],
  ])('is none where %s names no dependency', async (_what, files) => {
    expect(await setupOf(files)).toBeNull();
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'pnpm',
      { 'pnpm-lock.yaml': 'packages:\n' },
      '$(command -v pnpm || echo npx --yes pnpm) install --frozen-lockfile',
    ],
    ['Bun', { 'bun.lockb': '\0' }, 'sh ~/.install-bun.sh && bun install --frozen-lockfile'],
    [
      'Yarn from version 2 on',
      { 'package.json': deps('jest', { packageManager: 'yarn@4.5.0' }) },
      'env -u YARN_IGNORE_SCRIPTS $(command -v yarn || echo npx --yes @yarnpkg/cli-dist@4.5.0) install --no-immutable',
    ],
    ['npm', { 'package.json': deps('xo') }, 'npm install --no-package-lock'],
  ])('has no option against scripts where the project allows them: %s', async (_what, files, command) => {
    expect(withInstallScripts((await setupOf(files))?.command ?? '')).toBe(command);
  });

  it('joins those of several languages and names the first as its source', async () => {
    expect(
      await setupOf({ 'requirements.txt': 'flask\n', 'package-lock.json': npmLock({ 'node_modules/a': {} }) }),
    ).toEqual({
      command: `npm ci && ${PYTHON}`,
      source: 'package-lock.json',
    });
  });

  it('takes nothing from the repository into a shell but a plain version and a plain file name', async () => {
    const files = (packageManager: string) => ({
      'pnpm-lock.yaml': 'packages:\n',
      'package.json': JSON.stringify({ packageManager }),
    });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (tail) => {
        const { command } = (await setupOf(files(`pnpm@1.2.3${tail}`))) ?? { command: '' };
        expect(command).toMatch(
          /^\$\(command -v pnpm \|\| echo npx --yes pnpm(@\d+\.\d+\.\d+)?\) install --frozen-lockfile --ignore-scripts$/,
        );
      }),
    );
    const hostile = { 'yarn.lock': 'a@1:\n', '.yarn/releases/x;touch pwned.cjs': '', '.yarn/releases/$(id).cjs': '' };
    expect((await setupOf(hostile))?.command).toBe(
      '$(command -v yarn || echo npx --yes yarn) install --frozen-lockfile',
    );
  });
});

describe('the test command', () => {
  it.each<[string, Record<string, string>, string, string]>([
    ['npm', { 'package.json': withTest('node --test') }, 'npm test', 'package.json'],
    [
      'pnpm',
      { 'package.json': withTest('vitest run'), 'pnpm-lock.yaml': '' },
      '$(command -v pnpm || echo npx --yes pnpm) test',
      'package.json',
    ],
    [
      'yarn',
      { 'package.json': withTest('jest'), 'yarn.lock': '' },
      '$(command -v yarn || echo npx --yes yarn) test',
      'package.json',
    ],
    ['bun', { 'package.json': withTest('bun test'), 'bun.lock': '' }, 'bun run test', 'package.json'],
    ['make', { Makefile: 'all: build\n\ntest: all\n\t./check\n' }, 'make test', 'Makefile'],
    ['make with several targets', { Makefile: 'lint test check:\n\t./$@\n' }, 'make test', 'Makefile'],
    [
      'pytest by its configuration',
      { 'pytest.ini': '[pytest]\n', 'tests/test_a.py': '' },
      'python3 -m pytest',
      'pytest.ini',
    ],
    ['pytest by pyproject', { 'pyproject.toml': '', 'tests/test_a.py': '' }, 'python3 -m pytest', 'pyproject.toml'],
    ['pytest by its files', { 'shop/cart_test.py': '' }, 'python3 -m pytest', 'shop/cart_test.py'],
    ['pytest under uv', { 'uv.lock': '', 'test_a.py': '' }, 'python3 -m pytest', 'test_a.py'],
    ['a folder below the root', { 'backend/go.mod': 'module x' }, '(cd backend && go test ./...)', 'backend/go.mod'],
    [
      'two folders below the root',
      { 'apps/web/package.json': withTest('jest'), 'server/Cargo.toml': '', 'docs/package.json': withTest('jest') },
      '(cd apps/web && npm test) && (cd server && cargo test)',
      'apps/web/package.json',
    ],
    [
      'a folder, where the root has tools alone',
      { 'package.json': deps('prettier'), 'web/package.json': withTest('jest') },
      '(cd web && npm test)',
      'web/package.json',
    ],
    ['Cargo', { 'Cargo.toml': '' }, 'cargo test', 'Cargo.toml'],
    ['Go', { 'go.mod': 'module x' }, 'go test ./...', 'go.mod'],
    [
      'package.json before a Makefile',
      { 'package.json': withTest('jest'), Makefile: 'test:\n' },
      'npm test',
      'package.json',
    ],
    ['a Makefile before Go', { 'go.mod': '', Makefile: 'test:\n\tgo test -race ./...\n' }, 'make test', 'Makefile'],
    [
      'package.json with a byte order mark',
      { 'package.json': `\ufeff${withTest('jest')}` },
      'npm test',
      'package.json',
    ],
  ])('is found for %s', async (_what, files, command, source) => {
    expect(await testOf(files)).toEqual({ command, source });
  });

  it.each<[string, Record<string, string>]>([
    ['is empty', {}],
    ['has npm’s placeholder', { 'package.json': withTest('echo "Error: no test specified" && exit 1') }],
    ['has an empty script', { 'package.json': withTest(' ') }],
    ['has a script that is no text', { 'package.json': '{"scripts":{"test":1}}' }],
    ['has scripts that are no object', { 'package.json': '{"scripts":["test"]}' }],
    ['has a package.json that is no JSON', { 'package.json': '{' }],
    ['inherits a script', { 'package.json': '{"scripts":{"__proto__":{"test":"x"}}}' }],
    ['has a Makefile without the target', { Makefile: '.PHONY: test\ntests:\n\t./x\nlatest: x\nmytest :\n' }],
    ['has a Makefile variable of that name', { Makefile: 'test := 1\ntest ::= 2\ntest = 3\nall:\n\techo test: no\n' }],
    ['has Python without tests', { 'pyproject.toml': '', 'shop/main.py': '' }],
    ['has its package.json in examples', { 'examples/web/package.json': withTest('jest') }],
    ['has its package.json in a folder with a name for a shell', { 'a;b/package.json': withTest('jest') }],
  ])('is none where the project %s', async (_what, files) => {
    expect(await testOf(files)).toBeNull();
  });
});

describe('people', () => {
  it('are told where no lockfile pins versions, and which tests are not run', async () => {
    const files = { 'package.json': withTest('jest', { devDependencies: { jest: '*' } }), 'test_a.py': '' };
    expect((await find(files)).notices).toEqual([
      'package.json has no lockfile: the install step takes the versions that are newest when it runs. Commit package-lock.json to pin them.',
      'Not among the checks: `python3 -m pytest` (test_a.py). To run them as well, set defaultRunConfig.commands.test in .autonomous/config.json to `npm test && python3 -m pytest`.',
    ]);
    expect((await find({ 'go.mod': '', Makefile: 'test:\n\tgo test ./...\n' })).notices).toEqual([]);
  });
});

describe('the programs of the commands', () => {
  it.each<[string, Record<string, string>, readonly string[]]>([
    ['npm', { 'package.json': withTest('xo') }, ['npm']],
    ['pnpm, which npx can bring', { 'package.json': withTest('xo'), 'pnpm-lock.yaml': '' }, ['npx', '?pnpm']],
    ['make and the one compiler of the project', { 'go.mod': '', Makefile: 'test:\n' }, ['make', 'go']],
    ['make alone, with several', { 'go.mod': '', 'Cargo.toml': '', Makefile: 'test:\n' }, ['make']],
  ])('are %s', async (_what, files, programs) => {
    expect((await find(files)).programs.test).toEqual(programs);
  });
});

describe('the files that decide about tests', () => {
  it.each([
    'test/login.js',
    'tests/unit/a.py',
    'src/__tests__/a.tsx',
    'src/__snapshots__/a.snap',
    'src/__mocks__/db.ts',
    'spec/models/user_spec.rb',
    'e2e/login.ts',
    'packages/web/test/fixtures/data.json',
    'src/login.test.ts',
    'src/login.spec.jsx',
    'src/types.test-d.ts',
    'src/login.test.ts.snap',
    'cypress/integration/a.js',
    'login.cy.ts',
    'pkg/cart/cart_test.go',
    'pkg/cart/testdata/golden.txt',
    'test_login.py',
    'shop/conftest.py',
    'test.js',
    'lib/cart-test.mjs',
    'lib/test-cart.js',
    'src/test/java/shop/Cart.java',
    'app/CartTest.java',
    'app/CartTests.cs',
    'Shop.Tests/Cart.cs',
    'Tests/ShopTests/Cart.swift',
    'features/login.feature',
    't/01-basic.t',
    'integration-tests/a.sh',
    'check.bats',
    'fixtures/sums.json',
    'packages/a/golden/page.html',
    'src/expected/sums.json',
    'mocks/server.js',
    'src/testHelpers.js',
    'src/renderTestUtils.tsx',
    'lib/test-utils/index.js',
    'internal/testutil/http.go',
    'pkg/test_support/db.py',
  ])('have the test %s among them', (path) => {
    expect(isTestPath(path)).toBe(true);
  });

  it.each([
    'src/login.ts',
    'src/latest/index.ts',
    'src/contest.js',
    'src/fixtures.ts',
    'src/fixtures/users.ts',
    'src/latestUtils.ts',
    'src/testConnection.ts',
    'app/mocks/handlers.ts',
    'src/snapshot.ts',
    'src/testimonials.tsx',
    'src/attestation/verify.go',
    'lib/inspect.py',
    'docs/specification.md',
    'protest.py',
    'package.json',
    'README.md',
    'vitest.config.ts',
    '.autonomous/specs/001-login.md',
    '.autonomous/test/x.test.ts',
  ])('do not have %s among the tests', (path) => {
    expect(isTestPath(path)).toBe(false);
  });

  it.each([
    'vitest.config.ts',
    'vitest.workspace.js',
    'packages/web/vitest.setup.ts',
    'vite.config.mts',
    'jest.config.unit.js',
    'jest-puppeteer.config.js',
    'setupTests.ts',
    '.mocharc.yml',
    '.mocharc',
    'playwright.config.ts',
    'playwright-ct.config.ts',
    'cypress.json',
    'karma.conf.js',
    'ava.config.mjs',
    '.nycrc.json',
    'pytest.ini',
    'tox.ini',
    '.coveragerc',
    'Makefile',
    'GNUmakefile',
    '.npmrc',
    'packages/web/.yarnrc.yml',
    '.cargo/config.toml',
    'phpunit.xml.dist',
    '.rspec',
    'node_modules/.bin/vitest',
    'packages/web/node_modules/jest/index.js',
    'pytest.py',
    'pytest/__main__.py',
    'sitecustomize.py',
  ])('have the configuration %s among them', (path) => {
    expect(isTestConfiguration(path)).toBe(true);
  });

  it.each([
    'tsconfig.json',
    'tsconfig.test.json',
    '.github/workflows/ci.yml',
    'package.json',
    'webpack.config.js',
    'src/setup.ts',
    'config.toml',
    'src/pytest.py',
    'node_modules.txt',
  ])('do not have %s among the configuration', (path) => {
    expect(isTestConfiguration(path)).toBe(false);
  });
});

/** Files of a result that are put back for the second check. */
function restored(base: readonly string[], result: readonly string[], changed: readonly string[]): readonly string[] {
  return pathsToRestore(base.toSorted(), result.toSorted(), changed);
}

describe('what is put back', () => {
  const base = ['package.json', 'src/a.ts', 'test/a.test.ts', 'test/b.test.ts', 'vitest.config.ts'];

  it('is tests and test configuration that changed, were deleted or were added, and nothing else', () => {
    const result = [
      'package.json',
      'src/a.ts',
      'src/new.ts',
      'test/a.test.ts',
      'test/c.test.ts',
      'vitest.config.ts',
      'jest.config.js',
    ];
    const changed = [
      'vitest.config.ts',
      'test/c.test.ts',
      'test/b.test.ts',
      'test/a.test.ts',
      'src/new.ts',
      'src/a.ts',
      'package.json',
      'jest.config.js',
    ];
    expect(restored(base, result, changed)).toEqual([
      'jest.config.js',
      'test/a.test.ts',
      'test/b.test.ts',
      'test/c.test.ts',
      'vitest.config.ts',
    ]);
  });

  it('is a test that was renamed away', () => {
    const result = ['package.json', 'src/a.ts', 'src/renamed.ts', 'test/b.test.ts', 'vitest.config.ts'];
    expect(restored(base, result, ['src/renamed.ts', 'test/a.test.ts'])).toEqual(['test/a.test.ts']);
  });

  it('is nothing where only the product changed', () => {
    expect(restored(base, base, ['src/a.ts', 'package.json'])).toEqual([]);
  });

  it('leaves what is new beside the data of tests: it may be the product’s', () => {
    const paths = [...base, 'fixtures/a.json', 'fixtures/b.json'];
    expect(restored([...base, 'fixtures/a.json'], paths, ['fixtures/a.json', 'fixtures/b.json'])).toEqual([
      'fixtures/a.json',
    ]);
  });

  it('leaves added tests where the base has none, and still puts changed configuration back', () => {
    const changed = ['test/a.test.ts', 'vitest.config.ts', 'Makefile'];
    expect(restored(['src/a.ts', 'Makefile'], ['src/a.ts', ...changed], changed)).toEqual(['Makefile']);
  });
});
