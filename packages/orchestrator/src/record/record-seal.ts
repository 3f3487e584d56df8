/**
 * Seals the record of runs in git. The hash chain of a run has no key, so anyone with push access can continue it. A seal proves
 * that a server with this database wrote it. The key lies in the database, and so in every copy of it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { RECORD_FORMAT } from '../documents/record-schemas.ts';
import type { RecordedTip } from '../documents/run-context.ts';
import type { EventStore } from '../event-store/event-store.ts';

const KEY = 'record.seal-key';
/**
 * Set after the first comparison of a project's record without a fault. From then on a tip without a seal is not accepted.
 */
const sealedOf = (projectId: string): string => `record.sealed.${projectId}`;

const keys = new WeakMap<EventStore, Promise<string>>();

/** The seals of a tip, for its record. */
export async function sealsOf(
  store: EventStore,
  projectId: string,
  runId: string,
  tip: Pick<RecordedTip, 'sequence' | 'hash' | 'log'>,
): Promise<Pick<RecordedTip, 'seal' | 'logSeal'>> {
  const key = await keyOf(store);
  return { seal: hmacOf(key, [runId, tip.sequence, tip.hash]), logSeal: hmacOf(key, logSealed(projectId, runId, tip)) };
}

/**
 * Whether a server with this database, or with a later state of it, wrote the sequence and the hash of a recorded tip. That is enough
 * to compare histories and never to import one. A rebuilt database has another key than the one that wrote its runs: until a
 * project's record was compared without a fault, every tip counts as sealed.
 */
export async function isSealed(
  store: EventStore,
  projectId: string,
  runId: string,
  recorded: RecordedTip,
): Promise<boolean> {
  if ((await store.getMark(sealedOf(projectId))) === null) return true;
  return isOwnTip(store, runId, recorded);
}

/** Whether a server with this database, or with a later state of it, certainly wrote the sequence and the hash. */
export async function isOwnTip(
  store: EventStore,
  runId: string,
  { seal, sequence, hash }: RecordedTip,
): Promise<boolean> {
  return isEqual(seal, hmacOf(await keyOf(store), [runId, sequence, hash]));
}

/**
 * Whether such a server wrote the log of a run to the record of this project, each line as it is: payloads that are withheld too, which
 * the hash chain does not cover.
 */
export async function isOwnLog(
  store: EventStore,
  projectId: string,
  runId: string,
  tip: RecordedTip,
): Promise<boolean> {
  return isEqual(tip.logSeal, hmacOf(await keyOf(store), logSealed(projectId, runId, tip)));
}

/** From now on only sealed tips of the project's record are accepted. */
export async function requireSeals(store: EventStore, projectId: string): Promise<void> {
  await keyOf(store);
  if ((await store.getMark(sealedOf(projectId))) === null) await store.setMark(sealedOf(projectId), '1');
}

function logSealed(
  projectId: string,
  runId: string,
  { sequence, hash, log }: Pick<RecordedTip, 'sequence' | 'hash' | 'log'>,
): readonly (string | number)[] {
  return [RECORD_FORMAT, projectId, runId, sequence, hash, log];
}

function hmacOf(key: string, sealed: readonly (string | number)[]): string {
  return createHmac('sha256', key).update(JSON.stringify(sealed)).digest('hex');
}

function isEqual(given: string, own: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(own)];
  return a.length === b.length && timingSafeEqual(a, b);
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
