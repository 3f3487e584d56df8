/** Octokit's ways to sign in, for the credentials of the server. */
import { createAppAuth } from '@octokit/auth-app';
import type { GitHubCredentials } from './github-credentials.ts';

/** Octokit's options for signing in. */
export function signInOptions(credentials: GitHubCredentials): { authStrategy: unknown; auth: unknown } {
  if (credentials.kind === 'token') return { authStrategy: createCurrentTokenAuth, auth: { credentials } };
  const { appId, privateKey, installationId } = credentials;
  return { authStrategy: createAppAuth, auth: { appId, privateKey, installationId } };
}

type TokenCredentials = Extract<GitHubCredentials, { kind: 'token' }>;
interface Endpoint {
  readonly headers: Record<string, unknown>;
}
/** The part of Octokit's request function that a way to sign in uses. */
interface SentRequest {
  (endpoint: Endpoint): Promise<unknown>;
  readonly endpoint: { merge(route: unknown, parameters: unknown): Endpoint };
}

/** Octokit's own strategy keeps the first token for ever. */
function createCurrentTokenAuth({ credentials }: { readonly credentials: TokenCredentials }): object {
  const auth = async (): Promise<object> => ({ type: 'token', token: await credentials.token() });
  const hook = async (request: SentRequest, route: unknown, parameters: unknown): Promise<unknown> => {
    const endpoint = request.endpoint.merge(route, parameters);
    endpoint.headers['authorization'] = `Bearer ${await credentials.token()}`;
    return request(endpoint);
  };
  return Object.assign(auth, { hook });
}
