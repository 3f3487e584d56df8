/** Addresses of servers. The names of loopback, such as `localhost` and `127.0.0.1`, are one address. */

/** Does this address stay on this machine? */
export function isLoopback(address: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(URL.parse(address)?.hostname ?? '');
}

/** @throws {TypeError} for a text that is no address */
export function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [new URL(one), new URL(other)];
  if (first.protocol !== second.protocol) return false;
  return first.host === second.host || (first.port === second.port && isLoopback(one) && isLoopback(other));
}
