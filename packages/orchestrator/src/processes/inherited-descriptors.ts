/** Inherited file descriptors, such as the lock of the shell that started the server. Each started program would inherit them too. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const CLOSED_AT_START = 0o2000000;

/** Closes inherited file descriptors except the standard streams and the channel to the parent. Linux only: Node marks its own as close-on-exec. */
export function closeInheritedDescriptors(): void {
  if (process.platform !== 'linux') return;
  // Node's types do not know that the channel has a descriptor.
  const { fd: channel } = (process.channel ?? {}) as { readonly fd?: number };
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor > 2 && descriptor !== channel && isHandedOn(descriptor)) closeSync(descriptor);
  }
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
