import { describe, expect, it } from 'vitest';
import { sharedThreadFault } from './drawing.ts';

const flow = (...lines: readonly string[]): string => `flowchart TD\n${lines.join('\n')}\n`;
const numbered = (count: number, line: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => line(index));

describe('E02 where nothing can stop a drawing', () => {
  it('a diagram as people draw it is begun', () => {
    expect(sharedThreadFault(flow(...numbered(40, (index) => `a${index} --> a${index + 1}`)))).toBeNull();
  });

  it.each([
    ['many nodes', flow(...numbered(500, (index) => `n${index}`)), 'lines'],
    ['many nodes on one line', flow(numbered(500, (index) => `n${index}`).join(';')), 'lines'],
    ['a long text', flow(`a["${'x'.repeat(500)}"]`), 'a line of it'],
    ['much text', flow(...numbered(60, () => `a["${'x '.repeat(100)}"]`)), 'characters'],
    [
      'deep nesting',
      flow(...numbered(20, (index) => `subgraph s${index}`), 'a --> b', ...numbered(20, () => 'end')),
      'groups',
    ],
    ['nested states', `stateDiagram-v2\n${numbered(20, (index) => `state s${index} {`).join('\n')}`, 'groups'],
  ])('%s is not', (_, source, reason) => {
    expect(sharedThreadFault(source)).toContain(reason);
  });
});
