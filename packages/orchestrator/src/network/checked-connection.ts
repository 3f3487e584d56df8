/**
 * Connections to hosts of the internet, by names that may lead anywhere: the name is resolved once, every address that it leads
 * to is checked, and one of the checked addresses is dialled. Asking for the name a second time could give another answer.
 */
import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { isPublicAddress, printable } from './egress-rules.ts';

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export interface ConnectionTarget {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** May lead to private, loopback and link-local addresses. */
  readonly internal: boolean;
}

export interface ConnectionOptions {
  readonly resolve: Resolve;
  /** Receives each socket before it is connected. */
  readonly onSocket: (socket: Socket) => void;
  /** Throws when nobody waits for the connection any more. */
  readonly assertAwaited: () => void;
}

/** A name leads to no public address. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';
}

const CONNECT_TIMEOUT_MS = 15_000;
const DIALLED_ADDRESSES = 4;

/**
 * @throws {PrivateAddress} when none of the host's addresses is public and the target is not internal
 * @throws {Error} when the name is unknown or no address answers
 */
export async function connectChecked(target: ConnectionTarget, options: ConnectionOptions): Promise<Socket> {
  const { host, port, internal } = target;
  const found = await options.resolve(host);
  const addresses = internal ? found : found.filter(isPublicAddress);
  if (addresses.length === 0)
    throw new PrivateAddress(`${host} leads to ${found.map(printable).join(', ')}, which is not a public address`);
  let failure: unknown;
  for (const address of addresses.slice(0, DIALLED_ADDRESSES)) {
    options.assertAwaited();
    const socket = connect({ host: address, port });
    options.onSocket(socket);
    try {
      await connected(socket);
      options.assertAwaited();
      return socket;
    } catch (error) {
      socket.destroy();
      failure = error;
    }
  }
  throw failure;
}

/** Addresses as the system's resolver gives them; an address is its own. */
export async function systemAddresses(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error('it did not answer in time')), CONNECT_TIMEOUT_MS);
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was ended'));
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
