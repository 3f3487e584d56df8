/** The real store, opened for the simulation. */
import type { EventStore } from '../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';

/** In memory: it outlives the servers of a schedule, as a disk does, and ends with the process. */
export function openStore(): EventStore {
  return openSqliteEventStore({ file: ':memory:', writer: 'inline' });
}
