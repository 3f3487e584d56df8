import { aRun } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { expect, it } from 'vitest';
import { shownIn } from '../hosts/shown.fixture.ts';
import { NoChanges } from './changes.tsx';

it('leads to the child runs of a parent that has changed nothing itself', () => {
  const run = aRun({ id: 'parent' });
  const child = aRun({ id: 'child', parent: { runId: 'parent', key: 'parent/1/child', depth: 1 } });
  const shown = (runs = [run]): string => shownIn({ runs }, createElement(NoChanges, { run }));
  expect(shown()).toContain('Nothing has changed yet.');
  expect(shown([run, child])).toBe(
    '<p class="empty">This run itself has changed nothing yet. <a href="/runs/parent">See its child runs</a>.</p>',
  );
});
