import { expect, it } from 'vitest';
import { ownedFilesNotice } from './owned-files.ts';

const noticeOf = (...paths: readonly string[]): string =>
  ownedFilesNotice({ paths, to: 'branch', results: paths }, 'autonomous/r-1', 'main');

it('names the folder of files that are the result and lie together, patterns among them', () => {
  const folder = 'docs/research-bells';
  expect(noticeOf(`${folder}/bells-report.tex`, `${folder}/sources.bib`, `${folder}/**/*`)).toBe(
    "The result is in docs/research-bells/: the server writes these files to the run's branch autonomous/r-1. Changes of agents to them are left out.",
  );
});

it('names each file of a result that lies in no common folder', () => {
  expect(noticeOf('docs/a.md', 'roadmap/b.json')).toContain('The result is in docs/a.md, roadmap/b.json: ');
  expect(noticeOf('a.md', 'b.md')).toContain('The result is in a.md, b.md: ');
  expect(noticeOf('docs/a.md')).toContain('The result is in docs/a.md: ');
});
