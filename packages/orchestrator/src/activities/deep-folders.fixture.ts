/** Folders as a command in a sandbox can make them: with longer paths than anybody can name. */
import { execFileSync } from 'node:child_process';

/** Nests folders below `folder`, deeper than a path may be long; the deepest one is read-only and not empty. */
export function nestDeeply(folder: string): void {
  const script = `
    name=$(printf '%0250d' 0)
    for depth in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
      mkdir "$name" && cd "$name" || exit
    done
    touch file && chmod 0555 .`;
  execFileSync('bash', ['-c', script], { cwd: folder });
}

/** Names of folders, one in the other, with which the path of `base` becomes `length` long. */
export function longNames(base: string, length: number): string[] {
  const names: string[] = [];
  for (let left = length - base.length; left > 1; left -= 201) names.push('d'.repeat(Math.min(200, left - 1)));
  return names;
}
