/** Proposals that name findings for something that those do not say. */
import { miscitedIn } from '../research/report/prose.ts';
import type { Finding } from '../research/types.ts';
import { sectionsOf, textsOf } from './plan.ts';
import type { Draft, Fault } from './types.ts';

/** Sentences of a proposal that name findings for a number, date or quotation that those do not have. */
export function miscitedFaults(draft: Draft, seat: number, findings: readonly Finding[]): readonly Fault[] {
  return sectionsOf(seat).flatMap((section) => {
    const value = draft[section];
    if (value === undefined) return [];
    const reasons = textsOf(section, value).flatMap(({ place, text }) =>
      miscitedIn(text, findings).map(
        (sentence) =>
          `${place} names findings for what they do not say: "${sentence.trim().slice(0, 200).toWellFormed()}". Say what they say, or leave their ids out.`,
      ),
    );
    return [...new Set(reasons)].map((reason) => ({ section, index: null, reason }));
  });
}
