import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventStoreContract } from '../event-store.contract.ts';
import { openSqliteEventStore } from './sqlite-event-store.ts';

eventStoreContract('SQLite with its writer inline', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-store-'));
  return {
    open: async () => openSqliteEventStore({ file: join(folder, 'runs.db'), writer: 'inline' }),
    remove: async () => rmSync(folder, { recursive: true }),
  };
});
