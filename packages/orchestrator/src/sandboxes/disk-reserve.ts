/** Disk reserve: free space and free inodes that sandboxes leave to the server and to other runs. */
import { statfs } from 'node:fs/promises';

/** Below it a sandbox's commands are ended, nothing is brought back from other machines, and the run pauses as `storage_full`. */
export const RESERVED_DISK_BYTES = 512 * 1024 * 1024;
/** Files that must still be possible on the disk, where its file system has a fixed number of them. */
const RESERVED_FILES = 10_000;

export interface DiskRoom {
  readonly freeBytes: number;
  /** Why that is too little, with the figures; `null` when it is enough. */
  readonly shortage: string | null;
}

/**
 * @param reservedBytes 0: nothing is kept in reserve
 * @returns `null` where the folder is gone
 */
export async function readDiskRoom(folder: string, reservedBytes = RESERVED_DISK_BYTES): Promise<DiskRoom | null> {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return null;
  const freeBytes = found.bavail * found.bsize;
  if (freeBytes < reservedBytes) {
    const shortage = `only ${megabytes(freeBytes)} are free on the disk of ${folder}; ${megabytes(reservedBytes)} are kept in reserve`;
    return { freeBytes, shortage };
  }
  const isShortOfFiles = reservedBytes > 0 && found.files > 0 && found.ffree < RESERVED_FILES;
  const files = `only ${found.ffree} more files are possible on the disk of ${folder}; ${RESERVED_FILES} are kept in reserve`;
  return { freeBytes, shortage: isShortOfFiles ? files : null };
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024).toLocaleString('en-US')} MB`;
}
