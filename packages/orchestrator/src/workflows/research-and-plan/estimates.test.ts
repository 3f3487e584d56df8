/** Estimates of effort in the texts of a plan. */
import { describe, expect, it } from 'vitest';
import { estimatesIn } from './estimates.ts';

describe('an estimate', () => {
  it.each([
    'To build it takes 3 weeks.',
    'The implementation needs about two days.',
    'Estimated effort: 40 hours.',
    'This is a task of one sprint.',
    'It costs five person-days.',
    'The frame (2 weeks) comes first.',
    'Week 1: the frame.',
    'The deadline is in 6 months.',
    'We deliver it within 10 days.',
  ])('is %j', (text) => {
    expect(estimatesIn(text)).toEqual([text]);
  });

  it.each([
    'A session ends after 24 hours.',
    'Records are kept for 30 days.',
    'The bell rings every 2 hours.',
    'The backup runs each day.',
    'It was cast in 1288 and weighs 4,500 kilograms.',
    'Week after week the bell rang.',
  ])('is not %j', (text) => {
    expect(estimatesIn(text)).toEqual([]);
  });

  it('is any amount of time in a title', () => {
    expect(estimatesIn('Frame, 2 days', true)).toEqual(['Frame, 2 days']);
    expect(estimatesIn('Keep records', true)).toEqual([]);
  });

  it('is named alone, without the sentences around it', () => {
    expect(estimatesIn('The frame comes first. To build it takes 3 weeks. Then the motor.')).toEqual([
      'To build it takes 3 weeks.',
    ]);
  });
});
