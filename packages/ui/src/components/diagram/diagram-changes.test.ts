import type { DiagramGraph } from '@autonomous/shared/diagram';
import { describe, expect, it } from 'vitest';
import { diagramChanges } from './diagram-changes.ts';

/** Nodes `id:label` or `id:label:shape`, edges `from>to` or `from>to:label`. */
function aGraph(nodes: readonly string[], edges: readonly string[] = []): DiagramGraph {
  return {
    type: 'flowchart',
    nodes: nodes.map((text) => {
      const [id = '', label = '', shape = 'square'] = text.split(':');
      return { id, label, shape };
    }),
    edges: edges.map((text) => {
      const [ends = '', label = ''] = text.split(':');
      const [from = '', to = ''] = ends.split('>');
      return { from, to, label };
    }),
  };
}
const textsOf = (before: DiagramGraph, after: DiagramGraph): readonly string[] =>
  diagramChanges(before, after).map(({ kind, text }) => `${kind}: ${text}`);

describe('Two versions of a diagram', () => {
  it('that say the same do not differ, whatever their order', () => {
    expect(textsOf(aGraph(['a:A', 'b:B'], ['a>b', 'b>a']), aGraph(['b:B', 'a:A'], ['b>a', 'a>b']))).toEqual([]);
  });

  it('differ in what is new, gone, and named or drawn otherwise', () => {
    const before = aGraph(['a:/login', 'b:Known?:diamond', 'c:/old'], ['a>b', 'b>c:no']);
    const after = aGraph(['a:/sign-in', 'b:Known?:square', 'd:/new'], ['a>b:asks', 'b>d']);
    expect(textsOf(before, after)).toEqual([
      'changed: Node “/sign-in” was “/login”.',
      'changed: Node “Known?” was drawn as diamond, is square.',
      'added: Node “/new” is new.',
      'removed: Node “/old” was removed.',
      'changed: Edge “/sign-in” → “Known?” (“asks”) was labelled “”.',
      'added: Edge “Known?” → “/new” is new.',
      'removed: Edge “Known?” → “/old” (“no”) was removed.',
    ]);
    expect(diagramChanges(before, after)[2]).toEqual({
      kind: 'added',
      what: 'node',
      text: 'Node “/new” is new.',
      after: 'd',
    });
  });

  it('keep edges apart that join the same two', () => {
    expect(textsOf(aGraph(['a:A'], ['a>a:x']), aGraph(['a:A'], ['a>a:x', 'a>a:y']))).toEqual([
      'added: Edge “A” → “A” (“y”) is new.',
    ]);
  });

  it('know an entity again that another one was named before', () => {
    expect(textsOf(aGraph(['entity-USER-0:USER']), aGraph(['entity-CART-0:CART', 'entity-USER-1:USER']))).toEqual([
      'added: Node “CART” is new.',
    ]);
  });
});
