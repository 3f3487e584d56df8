/** Points in time and lengths of time as a person says them. */
import { useSyncExternalStore } from 'react';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `now`, `5 min ago`, `3 h ago`, `2 d ago`; the date where it is longer ago than a month. */
export function agoText(at: string, now: number): string {
  const passed = now - Date.parse(at);
  if (Number.isNaN(passed)) return '';
  if (passed < MINUTE) return 'now';
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`;
  if (passed < 31 * DAY) return `${Math.floor(passed / DAY)} d ago`;
  return at.slice(0, 10);
}

/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h` */
export function durationText(ms: number): string {
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}

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

const TICK_MS = 30 * SECOND;
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
