import type { ForeseenConflict } from '@autonomous/shared';
import { aGate, aRun } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { describe, expect, it } from 'vitest';
import { shownIn } from '../hosts/shown.fixture.ts';
import { RunPage } from './run/run-page.tsx';

const run = aRun();
const other = aRun({ id: 'other', originalRequest: 'Rename the cart' });
const conflict = (given: Partial<ForeseenConflict> = {}): ForeseenConflict => ({
  projectId: run.projectId,
  runId: run.id,
  with: { kind: 'run', runId: 'other' },
  files: ['src/a.ts', 'src/b.ts'],
  fileCount: 2,
  ...given,
});
const shown = (conflicts: readonly ForeseenConflict[], tab?: string, shownRun = run): string =>
  shownIn(
    { runs: [shownRun, other], conflicts },
    createElement(RunPage, { screen: { name: 'run', runId: shownRun.id, tab } }),
  );

describe('The foreseen conflicts of a run', () => {
  it.each([undefined, 'transcript'])('name the files and lead to the other run, in the tab %s', (tab) => {
    const html = shown([conflict()], tab);
    expect(html).toContain(
      '<li>Conflicts with <a href="/runs/other">Rename the cart</a>: <code>src/a.ts</code>, <code>src/b.ts</code></li>',
    );
    expect(html.indexOf('Conflicts with')).toBeLessThan(html.indexOf('class="tabs"'));
  });

  it('stand beside the notices of an open gate, and are not there without a conflict', () => {
    const waiting = aRun({ notices: ['The file .env is left out.'], gate: aGate(), status: 'awaiting_approval' });
    const html = shown([conflict({ runId: waiting.id })], undefined, waiting);
    expect(html.indexOf('Conflicts with')).toBeGreaterThan(html.indexOf('The file .env'));
    expect(shown([])).not.toContain('Foreseen conflicts');
    expect(shown([conflict({ runId: 'other', with: { kind: 'run', runId: run.id } })])).not.toContain('Conflicts with');
  });

  it('name the base branch, and a run that is on no list by its id', () => {
    const html = shown([
      conflict({ with: { kind: 'base', branch: 'main' } }),
      conflict({ with: { kind: 'run', runId: 'r-9' } }),
    ]);
    expect(html).toContain('Conflicts with <code>main</code>: ');
    expect(html).toContain('Conflicts with <a href="/runs/r-9">run r-9</a>: ');
  });

  it('fold files from the fourth on, and shorten a long path in its middle', () => {
    const long = `packages/${'deep/'.repeat(30)}index.ts`;
    const html = shown([conflict({ files: [long, 'b', 'c', 'd'], fileCount: 30 })]);
    expect(html).toMatch(/<code title="packages\/(?:deep\/)+index\.ts">packages\/[^<]{1,40}…[^<]*index\.ts<\/code>/);
    expect(html).toContain(
      '<details><summary>27 more files</summary><ul><li><code>d</code></li><li>26 not named here</li></ul></details>',
    );
  });

  it('are folded from the fourth on', () => {
    const many = Array.from({ length: 5 }, (_, index) => conflict({ with: { kind: 'run', runId: `r-${index}` } }));
    expect(shown(many)).toContain('<details><summary>2 more conflicts</summary>');
    expect(shown(many.slice(0, 3))).not.toContain('more conflict');
  });

  it('show hidden characters of a path', () => {
    expect(shown([conflict({ files: ['a\u202Eb.ts'], fileCount: 1 })])).not.toContain('\u202E');
  });
});
