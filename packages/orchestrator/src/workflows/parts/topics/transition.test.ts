/** The end of research and of planning. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PLAN_LIMITS, planTransition, type PlanRound, RESEARCH_LIMITS, researchTransition } from './transition.ts';

const GOES_ON = { kind: 'goes_on' };

/** A number is the new findings of a round; `x` is a round in which every researcher failed. */
const research = (rounds: string, limits = RESEARCH_LIMITS) =>
  researchTransition(
    rounds
      .split(',')
      .filter((round) => round !== '')
      .map((round) => ({ newFindings: Number(round) || 0, failed: round === 'x' })),
    limits,
  );

/** `a` is a round that ends with the plan `a` and no blocker, `a!` one with a blocker, `ax` one whose critics failed. */
const plan = (rounds: string, hashBefore: string | null = null, limits = PLAN_LIMITS) =>
  planTransition(
    rounds
      .split(',')
      .filter((round) => round !== '')
      .map((round, index): PlanRound => ({
        planHash: round.charAt(0),
        blockers: round.endsWith('!') ? [`B${index + 1}`] : [],
        failed: round.endsWith('x'),
      })),
    hashBefore,
    limits,
  );

describe('researchTransition', () => {
  it.each([
    ['5,3,1,1,1', 5],
    ['1,1,2,1,1,1', 6],
    ['0,0,0', 3],
    ['2,2,2,0,1,0', 6],
    ['1,1,1,9,9', 3],
  ])('ends research with the new findings %s after round %i', (rounds, round) => {
    expect(research(rounds)).toEqual({ kind: 'ends', why: 'few_new', round });
  });

  it.each(['', '1,1', '5,3,1,1', '2,2,2,2,2,2', '1,1,2,1,1', '1,2,1,2,1,2'])('goes on after %s', (rounds) => {
    expect(research(rounds)).toEqual(GOES_ON);
  });

  it.each([
    ['1,1,x', null],
    ['x,x,x', null],
    ['1,x,1,x', null],
    ['1,x,1,x,1', 5],
    ['1,1,x,2,1,1', null],
  ])('counts no failed round as one with few findings: %s', (rounds, round) => {
    expect(research(rounds)).toEqual(round === null ? GOES_ON : { kind: 'ends', why: 'few_new', round });
  });

  it('ends at the ceiling, which failed rounds count for', () => {
    const limits = { ...RESEARCH_LIMITS, ceiling: 4 };
    expect(research('5,5,5', limits)).toEqual(GOES_ON);
    expect(research('5,5,5,5', limits)).toEqual({ kind: 'ends', why: 'ceiling', round: 4 });
    expect(research('x,x,x,x,x', limits)).toEqual({ kind: 'ends', why: 'ceiling', round: 4 });
    expect(research(Array(30).fill('5').join(','))).toEqual({ kind: 'ends', why: 'ceiling', round: 30 });
  });

  it('names few new findings where the ceiling is reached by the same round', () => {
    expect(research('5,1,1,1', { ...RESEARCH_LIMITS, ceiling: 4 })).toMatchObject({ why: 'few_new', round: 4 });
  });

  it('follows other limits, and takes at least one round', () => {
    expect(research('4,4', { threshold: 5, rounds: 2, ceiling: 9 })).toMatchObject({ why: 'few_new', round: 2 });
    expect(research('1', { threshold: 2, rounds: 0, ceiling: 9 })).toMatchObject({ why: 'few_new', round: 1 });
    expect(research('', { threshold: 2, rounds: 0, ceiling: 0 })).toEqual(GOES_ON);
    expect(research('9', { threshold: 2, rounds: 3, ceiling: 0 })).toMatchObject({ why: 'ceiling', round: 1 });
    expect(research('9,0', { threshold: 2, rounds: 0, ceiling: 9 })).toMatchObject({ why: 'few_new', round: 2 });
  });

  it('ends exactly where the last three rounds that did not fail are quiet for the first time', () => {
    const round = fc.record({ newFindings: fc.nat(4), failed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 20 }), (history) => {
        const quietEnd = history.findIndex(({ failed }, index) => {
          const held = history.slice(0, index + 1).filter((each) => !each.failed);
          return !failed && held.length >= 3 && held.slice(-3).every(({ newFindings }) => newFindings < 2);
        });
        expect(researchTransition(history)).toEqual(
          quietEnd === -1 ? GOES_ON : { kind: 'ends', why: 'few_new', round: quietEnd + 1 },
        );
      }),
    );
  });
});

describe('planTransition', () => {
  it.each([
    ['a,a,a', null, 3],
    ['a,a', 'a', 2],
    ['a,b,b,b', 'a', 4],
    ['a!,a,a', null, 3],
    ['a,a!,a,a', null, 4],
    ['a,b,a,a,a', null, 5],
  ])('ends with the rounds %s after the plan %j in round %i', (rounds, before, round) => {
    expect(plan(rounds, before)).toEqual({ kind: 'ends', why: 'stable', round });
  });

  it.each([
    ['', null],
    ['a,a', null],
    ['a', 'a'],
    ['a,a!,a', null],
    ['a!,a!,a!,a!', 'a'],
    ['a,b,a,b', 'a'],
    ['a,a,b', null],
  ])('goes on with the rounds %s after the plan %j', (rounds, before) => {
    expect(plan(rounds, before)).toEqual(GOES_ON);
  });

  it.each([
    ['a,ax,ax', null],
    ['a,a,ax', null],
    ['a,a,ax,a', 4],
    ['a,a,bx,b', null],
    ['a,a,bx,b,b', 5],
    ['a!,ax,a,a', 4],
  ])('counts no round without a critic as settled: %s', (rounds, round) => {
    expect(plan(rounds)).toEqual(round === null ? GOES_ON : { kind: 'ends', why: 'stable', round });
  });

  it('settles no plan without a task, however little it changes', () => {
    const round = { planHash: 'a', blockers: [], failed: false };
    const empty = { ...round, withoutTasks: true };
    expect(planTransition([empty, empty, empty, empty])).toEqual(GOES_ON);
    expect(planTransition([empty, empty, { ...round, planHash: 'b' }, { ...round, planHash: 'b' }])).toEqual(GOES_ON);
    expect(planTransition([empty, round, round])).toMatchObject({ why: 'stable', round: 3 });
    expect(planTransition([empty, empty], null, { ...PLAN_LIMITS, ceiling: 2 })).toMatchObject({ why: 'ceiling' });
  });

  it('stops at the ceiling with the blockers that are open', () => {
    const limits = { ...PLAN_LIMITS, ceiling: 3 };
    expect(plan('a!,b,b!', null, limits)).toEqual({ kind: 'ends', why: 'ceiling', round: 3, blockers: ['B3'] });
    expect(plan('a!,b!,bx', null, limits)).toEqual({ kind: 'ends', why: 'ceiling', round: 3, blockers: ['B2'] });
    expect(plan('a!,b,c', null, limits)).toEqual({ kind: 'ends', why: 'ceiling', round: 3, blockers: [] });
    expect(plan('a,a,a', null, limits)).toMatchObject({ why: 'stable', round: 3 });
    expect(plan(Array(40).fill('a!').join(','))).toMatchObject({ why: 'ceiling', round: 40, blockers: ['B40'] });
  });
});
