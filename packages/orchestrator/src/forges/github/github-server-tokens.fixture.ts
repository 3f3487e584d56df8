/** Permissions of tokens of the GitHub of tests, and the signatures of its Apps. */
import { createVerify } from 'node:crypto';
import type { App, Token } from './github-server-state.fixture.ts';

export function tokenHeaders({ scopes, expiresAt }: Token): Readonly<Record<string, string>> {
  return {
    ...(scopes === undefined || scopes === null ? {} : { 'x-oauth-scopes': scopes.join(', ') }),
    ...(expiresAt === undefined
      ? {}
      : { 'github-authentication-token-expiration': `${expiresAt.slice(0, 19).replace('T', ' ')} UTC` }),
  };
}

/** @param needs `permission=level`, with `; ` between those of which one suffices */
export function isAllowed({ permissions }: Token, needs: string): boolean {
  if (permissions === undefined || needs === 'metadata=read') return true;
  return needs.split('; ').some((each) => {
    const [name = '', level] = each.split('=');
    return permissions[name] === 'write' || (permissions[name] === 'read' && level === 'read');
  });
}

export function isSignedBy(assertion: string, { id, publicKey }: App): boolean {
  const [header = '', payload = '', signature = ''] = assertion.split('.');
  if (signature === '') return false;
  const verify = createVerify('RSA-SHA256').update(`${header}.${payload}`);
  if (!verify.verify(publicKey, Buffer.from(signature, 'base64url'))) return false;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
    readonly iss: unknown;
    readonly exp: number;
  };
  return String(claims.iss) === String(id) && claims.exp * 1_000 > Date.now();
}
