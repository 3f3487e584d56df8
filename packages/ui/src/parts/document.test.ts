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
      { kind: 'text', html: '<h1>Plan</h1>\n' },
      { kind: 'diagram', source: 'flowchart TD\n  A --> B\n' },
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
      '<p><a href="https://example.org/a" target="_blank" rel="noreferrer noopener">docs</a></p>\n',
    );
  });
});
