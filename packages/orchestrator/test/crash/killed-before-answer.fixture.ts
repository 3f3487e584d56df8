/**
 * Loaded before a program (`node --import`), it kills the program when that is about to store the answer to a request
 * with an idempotency key. The step of the request is on disk then, and the client has no answer. Active while the file
 * that `KILL_BEFORE_ANSWER` names exists.
 */
import { existsSync } from 'node:fs';
import { SqliteEventStore } from '../../src/event-store/sqlite/sqlite-event-store.ts';

SqliteEventStore.prototype.remember = new Proxy(Reflect.get(SqliteEventStore.prototype, 'remember'), {
  apply(remember, store, given) {
    if (existsSync(process.env['KILL_BEFORE_ANSWER'] ?? '')) process.kill(process.pid, 'SIGKILL');
    return Reflect.apply(remember, store, given);
  },
});
