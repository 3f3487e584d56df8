import { describe, expect, it } from 'vitest';
import { loadsNothing } from './svg.ts';

describe('E01 an attribute or a style of a drawing', () => {
  it.each([
    'url(#arrowhead)',
    'url("#drawing-1_flowchart-v2-pointEnd")',
    'fill: #ECECFF; stroke: rgb(1, 2, 3)',
    'translate(10, 20)',
    'M0,0L10,10',
  ])('may be %j', (value) => {
    expect(loadsNothing(value)).toBe(true);
  });

  it.each([
    'url(https://evil.example/a.png)',
    "url('//evil.example/a.png')",
    'url( "data:image/svg+xml,x" )',
    'fill: url(#a) url(https://evil.example)',
    'url(x#a)',
    'URL(https://evil.example',
    'u\\72l(https://evil.example)',
    '@import "https://evil.example"',
    'image-set("https://evil.example/a.png" 1x)',
    'javascript:top.PWN=1',
  ])('may not be %j', (value) => {
    expect(loadsNothing(value)).toBe(false);
  });
});
