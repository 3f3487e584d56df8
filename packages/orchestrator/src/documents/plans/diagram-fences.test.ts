import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDiagrams, isBareDiagram } from './diagram-fences.ts';

const textsIn = (markdown: string): readonly string[] => {
  const found = findDiagrams(markdown);
  return found.ok ? found.diagrams.map((diagram) => diagram.text) : [];
};

describe('the diagrams of a plan', () => {
  it('are its mermaid fences, in order, with the line on which each begins', () => {
    expect(
      findDiagrams('# Plan\r\n```mermaid\r\nflowchart TD\r\n A\r\n```\r\n\r\n~~~~Mermaid title\npie\n~~~\n~~~~\n'),
    ).toEqual({
      ok: true,
      diagrams: [
        { text: 'flowchart TD\n A', firstLine: 3 },
        { text: 'pie\n~~~', firstLine: 8 },
      ],
    });
  });

  it('lose the indentation of a list and keep their own', () => {
    expect(textsIn('1. Flow\n   ```mermaid\n   mindmap\n     root\n  x\n   ```\n')).toEqual(['mindmap\n  root\nx']);
  });

  it('are not what stands inside another fence or in inline code', () => {
    expect(textsIn('````md\n```mermaid\npie\n```\n````\n```mermaid\ngraph TD\n```')).toEqual(['graph TD']);
    expect(findDiagrams('```mermaid``` is inline')).toMatchObject({ ok: false, line: null });
    expect(findDiagrams('```mermaidx\npie\n```')).toMatchObject({ ok: false });
  });

  it('are refused where a fence is left open', () => {
    expect(findDiagrams('```mermaid\npie\n```\n\n```mermaid\npie\n``')).toMatchObject({
      ok: false,
      diagram: 2,
      line: 5,
    });
  });
});

it.each([
  ['flowchart TD\n A', true],
  ['\n\n  graph LR;A-->B', true],
  ['%% note\n%%{init: {}}%%\nstateDiagram-v2\n a', true],
  ['---\ntitle: x\n---\nerDiagram\n A', true],
  ['xychart-beta\n x', true],
  ['# Flowchart', false],
  ['flowcharts are fine', false],
  ['---\ntitle: x\n---\n# Plan', false],
  ['---\nflowchart TD', false],
  ['flowchart TD\n```', false],
  ['', false],
])('%j is a bare diagram: %s', (text, expected) => {
  expect(isBareDiagram(text)).toBe(expected);
});

it('is never an error, whatever a model replies', () => {
  const part = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '```',
      '```mermaid',
      '~~~',
      '````',
      '\n',
      '\r\n',
      'flowchart TD',
      'CLARIFY: {"question"',
      '---',
      '%%{',
    ),
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const found = findDiagrams(parts.join('\n'));
      if (!found.ok) expect(found.message).not.toBe('');
      else expect(found.diagrams.length).toBeGreaterThan(0);
    }),
    { numRuns: 2_000 },
  );
  const started = process.cpuUsage();
  for (const text of [
    ' '.repeat(1_000_000),
    '`'.repeat(1_000_000),
    '```\n'.repeat(250_000),
    '\n'.repeat(1_000_000),
    '---\n'.repeat(250_000),
  ])
    findDiagrams(text);
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(20_000);
});
