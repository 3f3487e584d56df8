/**
 * Runtime that the JSX of this package is compiled to: React's own functions behind one guard. The guard replaces each
 * hidden character in an element's text by an escape, wherever the text comes from, and lays out code from the left.
 * React's escaping of markup is the model.
 */
import { showHidden, splitHidden } from '@autonomous/shared';
import { splitDirections } from '@autonomous/shared/presentation';
import { createElement, type ElementType, Fragment, type ReactNode } from 'react';
import { jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime';

export { Fragment };
// oxlint-disable-next-line autonomous/no-re-export -- the compiler looks for the types of elements here
export type { JSX } from 'react/jsx-runtime';

type Props = Readonly<Record<string, unknown>>;

/** They hold text alone, or text that is somebody's input. */
const TEXT_ONLY: ReadonlySet<unknown> = new Set(['option', 'title', 'vscode-option']);
const AS_IT_IS: ReadonlySet<unknown> = new Set(['script', 'style', 'textarea']);
/** Most texts of a screen are so: they are told from the others at once. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;
/** Attributes that are read out or shown. */
const SHOWN = ['alt', 'aria-label', 'label', 'placeholder', 'title'];

export function jsx(type: ElementType, props: Props, key?: string): ReactNode {
  return reactJsx(type, seen(type, props), key);
}

export function jsxs(type: ElementType, props: Props, key?: string): ReactNode {
  return reactJsxs(type, seen(type, props), key);
}

/** Components show nothing themselves: what they hand on comes to an element in the end. */
function seen(type: ElementType, props: Props): Props {
  if ((typeof type !== 'string' && type !== Fragment) || AS_IT_IS.has(type)) return props;
  const changed: Record<string, unknown> = {};
  for (const name of SHOWN) {
    const value = props[name];
    if (typeof value === 'string') changed[name] = showHidden(value);
  }
  const { children } = props;
  if (children !== undefined) {
    const show = TEXT_ONLY.has(type) ? showHidden : isCode(type, props) ? markedCode : marked;
    changed['children'] = seenIn(children, show);
  }
  return { ...props, ...changed };
}

/** Code, and cells that hold it. */
function isCode(type: ElementType, { className }: Props): boolean {
  return type === 'code' || type === 'pre' || (typeof className === 'string' && /(?:^| )code(?: |$)/.test(className));
}

/** Text among the children, those in lists included. */
function seenIn(children: unknown, show: (text: string, key?: number) => ReactNode, key?: number): unknown {
  if (typeof children === 'string') return show(children, key);
  return Array.isArray(children) ? children.map((child: unknown, index) => seenIn(child, show, index)) : children;
}

/** Words that are read from the right are set apart, so that what stands between them keeps its order. */
function markedCode(text: string, key?: number): ReactNode {
  if (PLAIN.test(text)) return text;
  const parts = splitDirections(text);
  if (parts.length === 1 && parts[0]?.isRightToLeft === false) return marked(text, key);
  return createElement(
    Fragment,
    { key },
    ...parts.map(({ text: part, isRightToLeft }, index) =>
      isRightToLeft ? createElement('bdi', { key: index }, marked(part)) : marked(part, index),
    ),
  );
}

/** Escapes are set apart from text that only looks like one. */
function marked(text: string, key?: number): ReactNode {
  if (PLAIN.test(text)) return text;
  const parts = splitHidden(text);
  if (parts.every(({ isHidden }) => !isHidden)) return text;
  return createElement(
    Fragment,
    { key },
    ...parts.map(({ text: part, isHidden }) =>
      isHidden
        ? createElement('span', { className: 'hidden-character', title: 'A character that is not seen' }, part)
        : part,
    ),
  );
}
