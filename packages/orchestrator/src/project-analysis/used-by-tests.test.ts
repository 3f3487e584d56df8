/** Files that tests use besides themselves, in small bases. */
import { describe, expect, it } from 'vitest';
import { matchesGlob } from './check-reach.ts';
import { usedByTests } from './used-by-tests.ts';

type Files = Readonly<Record<string, string>>;

interface Given {
  readonly base: Files;
  /** Written over the base; `null` deletes. */
  readonly result: Readonly<Record<string, string | null>>;
  readonly reported?: readonly string[];
  readonly installed?: readonly string[];
  readonly runner?: string;
  readonly basePassed?: boolean;
  readonly globs?: readonly string[];
}

async function used({
  base,
  result,
  reported = [],
  installed = [],
  runner = 'node:test',
  basePassed = true,
  globs = [],
}: Given) {
  const after = new Map(
    Object.entries({ ...base, ...result }).filter((each): each is [string, string] => each[1] !== null),
  );
  const texts = (of: ReadonlyMap<string, string>) => async (paths: readonly string[]) =>
    new Map(paths.flatMap((path): [string, string][] => (of.has(path) ? [[path, of.get(path) ?? '']] : [])));
  const { restored, doubtful } = await usedByTests({
    basePaths: Object.keys(base).sort(),
    resultPaths: [...after.keys()].sort(),
    changed: Object.keys(result),
    reported,
    installed,
    runner,
    basePassed,
    globs,
    matchesGlob,
    readBase: texts(new Map(Object.entries(base))),
    readResult: texts(after),
  });
  return { restored: [...restored].sort(), doubtful: [...doubtful].sort() };
}

const NOTHING = { restored: [], doubtful: [] };
const CHECK =
  "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { add } from '../src/sums.js';\n";

describe('files that held tests, by the report', () => {
  it('are put back, changed and deleted ones, whatever they are called', async () => {
    expect(
      await used({
        base: {
          'checks/sums.js': CHECK,
          'checks/more.js': CHECK,
          'checks/a.py': 'def check_a(): ...',
          'src/sums.js': '',
        },
        result: { 'checks/sums.js': 'x', 'checks/more.js': null, 'checks/a.py': 'x', 'src/sums.js': 'x' },
        reported: ['checks/sums.js', 'checks/more.js', 'checks/a.py'],
      }),
    ).toEqual({ restored: ['checks/a.py', 'checks/more.js', 'checks/sums.js'], doubtful: [] });
  });

  it('take new ones with them, by a pattern that names tests alone or in a folder of tests', async () => {
    const base = { 'checks/sums.js': CHECK, 'src/sums.check.js': CHECK, 'src/sums.js': '' };
    expect(
      await used({
        base,
        result: { 'checks/a.js': '', 'src/a.check.js': '', 'src/a.js': '' },
        reported: ['checks/sums.js', 'src/sums.check.js'],
        globs: ['src/**/*.check.js', 'src/**/*.js'],
      }),
    ).toEqual({ restored: ['checks/a.js', 'src/a.check.js'], doubtful: [] });
  });

  it('are in doubt where they are the product as well', async () => {
    expect(
      await used({
        base: {
          'src/sums.js': `${CHECK}export const add = () => 0;\n`,
          'src/index.js': "export * from './sums.js';\n",
          'src/cli.js': 'console.log(1);\n',
        },
        result: { 'src/sums.js': 'x', 'src/index.js': 'x', 'src/cli.js': 'x' },
        // Node names a file as a test that has none.
        reported: ['src/sums.js', 'src/cli.js'],
      }),
    ).toEqual({ restored: [], doubtful: ['src/cli.js', 'src/sums.js'] });
  });

  it('are in doubt where examples in documentation are other ones, and only there', async () => {
    const doc = (wanted: string, code: string) =>
      `def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    ${wanted}\n    """\n    return ${code}\n`;
    const given = { base: { 'sums.py': doc('3', 'a + b') }, reported: ['sums.py'], runner: 'pytest' };
    expect(await used({ ...given, result: { 'sums.py': doc('-1', 'a - b') } })).toEqual({
      restored: [],
      doubtful: ['sums.py'],
    });
    expect(await used({ ...given, result: { 'sums.py': doc('3', 'b + a') } })).toEqual(NOTHING);
  });
});

