/** Hosts and addresses of GitHub: which host belongs to an API, and which repository an address names. */
import type { RepositoryName } from '../forge.ts';

export const GITHUB_API_URL = 'https://api.github.com';

/**
 * Host of the web pages and git addresses that belong to a REST API: `github.com` for `https://api.github.com`, the same host for
 * an Enterprise server (`https://HOST/api/v3`), and the tenant's for `https://api.TENANT.ghe.com`.
 */
export function hostOfApi(apiUrl: string): string {
  const { host } = new URL(apiUrl);
  return host === 'api.github.com' || (host.startsWith('api.') && host.endsWith('.ghe.com')) ? host.slice(4) : host;
}

/** Scheme and host under which people and git reach the repositories that belong to a REST API. */
export function webOriginOfApi(apiUrl: string): string {
  return `${new URL(apiUrl).protocol}//${hostOfApi(apiUrl)}`;
}

/** Owner and name that an address names at a host; `null` for another host, a local path, and an address of another form. */
export function repositoryAt(address: string, host: string): RepositoryName | null {
  const place = placeOf(address);
  // Ports of ssh say nothing about the web server's.
  if (place === null || place.host !== (place.isSsh ? host.replace(/:\d+$/, '') : host)) return null;
  const [owner = '', file = '', ...more] = place.path.replace(/^\//, '').replace(/\/$/, '').split('/');
  const name = file.replace(/\.git$/, '');
  return more.length === 0 && NAME.test(owner) && NAME.test(name) ? { owner, name } : null;
}

const NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/;

interface Place {
  readonly host: string;
  readonly path: string;
  readonly isSsh: boolean;
}

function placeOf(address: string): Place | null {
  if (address.length > 2_000) return null;
  const isSsh = /^ssh:\/\//i.test(address);
  if (isSsh || /^https?:\/\//i.test(address)) {
    const url = URL.parse(address);
    return url === null ? null : { host: usualHost(isSsh ? url.hostname : url.host), path: url.pathname, isSsh };
  }
  if (address.startsWith('/') || address.includes('://')) return null;
  const [, host, path] = /^[\w.-]{1,100}@([\w.-]{1,255}):([^:]{1,500})$/.exec(address) ?? [];
  return host === undefined || path === undefined ? null : { host: usualHost(host), path, isSsh: true };
}

/** `ssh.github.com` answers ssh at port 443, for networks that close port 22. */
function usualHost(host: string): string {
  return host.toLowerCase().replace(/^(?:www|ssh)\.github\.com$/, 'github.com');
}
