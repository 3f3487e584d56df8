/** Findings and sources of a run, from its events. Pure. */
import type { WorkflowEvent } from '@autonomous/shared';
import type { Refusal } from './claim-checks/citations.ts';
import type { ResearchFact } from './events.ts';
import type { FetchedSource, Finding, LeftOut } from './types.ts';

/** Types of the facts from which findings, sources and rounds are read. */
export const READ_FACTS: readonly ResearchFact['type'][] = [
  'FINDING_KEPT',
  'FINDING_SUPPORTED',
  'SOURCE_FETCHED',
  'SOURCE_REFUSED',
  'CITATION_LEFT_OUT',
  'ROUND_ENDED',
];

type Fact<Type extends ResearchFact['type']> = Extract<ResearchFact, { type: Type }>;

function factsOf<const Type extends ResearchFact['type']>(
  events: readonly WorkflowEvent[],
  type: Type,
): readonly Fact<Type>[] {
  // The machine emits these facts, and the log keeps them as they are.
  return events.flatMap((event) => (event.type === type ? [{ ...event.payload, type } as unknown as Fact<Type>] : []));
}

/** Findings in the order in which they were kept, with the evidence that later ones added to them. */
export function findingsOf(events: readonly WorkflowEvent[]): readonly Finding[] {
  const added = Map.groupBy(factsOf(events, 'FINDING_SUPPORTED'), ({ finding }) => finding);
  return factsOf(events, 'FINDING_KEPT').map(({ finding, claim, evidence, sources, confidence, round }) => {
    const more = added.get(finding) ?? [];
    return {
      id: finding,
      claim,
      evidence: [...evidence, ...more.flatMap((fact) => fact.evidence)],
      sources: [...sources, ...more.flatMap((fact) => fact.sources)],
      confidence,
      round,
    };
  });
}

/** Pages that agents of this run read, oldest first. */
export function sourcesOf(events: readonly WorkflowEvent[]): readonly FetchedSource[] {
  return factsOf(events, 'SOURCE_FETCHED').map(
    ({ requested, address, at, hash, title, author, published, mediaType }) => ({
      requested,
      address,
      at,
      status: 200,
      hash,
      title,
      author: author === '' ? null : author,
      published: published === '' ? null : published,
      mediaType,
      refused: '',
    }),
  );
}

/** Pages that could not be read, oldest first. */
export function refusalsOf(events: readonly WorkflowEvent[]): readonly Refusal[] {
  return factsOf(events, 'SOURCE_REFUSED').map(({ address, reason }) => ({
    requested: address,
    address: null,
    status: null,
    reason,
  }));
}

/** Citations that were left out, oldest first. */
export function leftOutOf(events: readonly WorkflowEvent[]): readonly LeftOut[] {
  return factsOf(events, 'CITATION_LEFT_OUT').map(({ agent, claim, quote, address, reason }) => ({
    agent,
    claim,
    quote,
    address,
    reason,
  }));
}

/** Pages that could not be read, with the time and the reason, oldest first. */
export function unreadSourcesOf(
  events: readonly WorkflowEvent[],
): readonly { readonly address: string; readonly at: string; readonly reason: string }[] {
  return factsOf(events, 'SOURCE_REFUSED');
}