describe('what tests lean on', () => {
  const READS =
    "import { join } from 'node:path';\nconst a = read(new URL('../sheets/a.json', import.meta.url));\nconst b = read(join(here, '..', 'sheets', 'b.json'));\n";

  it('is data that tests alone name: in doubt, or put back where its name says what it is for', async () => {
    const base = {
      'test/a.test.js': `${READS}read('../data/golden.json');\n`,
      'sheets/a.json': '1',
      'sheets/b.json': '1',
      'sheets/c.json': '1',
      'data/golden.json': '1',
    };
    const result = { 'sheets/a.json': '2', 'sheets/b.json': '2', 'sheets/c.json': '2', 'data/golden.json': '2' };
    expect(await used({ base, result })).toEqual({
      restored: ['data/golden.json'],
      doubtful: ['sheets/a.json', 'sheets/b.json'],
    });
  });

  it('is data in a folder that tests name as a whole', async () => {
    const base = { 'test/a.test.js': "for (const file of readdirSync('cases')) run(file);\n", 'cases/one.txt': '1' };
    expect(await used({ base, result: { 'cases/one.txt': '2' } })).toEqual({
      restored: [],
      doubtful: ['cases/one.txt'],
    });
  });

  it('is not what the product names as well, nor what says something about the project', async () => {
    const base = {
      'test/a.test.js': `${READS}read('package.json', '../README.md', '../package-lock.json');\n`,
      'src/a.js': "import a from '../sheets/a.json' with { type: 'json' };\nopen('sheets/b.json');\n",
      'sheets/a.json': '1',
      'sheets/b.json': '1',
      'package.json': '{}',
      'package-lock.json': '{}',
    };
    const result = { 'sheets/a.json': '2', 'sheets/b.json': '2', 'package-lock.json': '{ }', 'package.json': '{ }' };
    expect(await used({ base, result })).toEqual(NOTHING);
  });

  it('is code that judges and that tests alone import: in doubt', async () => {
    const base = {
      'test/a.test.ts': "import { check } from '../src/checks.js';\nimport { all } from '@/support/all';\n",
      'test_b.py': 'from helpers import check\n',
      'src/checks.ts': "import assert from 'node:assert';\n",
      'src/support/all.ts': "import { expect } from 'vitest';\n",
      'helpers.py': 'import pytest\n',
    };
    const result = { 'src/checks.ts': 'x', 'src/support/all.ts': 'x', 'helpers.py': 'x' };
    expect(await used({ base, result })).toEqual({
      restored: [],
      doubtful: ['helpers.py', 'src/checks.ts', 'src/support/all.ts'],
    });
  });

  it('is not code of the product that asserts', async () => {
    const base = {
      'test/a.test.js': "import { a } from '../src/a.js';\nimport b from '../index.js';\nimport c from '../main.js';\n",
      'src/a.js': "import assert from 'node:assert';\n",
      'src/b.js': "import { a } from './a.js';\n",
      'index.js': "const assert = require('assert');\n",
      'main.js': "const assert = require('assert');\n",
      'package.json': '{ "main": "main.js" }',
    };
    expect(await used({ base, result: { 'src/a.js': 'x', 'index.js': 'x', 'main.js': 'x' } })).toEqual(NOTHING);
  });

  it('is a package of Go that imports testing', async () => {
    const base = {
      'check/check.go': 'package check\n\nimport (\n\t"fmt"\n\t"testing"\n)\n',
      'sums.go': 'package sums\n',
    };
    expect(await used({ base, result: { 'check/check.go': 'x', 'sums.go': 'x' } })).toEqual({
      restored: [],
      doubtful: ['check/check.go'],
    });
  });
});

