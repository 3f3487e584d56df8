/** Validates the address of a project's remote, and decides which remotes get the token. */
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidRequest } from '@autonomous/shared';

export type RemoteAddress =
  /** A repository on this machine: bare, or a person's own project folder. */
  | { readonly kind: 'local'; readonly path: string; readonly url: string }
  /** `origin` has the scheme, host and port, such as `https://github.com`. */
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly origin: string;
      readonly host: string;
      readonly secure: boolean;
    }
  | { readonly kind: 'ssh'; readonly url: string };

const EXPECTED = 'give an absolute path, https://host/owner/name, ssh://git@host/owner/name or git@host:owner/name';
const HOST = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?';
// oxlint-disable-next-line autonomous/linear-expressions -- anchored; each part ends where a character stands that the one before it does not take
const SCP_LIKE = new RegExp(`^[A-Za-z0-9_][A-Za-z0-9._-]*@${HOST}:[A-Za-z0-9_./~][^\\s:]*$`);
// oxlint-disable-next-line autonomous/linear-expressions -- anchored; each part ends where a character stands that the one before it does not take
const SSH_URL = new RegExp(`^ssh://(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?${HOST}(?::\\d{1,5})?/[A-Za-z0-9_./~][^\\s]*$`);

/**
 * Reads the address of a project's remote.
 * @throws {InvalidRequest} for anything but a local path and the schemes file, http, https and ssh, and for credentials inside
 */
export function parseRemoteAddress(repository: string): RemoteAddress {
  if (repository.length === 0 || repository.length > 2_000 || /[\u0000-\u001f\u007f]/.test(repository)) {
    throw new InvalidRequest(`The repository's address is empty, too long or contains control characters; ${EXPECTED}`);
  }
  if (repository.startsWith('/')) return local(repository);
  if (/^file:/i.test(repository)) return local(pathOfFileUrl(repository));
  if (/^https?:/i.test(repository)) return http(repository);
  if (SSH_URL.test(repository) || (SCP_LIKE.test(repository) && !repository.includes('://')))
    return { kind: 'ssh', url: repository };
  throw new InvalidRequest(
    `'${withoutCredentials(repository)}' is not an allowed address of a git repository; ${EXPECTED}`,
  );
}

/** Removes what stands between `://` and `@` from any text, so that it can be shown. */
export function withoutCredentials(text: string): string {
  return text.replace(/(:\/\/)[^/@\s]*@/g, '$1');
}

function local(path: string): RemoteAddress {
  if (path.split('/').includes('..'))
    throw new InvalidRequest(`The repository's path '${path}' contains ..; give the plain absolute path`);
  const normal = posix.normalize(path).replace(/([^/])\/+$/, '$1');
  return { kind: 'local', path: normal, url: normal };
}

function pathOfFileUrl(repository: string): string {
  try {
    const url = new URL(repository);
    if (!/^file:\/\/\//i.test(repository) || url.host !== '' || url.search !== '' || url.hash !== '')
      throw new Error('not a local file');
    return fileURLToPath(url);
  } catch (cause) {
    throw new InvalidRequest(
      `'${withoutCredentials(repository)}' is not a local repository; file:// needs an absolute path on this machine`,
      { cause },
    );
  }
}

function http(repository: string): RemoteAddress {
  const url = URL.parse(repository);
  // Written out so that `https:///host/x` and `https:host`, which the URL parser mends, do not pass.
  if (
    url === null ||
    !/^https?:\/\/[^/]/i.test(repository) ||
    url.hostname === '' ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    throw new InvalidRequest(`'${withoutCredentials(repository)}' is not an address of a git repository; ${EXPECTED}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidRequest(
      `The address of ${url.host} contains a user name or password. Remove it and set GITHUB_TOKEN: addresses are stored and shown`,
    );
  }
  return { kind: 'http', url: url.href, origin: url.origin, host: url.host, secure: url.protocol === 'https:' };
}

/**
 * Whether the server's token goes to this remote: the configured host alone, and unencrypted only where nothing leaves the machine.
 * @param tokenHost host, with its port where that is not the scheme's own
 */
export function takesToken(
  address: RemoteAddress,
  tokenHost: string,
): address is Extract<RemoteAddress, { kind: 'http' }> {
  if (address.kind !== 'http' || address.host.toLowerCase() !== tokenHost.toLowerCase()) return false;
  return address.secure || /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/.test(address.host);
}

/** Whether a host's name says that it is no host of the public network: an address, a name without a dot, or of a private domain. */
export function isPrivateHost(host: string): boolean {
  // A dot at the end says only that the name is complete.
  const name = host.replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase();
  return (
    name.startsWith('[') || /^[\d.]+$/.test(name) || !name.includes('.') || /\.(?:local|internal|localhost)$/.test(name)
  );
}
