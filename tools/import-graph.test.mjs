import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { distancesTo, readImportGraph } from './import-graph.mjs';

let root;
afterEach(() => rmSync(root, { recursive: true, force: true }));

it.each([
  ['an import', `import { a } from './b.ts';`],
  ['an import over several lines', `import {\n  a,\n  type B,\n} from './b.ts';`],
  ['an import for its effect', `import './b.ts';`],
  ['a re-export', `export * from './b.ts';`],
  ['an import while it runs', `await import('./b.ts');`],
  ['an entry of a package of the workspace', `import { a } from '@autonomous/a/entry';`],
  ['an import that the package maps', `import { a } from '#own/b';`],
  ['a worker', `new Worker(new URL('b.ts', import.meta.url));`],
  ['a program named with the ending of its own file', 'new URL(`./b${import.meta.url.slice(-3)}`, import.meta.url);'],
  ['a program named by its path', `const PROGRAM = '../src/b.ts';`],
  ['a program named by parts of its path', `path.join(import.meta.dirname, '..', 'src', 'b.ts');`],
  ['a folder named by parts of its path', `path.join(import.meta.dirname, '..', 'src');`],
])('a file reaches another one by %s', (_, source) => {
  expect(importsOf(source)).toContain('packages/a/src/b.ts');
});

it.each([
  ['a type', `import type { A } from './b.ts';`],
  ['a package from outside', `import { a } from 'b';`],
  ['a path that leads to no file', `import './c.ts';`],
])('a file reaches no other one by %s', (_, source) => {
  expect(importsOf(source)).toEqual([]);
});

it('distances count the imports on the shortest way, also where files import each other', () => {
  const graph = new Map([
    ['a.test.ts', new Set(['b.ts', 'c.ts'])],
    ['b.ts', new Set(['c.ts'])],
    ['c.ts', new Set(['b.ts', 'd.ts'])],
    ['d.ts', new Set()],
    ['e.test.ts', new Set(['b.ts'])],
    ['f.test.ts', new Set()],
  ]);
  expect(Object.fromEntries(distancesTo(graph, ['d.ts']))).toEqual({
    'd.ts': 0,
    'c.ts': 1,
    'a.test.ts': 2,
    'b.ts': 2,
    'e.test.ts': 3,
  });
});

/** Imports of a file beside `b.ts`, in a package with an entry for it. */
function importsOf(source) {
  root = mkdtempSync(path.join(tmpdir(), 'autonomous-import-graph-'));
  const manifest = {
    name: '@autonomous/a',
    exports: { './entry': './src/b.ts' },
    imports: { '#own/*': './src/*.ts' },
  };
  const files = {
    'packages/a/package.json': JSON.stringify(manifest),
    'packages/a/src/a.ts': source,
    'packages/a/src/b.ts': '',
  };
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), content);
  }
  spawnSync('git', ['init', '--quiet'], { cwd: root });
  return [...readImportGraph(root).get('packages/a/src/a.ts')];
}
