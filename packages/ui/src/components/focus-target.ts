/** Moves the keyboard focus to the target of a link, which is scrolled into view, and to a field that a button opens. */
import { type RefObject, useEffect, useRef } from 'react';
import { flushSync } from 'react-dom';

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

/**
 * Moves the keyboard focus into a field that a button has opened: a `ref` of that field. A widget has nothing that takes the focus
 * before it has drawn itself. A key that opened it must not be typed into it: the focus moves once the event of that key is over.
 * @param field `null` when the field is closed
 */
export function focusOpened(field: HTMLElement | null): void {
  if (field === null) return;
  void Promise.resolve((field as Partial<Drawn>).updateComplete).then(() =>
    setTimeout(() => {
      if (field.isConnected) field.focus();
    }),
  );
}

/** Closes a field, and moves the keyboard focus from it to the button that opens it. */
export function closeField(close: () => void, button: RefObject<HTMLElement | null>): void {
  flushSync(close);
  // The focus stays where the person has gone meanwhile.
  if (document.activeElement === document.body) button.current?.focus();
}

/** The part of the editor's widgets that tells when they have drawn themselves. */
interface Drawn {
  readonly updateComplete: Promise<unknown>;
}
