/** A path as file systems that fold names may read it: without case, compatibility forms, ignorable characters, dots at the end. Pure. */
export function folded(path: string): string {
  // Nearly all paths are of plain characters.
  const plain = /^[\0-\x7f]*$/.test(path)
    ? path
    : path.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  return plain
    .toLowerCase()
    .split('/')
    .map((part) => (/^\.+$/.test(part) ? part : trimmedEnd(part)))
    .join('/');
}

function trimmedEnd(part: string): string {
  let end = part.length;
  while (end > 0 && (part[end - 1] === '.' || part[end - 1] === ' ')) end--;
  return part.slice(0, end);
}
