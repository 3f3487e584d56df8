import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../../event-store/sqlite/sqlite-event-store.ts';
import { SESSION_SECONDS, Sessions } from './sessions.ts';

const DAY_MS = 24 * 60 * 60_000;
const SESSION_MS = SESSION_SECONDS * 1_000;
const ada = { userId: 'ada' };

let now: number;
let store: SqliteEventStore;
let sessions: Sessions;
beforeEach(() => {
  now = Date.parse('2026-03-01T12:00:00.000Z');
  store = openSqliteEventStore({ file: ':memory:', writer: 'inline' });
  sessions = withToken('secret');
});
afterEach(() => store.close());

function withToken(token: string): Sessions {
  return new Sessions({ token, store, now: () => now });
}

it('ends when its cookie does', async () => {
  const secret = await sessions.begin(ada);
  now += SESSION_MS - 1;
  expect(await sessions.find(secret)).toMatchObject({ caller: ada });
  now += 1;
  expect(await sessions.find(secret)).toBeNull();
});

it('is due to be renewed after a day, and lasts as long as a new one from then on', async () => {
  const secret = await sessions.begin(ada);
  now += DAY_MS - 1;
  expect(await sessions.find(secret)).toMatchObject({ isDue: false });
  now += 1;
  const session = await sessions.find(secret);
  expect(session).toMatchObject({ isDue: true });
  await sessions.renew(session!);
  expect(await sessions.find(secret)).toMatchObject({ isDue: false });
  now += SESSION_MS - 1;
  expect(await sessions.find(secret)).toMatchObject({ isDue: true });
  now += 1;
  expect(await sessions.find(secret)).toBeNull();
});

it('is not brought back by being renewed after it was ended', async () => {
  const secret = await sessions.begin(ada);
  const session = await sessions.find(secret);
  expect(await sessions.end(ada, session!.hash)).toBe(1);
  await sessions.renew(session!);
  expect(await sessions.find(secret)).toBeNull();
});

it('is known only with the token under which it was begun', async () => {
  const secret = await sessions.begin(ada);
  expect(await withToken('another').find(secret)).toBeNull();
  expect(await withToken('secret').find(secret)).toMatchObject({ caller: ada });
});

it('is one of a hundred of its user: what was not used for longest makes room', async () => {
  const first = await sessions.begin(ada);
  const second = await sessions.begin(ada);
  now += DAY_MS;
  await sessions.renew((await sessions.find(first))!);
  for (let more = 0; more < 99; more += 1) await sessions.begin(ada);
  expect(await sessions.find(first)).toMatchObject({ caller: ada });
  expect(await sessions.find(second)).toBeNull();
  expect(await sessions.end(ada)).toBe(100);
});

it('that was begun while the clock was ahead is shortened with its next use', async () => {
  now += 10 * 365 * DAY_MS;
  const secret = await sessions.begin(ada);
  now -= 10 * 365 * DAY_MS;
  const session = await sessions.find(secret);
  expect(session).toMatchObject({ isDue: true });
  await sessions.renew(session!);
  now += SESSION_MS;
  expect(await sessions.find(secret)).toBeNull();
});
