/**
 * Resolves the server's address from the settings, and its token from the secret storage or else from this machine's
 * file.
 */
import * as vscode from 'vscode';
import type { ServerPlace } from '../connection.ts';
import { SETTINGS } from '../identifiers.ts';
import type { LocalServer } from './local-server.ts';
import { isLoopback, localServerUrl, readLocalToken, serverAddress } from './local-server-place.ts';

/**
 * The setting; without one, the server that was started here, then the one of this machine if it has ever been started.
 * @returns `null` where there is none of these
 * @throws {Error} when the setting is no address
 */
export async function locateServer(secrets: vscode.SecretStorage, server: LocalServer): Promise<ServerPlace | null> {
  const setting = configuredUrl();
  const started = await server.place();
  if (setting === null) {
    if (started !== null) return started;
    const token = await readLocalToken(process.env);
    return token === null ? null : { url: localServerUrl(process.env), token };
  }
  const url = serverAddress(setting);
  if (url === null)
    throw new Error(
      `The setting ${SETTINGS.serverUrl} is '${setting}'; an address such as http://127.0.0.1:3001 is needed.`,
    );
  const kept = await secrets.get(tokenKey(url));
  if (kept !== undefined) return { url, token: kept };
  if (started?.url === url) return started;
  return { url, token: isLoopback(url) ? await readLocalToken(process.env) : null };
}

/** Returns the address that the person has set; `null`: none. */
export function configuredUrl(): string | null {
  return vscode.workspace.getConfiguration().get<string>(SETTINGS.serverUrl, '').trim() || null;
}

/** @throws {Error} where other settings than the person's own come first */
export async function setAddress(url: string | undefined): Promise<void> {
  await vscode.workspace.getConfiguration().update(SETTINGS.serverUrl, url, vscode.ConfigurationTarget.Global);
  const counts = configuredUrl();
  if (counts === (url ?? null)) return;
  throw new Error(
    `The server stays ${counts ?? 'the one of this machine'}: ${SETTINGS.serverUrl} is set in the settings of this workspace or this machine as well, which come before your own. Change it there.`,
  );
}

/** Each server has its own token, so that a folder which names another server gets nobody's. */
export function tokenKey(url: string): string {
  return `autonomous.token:${new URL(url).origin}`;
}
