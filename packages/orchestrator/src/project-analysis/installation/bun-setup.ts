/**
 * Bun in sandboxes: a program for `sh` that brings it where it is missing, and one that completes a Bun among a project's packages.
 *
 * Bun's npm package is a placeholder that its own install script replaces by the program. Install scripts are off, and the
 * placeholder of many versions is an empty file: as a command it ends with exit code 0 and has run nothing. The program itself is
 * in a package for each platform, which npm installs beside the placeholder.
 */

/** File in HOME that has the text of the program. */
export const BUN_SETUP_FILE = '.install-bun.sh';

/** @param version plain version; absent: the newest */
export function bunSetup(version: string | undefined): string {
  return `sh ~/${BUN_SETUP_FILE}${version === undefined ? '' : ` ${version}`}`;
}

/** The last folder of PATH is its place: a Bun of the machine comes first. It has to print its version. */
export const BUN_SETUP_PROGRAM = String.raw`
prints_version() {
  case $("$1" --version 2> /dev/null) in [0-9]*) return 0 ;; esac
  return 1
}
if command -v bun > /dev/null; then
  prints_version bun && exit 0
  echo "The bun in PATH ($(command -v bun)) prints no version:" >&2
  bun --version >&2
  echo "Install it anew, or remove it; the install step then brings Bun from npm." >&2
  exit 1
fi
placeholder=$(npx --yes --package="bun${'${1:+@$1}'}" -- sh -c 'command -v bun') || exit
placeholder=$(readlink -f "$placeholder")
packages=$(dirname "$(dirname "$(dirname "$placeholder")")")
for bun in "$placeholder" "$packages"/@oven/bun-*/bin/bun; do
  prints_version "$bun" || continue
  mkdir -p ~/.local/bin && cp "$bun" ~/.local/bin/bun && ln -sf bun ~/.local/bin/bunx || exit
  case $packages in "$(readlink -f ~)"/.npm/_npx/*/node_modules) rm -rf "$packages" ;; esac
  bun --version
  exit
done
echo "Bun ${'${1:-}'} from npm does not start on this machine; $bun says:" >&2
"$bun" --version >&2
echo "Install Bun where the sandbox finds it, or ask for another version by packageManager in package.json." >&2
exit 1
`.trimStart();

/** Replaces placeholders of Bun below the current folder by the program that was installed beside them. */
export const COMPLETE_BUN = String.raw`
find . -type f -path '*/node_modules/bun/bin/bun*.exe' -size -1024k 2> /dev/null | while IFS= read -r placeholder; do
  for bun in "$(dirname "$placeholder")"/../../@oven/bun-*/bin/bun; do
    case $("$bun" --version 2> /dev/null) in [0-9]*) ln -f "$bun" "$placeholder" && break ;; esac
  done
done
`.trim();
