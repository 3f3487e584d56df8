/** What a link leads to: brought into view, and the place where the keyboard goes on. */
import { type RefObject, useEffect, useRef } from 'react';

/** @returns for an element that can take the focus (`tabIndex={-1}`) */
export function useArrival<Target extends HTMLElement>(isTarget: boolean): RefObject<Target | null> {
  const target = useRef<Target>(null);
  useEffect(() => {
    if (!isTarget) return;
    target.current?.scrollIntoView({ block: 'center' });
    target.current?.focus({ preventScroll: true });
  }, [isTarget]);
  return target;
}
