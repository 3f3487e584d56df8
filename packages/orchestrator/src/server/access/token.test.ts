import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../../event-store/sqlite/sqlite-event-store.ts';
import { Credentials, LOCAL_CALLER, openToken } from './token.ts';

describe('the local token', () => {
  let data: string;
  beforeEach(async () => {
    data = join(await mkdtemp(join(tmpdir(), 'token-')), 'data');
  });
  afterEach(() => rm(join(data, '..'), { recursive: true }));

  const mode = async (path: string) => (await stat(path)).mode & 0o777;

  it('has 256 bits, in a file and folder that only their owner can read', async () => {
    const token = await openToken(data);
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect(await readFile(join(data, 'token'), 'utf8')).toBe(`${token}\n`);
    expect(await mode(join(data, 'token'))).toBe(0o600);
    expect(await mode(data)).toBe(0o700);
    expect(await readdir(data)).toEqual(['token']);
  });

  it('is made once, also when many ask at the same time', async () => {
    const tokens = await Promise.all(Array.from({ length: 20 }, () => openToken(data)));
    expect(new Set([...tokens, await openToken(data)]).size).toBe(1);
    expect(await readdir(data)).toEqual(['token']);
  });

  it('is closed again to others who could read it', async () => {
    await openToken(data);
    await chmod(join(data, 'token'), 0o644);
    await chmod(data, 0o755);
    await openToken(data);
    expect([await mode(join(data, 'token')), await mode(data)]).toEqual([0o600, 0o700]);
  });

  it('is refused with the way out when its file is damaged', async () => {
    await openToken(data);
    await writeFile(join(data, 'token'), 'short');
    await expect(openToken(data)).rejects.toThrow(/is damaged\. Delete it/);
  });
});

describe('credentials', () => {
  const ada = { caller: { userId: 'ada' }, session: null };
  let now = 0;
  let store: SqliteEventStore;
  let credentials: Credentials;
  beforeEach(() => {
    now = 0;
    store = openSqliteEventStore({ file: ':memory:', writer: 'inline' });
    credentials = new Credentials({ token: 'secret', store, now: () => now });
  });
  afterEach(() => store.close());

  const signIn = async (): Promise<string> => (await credentials.signIn(credentials.issueSignInCode(ada.caller))) ?? '';

  it('know the token and nothing like it', () => {
    expect(credentials.byToken('secret')).toEqual({ caller: LOCAL_CALLER, session: null });
    for (const wrong of ['', 'Secret', 'secret ', 'secre', 'secrett']) expect(credentials.byToken(wrong)).toBeNull();
  });

  it('take a ticket once, within 30 seconds, from whom it was given', () => {
    const [used, old, young] = [1, 2, 3].map(() => credentials.issueTicket(ada)) as [string, string, string];
    expect(credentials.byTicket(used)).toEqual(ada);
    expect(credentials.byTicket(used)).toBeNull();
    now = 29_999;
    expect(credentials.byTicket(young)).toEqual(ada);
    now = 30_000;
    expect(credentials.byTicket(old)).toBeNull();
  });

  it('turn a code into a session once, within 10 minutes', async () => {
    const [used, old] = [1, 2].map(() => credentials.issueSignInCode(ada.caller)) as [string, string];
    const secret = await credentials.signIn(used);
    expect(await credentials.bySession(secret!)).toMatchObject({ caller: ada.caller });
    expect(await credentials.signIn(used)).toBeNull();
    now = 10 * 60_000;
    expect(await credentials.signIn(old)).toBeNull();
  });

  it('give nobody two sessions for one code, however fast they ask', async () => {
    const code = credentials.issueSignInCode(ada.caller);
    const secrets = await Promise.all([credentials.signIn(code), credentials.signIn(code)]);
    expect(secrets.filter((secret) => secret !== null)).toHaveLength(1);
  });

  it('do not take one kind of secret for another', async () => {
    const ticket = credentials.issueTicket(ada);
    expect(await credentials.bySession(ticket)).toBeNull();
    expect(await credentials.signIn(ticket)).toBeNull();
    expect(credentials.byToken(ticket)).toBeNull();
    expect(credentials.byTicket(credentials.issueSignInCode(LOCAL_CALLER))).toBeNull();
  });

  it('end with a session what was lent to it, and nothing else', async () => {
    const [left, right] = [await signIn(), await signIn()];
    const ticketsOf = async (secret: string): Promise<string> => {
      const session = await credentials.bySession(secret);
      return credentials.issueTicket({ ...ada, session: session!.hash });
    };
    const [ofLeft, ofRight, ofToken] = [await ticketsOf(left), await ticketsOf(right), credentials.issueTicket(ada)];
    const { hash } = (await credentials.bySession(left))!;
    expect(await credentials.signOut(ada.caller, hash)).toBe(1);
    expect([await credentials.bySession(left), credentials.byTicket(ofLeft)]).toEqual([null, null]);
    expect(await credentials.bySession(right)).not.toBeNull();
    expect([credentials.byTicket(ofRight), credentials.byTicket(ofToken)]).not.toContain(null);
  });

  it('end all sessions of a user, and the codes that would make new ones', async () => {
    const [mine, code] = [await signIn(), credentials.issueSignInCode(ada.caller)];
    const bob = await credentials.signIn(credentials.issueSignInCode({ userId: 'bob' }));
    const codeOfBob = credentials.issueSignInCode({ userId: 'bob' });
    expect(await credentials.signOut(ada.caller)).toBe(1);
    expect([await credentials.bySession(mine), await credentials.signIn(code)]).toEqual([null, null]);
    expect([await credentials.bySession(bob!), await credentials.signIn(codeOfBob)]).not.toContain(null);
  });
});
