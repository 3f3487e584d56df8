import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
  let now = 0;
  let credentials: Credentials;
  beforeEach(() => {
    now = 0;
    credentials = new Credentials({ token: 'secret', now: () => now });
  });

  it('know the token and nothing like it', () => {
    expect(credentials.byToken('secret')).toEqual(LOCAL_CALLER);
    for (const wrong of ['', 'Secret', 'secret ', 'secre', 'secrett']) expect(credentials.byToken(wrong)).toBeNull();
  });

  it('take a ticket once, within 30 seconds, from whom it was given', () => {
    const [used, old, young] = [1, 2, 3].map(() => credentials.issueTicket({ userId: 'ada' })) as [
      string,
      string,
      string,
    ];
    expect(credentials.byTicket(used)).toEqual({ userId: 'ada' });
    expect(credentials.byTicket(used)).toBeNull();
    now = 29_999;
    expect(credentials.byTicket(young)).toEqual({ userId: 'ada' });
    now = 30_000;
    expect(credentials.byTicket(old)).toBeNull();
  });

  it('turn a code into a session once, within 10 minutes', () => {
    const [used, old] = [1, 2].map(() => credentials.issueSignInCode({ userId: 'ada' })) as [string, string];
    const signedIn = credentials.signIn(used);
    expect(credentials.bySession(signedIn!.session)).toEqual({ userId: 'ada' });
    expect(credentials.signIn(used)).toBeNull();
    now = 10 * 60_000;
    expect(credentials.signIn(old)).toBeNull();
  });

  it('end a session when its cookie ends', () => {
    const { session, maxAgeSeconds } = credentials.signIn(credentials.issueSignInCode(LOCAL_CALLER))!;
    now = maxAgeSeconds * 1000 - 1;
    expect(credentials.bySession(session)).toEqual(LOCAL_CALLER);
    now += 1;
    expect(credentials.bySession(session)).toBeNull();
  });

  it('do not take one kind of secret for another', () => {
    const ticket = credentials.issueTicket(LOCAL_CALLER);
    expect(credentials.bySession(ticket)).toBeNull();
    expect(credentials.signIn(ticket)).toBeNull();
    expect(credentials.byToken(ticket)).toBeNull();
    expect(credentials.byTicket(credentials.issueSignInCode(LOCAL_CALLER))).toBeNull();
  });
});
