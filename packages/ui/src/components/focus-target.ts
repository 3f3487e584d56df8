/** Scrolls the target of a link into view and moves the keyboard focus to it. */
import { type RefObject, useEffect, useRef } from 'react';

/** @returns for an element that can take the focus (`tabIndex={-1}`) */
export function useArrival<Target extends HTMLElement>(isTarget: boolean): RefObject<Target | null> {
  const target = useRef<Target>(null);
  useEffect(() => {
    // The focus stays in a field that a person writes in: a gate may be decided elsewhere meanwhile.
    if (!isTarget || document.activeElement?.matches(FIELDS) === true) return;
    target.current?.scrollIntoView({ block: 'center' });
    target.current?.focus({ preventScroll: true });
  }, [isTarget]);
  return target;
}

const FIELDS = 'input, textarea, vscode-textarea, vscode-textfield';
