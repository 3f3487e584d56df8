/** Points in time on a page: what they say moves with the clock. */
import { agoText } from '@autonomous/shared';
import { useSyncExternalStore } from 'react';

/** One for all: to make it costs more than a whole row of a list. */
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

/** A point in time that says how long ago it is, and all of it when pointed at. */
export function Ago({ at }: { readonly at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={WHOLE.format(Date.parse(at))}>
      {agoText(at, now)}
    </time>
  );
}

const TICK_MS = 30_000;
let tick = Date.now();
const listeners = new Set<() => void>();
let clock: ReturnType<typeof setInterval> | undefined;

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
  return useSyncExternalStore(listen, () => tick);
}
