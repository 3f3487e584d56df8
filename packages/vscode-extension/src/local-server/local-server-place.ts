/** Finds the address of a server on this machine and an Autonomous checkout, in the same way as the command line. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The address of the server of this machine, by the variables that the command line reads. */
export function localServerUrl(env: Environment): string {
  const port = env['ORCHESTRATOR_PORT']?.trim();
  return `http://127.0.0.1:${port !== undefined && /^[1-9]\d{0,4}$/.test(port) ? port : '3001'}`;
}

/** The data folder of the server of this machine, which holds the token file. */
export function localDataFolder(env: Environment, home: string = homedir()): string {
  const named = env['AUTONOMOUS_DATA']?.trim();
  if (named) return resolve(named.startsWith('~/') ? join(home, named.slice(2)) : named);
  const dataHome = env['XDG_DATA_HOME'];
  const base = dataHome !== undefined && isAbsolute(dataHome) ? dataHome : join(home, '.local', 'share');
  return join(base, 'autonomous');
}

/** The token of the server of this machine; `null` before its first start. */
export async function readLocalToken(env: Environment, home?: string): Promise<string | null> {
  const given = env['AUTONOMOUS_TOKEN']?.trim();
  if (given) return given;
  try {
    return (await readFile(join(localDataFolder(env, home), 'token'), 'utf8')).trim() || null;
  } catch {
    // Not there yet, or another person's: both are the same as no token.
    return null;
  }
}

/** Does this address stay on this machine? Only then is the local token shown to it. */
export function isLoopback(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(parsed.hostname);
}

/** An address as a person types it; `null` when it is none, holds credentials or is not HTTP. */
export function serverAddress(text: string): string | null {
  const trimmed = text.trim();
  const url = URL.parse(/^[a-z][a-z+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null;
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`;
}

/** The first of these folders that is an Autonomous checkout. */
export async function findCheckout(folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) if (await isCheckout(folder)) return folder;
  return null;
}

async function isCheckout(folder: string): Promise<boolean> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    if ((manifest as { name?: unknown } | null)?.name !== 'autonomous-workspace') return false;
    await readFile(join(folder, 'tools', 'run.mjs'));
    return true;
  } catch {
    return false;
  }
}
