import { aRun } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { expect, it } from 'vitest';
import { shownIn } from '../hosts/shown.fixture.ts';
import { filesText, NoChanges } from './changes.tsx';

it('leads to the child runs of a parent that has changed nothing itself', () => {
  const run = aRun({ id: 'parent' });
  const child = aRun({ id: 'child', parent: { runId: 'parent', key: 'parent/1/child', depth: 1 } });
  const shown = (runs = [run]): string => shownIn({ runs }, createElement(NoChanges, { run }));
  expect(shown()).toContain('Nothing has changed yet.');
  expect(shown([run, child])).toBe(
    '<p class="empty">This run itself has changed nothing yet. <a href="/runs/parent">See its child runs</a>.</p>',
  );
});

it.each([
  [['src/a.ts'], '1 file'],
  [['src/a.ts', '.autonomous/memory.md', 'b'], '2 files and 1 of the server'],
  [['.autonomous/memory.md'], '0 files and 1 of the server'],
])('counts the files of %j as %j: those of the server apart', (paths, text) => {
  expect(filesText(paths)).toBe(text);
});
