import { reviewDiff } from '@autonomous/shared/presentation';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { drafts, linesOf } from '../drafts.ts';
import type { Margin } from './line-comments.tsx';
import { Patch } from './patch-table.tsx';

const PATCH = 'diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n@@ -0,0 +1,3 @@\n+one\n+two\n+three\n';
const done = () => Promise.resolve();

it('each line with a begun comment is shown with its text', () => {
  const { files } = reviewDiff({
    files: [{ path: 'a.js', status: 'modified', additions: 3, deletions: 0 }],
    patch: PATCH,
  });
  const draftAt = (line: number) => ({ owner: linesOf('r-1'), name: `a.js:${line}` });
  const margin: Margin = { comments: [], onAdd: done, draftAt, onEdit: done, onDelete: done };
  drafts.trigger.wrote({ ...draftAt(1), text: 'Why one?' });
  drafts.trigger.wrote({ ...draftAt(3), text: 'Why three?' });
  const html = files.map((file) => renderToStaticMarkup(createElement(Patch, { file, margin }))).join('');
  expect(html.match(/value="[^"]*"/g)).toEqual(['value="Why one?"', 'value="Why three?"']);
  drafts.trigger.dropped({ owner: linesOf('r-1') });
});
