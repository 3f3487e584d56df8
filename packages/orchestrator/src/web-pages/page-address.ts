/** Decides whether an address may be fetched, before anything is asked of the network. Pure. */
import { isIPv6 } from 'node:net';
import { checkTarget, type EgressEntry, parseEgressEntry, printable } from '../network/egress-rules.ts';

/** Hosts that may be fetched. */
export interface PageHosts {
  /** All hosts with public addresses, at ports 80 and 443. */
  readonly everyPublic: boolean;
  /** Further hosts and ports. An entry with `internal:` may lead to private addresses. */
  readonly entries: readonly EgressEntry[];
}

export interface PageTarget {
  readonly url: URL;
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly internal: boolean;
}

export type AddressAnswer =
  | { readonly ok: true; readonly target: PageTarget }
  | { readonly ok: false; readonly reason: 'address' | 'not_allowed'; readonly message: string };

/** Stands for all hosts with public addresses in the list of hosts. */
export const EVERY_PUBLIC_HOST = '*';
/** Addresses of the web are shorter; servers take no longer ones. */
const MAX_LENGTH = 4_000;
const DEFAULT_PORTS: ReadonlySet<number> = new Set([80, 443]);

/** @returns `null` when an entry can be read neither as `*` nor as an entry of an egress list */
export function parsePageHosts(list: readonly string[]): PageHosts | null {
  const entries = list.filter((each) => each !== EVERY_PUBLIC_HOST).map(parseEgressEntry);
  if (entries.includes(null)) return null;
  return {
    everyPublic: list.includes(EVERY_PUBLIC_HOST),
    entries: entries.filter((entry) => entry !== null),
  };
}

/**
 * Reads an address and decides about its host and port. Where the host leads is checked when it is connected to.
 * @param base address of the page that names this one, for relative addresses
 */
export function checkAddress(address: string, hosts: PageHosts, base?: URL): AddressAnswer {
  if (address.length > MAX_LENGTH) return refused(address, `is longer than ${MAX_LENGTH} characters`);
  if (!URL.canParse(address, base?.href))
    return refused(address, 'is not an address of the web. Use http:// or https://');
  const url = new URL(address, base?.href);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return refused(address, 'is not http or https');
  if (`${url.username}${url.password}` !== '')
    return refused(`${url.origin}/...`, 'was given with a user name or a password, which are not sent');
  url.hash = '';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const named = checkTarget(hosts.entries, host, port);
  if (named.ok) return { ok: true, target: { url, host, port, internal: named.entry.internal } };
  if (!hosts.everyPublic) {
    const message = `${shown(url.href)} is not fetched: ${hostAndPort(host, port)} is not in the server's list of hosts (WEB_ALLOW).`;
    return { ok: false, reason: 'not_allowed', message };
  }
  if (!DEFAULT_PORTS.has(port)) {
    const what = `has the port ${port}. Only 80 and 443 are fetched, and hosts that WEB_ALLOW names with their port`;
    return refused(url.href, what);
  }
  return { ok: true, target: { url, host, port, internal: false } };
}

/** An address of a stranger in one line of a message. */
export function shown(address: string): string {
  const safe = printable(address);
  return safe.length > 200 ? `${safe.slice(0, 200)}…` : safe;
}

function refused(address: string, what: string): AddressAnswer {
  return { ok: false, reason: 'address', message: `${shown(address)} ${what}.` };
}

function hostAndPort(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : printable(host)}:${port}`;
}
