import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventStoreContract } from '../event-store.contract.ts';
import { openSqliteEventStore } from './sqlite-event-store.ts';

eventStoreContract('SQLite with its writer where it serves best', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-store-'));
  return {
    open: async () => openSqliteEventStore({ file: join(folder, 'runs.db') }),
    remove: async () => rmSync(folder, { recursive: true }),
  };
});
