/** Short names for files and branches, made from titles. Pure. */

const MAX_SLUG = 40;

const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** Short ASCII name for files and branches: `[a-z0-9]` and single hyphens, at most 40 characters, `untitled` where nothing is left. */
export function slugOf(title: string): string {
  const ascii = title
    .slice(0, 1_000)
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter] ?? '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');
  if (ascii.length <= MAX_SLUG) return ascii.replace(/-$/, '') || 'untitled';
  // Whole words where there are several; the first one is cut where it is too long by itself.
  const cut = ascii.slice(0, MAX_SLUG + 1);
  const lastHyphen = cut.lastIndexOf('-');
  return lastHyphen > 0 ? cut.slice(0, lastHyphen) : cut.slice(0, MAX_SLUG);
}
