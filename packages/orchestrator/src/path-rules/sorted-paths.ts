/** Look-up in sorted paths, of which there may be half a million: a set of them costs more than all that is asked of it. Pure. */
export function isAmong(sorted: readonly string[], path: string): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((sorted[middle] ?? '') < path) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === path;
}
