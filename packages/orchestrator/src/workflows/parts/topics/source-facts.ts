/** Facts that an agent read a page, or could not read it. */

export type SourceFact =
  | {
      readonly type: 'SOURCE_FETCHED';
      readonly round: number;
      readonly agent: string;
      readonly requested: string;
      readonly address: string;
      readonly at: string;
      readonly hash: string;
      readonly title: string;
      readonly author: string;
      readonly published: string;
      readonly mediaType: string;
    }
  | {
      readonly type: 'SOURCE_REFUSED';
      readonly round: number;
      readonly agent: string;
      readonly address: string;
      readonly at: string;
      readonly reason: string;
    };

/** `hash` is `null` for a page that could not be read; `refused` says why then. */
interface ReadSource {
  readonly requested: string;
  readonly address: string;
  readonly at: string;
  readonly hash: string | null;
  readonly title: string;
  readonly author: string | null;
  readonly published: string | null;
  readonly mediaType: string;
  readonly refused: string;
}

export function sourceFact(round: number, agent: string, source: ReadSource): SourceFact {
  const { requested, address, at, hash, title, author, published, mediaType, refused } = source;
  if (hash === null) return { type: 'SOURCE_REFUSED', round, agent, address: requested, at, reason: refused };
  return {
    type: 'SOURCE_FETCHED',
    round,
    agent,
    requested,
    address,
    at,
    hash,
    title,
    author: author ?? '',
    published: published ?? '',
    mediaType,
  };
}
