/** Findings that a run keeps: each new one gets an id. Pure. */

/** A finding whose passages stand, before it has an id. */
interface Sound {
  readonly agent: string;
  /** Position in the list of its agent. */
  readonly index: number;
  /** It says what this finding says: an id, or the name of another one of the round. */
  readonly sameAs?: string;
}

/** Name of a finding before it has an id. */
export const localId = ({ agent, index }: { readonly agent: string; readonly index: number }): string =>
  `${agent} ${index + 1}`;

export interface Kept<Finding extends Sound> {
  /** With ids `F1`, `F2`, … in the order in which they were kept. */
  readonly fresh: readonly { readonly id: string; readonly finding: Finding }[];
  /** Findings that say what a kept one says, by its id. */
  readonly repeated: readonly { readonly id: string; readonly finding: Finding }[];
}

/** @param before number of findings that were kept before */
export function keptOf<Finding extends Sound>(sound: readonly Finding[], before: number): Kept<Finding> {
  const ids = new Map<string, string>();
  const fresh = sound.flatMap((finding) => {
    if (finding.sameAs !== undefined) return [];
    const id = `F${before + ids.size + 1}`;
    ids.set(localId(finding), id);
    return [{ id, finding }];
  });
  // One of the round may itself say what another one says.
  const same = new Map(
    sound.flatMap((finding) => (finding.sameAs === undefined ? [] : [[localId(finding), finding.sameAs] as const])),
  );
  const repeated = sound.flatMap((finding) => {
    if (finding.sameAs === undefined) return [];
    let known = finding.sameAs;
    for (let steps = 0; steps < same.size && same.has(known); steps += 1) known = same.get(known) ?? known;
    return [{ id: ids.get(known) ?? known, finding }];
  });
  return { fresh, repeated };
}
