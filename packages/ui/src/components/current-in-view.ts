/** Keeps the chosen link of a row in view where the row is wider than the window. */
import { type RefObject, useEffect, useRef } from 'react';

const BESIDE_PX = 16;

/** @param current changes with the choice @returns a `ref` of the row, which scrolls sideways alone */
export function useCurrentInView<Row extends HTMLElement>(current: string | undefined): RefObject<Row | null> {
  const row = useRef<Row>(null);
  useEffect(() => {
    const link = row.current?.querySelector<HTMLElement>('[aria-current="page"]');
    if (!row.current || !link) return;
    const { left, right, width } = row.current.getBoundingClientRect();
    const place = link.getBoundingClientRect();
    if (place.left < left || place.right > right)
      row.current.scrollLeft += place.left - left - Math.min(BESIDE_PX, Math.max(0, width - place.width));
  }, [current]);
  return row;
}
