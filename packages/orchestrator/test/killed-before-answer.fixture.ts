/**
 * Loaded before a program (`node --import`), it kills the program when the answer to a request with an idempotency key is to
 * be kept: what was asked for is on disk, and nobody was answered. While the file that it is told of is there.
 */
import { existsSync } from 'node:fs';
import { SqliteEventStore } from '../src/event-store/sqlite-event-store.ts';

SqliteEventStore.prototype.remember = new Proxy(Reflect.get(SqliteEventStore.prototype, 'remember'), {
  apply(remember, store, given) {
    if (existsSync(process.env['KILL_BEFORE_ANSWER'] ?? '')) process.kill(process.pid, 'SIGKILL');
    return Reflect.apply(remember, store, given);
  },
});
