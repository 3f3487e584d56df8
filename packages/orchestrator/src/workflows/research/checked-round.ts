/** Checks the findings of a round without a model: their passages, and whether they are new. Pure. */
import { localId } from '../parts/topics/new-findings.ts';
import { normalisedAddress } from './claim-checks/addresses.ts';
import {
  checkCitations,
  type Finding as CitedFinding,
  type FetchLog,
  isLeftOut,
  leftOutOf,
  sayClaim,
} from './claim-checks/citations.ts';
import { areContradictory } from './claim-checks/contradictions.ts';
import { noveltiesOf, prepared } from './claim-checks/novelty.ts';
import type { AgentReport, CheckedRound, Confidence, Doubt, Finding, LeftOut, SoundFinding, Source } from './types.ts';
import { CONFIDENCES } from './types.ts';

/**
 * @param known findings that the run has kept, oldest first
 * @param texts stored texts of the pages by hash
 */
export function checkedRound(
  reports: readonly AgentReport[],
  known: readonly Finding[],
  log: FetchLog,
  texts: ReadonlyMap<string, string>,
): CheckedRound {
  const places = reports.flatMap(({ agent, findings, sources }) =>
    findings.map((finding, index) => ({ agent, index, finding, sources })),
  );
  const checked = checkCitations(
    places.map(({ finding, sources, ...place }): CitedFinding => ({
      id: localId(place),
      claim: finding.claim,
      evidence: finding.evidence,
      sources: sourcesOf(finding.evidence, sources),
      confidence: finding.confidence,
    })),
    log,
    texts,
  );
  const sound = checked.flatMap((each, position): readonly SoundFinding[] => {
    const place = places[position];
    if (place === undefined || isLeftOut(each)) return [];
    const { agent, index, finding } = place;
    return [
      {
        agent,
        index,
        claim: finding.claim,
        confidence: finding.confidence,
        evidence: each.accepted.map(({ quote, page }) => ({ quote, address: page.address, hash: page.hash })),
        sources: each.sources.map(({ page, rating }) => ({
          address: page.address,
          credibility: confidenceOf(rating?.credibility),
          why: rating?.why ?? 'The agent said nothing about it.',
        })),
      },
    ];
  });
  return { ...compared(sound, known), leftOut: leftOut(checked, places) };
}

/** The sources of an agent's list that a finding quotes. */
function sourcesOf(evidence: readonly { readonly address: string }[], sources: readonly Source[]): readonly Source[] {
  const quoted = new Set(evidence.map(({ address }) => normalisedAddress(address)));
  return sources.filter(({ address }) => quoted.has(normalisedAddress(address)));
}

/** A source that nobody rated is not relied on. */
function confidenceOf(text: string | undefined): Confidence {
  return CONFIDENCES.find((level) => level === text) ?? 'low';
}

function compared(all: readonly SoundFinding[], known: readonly Finding[]): Omit<CheckedRound, 'leftOut'> {
  const claims = new Map([
    ...known.map(({ id, claim }) => [id, claim] as const),
    ...all.map((finding) => [localId(finding), finding.claim] as const),
  ]);
  const novelties = noveltiesOf(
    all.map((finding) => ({ ...claimed(finding), id: localId(finding) })),
    known.map((finding) => prepared({ ...claimed(finding), id: finding.id })),
  );
  const doubts: Doubt[] = [];
  const sound = all.map((finding, position): SoundFinding => {
    const novelty = novelties[position]?.novelty;
    if (novelty === undefined || novelty.kind === 'new') return finding;
    if (novelty.kind === 'known') return { ...finding, sameAs: novelty.id };
    const { agent, index, claim } = finding;
    const knownClaim = claims.get(novelty.id) ?? '';
    // A finding that contradicts a known one is new, and no model is asked.
    if (!areContradictory(claim, knownClaim)) doubts.push({ agent, index, claim, known: novelty.id, knownClaim });
    return finding;
  });
  return { sound, doubts, known: sound.filter(({ sameAs }) => sameAs !== undefined).length };
}

/**
 * The round after a judge told its doubtful findings apart. A finding that is known supports the known one with its passages where
 * they say it.
 * @param isNew verdicts in the order of the doubts; one that is missing counts as new
 */
export function judgedRound(checked: CheckedRound, isNew: readonly boolean[]): CheckedRound {
  const known = new Map(
    checked.doubts.flatMap((doubt, index) => ((isNew[index] ?? true) ? [] : [[localId(doubt), doubt] as const])),
  );
  const sound = checked.sound.map((finding) => {
    const doubt = known.get(localId(finding));
    if (doubt === undefined) return finding;
    const says = sayClaim(
      finding.evidence.map(({ quote }) => quote),
      doubt.knownClaim,
    );
    return { ...finding, sameAs: doubt.known, ...(says ? {} : { evidence: [], sources: [] }) };
  });
  return { ...checked, sound, doubts: [], known: checked.known + known.size };
}

const claimed = ({ claim, evidence }: Pick<Finding, 'claim' | 'evidence'>) => ({
  claim,
  sources: evidence.map(({ address, hash }) => ({ address, hash })),
});

function leftOut(
  checked: Parameters<typeof leftOutOf>[0],
  places: readonly { readonly agent: string; readonly index: number }[],
): readonly LeftOut[] {
  const agents = new Map(places.map((place) => [localId(place), place.agent]));
  return leftOutOf(checked).flatMap(({ finding, claim, items }) =>
    items
      // A source that nothing quotes is no fault of a citation.
      .filter(({ kind, quote }) => kind === 'no_evidence' || quote !== null)
      .map(({ quote, address, why }) => ({
        agent: agents.get(finding) ?? '',
        claim,
        quote: quote ?? '',
        address: address ?? '',
        reason: why,
      })),
  );
}
