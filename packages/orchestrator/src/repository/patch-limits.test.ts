/** Tests how the size limit of a diff is shared among its files, and that a large file costs no more than its share. */
import { type RawFile, readPatch } from '@autonomous/shared/presentation';
import { expect, it } from 'vitest';
import { growthOf } from '../../test/fixtures/growth.fixture.ts';
import { limitPatches } from './patch-limits.ts';

const MEGABYTE = 1024 * 1024;

const adding = (path: string, lines: number, line = ''): ReadonlyMap<string, RawFile> =>
  readPatch(
    `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines} @@\n${`+${line}\n`.repeat(lines)}`,
  );

it('takes no longer for a file that is larger than what is shown of it', async () => {
  const make = (lines: number) => adding('a.js', lines);
  expect(await growthOf(200_000, make, (files) => limitPatches(files, MEGABYTE))).toBeLessThan(4);
});

it('shows a bounded number of lines, however short they are', () => {
  const shown = limitPatches(adding('a.js', 300_000), MEGABYTE).get('a.js');
  expect(shown?.added).toBeGreaterThan(20_000);
  expect(shown?.added).toBeLessThan(30_000);
  expect(shown?.text.match(/^\+$/gm)).toHaveLength(shown?.added ?? 0);
  expect(shown?.text).toContain(`@@ -0,0 +1,${shown?.added} @@`);
});

it('shares its room among short lines and long ones, and shows the small file whole', () => {
  const files = new Map([...adding('a', 50_000), ...adding('b', 5_000, 'x'.repeat(40)), ...adding('c', 3, 'c')]);
  const shown = limitPatches(files, 100_000);
  expect(shown.get('c')?.added).toBe(3);
  expect(shown.get('a')?.added).toBeGreaterThan(4_000);
  expect(shown.get('b')?.added).toBeGreaterThan(1_000);
  expect([...shown.values()].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)).toBeLessThan(100_000);
});
