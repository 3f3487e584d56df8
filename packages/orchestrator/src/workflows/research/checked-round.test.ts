/** The findings of a round: which of them stand, which are known, and which only a judge can tell apart. */
import { expect, it } from 'vitest';
import { checkedRound, judgedRound } from './checked-round.ts';
import type { AgentReport, Finding, ReportedFinding } from './types.ts';

const PAGE = 'https://bells.test/oldest';
const QUOTE = 'The oldest bell of the town was cast in 1288 and weighs 4,500 kilograms.';
const TEXTS = new Map([
  ['h1', `Bells\n\n${QUOTE} It still rings.`],
  ['h2', 'Records of the parish say that the oldest bell of the town was cast in 1288.'],
]);
const LOG = {
  fetched: [
    { requested: PAGE, address: PAGE, hash: 'h1', at: '2026-03-01T10:00:00.000Z', status: 200 },
    {
      requested: 'https://parish.test/',
      address: 'https://parish.test/records',
      hash: 'h2',
      at: '2026-03-01T10:00:00.000Z',
      status: 200,
    },
  ],
  refused: [{ requested: 'https://gone.test/', address: null, status: null, reason: 'the server answered 404' }],
};
const OLDEST: ReportedFinding = {
  claim: 'The oldest bell of the town was cast in 1288.',
  evidence: [{ quote: QUOTE, address: PAGE }],
  confidence: 'high',
};
const KNOWN: Finding = {
  id: 'F1',
  claim: OLDEST.claim,
  evidence: [{ quote: QUOTE, address: PAGE, hash: 'h1' }],
  sources: [],
  confidence: 'high',
  round: 1,
};

const report = (agent: string, ...findings: readonly ReportedFinding[]): AgentReport => ({
  agent,
  summary: '',
  findings,
  sources: [{ address: PAGE, credibility: 'high', why: 'The town itself.' }],
  contradictions: [],
  followUps: [],
  fetched: [],
});

it('keeps a finding whose passages stand, with the pages and the rating of its agent', () => {
  expect(checkedRound([report('a', OLDEST)], [], LOG, TEXTS)).toEqual({
    sound: [
      {
        agent: 'a',
        index: 0,
        claim: OLDEST.claim,
        confidence: 'high',
        evidence: [{ quote: QUOTE, address: PAGE, hash: 'h1' }],
        sources: [{ address: PAGE, credibility: 'high', why: 'The town itself.' }],
      },
    ],
    doubts: [],
    leftOut: [],
    known: 0,
  });
});

it('names the page after redirects, and relies little on a source that nobody rated', () => {
  const { sound } = checkedRound(
    [
      report('a', {
        ...OLDEST,
        evidence: [
          {
            quote: 'Records of the parish say that the oldest bell of the town was cast in 1288.',
            address: 'https://parish.test/',
          },
        ],
      }),
    ],
    [],
    LOG,
    TEXTS,
  );
  expect(sound[0]?.evidence[0]?.address).toBe('https://parish.test/records');
  expect(sound[0]?.sources).toEqual([
    { address: 'https://parish.test/records', credibility: 'low', why: 'The agent said nothing about it.' },
  ]);
});

it('leaves out what was not read, what was refused, what does not stand there and what the passage does not say', () => {
  const { sound, leftOut } = checkedRound(
    [
      report(
        'a',
        { ...OLDEST, evidence: [{ quote: QUOTE, address: 'https://other.test/' }] },
        { ...OLDEST, evidence: [{ quote: QUOTE, address: 'https://gone.test/' }] },
        { ...OLDEST, evidence: [{ quote: 'The oldest bell was blessed by seven bishops.', address: PAGE }] },
        { ...OLDEST, claim: 'The oldest bell of the town was cast in 1291.' },
      ),
    ],
    [],
    LOG,
    TEXTS,
  );
  expect(sound).toEqual([]);
  expect(leftOut.map(({ reason }) => reason)).toEqual([
    expect.stringContaining('was not fetched in this run'),
    expect.stringContaining('the server answered 404'),
    expect.stringContaining('does not contain'),
    expect.stringContaining('"1291"'),
  ]);
});

it('knows a finding again, also from another source and also within a round', () => {
  const again: ReportedFinding = {
    ...OLDEST,
    evidence: [
      {
        quote: 'Records of the parish say that the oldest bell of the town was cast in 1288.',
        address: 'https://parish.test/records',
      },
    ],
  };
  const { sound, known } = checkedRound([report('a', again)], [KNOWN], LOG, TEXTS);
  expect(known).toBe(1);
  expect(sound[0]).toMatchObject({ sameAs: 'F1', evidence: [{ hash: 'h2' }] });
  expect(checkedRound([report('a', OLDEST), report('b', again)], [], LOG, TEXTS).sound[1]?.sameAs).toBe('a 1');
});

it('leaves to a judge what resembles a known finding and says something else', () => {
  const { sound, doubts, known } = checkedRound(
    [report('a', { ...OLDEST, claim: 'The oldest bell of the town weighs 4,500 kilograms.' })],
    [KNOWN],
    LOG,
    TEXTS,
  );
  expect(known).toBe(0);
  expect(sound).toHaveLength(1);
  expect(doubts).toEqual([
    {
      agent: 'a',
      index: 0,
      claim: 'The oldest bell of the town weighs 4,500 kilograms.',
      known: 'F1',
      knownClaim: OLDEST.claim,
    },
  ]);
});

it('takes a finding for new without a judge where it contradicts the known one that it resembles', () => {
  const parish = 'Records of the parish say that the oldest bell of the town was cast in 1288.';
  const other: Finding = { ...KNOWN, claim: 'According to the keeper, the oldest bell of the town was cast in 1291.' };
  const finding = { ...OLDEST, evidence: [{ quote: parish, address: 'https://parish.test/' }] };
  expect(checkedRound([report('a', finding)], [other], LOG, TEXTS)).toMatchObject({
    sound: [{ claim: OLDEST.claim }],
    doubts: [],
    known: 0,
  });
});

it('supports a known finding with the passages of a judged one only where they say it', () => {
  const doubt = { agent: 'a', index: 0, claim: OLDEST.claim, known: 'F1' };
  const { sound } = checkedRound([report('a', OLDEST)], [], LOG, TEXTS);
  const judged = (knownClaim: string) =>
    judgedRound({ sound, doubts: [{ ...doubt, knownClaim }], leftOut: [], known: 0 }, [false]);
  expect(judged('The bell was cast in 1288.')).toMatchObject({
    sound: [{ sameAs: 'F1', evidence: [{ quote: QUOTE }] }],
    doubts: [],
    known: 1,
  });
  expect(judged('The bell was cast in 1291.').sound).toMatchObject([{ sameAs: 'F1', evidence: [], sources: [] }]);
});
