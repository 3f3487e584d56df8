/**
 * Seals the record of runs in git. The hash chain of a run has no key, so whoever may push can continue it; a seal says that a
 * server with this database wrote a tip. The key lies in the database, and so in every copy of it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RecordedTip } from '../artifacts/run-context.ts';
import type { EventStore } from '../event-store/event-store.ts';

const KEY = 'record.seal-key';
/** Set once a project's record was compared and nothing in it was strange: from then on no tip without a seal is believed. */
const sealedOf = (projectId: string): string => `record.sealed.${projectId}`;

const keys = new WeakMap<EventStore, Promise<string>>();

/** The seal of a tip, for its record. */
export async function sealOf(store: EventStore, runId: string, tip: Pick<RecordedTip, 'sequence' | 'hash'>) {
  return createHmac('sha256', await keyOf(store))
    .update(JSON.stringify([runId, tip.sequence, tip.hash]))
    .digest('hex');
}

/**
 * Did a server with this database, or a later state of it, write a recorded tip? Records of older versions have no seal: of a
 * project whose record was never compared without a fault, every tip is taken for such a one.
 */
export async function isSealed(
  store: EventStore,
  projectId: string,
  runId: string,
  recorded: RecordedTip,
): Promise<boolean> {
  if ((await store.getMark(sealedOf(projectId))) === null) return true;
  const [own, given] = [Buffer.from(await sealOf(store, runId, recorded)), Buffer.from(recorded.seal ?? '')];
  return own.length === given.length && timingSafeEqual(own, given);
}

/** From now on the project's record is believed where it is sealed. */
export async function requireSeals(store: EventStore, projectId: string): Promise<void> {
  await keyOf(store);
  if ((await store.getMark(sealedOf(projectId))) === null) await store.setMark(sealedOf(projectId), '1');
}

function keyOf(store: EventStore): Promise<string> {
  const known = keys.get(store);
  if (known !== undefined) return known;
  const key = readKey(store);
  keys.set(store, key);
  // A database that cannot be read now is asked again.
  key.catch(() => keys.delete(store));
  return key;
}

async function readKey(store: EventStore): Promise<string> {
  const stored = await store.getMark(KEY);
  if (stored !== null) return stored;
  const key = randomBytes(32).toString('hex');
  await store.setMark(KEY, key);
  return key;
}
