import { describe, expect, it } from 'vitest';
import { blocksOf } from './document.tsx';

const htmlOf = (text: string): string =>
  blocksOf(text)
    .map((block) => (block.kind === 'text' ? block.html : ''))
    .join('');

describe('A document', () => {
  it('is cut where its diagrams are, and loses its front matter', () => {
    const text =
      '---\ntitle: x\n---\n# Plan\n\n```mermaid\nflowchart TD\n  A --> B\n```\n\nThen *this*.\n\n```ts\nlet a;\n```\n';
    expect(blocksOf(text)).toEqual([
      { kind: 'text', html: '<h1 dir="auto">Plan</h1>\n' },
      { kind: 'diagram', source: 'flowchart TD\n  A --> B\n', number: 1 },
      { kind: 'text', html: expect.stringContaining('<em>this</em>') },
    ]);
    expect(htmlOf(text)).toContain('<code class="language-ts">let a;');
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    'a <b onclick="x">b</b> <iframe src="//evil.example"></iframe>',
    '[x](javascript:alert(1)) [y](data:text/html;base64,AAAA) [z](vbscript:x)',
    '![pixel](https://evil.example/x.png)',
    '[a]: javascript:alert(1)\n\n[a]',
    '```mermaid-not"><script>x</script>\n```',
    '`<script>`',
  ])('shows %j as text', (text) => {
    const html = htmlOf(text);
    expect(html).not.toMatch(/<(script|img|iframe|b |[a-z]+ on)/i);
    expect(html).not.toMatch(/(href|src)="(javascript|data|vbscript):/i);
  });

  it('opens links elsewhere, without saying where from', () => {
    expect(htmlOf('[docs](https://example.org/a)')).toBe(
      '<p dir="auto"><a href="https://example.org/a" target="_blank" rel="noreferrer noopener">docs</a></p>\n',
    );
  });
});

describe('Hidden characters of a document', () => {
  it.each([
    ['in text', 'a\u202eb', 'a<span class="hidden-character">⟨U+202E⟩</span>b'],
    ['in code', '`a\u200bb`', '<code>a<span class="hidden-character">⟨U+200B⟩</span>b</code>'],
    ['in a fence', '```js\na\u{E0041}\n```', 'a<span class="hidden-character">⟨U+E0041⟩</span>'],
    ['in an indented block', '    a\u2066b', 'a<span class="hidden-character">⟨U+2066⟩</span>b'],
    [
      'among words that are read from the right',
      '`f("א\u202e", 1, "ב")`',
      'f(&quot;<bdi>א</bdi><span class="hidden-character">⟨U+202E⟩</span>&quot;, 1, &quot;<bdi>ב</bdi>&quot;)',
    ],
    ['in a title', '[x](https://e.example "a\u202eb")', 'title="a⟨U+202E⟩b"'],
    ['in the name of an image', '![a\u202eb](https://e.example/x.png)', 'Image: a⟨U+202E⟩b'],
    [
      'in HTML, which stays text',
      '<b title="\u202e">',
      '&lt;b title=&quot;<span class="hidden-character">⟨U+202E⟩</span>&quot;&gt;',
    ],
  ])('are seen %s', (_where, text, html) => {
    expect(htmlOf(text)).toContain(html);
    expect(htmlOf(text)).not.toMatch(/[\u202e\u200b\u2066]|\u{E0041}/u);
  });

  it.each(['[', '![', '*a ', '_a_b', '<', '`a'])('are looked for in a long paragraph of %j at once', (piece) => {
    const start = process.cpuUsage();
    const html = htmlOf(`*x*\n\n${piece.repeat(100_000 / piece.length)}`);
    // A machine that is busy needs some tens of milliseconds.
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(5_000);
    expect(html).toContain('<em>x</em>');
    expect(html).not.toContain('<a');
  });
});
