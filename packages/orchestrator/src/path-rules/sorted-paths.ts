/** Look-ups in sorted paths, of which there may be half a million: a set of them costs more than all that is asked of it. Pure. */

export function isAmong(sorted: readonly string[], path: string): boolean {
  return sorted[rankIn(sorted, path)] === path;
}

/** The paths that lie in a folder, at any depth; all for the root, `''`. */
export function pathsIn(sorted: readonly string[], folder: string): readonly string[] {
  if (folder === '') return sorted;
  // `0` is the character behind `/`.
  return sorted.slice(rankIn(sorted, `${folder}/`), rankIn(sorted, `${folder}0`));
}

/** How many paths come before this one. */
function rankIn(sorted: readonly string[], path: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < path) low = middle + 1;
    else high = middle;
  }
  return low;
}
