import { describe, expect, it } from 'vitest';
import { namesDependencies, newDependencies } from './dependencies.ts';

const json = (value: object): string => JSON.stringify(value, null, 2);
const npm = (packages: object): string => json({ lockfileVersion: 3, packages: { '': { name: 'shop' }, ...packages } });

/** Each lockfile before and after, and what is new in it. */
const CASES: readonly (readonly [file: string, before: string, after: string])[] = [
  [
    'package-lock.json',
    npm({ 'node_modules/old': { version: '1.0.0' } }),
    npm({
      'node_modules/old': { version: '1.0.0' },
      'node_modules/a/node_modules/@scope/new': { version: '2.0.0' },
      'node_modules/own': { resolved: 'own', link: true },
      own: { version: '1.0.0' },
    }),
  ],
  [
    'pnpm-lock.yaml',
    "lockfileVersion: '9.0'\n\npackages:\n\n  old@1.0.0:\n    resolution: {integrity: x}\n\nsnapshots:\n\n  old@1.0.0: {}\n",
    "lockfileVersion: '9.0'\n\npackages:\n\n  '@scope/new@2.0.0':\n    resolution: {integrity: x}\n\n  old@1.0.0:\n    resolution: {integrity: x}\n\nsnapshots:\n\n  '@scope/new@2.0.0': {}\n",
  ],
  [
    'yarn.lock',
    '# yarn lockfile v1\n\n\nold@^1.0.0:\n  version "1.0.0"\n',
    '# yarn lockfile v1\n\n\n"@scope/new@^2.0.0", "@scope/new@~2.0":\n  version "2.0.0"\n  dependencies:\n    old "^1.0.0"\n\nold@^1.0.0:\n  version "1.0.0"\n',
  ],
  [
    'web/yarn.lock',
    '__metadata:\n  version: 8\n\n"old@npm:^1.0.0":\n  version: 1.0.0\n',
    '__metadata:\n  version: 8\n\n"@scope/new@npm:^2.0.0":\n  version: 2.0.0\n\n"old@npm:^1.0.0":\n  version: 1.0.0\n\n"shop@workspace:.":\n  version: 0.0.0-use.local\n',
  ],
  [
    'bun.lock',
    '{\n  "packages": {\n    "old": ["old@1.0.0", "", {}, "sha"],\n  }\n}\n',
    '{\n  "packages": {\n    "@scope/new": ["@scope/new@2.0.0", "", {}, "sha"],\n    "old": ["old@1.0.0", "", {}, "sha"],\n  }\n}\n',
  ],
  [
    'Cargo.lock',
    '[[package]]\nname = "old"\nversion = "1.0.0"\n',
    '[[package]]\nname = "@scope/new"\nversion = "2.0.0"\n\n[[package]]\nname = "old"\nversion = "1.0.0"\n',
  ],
  ['composer.lock', json({ packages: [] }), json({ packages: [{ name: '@scope/new', version: '2.0.0' }] })],
  ['Pipfile.lock', json({ default: {} }), json({ default: {}, develop: { '@scope/new': { version: '2.0.0' } } })],
  ['package.json', json({ dependencies: { old: '1' } }), json({ dependencies: { old: '1', '@scope/new': '2.0.0' } })],
];

describe('new dependencies', () => {
  it.each(CASES)('are found in %s', (file, before, after) => {
    expect(namesDependencies(file)).toBe(true);
    expect(newDependencies(new Map([[file, before]]), new Map([[file, after]]))).toEqual([
      { name: '@scope/new', version: '2.0.0', file },
    ]);
    expect(newDependencies(new Map([[file, after]]), new Map([[file, before]]))).toEqual([]);
  });

  it.each([
    ['requirements-dev.txt', 'flask==1\n', 'flask==1\nrequsts>=2 # what is this\n-r other.txt\n', 'requsts', '>=2'],
    ['go.mod', 'module m\n', 'module m\n\nrequire (\n\tevil.test/x v1.2.3 // indirect\n)\n', 'evil.test/x', 'v1.2.3'],
    ['Gemfile.lock', 'GEM\n  specs:\n', 'GEM\n  specs:\n    raiils (7.0.0)\n      rack (>= 2)\n', 'raiils', '7.0.0'],
  ])('are found in %s, which names them otherwise', (file, before, after, name, version) => {
    expect(newDependencies(new Map([[file, before]]), new Map([[file, after]]))).toEqual([{ name, version, file }]);
  });

  it('say which version was there before and whether an install script comes with it', () => {
    const file = 'package-lock.json';
    const base = npm({ 'node_modules/old': { version: '1.0.0' } });
    const result = npm({ 'node_modules/old': { version: '1.0.1', hasInstallScript: true } });
    expect(newDependencies(new Map([[file, base]]), new Map([[file, result]]))).toEqual([
      { name: 'old', version: '1.0.1', file, was: '1.0.0', hasInstallScript: true },
    ]);
  });

  it('are taken from the lockfile where there is one, and from none that cannot be read', () => {
    const files = new Map([
      ['package.json', json({ dependencies: { new: '^2.0.0' } })],
      ['package-lock.json', npm({ 'node_modules/new': { version: '2.0.0' } })],
      ['sub/package-lock.json', '{ not json'],
    ]);
    expect(newDependencies(new Map(), files)).toEqual([{ name: 'new', version: '2.0.0', file: 'package-lock.json' }]);
  });

  it('are not looked for in what was installed', () => {
    expect(namesDependencies('node_modules/x/package.json')).toBe(false);
    expect(namesDependencies('src/lock.ts')).toBe(false);
  });
});
