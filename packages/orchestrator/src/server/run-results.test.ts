import { aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import type { DiffOptions } from '../repository/repository.ts';
import { RunResults, type RunResultsOptions } from './run-results.ts';

it('the changes of a run have warnings of agents’ files and of owned results, not of what the server wrote beside them', async () => {
  const asked: DiffOptions[] = [];
  const view = aRun({
    baseCommit: 'a1',
    headCommit: 'b2',
    ownedFiles: {
      paths: ['ai/**', 'docs/report.md'],
      results: ['docs/report.md'],
      inherited: ['roadmap/*.md'],
      to: 'base',
    },
  });
  const options = {
    engine: { view: () => Promise.resolve(view) },
    projects: { of: () => Promise.resolve({}) },
    repository: {
      diff: (_project: unknown, from: string, to: string, given: DiffOptions) => {
        asked.push(given);
        return Promise.resolve({ from, to, files: [], patch: '', truncated: false });
      },
    },
  };
  // As much of the ports as a difference needs.
  await new RunResults(options as unknown as RunResultsOptions).diff(view.id);
  expect(asked).toEqual([{ engineWritten: ['.autonomous/runs', '.autonomous/memory.md', 'ai/**', 'roadmap/*.md'] }]);
});
