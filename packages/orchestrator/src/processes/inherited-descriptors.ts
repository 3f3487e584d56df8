/** File descriptors that this process has from whoever started it: a shell's lock, a folder. What it starts would have them too. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const CLOSED_AT_START = 0o2000000;

/** Closes all of them but the standard streams and the channel to the parent. Node marks its own, on Linux, as not handed on. */
export function closeInheritedDescriptors(): void {
  if (process.platform !== 'linux') return;
  // Node's types do not know that the channel has a descriptor.
  const { fd: channel } = (process.channel ?? {}) as { readonly fd?: number };
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor > 2 && descriptor !== channel && isHandedOn(descriptor)) closeSync(descriptor);
  }
}

/** Whether a started program would have it too. */
function isHandedOn(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_AT_START) === 0;
  } catch {
    // The one with which the list was read.
    return false;
  }
}
