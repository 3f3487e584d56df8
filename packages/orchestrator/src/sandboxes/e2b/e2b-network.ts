/**
 * Translates a sandbox's network rules for E2B. Its firewall reads names in TLS (port 443) and in HTTP requests (port
 * 80), and allows an address on every port. Of an allow-list it can therefore enforce only names without a port.
 * Source: https://e2b.dev/docs/sandbox/internet-access
 */
import { isIP } from 'node:net';
import { NeedsHuman } from '@autonomous/shared';
import type { SandboxOpts } from 'e2b';
import { parseEgressEntry } from '../../network/egress-rules.ts';
import type { SandboxSpec } from '../sandbox.ts';

export interface E2bNetwork {
  /** Tells machines apart that reach different hosts: one is not taken up for the work of another. */
  readonly mark: string;
  /** Whether anything beyond the machine can be reached. */
  readonly reachesOut: boolean;
  readonly options: Pick<SandboxOpts, 'allowInternetAccess' | 'network'>;
}

const EVERY_ADDRESS = '0.0.0.0/0';

/** @throws {NeedsHuman} `sandbox_unavailable` naming the entries that E2B cannot keep to, and the way out */
export function e2bNetwork(network: SandboxSpec['network']): E2bNetwork {
  if (network === 'open') return { mark: 'open', reachesOut: true, options: { allowInternetAccess: true } };
  if (network === 'none' || network.allow.length === 0) {
    return { mark: 'none', reachesOut: false, options: { allowInternetAccess: false } };
  }
  const beyond = network.allow.filter((entry) => !isPlainName(entry));
  if (beyond.length > 0) {
    throw new NeedsHuman(
      'sandbox_unavailable',
      `E2B allows host names on the ports 443 and 80 only, so it cannot apply ${beyond.join(', ')} of EGRESS_ALLOW. Remove ${beyond.length === 1 ? 'that entry' : 'those entries'}, or set SANDBOX_PROVIDER=bubblewrap`,
    );
  }
  const names = [...new Set(network.allow)].toSorted();
  return {
    mark: names.join(','),
    reachesOut: true,
    options: { network: { allowOut: names, denyOut: [EVERY_ADDRESS] } },
  };
}

function isPlainName(entry: string): boolean {
  const parsed = parseEgressEntry(entry);
  return parsed !== null && !parsed.internal && parsed.host === entry && isIP(entry) === 0;
}
