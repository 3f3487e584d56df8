/** Damages a closed database as a bad disk does: bytes change, and SQLite does not notice. */
import { readFileSync, writeFileSync } from 'node:fs';

/** Changes each place where the text stands, by one letter. @throws when it stands nowhere, since nothing would be damaged */
export function damageText(file: string, text: string): void {
  const bytes = readFileSync(file);
  let found = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    found += 1;
  }
  if (found === 0) throw new Error(`'${text}' stands nowhere in ${file}`);
  writeFileSync(file, bytes);
}
