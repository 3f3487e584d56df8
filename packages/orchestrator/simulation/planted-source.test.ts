/** Planted bugs follow the source: a change that moves the place of one is noticed at once, without a simulation. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { plantedBugs, plantedGitBugs, plantedPartBugs, plantedStoreBugs } from './planted-bugs.ts';
import { replaceOnce } from './planted-source.ts';

describe('a planted bug', () => {
  it('has its place in the source, once', () => {
    for (const { source } of [...plantedBugs, ...plantedStoreBugs, ...plantedGitBugs, ...plantedPartBugs]) {
      for (const replacement of source ?? []) {
        const file = path.join(import.meta.dirname, '..', 'src', replacement.file);
        const text = readFileSync(file, 'utf8');
        expect(replaceOnce(text, [replacement])).not.toBe(text);
      }
    }
  });

  it('that has no place any more is named', () => {
    const replacement = { file: 'engine/engine.ts', find: 'no such text', replace: '' };
    expect(() => replaceOnce('some text', [replacement])).toThrow("'no such text' occurs 0 times in engine/engine.ts");
  });
});
