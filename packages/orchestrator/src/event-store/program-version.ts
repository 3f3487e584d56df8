/** The version of this program, as its manifest says, and its place among others. */
import { readFileSync } from 'node:fs';

/** Three numbers, such as `0.1.0`. */
export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return version;
}

/** Compares two versions by their numbers. A text that is not a version is never the later one. */
export function isLaterVersion(version: string, than: string): boolean {
  const [own, other] = [version, than].map((each) => each.split('.').map(Number));
  const at = own?.findIndex((number, index) => number !== other?.[index]) ?? -1;
  return (own?.[at] ?? 0) > (other?.[at] ?? 0);
}
