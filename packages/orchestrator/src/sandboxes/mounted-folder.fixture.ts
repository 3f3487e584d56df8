/** A folder as a process's `mountinfo` names it: from the root of its file system, which `/dev/shm` is. */
export function asMounted(folder: string): string {
  return folder.replace(/^\/dev\/shm(?=\/)/, '');
}
