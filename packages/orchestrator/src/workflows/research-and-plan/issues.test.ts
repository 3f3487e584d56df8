/** Issues of critics: their evidence, their answers and their end. */
import { describe, expect, it } from 'vitest';
import { blockersOf, openBlockersOf, reviewFaults, withAnswers, withReview } from './issues.ts';
import type { Issue, RaisedIssue, Review } from './types.ts';

const raised = (change: Partial<RaisedIssue> = {}): RaisedIssue => ({
  severity: 'blocker',
  about: 'Frame',
  text: 'It does not bear the weight.',
  evidence: ['F1'],
  proposal: '',
  ...change,
});
const issue = (id: string, change: Partial<Issue> = {}): Issue => ({
  ...raised(),
  id,
  by: 'critic-1',
  round: 1,
  answer: null,
  ...change,
});
const review = (change: Partial<Review>): Review => ({ summary: '', issues: [], withdrawn: [], ...change });
const reasons = (change: Partial<Review>, open: readonly Issue[] = [], by = 'critic-1'): readonly string[] =>
  reviewFaults(review(change), by, open, 2).map(({ reason }) => reason);
const taken = (open: readonly Issue[], change: Partial<Review>, by = 'critic-1') => {
  const faults = reviewFaults(review(change), by, open, 2);
  return withReview(open, review(change), { by, round: 2, raised: open.length, faults });
};

describe('an issue', () => {
  it('is not raised with evidence that does not exist', () => {
    expect(reasons({ issues: [raised({ evidence: ['F2', 'F3'] })] })).toEqual([
      'Its evidence names F3, which is no finding of the report.',
    ]);
    expect(taken([], { issues: [raised({ evidence: ['F3'] })] }).open).toEqual([]);
  });

  it('has evidence, unless it is a suggestion', () => {
    expect(reasons({ issues: [raised({ evidence: [] })] })).toEqual([
      'A blocker names at least one finding of the report as its evidence.',
    ]);
    expect(reasons({ issues: [raised({ severity: 'concern', evidence: [] })] })).toHaveLength(1);
    expect(reasons({ issues: [raised({ severity: 'suggestion', evidence: [] })] })).toEqual([]);
  });

  it('gets the next id, and is raised once where its critic repeats it', () => {
    const { open } = taken([issue('I1')], {
      issues: [raised({ text: 'It does  NOT bear the weight.' }), raised({ text: 'It rusts.' })],
    });
    expect(open.map(({ id, text }) => `${id} ${text}`)).toEqual(['I1 It does not bear the weight.', 'I2 It rusts.']);
  });

  it('stays open with an answer', () => {
    const answers = [
      { issue: 'I1', answer: 'It is of steel.' },
      { issue: 'I9', answer: 'What?' },
    ];
    const open = withAnswers([issue('I1')], { answers }, { by: 'architect-1', round: 2 });
    expect(open).toMatchObject([{ id: 'I1', answer: { by: 'architect-1', text: 'It is of steel.', round: 2 } }]);
    expect(blockersOf(open)).toHaveLength(1);
  });

  it('is withdrawn by the critic who raised it alone', () => {
    const open = [issue('I1')];
    const withdrawn = [{ issue: 'I1', why: 'It is of steel.' }];
    expect(reasons({ withdrawn }, open, 'critic-2')).toEqual([
      'I1 was raised by critic-1, and only critic-1 can withdraw it.',
    ]);
    expect(taken(open, { withdrawn }, 'critic-2').open).toEqual(open);
    expect(taken(open, { withdrawn }).open).toEqual([]);
  });

  it('that does not exist is not withdrawn', () => {
    expect(reasons({ withdrawn: [{ issue: 'I7', why: 'Gone.' }] })).toEqual(['There is no open issue I7.']);
  });

  it('is refused where its critic has twenty open ones, until that one withdraws some', () => {
    const open = Array.from({ length: 20 }, (_, index) => issue(`I${index + 1}`, { text: `Issue ${index}` }));
    expect(reasons({ issues: [raised()] }, open)).toEqual(['This critic has 20 open issues; withdraw some first.']);
    expect(reasons({ issues: [raised()], withdrawn: [{ issue: 'I1', why: 'Settled.' }] }, open)).toEqual([]);
    expect(reasons({ issues: [raised()] }, open, 'critic-2')).toEqual([]);
  });
});

it('blockers alone are in the output', () => {
  expect(openBlockersOf([issue('I1'), issue('I2', { severity: 'concern' })])).toEqual([
    { id: 'I1', by: 'critic-1', text: 'It does not bear the weight.', evidence: ['F1'] },
  ]);
});
