/** Texts of a projection: cut to a length that a screen can show, and links. Pure. */

/** Characters of a text; longer ones end with `…`. */
export const LONGEST_TEXT = 500;
/** Longer addresses lead nowhere. */
const LONGEST_LINK = 4_000;

export function shortened(text: string, longest: number = LONGEST_TEXT): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1).toWellFormed()}…`;
}

/** The link of an address of the web; nothing for files of the project and everything else. */
export function leadsTo(address: string): { readonly href?: string } {
  const isOfWeb = /^https?:\/\//i.test(address) && address.length <= LONGEST_LINK && URL.canParse(address);
  return isOfWeb ? { href: address } : {};
}

/** `Researcher 2` for `agent-3-researcher-2`. */
export function agentTitle(id: string): string {
  const [, kind, number] = /^agent-\d+-([a-z]+)-(\d+)$/.exec(id) ?? [];
  return kind === undefined ? id : `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)} ${number}`;
}
