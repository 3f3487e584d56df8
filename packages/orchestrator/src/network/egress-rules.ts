/**
 * Rules of egress: the form of an allow-list, and the decision about a host, a port and an address. Pure.
 *
 * A name matches exactly, byte for byte: no suffix, no wildcard, no other spelling. Addresses inside the operator's
 * network are refused whatever name resolves to them, unless the entry itself is marked `internal:`.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

export interface EgressEntry {
  /** A name in lower case, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  readonly ports: readonly number[];
  /** May lead to private, loopback and link-local addresses. Only the operator's own configuration says so. */
  readonly internal: boolean;
}

export type EgressAnswer =
  | { readonly ok: true; readonly entry: EgressEntry }
  | { readonly ok: false; readonly reason: 'host' | 'port'; readonly message: string };

/** Ports that an entry without a port allows. */
const DEFAULT_PORTS: readonly number[] = [443, 80];
const INTERNAL = 'internal:';
const ENTRY = /^(?<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?<port>[1-9]\d{0,4}))?$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** For messages about an entry that cannot be read. */
export const EGRESS_ENTRY_FORM =
  'host or host:port in lower case, an IPv6 address in brackets; with internal: before it if it is in a private network';

/** @returns `null` for what is no entry */
export function parseEgressEntry(text: string): EgressEntry | null {
  const internal = text.startsWith(INTERNAL);
  const found = ENTRY.exec(internal ? text.slice(INTERNAL.length) : text)?.groups;
  const host = found?.['host']?.replace(/^\[(.*)\]$/, '$1');
  if (host === undefined || !isHost(host)) return null;
  const port = found?.['port'] === undefined ? null : Number(found['port']);
  if (port !== null && port > 65_535) return null;
  return { host, ports: port === null ? DEFAULT_PORTS : [port], internal };
}

/**
 * @param host as it was asked for: it is compared as it is and never brought into another form
 */
export function checkTarget(entries: readonly EgressEntry[], host: string, port: number): EgressAnswer {
  const named = entries.filter((entry) => entry.host === host);
  const entry = named.find(({ ports }) => ports.includes(port));
  if (entry !== undefined) return { ok: true, entry };
  if (named.length === 0) {
    return { ok: false, reason: 'host', message: `${printable(host)} is not on the allow-list of this sandbox` };
  }
  const allowed = named.flatMap(({ ports }) => ports).join(', ');
  return { ok: false, reason: 'port', message: `port ${port} of ${host} is not allowed; allowed are ${allowed}` };
}

/** Without the mark and with its port said: what two ways of writing the same entry have in common. */
export function targetsOf(entry: string): readonly string[] {
  const parsed = parseEgressEntry(entry);
  return parsed === null ? [] : parsed.ports.map((port) => `${parsed.host} ${port}`);
}

/**
 * Is this an address that every network knows as the same one? Everything else is refused: private, loopback, link-local,
 * carrier-grade NAT, metadata services, benchmarks, multicast, and IPv6 forms that carry an IPv4 address.
 * Ranges: the registries of special-purpose addresses of IANA, without those of IPv4 for documentation: nobody's machines have
 * them, and networks that intercept names answer with them.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL_V4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  return GLOBAL_V6.check(address, 'ipv6') && !SPECIAL_V6.check(address, 'ipv6');
}

/** Is this an address of the link alone, such as that of a cloud's metadata service? No server that a person means has one. */
export function isLinkLocalAddress(address: string): boolean {
  if (isIPv4(address)) return LINK_LOCAL.check(address, 'ipv4');
  return isIPv6(address) && LINK_LOCAL.check(address, 'ipv6');
}

/** Text of a stranger for one line of a log: no control characters, not longer than a name may be. */
export function printable(text: string): string {
  const safe = text.replace(/[^\x21-\x7e]/g, '?');
  return safe.length > 253 ? `${safe.slice(0, 253)}…` : safe;
}

function isHost(host: string): boolean {
  if (isIPv4(host) || isIPv6(host)) return true;
  const labels = host.split('.');
  // A last label of digits is an address in one of its other spellings (0x7f000001, 2130706433, 127.1).
  const last = labels.at(-1) ?? '';
  return host.length <= 253 && labels.every((label) => LABEL.test(label)) && !/^(?:\d+|0x[0-9a-f]*)$/.test(last);
}

const SPECIAL_V4 = blockList('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // The wire server of a cloud, which has a public address of its own.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

/** All that is routed at all: mapped, translated (NAT64), unique local, link-local and multicast addresses lie outside. */
const GLOBAL_V6 = blockList('ipv6', ['2000::/3']);
const SPECIAL_V6 = blockList('ipv6', [
  // Protocol assignments, Teredo among them.
  '2001::/23',
  '2001:db8::/32',
  // 6to4
  '2002::/16',
  '3fff::/20',
]);

/** IPv6 forms of the IPv4 addresses are among them. */
const LINK_LOCAL = blockList('ipv4', ['169.254.0.0/16', '168.63.129.16/32']);
LINK_LOCAL.addSubnet('fe80::', 10, 'ipv6');
// The metadata service of a cloud over IPv6.
LINK_LOCAL.addAddress('fd00:ec2::254', 'ipv6');

function blockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix = ''] = range.split('/');
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}
