/** Compares what a run has open, as its history gives it, with the activities and timers that are stored beside the history. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '@autonomous/shared';
import type { StoredActivity, StoredTimer } from '../event-store/event-store.ts';
import type { RunState } from '../core/run-state.ts';

/** Where the two differ, in words; `null` where they do not. */
export function findPendingWorkMismatch(
  state: RunState,
  activities: readonly StoredActivity[],
  timers: readonly StoredTimer[],
): string | null {
  const armed = new Map(Object.values(state.timers).map((timer) => [timer.key, timer]));
  return (
    differ('activities', Object.values(state.activities), activities) ??
    differ('timers', [...armed.keys()], timers) ??
    activities.map((stored) => differenceOfActivity(state, stored)).find((difference) => difference !== null) ??
    timers
      .filter(({ key, event, dueAt }) => armed.get(key)?.event !== event || armed.get(key)?.dueAt !== dueAt)
      .map(({ key }) => `timer '${key}' is not what replay gives`)[0] ??
    null
  );
}

/** The same for one of the two, by keys alone. */
export function differ(
  what: 'activities' | 'timers',
  replayed: readonly string[],
  stored: readonly { readonly key: string }[],
): string | null {
  const keys = new Set(stored.map(({ key }) => key));
  if (replayed.length === keys.size && replayed.every((key) => keys.has(key))) return null;
  return `replay gives the open ${what} [${[...replayed].sort().join(', ')}], stored are [${[...keys].sort().join(', ')}]`;
}

interface Child {
  readonly src: unknown;
  getSnapshot(): { readonly input?: JsonValue };
}

/** Compares a stored activity with the one in the machine's state. @returns the difference in words, or `null` */
function differenceOfActivity({ snapshot, activities }: RunState, stored: StoredActivity): string | null {
  const { key, activity, src, input } = stored;
  if (activities[activity] !== key) return `activity '${key}' is not what replay gives: it is called '${activity}'`;
  // Of a machine that is known only when it runs, children are of any kind; an activity is a promise, with its input.
  const children = (snapshot?.children ?? {}) as Readonly<Record<string, Child>>;
  const child = Object.hasOwn(children, activity) ? children[activity] : undefined;
  if (child === undefined) return null;
  if (child.src !== src) return `activity '${key}' is not what replay gives: it is a '${src}'`;
  const given = child.getSnapshot().input ?? null;
  const isSame = isDeepStrictEqual(given, input) || JSON.stringify(given) === JSON.stringify(input);
  return isSame ? null : `the input of activity '${key}' is not what replay gives`;
}
