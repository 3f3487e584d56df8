/** The same guard where JSX is compiled for development. */
import type { ElementType, ReactNode } from 'react';
import { Fragment, jsx, jsxs } from './jsx-runtime.ts';

export { Fragment };
// oxlint-disable-next-line autonomous/no-re-export -- the compiler looks for the types of elements here
export type { JSX } from './jsx-runtime.ts';

export function jsxDEV(
  type: ElementType,
  props: Readonly<Record<string, unknown>>,
  key: string | undefined,
  isStatic: boolean,
): ReactNode {
  return isStatic ? jsxs(type, props, key) : jsx(type, props, key);
}
