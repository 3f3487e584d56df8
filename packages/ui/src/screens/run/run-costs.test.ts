import { aRun } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { expect, it } from 'vitest';
import { shownIn } from '../../hosts/shown.fixture.ts';
import { RunCosts } from './run-costs.tsx';

it('does not show calls of unknown price as free', () => {
  const run = aRun({ cost: { inputTokens: 9, outputTokens: 1, calls: 15, unpricedCalls: 15 } });
  const child = aRun({
    id: 'c-1',
    parent: { runId: run.id, key: 'k', depth: 1 },
    cost: { inputTokens: 0, outputTokens: 0, calls: 0 },
  });
  const html = shownIn({ runs: [run, child] }, createElement(RunCosts, { run }));
  expect(html).toContain('<dt>Money</dt><dd>15 calls of unknown price</dd>');
  expect(html).toContain('The run itself: 15 calls of unknown price, 9 in, 1 out tokens');
});
