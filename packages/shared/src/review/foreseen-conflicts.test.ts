import { describe, expect, it } from 'vitest';
import {
  clippedPath,
  type ForeseenConflict,
  foreseenConflictsBrief,
  foreseenConflictText,
} from './foreseen-conflicts.ts';

const conflict = (given: Partial<ForeseenConflict> = {}): ForeseenConflict => ({
  projectId: 'p-1',
  runId: 'r-1',
  with: { kind: 'run', runId: 'r-2' },
  files: ['src/a.ts', 'src/b.ts'],
  fileCount: 2,
  ...given,
});
const withMain = conflict({ with: { kind: 'base', branch: 'main' } });

describe('The line about a foreseen conflict', () => {
  it('names the other run or the base branch, and the first files', () => {
    expect(foreseenConflictText(conflict())).toBe('Conflicts with run r-2: src/a.ts, src/b.ts');
    expect(foreseenConflictText(conflict(), () => '“Add a cart”')).toBe(
      'Conflicts with “Add a cart”: src/a.ts, src/b.ts',
    );
    expect(foreseenConflictText(withMain)).toBe('Conflicts with main: src/a.ts, src/b.ts');
    const many = conflict({ files: ['a', 'b', 'c', 'd'], fileCount: 4 });
    expect(foreseenConflictText(many)).toBe('Conflicts with run r-2: a, b, c and 1 more file');
    expect(foreseenConflictText({ ...many, fileCount: 40 })).toMatch(/a, b, c and 37 more files$/);
  });

  it('is brief in a list', () => {
    expect(foreseenConflictsBrief([])).toBeNull();
    expect(foreseenConflictsBrief([conflict()])).toBe('conflicts with 1 run');
    expect(foreseenConflictsBrief([withMain, conflict(), conflict()])).toBe('conflicts with main and 2 runs');
  });
});

it('A long path is shortened in its middle and keeps the name of its file', () => {
  expect(clippedPath('src/a.ts')).toBe('src/a.ts');
  const clipped = clippedPath(`packages/${'deep/'.repeat(40)}index.test.ts`);
  expect(clipped).toHaveLength(60);
  expect(clipped).toMatch(/^packages\/.*….*\/index\.test\.ts$/);
  const name = clippedPath(`a/${'n'.repeat(200)}.ts`);
  expect(name).toHaveLength(60);
  expect(name).toMatch(/^a\/n+…n+\.ts$/);
});