describe('names that tests import', () => {
  const TEST = {
    'test/a.test.ts':
      "import assert from '#assert';\nimport { add } from 'sums';\nimport { x } from '@/x';\nimport chai from 'chai';\n",
  };

  it.each<[string, string, object, object]>([
    [
      'an import of the package',
      'package.json',
      { imports: { '#assert': './a.js' } },
      { imports: { '#assert': './b.js' } },
    ],
    ['the package itself', 'package.json', { name: 'sums', exports: './a.js' }, { name: 'sums', exports: './b.js' }],
    [
      'the package under a condition',
      'package.json',
      { name: 'sums', exports: './a.js' },
      { name: 'sums', exports: { '.': { 'module-sync': './b.js', default: './a.js' } } },
    ],
    [
      'an alias',
      'tsconfig.json',
      { compilerOptions: { paths: { '@/*': ['src/*'] } } },
      { compilerOptions: { paths: { '@/*': ['lib/*'] } } },
    ],
    ['a package, by a new alias', 'tsconfig.base.json', {}, { compilerOptions: { paths: { chai: ['src/chai.ts'] } } }],
  ])('are in doubt where %s leads elsewhere', async (_, path, before, after) => {
    const given = { base: { ...TEST, [path]: JSON.stringify(before) }, result: { [path]: JSON.stringify(after) } };
    expect(await used(given)).toEqual({ restored: [], doubtful: [path] });
  });

  it('are where they were with more entries beside them, and another form of the same', async () => {
    const before = { name: 'sums', exports: './a.js', imports: { '#assert': './a.js' } };
    const after = {
      name: 'sums',
      exports: { '.': './a.js', './more': './b.js' },
      imports: { '#assert': './a.js', '#log': './log.js' },
      dependencies: { zod: '4.0.0' },
    };
    expect(
      await used({
        base: {
          ...TEST,
          'package.json': JSON.stringify(before),
          'tsconfig.json': '{ "compilerOptions": { "paths": { "@/*": ["src/*"] } } }',
        },
        result: {
          'package.json': JSON.stringify(after),
          'tsconfig.json':
            '{\n  // More.\n  "compilerOptions": { "strict": true, "paths": { "@/*": ["src/*"], "~/*": ["lib/*"] }, },\n}',
        },
      }),
    ).toEqual(NOTHING);
  });

  it('lead to a new module of Python that stands before an installed one: it is removed', async () => {
    const base = {
      'shop/__init__.py': '',
      'tests/test_a.py': 'import yaml\nfrom shop import cart\n',
      'requirements.txt': 'python-dateutil>=2\n',
    };
    const result = { 'yaml.py': '', 'python_dateutil.py': '', 'shop/yaml.py': '', 'shop/more.py': '', 'subs.py': '' };
    const given = { base, result, reported: ['tests/test_a.py'], runner: 'pytest' };
    expect(await used(given)).toEqual({ restored: ['python_dateutil.py', 'yaml.py'], doubtful: [] });
    // Where tests failed, they may have waited for it.
    expect(await used({ ...given, basePassed: false })).toEqual({
      restored: [],
      doubtful: ['python_dateutil.py', 'yaml.py'],
    });
    expect(await used({ ...given, reported: [] })).toMatchObject({ restored: ['python_dateutil.py'] });
    expect(await used({ ...given, installed: ['subs', 'shop', 'more'] })).toMatchObject({
      restored: ['python_dateutil.py', 'subs.py', 'yaml.py'],
    });
  });

  it('lead to a new file where the runner looks for packages in a folder of the project', async () => {
    const base = { ...TEST, 'package.json': '{ "scripts": { "test": "NODE_PATH=./src mocha" } }' };
    expect(await used({ base, result: { 'src/chai.js': '', 'src/zod.js': '', 'chai.js': '' } })).toEqual({
      restored: [],
      doubtful: ['src/chai.js'],
    });
  });
});

it('says nothing of the product and of what is new beside it', async () => {
  const base = { 'test/a.test.js': "import '../src/a.js';\n", 'src/a.js': '', 'README.md': '' };
  expect(
    await used({ base, result: { 'src/a.js': 'x', 'src/b.js': '', 'README.md': 'x', 'data/new.json': '' } }),
  ).toEqual(NOTHING);
});
