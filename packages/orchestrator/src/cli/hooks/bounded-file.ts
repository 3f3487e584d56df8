/** Reads regular files, or as much of them as is wanted, and waits for no pipe without a writer. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

export type FileText =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly fault: string };
type Unread = Exclude<FileText, { readonly kind: 'read' }>;
type FileHandle = Awaited<ReturnType<typeof open>>;

const NEWLINE = 10;

/** The whole file, as UTF-8. */
export async function readBounded(file: string, maxBytes: number): Promise<FileText> {
  return withFile<FileText>(file, async (handle, size) =>
    size > maxBytes
      ? { kind: 'unreadable', fault: `${file} has more than ${maxBytes / 1_000_000} MB` }
      : { kind: 'read', text: await handle.readFile('utf8') },
  );
}

/** The end of the file, as UTF-8; its first character may be cut. */
export async function readTail(file: string, maxBytes: number): Promise<FileText> {
  return withFile<FileText>(file, async (handle, size) => {
    const position = Math.max(0, size - maxBytes);
    const buffer = Buffer.alloc(size - position);
    const { bytesRead } = await handle.read(buffer, { position });
    return { kind: 'read', text: buffer.subarray(0, bytesRead).toString('utf8') };
  });
}

export interface LastLines {
  readonly kind: 'read';
  /** Without their newlines. */
  readonly lines: readonly string[];
  /** Whether there are lines before them. */
  readonly isCut: boolean;
}

/** The last whole lines of the file, as UTF-8. A symbolic link in its place is not followed. */
export async function readLastLines(file: string, maxBytes: number): Promise<LastLines | Unread> {
  const read = async (handle: FileHandle, size: number): Promise<LastLines> => {
    // The byte before them tells whether the first line is whole.
    const position = Math.max(0, size - maxBytes - 1);
    const buffer = Buffer.alloc(size - position);
    const { bytesRead } = await handle.read(buffer, { position });
    const bytes = buffer.subarray(0, bytesRead);
    const start = position === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
    if (position > 0 && start === 0) return { kind: 'read', lines: [], isCut: true };
    const lines = bytes.subarray(start).toString('utf8').split('\n');
    if (lines.at(-1) === '') lines.pop();
    return { kind: 'read', lines, isCut: position > 0 };
  };
  return withFile(file, read, constants.O_NOFOLLOW);
}

async function withFile<Read>(
  file: string,
  read: (handle: FileHandle, size: number) => Promise<Read>,
  flags = 0,
): Promise<Read | Unread> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | flags);
    try {
      const found = await handle.stat();
      return found.isFile() ? await read(handle, found.size) : { kind: 'unreadable', fault: `${file} is no file` };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // file systems throw no other error
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    if (code === 'ELOOP') return { kind: 'unreadable', fault: `${file} is a symbolic link` };
    return { kind: 'unreadable', fault: `${file} cannot be read (${code ?? String(error)})` };
  }
}
