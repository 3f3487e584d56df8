/** Reads regular files of bounded size, and waits for no pipe without a writer. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

export type FileText =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly fault: string };

/** The whole file, as UTF-8. */
export async function readBounded(file: string, maxBytes: number): Promise<FileText> {
  return withFile(file, async (handle, size) =>
    size > maxBytes
      ? { kind: 'unreadable', fault: `${file} has more than ${maxBytes / 1_000_000} MB` }
      : { kind: 'read', text: await handle.readFile('utf8') },
  );
}

/** The end of the file, as UTF-8; its first character may be cut. */
export async function readTail(file: string, maxBytes: number): Promise<FileText> {
  return withFile(file, async (handle, size) => {
    const position = Math.max(0, size - maxBytes);
    const buffer = Buffer.alloc(size - position);
    const { bytesRead } = await handle.read(buffer, { position });
    return { kind: 'read', text: buffer.subarray(0, bytesRead).toString('utf8') };
  });
}

async function withFile(
  file: string,
  read: (handle: Awaited<ReturnType<typeof open>>, size: number) => Promise<FileText>,
): Promise<FileText> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await handle.stat();
      return found.isFile() ? await read(handle, found.size) : { kind: 'unreadable', fault: `${file} is no file` };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // file systems throw no other error
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    return { kind: 'unreadable', fault: `${file} cannot be read (${code ?? String(error)})` };
  }
}
