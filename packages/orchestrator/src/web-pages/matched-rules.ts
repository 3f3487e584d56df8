/** Rules of style sheets by the elements that they match, for large pages: by css-select, and with a limit that does not depend on time. */
import { compile } from 'css-select';
import { CLASSES, type StyleRule } from './style-rules.ts';

/** An element as far as selectors ask for it; other nodes have the type alone. */
export interface MatchedNode {
  readonly nodeType: number;
  readonly localName: string;
  textContent: string | null;
  readonly childNodes: Iterable<MatchedNode>;
  readonly parentNode: MatchedNode | null;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
}

/** Looks at an element. An ordinary page takes less than a million. */
const MOST_STEPS = 20_000_000;

/** @returns the rules that match an element, in their order; none of any element where finding them takes too many steps */
export function matchedRules<Rule extends Pick<StyleRule, 'selector' | 'needed' | 'own'>>(
  elements: readonly MatchedNode[],
  rules: readonly Rule[],
): (element: MatchedNode) => readonly Rule[] {
  const named = elementsByName(elements);
  const found = new Map<MatchedNode, Rule[]>();
  const adapter = countingAdapter();
  try {
    for (const rule of rules) {
      if (!rule.needed.every((name) => named.has(name))) continue;
      const sets = rule.own.map((name) => named.get(name) ?? []);
      const fewest = sets.toSorted((one, other) => one.length - other.length)[0] ?? elements;
      const matches = matcher(rule, adapter);
      for (const element of fewest) {
        if (!matches(element)) continue;
        const list = found.get(element);
        if (list === undefined) found.set(element, [rule]);
        else list.push(rule);
      }
    }
  } catch (error) {
    if (!(error instanceof TooManySteps)) throw error;
    found.clear();
  }
  return (element) => found.get(element) ?? [];
}

class TooManySteps extends Error {}

type Adapter = NonNullable<NonNullable<Parameters<typeof compile<MatchedNode, MatchedNode>>[1]>['adapter']>;

function matcher({ selector }: Pick<StyleRule, 'selector'>, adapter: Adapter): (element: MatchedNode) => boolean {
  try {
    return compile<MatchedNode, MatchedNode>([selector], { adapter });
  } catch {
    // It is unknown to css-select.
    return () => false;
  }
}

function elementsByName(elements: readonly MatchedNode[]): ReadonlyMap<string, readonly MatchedNode[]> {
  const named = new Map<string, MatchedNode[]>();
  for (const element of elements) {
    const names = new Set(classesOf(element).map((name) => `.${name}`));
    for (const name of [...names, `#${element.getAttribute('id') ?? ''}`, element.localName.toLowerCase()]) {
      const list = named.get(name);
      if (list === undefined) named.set(name, [element]);
      else list.push(element);
    }
  }
  return named;
}

function classesOf(element: MatchedNode): readonly string[] {
  return element.getAttribute('class')?.match(/[^\t\n\f\r ]+/g) ?? [];
}

function countingAdapter(): Adapter {
  const children = new Map<MatchedNode, MatchedNode[]>();
  const childrenOf = (node: MatchedNode): MatchedNode[] => {
    const known = children.get(node) ?? [...node.childNodes].filter(({ nodeType }) => nodeType === 1 || nodeType === 3);
    children.set(node, known);
    return known;
  };
  let steps = 0;
  const isTag = (node: MatchedNode): node is MatchedNode => {
    steps += 1;
    if (steps > MOST_STEPS) throw new TooManySteps();
    return node.nodeType === 1;
  };
  const existsOne: Adapter['existsOne'] = (test, nodes) =>
    nodes.some((node) => isTag(node) && (test(node) || existsOne(test, childrenOf(node))));
  return {
    isTag,
    existsOne,
    getAttributeValue: (element, name) =>
      name === CLASSES
        ? ` ${classesOf(element).join(' ')} `
        : // JavaScript takes this letter for a small `k`.
          element.getAttribute(name)?.replaceAll('\u212a', '\ufffd'),
    getChildren: childrenOf,
    getName: ({ localName }) => localName.toLowerCase(),
    getParent: ({ parentNode }) => parentNode,
    getSiblings: (node) => (node.parentNode === null ? [node] : childrenOf(node.parentNode)),
    getText: ({ textContent }) => textContent ?? '',
    hasAttrib: (element, name) => element.hasAttribute(name),
    // Only whether an element matches is asked for, never which ones do.
    removeSubsets: (nodes) => nodes,
    findAll: () => [],
    findOne: () => null,
    equals: (one, other) => isTag(one) && one === other,
  };
}
