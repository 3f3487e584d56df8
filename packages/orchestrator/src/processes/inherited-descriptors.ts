/** Inherited file descriptors, such as the lock of the shell that started the server. Each started program would inherit them too. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const CLOSED_AT_START = 0o2000000;

/**
 * Closes inherited file descriptors except the standard streams and the channel to the parent. Linux only: Node marks its own as close-on-exec.
 * @returns why they cannot be listed, with the way out; `null`: they are closed
 */
export function closeInheritedDescriptors(): string | null {
  if (process.platform !== 'linux') return null;
  let names: readonly string[];
  try {
    names = readdirSync('/proc/self/fd');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `/proc cannot be read (${code}), which the start of programs needs; mount it: sudo mount -t proc proc /proc`;
  }
  // Node's types do not know that the channel has a descriptor.
  const { fd: channel } = (process.channel ?? {}) as { readonly fd?: number };
  for (const name of names) {
    const descriptor = Number(name);
    if (descriptor > 2 && descriptor !== channel && isHandedOn(descriptor)) closeSync(descriptor);
  }
  return null;
}

/** Whether a started program inherits the descriptor. */
function isHandedOn(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_AT_START) === 0;
  } catch {
    // The descriptor of the listing itself is closed already.
    return false;
  }
}
