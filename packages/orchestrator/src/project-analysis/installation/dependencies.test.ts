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

  it.each([
    [
      'package-lock.json',
      (address: string, checksum: string) =>
        npm({ 'node_modules/left': { version: '1.0.0', resolved: `${address}.tgz`, integrity: checksum } }),
    ],
    [
      'pnpm-lock.yaml',
      (address: string, checksum: string) =>
        `packages:\n\n  left@1.0.0:\n    resolution: {integrity: ${checksum}, tarball: ${address}.tgz}\n\nsnapshots:\n`,
    ],
    [
      'yarn.lock',
      (address: string, checksum: string) =>
        `left@^1.0.0:\n  version "1.0.0"\n  resolved "${address}.tgz"\n  integrity ${checksum}\n`,
    ],
    [
      'bun.lock',
      (address: string, checksum: string) => `    "left": ["left@1.0.0", "${address}.tgz", {}, "${checksum}"],\n`,
    ],
    [
      'Cargo.lock',
      (address: string, checksum: string) =>
        `[[package]]\nname = "left"\nversion = "1.0.0"\nsource = "${address}.tgz"\nchecksum = "${checksum}"\n`,
    ],
    ['requirements.txt', (address: string, checksum: string) => `left @ ${address}.tgz \\\n    --hash=${checksum}\n`],
    [
      'Gemfile.lock',
      (address: string, checksum: string) =>
        `GIT\n  remote: ${address}.tgz\n  revision: ${checksum}\n  specs:\n    left (1.0.0)\n`,
    ],
  ])('are found in %s also in the same version, from elsewhere or with another checksum', (file, lock) => {
    const [usual, other] = ['https://registry.yarnpkg.com/left/-/left', 'https://evil.test/left'];
    const added = (before: string, after: string) =>
      newDependencies(new Map([[file, before]]), new Map([[file, after]])).map(({ name, source }) => [name, source]);
    expect(added(lock(usual, 'sha512-good'), lock(usual, 'sha512-good'))).toEqual([]);
    expect(added(lock(usual, 'sha512-good'), lock(other, 'sha512-evil'))).toEqual([['left', `${other}.tgz`]]);
    expect(added(lock(usual, 'sha512-good'), lock(usual, 'sha512-evil'))).toEqual([
      ['left', 'another checksum, or none'],
    ]);
    // A new one says where it comes from if the file took nothing from there before.
    expect(added('', lock(other, 'sha512-evil'))).toEqual([['left', `${other}.tgz`]]);
    expect(added(lock(other, 'sha512-good'), lock(other, 'sha512-good'))).toEqual([]);
  });

  it('are taken from a manifest where no lockfile of its kind, beside it or above, names them', () => {
    const manifest = json({ dependencies: { evil: '*', own: 'workspace:*' } });
    const added = (files: Readonly<Record<string, string>>) =>
      newDependencies(new Map(), new Map(Object.entries(files)))
        .filter(({ name }) => name === 'evil')
        .map(({ file }) => file);
    const lock = npm({ 'node_modules/evil': { version: '1.0.0' } });
    expect(added({ 'package.json': manifest, 'tools/x/Cargo.lock': '' })).toEqual(['package.json']);
    expect(added({ 'package.json': manifest, 'tools/x/package-lock.json': lock })).toEqual([
      'package.json',
      'tools/x/package-lock.json',
    ]);
    expect(added({ 'package.json': manifest, 'package-lock.json': npm({}) })).toEqual(['package.json']);
    expect(added({ 'web/package.json': manifest, 'package-lock.json': lock })).toEqual(['package-lock.json']);
    expect(newDependencies(new Map(), new Map([['package.json', manifest]]))).toHaveLength(1);
  });

  it('are found in every document of a file of pnpm’s, and where go.mod puts one module in place of another', () => {
    const lock = 'packages:\n\n  pnpm@12.0.0: {}\n\nsnapshots:\n---\npackages:\n\n  evil@1.0.0:\n    resolution: {}\n';
    const module = 'replace good.test/x => evil.test/x v1.2.3\n';
    const added = newDependencies(
      new Map(),
      new Map([
        ['pnpm-lock.yaml', lock],
        ['go.mod', module],
      ]),
    );
    expect(added.map(({ name }) => name)).toEqual(['evil', 'evil.test/x', 'pnpm']);
  });

  it('are not known of a file that was not read, which is listed itself', () => {
    expect(newDependencies(new Map(), new Map(), ['package-lock.json'])).toMatchObject([
      { name: 'package-lock.json', source: expect.stringContaining('too large') },
    ]);
  });

  it('show no password of an address', () => {
    const lock = npm({ 'node_modules/a': { version: '1.0.0', resolved: 'https://me:secret@evil.test/a.tgz' } });
    const [added] = newDependencies(new Map(), new Map([['package-lock.json', lock]]));
    expect(added?.source).toBe('https://evil.test/a.tgz');
  });

  it.each([
    'pnpm-lock.yaml',
    'yarn.lock',
    'bun.lock',
    'Cargo.lock',
    'requirements.txt',
    'go.mod',
    'Gemfile.lock',
    'package-lock.json',
    'composer.lock',
    'package.json',
  ])('take four times as long of four times as much in %s, whatever stands there', (file) => {
    const units = [
      '\n',
      ' ',
      '\t',
      '[',
      '(',
      '"',
      '@',
      '/',
      '{',
      '\\',
      'a',
      '//a',
      'require ',
      '    a (x\n',
      '    a (x\n\n',
    ];
    const blocks = [
      '[[package]]\n',
      '[[package]]\nname = "',
      'packages:\n',
      '  a@1\n',
      '  "a": ["a@1"\n',
      '\n\nx@1:\n',
    ];
    for (const unit of [...units, ...blocks]) {
      const measure = (bytes: number): number => {
        const text = `packages:\n${unit.repeat(bytes / unit.length)}`;
        const before = process.threadCpuUsage();
        newDependencies(new Map([[file, text.slice(1)]]), new Map([[file, text]]));
        return cpuMs(before);
      };
      const first = measure(20_000);
      // The square would be sixteen times; what takes next to no time is not compared.
      expect(measure(80_000) / Math.max(first, 30), JSON.stringify(unit)).toBeLessThan(10);
    }
  });

  it('take four times as long of four times as many versions of one package', () => {
    const lock = (from: number, count: number): string =>
      Array.from({ length: count }, (_, index) => `a@^${index}:\n  version "${from + index}"\n`).join('\n');
    const measure = (count: number): number => {
      const [base, result] = [lock(0, count), lock(count, count)];
      const before = process.threadCpuUsage();
      const added = newDependencies(new Map([['yarn.lock', base]]), new Map([['yarn.lock', result]]));
      const took = cpuMs(before);
      expect(added).toHaveLength(200);
      return took;
    };
    measure(1_000);
    const first = measure(10_000);
    // Each version held against each other one would be sixteen times.
    expect(measure(40_000) / Math.max(first, 30)).toBeLessThan(10);
  });

  it('are not looked for in what was installed', () => {
    expect(namesDependencies('node_modules/x/package.json')).toBe(false);
    expect(namesDependencies('src/lock.ts')).toBe(false);
  });
});

/** What this thread has computed since then: other work on the machine does not add to it. */
function cpuMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
