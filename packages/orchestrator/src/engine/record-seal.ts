/**
 * Seals the record of runs in git. The hash chain of a run has no key, so anyone with push access can continue it. The seal
 * of a tip proves that a server with this database wrote it. The key lies in the database, and so in every copy of it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RecordedTip } from '../artifacts/run-context.ts';
import type { EventStore } from '../event-store/event-store.ts';

const KEY = 'record.seal-key';
/**
 * Set after the first comparison of a project's record without a fault. From then on a tip without a seal is not accepted.
 */
const sealedOf = (projectId: string): string => `record.sealed.${projectId}`;

const keys = new WeakMap<EventStore, Promise<string>>();

/** The seal of a tip, for its record. */
export async function sealOf(store: EventStore, runId: string, tip: Pick<RecordedTip, 'sequence' | 'hash'>) {
  return createHmac('sha256', await keyOf(store))
    .update(JSON.stringify([runId, tip.sequence, tip.hash]))
    .digest('hex');
}

/**
 * Whether a server with this database, or with a later state of it, wrote a recorded tip. Records of older versions have no
 * seal: until a project's record was compared without a fault, every tip counts as sealed.
 */
export async function isSealed(
  store: EventStore,
  projectId: string,
  runId: string,
  recorded: RecordedTip,
): Promise<boolean> {
  if ((await store.getMark(sealedOf(projectId))) === null) return true;
  return isOwnSeal(store, runId, recorded);
}

/** Whether a server with this database, or with a later state of it, certainly wrote a recorded tip. */
export async function isOwnSeal(store: EventStore, runId: string, recorded: RecordedTip): Promise<boolean> {
  const [own, given] = [Buffer.from(await sealOf(store, runId, recorded)), Buffer.from(recorded.seal ?? '')];
  return own.length === given.length && timingSafeEqual(own, given);
}

/** From now on only sealed tips of the project's record are accepted. */
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
