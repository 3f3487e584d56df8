import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCrowdedFolders, findViolations, readPackages, readSourcePaths } from './layers.ts';

describe('the layers of the workspace', () => {
  it('hold in every file', () => {
    const files = readPackages(path.join(import.meta.dirname, '..', '..'));
    expect(files.length).toBeGreaterThan(20);
    expect(findViolations(files)).toEqual([]);
  });
});

describe('folders of sources', () => {
  it('have at most 40 entries', () => {
    const sources = readSourcePaths(path.join(import.meta.dirname, '..', '..', '..'));
    expect(sources.length).toBeGreaterThan(1000);
    expect(findCrowdedFolders(sources)).toEqual([]);
  });

  it('count files and folders, and none that lies deeper', () => {
    const files = (count: number) => Array.from({ length: count }, (_, index) => `a/b/${index}.ts`);
    expect(findCrowdedFolders([...files(39), 'a/b/c/d.ts', 'a/b/c/e.ts'])).toEqual([]);
    expect(findCrowdedFolders([...files(40), 'a/b/c/d.ts'])).toEqual([
      'a/b has 41 entries, and at most 40 are wanted; give a subject of its own a folder.',
    ]);
  });
});

describe('the reader of imports', () => {
  it.each([
    ['a row below', 'orchestrator/src/engine/engine.ts', `import { a } from '../core/advance.ts';`],
    ['the engine, for the record', 'orchestrator/src/record/a.ts', `import { a } from '../engine/engine.ts';`],
    ['the own folder', 'orchestrator/src/server/http.ts', `import { a } from './guard.ts';`],
    ['another port of row 2', 'orchestrator/src/agents/tools.ts', `import type { S } from '../sandboxes/sandbox.ts';`],
    [
      'the file rules of sandboxes',
      'orchestrator/src/agents/tools.ts',
      `import { r } from '../sandboxes/sandbox-files.ts';`,
    ],
    ['the own folder of a workflow', 'orchestrator/src/workflows/a/roles/poet.ts', `import { a } from '../types.ts';`],
    ['parts of workflows', 'orchestrator/src/workflows/a/machine.ts', `import { gate } from '../parts/gate.ts';`],
    ['a workflow, in their list', 'orchestrator/src/workflows/index.ts', `import { a } from './a/index.ts';`],
    ['shared', 'orchestrator/src/core/view.ts', `import type { RunView } from '@autonomous/shared';`],
    ['anything, in a test', 'orchestrator/src/core/view.test.ts', `import { a } from '../engine/engine.ts';`],
    ['ui, in the extension', 'vscode-extension/src/index.ts', `import { statusLabel } from '@autonomous/ui';`],
  ])('allows %s', (_, file, source) => {
    expect(findViolations([{ path: file, source }])).toEqual([]);
  });

  it.each([
    [
      'a row above',
      'orchestrator/src/core/advance.ts',
      `import type { E } from '../engine/engine.ts';`,
      'imports go down only',
    ],
    [
      'row 3 apart',
      'orchestrator/src/engine/engine.ts',
      `import { a } from '../activities/git.ts';`,
      'do not import each other',
    ],
    [
      'the record, for the engine',
      'orchestrator/src/engine/engine.ts',
      `import { a } from '../record/record-import.ts';`,
      'imports go down only',
    ],
    [
      'upkeep and record',
      'orchestrator/src/upkeep/archiver.ts',
      `import { a } from '../record/record-import.ts';`,
      'do not import each other',
    ],
    [
      'an adapter',
      'orchestrator/src/agents/loop.ts',
      `import { b } from '../sandboxes/bubblewrap/bubblewrap.ts';`,
      'only the port',
    ],
    [
      'an adapter, lazily',
      'orchestrator/src/agents/loop.ts',
      `await import('../sandboxes/bubblewrap/bubblewrap.ts');`,
      'only the port',
    ],
    [
      'an import over lines',
      'orchestrator/src/roles/a.ts',
      `import {\n  a,\n  b,\n} from '../server/http.ts';`,
      'imports go down only',
    ],
    ['a re-export', 'orchestrator/src/roles/a.ts', `export { a } from '../server/http.ts';`, 'imports go down only'],
    [
      'a worker',
      'orchestrator/src/roles/a.ts',
      `new Worker(new URL('../server/w.ts', import.meta.url));`,
      'imports go down only',
    ],
    [
      'another workflow',
      'orchestrator/src/workflows/a/machine.ts',
      `import type { B } from '../b/types.ts';`,
      'nothing outside workflows/b imports it',
    ],
    [
      'another workflow from below its folder',
      'orchestrator/src/workflows/a/roles/poet.ts',
      `import { b } from '../../b/roles/index.ts';`,
      'nothing outside workflows/b imports it',
    ],
    [
      'a workflow from the parts of all',
      'orchestrator/src/workflows/parts/gate.ts',
      `import { b } from '../b/index.ts';`,
      'nothing outside workflows/b imports it',
    ],
    [
      'a workflow from the server',
      'orchestrator/src/server/http-server.ts',
      `import { b } from '../workflows/b/index.ts';`,
      'nothing outside workflows/b imports it',
    ],
    ['a test', 'orchestrator/src/engine/engine.ts', `import { a } from './engine.test.ts';`, 'does not ship'],
    ['a place in no layer', 'orchestrator/src/utils/a.ts', '', 'lies in no layer'],
    ['the clock in row 1', 'orchestrator/src/core/view.ts', 'const now = Date.now();', 'row 1, pure'],
    ['files in row 1', 'orchestrator/src/core/view.ts', `import { readFile } from 'node:fs/promises';`, 'row 1, pure'],
    [
      'ui from the server',
      'orchestrator/src/server/http.ts',
      `import { a } from '@autonomous/ui';`,
      'may import @autonomous/shared',
    ],
    [
      'the server from ui',
      'ui/src/index.ts',
      `import type { E } from '@autonomous/orchestrator';`,
      'may import @autonomous/shared',
    ],
    [
      'the client from the engine',
      'orchestrator/src/engine/engine.ts',
      `import { createClient } from '@autonomous/shared/client';`,
      'only clients and the server need what it loads',
    ],
    ['a path into a package', 'ui/src/index.ts', `import { a } from '../../shared/src/run.ts';`, 'by a path'],
    ['anything from shared', 'shared/src/run.ts', `import { a } from '@autonomous/ui';`, 'may import no other package'],
    ['an unknown package', 'web/src/index.ts', '', 'is in no row of PACKAGES'],
  ])('reports %s in words', (_, file, source, words) => {
    expect(findViolations([{ path: file, source }])).toEqual([expect.stringContaining(words)]);
  });

  it('reports files that import each other in a circle, types included', () => {
    const files = [
      { path: 'ui/src/screens/a.tsx', source: `import { b } from './b.tsx';` },
      { path: 'ui/src/screens/b.tsx', source: `import { c } from '../c.ts';` },
      { path: 'ui/src/c.ts', source: `import type { A } from './screens/a.tsx';` },
      { path: 'ui/src/d.ts', source: `import type { C } from './c.ts';` },
    ];
    expect(findViolations(files)).toEqual([
      expect.stringMatching(
        /^ui\/src\/screens\/a\.tsx → .*b\.tsx → ui\/src\/c\.ts → ui\/src\/screens\/a\.tsx is a circle/,
      ),
    ]);
    expect(findViolations(files.slice(1))).toEqual([]);
  });
});
