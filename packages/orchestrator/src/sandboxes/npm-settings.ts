/**
 * Reads the parts of the host's npm settings that an install step in a sandbox needs: registries and trusted
 * certificates.
 */
import { readFile } from 'node:fs/promises';
import { getCACertificates } from 'node:tls';
import { runProgram } from '../processes/program.ts';

export interface NpmSettings {
  /** Lines of an npmrc without any credentials; `cafile` is not among them. */
  readonly npmrc: string;
  /** PEM certificates to trust in place of npm's own; `null` when the host sets none. */
  readonly certificates: string | null;
  /** Where packages come from, as entries of an allow-list: `host`, or `host:port` where that is not the usual one. */
  readonly registries: readonly string[];
}

/**
 * Variables that keep packages' install scripts from running. A project's own settings (`ignore-scripts=false` in its .npmrc)
 * win against a file in HOME, and lose against the environment.
 */
export const SCRIPTS_OFF: Readonly<Record<string, string>> = {
  npm_config_ignore_scripts: 'true',
  // pnpm 11 and later.
  pnpm_config_ignore_scripts: 'true',
  // yarn 1.
  YARN_IGNORE_SCRIPTS: 'true',
  // yarn 2 and later.
  YARN_ENABLE_SCRIPTS: 'false',
};

/** The host's settings, read through npm itself; those of npm's defaults where npm is missing. */
export async function readNpmSettings(): Promise<NpmSettings> {
  const settings = await readHostSettings();
  return {
    npmrc: renderNpmrc(settings),
    certificates: await readCertificates(settings),
    registries: registriesOf(settings),
  };
}

/**
 * The npmrc of a sandbox. Install scripts are off here too (see `SCRIPTS_OFF`). Only addresses are passed on, never `_auth`, `_authToken`, passwords or client keys;
 * npm itself already keeps back an address that holds a password.
 */
export function renderNpmrc(settings: Readonly<Record<string, unknown>>): string {
  const lines = ['ignore-scripts=true', 'audit=false', 'fund=false', 'update-notifier=false'];
  for (const [key, value] of Object.entries(settings)) {
    if (typeof value !== 'string') continue;
    const isAddress = key === 'registry' || key === 'proxy' || key === 'https-proxy' || /^@[\w.-]+:registry$/.test(key);
    const safe = isAddress ? withoutCredentials(value) : null;
    if (safe !== null) lines.push(`${key}=${safe}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Hosts of all registries that the settings name; npm's own default is among them, since npm says it too. */
export function registriesOf(settings: Readonly<Record<string, unknown>>): string[] {
  const hosts = Object.entries(settings).flatMap(([key, value]) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return [];
    return key === 'registry' || /^@[\w.-]+:registry$/.test(key) ? [new URL(value).host] : [];
  });
  return [...new Set(hosts)];
}

async function readHostSettings(): Promise<Readonly<Record<string, unknown>>> {
  try {
    // In `/`, so that no project's own npmrc is taken for the host's.
    const options = { cwd: '/', env: process.env, timeoutMs: 20_000 };
    const { stdout } = await runProgram('npm', ['config', 'list', '--json'], options);
    return JSON.parse(stdout) as Record<string, unknown>;
  } catch {
    return {};
  }
}

async function readCertificates(settings: Readonly<Record<string, unknown>>): Promise<string | null> {
  const texts: string[] = [];
  if (typeof settings['cafile'] === 'string') texts.push(await readFile(settings['cafile'], 'utf8').catch(() => ''));
  for (const ca of [settings['ca']].flat()) if (typeof ca === 'string') texts.push(ca);
  // npm takes `cafile` in place of its own list, so additions to Node's list are passed as the whole list.
  if (texts.length === 0 && process.env['NODE_EXTRA_CA_CERTS']) texts.push(...getCACertificates('default'));
  const certificates = texts.flatMap(
    (text) => text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [],
  );
  return certificates.length === 0 ? null : `${certificates.join('\n')}\n`;
}

function withoutCredentials(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}
