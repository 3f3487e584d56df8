/**
 * Decides where a submodule is fetched from. Its address comes with the project and may be hostile: on this machine, only the
 * project's own repository and the clones of submodules in it are read; elsewhere, the public network and the project's own host.
 */
import { stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { InvalidRequest } from '@autonomous/shared';
import { isPrivateHost, parseRemoteAddress, type RemoteAddress, withoutCredentials } from '../remote-url.ts';
import { pathFault } from '../repository-paths.ts';

/** Why a submodule is left out. */
export class Unusable extends Error {}

/** An entry of `.gitmodules`. */
export interface Configured {
  readonly name: string;
  readonly url: string;
}

/**
 * Address of a submodule.
 * @param configured its entry in `.gitmodules`; `undefined` where it has none
 * @param outer of the repository that holds it
 * @throws {Unusable}
 */
export async function submoduleAddress(
  configured: Configured | undefined,
  outer: RemoteAddress,
): Promise<RemoteAddress> {
  if (configured === undefined) throw new Unusable('.gitmodules does not name its address');
  const { name, url } = configured;
  if (outer.kind === 'local') {
    // A person's own clone has it already.
    for (const own of [join(outer.path, '.git', 'modules', name), join(outer.path, 'modules', name)]) {
      const isThere = pathFault(name) === null && (await stat(join(own, 'HEAD')).catch(() => null))?.isFile() === true;
      if (isThere) return parseRemoteAddress(own);
    }
  }
  const isRelative = /^\.\.?\//.test(url);
  const address = parsed(isRelative ? resolved(url, outer) : url);
  const fault = isRelative ? null : faultOf(address, outer);
  if (fault !== null) throw new Unusable(`its address ${withoutCredentials(url).slice(0, 200)} is not used: ${fault}`);
  return address;
}

function parsed(url: string): RemoteAddress {
  try {
    return parseRemoteAddress(url);
  } catch (cause) {
    if (!(cause instanceof InvalidRequest)) throw cause;
    throw new Unusable(`its address is not used: ${cause.message}`, { cause });
  }
}

/** A path relative to the outer repository, which may not leave the host, nor on this machine the repository itself. */
function resolved(url: string, outer: RemoteAddress): string {
  if (outer.kind === 'local') {
    if (posix.join(outer.path, url, '.') === outer.path) return outer.path;
    throw new Unusable(
      `its address ${url.slice(0, 200)} is not used: it leads out of the project's own repository on this machine; run git submodule update --init there, and its clone in .git/modules is used`,
    );
  }
  const start = /^(?:[a-z]+:\/\/[^/]+|[^/:]+:)/i.exec(outer.url)?.[0] ?? '';
  const path = outer.url.slice(start.length);
  const wanted = posix.join('/', path, url);
  const ups = posix
    .normalize(url)
    .split('/')
    .filter((part) => part === '..').length;
  const depth = path.split('/').filter((part) => part !== '').length;
  if (ups > depth)
    throw new Unusable(`its address ${url.slice(0, 200)} is not used: it leads out of where the project lies`);
  return `${start}${path.startsWith('/') ? wanted : wanted.slice(1)}`;
}

/** Why an absolute address is not used. */
function faultOf(address: RemoteAddress, outer: RemoteAddress): string | null {
  if (address.kind === 'local') return 'a submodule is not read from a folder of this machine';
  if (address.kind === 'ssh') {
    const isSameHost = outer.kind === 'ssh' && sshHost(outer.url) === sshHost(address.url);
    return isSameHost ? null : "over ssh only the project's own host is used";
  }
  const isSameHost = outer.kind === 'http' && outer.origin === address.origin;
  const isAllowed = isSameHost || (address.secure && !isPrivateHost(address.host));
  return isAllowed ? null : 'only https, and no host of a private network';
}

function sshHost(url: string): string {
  return /^(?:ssh:\/\/)?([^/:]+(?::\d+(?=\/))?)/.exec(url)?.[1] ?? url;
}
