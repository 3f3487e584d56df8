/** Findings of a round get their ids. */
import { expect, it } from 'vitest';
import { keptOf } from './new-findings.ts';

it('counts on from the kept findings, and follows findings of the round that say the same to the one that is kept', () => {
  const { fresh, repeated } = keptOf(
    [
      { agent: 'a', index: 0 },
      { agent: 'b', index: 0, sameAs: 'a 1' },
      { agent: 'c', index: 0, sameAs: 'b 1' },
      { agent: 'd', index: 0, sameAs: 'F2' },
      { agent: 'e', index: 0, sameAs: 'd 1' },
    ],
    4,
  );
  expect(fresh.map(({ id, finding }) => `${id} ${finding.agent}`)).toEqual(['F5 a']);
  expect(repeated.map(({ id, finding }) => `${id} ${finding.agent}`)).toEqual(['F5 b', 'F5 c', 'F2 d', 'F2 e']);
});
