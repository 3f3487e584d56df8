/**
 * Reads a drawing as the frame sent it: shapes, text and styles, and nothing that runs, links or loads. It is built anew from
 * what is known to be harmless, so that whatever else is in it stays out.
 */
import { showHidden } from '@autonomous/shared';

const ELEMENTS: ReadonlySet<string> = new Set(
  'svg g path rect circle ellipse line polyline polygon text tspan textPath defs marker title desc clipPath mask pattern linearGradient radialGradient stop filter feDropShadow feGaussianBlur feOffset feFlood feComposite feMerge feMergeNode feBlend feColorMatrix symbol use style'.split(
    ' ',
  ),
);
const ATTRIBUTES =
  /^(?:id|class|d|x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|dx|dy|fx|fy|width|height|viewBox|points|transform|transform-origin|preserveAspectRatio|fill|fill-[a-z]+|stroke|stroke-[a-z]+|opacity|style|font-[a-z]+|text-[a-z]+|letter-spacing|word-spacing|dominant-baseline|alignment-baseline|baseline-shift|writing-mode|marker-(?:start|mid|end)|marker[WHU][A-Za-z]+|refX|refY|orient|offset|stop-[a-z]+|gradient[A-Z]\w+|pattern[A-Z]\w+|clip-path|clip-rule|clipPathUnits|mask|maskUnits|filter|filterUnits|primitiveUnits|flood-[a-z]+|stdDeviation|in|in2|result|mode|operator|values|type|rotate|textLength|lengthAdjust|startOffset|shape-rendering|visibility|display|overflow|role|aria-[a-z]+|data-(?:id|et|edge|type|from|to|look))$/;
const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';
/** A drawing that has more than this takes the page too long to lay out. */
const MAX_ELEMENTS = 20_000;

/**
 * A drawing, ready to be put into a shadow root of its own, where its styles reach nothing else.
 * @throws {Error} for what is no SVG, or a too large one
 */
export function readSvg(text: string, page: Document = document): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(text, 'text/html').querySelector('svg');
  if (parsed === null) throw new Error('the drawing is not an SVG');
  if (parsed.querySelectorAll('*').length > MAX_ELEMENTS) throw new Error('the drawing has too many parts to be shown');
  const copy = copyOf(parsed, page);
  if (copy === null) throw new Error('the drawing is not an SVG');
  // The root of it is an `svg`, as was asked for.
  return copy as SVGSVGElement;
}

function copyOf(given: Element, page: Document): Element | null {
  if (given.namespaceURI !== SVG_NAMESPACE || !ELEMENTS.has(given.localName)) return null;
  const copy = page.createElementNS(SVG_NAMESPACE, given.localName);
  for (const { name, value } of given.attributes) {
    const isOwnReference = (name === 'href' || name === 'xlink:href') && /^#[\w-]+$/.test(value);
    if (isOwnReference) copy.setAttribute('href', value);
    else if (ATTRIBUTES.test(name) && loadsNothing(value))
      copy.setAttribute(name, name === 'aria-label' ? showHidden(value) : value);
  }
  if (given.localName === 'style') {
    copy.textContent = harmlessStyles(given.textContent);
    return copy;
  }
  for (const child of given.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(showHidden(child.textContent ?? ''));
    // Of all nodes, elements alone are of this type.
    else if (child.nodeType === Node.ELEMENT_NODE) copy.append(copyOf(child as Element, page) ?? '');
  }
  return copy;
}

/** A reference to another part of the same drawing is the only address that a style or an attribute may hold. */
export function loadsNothing(value: string): boolean {
  if (/[\\@]|image-set|image\(|cross-fade|element\(|expression|javascript:|data:/i.test(value)) return false;
  return [...value.matchAll(/url\(\s*(["']?)([^)"']*)\1\s*\)?/gi)].every(([, , address]) =>
    /^#[\w-]+$/.test(address ?? ''),
  );
}

/** Rules of which none names an address outside of the drawing. At-rules but those of movement are left out. */
export function harmlessStyles(text: string): string {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text.replaceAll(/@(?!keyframes|-webkit-keyframes)[^;{@]*;/gi, ''));
  return [...sheet.cssRules]
    .filter((rule) => rule instanceof CSSStyleRule || rule instanceof CSSKeyframesRule)
    .map((rule) => rule.cssText)
    .filter((rule) => loadsNothing(rule.replaceAll(/@(?:-webkit-)?keyframes/gi, '')))
    .join('\n');
}
