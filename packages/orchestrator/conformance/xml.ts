/** Reads XML into the element objects of the package `xml-js`, as far as XState's conversion of SCXML uses them. */
import { DOMParser } from 'linkedom';

interface XmlElement {
  readonly type: 'element' | 'text' | 'comment';
  readonly name?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly elements?: readonly XmlElement[];
}

/** Fields of a DOM node that are read here. The types of linkedom need TypeScript's DOM library. */
interface DomNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly childNodes: Iterable<DomNode>;
  readonly attributes?: Iterable<{ readonly name: string; readonly value: string }>;
}

const ELEMENT = 1;
const TEXT = 3;
const COMMENT = 8;

export function xml2js(xml: string): { readonly elements: readonly XmlElement[] } {
  // linkedom does not parse an XML declaration.
  const document = new DOMParser().parseFromString(xml.replace(/^\s*<\?xml[^>]*\?>/, ''), 'text/xml');
  return { elements: elementsOf(document) };
}

function elementsOf(node: DomNode): readonly XmlElement[] {
  return [...node.childNodes].flatMap((child): readonly XmlElement[] => {
    switch (child.nodeType) {
      case ELEMENT:
        return [elementOf(child)];
      case TEXT: {
        const text = child.textContent ?? '';
        return text.trim() === '' ? [] : [{ type: 'text', text }];
      }
      case COMMENT:
        return [{ type: 'comment' }];
      default:
        return [];
    }
  });
}

function elementOf(node: DomNode): XmlElement {
  const attributes = Object.fromEntries([...(node.attributes ?? [])].map(({ name, value }) => [name, value]));
  const elements = elementsOf(node);
  return {
    type: 'element',
    name: node.nodeName,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(elements.length === 0 ? {} : { elements }),
  };
}
