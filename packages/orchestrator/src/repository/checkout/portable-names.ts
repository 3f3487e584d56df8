/**
 * Names that mean something else, or another file, on another system than this one. Only new names are checked: names that
 * a project already has are its own decision.
 */
import { showHidden } from '@autonomous/shared';
import { lookAlikeFault, plainLetters } from '@autonomous/shared/presentation';
import { eachInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { onEachFolder, OWN_FOLDER, plainName } from '../repository-paths.ts';

/** Windows opens a device under these names, whatever their ending. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])$/i;
/** Names that no new name may imitate by look-alike letters. */
const RESERVED = ['.git', OWN_FOLDER];

/** Why a new name of a file or folder is refused, without the folders above it; `null` for a good one. */
export function nameFault(name: string): string | null {
  if (showHidden(name) !== name) return `the name contains a hidden character: ${showHidden(name)}`;
  const last = name.at(-1);
  if (last === '.' || last === ' ')
    return `the name ends in a ${last === '.' ? 'dot' : 'space'}, which Windows leaves out`;
  const dot = name.indexOf('.');
  if (DEVICE.test((dot === -1 ? name : name.slice(0, dot)).trimEnd())) return 'Windows opens a device under this name';
  const plain = plainName(name);
  const reserved = RESERVED.find((each) => plain !== each && plainLetters(plain) === each);
  if (reserved !== undefined) return `the name looks like ${reserved} (${lookAlikeFault(name) ?? 'by other letters'})`;
  return null;
}

/** Names of which git takes no link: it is dropped without a word, and what was judged with it would lead elsewhere. */
const NO_LINK = /^(?:\.gitmodules|gitmod~\d|g?i?7?e?b?a?~\d+)$/;

/** Why no link may lie at a path; `null` where one may. */
export function linkNameFault(path: string): string | null {
  const name = path.split('/').find((each) => NO_LINK.test(plainName(each)));
  return name === undefined ? null : `git takes no link under the name ${showHidden(name)}`;
}

/** Equal for paths that some file system takes for the same: other case, or other code points for the same letters. */
export function foldedPath(path: string): string {
  return path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}

/** A name in a folder, however it is written, with what lies below it. */
interface Folded {
  readonly below: Map<string, Folded>;
  /** The first two ways in which the path to it is written. */
  readonly spellings: string[];
}

/**
 * Paths among `added` that some file system would take for another path of `all`, and paths in such folders. Where one of
 * two spellings is known, only the other is named. Each folder is examined once, whatever its size.
 * @param all every path of the result, those of `added` included
 * @param isKnown whether a path or folder is the project's own already
 */
export async function collidingPaths(
  all: Iterable<string>,
  added: readonly string[],
  isKnown: (path: string) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const root: Folded = { below: new Map(), spellings: [] };
  const foldedOf = onEachFolder<Folded>((above, path, name) => {
    const folder = above ?? root;
    const folded = foldedPath(name);
    const known: Folded = folder.below.get(folded) ?? { below: new Map(), spellings: [] };
    folder.below.set(folded, known);
    if (known.spellings.length < 2 && known.spellings[0] !== path) known.spellings.push(path);
    return known;
  });
  await eachInSlices(all, (path) => void foldedOf(path));
  const otherOf = onEachFolder<string | null>((above, path) => {
    if (above !== null) return above;
    const other = foldedOf(path).spellings.find((each) => each !== path);
    return other === undefined || isKnown(path) ? null : other;
  });
  const colliding = new Map<string, string>();
  await eachInSlices(added, (path) => {
    const other = otherOf(path);
    if (other !== null) colliding.set(path, other);
  });
  return colliding;
}
