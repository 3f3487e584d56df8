import { reviewDiff } from '@autonomous/shared/presentation';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { Patch } from './patch-table.tsx';
import { Faults, FileWarnings } from './review-warnings.tsx';

const PATCH = 'diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n@@ -0,0 +1 @@\n+if (a\u202e) {}\n';
const FILE = { path: 'a.js', status: 'modified', additions: 1, deletions: 0 } as const;

it('C07: a line shows what it holds, and what is left out is said below it', () => {
  const { files } = reviewDiff({
    files: [{ ...FILE, additions: 9, leftOut: { additions: 8, deletions: 0 } }],
    patch: PATCH,
  });
  const html = files.map((file) => renderToStaticMarkup(createElement(Patch, { file }))).join('');
  expect(html).toContain('if (a<span class="hidden-character"');
  expect(html).toContain('8 added lines are not shown');
});

it('a binary file has its sizes', () => {
  const file = { ...FILE, additions: 0, binary: { before: null, after: 12_300 }, patch: null };
  expect(renderToStaticMarkup(createElement(Patch, { file }))).toContain('Binary file, 12.3 KB');
});

it('a patch that is not what git lists is an error, and warnings are sentences', () => {
  const review = reviewDiff({ files: [{ ...FILE, additions: 2, warnings: ['look at it'] }], patch: PATCH });
  const html = renderToStaticMarkup(createElement(Faults, { review }));
  expect(html).toContain('role="alert"');
  expect(html).toContain('Git counts +2 −0 lines in &#x27;a.js&#x27;, the patch has +1 −0.');
  const [file] = review.files;
  expect(file && renderToStaticMarkup(createElement(FileWarnings, { file }))).toContain('Look at it.');
});
