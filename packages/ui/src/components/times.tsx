/** Points in time on a page: what they say moves with the clock. */
import { agoText } from '@autonomous/shared/presentation';
import { useSyncExternalStore } from 'react';

let format: Intl.DateTimeFormat | undefined;

/** One for all, made when it is first asked for: that costs more than a screen full of rows. */
function wholeTime(at: string): string {
  format ??= new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });
  return format.format(Date.parse(at));
}

/** A point in time that says how long ago it is, and all of it when pointed at. */
export function Ago({ at }: { readonly at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} onPointerEnter={({ currentTarget }) => (currentTarget.title = wholeTime(at))}>
      {agoText(at, now)}
    </time>
  );
}

const TICK_MS = 30_000;
let tick = Date.now();
const listeners = new Set<() => void>();
let clock: ReturnType<typeof setInterval> | undefined;

const now = (): number => tick;

/** One clock for the whole page: each listed run of hundreds shows a time. */
function listen(listener: () => void): () => void {
  listeners.add(listener);
  clock ??= setInterval(() => {
    tick = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(clock);
    clock = undefined;
  };
}

/** Milliseconds since 1970, as of the last half minute. */
export function useNow(): number {
  return useSyncExternalStore(listen, now, now);
}
