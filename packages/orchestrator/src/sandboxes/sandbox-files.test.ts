/** Answers of a sandbox that were made to be slow to read; the rest is in the contract of the sandboxes. */
import { expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../test/fixtures/growth.fixture.ts';
import type { Sandbox } from './sandbox.ts';
import { searchSandbox } from './sandbox-files.ts';

/** A sandbox whose every command prints one text: what a hostile file system lets `grep` print. */
function printing(stdout: string): Sandbox {
  const run: Sandbox['run'] = async () => ({ exitCode: 0, stdout, stderr: '' }) as Awaited<ReturnType<Sandbox['run']>>;
  return { run } as Sandbox;
}

it.each([
  ['paths that are cut before their end', (n: number) => `${'a'.repeat(999)}\n`.repeat(n)],
  ['paths without a line number', (n: number) => `${'a'.repeat(98)}\0`.repeat(n * 10)],
])('a search takes time in proportion to what was found: %s', async (_, make) => {
  expect(await growthOf(12, make, (stdout) => searchSandbox(printing(stdout), 'a'))).toBeLessThan(LINEAR);
});

it('a match is found behind a path that was cut', async () => {
  const { matches } = await searchSandbox(printing('src/a.ts\x003:let a;\nsrc/b\nc.ts\x0012:let b: c;\n'), 'a');
  expect(matches).toEqual([
    { path: 'src/a.ts', line: 3, text: 'let a;' },
    { path: 'src/b\nc.ts', line: 12, text: 'let b: c;' },
  ]);
});
