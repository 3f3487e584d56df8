/** Files that a check command reaches, by the text of the base commit. */
import { describe, expect, it } from 'vitest';
import { matchesGlob, reachOfCheck } from './check-reach.ts';
import { isTestConfiguration, pathsToRestore } from './project-commands.ts';

type Files = Readonly<Record<string, string>>;

/** Restored and doubtful files when a run changed these files of a base. */
async function reached(command: string, base: Files, changed: readonly string[]) {
  const basePaths = Object.keys(base).sort();
  const read = async (paths: readonly string[]) =>
    new Map(paths.flatMap((path): [string, string][] => (base[path] === undefined ? [] : [[path, base[path]]])));
  const reach = await reachOfCheck({ command, basePaths, changed, read });
  const result = [...new Set([...basePaths, ...changed])].sort();
  return { restored: pathsToRestore(basePaths, result, changed, reach.restored), doubtful: reach.doubtful };
}
const manifest = (test: string) => JSON.stringify({ scripts: { test } });
const TEST = { 'test/a.test.js': '' };

describe('what a check command reaches', () => {
  it.each<[string, string, Files, readonly string[], readonly string[]]>([
    [
      'a script of a manifest',
      'npm test',
      { 'package.json': manifest('node tools/check.mjs'), 'tools/check.mjs': '' },
      ['tools/check.mjs', 'src/a.js'],
      ['tools/check.mjs'],
    ],
    [
      'what that script imports of the tools',
      'npm test',
      {
        'package.json': manifest('node tools/check'),
        'tools/check.mjs': "import './lib/assert.mjs';\nimport '../src/a.js';\n",
        'tools/lib/assert.mjs': '',
        'src/a.js': '',
      },
      ['tools/lib/assert.mjs', 'src/a.js'],
      ['tools/lib/assert.mjs'],
    ],
    [
      'a script of the command itself',
      'sh ./scripts/ci.sh',
      { 'scripts/ci.sh': 'python3 scripts/verify.py\n', 'scripts/verify.py': '' },
      ['scripts/verify.py', 'scripts/other.py'],
      ['scripts/verify.py'],
    ],
    [
      'included makefiles, named or by pattern',
      'make test',
      { Makefile: 'include ci.mk\n-include *.mk\ntest:\n\t$(RUN) src/*.js\n', 'ci.mk': '' },
      ['ci.mk', 'new.mk', 'src/new.js'],
      ['ci.mk', 'new.mk'],
    ],
    [
      'a carried package manager',
      'node .yarn/releases/yarn-4.9.0.cjs test',
      { '.yarn/releases/yarn-4.9.0.cjs': '' },
      ['.yarn/releases/yarn-4.9.0.cjs', '.pnp.cjs', '.yarn/plugins/x.cjs'],
      ['.pnp.cjs', '.yarn/plugins/x.cjs', '.yarn/releases/yarn-4.9.0.cjs'],
    ],
    [
      'what a runner loads',
      'npm test',
      {
        'package.json': manifest('vitest run'),
        'vitest.config.ts': "export default { test: { setupFiles: ['./src/setup.ts'] }, root: '.' };\n",
        'src/setup.ts': '',
      },
      ['src/setup.ts', 'src/a.ts'],
      ['src/setup.ts'],
    ],
    [
      'a new file that a makefile includes, by its name or by a pattern',
      'make test',
      { Makefile: '-include .env\n-include conf.d/*\ntest:\n\tnode --test\n' },
      ['.env', 'conf.d/local', 'src/.env.js'],
      ['.env', 'conf.d/local'],
    ],
    [
      'a new file that a script sources',
      'npm test',
      {
        'package.json': manifest('sh scripts/test.sh'),
        'scripts/test.sh': '[ -f ./local.sh ] && . ./local.sh\nnode --test\n',
      },
      ['local.sh', 'scripts.md'],
      ['local.sh'],
    ],
    [
      'a new environment of a script',
      'npm test',
      { 'package.json': manifest('node --env-file-if-exists=.env --test') },
      ['.env', 'src/env.js'],
      ['.env'],
    ],
    [
      'a new environment that a runner’s configuration looks for by itself',
      'npm test',
      { 'package.json': manifest('vitest run'), 'vitest.config.ts': "import 'dotenv/config';\n" },
      ['config/.env', 'src/env.js'],
      ['config/.env'],
    ],
    [
      'configuration of styles, which Vite runs in the runner’s process',
      'npm test',
      { 'package.json': manifest('vitest run') },
      ['postcss.config.mjs', '.postcssrc.json', 'src/a.css'],
      ['.postcssrc.json', 'postcss.config.mjs'],
    ],
    [
      'compiled modules of Python, and metadata of packages in any spelling',
      'python3 -m pytest',
      {},
      ['__pycache__/sums.cpython-311.pyc', 'evil.DIST-INFO/entry_points.txt', 'bdb.py', 'sums.py'],
      ['__pycache__/sums.cpython-311.pyc', 'bdb.py', 'evil.DIST-INFO/entry_points.txt'],
    ],
    [
      'a plugin of pytest',
      'python3 -m pytest',
      { 'pytest.ini': '[pytest]\naddopts = -p sums.plugin\n', 'sums/plugin.py': '' },
      ['sums/plugin.py', 'sums/add.py'],
      ['sums/plugin.py'],
    ],
    [
      'modules before those of the runner',
      'python3 -m pytest',
      {},
      [
        'unittest.py',
        'pluggy/__init__.py',
        'argparse.py',
        'src/_pytest/main.py',
        'evil.dist-info/entry_points.txt',
        'shop/types.py',
      ],
      ['argparse.py', 'evil.dist-info/entry_points.txt', 'pluggy/__init__.py', 'src/_pytest/main.py', 'unittest.py'],
    ],
  ])('takes in %s, and leaves the product alone', async (_, command, base, changed, restored) => {
    expect(await reached(command, { ...TEST, ...base }, changed)).toEqual({ restored, doubtful: [] });
  });

  it('takes any module of the standard library, as Python would find it', async () => {
    const changed = [
      'webbrowser.py',
      'src/html/__init__.py',
      'src/html/more.py',
      'html/notes.py',
      'shop/html.py',
      'graphlib.pyc',
    ];
    expect(await reached('python3 -m pytest', TEST, changed)).toEqual({
      restored: ['graphlib.pyc', 'src/html/__init__.py', 'src/html/more.py', 'webbrowser.py'],
      doubtful: [],
    });
  });

  it('leaves what is new in a package of the base, whatever it is called', async () => {
    expect(await reached('python3 -m pytest', { ...TEST, 'email/__init__.py': '' }, ['email/send.py'])).toEqual({
      restored: [],
      doubtful: [],
    });
  });

  it('takes configuration, carried tools and what stands before a runner in any case', async () => {
    const changed = [
      'VITEST.config.ts',
      'gnumakefile',
      'JUSTFILE',
      'taskfile.yml',
      'rakefile',
      'Evil.Dist-Info/entry_points.txt',
      '__PYCACHE__/a.pyc',
      'Node_Modules/a/index.js',
      '.YARN/releases/yarn.cjs',
      '.Cargo/config.toml',
      'SiteCustomize.py',
      'ConfTest.py',
    ];
    expect((await reached('npm test', TEST, changed)).restored).toEqual(changed.toSorted());
  });

  it('finds files that lines name whatever ends the lines', async () => {
    const base = { ...TEST, Makefile: '# a\r-include .env\rtest:\r\tnode --test\r' };
    expect((await reached('make test', base, ['.env'])).restored).toEqual(['.env']);
  });

  it('leaves a module of the base with the name of a runner’s: it is the product', async () => {
    expect(await reached('python3 -m pytest', { ...TEST, 'calendar.py': '' }, ['calendar.py'])).toEqual({
      restored: [],
      doubtful: [],
    });
  });

  it('is in doubt of files that the command names and that may be the product, and of build files', async () => {
    const base = {
      ...TEST,
      Makefile: 'test:\n\tsh run-it.sh\n',
      'run-it.sh': 'sh app.sh\n',
      'app.sh': '',
      'build.gradle': '',
    };
    expect(await reached('make test', base, ['run-it.sh', 'build.gradle', 'README.md'])).toEqual({
      restored: [],
      doubtful: ['build.gradle', 'run-it.sh'],
    });
  });

  it('is in doubt of a new file that a makefile names, and of a framework’s configuration that the runner’s names', async () => {
    const base = {
      ...TEST,
      Makefile: 'ENV_FILE ?= local.env\n-include $(ENV_FILE)\ntest:\n\tnode --test\n',
      'jest.config.js': "module.exports = require('next/jest')();\n",
    };
    expect(await reached('make test', base, ['local.env', 'next.config.mjs', 'astro.config.mjs'])).toEqual({
      restored: [],
      doubtful: ['local.env', 'next.config.mjs'],
    });
  });

  it('does not mind files of scripts that the command does not come to', async () => {
    const base = {
      ...TEST,
      'package.json': JSON.stringify({
        scripts: {
          start: 'node src/server.js',
          test: 'npm run -s test:unit',
          'test:unit': 'node src/check.js',
          posttest: 'node src/after.js',
        },
      }),
      'src/server.js': '',
      'src/check.js': '',
      'src/after.js': '',
    };
    for (const command of ['npm test', 'npm t'])
      expect(await reached(command, base, ['src/server.js', 'src/check.js', 'src/after.js']), command).toEqual({
        restored: [],
        doubtful: ['src/after.js', 'src/check.js'],
      });
  });

  it('reads at most 300 files, also of those that others name', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `p${index}`);
    const base = Object.fromEntries(
      names.flatMap((name) => {
        const tests = ['a', 'b'].map((test) => `${name}/${test}.test.js`);
        return [
          [`${name}/package.json`, manifest(`node --test ${tests.join(' ')}`)],
          ...tests.map((test) => [test, '']),
        ];
      }),
    );
    const asked: string[] = [];
    const read = async (paths: readonly string[]) => {
      asked.push(...paths);
      return new Map(paths.map((path) => [path, base[path] ?? '']));
    };
    await reachOfCheck({ command: 'npm test', basePaths: Object.keys(base).sort(), changed: [], read });
    expect(asked.length).toBe(300);
  });

  it('gives patterns of the command and of its scripts', async () => {
    const base = { 'package.json': manifest('mocha "checks/**/*.js" --require x.js') };
    const read = async () => new Map(Object.entries(base));
    const { globs } = await reachOfCheck({
      command: 'npm test',
      basePaths: Object.keys(base).sort(),
      changed: [],
      read,
    });
    expect(globs).toEqual(['checks/**/*.js']);
    expect(matchesGlob('packages/a/checks/b/c.js', 'checks/**/*.js')).toBe(true);
    expect(matchesGlob('src/checks.js', './checks/**/*.js')).toBe(false);
  });

  it('knows the configuration of runners wherever it stands', () => {
    for (const path of [
      'pytest.toml',
      'web/.pytest.toml',
      'babel.config.js',
      '.swcrc',
      '.env.test',
      'justfile',
      'Rakefile',
      'gradlew',
      '.mvn/jvm.config',
      'gradle/wrapper/gradle-wrapper.properties',
      '.pnpmfile.cjs',
      'turbo.json',
    ])
      expect(isTestConfiguration(path), path).toBe(true);
    for (const path of ['pyproject.toml', 'src/config.ts', '.env', 'tsconfig.json', 'src/make.ts'])
      expect(isTestConfiguration(path), path).toBe(false);
  });
});
