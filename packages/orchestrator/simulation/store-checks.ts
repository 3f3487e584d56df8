/**
 * Checks that the store detects damage that no schedule can show, because it happens to the file or in another process.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStep } from '../src/event-store/sqlite/steps.fixture.ts';
import {
  keepsLongerRecords,
  keepsWhatOnlyTheRemoteHas,
  refusesALostFile,
  refusesToRetryWhatGitKnowsFurther,
} from './record-checks.ts';

export const STORE_CHECKS = {
  /** A byte of a stored payload is another one than was written. */
  damage: () => inFolder(noticesDamage),
  /** The lock was lost and a second server has opened the database: the first one writes no more. */
  replacement: () => inFolder(refusesTheReplaced),
  /** An older copy of the database went further than the record in git, another way. */
  olderDatabase: () => inFolder(keepsLongerRecords),
  /** An older copy of the database and the mirrors: only the remote knows more. */
  olderFolder: () => inFolder(keepsWhatOnlyTheRemoteHas),
  /** Somebody retries a run that git knows further. */
  retryBehindGit: () => inFolder(refusesToRetryWhatGitKnowsFurther),
  /** The database's file was removed while it was open. */
  lostFile: () => inFolder(refusesALostFile),
} satisfies Record<string, () => Promise<boolean>>;
export type StoreCheck = keyof typeof STORE_CHECKS;

async function noticesDamage(folder: string): Promise<boolean> {
  const file = path.join(folder, 'damaged.db');
  const first = openSqliteEventStore({ file, writer: 'inline' });
  await first.append(aStep('r-1', { events: [anEvent('NOTICE', { message: 'what was written' })] }));
  await first.close();
  const bytes = readFileSync(file);
  const at = bytes.indexOf('what was written');
  if (at < 0) throw new Error('the payload is not in the file as it was written');
  writeFileSync(file, bytes.fill('W', at, at + 1));
  const second = openSqliteEventStore({ file, writer: 'inline' });
  const fault = await second.verifyRun('r-1');
  await second.close();
  return fault !== null;
}

async function refusesTheReplaced(folder: string): Promise<boolean> {
  const file = path.join(folder, 'shared.db');
  const first = openSqliteEventStore({ file, writer: 'inline' });
  rmSync(`${file}.lock`);
  const second = openSqliteEventStore({ file, writer: 'inline' });
  const refused = await first.append(aStep('r-1', { events: [anEvent('NOTICE')] })).then(
    () => false,
    () => true,
  );
  const left = await second.readRun('r-1', 0);
  await first.close();
  await second.close();
  return refused && left.length === 0;
}

async function inFolder(check: (folder: string) => Promise<boolean>): Promise<boolean> {
  const folder = mkdtempSync(path.join(tmpdir(), 'store-check-'));
  try {
    return await check(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
