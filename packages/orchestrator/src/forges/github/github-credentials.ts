/** How the server signs in at GitHub: a personal token that may be replaced at any time, or the installation of an App. */
import { readFile } from 'node:fs/promises';
import { NeedsHuman } from '@autonomous/shared';

export type GitHubCredentials =
  | {
      readonly kind: 'token';
      /** Environment variable that the token comes from, for messages. */
      readonly variable: string;
      /** Asked before each request, so that a new token is used at once. */
      readonly token: () => string | Promise<string>;
    }
  | {
      readonly kind: 'app';
      readonly appId: number;
      /** PEM. */
      readonly privateKey: string;
      readonly installationId: number;
    };

/**
 * Token in a file, which is read at each use.
 * @param learn called with each token before it is used, so that it appears in no message
 */
export function tokenInFile(file: string, variable: string, learn: (token: string) => void): GitHubCredentials {
  const token = async (): Promise<string> => {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
      throw new NeedsHuman(
        'auth_expired',
        `The file ${file}, which ${variable} names, cannot be read (${why}). Write a token to it.`,
        { cause },
      );
    });
    const found = text.trim();
    if (!/^[\x21-\x7e]+$/.test(found))
      throw new NeedsHuman(
        'auth_expired',
        `The file ${file}, which ${variable} names, holds no token in one line. Write one to it.`,
      );
    learn(found);
    return found;
  };
  return { kind: 'token', variable, token };
}

/** As messages name them, to be read after "refuses" or "needs". */
export function nameOfCredentials(credentials: GitHubCredentials): string {
  return credentials.kind === 'app' ? `the GitHub App ${credentials.appId}` : `the token of ${credentials.variable}`;
}

/** The way out where they are refused; a whole sentence. */
export function renewalOf(credentials: GitHubCredentials): string {
  if (credentials.kind === 'app')
    return 'Check GITHUB_APP_ID, GITHUB_APP_INSTALLATION_ID and the private key, and that the App is installed and not suspended.';
  return credentials.variable.endsWith('_FILE')
    ? `Write a valid token to the file that ${credentials.variable} names; no restart is needed.`
    : `Set a valid ${credentials.variable} and restart the server.`;
}
