/** Places for planted bugs that need no change of the source: around the ports of the engine. */
import type { EventStore } from '../src/event-store/event-store.ts';
import type { ActivityRegistry } from '../src/core/activity.ts';
import type { Clock } from '../src/engine/clock.ts';

export interface Plants {
  /** Between the engine and its store. */
  readonly store?: (store: EventStore, clock: Clock) => EventStore;
  readonly activities?: (activities: ActivityRegistry) => ActivityRegistry;
  /** What a dead process still does reaches the disk and the outside. */
  readonly hasNoFence?: boolean;
}

/** A port of which some methods are others. */
export function withMethods<Port extends object>(port: Port, methods: (port: Port) => Partial<Port>): Port {
  const replaced = methods(port);
  return new Proxy(port, {
    get(target, name) {
      const other: unknown = Reflect.get(replaced, name);
      if (other !== undefined) return other;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function'
        ? (...args: unknown[]) => Reflect.apply(member, target, args) as unknown
        : member;
    },
  });
}
