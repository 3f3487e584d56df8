/**
 * Recognises the protocol that a client speaks in a tunnel, from its first bytes. Pure.
 *
 * A server may have many names and uses the one that the client sends: in the Host header of plain HTTP, in the server
 * name (SNI) of TLS. Each must be the host of the tunnel.
 */
import { METHODS } from 'node:http';
import { printable } from '../../network/egress-rules.ts';

export type TunnelStart =
  /** More bytes have to come; none may be passed on before. */
  | { readonly kind: 'undecided' }
  /** To be read request by request. */
  | { readonly kind: 'http' }
  /** To be passed on as it is: TLS for this host, or what no server takes for HTTP. */
  | { readonly kind: 'bytes' }
  | { readonly kind: 'refused'; readonly reason: 'fronting' | 'malformed'; readonly message: string };

/** Longer than any ClientHello and any line of a request that a server takes. */
const LONGEST_START = 64 * 1024;
/** Records of TLS (RFC 8446, 5.1): a change of the cipher, an alert, a handshake, data. */
const TLS_RECORDS = new Set([20, 21, 22, 23]);
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;

const UNDECIDED: TunnelStart = { kind: 'undecided' };
const BYTES: TunnelStart = { kind: 'bytes' };

/** @param host of the tunnel: a name in lower case or an address, as the allow-list has it */
export function readTunnelStart(bytes: Buffer, host: string): TunnelStart {
  const start = isTls(bytes) ? readTls(bytes, host) : readText(bytes.toString('latin1'));
  if (start.kind !== 'undecided' || bytes.length <= LONGEST_START) return start;
  return malformed(`the first ${LONGEST_START} bytes do not tell what is spoken`);
}

/** `token SP … HTTP/` makes a request of any method; servers skip empty lines before it. SSH and SMTP say no HTTP. */
function readText(text: string): TunnelStart {
  const line = text.trimStart();
  if (line === '') return UNDECIDED;
  const [, token, next] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)([^]?)/.exec(line) ?? [];
  if (token === undefined || next === undefined) return BYTES;
  if (next === '') return UNDECIDED;
  if (!/[ \t\v\f]/.test(next)) return BYTES;
  // HTTP/2 without TLS begins with PRI; the parser refuses it, so that no Host goes unseen.
  if (token === 'PRI' || METHODS.includes(token.toUpperCase())) return { kind: 'http' };
  const end = line.indexOf('\n');
  if (/http\//i.test(end === -1 ? line : line.slice(0, end))) return { kind: 'http' };
  return end === -1 ? UNDECIDED : BYTES;
}

function isTls(bytes: Buffer): boolean {
  return TLS_RECORDS.has(bytes[0] ?? 0) && (bytes.length === 1 || bytes[1] === 3);
}

function readTls(bytes: Buffer, host: string): TunnelStart {
  const hello = clientHello(bytes);
  if (hello === null) return UNDECIDED;
  try {
    const other = serverNames(hello).find((name) => name.toLowerCase() !== host);
    if (other === undefined) return BYTES;
    const message = `TLS for ${printable(other)} was asked for in a tunnel to ${host}`;
    return { kind: 'refused', reason: 'fronting', message };
  } catch {
    return malformed('a TLS handshake could not be read');
  }
}

/** The first message of a handshake, which may be spread over records; `null` while some of it is missing. */
function clientHello(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length;) {
    // Nothing else comes before the whole message: what cannot be read is refused.
    if (bytes[at] !== HANDSHAKE) return Buffer.alloc(0);
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    parts.push(bytes.subarray(at + 5, end));
    at = end;
  }
  const message = Buffer.concat(parts);
  if (message.length < 4 || message.length < 4 + message.readUIntBE(1, 3)) return null;
  return message.subarray(0, 4 + message.readUIntBE(1, 3));
}

/**
 * Of a ClientHello (RFC 8446, 4.1.2, and RFC 6066, 3).
 * @throws {RangeError} where it is cut short or is something else
 */
function serverNames(hello: Buffer): string[] {
  if (hello.readUInt8(0) !== CLIENT_HELLO) throw new RangeError('no ClientHello');
  // Type, length, version, random; then session, cipher suites and compressions, each behind its length.
  let at = 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  const names: string[] = [];
  if (at === hello.length) return names;
  at += 2;
  while (at < hello.length) {
    const type = hello.readUInt16BE(at);
    const end = at + 4 + hello.readUInt16BE(at + 2);
    if (end > hello.length) throw new RangeError('an extension is cut short');
    if (type === SERVER_NAME) {
      for (let name = at + 6; name < end; name += 3 + hello.readUInt16BE(name + 1)) {
        names.push(hello.toString('latin1', name + 3, name + 3 + hello.readUInt16BE(name + 1)));
      }
    }
    at = end;
  }
  return names;
}

function malformed(message: string): TunnelStart {
  return { kind: 'refused', reason: 'malformed', message };
}
