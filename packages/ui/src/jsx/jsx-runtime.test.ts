import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { AnElement } from './an-element.fixture.tsx';

const html = (text: string): string => renderToStaticMarkup(createElement(AnElement, { text }));

it('C07: shows hidden characters as escapes, set apart, in text and in what is read out', () => {
  const escape = '<span class="hidden-character" title="A character that is not seen">⟨U+202E⟩</span>';
  const shown = `a${escape}b`;
  expect(html('a\u202eb')).toBe(
    `<p title="a⟨U+202E⟩b">${shown} and <code>${shown}</code>${shown}${shown}` +
      '<option value="a\u202eb">a⟨U+202E⟩b</option><textarea>a\u202eb</textarea></p>',
  );
});

it('lays code out from the left: words that are read from the right stand apart in it', () => {
  expect(html('f("א", 1, "ב\u202e")')).toContain(
    'and <code>f(&quot;<bdi>א</bdi>&quot;, 1, &quot;<bdi>ב</bdi><span class="hidden-character" title="A character that is not seen">⟨U+202E⟩</span>&quot;)</code>',
  );
});

it('leaves everything else as React writes it', () => {
  expect(html('<b>👩‍💻 ⟨U+202E⟩')).not.toContain('hidden-character');
});
